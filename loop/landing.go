package loop

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// landing is a landing under way: where the branch stands in the run's
// history, which kept changes it lacks, and the commits made so far.
type landing struct {
	engine *Engine
	run    RunRef
	branch string
	tip    gitstore.Hash // of the branch
	target target

	line     []gitstore.CommitInfo // the run by first parents, its base first
	at       int                   // in line: the state of the target that the branch has, or had before somebody changed it
	touched  bool                  // somebody changed it since
	pending  []int                 // in line: the kept verdicts the branch lacks
	recorded int                   // in line: up to where the branch has the run's pattern pages
	last     gitstore.Hash         // the newest commit made; the branch tip at first
}

// newLanding finds out what a branch lacks of a run. It writes nothing.
func (e *Engine) newLanding(ctx context.Context, r RunRef, branch string, tip gitstore.Hash) (*landing, error) {
	t, err := e.targetOf(ctx, gitstore.Hash(r.Config.Base), &r.Config)
	if err != nil {
		return nil, err
	}
	l := &landing{engine: e, run: r, branch: branch, tip: tip, target: t, last: tip}
	err = e.Repo.FirstParents(ctx, r.Tip, func(c gitstore.CommitInfo) (bool, error) {
		l.line = append(l.line, c)
		return string(c.Hash) != r.Config.Base, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(l.line)
	since, err := e.Repo.Missing(ctx, []gitstore.Hash{tip}, []gitstore.Hash{gitstore.Hash(r.Config.Base)})
	if err != nil {
		return nil, err
	}
	return l, l.locate(ctx, since)
}

// isKept says whether a commit of the line is a verdict that changed the target.
func (l *landing) isKept(i int) bool {
	return l.line[i].Trailer("Forge-Run") == l.run.Name && l.line[i].Trailer("Forge-Experiment") != "" && IsKept(l.line[i])
}

// locate finds where the branch stands in the run and what it lacks, from the
// commits it has since the run's base. What they say of themselves counts
// first, also where it was reverted later; behind that only ids do, since
// history may have been rewritten (R-LAND-7, steps 1 and 7).
func (l *landing) locate(ctx context.Context, since []gitstore.CommitInfo) error {
	experiments, commits := map[string]bool{}, map[gitstore.Hash]bool{}
	for _, c := range since {
		commits[c.Hash] = true // of the run itself, where it landed as a whole
		if c.Trailer("Forge-Run") != l.run.Name {
			continue
		}
		for _, t := range c.Trailers {
			if t.Key == "Forge-Experiment" {
				experiments[t.Value] = true
			}
		}
		commits[broughtUpTo(c)] = true
	}
	landed := 0
	var unnamed []int // kept, and no commit says that it is there
	for i, c := range l.line {
		named := commits[c.Hash] || l.isKept(i) && experiments[c.Trailer("Forge-Experiment")]
		switch {
		case named:
			landed = i
		case l.isKept(i):
			unnamed = append(unnamed, i)
		}
		if commits[c.Hash] {
			l.recorded = i
		}
	}
	at, err := l.stateOf(ctx, l.tip, landed)
	if err != nil {
		return err
	}
	l.at, l.touched, l.pending = max(at, landed), at < 0, unnamed
	if !l.touched { // the ids say that they are there
		l.pending = slices.DeleteFunc(unnamed, func(i int) bool { return i <= at })
	}
	return nil
}

// stateOf is the first place in the line, from the given one on, where what
// is measured is as a commit has it; -1 if it never was.
func (l *landing) stateOf(ctx context.Context, commit gitstore.Hash, from int) (int, error) {
	for i := from; i < len(l.line); i++ {
		if i > from { // the same as before it, mostly: that is cheap to see
			same, err := l.same(ctx, l.line[i-1].Hash, l.line[i].Hash)
			if err != nil {
				return 0, err
			}
			if same {
				continue
			}
		}
		same, err := l.same(ctx, l.line[i].Hash, commit)
		if err != nil {
			return 0, err
		}
		if same {
			return i, nil
		}
	}
	return -1, nil
}

// same says whether what is measured is the same in two commits.
func (l *landing) same(ctx context.Context, a, b gitstore.Hash) (bool, error) {
	differences, err := l.engine.Repo.DiffTrees(ctx, a, b)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(differences, func(d gitstore.Difference) bool { return l.onMeasured(d.Path) }), nil
}

// onTarget says whether a path belongs to the target as it lands: of a skill
// its whole directory, PURPOSE.md and knowledge/ too, else the scope (R-LAND-7,
// step 2).
func (l *landing) onTarget(file string) bool {
	return l.target.glob.Match(file) && !strings.HasPrefix(file, ".forge/")
}

// onMeasured says whether a path of the target can change a measurement. What
// a skill says about its own experiments is never part of one (R-EXP-1).
func (l *landing) onMeasured(file string) bool {
	return l.onTarget(file) && (l.run.Config.Mode != ModeSkill || file != path.Join(l.target.dir, "PURPOSE.md"))
}

// statePath is the curator's state; merged key by key, a landing brings of it
// what the run changed: the target's entry.
const statePath = ".forge/curator/state.json"

// onStep says whether a path goes with every step of a landing.
func (l *landing) onStep(file string) bool { return l.onTarget(file) || file == statePath }

// seenByStep are the paths a step's merge looks at. Outside .forge a run
// changes nothing but its target; of the branch all is seen, so that a target
// that was renamed or archived there is called so (R-MERGE-4).
func (l *landing) seenByStep(file string) bool {
	return file == statePath || !strings.HasPrefix(file, ".forge/")
}

// onPatterns says whether a path is one of the target's pattern pages or their
// evidence. They go last, as events do, so that reverting a kept commit takes
// none of them with it.
func (l *landing) onPatterns(file string) bool {
	return strings.HasPrefix(file, ".forge/patterns/"+l.run.Config.Slug+"/")
}

// onEvents says whether a path is a file of events.
func (l *landing) onEvents(file string) bool { return strings.HasPrefix(file, eventsDir) }

// eventsDir holds one file of events per commit (R-ATOM-3).
const eventsDir = ".forge/events/"

// build makes the commits of a landing, none of which a ref stands for yet,
// and checks them.
func (l *landing) build(ctx context.Context, as LandAs) (commits []LandedCommit, err error) {
	switch as {
	case LandFull:
		return l.full(ctx)
	case LandSquash:
		commits, err = l.squash(ctx)
	default:
		commits, err = l.kept(ctx)
	}
	if err != nil {
		return nil, err
	}
	return commits, l.check(ctx)
}

// kept makes one commit per kept change, with the notes before and after them
// in commits of their own (R-LAND-7, steps 3 to 6).
func (l *landing) kept(ctx context.Context) (commits []LandedCommit, err error) {
	add := func(experiment string, from, to int, message func() (gitstore.Change, error), records bool) error {
		edits, err := l.edits(ctx, from, to, records)
		if err != nil || len(edits) == 0 {
			return err
		}
		change, err := message()
		if err != nil {
			return err
		}
		made, err := l.commit(ctx, experiment, change, edits)
		commits = append(commits, made)
		return err
	}
	at := l.at
	for _, i := range l.pending {
		name := l.line[i].Trailer("Forge-Experiment")
		before := func() (gitstore.Change, error) { return l.notes("notes before " + name), nil }
		if i > at { // else somebody took this one out of the branch, and what is behind it is there
			if err := add("", at, i-1, before, false); err != nil {
				return nil, err
			}
		}
		if err := add(name, i-1, i, func() (gitstore.Change, error) { return l.keptMessage(ctx, l.line[i]) }, false); err != nil {
			return nil, err
		}
		at = max(at, i)
	}
	err = add("", at, len(l.line)-1, func() (gitstore.Change, error) { return l.lastNotes(ctx) }, true)
	return commits, err
}

// squash makes one commit of all of it (R-LAND-5).
func (l *landing) squash(ctx context.Context) ([]LandedCommit, error) {
	edits, err := l.squashed(ctx)
	if err != nil || len(edits) == 0 {
		return []LandedCommit{}, err
	}
	change, err := l.squashMessage(ctx)
	if err != nil {
		return nil, err
	}
	made, err := l.commit(ctx, "", change, edits)
	if err != nil {
		return nil, err
	}
	commits := []LandedCommit{}
	for _, i := range l.pending {
		commits = append(commits, LandedCommit{Experiment: l.line[i].Trailer("Forge-Experiment"), Commit: made.Commit, Subject: made.Subject})
	}
	return commits, nil
}

// squashed leads from the branch tip to all that the branch lacks.
func (l *landing) squashed(ctx context.Context) ([]gitstore.Edit, error) {
	if l.pending[0] > l.at {
		return l.edits(ctx, l.at, len(l.line)-1, true)
	}
	if _, err := l.kept(ctx); err != nil { // step by step, since some of it is there
		return nil, err
	}
	differences, err := l.engine.Repo.DiffTrees(ctx, l.tip, l.last)
	l.last = l.tip
	return editsOf(differences), err
}

// full is the run branch itself. Where the branch moved on since the run
// began, a commit that merges both comes on top of it (R-LAND-1); it is no
// commit of the run, whose own branch stays where it was measured.
func (l *landing) full(ctx context.Context) (commits []LandedCommit, err error) {
	for _, i := range l.pending {
		commits = append(commits, LandedCommit{Experiment: l.line[i].Trailer("Forge-Experiment"), Commit: l.line[i].Hash, Subject: l.line[i].Subject})
	}
	repo := l.engine.Repo
	bases, err := repo.MergeBases(ctx, l.tip, l.run.Tip)
	if err != nil {
		return nil, err
	}
	l.last = l.run.Tip
	switch {
	case len(bases) != 1:
		return nil, fault.New(fault.Failed, "forge land "+l.run.Name+" --as kept, or git merge "+l.run.revision(),
			"%q and run %s have %d common ancestors; a merge needs one", shortBranch(l.branch), l.run.Name, len(bases))
	case bases[0] == l.tip:
		return commits, nil
	}
	merged, err := repo.Merge(ctx, bases[0], l.tip, l.run.Tip, nil)
	if err != nil {
		return nil, err
	}
	if len(merged.Conflicts) > 0 {
		return nil, l.conflict(merged.Conflicts)
	}
	change := l.message(fmt.Sprintf("merge %s into run %s", shortBranch(l.branch), l.run.Name), l.base()+"\n")
	change.From, change.Parents = l.tip, []gitstore.Hash{l.run.Tip, l.tip}
	change.Edits = merged.Edits
	l.last, err = repo.Store(ctx, change)
	return commits, err
}

// edits lead from the newest commit to one that also has what the run did
// between two places of its line, records too where they are wanted.
func (l *landing) edits(ctx context.Context, from, to int, records bool) ([]gitstore.Edit, error) {
	edits, err := l.merge(ctx, l.line[from].Hash, l.line[to].Hash, l.seenByStep)
	if err != nil || !records {
		return edits, err
	}
	patterns, err := l.merge(ctx, l.line[l.recorded].Hash, l.line[to].Hash, l.onPatterns)
	if err != nil {
		return nil, err
	}
	// A file of events never changes: what landed before is the same on both sides.
	events, err := l.merge(ctx, l.line[0].Hash, l.line[to].Hash, l.onEvents)
	return slices.Concat(edits, patterns, events), err
}

// merge brings what changed between two states of the run to the newest
// commit. Where nobody else touched a path that gives the run's very ids.
func (l *landing) merge(ctx context.Context, before, after gitstore.Hash, within func(string) bool) ([]gitstore.Edit, error) {
	merged, err := l.engine.Repo.Merge(ctx, before, l.last, after, within)
	if err != nil {
		return nil, err
	}
	if len(merged.Conflicts) > 0 {
		return nil, l.conflict(merged.Conflicts)
	}
	return merged.Edits, nil
}

// conflict is the end of a landing that somebody else's change is in the way
// of (R-LAND-4).
func (l *landing) conflict(conflicts []gitstore.Conflict) error {
	var files []string
	for _, c := range conflicts {
		files = append(files, c.String())
	}
	return fault.New(fault.Failed, "git merge "+l.run.revision()+", and resolve it there; the result was not measured",
		"what run %s kept and what %q has conflict in %s; nothing moved", l.run.Name, shortBranch(l.branch), strings.Join(files, ", "))
}

// commit stores one commit on top of the newest.
func (l *landing) commit(ctx context.Context, experiment string, change gitstore.Change, edits []gitstore.Edit) (LandedCommit, error) {
	change.From, change.Parents, change.Edits = l.last, []gitstore.Hash{l.last}, edits
	commit, err := l.engine.Repo.Store(ctx, change)
	if err != nil {
		return LandedCommit{}, fmt.Errorf("build the commit %q: %w", change.Subject, err)
	}
	l.last = commit
	return LandedCommit{Experiment: experiment, Commit: commit, Subject: change.Subject}, nil
}

// check is the last look before the branch is moved: only landing paths
// differ from its tip, and what nobody else touched is as the run has it
// (R-LAND-7, step 8). Each commit has one parent by its making.
func (l *landing) check(ctx context.Context) error {
	differences, err := l.engine.Repo.DiffTrees(ctx, l.tip, l.last)
	if err != nil {
		return err
	}
	for _, d := range differences {
		if !l.onStep(d.Path) && !l.onPatterns(d.Path) && !l.onEvents(d.Path) {
			return fmt.Errorf("the landing of run %s would change %q, which is not its target; nothing moved", l.run.Name, d.Path)
		}
	}
	if l.touched {
		return nil
	}
	same, err := l.same(ctx, l.last, l.run.Tip)
	if err == nil && !same {
		err = fmt.Errorf("the landing of run %s does not end with the target as the run has it; nothing moved", l.run.Name)
	}
	return err
}

// events are the ids of the event files that the run added, the names of
// their first events (R-ATOM-3).
func (l *landing) events(ctx context.Context) (ids []string, err error) {
	differences, err := l.engine.Repo.DiffTrees(ctx, l.last, l.run.Tip)
	if err != nil {
		return nil, err
	}
	for _, d := range differences {
		name, isEvents := strings.CutPrefix(d.Path, eventsDir)
		if isEvents && d.Before.Mode == 0 {
			ids = append(ids, strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".jsonl"))
		}
	}
	return ids, nil
}
