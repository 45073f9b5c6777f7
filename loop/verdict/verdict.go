// Package verdict decides whether a candidate is kept: exact arithmetic on
// scores, no clock, no file, and no float in a decision.
//
// A [Score] is a decimal, a count of passed assertions or a score file;
// [Decide] holds the difference of two scores against [Bars] and returns a
// [Verdict], which prints as the document of `forge loop decide`. [Request]
// is the same from texts, as they stand on a command line or in a
// configuration. [FindPlateau] and [Resolution] answer the two questions
// beside it; [Bars.Flips] is the same bars in whole assertions. How strong the
// evidence is, [Advise] and [ConfidenceOf] say, and change nothing by it.
//
// Nothing is rounded before it is compared: thresholds, counts and decimals
// are rationals, and rounding is for printing only (DECISIONS V6). All
// *big.Rat values that go in or come out are shared and must not be changed.
//
// Source: seed 001, "Keep/Revert Decision"; loop.md sections 1 to 3;
// statistics.md sections 1 to 3; DECISIONS V1 to V10, V15, V18, V20.
package verdict

import (
	"math/big"

	"forge/gitstore/fault"
)

// Decision is the outcome of an experiment, one of exactly seven words
// (loop.md R-DEC-0).
type Decision string

// The decisions. The first three are measured and come from [Decide]; the
// others come from the flow and never from a measurement (DECISIONS V11).
const (
	Keep     Decision = "KEEP"
	Revert   Decision = "REVERT"
	Neutral  Decision = "NEUTRAL"
	Skip     Decision = "SKIP"
	NoOp     Decision = "NO_OP"
	Invalid  Decision = "INVALID"
	Deferred Decision = "DEFERRED"
)

// ParseDecision reads one of the seven words, upper case. Anything else is a
// usage fault (loop.md R-DEC-0).
func ParseDecision(text string) (Decision, error) {
	switch d := Decision(text); d {
	case Keep, Revert, Neutral, Skip, NoOp, Invalid, Deferred:
		return d, nil
	}
	return "", fault.New(fault.Usage, "one of KEEP, REVERT, NEUTRAL, SKIP, NO_OP, INVALID, DEFERRED",
		"%s is not a decision", quote(text))
}

// Measured reports whether the decision rests on a measurement: KEEP, REVERT
// and NEUTRAL do.
func (d Decision) Measured() bool { return d == Keep || d == Revert || d == Neutral }

// Binding names the bar that sets the threshold (loop.md section 2, step 5).
type Binding string

// The three bars a threshold can come from.
const (
	BindingImprovement Binding = "improvement_threshold"
	BindingNoiseFloor  Binding = "noise_floor"
	BindingResolution  Binding = "resolution"
)

// Verdict is the outcome of [Decide] with everything it rests on, exact. It
// marshals as the document of loop.md section 2; see [Verdict.Document].
type Verdict struct {
	Decision  Decision // KEEP, REVERT or NEUTRAL
	NearMiss  bool     // NEUTRAL, and above Threshold - NearMissBand
	Delta     *big.Rat // positive is better, whatever the direction; a fraction of the baseline if relative
	Threshold *big.Rat // the largest of Improvement, NoiseFloor and Resolution

	Improvement, Regression, NearMissBand *big.Rat
	NoiseFloor, Resolution                *big.Rat
	Binding                               Binding
	Boundary                              Boundary
	Direction                             Direction
	Relative, RelativeFallback            bool

	Counts  *Tally  // nil unless both sides carry counts
	Judge   *Judges // nil without a judge
	Formula string  // one line: what was really computed (R-DEC-3)
	Advice  *Advice // beside the verdict, never in it; nil unless both sides are score files
}

// Tally is the counts behind a verdict (loop.md R-DEC-5). N is the number of
// assertions and D how many more the candidate passes, both pooled over the
// runs of a side; Candidate and Baseline are passed over total, unreduced, in
// weights where there are weights.
type Tally struct {
	N, D                *big.Rat
	Candidate, Baseline string
}

// Judges is the judge's value of both sides, each from 0 to 1.
type Judges struct {
	Candidate, Baseline *big.Rat
}

// epsilon is within which two decimals are equal (loop.md R-DEC-2), and below
// which a baseline is too small to divide by (DECISIONS V8).
func epsilon() *big.Rat { return big.NewRat(1, 1_000_000_000) }

