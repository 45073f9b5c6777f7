package sample

import (
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// someBars are bars of every kind that decides.
func someBars() []verdict.Bars {
	return []verdict.Bars{
		{},
		{Boundary: verdict.Strict},
		{NoiseFloor: big.NewRat(8, 100)},
		{NearMissBand: big.NewRat(30, 100)},
		{Improvement: new(big.Rat), Regression: new(big.Rat)},
		{SmallestWeight: big.NewRat(2, 1)},
	}
}

// state is a random measurement under way, small enough to complete in every
// way.
func state(random *rand.Rand) (evals []Eval, seen map[int]int64) {
	seen = map[int]int64{}
	for i := range 1 + random.IntN(5) {
		m := 1 + random.Int64N(4)
		evals = append(evals, Eval{m, random.Int64N(m + 1)})
		if random.IntN(2) == 0 {
			seen[i] = random.Int64N(m + 1)
		}
	}
	return evals, seen
}

// outcome is the word and the near miss of a completed measurement.
type outcome struct {
	decision verdict.Decision
	nearMiss bool
}

// completions are the outcomes of all ways to finish a measurement, and with
// exclusions of all ways to leave out evals that have not run.
func completions(t testing.TB, evals []Eval, seen map[int]int64, bars verdict.Bars, exclusions bool) map[outcome]bool {
	found := map[outcome]bool{}
	var finish func(i int, d, n int64)
	finish = func(i int, d, n int64) {
		if i == len(evals) {
			if n > 0 {
				decision, near := must[verdict.Flips](t)(bars.Flips(n, 1)).Decide(d)
				found[outcome{decision, near}] = true
			}
			return
		}
		e := evals[i]
		if passes, done := seen[i]; done {
			finish(i+1, d+passes-e.Baseline, n+e.Total)
			return
		}
		for passes := range e.Total + 1 {
			finish(i+1, d+passes-e.Baseline, n+e.Total)
		}
		if exclusions {
			finish(i+1, d, n)
		}
	}
	finish(0, 0, 0)
	return found
}

// F10: an early exit changes no verdict and misses no chance. 2,000 random
// states, every completion of each.
func TestBoundIsSoundAndTight(t *testing.T) { // R-STAT-15
	random := rand.New(rand.NewPCG(10, 15))
	settled := 0
	for range 2000 {
		evals, seen := state(random)
		bars := someBars()[random.IntN(len(someBars()))]
		got := must[Bounds](t)(Bound(evals, seen, bars))
		all := completions(t, evals, seen, bars, false)
		checkBounds(t, got, all, evals, seen)
		if (got.Verdict != "") != (len(all) == 1) {
			t.Fatalf("Bound(%v, %v) settles %q, and the completions give %v", evals, seen, got.Verdict, all)
		}
		kept, other := 0, 0
		for o := range all {
			if o.decision == verdict.Keep {
				kept++
			} else {
				other++
			}
		}
		if (got.Action == Open) != (kept > 0 && other > 0) {
			t.Fatalf("Bound(%v, %v) settles the action %q, and the completions give %v", evals, seen, got.Action, all)
		}
		if got.Verdict != "" && len(seen) < len(evals) {
			settled++
		}
	}
	if settled < 100 {
		t.Errorf("%d of 2000 states settled early: too few to say anything", settled)
	}
}

// C2: with evals that may still be left out, the four corners are sound too.
func TestBoundWithExclusionsIsSound(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 15))
	settled := 0
	for range 2000 {
		evals, seen := state(random)
		bars := someBars()[random.IntN(len(someBars()))]
		got := must[Bounds](t)(BoundWithExclusions(evals, seen, bars))
		checkBounds(t, got, completions(t, evals, seen, bars, true), evals, seen)
		if got.Verdict != "" && len(seen) < len(evals) {
			settled++
		}
	}
	if settled < 50 {
		t.Errorf("%d of 2000 states settled early: too few to say anything", settled)
	}
}

// checkBounds holds what is settled, and what a stop would write, against all
// completions.
func checkBounds(t testing.TB, got Bounds, all map[outcome]bool, evals []Eval, seen map[int]int64) {
	t.Helper()
	if got.Verdict != "" && !maps.Equal(all, map[outcome]bool{{got.Verdict, got.NearMiss}: true}) {
		t.Fatalf("%v, seen %v settles %s (near miss %t), and the completions give %v", evals, seen, got.Verdict, got.NearMiss, all)
	}
	for o := range all {
		if kept := o.decision == verdict.Keep; got.Action == KeepIt && !kept || got.Action == Rollback && kept {
			t.Fatalf("%v, seen %v settles %s, and a completion gives %s", evals, seen, got.Action, o.decision)
		}
	}
	for _, mode := range []EarlyExit{ExitVerdict, ExitAction} {
		stop, ok := got.Stop(mode)
		if ok && stop.LabelSettled && (stop.Decision != got.Verdict || stop.NearMiss != got.NearMiss) {
			t.Fatalf("stop %+v of %+v", stop, got)
		}
		if ok && !stop.LabelSettled && (got.Action != Rollback || stop.Decision != verdict.Neutral || stop.NearMiss) {
			t.Fatalf("stop %+v of %+v", stop, got)
		}
	}
}

// The integer form of section 9: rolling back is certain once the candidate
// has failed more than N - B - K assertions.
func TestRollbackByFailures(t *testing.T) {
	evals := []Eval{{4, 4}, {5, 3}, {3, 3}, {6, 2}, {4, 4}, {5, 4}} // N 27, B 20, K 2
	for failed := range int64(8) {
		got := must[Bounds](t)(Bound(evals, map[int]int64{1: 5 - min(failed, 5), 3: 6 - max(0, failed-5)}, verdict.Bars{}))
		if want := failed > 27-20-2; (got.Action == Rollback) != want {
			t.Errorf("after %d failures the action is %q, H %d", failed, got.Action, got.High)
		}
	}
}

