package loop

import (
	"context"
	"errors"
	"fmt"
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
	State  string `json:"state"` // base, or the experiment that made it
	Commit string `json:"commit"`
	OK     bool   `json:"ok"`     // every check passed, in every run
	Passed int    `json:"passed"` // checks, over all runs
	Total  int    `json:"total"`

	subject string
	at      int // its place among the states
}

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
	b := &bisector{again: a, eval: one, states: states, known: map[gitstore.Hash]BisectState{}, tell: q.Measured}
	q.Begin(len(states), mostMeasured(len(states)), k.split.Assignment[one.ID])
	found = Bisection{
		Run: q.Run.Name, Skill: a.target.dir, Eval: one.ID, Prompt: one.Prompt, Split: k.split.Assignment[one.ID], States: len(states),
	}
	broke, answer, err := bisect(len(states), func(i int) (bool, error) { return b.passes(ctx, i) })
	if err != nil {
		return found, err
	}
	if found.Answer = answer; answer == EvalBroken {
		found.Experiment, found.Commit, found.Subject = states[broke].State, states[broke].Commit, states[broke].subject
	}
	found.Measured = b.measured
	found.Measurements = len(b.measured)
	slices.SortFunc(found.Measured, func(x, y BisectState) int { return x.at - y.at })
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

// keptStates are the base of a run and every state it kept, oldest first.
func (e *Engine) keptStates(ctx context.Context, r RunRef) ([]BisectState, error) {
	states := []BisectState{{State: "base", Commit: r.Config.Base}}
	experiments, err := e.Experiments(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, c := range experiments {
		if IsKept(c) {
			states = append(states, BisectState{State: c.Trailer("Forge-Experiment"), Commit: string(c.Hash), subject: c.Subject, at: len(states)})
		}
	}
	return states, nil
}

// bisector measures one eval at states of a run, each state of the skill once.
type bisector struct {
	*again
	eval     evals.Eval
	states   []BisectState
	known    map[gitstore.Hash]BisectState // by the skill's tree
	measured []BisectState
	tell     func(BisectState)
}

func (b *bisector) passes(ctx context.Context, i int) (bool, error) {
	state := b.states[i]
	commit := gitstore.Hash(state.Commit)
	tree, err := b.skill.skillTree(ctx, commit, b.target.dir)
	if err != nil {
		return false, err
	}
	// The lexical runner looks at the whole library, but a run changes this
	// skill alone.
	if known, ok := b.known[tree]; ok {
		return known.OK, nil
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
			"eval %q gave no result at %s%s", b.eval.ID, stateText(state), firstReason(results))
	}
	state.Total = len(side.Verdicts)
	for _, v := range side.Verdicts {
		if *v.Passed {
			state.Passed++
		}
	}
	state.OK = state.Passed == state.Total
	b.known[tree] = state
	b.measured = append(b.measured, state)
	b.tell(state)
	return state.OK, nil
}

// stateText names a state in a sentence.
func stateText(s BisectState) string {
	if s.at > 0 {
		return s.State
	}
	return fmt.Sprintf("the base %s", gitstore.Hash(s.Commit).Short())
}

// String is the state with how the eval did there.
func (s BisectState) String() string {
	return fmt.Sprintf("%s: passes %d of %s", stateText(s), s.Passed, count(s.Total, "check"))
}
