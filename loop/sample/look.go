package sample

import (
	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// SecondLook says after which provisional verdict one more pair is measured.
type SecondLook string

// The modes of second_look. LookOff is the default.
const (
	LookOff  SecondLook = "off"
	LookKeep SecondLook = "keep" // after a provisional KEEP
	LookBoth SecondLook = "both" // also after a near miss
)

// ParseSecondLook reads "off", "keep" or "both"; anything else is a usage
// fault.
func ParseSecondLook(text string) (SecondLook, error) {
	switch m := SecondLook(text); m {
	case LookOff, LookKeep, LookBoth:
		return m, nil
	}
	return "", fault.New(fault.Usage, "off, keep or both", "%q is no mode of second_look", text)
}

// Wanted reports whether a provisional verdict, after the first pair, asks for
// a second one.
//
// Source: statistics.md R-STAT-13; DECISIONS V14.
func (m SecondLook) Wanted(provisional verdict.Decision, nearMiss bool) bool {
	switch m {
	case LookKeep:
		return provisional == verdict.Keep
	case LookBoth:
		return provisional == verdict.Keep || nearMiss
	}
	return false
}

// Pair is the passes of both sides in one pair of measurements.
type Pair struct{ Candidate, Baseline int64 }

// Pooled is the verdict over the counts of one pair, or of both.
type Pooled struct {
	Decision verdict.Decision
	NearMiss bool
	D, N     int64 // N is the assertions times the pairs
}

// Pool decides over the counts of all pairs of n assertions: one pair is the
// provisional verdict, two the final one, which may be any of the three. The
// resolution stays that of n. There is never a third pair. Counts that are
// impossible and bars without an integer form are usage faults.
//
// Source: statistics.md R-STAT-13.
func Pool(n int64, bars verdict.Bars, pairs ...Pair) (Pooled, error) {
	if len(pairs) < 1 || len(pairs) > 2 {
		return Pooled{}, bad("%d pairs: a verdict rests on one or two", len(pairs))
	}
	runs := int64(len(pairs))
	flips, err := bars.Flips(n, runs)
	if err != nil {
		return Pooled{}, err
	}
	p := Pooled{N: n * runs}
	for _, pair := range pairs {
		if min(pair.Candidate, pair.Baseline) < 0 || max(pair.Candidate, pair.Baseline) > n {
			return Pooled{}, bad("%d and %d passes of %d assertions", pair.Candidate, pair.Baseline, n)
		}
		p.D += pair.Candidate - pair.Baseline
	}
	p.Decision, p.NearMiss = flips.Decide(p.D)
	return p, nil
}
