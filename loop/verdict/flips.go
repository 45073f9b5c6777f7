package verdict

import (
	"math"
	"math/big"

	"forge/gitstore/fault"
)

// Flips is the integer form of the bars, for counts without a judge: how many
// more assertions a candidate must pass, or fail, for each verdict. It agrees
// with [Decide] for every whole difference.
//
// Source: statistics.md R-STAT-3.
type Flips struct {
	Keep   int64 // K: the smallest difference above 0 that keeps, at least 1; above N nothing can be kept
	Revert int64 // R: the smallest loss that reverts, at least 1

	// NearMiss is the smallest difference that is a near miss; every larger one
	// below Keep is one too. Nil: no whole difference lies in the band.
	NearMiss *int64
}

// Flips returns the integer form for n distinct assertions on runs runs per
// side: the difference then counts over all of them, while the resolution
// stays that of the distinct ones. With weights n is their sum and the
// smallest weight is in the same unit, a whole number of it.
//
// It is a usage fault if a bar is negative, n or runs is below 1, or the delta
// is relative or lower is better: then no whole number of flips is a bar.
//
// Source: statistics.md R-STAT-3.
func (b Bars) Flips(n, runs int64) (Flips, error) {
	b, err := b.complete()
	if err != nil {
		return Flips{}, err
	}
	if n < 1 || runs < 1 {
		return Flips{}, fault.New(fault.Usage, "", "%d assertions, %d runs: at least 1 of each is needed", n, runs)
	}
	if b.Relative || b.Direction == LowerIsBetter {
		return Flips{}, fault.New(fault.Usage, "", "a relative delta, or one where lower is better, is no number of assertions")
	}
	resolution := b.Resolution
	if resolution == nil {
		resolution = twoFlips(b.SmallestWeight, 1, new(big.Rat).SetInt64(n))
	}
	all := new(big.Rat).SetInt64(n)
	all.Mul(all, new(big.Rat).SetInt64(runs))
	f := Flips{
		Keep:   max(1, reaching(b.Improvement, all, b.Boundary), reaching(resolution, all, b.Boundary)),
		Revert: max(1, reaching(b.Regression, all, b.Boundary)),
	}
	threshold := larger(larger(b.Improvement, resolution), b.NoiseFloor)
	if b.NoiseFloor.Sign() > 0 {
		f.Keep = max(f.Keep, reaching(b.NoiseFloor, all, Strict))
	}
	edge := new(big.Rat).Sub(threshold, b.NearMissBand)
	if from := max(reaching(edge, all, Strict), 1-f.Revert); from < f.Keep {
		f.NearMiss = &from
	}
	return f, nil
}

// reaching is the smallest whole number that reaches bar * all. What no int64
// holds becomes the nearest that one does.
func reaching(bar, all *big.Rat, b Boundary) int64 {
	product := new(big.Rat).Mul(bar, all)
	whole, rest := new(big.Int).DivMod(product.Num(), product.Denom(), new(big.Int)) // rest >= 0: rounds down
	if rest.Sign() > 0 || b == Strict {
		whole.Add(whole, big.NewInt(1))
	}
	switch {
	case whole.IsInt64():
		return whole.Int64()
	case whole.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// larger is the larger of two.
func larger(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) < 0 {
		return y
	}
	return x
}

// Decide is the verdict on a candidate that passes d more assertions than its
// baseline, and whether it is a near miss.
//
// Source: statistics.md R-STAT-2, R-STAT-3.
func (f Flips) Decide(d int64) (decision Decision, nearMiss bool) {
	switch {
	case d >= f.Keep:
		return Keep, false
	case d <= -f.Revert:
		return Revert, false
	}
	return Neutral, f.NearMiss != nil && d >= *f.NearMiss
}
