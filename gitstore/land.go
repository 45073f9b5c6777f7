package gitstore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// mergeTimeout bounds a fast-forward with the hooks of the person, which may
// build or install something.
const mergeTimeout = 10 * time.Minute

// maxNamedFiles is the number of files a refusal names.
const maxNamedFiles = 10

// Advanced says what [Repo.Advance] moved: the branch went from Old to New,
// in the worktree that has it checked out, or, where Worktree is "", by its
// ref alone. `git reset --keep <Old>` in that worktree undoes it (R-LAND-6).
type Advanced struct {
	Worktree string
	Old, New Hash
}

// Advance fast-forwards a branch (a full ref name) from old to new. Where a
// worktree has it checked out, `git merge --ff-only` does it there, so files,
// index and hooks follow; else [Repo.Point] does. It never stashes, resets or
// checks out, and leaves everything as it was when it refuses:
//
//   - an operation such as a rebase is under way there, local changes are in
//     the way (they are named), two worktrees have the branch, it is no
//     fast-forward, or git is missing: a fault of kind Refused, with the
//     command to type as its hint;
//   - the branch is not at old: [ErrMoved], a fault of kind Conflict.
//
// A merge that has begun is not interrupted by ctx: half of it would be left.
//
// Source: gitstore.md R-LAND-2 to R-LAND-4, R-LAND-6.
func (r *Repo) Advance(ctx context.Context, branch string, old, new Hash) (Advanced, error) {
	done := Advanced{Old: old, New: new}
	holders, err := r.holders(ctx, branch)
	if err != nil {
		return Advanced{}, err
	}
	landing := r.landingOf(ctx, new)
	if err := landing.checkHolders(branch, holders); err != nil {
		return Advanced{}, err
	}
	if err := r.checkForward(ctx, branch, old, new, landing); err != nil || old == new {
		return done, err
	}
	if len(holders) == 0 {
		return done, r.Point(ctx, branch, old, new)
	}
	done.Worktree = holders[0].path
	if err := r.mergeForward(ctx, holders[0], branch, old, landing); err != nil {
		return Advanced{}, err
	}
	return done, nil
}

// landing is a commit to fast-forward to, with the names it is known by.
type landing struct {
	commit Hash
	run    string // "" if it is no run's landing ref
}

// landingOf finds the run whose landing ref stands at the commit. It is only
// for the words of a refusal, so that a failure means "none".
func (r *Repo) landingOf(ctx context.Context, commit Hash) landing {
	refs, err := r.Refs(ctx, "refs/forge/runs/")
	if err != nil {
		return landing{commit: commit}
	}
	for _, ref := range refs {
		rest := strings.TrimPrefix(ref.Name, "refs/forge/runs/")
		if run, leaf, _ := strings.Cut(rest, "/"); leaf == "landing" && ref.Hash == commit {
			return landing{commit: commit, run: run}
		}
	}
	return landing{commit: commit}
}

// command is what a person types to land by hand (R-LAND-4).
func (l landing) command() string {
	if l.run != "" {
		return "git merge --ff-only refs/forge/runs/" + l.run + "/landing"
	}
	return "git merge --ff-only " + string(l.commit)
}

// again is what a person types when the way is free.
func (l landing) again() string {
	if l.run != "" {
		return "forge land " + l.run
	}
	return l.command()
}

// checkHolders refuses a branch that a worktree is busy with, and one that two
// worktrees have: merging in one leaves the other behind.
func (l landing) checkHolders(branch string, holders []worktree) error {
	for _, w := range holders {
		if busy := operation(w.gitDir); busy != "" {
			return fault.New(fault.Refused, "finish or abort it, then "+l.again(), "a %s is under way in %q", busy, w.path)
		}
	}
	if len(holders) > 1 {
		return fault.New(fault.Refused, fmt.Sprintf("git -C %s switch --detach, then %s", shellQuote(holders[1].path), l.again()),
			"branch %q is checked out in %q and in %q", shortBranch(branch), holders[0].path, holders[1].path)
	}
	return nil
}

