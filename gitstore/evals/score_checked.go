package evals

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// sumChecked adds up gradings that are held against the evals file: every
// assertion that can be graded has its result in every run, and none is
// unknown (R-SCORE-4, R-SCORE-9, R-SCORE-10).
func (q Request) sumChecked(t *tally, gradings []Grading) error {
	gradable, err := q.Evals.Gradable(q.Means, q.Ungraded)
	if err != nil {
		return err
	}
	hash, err := q.Evals.Hash()
	if err != nil {
		return err
	}
	t.hash, t.ungraded = &hash, gradable.Ungraded
	t.weighted = q.Evals.weighted()
	t.passedWeight, t.totalWeight = new(big.Rat), new(big.Rat)

	outcomes := map[string]map[string][]bool{} // eval, assertion: one per run
	for _, g := range gradings {
		if outcomes[g.Eval] == nil {
			outcomes[g.Eval] = map[string][]bool{}
		}
		if err := q.collect(g, gradable, outcomes[g.Eval]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(outcomes)) {
		i := slices.IndexFunc(gradable.Evals, func(e Eval) bool { return e.ID == id })
		if i < 0 {
			continue // nothing of it can be graded
		}
		if err := q.addEval(t, gradable.Evals[i], outcomes[id]); err != nil {
			return err
		}
	}
	if t.total == 0 {
		return bad("nothing to measure: no grading is of an eval that can be graded")
	}
	return nil
}

// weighted reports whether an assertion of the file states a weight.
func (s *Set) weighted() bool {
	return slices.ContainsFunc(s.Evals, func(e Eval) bool {
		return slices.ContainsFunc(e.Checks, func(c Check) bool { return c.Weight != nil })
	})
}

// collect takes the outcomes of a grading, and refuses it if it does not fit
// the evals file.
func (q Request) collect(g Grading, gradable Gradable, outcomes map[string][]bool) error {
	e, known := q.Evals.Find(g.Eval)
	if !known {
		return bad("%q: the evals file has no eval %q", g.Path, g.Eval)
	}
	list, found, err := g.verdicts()
	switch {
	case err != nil:
		return err
	case !found:
		return bad("%q has no list of assertions", g.Path)
	}
	seen := map[string]bool{}
	var kept []Verdict
	for _, v := range list {
		c, err := g.find(e, v)
		switch {
		case err != nil:
			return err
		case seen[c.ID]:
			return bad("%q: the assertion %q is there twice", g.Path, c.ID)
		}
		seen[c.ID] = true
		if c.Ungraded(q.Means) != "" {
			continue
		}
		if v.Passed == nil {
			return bad("%q: the assertion %q can be graded and is not", g.Path, c.ID)
		}
		kept = append(kept, v)
		outcomes[c.ID] = append(outcomes[c.ID], *v.Passed)
	}
	if slices.Contains(gradable.LeftOut, e.ID) {
		return nil
	}
	if g.NoCounts != "" {
		return bad("%q %s, so there is no score", g.Path, g.NoCounts)
	}
	passed, total := countVerdicts(list)
	if keptPassed, keptTotal := countVerdicts(kept); g.Passed == keptPassed && g.Total == keptTotal {
		return nil // a summary that leaves out what cannot be graded
	}
	return g.agrees(passed, total)
}

// find is the check of an eval that an entry of a grading is about: by id,
// else by its exact text.
func (g Grading) find(e *Eval, v Verdict) (Check, error) {
	i := slices.IndexFunc(e.Checks, func(c Check) bool { return v.ID != "" && c.ID == v.ID })
	if i < 0 && v.ID == "" {
		i = slices.IndexFunc(e.Checks, func(c Check) bool { return c.Text != "" && c.Text == v.Text })
	}
	if i < 0 {
		return Check{}, bad("%q: eval %q has no assertion %q", g.Path, e.ID, v.name())
	}
	return e.Checks[i], nil
}

// addEval counts an eval whose assertions all have one outcome per run.
func (q Request) addEval(t *tally, e Eval, outcomes map[string][]bool) error {
	score := t.add(e.ID, 0, 0)
	score.Assertions = make([]AssertionScore, 0, len(e.Checks)*q.Runs)
	for _, c := range e.Checks {
		results := outcomes[c.ID]
		if len(results) != q.Runs {
			return bad("eval %q: the assertion %q has %s in its gradings, want %d", e.ID, c.ID, countResults(len(results)), q.Runs)
		}
		weight := json.Number("1")
		if c.Weight != nil {
			weight = json.Number(decimal(c.Weight))
		}
		for _, passed := range results {
			n := int64(0)
			if passed {
				n = 1
			}
			t.add(e.ID, n, 1)
			score.Assertions = append(score.Assertions, AssertionScore{c.ID, passed, weight})
		}
		if t.weighted {
			t.weigh(c.weight(), results)
		}
	}
	return nil
}

// weigh adds the weight of an assertion, once per run.
func (t *tally) weigh(weight *big.Rat, results []bool) {
	if t.smallest == nil || weight.Cmp(t.smallest) < 0 {
		t.smallest = weight
	}
	for _, passed := range results {
		t.totalWeight.Add(t.totalWeight, weight)
		if passed {
			t.passedWeight.Add(t.passedWeight, weight)
		}
	}
}

// countResults is "1 result", "2 results".
func countResults(n int) string { return fmt.Sprintf("%d %s", n, plural(n, "result")) }
