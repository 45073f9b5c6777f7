package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forge/gitstore/process"
)

// WorktreeExport is an export that is a linked working tree of the repository,
// for a metric that needs git itself or every file as git checks it out. It is
// checked out by git, with the person's line ends and filters, and nothing of
// the tree is left out: children that must not see evals get an [Export].
//
// Like an Export it is for one goroutine at a time and lives until Remove.
//
// Source: gitstore.md R-EXP-6.
type WorktreeExport struct {
	Tree string // the working tree
	Home string // HOME of the children
	Tmp  string // TMPDIR of the children

	place *Export
	link  []byte // content of Tree/.git; nil before the first Set
}

// NewWorktreeExport makes the place of a working tree, which the first Set
// fills. Without git it is a fault that says so.
func (r *Repo) NewWorktreeExport(ctx context.Context, plan ExportPlan) (*WorktreeExport, error) {
	if _, err := r.gitBinary(); err != nil {
		return nil, needGit(err, "a working tree for the metric")
	}
	place, err := r.NewExport(ctx, plan)
	if err != nil {
		return nil, err
	}
	return &WorktreeExport{Tree: place.Tree, Home: place.Home, Tmp: place.Tmp, place: place}, nil
}

// Parent is that of [Export.Parent].
func (w *WorktreeExport) Parent() string { return w.place.Parent() }

// Set makes the working tree that of a commit, its HEAD detached there. Files
// that are the same in both stay as they are; what a child changed is set
// right, and what it made is removed, except what Keep matches.
func (w *WorktreeExport) Set(ctx context.Context, commit Hash) error {
	if link, err := os.ReadFile(filepath.Join(w.Tree, ".git")); w.link == nil || err != nil || !bytes.Equal(link, w.link) {
		if err := w.add(ctx, commit); err != nil {
			return fmt.Errorf("make a working tree of %s: %w", commit.Short(), err)
		}
	}
	if err := w.checkOut(ctx, commit); err != nil {
		return fmt.Errorf("check out %s: %w", commit.Short(), err)
	}
	if err := w.clean(ctx); err != nil {
		return fmt.Errorf("clean the working tree: %w", err)
	}
	return nil
}

// add makes the linked working tree, without its files: again, if a child did
// away with it.
func (w *WorktreeExport) add(ctx context.Context, commit Hash) error {
	if err := removeTree(w.Tree); err != nil {
		return err
	}
	err := w.git(ctx, w.place.repo.commonDir, "worktree", "add", "--force", "--no-checkout", "--detach", w.Tree, string(commit))
	if err == nil {
		w.link, err = os.ReadFile(filepath.Join(w.Tree, ".git"))
	}
	if err != nil {
		return err
	}
	// Without an index every file would count as deleted.
	return w.git(ctx, w.Tree, "read-tree", string(commit))
}

// checkOut lets git change what differs.
func (w *WorktreeExport) checkOut(ctx context.Context, commit Hash) error {
	if gitDir, ok := strings.CutPrefix(strings.TrimSpace(string(w.link)), "gitdir: "); ok {
		_ = os.Remove(filepath.Join(resolve(w.Tree, gitDir), "index.lock")) // of a child that was ended; there is none now
	}
	return w.git(ctx, w.Tree, "checkout", "--quiet", "--force", "--detach", string(commit), "--")
}

// clean removes what git does not track.
func (w *WorktreeExport) clean(ctx context.Context) error {
	result, err := w.run(ctx, w.Tree, "ls-files", "-z", "--others")
	if err != nil {
		return err
	}
	for p := range strings.SplitSeq(string(result.Stdout), "\x00") {
		if p = strings.TrimSuffix(p, "/"); p == "" || matchAny(w.place.plan.Keep, p) {
			continue
		}
		name := filepath.Join(w.Tree, filepath.FromSlash(p))
		if info, err := os.Lstat(name); err == nil && info.IsDir() { // a repository a child made
			err = removeTree(name)
			if err != nil {
				return err
			}
		} else if err := ignoreAbsent(os.Remove(name)); err != nil {
			return err
		}
		for dir := filepath.Dir(name); dir != w.Tree && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
	}
	return nil
}

// run runs git without the person's hooks: what it does here is no checkout of
// theirs.
func (w *WorktreeExport) run(ctx context.Context, dir string, args ...string) (process.Result, error) {
	args = append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.sparseCheckout=false", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"}, args...)
	result, err := w.place.repo.git(ctx, gitCall{Args: args, Bare: true, Dir: dir, Limit: maxStatus})
	if err == nil && !result.OK() {
		err = gitFailure(args[8], result)
	}
	return result, err
}

func (w *WorktreeExport) git(ctx context.Context, dir string, args ...string) error {
	_, err := w.run(ctx, dir, args...)
	return err
}

// Remove removes the working tree, what git knows of it, and the export. It
// does nothing a second time.
func (w *WorktreeExport) Remove() error {
	err := w.place.repo.dropWorktrees(context.Background(), w.place.dir)
	return errors.Join(err, w.place.Remove())
}

// dropWorktrees lets git forget, and remove, the linked working trees in a
// directory of forge's own. Without git they stay until git prunes them.
func (r *Repo) dropWorktrees(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(filepath.Join(r.commonDir, "worktrees"))
	if ignoreAbsent(err) != nil {
		return fmt.Errorf("list the linked worktrees: %w", err)
	}
	for _, entry := range entries {
		gitDir := filepath.Join(r.commonDir, "worktrees", entry.Name())
		link, err := readState(gitDir, "gitdir")
		if err != nil || link == "" {
			continue
		}
		tree := filepath.Dir(resolve(gitDir, link))
		if below, err := filepath.Rel(dir, tree); err != nil || !filepath.IsLocal(below) {
			continue
		}
		result, err := r.git(ctx, gitCall{Args: []string{"worktree", "remove", "--force", "--force", tree}, Bare: true, Dir: r.commonDir})
		switch {
		case errors.Is(err, errNoGit):
		case err != nil:
			return err
		case !result.OK():
			// Damaged by a child: its files go with the export, and this is
			// all git keeps of it.
			if err := removeTree(gitDir); err != nil {
				return fmt.Errorf("forget a linked worktree: %w", err)
			}
		}
	}
	return nil
}
