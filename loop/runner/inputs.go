package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
)

// maxInputs bounds the files of one eval, in bytes (skill-format.md
// R-SF-EV-11).
const maxInputs = 20 << 20

// Input is a file a run is given or made, by its path with slashes.
type Input struct {
	Path string
	Data []byte
	Perm fs.FileMode
}

// answers are the names below a skill's evals directory that hold assertions.
// Whoever is measured never sees them (skill-format.md R-SF-ANSWER).
var answers = []string{
	"evals.json", "eval_queries.json", "eval_set.json", "trigger-eval.json", "triggers.json", "pool.json", "transfer.json",
}

// isAnswer reports whether a path, relative to the skill, tells what is asked
// or what came of it.
func isAnswer(name string) bool {
	dir, base := path.Split(name)
	return name == "PURPOSE.md" || dir == "evals/" && slices.Contains(answers, base) || name == ".forge" || strings.HasPrefix(name, ".forge/")
}

// Inputs reads the files of an eval at a commit, relative to the skill; a
// directory is taken whole. What is not there, a link, a repository inside the
// skill, the evals themselves and more than 20 MiB are usage faults.
//
// Source: skill-format.md R-SF-EV-11, R-SF-ANSWER.
func Inputs(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, skill string, e evals.Eval) ([]Input, error) {
	var list []Input
	total := 0
	bad := func(format string, args ...any) error {
		return fault.New(fault.Usage, "name files of the skill that are committed and no answers", "eval %q: %w", e.ID, fmt.Errorf(format, args...))
	}
	take := func(entry gitstore.Entry) error {
		name := relativeTo(skill, entry.Path)
		switch entry.Mode {
		case gitstore.ModeFile, gitstore.ModeExec:
		default:
			return bad("%q is no regular file", name)
		}
		if isAnswer(name) {
			return bad("the file %q holds the answers, and a run would see it", name)
		}
		data, err := repo.Blob(ctx, entry.Object)
		if err != nil {
			return fmt.Errorf("read %q: %w", entry.Path, err)
		}
		if total += len(data); total > maxInputs {
			return bad("its files have more than %d MiB", maxInputs>>20)
		}
		perm := fs.FileMode(0o644)
		if entry.Mode == gitstore.ModeExec {
			perm = 0o755
		}
		list = append(list, Input{name, data, perm})
		return nil
	}
	for _, name := range e.Files {
		entry, err := repo.Lookup(ctx, commit, strings.TrimPrefix(path.Join(skill, name), "./"))
		switch {
		case errors.Is(err, gitstore.ErrNotFound):
			return nil, bad("the file %q is not committed", name)
		case err != nil:
			return nil, fmt.Errorf("read %q: %w", name, err)
		case entry.Mode == gitstore.ModeDir:
			err = repo.Walk(ctx, commit, entry.Path, take)
		default:
			err = take(entry)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// CheckInputs refuses evals whose files a run could not be given, before
// anything runs.
func CheckInputs(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, skill string, list []evals.Eval) error {
	for _, e := range list {
		if _, err := Inputs(ctx, repo, commit, skill, e); err != nil {
			return err
		}
	}
	return nil
}

// relativeTo is a path as seen from the skill's directory.
func relativeTo(skill, name string) string {
	if skill == "." {
		return name
	}
	return strings.TrimPrefix(name, skill+"/")
}