// checkForward refuses unless the branch is at old and new descends from it.
func (r *Repo) checkForward(ctx context.Context, branch string, old, new Hash, l landing) error {
	at, err := r.Ref(ctx, branch)
	if err != nil {
		return err
	}
	if at != old {
		return moved(branch, old, at)
	}
	if old == "" || old == new {
		return nil
	}
	forward, err := r.IsAncestor(ctx, old, new)
	if err != nil {
		return fmt.Errorf("compare %s with %s: %w", old.Short(), new.Short(), err)
	}
	if !forward {
		return fault.New(fault.Refused, "git merge "+strings.TrimPrefix(l.command(), "git merge --ff-only "),
			"%s is no fast-forward of branch %q, which is at %s", new.Short(), shortBranch(branch), old.Short())
	}
	return nil
}

// mergeForward runs git merge --ff-only in a worktree and checks what came of
// it: somebody may have switched or committed there meanwhile.
func (r *Repo) mergeForward(ctx context.Context, w worktree, branch string, old Hash, l landing) error {
	binary, err := r.gitBinary()
	if err != nil {
		return fault.New(fault.Refused, l.command(), "branch %q is checked out in %q, and moving it there needs git: %w", shortBranch(branch), w.path, err)
	}
	argv := []string{binary}
	if !exists(filepath.Join(w.path, ".git")) { // only GIT_DIR or core.worktree ties it to its repository
		argv = append(argv, "--git-dir="+w.gitDir, "--work-tree="+w.path)
	}
	argv = append(argv, "-c", "merge.autoStash=false", "merge", "--ff-only", string(l.commit))
	result, err := process.Plain(context.WithoutCancel(ctx), process.Command{
		Argv: argv, Dir: w.path, Env: r.gitEnv(), Timeout: mergeTimeout, Crash: r.env.Crash,
	})
	if err != nil {
		return fmt.Errorf("run git merge: %w", err)
	}
	at, err := r.Ref(ctx, branch)
	switch {
	case err != nil:
		return err
	case at == l.commit:
		return nil // whatever a hook of the person answered
	case at != old:
		return moved(branch, old, at)
	case result.OK():
		return fault.New(fault.Conflict, "run the command again", "worktree %q left branch %q while forge landed; look at git -C %s reflog",
			w.path, shortBranch(branch), shellQuote(w.path))
	}
	if files := filesInTheWay(string(result.Stderr)); len(files) > 0 {
		return fault.New(fault.Refused, l.command(),
			"local changes in %q are in the way of landing: %s", w.path, nameFiles(files))
	}
	return &fault.Error{Kind: fault.Failed, Msg: fmt.Sprintf("landing in %q: %v", w.path, gitFailure("merge", result)), Hint: l.command()}
}

// filesInTheWay reads from git's message the files that a merge would
// overwrite: lists indented by a tab, or one sentence for each.
func filesInTheWay(message string) []string {
	var files []string
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		if name, listed := strings.CutPrefix(line, "\t"); listed {
			files = append(files, name)
			continue
		}
		rest, single := strings.CutPrefix(line, "error: Entry '")
		if !single {
			rest, single = strings.CutPrefix(line, "error: Untracked working tree file '")
		}
		if end := strings.LastIndexByte(rest, '\''); single && end > 0 {
			files = append(files, rest[:end])
		}
	}
	return files
}

// nameFiles lists files for a sentence, the first [maxNamedFiles] by name.
func nameFiles(files []string) string {
	var quoted []string
	for _, file := range files[:min(len(files), maxNamedFiles)] {
		quoted = append(quoted, fmt.Sprintf("%q", file))
	}
	list := strings.Join(quoted, ", ")
	if more := len(files) - len(quoted); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