// Decide compares a candidate's score with its baseline and returns the
// outcome with the delta it rests on.
//
// A delta on the bar of improvement or resolution is kept, one on the noise
// floor is not, and a tie is always [Neutral]. Two counts are compared
// exactly; anything with a decimal in it is equal within 1e-9.
//
// It errs, always as a usage fault, if a bar is negative, if a score is the
// zero Score, if the two sides do not speak about the same assertions
// (R-DEC-1, R-DEC-4), or if a smallest weight is given beside a decimal.
//
// Source: seed 001, "Keep/Revert Decision"; loop.md section 2; DECISIONS V1
// to V8.
func Decide(candidate, baseline Score, b Bars) (Verdict, error) {
	b, err := b.complete()
	if err != nil {
		return Verdict{}, err
	}
	if err := comparable(candidate, baseline, b); err != nil {
		return Verdict{}, err
	}
	v := Verdict{
		Improvement: b.Improvement, Regression: b.Regression, NearMissBand: b.NearMissBand,
		NoiseFloor: b.NoiseFloor, Resolution: resolutionOf(candidate, baseline, b),
		Boundary: b.Boundary, Direction: b.Direction, Relative: b.Relative,
		Counts: tallyOf(candidate, baseline), Judge: judgesOf(candidate, baseline),
	}
	within := tolerance{epsilon()}
	if candidate.counted() && baseline.counted() {
		within = tolerance{new(big.Rat)}
	}
	v.setDelta(candidate.value, baseline.value)
	v.setThreshold()
	v.Decision = v.outcome(within)
	v.NearMiss = v.Decision == Neutral && within.above(v.Delta, new(big.Rat).Sub(v.Threshold, v.NearMissBand))
	v.Formula = v.formula(candidate, baseline, within)
	v.Advice = Advise(candidate, baseline, v)
	return v, nil
}

// setDelta is steps 2 and 3 of loop.md section 2.
func (v *Verdict) setDelta(candidate, baseline *big.Rat) {
	v.Delta = new(big.Rat).Sub(candidate, baseline)
	if v.Direction == LowerIsBetter {
		v.Delta.Neg(v.Delta)
	}
	if !v.Relative {
		return
	}
	size := new(big.Rat).Abs(baseline)
	if size.Cmp(epsilon()) < 0 {
		v.RelativeFallback = true
		return
	}
	v.Delta.Quo(v.Delta, size)
}

// setThreshold is steps 4 and 5 of loop.md section 2.
func (v *Verdict) setThreshold() {
	v.Threshold, v.Binding = v.Improvement, BindingImprovement
	if v.NoiseFloor.Cmp(v.Improvement) > 0 {
		v.Threshold, v.Binding = v.NoiseFloor, BindingNoiseFloor
	}
	if v.Resolution.Cmp(v.Improvement) > 0 && v.Resolution.Cmp(v.NoiseFloor) >= 0 {
		v.Threshold, v.Binding = v.Resolution, BindingResolution
	}
}

// outcome is step 6 of loop.md section 2.
func (v *Verdict) outcome(within tolerance) Decision {
	zero := new(big.Rat)
	if within.above(v.Delta, zero) && len(v.missed(within)) == 0 {
		return Keep
	}
	if within.above(zero, v.Delta) && within.reaches(v.loss(), v.Regression, v.Boundary) {
		return Revert
	}
	return Neutral
}

// loss is the delta with its sign turned.
func (v *Verdict) loss() *big.Rat { return new(big.Rat).Neg(v.Delta) }

// bar is one of the three conditions of KEEP beside delta > 0.
type bar struct {
	name     Binding
	value    *big.Rat
	boundary Boundary
}

// bars returns the conditions of KEEP. The noise floor is strict whatever the
// boundary (DECISIONS V2), and none if it is 0.
func (v *Verdict) bars() []bar {
	all := []bar{
		{BindingImprovement, v.Improvement, v.Boundary},
		{BindingResolution, v.Resolution, v.Boundary},
	}
	if v.NoiseFloor.Sign() > 0 {
		all = append(all, bar{BindingNoiseFloor, v.NoiseFloor, Strict})
	}
	return all
}

// missed returns the conditions of KEEP that the delta does not meet.
func (v *Verdict) missed(within tolerance) []bar {
	var missed []bar
	for _, b := range v.bars() {
		if !within.reaches(v.Delta, b.value, b.boundary) {
			missed = append(missed, b)
		}
	}
	return missed
}

// tolerance compares with an absolute epsilon in favour of equality (loop.md
// R-DEC-2).
type tolerance struct{ epsilon *big.Rat }

// above reports x > y: by more than the epsilon.
func (t tolerance) above(x, y *big.Rat) bool {
	return x.Cmp(new(big.Rat).Add(y, t.epsilon)) > 0
}

// reaches reports x >= y, or x > y at a strict boundary.
func (t tolerance) reaches(x, y *big.Rat, b Boundary) bool {
	if b == Strict {
		return t.above(x, y)
	}
	return !t.above(y, x)
}
