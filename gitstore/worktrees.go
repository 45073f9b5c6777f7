package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forge/gitstore/fault"
)

// worktree is a checkout of the repository, the main one or a linked one.
type worktree struct {
	path   string // its root; of a main one that cannot be found, its git directory
	gitDir string // HEAD and the state of operations
}

// CheckedOutAt says which worktree has a branch (a full ref name) in use, and
// which operation is under way there, as [Repo.Operation] names it. A branch
// that a rebase or bisect works on is in use although HEAD is detached. Both
// are "" if no worktree has it.
//
// Source: gitstore.md R-LAND-2, R-WT-1.
func (r *Repo) CheckedOutAt(ctx context.Context, branch string) (worktree, busy string, err error) {
	holders, err := r.holders(ctx, branch)
	if err != nil || len(holders) == 0 {
		return "", "", err
	}
	for _, w := range holders {
		if busy := operation(w.gitDir); busy != "" {
			return w.path, busy, nil
		}
	}
	return holders[0].path, "", nil
}

// CheckNotCheckedOut refuses, with the worktree's path, if a worktree has the
// branch (a full ref name) in use: a run moves its branch without a checkout,
// and would leave that one behind with the run's changes staged in reverse.
//
// Source: gitstore.md R-WT-1.
func (r *Repo) CheckNotCheckedOut(ctx context.Context, branch string) error {
	path, busy, err := r.CheckedOutAt(ctx, branch)
	if err != nil || path == "" {
		return err
	}
	hint := fmt.Sprintf("git -C %s switch --detach", shellQuote(path))
	if busy != "" {
		hint = fmt.Sprintf("finish or abort the %s there", busy)
	}
	return fault.New(fault.Refused, hint, "branch %q is checked out in %q", shortBranch(branch), path)
}

// Operation names what is under way in the worktree this repository was
// opened in: "rebase", "git am", "merge", "cherry-pick", "revert" or
// "bisect", and "" for nothing.
func (r *Repo) Operation() string { return operation(r.gitDir) }

// operation is [Repo.Operation] for the worktree with this git directory.
func operation(gitDir string) string {
	for _, o := range []struct{ file, name string }{
		{"rebase-merge", "rebase"},
		{"rebase-apply/applying", "git am"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_START", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, o.file)); err == nil {
			return o.name
		}
	}
	return ""
}

// holders returns every worktree that has the branch in use.
func (r *Repo) holders(ctx context.Context, branch string) ([]worktree, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	all, err := r.worktrees()
	if err != nil {
		return nil, err
	}
	var holders []worktree
	for _, w := range all {
		used, err := w.uses(branch)
		if err != nil {
			return nil, fmt.Errorf("read the state of worktree %q: %w", w.path, err)
		}
		if used {
			holders = append(holders, w)
		}
	}
	return holders, nil
}

// worktrees returns the main worktree, unless the repository is bare, and all
// linked ones. One whose directory is gone is left out, as `git worktree
// prune` would, unless it is locked.
func (r *Repo) worktrees() ([]worktree, error) {
	var all []worktree
	main, err := r.mainWorktree()
	if err != nil {
		return nil, err
	}
	if main != "" {
		all = append(all, worktree{path: main, gitDir: r.commonDir})
	}
	dir := filepath.Join(r.commonDir, "worktrees")
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the linked worktrees: %w", err)
	}
	for _, name := range names {
		gitDir := filepath.Join(dir, name.Name())
		link, err := readState(gitDir, "gitdir")
		if err != nil {
			return nil, fmt.Errorf("read linked worktree %q: %w", name.Name(), err)
		}
		if link == "" {
			continue
		}
		// The path is relative with extensions.relativeWorktrees.
		w := worktree{path: filepath.Dir(resolve(gitDir, link)), gitDir: gitDir}
		if exists(w.path) || exists(filepath.Join(gitDir, "locked")) {
			all = append(all, w)
		}
	}
	return all, nil
}

// mainWorktree returns the root of the main worktree, "" if the repository is
// bare.
func (r *Repo) mainWorktree() (string, error) {
	if r.gitDir == r.commonDir {
		return r.workTree, nil
	}
	// core.bare and core.worktree move into config.worktree where
	// extensions.worktreeConfig is on.
	config, err := readConfig(filepath.Join(r.commonDir, "config"))
	if err != nil {
		return "", err
	}
	own, err := readConfig(filepath.Join(r.commonDir, "config.worktree"))
	if err != nil {
		return "", err
	}
	settings := append(config, own...).last()
	if settings.bool("core.bare") {
		return "", nil
	}
	if path := settings["core.worktree"]; path != "" {
		return resolve(r.commonDir, path), nil
	}
	if filepath.Base(r.commonDir) == ".git" {
		return filepath.Dir(r.commonDir), nil
	}
	return r.commonDir, nil // a separate git directory does not say where its worktree is
}

// uses reports whether the worktree has the branch checked out, or works on
// it by rebase or bisect.
func (w worktree) uses(branch string) (bool, error) {
	head, err := readHead(w.gitDir)
	if err != nil || head == branch {
		return head == branch, err
	}
	for _, file := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
		name, err := readState(w.gitDir, file)
		if err != nil || name == branch || file == "BISECT_START" && branch == "refs/heads/"+name {
			return err == nil, err
		}
	}
	// rebase --update-refs: three lines for each ref it will move
	updates, err := readState(w.gitDir, "rebase-merge/update-refs")
	if err != nil {
		return false, err
	}
	for i, line := range strings.Split(updates, "\n") {
		if i%3 == 0 && line == branch {
			return true, nil
		}
	}
	return false, nil
}

// readHead returns the full name of the branch HEAD points to, "" if it is
// detached. In old repositories HEAD may be a symbolic link.
func readHead(gitDir string) (string, error) {
	if target, err := os.Readlink(filepath.Join(gitDir, "HEAD")); err == nil {
		return target, nil
	}
	head, err := readState(gitDir, "HEAD")
	if err != nil {
		return "", err
	}
	name, symbolic := strings.CutPrefix(head, "ref:")
	if !symbolic {
		return "", nil
	}
	return strings.TrimSpace(name), nil
}

// readState returns the text of a small file of git without the white space
// around it, "" if there is none.
func readState(gitDir, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, filepath.FromSlash(name)))
	if err != nil && isAbsent(err) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// exists reports whether something has this name, itself not followed.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// shortBranch returns a branch's name as people write it.
func shortBranch(ref string) string { return strings.TrimPrefix(ref, branchPrefix) }

// shellQuote returns text as one word of a POSIX shell, for commands in hints.
func shellQuote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
