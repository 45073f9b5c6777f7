package verdict

import (
	"fmt"
	"math/big"

	"forge/gitstore/fault"
)

// Plateau says whether a run has stopped improving (loop.md R-PLATEAU-1).
type Plateau struct {
	Plateau         bool
	Window          int
	LastDecisions   []string // the last Window that count, oldest first; "" is a missing decision
	DeferredSkipped int      // DEFERRED in the whole history
	Reason          string
}

// FindPlateau takes DEFERRED out of the decisions, oldest first, and reports
// a plateau if at least window remain and none of the last window is KEEP.
// "" stands for a record without a decision and counts as not kept. A window
// below 1 (R-PLATEAU-3) and an unknown decision are usage faults.
//
// Source: seed 001, "Crash recovery"; DECISIONS V15.
func FindPlateau(decisions []string, window int) (Plateau, error) {
	if window < 1 {
		return Plateau{}, fault.New(fault.Usage, "", "window %d is not 1 or more", window)
	}
	p := Plateau{Window: window, LastDecisions: []string{}}
	for i, text := range decisions {
		if text == "" {
			p.LastDecisions = append(p.LastDecisions, text)
			continue
		}
		d, err := ParseDecision(text)
		if err != nil {
			return Plateau{}, fault.New(fault.Usage, fault.HintOf(err), "record %d: %w", i+1, err)
		}
		if d == Deferred {
			p.DeferredSkipped++
			continue
		}
		p.LastDecisions = append(p.LastDecisions, text)
	}
	counted := len(p.LastDecisions)
	p.LastDecisions = p.LastDecisions[max(0, counted-window):]
	kept := 0
	for _, d := range p.LastDecisions {
		if Decision(d) == Keep {
			kept++
		}
	}
	p.Plateau = counted >= window && kept == 0
	switch {
	case counted < window:
		p.Reason = fmt.Sprintf("%d of %d decisions so far", counted, window)
	case kept > 0:
		p.Reason = fmt.Sprintf("KEEP stands among the last %d decisions", window)
	default:
		p.Reason = fmt.Sprintf("none of the last %d decisions is KEEP", window)
	}
	return p, nil
}

// MarshalJSON returns the document of R-PLATEAU-1; a missing decision is null.
func (p Plateau) MarshalJSON() ([]byte, error) {
	last := make([]*string, len(p.LastDecisions))
	for i, d := range p.LastDecisions {
		if d != "" {
			last[i] = &d
		}
	}
	return marshal(struct {
		Plateau         bool      `json:"plateau"`
		Window          int       `json:"window"`
		LastDecisions   []*string `json:"last_decisions"`
		DeferredSkipped int       `json:"deferred_skipped"`
		Reason          string    `json:"reason"`
	}{p.Plateau, p.Window, last, p.DeferredSkipped, p.Reason})
}

// Resolving is what a number of flips moves a score over a number of
// assertions (loop.md R-RES-1).
type Resolving struct {
	Assertions, Flips int
	Resolution        *big.Rat // flips / assertions
}

// Resolution returns what flips of assertions move. No assertions is a usage
// fault, because nothing to measure is an error and not a resolution of 0;
// negative flips are one too.
func Resolution(assertions, flips int) (Resolving, error) {
	if assertions < 1 {
		return Resolving{}, fault.New(fault.Usage, "", "%d assertions: at least 1 is needed", assertions)
	}
	if flips < 0 {
		return Resolving{}, fault.New(fault.Usage, "", "%d flips: a number of flips is not negative", flips)
	}
	return Resolving{assertions, flips, big.NewRat(int64(flips), int64(assertions))}, nil
}

// MarshalJSON returns the document of R-RES-1.
func (r Resolving) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		Assertions int    `json:"total_assertions"`
		Flips      int    `json:"flips"`
		Resolution any    `json:"resolution"`
		Exact      string `json:"resolution_exact"`
	}{r.Assertions, r.Flips, Rounded(r.Resolution, digits), Exact(r.Resolution)})
}
