package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/gitstore/textdiff"
)

// Blame is the document of `forge blame`: each line of a file at a commit with
// the commit that put it there.
type Blame struct {
	File    string      `json:"file"`
	Run     string      `json:"run"` // "" for HEAD
	Commit  string      `json:"commit"`
	Shallow bool        `json:"shallow"` // what this clone lacks may have put lines there
	Lines   []BlameLine `json:"lines"`
}

// BlameLine is one line of it.
type BlameLine struct {
	Line        int      `json:"line"`
	Text        string   `json:"text"` // without its end
	Commit      string   `json:"commit"`
	Subject     string   `json:"subject"`
	Run         string   `json:"run"`         // "" where no run put it there
	Experiments []string `json:"experiments"` // of that run; several only of a squashed landing whose run is not here
	Decision    string   `json:"decision"`    // of the one experiment
	Delta       string   `json:"delta"`       // what it measured, oriented, 6 digits; "" likewise
}

// BlameRequest names a file and where to look at it.
type BlameRequest struct {
	Files  []string      // its paths from the root, in the order in which they are looked for
	Commit gitstore.Hash // where
	Run    *RunRef       // nil for HEAD; else what stood before its base is the base's
}

// Blame finds for each line of a file the commit that put it there. A verdict
// on a run's branch is followed to its first parent only, so that a line of a
// kept candidate is the experiment's. A squashed landing is followed into the
// run it brought, as far as this clone has that. Files are not followed over
// a new name.
//
// Source: CLI.md, Reading the history; gitstore.md R-RUN-3, R-RUN-10, R-LAND-7.
func (e *Engine) Blame(ctx context.Context, q BlameRequest) (Blame, error) {
	b := &blamer{repo: e.Repo, report: Blame{Commit: string(q.Commit), Lines: []BlameLine{}}}
	if q.Run != nil {
		b.report.Run, b.base = q.Run.Name, gitstore.Hash(q.Run.Config.Base)
	}
	file, err := b.find(ctx, q)
	if err != nil {
		return Blame{}, err
	}
	data, err := b.repo.Blob(ctx, file.Object)
	if err != nil {
		return Blame{}, err
	}
	if (textdiff.File{After: &textdiff.Side{Data: data}}).Binary() {
		return Blame{}, fault.New(fault.Usage, "forge log shows what its experiments were", "%q is binary: it has no lines", b.report.File)
	}
	whole := held{commit: q.Commit, object: file.Object}
	for i, line := range textdiff.Lines(data) {
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		b.report.Lines = append(b.report.Lines, BlameLine{Line: i + 1, Text: text, Experiments: []string{}})
		whole.lines = append(whole.lines, lineAt{i, i})
	}
	for b.open = []held{whole}; len(b.open) > 0; {
		next := b.open[len(b.open)-1]
		b.open = b.open[:len(b.open)-1]
		if err := b.step(ctx, next); err != nil {
			return Blame{}, err
		}
	}
	return b.report, nil
}

// lineAt is a line of a file as a commit has it, and which line of the file
// asked about it became; both counted from 0.
type lineAt struct{ here, result int }

// held are lines that a commit has, and it or something before it put there.
type held struct {
	commit gitstore.Hash
	object gitstore.Hash // the file's content there
	lines  []lineAt
}

// blamer follows the lines of one file through the history.
type blamer struct {
	repo   *gitstore.Repo
	base   gitstore.Hash // of the run asked about; "" for HEAD
	open   []held        // no line is in two of them
	report Blame
}

// find is the file at the commit, by the first of its paths that is there.
func (b *blamer) find(ctx context.Context, q BlameRequest) (gitstore.Entry, error) {
	where := "HEAD"
	if q.Run != nil {
		where = "run " + q.Run.Name
	}
	for _, name := range q.Files {
		entry, err := b.repo.Lookup(ctx, q.Commit, name)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return entry, err
		}
		if entry.Mode != gitstore.ModeFile && entry.Mode != gitstore.ModeExec {
			return entry, fault.New(fault.Usage, "name a file", "%q is no file at %s", name, where)
		}
		b.report.File = name
		return entry, nil
	}
	return gitstore.Entry{}, fault.New(fault.Usage, "name it from the repository's root, as it is committed", "there is no file %q at %s", q.Files[len(q.Files)-1], where)
}

