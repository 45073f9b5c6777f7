package loop

import (
	"context"
	"slices"
	"sync"
	"testing"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/loop/journal"
	"forge/loop/runner"
)

// noted is an executor that notes what it is asked, and answers by a function.
type noted struct {
	mu     sync.Mutex
	pairs  []runner.Pair
	answer func(p runner.Pair, side int) runner.Side
}

func (n *noted) Run(_ context.Context, p runner.Pair) (runner.Result, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pairs = append(n.pairs, p)
	var r runner.Result
	for side := range r.Sides {
		if !p.Skip[side] {
			r.Sides[side] = n.answer(p, side)
		}
	}
	return r, nil
}

func graded(passed ...bool) runner.Side {
	s := runner.Side{Outcome: runner.OK}
	for _, p := range passed {
		s.Verdicts = append(s.Verdicts, evals.Verdict{ID: "c", Passed: &p})
	}
	return s
}

func taskList(n int) []evals.Eval {
	list := make([]evals.Eval, n)
	for i := range list {
		list[i] = evals.Eval{ID: string(rune('a' + i)), Checks: []evals.Check{{ID: "c"}}}
	}
	return list
}

// R-STAT-11: the side that starts alternates from eval to eval, and from run to
// run; R-SCORE-10: every run of an eval has its verdicts.
func TestMeasureOrder(t *testing.T) {
	ask := &noted{answer: func(runner.Pair, int) runner.Side { return graded(true) }}
	k := &skillMode{executor: ask, parallel: 1, spec: runner.Spec{Kind: runner.KindCommand, RunsPerSide: 2}}
	results, err := k.measure(t.Context(), question{run: "r", dir: "s", commits: [2]gitstore.Hash{"x", "y"}, list: taskList(3)})
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	seeds := map[int64]bool{}
	for _, p := range ask.pairs {
		order = append(order, p.First)
		seeds[p.Seed] = true
	}
	if want := []int{0, 1, 0, 1, 0, 1}; !slices.Equal(order, want) || len(seeds) != 6 {
		t.Errorf("the sides start in the order %v with %d seeds, want %v with 6", order, len(seeds), want)
	}
	if len(results) != 3 || len(results[0].Sides[0].Verdicts) != 2 || results[2].Sides[1].Runs != 2 {
		t.Errorf("the results are %+v", results)
	}
}

// Pairs are started in the order of the list however many run at once, and a
// side that is known is not run.
func TestMeasureKnown(t *testing.T) {
	ask := &noted{answer: func(runner.Pair, int) runner.Side { return graded(false) }}
	k := &skillMode{executor: ask, parallel: 4, spec: runner.Spec{Kind: runner.KindCommand}}
	known := []runner.Side{graded(true), graded(true)}
	results, err := k.measure(t.Context(), question{list: taskList(2), known: known})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if !*r.Sides[runner.Baseline].Verdicts[0].Passed || *r.Sides[runner.Candidate].Verdicts[0].Passed {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	for _, p := range ask.pairs {
		if p.Skip != [2]bool{true, false} {
			t.Errorf("a known baseline is measured: %v", p.Skip)
		}
	}
}

// An error ends the whole measurement and starts nothing more.
func TestMeasureError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	ask := &noted{answer: func(runner.Pair, int) runner.Side { cancel(context.DeadlineExceeded); return graded(true) }}
	k := &skillMode{executor: ask, parallel: 1, spec: runner.Spec{Kind: runner.KindCommand}}
	_, err := k.measure(ctx, question{list: taskList(20)})
	if err != context.DeadlineExceeded || len(ask.pairs) > 3 {
		t.Errorf("%v after %d pairs", err, len(ask.pairs))
	}
}

