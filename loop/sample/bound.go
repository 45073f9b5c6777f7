package sample

import (
	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// EarlyExit says when a measurement may stop before all evals have run.
type EarlyExit string

// The modes of early_exit. ExitOff is the default.
const (
	ExitOff     EarlyExit = "off"
	ExitVerdict EarlyExit = "verdict" // when the verdict is certain
	ExitAction  EarlyExit = "action"  // when it is certain whether the candidate is kept
)

// ExitSetup is what early exit must not be combined with.
type ExitSetup struct {
	Generic    bool // a metric command instead of evals
	SideBySide bool // the baseline is measured beside each candidate
	Judge      bool // a judge's value is part of the score
}

// Check refuses early exit, as a usage fault, where a bound over counts would
// be no bound or save nothing, and a mode that does not exist.
//
// Source: statistics.md section 9; DECISIONS V13.
func (e EarlyExit) Check(s ExitSetup) error {
	switch e {
	case ExitOff:
		return nil
	case ExitVerdict, ExitAction:
	default:
		return fault.New(fault.Usage, "off, verdict or action", "%q is no mode of early_exit", string(e))
	}
	switch {
	case s.Generic:
		return fault.New(fault.Usage, "early_exit = \"off\"", "early_exit = %q needs evals: a metric has no parts to stop between", string(e))
	case s.SideBySide:
		return fault.New(fault.Usage, "baseline = \"cached\"", "early_exit = %q needs a cached baseline", string(e))
	case s.Judge:
		return fault.New(fault.Usage, "early_exit = \"off\"", "early_exit = %q does not work with a judge, whose value needs both sides complete", string(e))
	}
	return nil
}

// Action is what happens to a candidate.
type Action string

// The actions. Open is none yet.
const (
	Open     Action = ""
	KeepIt   Action = "keep"
	Rollback Action = "rollback"
)

// Eval is one eval of the frozen baseline: its assertions, and how many of
// them the baseline passed; with weights both in whole units of weight.
type Eval struct{ Total, Baseline int64 }

// Bounds is what is certain about a measurement that is not finished: the
// difference lies in Low to High, both included, whatever the evals to come
// give.
type Bounds struct {
	N         int64 // assertions of all evals, finished or not
	Seen      int64 // assertions of the finished ones
	Low, High int64
	Done, All int // evals

	Verdict  verdict.Decision // "" while two completions still differ in it or in NearMiss
	NearMiss bool             // of Verdict
	Action   Action

	// Corners are the verdicts at (Low, N), (Low, Seen), (High, N) and (High,
	// Seen); nil unless evals may be left out ([BoundWithExclusions]).
	Corners []verdict.Decision
}

// Bound is the bounds after some evals, seen being the passes of the candidate
// by the position of the eval. They are sound and tight: a settled verdict is
// the one of every completion, and while it is open two completions differ.
//
// That holds while no eval can leave the denominator later, the baseline and
// the bars stay as they are, and a crash of the candidate counts 0 passes. If
// an eval may still be left out on both sides, see [BoundWithExclusions].
//
// Counts that are impossible and bars without an integer form are usage
// faults.
//
// Source: statistics.md F10, R-STAT-15.
func Bound(evals []Eval, seen map[int]int64, bars verdict.Bars) (Bounds, error) {
	b, err := boundsOf(evals, seen)
	if err != nil {
		return Bounds{}, err
	}
	flips, err := bars.Flips(b.N, 1)
	if err != nil {
		return Bounds{}, err
	}
	b.settle([]corner{cornerOf(flips, b.Low), cornerOf(flips, b.High)})
	return b, nil
}

// BoundWithExclusions is [Bound] where an eval that has not finished may still
// be left out on both sides, as after a failure of the infrastructure. It is
// settled only if all four corners of difference and denominator agree, and
// never before an eval has finished.
//
// Source: statistics.md section 9, C2.
func BoundWithExclusions(evals []Eval, seen map[int]int64, bars verdict.Bars) (Bounds, error) {
	b, err := boundsOf(evals, seen)
	if err != nil || b.Seen == 0 {
		return b, err
	}
	all, err := bars.Flips(b.N, 1)
	if err != nil {
		return Bounds{}, err
	}
	finished, err := bars.Flips(b.Seen, 1)
	if err != nil {
		return Bounds{}, err
	}
	corners := []corner{cornerOf(all, b.Low), cornerOf(finished, b.Low), cornerOf(all, b.High), cornerOf(finished, b.High)}
	for _, c := range corners {
		b.Corners = append(b.Corners, c.decision)
	}
	b.settle(corners)
	return b, nil
}

// boundsOf adds up what is certain.
func boundsOf(evals []Eval, seen map[int]int64) (Bounds, error) {
	b := Bounds{Done: len(seen), All: len(evals)}
	for i := range seen {
		if i < 0 || i >= len(evals) {
			return Bounds{}, bad("eval %d of %d was measured", i+1, len(evals))
		}
	}
	for i, e := range evals {
		passes, done := seen[i]
		if e.Total < 1 || e.Baseline < 0 || e.Baseline > e.Total || passes < 0 || passes > e.Total {
			return Bounds{}, bad("%d and %d passes of %d assertions", e.Baseline, passes, e.Total)
		}
		b.N += e.Total
		if done {
			b.Seen += e.Total
			b.Low, b.High = b.Low+passes-e.Baseline, b.High+passes-e.Baseline
			continue
		}
		b.Low, b.High = b.Low-e.Baseline, b.High+e.Total-e.Baseline
	}
	if b.N == 0 {
		return Bounds{}, bad("there is no eval to measure")
	}
	return b, nil
}

// corner is the verdict at one end.
type corner struct {
	decision verdict.Decision
	nearMiss bool
}

func cornerOf(f verdict.Flips, d int64) corner {
	decision, nearMiss := f.Decide(d)
	return corner{decision, nearMiss}
}

// settle takes what all corners agree in: a verdict only climbs with the
// difference, so what holds at the ends holds between them.
func (b *Bounds) settle(corners []corner) {
	same, keeps := true, 0
	for _, c := range corners {
		same = same && c == corners[0]
		if c.decision == verdict.Keep {
			keeps++
		}
	}
	if same {
		b.Verdict, b.NearMiss = corners[0].decision, corners[0].nearMiss
	}
	switch keeps {
	case len(corners):
		b.Action = KeepIt
	case 0:
		b.Action = Rollback
	}
}

// Stop is what is written when a measurement stops early.
type Stop struct {
	Decision     verdict.Decision
	NearMiss     bool
	LabelSettled bool // false: Decision stands in for one of several not KEEP
}

// Stop reports whether a measurement may stop in a mode, and what is written
// then. After a roll back whose word is not certain that is NEUTRAL, no near
// miss, and a label that is not settled.
//
// Source: statistics.md section 9.
func (b Bounds) Stop(mode EarlyExit) (s Stop, ok bool) {
	settled := b.Verdict != ""
	switch {
	case mode == ExitVerdict && settled, mode == ExitAction && b.Action != Open && settled:
		return Stop{b.Verdict, b.NearMiss, true}, true
	case mode == ExitAction && b.Action == Rollback:
		return Stop{Decision: verdict.Neutral}, true
	}
	return Stop{}, false
}
