package verdict

import (
	"math/big"

	"forge/gitstore/fault"
)

// Boundary says whether a delta that lies on a bar has reached it (DECISIONS
// V1).
type Boundary string

// The boundaries. Inclusive is the default.
const (
	Inclusive Boundary = "inclusive"
	Strict    Boundary = "strict"
)

// ParseBoundary reads "inclusive" or "strict"; anything else is a usage fault.
func ParseBoundary(text string) (Boundary, error) {
	switch b := Boundary(text); b {
	case Inclusive, Strict:
		return b, nil
	}
	return "", fault.New(fault.Usage, "inclusive or strict", "%s is not a boundary", quote(text))
}

// Direction says which way of a metric is better.
type Direction string

// The directions. HigherIsBetter is the default.
const (
	HigherIsBetter Direction = "higher_is_better"
	LowerIsBetter  Direction = "lower_is_better"
)

// ParseDirection reads "higher_is_better" or "lower_is_better"; anything else
// is a usage fault.
func ParseDirection(text string) (Direction, error) {
	switch d := Direction(text); d {
	case HigherIsBetter, LowerIsBetter:
		return d, nil
	}
	return "", fault.New(fault.Usage, "higher_is_better or lower_is_better", "%s is not a direction", quote(text))
}

// Bars are what a delta is held against. All are at least 0 and in the unit
// of the score; with Relative, in fractions of the baseline (0.02 is 2 %).
// What is nil or empty has its default, so the zero value is [DefaultBars].
type Bars struct {
	Improvement  *big.Rat // nil: 0.02
	Regression   *big.Rat // nil: 0.05
	NearMissBand *big.Rat // nil: 0.02
	NoiseFloor   *big.Rat // nil: 0, which is no noise floor

	// Resolution is what a single result can move. Nil: derived from counts
	// and score files (loop.md R-DEC-1, R-DEC-4), 0 for plain decimals.
	Resolution *big.Rat
	// SmallestWeight is the weight of the lightest assertion, for counts only.
	// Nil: as the score files say, else 1.
	SmallestWeight *big.Rat

	Boundary  Boundary  // "": inclusive
	Direction Direction // "": higher is better
	Relative  bool      // divide the delta by abs(baseline)
}

// DefaultBars returns the defaults of loop.md R-CONF-2, spelt out.
func DefaultBars() Bars {
	return Bars{
		Improvement:  big.NewRat(2, 100),
		Regression:   big.NewRat(5, 100),
		NearMissBand: big.NewRat(2, 100),
		NoiseFloor:   new(big.Rat),
		Boundary:     Inclusive,
		Direction:    HigherIsBetter,
	}
}

// complete fills in the defaults and refuses what is no bar (DECISIONS V3).
func (b Bars) complete() (Bars, error) {
	defaults := DefaultBars()
	thresholds := []struct {
		name     string
		value    **big.Rat
		fallback *big.Rat
	}{
		{"improvement_threshold", &b.Improvement, defaults.Improvement},
		{"regression_threshold", &b.Regression, defaults.Regression},
		{"near_miss_band", &b.NearMissBand, defaults.NearMissBand},
		{"noise_floor", &b.NoiseFloor, defaults.NoiseFloor},
		{"resolution", &b.Resolution, nil},
	}
	for _, t := range thresholds {
		if *t.value == nil {
			*t.value = t.fallback
		}
		if *t.value != nil && (*t.value).Sign() < 0 {
			return Bars{}, fault.New(fault.Usage, "", "%s %s is negative", t.name, Shortest(*t.value))
		}
	}
	if b.SmallestWeight != nil && b.SmallestWeight.Sign() <= 0 {
		return Bars{}, fault.New(fault.Usage, "", "smallest weight %s is not above 0", Shortest(b.SmallestWeight))
	}
	var err error
	if b.Boundary == "" {
		b.Boundary = defaults.Boundary
	} else if b.Boundary, err = ParseBoundary(string(b.Boundary)); err != nil {
		return Bars{}, err
	}
	if b.Direction == "" {
		b.Direction = defaults.Direction
	} else if b.Direction, err = ParseDirection(string(b.Direction)); err != nil {
		return Bars{}, err
	}
	return b, nil
}
