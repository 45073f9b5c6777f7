package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// RunState is how a run stands, in a word (R-TIDY-1).
type RunState string

// The states of a run. The first that holds counts, in this order.
const (
	StateRunning    RunState = "running"    // a process works on it
	StateLanded     RunState = "landed"     // a branch has all that it kept
	StateSuperseded RunState = "superseded" // closed by unattended work; a newer run goes on
	StateFinished   RunState = "finished"
	StateStopped    RunState = "stopped" // open, and nobody works on it
)

// KeptRun is what the repository keeps of a run.
type KeptRun struct {
	RunRef
	State    RunState
	Kept     int            // experiments
	Last     time.Time      // of the newest commit
	Refs     []gitstore.Ref // its own ones here, sorted; without what was fetched
	Evidence int64          // bytes of raw outputs
}

// evidenceRef holds a run's raw outputs with keep_evidence = "git" (R-REF-1).
func evidenceRef(run string) string { return "refs/forge/evidence/" + run }

// KeptRuns lists what the repository keeps of its runs, oldest first.
func (e *Engine) KeptRuns(ctx context.Context) ([]KeptRun, error) {
	runs, err := e.Runs(ctx)
	if err != nil {
		return nil, err
	}
	kept := make([]KeptRun, 0, len(runs))
	for _, r := range runs {
		k, err := e.keptRun(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("look at run %q: %w", r.Name, err)
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// keptRun finds everything that belongs to one run.
func (e *Engine) keptRun(ctx context.Context, r RunRef) (KeptRun, error) {
	k := KeptRun{RunRef: r, Last: time.Unix(r.When, 0).UTC()}
	var err error
	if k.Refs, err = e.Repo.Refs(ctx, "refs/forge/runs/"+r.Name+"/"); err != nil {
		return k, err
	}
	for _, name := range []string{evidenceRef(r.Name), r.Branch} {
		if name == "" {
			continue
		}
		at, err := e.Repo.Ref(ctx, name)
		if err != nil {
			return k, err
		}
		if at != "" {
			k.Refs = append(k.Refs, gitstore.Ref{Name: name, Hash: at})
		}
	}
	slices.SortFunc(k.Refs, func(a, b gitstore.Ref) int { return strings.Compare(a.Name, b.Name) })
	if k.Evidence, err = dirSize(e.evidenceDir(r.Name)); err != nil {
		return k, err
	}
	experiments, err := e.Experiments(ctx, r)
	if err != nil {
		return k, err
	}
	for _, x := range experiments {
		if IsKept(x) {
			k.Kept++
		}
	}
	k.State, err = e.stateOf(ctx, k)
	return k, err
}

// stateOf is a run's state in a word.
func (e *Engine) stateOf(ctx context.Context, k KeptRun) (RunState, error) {
	held, err := e.Repo.RunHeld(k.Name)
	if err != nil || held {
		return StateRunning, err
	}
	landed := false
	if k.Kept > 0 {
		landed, err = e.HasLanded(ctx, k.RunRef)
	}
	switch {
	case err != nil:
		return "", err
	case landed:
		return StateLanded, nil
	case k.Ended == Superseded:
		return StateSuperseded, nil
	case k.Ended != "":
		return StateFinished, nil
	}
	return StateStopped, nil
}

// HasLanded says whether a branch lacks nothing that the run kept: the one it
// began on, or one that has its newest landing.
func (e *Engine) HasLanded(ctx context.Context, r RunRef) (bool, error) {
	branches, err := e.Repo.Refs(ctx, "refs/heads/")
	if err != nil {
		return false, err
	}
	landing, err := e.Repo.Ref(ctx, landingRef(r.Name))
	if err != nil {
		return false, err
	}
	for _, b := range branches {
		if strings.HasPrefix(b.Name, "refs/heads/forge/") {
			continue
		}
		has := b.Name == "refs/heads/"+r.Config.BaseBranch
		if !has && landing != "" {
			if has, err = e.Repo.IsAncestor(ctx, landing, b.Hash); err != nil {
				return false, err
			}
		}
		if !has {
			continue
		}
		l, err := e.newLanding(ctx, r, b.Name, b.Hash)
		if err != nil {
			return false, err
		}
		if len(l.pending) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// evidenceDir holds the raw outputs of a run, beside the history.
func (e *Engine) evidenceDir(run string) string {
	return filepath.Join(e.Repo.ForgeDir(), "evidence", run)
}

// dirSize adds up the files below a directory; 0 if there is none.
func dirSize(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // none, or it went meanwhile
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("add up %q: %w", dir, err)
	}
	return bytes, nil
}

// Removal is what would go of one run.
type Removal struct {
	Run      KeptRun
	Refs     []gitstore.Ref // in the order they go: the tip last
	Commits  int            // that only these refs reach
	Evidence bool           // the raw outputs go too
	Lost     bool           // kept changes that have not landed go with it
}

// Empty says whether nothing would go.
func (r Removal) Empty() bool { return len(r.Refs) == 0 && (!r.Evidence || r.Run.Evidence == 0) }

// Left is a run that stays, and why.
type Left struct {
	Run, Reason string
	Kind        fault.Kind // how a command ends that wanted it gone; OK where staying is right
}

// PlanDrop says what `forge runs drop` would remove: everything of the run,
// but its tip where it has landed. Nothing is written. A run that a process
// works on is a fault of kind Conflict, one whose branch is checked out of
// kind Refused.
//
// Source: gitstore.md R-TIDY-1, R-TIDY-2.
func (e *Engine) PlanDrop(ctx context.Context, r RunRef) (Removal, error) {
	k, err := e.keptRun(ctx, r)
	if err != nil {
		return Removal{}, err
	}
	if k.State == StateRunning {
		release, err := e.Repo.LockRun(ctx, r.Name) // its error says who works on it
		if err != nil {
			return Removal{}, err
		}
		release()
		return Removal{}, fault.New(fault.Conflict, "run the command again", "run %q was held until just now", r.Name)
	}
	if r.Branch != "" {
		if err := e.Repo.CheckNotCheckedOut(ctx, r.Branch); err != nil {
			return Removal{}, err
		}
	}
	removal := Removal{Run: k, Evidence: true, Lost: k.Kept > 0 && k.State != StateLanded}
	return e.planRefs(ctx, removal, func(name string) bool { return k.State != StateLanded || name != tipRef(r.Name) })
}

// PlanPrune says what `forge runs prune` would remove of runs whose newest
// commit has the given age or more: of what landed the run branch and the
// candidates, of what kept nothing everything. Raw outputs go only where they
// are asked for. What stays although it is old is named. Nothing is written.
//
// Source: gitstore.md R-TIDY-1, R-TIDY-2.
func (e *Engine) PlanPrune(ctx context.Context, age time.Duration, evidence bool) (removals []Removal, left []Left, err error) {
	runs, err := e.KeptRuns(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range runs {
		if k.Last.After(e.Now().Add(-age)) {
			continue
		}
		removal, stays, err := e.planPrune(ctx, k, evidence)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case stays.Reason != "":
			left = append(left, stays)
		case !removal.Empty():
			removals = append(removals, removal)
		}
	}
	return removals, left, nil
}

// planPrune is what would go of one old run, or why it stays.
func (e *Engine) planPrune(ctx context.Context, k KeptRun, evidence bool) (Removal, Left, error) {
	stays := Left{Run: k.Name}
	switch {
	case k.State == StateRunning:
		stays.Reason = "a process works on it"
		return Removal{}, stays, nil
	case k.Kept > 0 && k.State != StateLanded:
		stays.Reason = count(k.Kept, "kept change") + " not landed; forge land " + k.Name + ", or forge runs drop " + k.Name
		return Removal{}, stays, nil
	}
	if k.Branch != "" {
		err := e.Repo.CheckNotCheckedOut(ctx, k.Branch)
		if fault.KindOf(err) == fault.Refused {
			stays.Reason, stays.Kind = err.Error(), fault.Refused
			return Removal{}, stays, nil
		}
		if err != nil {
			return Removal{}, Left{}, err
		}
	}
	removal, err := e.planRefs(ctx, Removal{Run: k, Evidence: evidence}, func(name string) bool {
		switch {
		case name == evidenceRef(k.Name):
			return evidence
		case k.State != StateLanded:
			return true
		}
		return name == k.Branch || strings.HasPrefix(name, candidateRef(k.Name, "exp-"))
	})
	return removal, Left{}, err
}

// planRefs chooses the refs that go and counts what only they reach. The tip
// goes last: as long as it is there the rest can be found, also after a kill.
func (e *Engine) planRefs(ctx context.Context, removal Removal, goes func(name string) bool) (Removal, error) {
	k := removal.Run
	tip := gitstore.Ref{Name: tipRef(k.Name), Hash: k.Tip} // brought up first (R-RUN-10)
	for _, ref := range k.Refs {
		if goes(ref.Name) && ref.Name != tip.Name {
			removal.Refs = append(removal.Refs, ref)
		}
	}
	if len(k.Refs) > 0 && goes(tip.Name) {
		removal.Refs = append(removal.Refs, tip)
	}
	var err error
	removal.Commits, err = e.onlyReachedBy(ctx, removal)
	return removal, err
}

// onlyReachedBy counts the commits that no ref reaches once some have gone.
func (e *Engine) onlyReachedBy(ctx context.Context, removal Removal) (int, error) {
	all, err := e.Repo.Refs(ctx, "refs/")
	if err != nil {
		return 0, err
	}
	head, err := e.Repo.Head(ctx)
	if err != nil {
		return 0, err
	}
	var gone, stay []gitstore.Hash
	going := map[string]bool{}
	for _, ref := range removal.Refs {
		going[ref.Name] = true
		gone = append(gone, ref.Hash)
	}
	if !going[tipRef(removal.Run.Name)] {
		stay = append(stay, removal.Run.Tip)
	}
	for _, ref := range append(all, gitstore.Ref{Name: "HEAD", Hash: head.Commit}) {
		if ref.Hash == "" || going[ref.Name] {
			continue
		}
		commit, err := e.Repo.Resolve(ctx, string(ref.Hash)) // a tag stands for its commit
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // a tag of something else
		}
		if err != nil {
			return 0, err
		}
		stay = append(stay, commit)
	}
	missing, err := e.Repo.Missing(ctx, gone, stay)
	return len(missing), err
}

// Remove carries out a plan, under the run's lock. Each ref goes only if it
// still stands where the plan saw it; a ref that moved ends the removal with a
// fault of kind Conflict that names it, and what is left can be removed by
// planning again. Objects stay until git's own expiry, so a branch made at the
// run's tip brings the run back.
//
// Source: gitstore.md R-TIDY-2, R-REF-7.
func (e *Engine) Remove(ctx context.Context, removal Removal) error {
	r := removal.Run.RunRef
	release, err := e.Repo.Lock(ctx, "forge runs", lockWait)
	if err != nil {
		return err
	}
	defer release()
	releaseRun, err := e.Repo.LockRun(ctx, r.Name)
	if err != nil {
		return err
	}
	defer releaseRun()
	if len(removal.Run.Refs) > 0 {
		if err := e.pointTip(ctx, r.Name, r.Tip); err != nil {
			return err
		}
	}
	last := len(removal.Refs) - 1
	tipGoes := last >= 0 && removal.Refs[last].Name == tipRef(r.Name)
	for i, ref := range removal.Refs {
		if tipGoes && i == last {
			break
		}
		if err := e.removeRef(ctx, ref); err != nil {
			return err
		}
	}
	if removal.Evidence {
		e.Repo.Crash().Pass("before removing evidence")
		if err := os.RemoveAll(e.evidenceDir(r.Name)); err != nil {
			return fmt.Errorf("remove the evidence of run %q: %w", r.Name, err)
		}
	}
	if tipGoes {
		return e.removeRef(ctx, removal.Refs[last])
	}
	return nil
}

// removeRef deletes one ref, if it stands where it should.
func (e *Engine) removeRef(ctx context.Context, ref gitstore.Ref) error {
	e.Repo.Crash().Pass("before removing ref")
	if err := e.Repo.DeleteRef(ctx, ref.Name, ref.Hash); err != nil {
		return fmt.Errorf("remove %s: %w", ref.Name, err)
	}
	return nil
}
