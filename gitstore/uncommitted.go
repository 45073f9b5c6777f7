package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forge/gitstore/fault"
)

// UncommittedTree is the tree of a commit with one directory as it stands in
// the work tree: changed, new and deleted files as `git add` would take them,
// line ends and filters applied, ignored files left out. The objects are
// written, and neither the work tree nor the user's index is touched: git works
// on an index of forge's own.
//
// A directory behind a link, a link in it that leads out of it and a repository
// inside it are refused: they cannot be measured as they stand. A directory
// without changes is a usage fault. Without git it is a fault that says so.
//
// Source: CLI.md, forge eval --against WORKTREE.
func (r *Repo) UncommittedTree(ctx context.Context, commit Hash, dir string) (Hash, error) {
	if r.workTree == "" {
		return "", fault.New(fault.Usage, "name a commit to compare with", "a bare repository has no uncommitted changes")
	}
	if err := r.checkOnDisk(dir); err != nil {
		return "", err
	}
	tree, err := r.addToTree(ctx, commit, dir)
	if errors.Is(err, errNoGit) {
		return "", needGit(err, "reading uncommitted changes")
	}
	if err != nil {
		return "", fmt.Errorf("read the uncommitted changes of %q: %w", dir, err)
	}
	was, err := r.TreeOf(ctx, commit)
	if err != nil {
		return "", err
	}
	if was == tree {
		return "", fault.New(fault.Usage, "edit the skill first, or compare with a commit", "%q has no uncommitted changes", dir)
	}
	book := newBook(r, ExportPlan{SkillLayout: true, Below: dir})
	if err := book.load(ctx, tree); err != nil {
		return "", err
	}
	if skipped := book.Skipped(); len(skipped) > 0 {
		return "", fault.New(fault.Refused, "take it out of the skill", "%q is a link out of the skill or a repository of its own; it cannot be measured", skipped[0])
	}
	return tree, nil
}

// checkOnDisk refuses a directory that is not there or lies behind a link.
func (r *Repo) checkOnDisk(dir string) error {
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		info, err := os.Lstat(filepath.Join(r.workTree, filepath.FromSlash(at)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fault.New(fault.Usage, "check it out first", "%q is not in the work tree", dir)
		case err != nil:
			return fmt.Errorf("look at %q: %w", at, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return fault.New(fault.Refused, "", "%q is a symbolic link; forge never follows one to measure what is behind it", at)
		case !info.IsDir():
			return fault.New(fault.Usage, "", "%q is no directory", at)
		}
	}
	return nil
}

// addToTree lets git make the tree, on an index of its own.
func (r *Repo) addToTree(ctx context.Context, commit Hash, dir string) (Hash, error) {
	scratch, err := r.NewExport(ctx, ExportPlan{Run: "eval"})
	if err != nil {
		return "", err
	}
	defer scratch.Remove()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch.Tmp, "index"), "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1"}
	tree := ""
	for _, args := range [][]string{
		{"read-tree", string(commit)}, {"add", "-A", "--", dir}, {"write-tree"},
	} {
		result, err := r.git(ctx, gitCall{Args: append([]string{"-c", "core.fsmonitor=false"}, args...), Env: env})
		if err != nil {
			return "", err
		}
		if !result.OK() {
			return "", fault.New(fault.Failed, "", "%w", gitFailure(args[0], result))
		}
		tree = strings.TrimSpace(string(result.Stdout))
	}
	return Hash(tree), nil
}