// step hands lines on to what was before a commit; those that nothing before
// has are the commit's.
func (b *blamer) step(ctx context.Context, h held) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	c, err := b.repo.ReadCommit(ctx, h.commit)
	if err != nil {
		return err
	}
	if c.Hash == b.base {
		b.take(c, h.lines)
		return nil
	}
	before, err := b.before(ctx, c)
	if err != nil {
		return err
	}
	for _, from := range before {
		if from.object == h.object && !from.squashed {
			b.open = append(b.open, held{from.commit, from.object, h.lines})
			return nil
		}
	}
	for _, from := range before {
		if len(h.lines) == 0 {
			return nil
		}
		if h.lines, err = b.hand(ctx, h, from); err != nil {
			return err
		}
	}
	b.take(c, h.lines)
	return nil
}

// earlier is the file in a commit before another one.
type earlier struct {
	commit, object gitstore.Hash
	squashed       bool // not a parent, but what a squashed landing brought
}

// before lists the commits that lines of c may come from and that have the
// file: its parents, then what it squashed.
func (b *blamer) before(ctx context.Context, c gitstore.CommitInfo) ([]earlier, error) {
	parents := c.Parents
	if c.Trailer("Forge-Experiment") != "" && len(parents) > 1 {
		parents = parents[:1] // the others are candidates
	}
	var list []earlier
	for i, id := range append(parents[:len(parents):len(parents)], broughtUpTo(c)) {
		if id == "" {
			continue
		}
		squashed := i == len(parents)
		_, err := b.repo.ReadCommit(ctx, id)
		if errors.Is(err, gitstore.ErrNotFound) {
			b.report.Shallow = b.report.Shallow || !squashed
			continue
		}
		if err != nil {
			return nil, err
		}
		entry, err := b.repo.Lookup(ctx, id, b.report.File)
		if errors.Is(err, gitstore.ErrNotFound) || err == nil && entry.Mode != gitstore.ModeFile && entry.Mode != gitstore.ModeExec {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, earlier{id, entry.Object, squashed})
	}
	return list, nil
}

// hand gives the lines that an earlier file has to that, and returns the rest.
func (b *blamer) hand(ctx context.Context, h held, from earlier) (rest []lineAt, err error) {
	after, err := b.repo.Blob(ctx, h.object)
	if err != nil {
		return nil, fmt.Errorf("read %q at %s: %w", b.report.File, h.commit.Short(), err)
	}
	before, err := b.repo.Blob(ctx, from.object)
	if err != nil {
		return nil, fmt.Errorf("read %q at %s: %w", b.report.File, from.commit.Short(), err)
	}
	if bytes.IndexByte(before, 0) >= 0 {
		return h.lines, nil // it was binary once
	}
	same := textdiff.Common(before, after)
	handed := held{commit: from.commit, object: from.object}
	for _, line := range h.lines {
		if i := same[line.here]; i >= 0 {
			handed.lines = append(handed.lines, lineAt{i, line.result})
		} else {
			rest = append(rest, line)
		}
	}
	if len(handed.lines) > 0 {
		b.open = append(b.open, handed)
	}
	return rest, nil
}

// take makes lines those of a commit.
func (b *blamer) take(c gitstore.CommitInfo, lines []lineAt) {
	experiments := []string{}
	for _, t := range c.Trailers {
		if t.Key == "Forge-Experiment" {
			experiments = append(experiments, t.Value)
		}
	}
	for _, line := range lines {
		into := &b.report.Lines[line.result]
		into.Commit, into.Subject, into.Experiments = string(c.Hash), c.Subject, experiments
		if c.Hash == b.base {
			into.Experiments = []string{}
			continue // of whatever came before the run
		}
		into.Run, into.Decision, into.Delta = c.Trailer("Forge-Run"), c.Trailer("Forge-Decision"), c.Trailer("Forge-Delta")
	}
}
