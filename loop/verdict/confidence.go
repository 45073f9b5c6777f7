package verdict

import (
	"math/big"

	"forge/loop/stats"
)

// Confidence is how strong the evidence for a verdict is, in one word. It is
// advice and never changes the verdict (DECISIONS V10).
type Confidence string

// The labels.
const (
	Strong   Confidence = "strong"   // evidence of at most .025
	Moderate Confidence = "moderate" // at most .10
	Weak     Confidence = "weak"     // anything else, fewer than five evals, a NEUTRAL
)

// labelledFrom is the smallest number of evals that a label above weak can
// rest on.
const labelledFrom = 5

// ConfidenceOf labels a verdict by the differences of its evals, one per eval,
// those that did not move included. evidence is the mid-p in the direction of
// the verdict, 0 < evidence < 1; nil for a verdict that has none. The error is
// that of [stats.SignFlip].
//
// Source: statistics.md R-STAT-6.
func ConfidenceOf(d Decision, differences []int64) (label Confidence, evidence *big.Rat, err error) {
	test, err := stats.SignFlip(differences)
	if err != nil {
		return "", nil, err
	}
	label, evidence = labelOf(d, len(differences), test)
	return label, evidence, nil
}

// labelOf is the label of a verdict over some evals.
func labelOf(d Decision, evals int, test stats.Flipped) (Confidence, *big.Rat) {
	var evidence *big.Rat
	switch d {
	case Keep:
		evidence = test.MidP
	case Revert:
		evidence = test.Worse()
	default:
		return Weak, nil
	}
	switch {
	case evals < labelledFrom:
		return Weak, evidence
	case evidence.Cmp(big.NewRat(25, 1000)) <= 0:
		return Strong, evidence
	case evidence.Cmp(big.NewRat(10, 100)) <= 0:
		return Moderate, evidence
	}
	return Weak, evidence
}