// roles.md section 14: one run without a result leaves the side without.
// skill-format.md R-SF-TR-2: of a query the share of runs decides.
func TestOneSide(t *testing.T) {
	failed := runner.Side{Outcome: runner.TimedOut, Reason: "no answer"}
	loaded, not := runner.Side{Outcome: runner.OK, Triggered: 1, Verdicts: graded(true).Verdicts}, runner.Side{Outcome: runner.OK, Verdicts: graded(false).Verdicts}
	tests := map[string]struct {
		form    evals.Form
		should  bool
		parts   []runner.Side
		outcome runner.Outcome
		passed  []bool
		flaky   bool
	}{
		"one":                {evals.Tasks, false, []runner.Side{graded(true, false)}, runner.OK, []bool{true, false}, false},
		"two":                {evals.Tasks, false, []runner.Side{graded(true, false), graded(true, false)}, runner.OK, []bool{true, false, true, false}, false},
		"two that disagree":  {evals.Tasks, false, []runner.Side{graded(true, false), graded(true, true)}, runner.OK, []bool{true, false, true, true}, true},
		"last without":       {evals.Tasks, false, []runner.Side{graded(true), failed}, runner.TimedOut, nil, false},
		"first without":      {evals.Tasks, false, []runner.Side{failed, graded(true)}, runner.TimedOut, nil, false},
		"half of the loads":  {evals.Triggers, true, []runner.Side{loaded, not}, runner.OK, []bool{true}, true},
		"half, should not":   {evals.Triggers, false, []runner.Side{loaded, not}, runner.OK, []bool{false}, true},
		"a third of them":    {evals.Triggers, true, []runner.Side{loaded, not, not}, runner.OK, []bool{false}, true},
		"every run loads it": {evals.Triggers, true, []runner.Side{loaded, loaded, loaded}, runner.OK, []bool{true}, false},
		"no run loads it":    {evals.Triggers, false, []runner.Side{not, not}, runner.OK, []bool{true}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := oneSide(tt.form, evals.Eval{ShouldTrigger: tt.should}, tt.parts)
			var passed []bool
			for _, v := range got.Verdicts {
				passed = append(passed, *v.Passed)
			}
			if got.Outcome != tt.outcome || !slices.Equal(passed, tt.passed) || flaky(tt.form, got) != tt.flaky {
				t.Errorf("oneSide = %s %v, flaky %v; want %s %v, %v", got.Outcome, passed, flaky(tt.form, got), tt.outcome, tt.passed, tt.flaky)
			}
		})
	}
}

// R-STAT-12: what came after the last fresh measurement. Rounds that measured
// nothing make nothing older.
func TestLastFresh(t *testing.T) {
	line := func(id, source, decision string) journal.Line {
		return journal.Line{ID: id, BaselineSource: source, Decision: decision}
	}
	tests := map[string]struct {
		lines  []journal.Line
		name   string
		rounds int
		kept   bool
	}{
		"start":            {nil, "start", 0, false},
		"two rounds":       {[]journal.Line{line("exp-001", "cached@start", "NEUTRAL"), line("exp-002", "cached@start", "REVERT")}, "start", 2, false},
		"a skip between":   {[]journal.Line{line("exp-001", "cached@start", "NEUTRAL"), line("exp-002", "", "SKIP")}, "start", 1, false},
		"fresh again":      {[]journal.Line{line("exp-001", "cached@start", "NEUTRAL"), line("exp-002", "fresh", "NEUTRAL")}, "exp-002", 0, false},
		"one after":        {[]journal.Line{line("exp-001", "fresh", "NEUTRAL"), line("exp-002", "cached@exp-001", "NEUTRAL")}, "exp-001", 1, false},
		"kept with fresh":  {[]journal.Line{line("exp-001", "fresh", "KEEP")}, "exp-001", 0, true},
		"kept with cached": {[]journal.Line{line("exp-001", "fresh", "NEUTRAL"), line("exp-002", "cached@exp-001", "KEEP")}, "exp-001", 1, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &Session{journal: journal.Journal{Lines: tt.lines}}
			got, since := s.lastFresh()
			if got != tt.name || since.Rounds != tt.rounds || since.KeptSince != tt.kept {
				t.Errorf("lastFresh = %s, %+v; want %s, %d rounds, kept %v", got, since, tt.name, tt.rounds, tt.kept)
			}
		})
	}
}
