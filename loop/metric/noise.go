package metric

import (
	"math"
	"math/big"
	"slices"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// Warnings of a noise floor (loop.md R-NOISE-1).
const (
	FewRepeats    = "few_repeats"   // under five
	Deterministic = "deterministic" // no spread: the improvement threshold binds
)

// How many repeats a noise floor takes (DECISIONS M4).
const (
	minRepeats  = 3
	goodRepeats = 5
	maxRepeats  = 10
)

// Floor is the noise of a metric on one unchanged state. The median is the
// baseline of the rounds that follow, never the first value.
type Floor struct {
	Values                   []*big.Rat // in the order measured
	Median, Min, Max, Spread *big.Rat
	NoiseFloor               *big.Rat // Spread, or Spread / abs(Median) if Relative
	Relative                 bool     // asked for
	RelativeFallback         bool     // abs(Median) < 1e-9: the floor is absolute
	T95Bound                 float64  // advice, in the metric's unit (statistics.md F8); never decides
	Warnings                 []string // codes; never nil
}

// NoiseFloor returns the noise floor of 3 to 10 readings of one state; another
// number of them is a usage fault.
//
// Source: seed 001, "Setup Wizard" step 5; loop.md R-NOISE-1; statistics.md
// R-STAT-17; DECISIONS M4.
func NoiseFloor(values []*big.Rat, relative bool) (Floor, error) {
	if len(values) < minRepeats || len(values) > maxRepeats {
		return Floor{}, fault.New(fault.Usage, "", "%d values: a noise floor takes %d to %d", len(values), minRepeats, maxRepeats)
	}
	f := Floor{
		Values: values, Median: Median(values), Relative: relative,
		Min: slices.MinFunc(values, (*big.Rat).Cmp), Max: slices.MaxFunc(values, (*big.Rat).Cmp),
		T95Bound: t95Bound(values), Warnings: []string{},
	}
	f.Spread = new(big.Rat).Sub(f.Max, f.Min)
	f.NoiseFloor = f.Spread
	if relative {
		f.NoiseFloor, f.RelativeFallback = perUnit(f.Spread, f.Median)
	}
	if len(values) < goodRepeats {
		f.Warnings = append(f.Warnings, FewRepeats)
	}
	if f.Spread.Sign() == 0 {
		f.Warnings = append(f.Warnings, Deterministic)
	}
	return f, nil
}

// ParseFloor is [NoiseFloor] of texts, as they are typed after `forge loop
// noise-floor`: numbers of loop.md R-NUM-1.
func ParseFloor(values []string, relative bool) (Floor, error) {
	numbers := make([]*big.Rat, len(values))
	for i, text := range values {
		n, err := verdict.ParseNumber(text)
		if err != nil {
			return Floor{}, fault.New(fault.Usage, fault.HintOf(err), "value %d: %w", i+1, err)
		}
		numbers[i] = n
	}
	return NoiseFloor(numbers, relative)
}

// Median returns the middle value, or the mean of the two middle ones; nil
// for no values. The order of values is left alone.
func Median(values []*big.Rat) *big.Rat {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(values), (*big.Rat).Cmp)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	sum := new(big.Rat).Add(sorted[middle-1], sorted[middle])
	return sum.Quo(sum, big.NewRat(2, 1))
}

// t95 returns the one-sided 95 % quantile of Student's t with 2 to 9 degrees
// of freedom, the ones that 3 to 10 repeats have (statistics.md F8).
func t95(degrees int) float64 {
	return [...]float64{
		2.919985580353725687, 2.353363434801823879, 2.131846786326650318, 2.015048373333024238,
		1.943180280515303207, 1.894578605090007389, 1.859548037530898390, 1.833112932656237169,
	}[degrees-2]
}

// t95Bound is t * s * sqrt(1 + 1/R), s being the standard deviation of R
// readings: a 95 % bound of the next one above their mean (statistics.md F8).
// The sum of squares is exact, so equal readings give 0 and close ones lose
// no digit. A bound beyond the largest double is the largest double.
func t95Bound(values []*big.Rat) float64 {
	n := int64(len(values))
	mean := new(big.Rat)
	for _, v := range values {
		mean.Add(mean, v)
	}
	mean.Quo(mean, big.NewRat(n, 1))
	sum := new(big.Rat)
	for _, v := range values {
		d := new(big.Rat).Sub(v, mean)
		sum.Add(sum, d.Mul(d, d))
	}
	sum.Mul(sum, big.NewRat(n+1, n*(n-1))) // s^2 * (1 + 1/R)
	root := new(big.Float).SetPrec(128).SetRat(sum)
	root.Sqrt(root)
	bound, _ := root.Mul(root, big.NewFloat(t95(len(values)-1))).Float64()
	return min(bound, math.MaxFloat64)
}