// Section 9, what is written; section 13, 14: an unsettled word is no near
// miss.
func TestStop(t *testing.T) {
	tests := map[string]struct {
		bounds Bounds
		mode   EarlyExit
		want   Stop
		ok     bool
	}{
		"off":                        {Bounds{Verdict: verdict.Keep, Action: KeepIt}, ExitOff, Stop{}, false},
		"verdict, open":              {Bounds{Action: Rollback}, ExitVerdict, Stop{}, false},
		"verdict, settled":           {Bounds{Verdict: verdict.Neutral, NearMiss: true, Action: Rollback}, ExitVerdict, Stop{verdict.Neutral, true, true}, true},
		"action, open":               {Bounds{}, ExitAction, Stop{}, false},
		"action, settled word":       {Bounds{Verdict: verdict.Revert, Action: Rollback}, ExitAction, Stop{verdict.Revert, false, true}, true},
		"action, unsettled word":     {Bounds{Action: Rollback}, ExitAction, Stop{verdict.Neutral, false, false}, true},
		"action, certain to be kept": {Bounds{Verdict: verdict.Keep, Action: KeepIt}, ExitAction, Stop{verdict.Keep, false, true}, true},
	}
	for name, tt := range tests {
		if got, ok := tt.bounds.Stop(tt.mode); got != tt.want || ok != tt.ok {
			t.Errorf("%s: Stop(%s) = %+v, %t, want %+v, %t", name, tt.mode, got, ok, tt.want, tt.ok)
		}
	}
}

// Section 9: what early exit is refused with, and V13.
func TestEarlyExitCheck(t *testing.T) {
	for _, mode := range []EarlyExit{ExitVerdict, ExitAction} {
		if err := mode.Check(ExitSetup{}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		for _, setup := range []ExitSetup{{Generic: true}, {SideBySide: true}, {Judge: true}} {
			if err := mode.Check(setup); fault.KindOf(err) != fault.Usage {
				t.Errorf("%s with %+v: %v, want a usage fault", mode, setup, err)
			}
			if err := ExitOff.Check(setup); err != nil {
				t.Errorf("off with %+v: %v", setup, err)
			}
		}
	}
	if err := EarlyExit("on").Check(ExitSetup{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("on: %v, want a usage fault", err)
	}
}

func TestBoundRefuses(t *testing.T) {
	tests := map[string]struct {
		evals []Eval
		seen  map[int]int64
		bars  verdict.Bars
	}{
		"no eval":                {nil, nil, verdict.Bars{}},
		"unknown eval":           {[]Eval{{1, 1}}, map[int]int64{1: 0}, verdict.Bars{}},
		"more than all":          {[]Eval{{1, 1}}, map[int]int64{0: 2}, verdict.Bars{}},
		"impossible baseline":    {[]Eval{{1, 2}}, nil, verdict.Bars{}},
		"eval without assertion": {[]Eval{{0, 0}}, nil, verdict.Bars{}},
		"relative":               {[]Eval{{1, 1}}, map[int]int64{0: 1}, verdict.Bars{Relative: true}},
	}
	for name, tt := range tests {
		for _, bound := range []func([]Eval, map[int]int64, verdict.Bars) (Bounds, error){Bound, BoundWithExclusions} {
			if _, err := bound(tt.evals, tt.seen, tt.bars); fault.KindOf(err) != fault.Usage {
				t.Errorf("%s: %v, want a usage fault", name, err)
			}
		}
	}
}

// What evals are ordered by is exact, so 1/5 against 1/5 stays in the order of
// the file.
func TestFailFirstTies(t *testing.T) { // R-STAT-16
	order, failures, err := FailFirst([]History{{4, 4, 4}, {2, 0, 0}, {8, 9, 9}, {1, 0, 5}, {4, 4, 4}})
	if err != nil {
		t.Fatal(err)
	}
	// 4*(1/4)/5 = 1/5, 2*(1/4)/1 = 1/2, 8*(1/4)/10 = 1/5, 1*(21/4)/6 = 7/8, 1/5
	if want := []int{3, 1, 0, 2, 4}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v (%v)", order, want, failures)
	}
	if order, _, err := FailFirst(nil); err != nil || len(order) != 0 {
		t.Errorf("FailFirst of nothing = %v, %v", order, err)
	}
	for _, h := range []History{{1, 2, 1}, {1, -1, 0}, {-1, 0, 0}} {
		if _, _, err := FailFirst([]History{h}); fault.KindOf(err) != fault.Usage {
			t.Errorf("FailFirst(%+v) = %v, want a usage fault", h, err)
		}
	}
}

// A settled bound is the verdict of whatever follows.
func FuzzBound(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Add(uint64(7), uint64(0))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		evals, seen := state(rand.New(rand.NewPCG(a, b)))
		for _, bars := range someBars() {
			checkBounds(t, must[Bounds](t)(Bound(evals, seen, bars)), completions(t, evals, seen, bars, false), evals, seen)
			checkBounds(t, must[Bounds](t)(BoundWithExclusions(evals, seen, bars)), completions(t, evals, seen, bars, true), evals, seen)
		}
	})
}

// Asked after every eval of a measurement.
func BenchmarkBound(b *testing.B) {
	evals, seen := make([]Eval, 1000), map[int]int64{}
	for i := range evals {
		if evals[i] = (Eval{5, 3}); i%2 == 0 {
			seen[i] = 4
		}
	}
	for b.Loop() {
		if _, err := Bound(evals, seen, verdict.Bars{}); err != nil {
			b.Fatal(err)
		}
	}
}
