package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// RunRef is a run as its refs show it.
type RunRef struct {
	Name   string
	Branch string        // refs/heads/forge/<slug>/<run>; "" when only the tip ref is left
	Tip    gitstore.Hash // of the branch, else of the tip ref
	Config journal.Run
	Ended  Reason // "" while the run is open
	When   int64  // committer time of the tip, Unix seconds
}

// Open says whether the run can go on without being asked to.
func (r RunRef) Open() bool { return r.Branch != "" && r.Ended == "" }

// revision is the run's tip as a person types it for git.
func (r RunRef) revision() string {
	if r.Branch == "" {
		return tipRef(r.Name)
	}
	return shortBranch(r.Branch)
}

// shortBranch is a branch as a person types it.
func shortBranch(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// tipRef is the copy of a run's tip that outlives its branch (R-RUN-10).
func tipRef(run string) string { return "refs/forge/runs/" + run + "/tip" }

// Runs lists the repository's runs, oldest first by their start.
func (e *Engine) Runs(ctx context.Context) ([]RunRef, error) {
	copies := map[string]RunRef{} // by their tip refs
	branches, err := e.Repo.Refs(ctx, "refs/heads/forge/")
	if err != nil {
		return nil, err
	}
	tips, err := e.Repo.Refs(ctx, "refs/forge/runs/")
	if err != nil {
		return nil, err
	}
	remote, err := e.Repo.Refs(ctx, "refs/forge-remote/")
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Concat(tips, remote) {
		if name, isTip := strings.CutSuffix(ref.Name, "/tip"); isTip && copies[path.Base(name)].Tip == "" {
			copies[path.Base(name)] = RunRef{Name: path.Base(name), Tip: ref.Hash}
		}
	}
	found := maps.Clone(copies)
	for _, ref := range branches {
		if parts := strings.Split(ref.Name, "/"); len(parts) == 5 {
			found[parts[4]] = RunRef{Name: parts[4], Branch: ref.Name, Tip: ref.Hash}
		}
	}
	var runs []RunRef
	for name, ref := range found {
		r, err := e.describe(ctx, ref)
		if copied := copies[name]; errors.Is(err, gitstore.ErrNotFound) && copied.Tip != "" {
			r, err = e.describe(ctx, copied) // somebody moved the branch off the run
		}
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // a branch of the same form that is no run
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b RunRef) int {
		return strings.Compare(a.Config.StartedAt+" "+a.Name, b.Config.StartedAt+" "+b.Name)
	})
	return runs, nil
}

// describe reads a run's configuration and how it stands.
func (e *Engine) describe(ctx context.Context, r RunRef) (RunRef, error) {
	data, err := e.Repo.ReadFile(ctx, r.Tip, journal.ConfigPath(r.Name))
	if err != nil {
		return r, err
	}
	if r.Config, err = journal.DecodeRun(data); err != nil {
		return r, fmt.Errorf("run %q: %w", r.Name, err)
	}
	tip, err := e.Repo.ReadCommit(ctx, r.Tip)
	if err != nil {
		return r, err
	}
	r.When = tip.Committer.When.Unix()
	if tip.Trailer("Forge-Action") == "run-end" {
		r.Ended = Reason(tip.Trailer("Forge-Reason"))
	}
	return r, nil
}

// FindRun is RUN as every command takes it: the named one, else the only open
// run, else the newest (loop.md R-OUT-6).
func (e *Engine) FindRun(ctx context.Context, name string) (RunRef, error) {
	runs, err := e.Runs(ctx)
	if err != nil {
		return RunRef{}, err
	}
	if name != "" {
		for _, r := range runs {
			if r.Name == name {
				return r, nil
			}
		}
		return RunRef{}, fault.New(fault.Usage, "forge status lists the runs", "there is no run %q", name)
	}
	if len(runs) == 0 {
		return RunRef{}, fault.New(fault.Usage, "forge run starts one", "this repository has no run yet")
	}
	open := slices.DeleteFunc(slices.Clone(runs), func(r RunRef) bool { return !r.Open() })
	if len(open) == 1 {
		return open[0], nil
	}
	return runs[len(runs)-1], nil
}

// ParseExperiment splits EXP: exp-003, or r1-k3fq/exp-003. The run is "" where
// none is named.
func ParseExperiment(text string) (run, experiment string, n int, err error) {
	experiment = text
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		run, experiment = text[:i], text[i+1:]
	}
	digits, isExp := strings.CutPrefix(experiment, "exp-")
	n, numErr := strconv.Atoi(digits)
	if !isExp || numErr != nil || n < 1 || len(digits) < 3 {
		return "", "", 0, fault.New(fault.Usage, "forge log lists them", "%q is no experiment; they are called exp-001, or RUN/exp-001", text)
	}
	return run, experiment, n, nil
}

// pointTip creates the tip ref or moves it forward. Where another forge does
// the same meanwhile, the newer tip stays.
func (e *Engine) pointTip(ctx context.Context, run string, tip gitstore.Hash) error {
	if tip == "" {
		return nil
	}
	for {
		old, err := e.Repo.Ref(ctx, tipRef(run))
		if err != nil || old == tip {
			return err
		}
		if old != "" {
			if ahead, err := e.Repo.IsAncestor(ctx, tip, old); err != nil || ahead {
				return err
			}
		}
		e.Repo.Crash().Pass("before tip")
		if err := e.Repo.Point(ctx, tipRef(run), old, tip); !errors.Is(err, gitstore.ErrMoved) {
			e.Repo.Crash().Pass("after tip")
			return err
		}
	}
}

// SyncTips brings up the tip refs that a killed process left behind. Every
// writing command calls it first (R-RUN-10). A run that somebody works on is
// left to him.
func (e *Engine) SyncTips(ctx context.Context) error {
	runs, err := e.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.Branch == "" {
			continue
		}
		if err := e.syncTip(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// syncTip brings up one tip ref, under the run's lock: only so may a lock file
// go that the killed process left on it (R-REF-9).
func (e *Engine) syncTip(ctx context.Context, r RunRef) error {
	tip, err := e.Repo.Ref(ctx, tipRef(r.Name))
	if err != nil || tip == r.Tip {
		return err
	}
	release, err := e.Repo.LockRun(ctx, r.Name)
	if fault.KindOf(err) == fault.Conflict {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	if err := e.pointTip(ctx, r.Name, r.Tip); !errors.Is(err, gitstore.ErrLocked) {
		return err
	}
	return nil // by a git that somebody uses on it: the ref is a copy that may lag
}

// Experiments reads the verdict commits of a run from its first-parent line,
// oldest first: the log is the history itself.
func (e *Engine) Experiments(ctx context.Context, r RunRef) ([]gitstore.CommitInfo, error) {
	var found []gitstore.CommitInfo
	err := e.Repo.FirstParents(ctx, r.Tip, func(c gitstore.CommitInfo) (bool, error) {
		if c.Trailer("Forge-Run") == r.Name && c.Trailer("Forge-Experiment") != "" {
			found = append(found, c)
		}
		return string(c.Hash) != r.Config.Base && !(c.Trailer("Forge-Action") == "run-start" && c.Trailer("Forge-Run") == r.Name), nil
	})
	slices.Reverse(found)
	return found, err
}

// IsKept says whether a verdict commit changed the target: a KEEP, unless a
// person decided otherwise, or what a person kept (DECISIONS V17).
func IsKept(c gitstore.CommitInfo) bool {
	switch c.Trailer("Forge-Override") {
	case "keep", "adjust":
		return true
	case "revert":
		return false
	}
	return c.Trailer("Forge-Decision") == string(verdict.Keep)
}
