package verdict

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// comparable refuses two scores that are not about the same thing (loop.md
// R-DEC-1, R-DEC-4).
func comparable(candidate, baseline Score, b Bars) error {
	if candidate.value == nil || baseline.value == nil {
		return fault.New(fault.Usage, "", "a side has no measurement")
	}
	if candidate.file != nil && baseline.file != nil {
		if err := sameFiles(candidate.file, baseline.file); err != nil {
			return err
		}
	}
	bothCounts := candidate.counted() && baseline.counted()
	switch {
	case candidate.judged() && baseline.counted(), candidate.counted() && baseline.judged():
		return fault.New(fault.Usage, "compare two score files, or two counts", "a score with a judge stands beside a count")
	case bothCounts && candidate.total.Cmp(baseline.total) != 0:
		return fault.New(fault.Usage, "", "%s and %s have different totals: these are not the same assertions", candidate, baseline)
	case b.SmallestWeight != nil && !bothCounts:
		return fault.New(fault.Usage, "leave out the smallest weight, or give two counts", "a smallest weight means nothing beside a decimal")
	}
	return nil
}

// sameFiles refuses two score files that do not agree in what R-DEC-4 lists,
// naming the first member that differs.
func sameFiles(c, b *scoreFile) error {
	if (c.judge != nil) != (b.judge != nil) {
		return fault.New(fault.Usage, "", "the score files differ in llm_judge_score: only one side has a judge that weighs")
	}
	members := []struct{ name, candidate, baseline string }{
		{"total_assertions", fmt.Sprint(c.assertions), fmt.Sprint(b.assertions)},
		{"total_weight", weightText(c.totalWeight), weightText(b.totalWeight)},
		{"smallest_weight", weightText(c.smallest), weightText(b.smallest)},
		{"runs", fmt.Sprint(c.runs), fmt.Sprint(b.runs)},
		{"gate_weights", c.gateText(), b.gateText()},
		{"evals_sha256", c.evals, b.evals},
		{"resolution_exact", Exact(c.resolution), Exact(b.resolution)},
	}
	for _, m := range members {
		if m.candidate != m.baseline {
			return fault.New(fault.Usage, "score both sides with the same evals and configuration",
				"the score files differ in %s: %q and %q", m.name, m.candidate, m.baseline)
		}
	}
	if !slices.Equal(c.ungraded, b.ungraded) {
		return fault.New(fault.Usage, "score both sides with the same evals and configuration",
			"the score files differ in ungraded: [%s] and [%s]", strings.Join(c.ungraded, ", "), strings.Join(b.ungraded, ", "))
	}
	return nil
}

// weightText is a weight for comparison and messages; "none" without one.
func weightText(r *big.Rat) string {
	if r == nil {
		return "none"
	}
	return Shortest(r)
}

// gateText is the gate's weights for comparison and messages.
func (f *scoreFile) gateText() string {
	return fmt.Sprintf("assertions %s, judge %s", Shortest(f.gate[0]), Shortest(f.gate[1]))
}

// resolutionOf is the resolution that applies: the one given, else the one of
// a score file, else that of two plain counts, else 0 (loop.md R-DEC-1,
// R-DEC-4).
func resolutionOf(candidate, baseline Score, b Bars) *big.Rat {
	file := candidate.file
	if file == nil {
		file = baseline.file
	}
	switch {
	case b.Resolution != nil:
		return b.Resolution
	case file != nil && b.SmallestWeight == nil:
		return file.resolution
	case file != nil:
		return twoFlips(b.SmallestWeight, file.runs, candidate.total)
	case candidate.counted() && baseline.counted():
		return twoFlips(b.SmallestWeight, 1, candidate.total)
	}
	return new(big.Rat)
}

// tallyOf is the counts of two scores that both carry some (loop.md R-DEC-5):
// assertions where two score files say them, else the numbers as given.
func tallyOf(candidate, baseline Score) *Tally {
	if candidate.passed == nil || baseline.passed == nil {
		return nil
	}
	t := &Tally{
		N: candidate.total, D: new(big.Rat).Sub(candidate.passed, baseline.passed),
		Candidate: ratio(candidate.passed, candidate.total), Baseline: ratio(baseline.passed, baseline.total),
	}
	if c, b := candidate.file, baseline.file; c != nil && b != nil {
		t.N = new(big.Rat).SetInt64(c.assertions)
		t.D = new(big.Rat).SetInt64(c.passed - b.passed)
	}
	return t
}

// judgesOf is the judge's values of two score files that have one.
func judgesOf(candidate, baseline Score) *Judges {
	if !candidate.judged() || !baseline.judged() {
		return nil
	}
	return &Judges{Candidate: candidate.file.judge, Baseline: baseline.file.judge}
}
