package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/runner"
)

// BisectRequest asks which kept change of a run broke one of its evals.
type BisectRequest struct {
	Run   RunRef
	Setup Setup // what the runner is given, and how many runs at once
	Eval  string

	Begin    func(states, most int, split evals.Split) // told how many states there are and how many are measured at most
	Measured func(BisectState)                         // told of each as it is measured
}

// Bisection is the document of `forge bisect`.
type Bisection struct {
	Run          string        `json:"run"`
	Skill        string        `json:"skill"`
	Eval         string        `json:"eval"`
	Prompt       string        `json:"prompt"`
	Split        evals.Split   `json:"split"`
	Answer       string        `json:"answer"`     // broken, passes, fails_at_base
	Experiment   string        `json:"experiment"` // the one that broke it; "" for another answer
	Commit       string        `json:"commit"`     // its verdict
	Subject      string        `json:"subject"`
	States       int           `json:"states"`       // the base and what was kept
	Measurements int           `json:"measurements"` // how many of them were measured
	Measured     []BisectState `json:"measured"`     // in the order of the run
}

// The answers of a bisection.
const (
	EvalBroken      = "broken"
	EvalPasses      = "passes"        // with everything that was kept
	EvalFailsAtBase = "fails_at_base" // so no change broke it
)

// BisectState is one state of the run and how the eval did there.
type BisectState struct {
	State  string `json:"state"` // baseState, or the experiment that made it
	Commit string `json:"commit"`
	OK     bool   `json:"ok"`     // every check passed, in every run
	Passed int    `json:"passed"` // checks, over all runs
	Total  int    `json:"total"`
}

// baseState is the state no experiment made.
const baseState = "base"

// Bisect finds the kept change of a run that broke an eval, by binary search
// over the base and the kept states: an eval passes where all its checks do.
// Each state is measured at most once, with the runner, the evals and the seed
// the run froze; states with the same skill are one. The newest state is
// measured first, because where that passes nothing is broken. An eval that
// breaks, is mended and breaks again is broken by one of these changes.
//
// Source: CLI.md, Reading the history; gitstore.md R-RUN-10.
func (e *Engine) Bisect(ctx context.Context, q BisectRequest) (found Bisection, err error) {
	if q.Run.Config.Mode != ModeSkill {
		return found, fault.New(fault.Usage, "git bisect works on its branch", "run %s measures %q by a metric and has no evals", q.Run.Name, q.Run.Config.Target)
	}
	a, err := e.measureAgain(ctx, q.Run, q.Setup)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	k := a.skill
	at := slices.IndexFunc(k.gradable.Evals, func(v evals.Eval) bool { return v.ID == q.Eval })
	if at < 0 {
		return found, fault.New(fault.Usage, "forge eval "+q.Run.Config.Target+" --split all --json lists them", "%q has no eval %q that run %s can grade", q.Run.Config.Target, q.Eval, q.Run.Name)
	}
	one := k.gradable.Evals[at]
	states, err := e.keptStates(ctx, q.Run)
	if err != nil {
		return found, err
	}
	b := &bisector{again: a, eval: one, states: states, known: map[gitstore.Hash]bool{}, measured: map[int]BisectState{}, tell: q.Measured}
	q.Begin(len(states), mostMeasured(len(states)), k.split.Assignment[one.ID])
	found = Bisection{
		Run: q.Run.Name, Skill: a.target.dir, Eval: one.ID, Prompt: one.Prompt, Split: k.split.Assignment[one.ID], States: len(states),
	}
	broke, answer, err := bisect(len(states), func(i int) (bool, error) { return b.passes(ctx, i) })
	if err != nil {
		return found, err
	}
	if found.Answer = answer; answer == EvalBroken {
		c := states[broke]
		found.Experiment, found.Commit, found.Subject = c.Trailer("Forge-Experiment"), string(c.Hash), c.Subject
	}
	found.Measured = []BisectState{}
	for _, i := range slices.Sorted(maps.Keys(b.measured)) {
		found.Measured = append(found.Measured, b.measured[i])
	}
	found.Measurements = len(found.Measured)
	return found, nil
}

// bisect finds the first of n states that fails after one that passes: state 0
// is the base. broke is only for EvalBroken.
func bisect(n int, passes func(int) (bool, error)) (broke int, answer string, err error) {
	good, bad := 0, n-1
	ok, err := passes(bad)
	if err != nil || ok {
		return 0, EvalPasses, err
	}
	if ok, err = passes(good); err != nil || !ok {
		return 0, EvalFailsAtBase, err
	}
	for bad-good > 1 {
		middle := good + (bad-good)/2
		if ok, err = passes(middle); err != nil {
			return 0, "", err
		}
		if ok {
			good = middle
		} else {
			bad = middle
		}
	}
	return bad, EvalBroken, nil
}

// mostMeasured is how many of n states bisect asks about at most.
func mostMeasured(n int) int {
	most := min(n, 2) // both ends
	for between := n - 2; between > 0; between /= 2 {
		most++
	}
	return most
}

// keptStates are the base of a run and every commit that kept something,
// oldest first.
func (e *Engine) keptStates(ctx context.Context, r RunRef) ([]gitstore.CommitInfo, error) {
	base, err := e.Repo.ReadCommit(ctx, gitstore.Hash(r.Config.Base))
	if err != nil {
		return nil, err
	}
	experiments, err := e.Experiments(ctx, r)
	kept := slices.DeleteFunc(experiments, func(c gitstore.CommitInfo) bool { return !IsKept(c) })
	return append([]gitstore.CommitInfo{base}, kept...), err
}

// bisector measures one eval at states of a run, each state of the skill once.
type bisector struct {
	*again
	eval     evals.Eval
	states   []gitstore.CommitInfo  // the base first
	known    map[gitstore.Hash]bool // does it pass, by the skill's tree
	measured map[int]BisectState    // by its place among the states
	tell     func(BisectState)
}

func (b *bisector) passes(ctx context.Context, i int) (bool, error) {
	commit := b.states[i].Hash
	tree, err := b.skill.skillTree(ctx, commit, b.target.dir)
	if err != nil {
		return false, err
	}
	// The lexical runner looks at the whole library, but a run changes this
	// skill alone.
	if ok, known := b.known[tree]; known {
		return ok, nil
	}
	state := BisectState{State: baseState, Commit: string(commit)}
	if i > 0 {
		state.State = b.states[i].Trailer("Forge-Experiment")
	}
	results, err := b.skill.measure(ctx, question{
		run: b.Run(), dir: b.target.dir, commits: [2]gitstore.Hash{commit, commit}, list: []evals.Eval{b.eval}, oneSided: true,
	})
	if err != nil {
		return false, err
	}
	side := results[0].Sides[runner.Candidate]
	if side.Outcome != runner.OK {
		return false, fault.New(fault.Failed, "try again; a runner that fails now and then says nothing about the skill",
			"eval %q gave no result at %s%s", b.eval.ID, state.name(), firstReason(results))
	}
	state.Total = len(side.Verdicts)
	for _, v := range side.Verdicts {
		if *v.Passed {
			state.Passed++
		}
	}
	state.OK = state.Passed == state.Total
	b.known[tree], b.measured[i] = state.OK, state
	b.tell(state)
	return state.OK, nil
}

// name is the state in a sentence.
func (s BisectState) name() string {
	if s.State == baseState {
		return "the base " + gitstore.Hash(s.Commit).Short()
	}
	return s.State
}

// String is the state with how the eval did there.
func (s BisectState) String() string {
	return fmt.Sprintf("%s: passes %d of %s", s.name(), s.Passed, count(s.Total, "check"))
}
