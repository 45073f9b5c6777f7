// Package sample says how much is measured, in which order, and when enough is
// measured: pure functions of counts.
//
// Before a run it foretells what a set of evals can tell apart ([ForecastOf],
// [PowerOf], [PowerTable], [SampleSize], [Warnings]). During one it bounds an
// unfinished measurement ([Bound], [BoundWithExclusions]), pools a second pair
// ([SecondLook], [Pool]), orders the evals ([FailFirst]) and counts how often
// the test split was looked at ([CountTouches], [AllowTouch]).
//
// What stops or keeps anything is exact arithmetic over whole flips
// ([verdict.Flips]); the forecasts are floats and advice only (DECISIONS V10).
// A rate, a delta and a standard deviation are fractions of 1 throughout: one
// point is 0.01.
//
// Source: statistics.md sections 2 and 5 to 9; DECISIONS M5, M7, M11, V13, V14.
package sample

import (
	"math"

	"forge/gitstore/fault"
)

// bad is the fault of numbers that no measurement gives.
func bad(format string, args ...any) error { return fault.New(fault.Usage, "", format, args...) }

// above is the probability that a standard normal variable lies above x.
func above(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// quantile is the value that a standard normal variable stays below with
// probability p, 0 < p < 1.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// chanceAbove is the probability that a normal variable with this mean and
// standard deviation lies above a bar; without deviation it does or does not.
func chanceAbove(bar, mean, sd float64) float64 {
	if sd > 0 {
		return above((bar - mean) / sd)
	}
	if mean > bar {
		return 1
	}
	return 0
}

// power is the chance with which the smallest detectable effect is kept.
const power = 0.80
