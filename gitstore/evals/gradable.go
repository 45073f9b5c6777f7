package evals

import (
	"fmt"
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// Means are what the configuration offers for grading.
type Means struct {
	Judge      bool // a model is named for the scorer
	Transcript bool // the runner says which tools were called
}

// Ungraded is the reason why a check cannot be graded with these means, or "".
// It follows from the file and the configuration alone, so it is the same on
// both sides and known before anything runs.
//
// Source: skill-format.md R-SF-EV-6; DECISIONS M9.
func (c Check) Ungraded(m Means) string {
	switch {
	case c.Kind == Unknown:
		return c.Reason
	case c.Kind == Judged && !m.Judge:
		return "it needs a judge"
	case c.Kind == ToolUsed && !m.Transcript:
		return "it needs a transcript"
	}
	return ""
}

// Policy says what becomes of checks that cannot be graded.
type Policy int

// The policies: refuse to measure, or leave such checks out on both sides.
const (
	RefuseUngraded Policy = iota
	IgnoreUngraded
)

// Gradable is what of a set can be measured.
type Gradable struct {
	Evals    []Eval   // with the checks that can be graded; those with none are missing
	LeftOut  []string // evals with nothing to grade, by id
	Ungraded []string // "eval/check", sorted
}

// Gradable tells the checks that can be graded from the others. It errs where
// there are others and the policy refuses them, naming each with its reason,
// and where nothing is left to measure. Errors are usage faults.
//
// Source: loop.md R-SCORE-9; skill-format.md R-SF-EV-6.
func (s *Set) Gradable(m Means, policy Policy) (Gradable, error) {
	var g Gradable
	var reasons []string
	for _, e := range s.Evals {
		kept := make([]Check, 0, len(e.Checks))
		for _, c := range e.Checks {
			reason := c.Ungraded(m)
			if reason == "" {
				kept = append(kept, c)
				continue
			}
			name := e.ID + "/" + c.ID
			g.Ungraded = append(g.Ungraded, name)
			reasons = append(reasons, fmt.Sprintf("%s (%s)", name, reason))
		}
		if e.Checks = kept; len(kept) == 0 {
			g.LeftOut = append(g.LeftOut, e.ID)
			continue
		}
		g.Evals = append(g.Evals, e)
	}
	slices.Sort(g.Ungraded)
	slices.Sort(g.LeftOut)
	switch n := len(g.Ungraded); {
	case n > 0 && policy == RefuseUngraded:
		what := fmt.Sprintf("%d assertions need a judge or are", n)
		if n == 1 {
			what = "1 assertion needs a judge or is"
		}
		return Gradable{}, fault.New(fault.Usage, "name a model for scorer, or --ignore-ungraded",
			"%s of a kind forge cannot check: %s", what, strings.Join(reasons, ", "))
	case len(g.Evals) == 0:
		return Gradable{}, bad("nothing to measure: the evals have no assertion that can be graded")
	}
	return g, nil
}

// plural is a noun with an s unless there is one of it.
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
