package evals

import (
	"encoding/json"
	"fmt"
	"math/big"
)

// CheckScore adds a score file up again from its own assertions and returns an
// error that names the first figure that does not follow from them. What a
// judge gave is taken as it stands. A score without assertions is refused.
//
// Source: loop.md section 5; handoff.md, `forge audit`.
func CheckScore(data []byte) error {
	var s Score
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read a score: %w", err)
	}
	t, err := s.tally()
	if err != nil {
		return err
	}
	again := Score{Passed: t.passed, Total: t.total}
	if t.total == 0 {
		return fmt.Errorf("the score counts no assertion")
	}
	if err := (Request{Runs: max(1, s.Runs)}).compose(&again, t); err != nil {
		return err
	}
	for _, f := range []struct {
		name     string
		was, now any
	}{
		{"passed", s.Passed, again.Passed}, {"total_assertions", s.Total, again.Total},
		{"passed_weight", s.PassedWeight, again.PassedWeight}, {"total_weight", s.TotalWeight, again.TotalWeight},
		{"smallest_weight", s.SmallestWeight, again.SmallestWeight}, {"assertion_pass_rate", s.PassRate, again.PassRate},
		{"resolution_exact", s.ResolutionExact, again.ResolutionExact}, {"resolution", s.Resolution, again.Resolution},
	} {
		if f.was != f.now {
			return fmt.Errorf("%s is %v, and its assertions give %v", f.name, f.was, f.now)
		}
	}
	if s.Judge == nil && (s.CompositeExact != again.CompositeExact || s.Composite != again.Composite) {
		return fmt.Errorf("composite_exact is %s, and its assertions give %s", s.CompositeExact, again.CompositeExact)
	}
	return nil
}

// tally counts the assertions of a score.
func (s Score) tally() (*tally, error) {
	t := &tally{weighted: s.PassedWeight != "", passedWeight: new(big.Rat), totalWeight: new(big.Rat), byEval: map[string]*EvalScore{}}
	for _, e := range s.Evals {
		passed := int64(0)
		for _, a := range e.Assertions {
			weight, ok := new(big.Rat).SetString(a.Weight.String())
			if !ok || weight.Sign() <= 0 || !t.weighted && weight.Cmp(big.NewRat(1, 1)) != 0 {
				return nil, fmt.Errorf("eval %q: the weight of %q is %q", e.ID, a.ID, a.Weight)
			}
			if a.Passed {
				passed++
			}
			t.weigh(weight, []bool{a.Passed})
		}
		if passed != e.Passed || int64(len(e.Assertions)) != e.Total {
			return nil, fmt.Errorf("eval %q says %d/%d, and its assertions give %d/%d", e.ID, e.Passed, e.Total, passed, len(e.Assertions))
		}
		t.passed, t.total = t.passed+e.Passed, t.total+e.Total
	}
	return t, nil
}
