// Package stats is the statistics beside a verdict: how much a difference of
// two measurements says, and how far the true one may lie from it.
//
// The tests ([McNemar], [SignTest], [SignFlip]) are exact: whole numbers in,
// rationals out, no random number, the same on every machine. The intervals
// ([Wilson], [RateInterval], [DeltaInterval]) and [Shrink] take exact sums and
// leave the rationals only for their square roots.
//
// Nothing here decides. It is printed, logged and tested, and it changes no
// outcome (DECISIONS V10). An eval is one task, an assertion one check in it;
// d_i is how many more assertions of eval i the candidate passes than the
// baseline. All *big.Rat values that go in or come out are shared and must not
// be changed.
//
// Source: statistics.md sections 3 and 8 (F2 to F5, F9).
package stats

import "forge/gitstore/fault"

// bad is the fault of numbers that no measurement gives.
func bad(format string, args ...any) error { return fault.New(fault.Usage, "", format, args...) }
