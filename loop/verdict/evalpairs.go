package verdict

import (
	"encoding/json"
	"math/big"
)

// maxListed is the most assertions that are compared one by one: what the
// intervals of [stats.DeltaInterval] take.
const maxListed = 1_000_000_000

// evalMember is an eval in a score file (loop.md section 5).
type evalMember struct {
	ID         string            `json:"id"`
	Passed     int64             `json:"passed"`
	Total      int64             `json:"total"`
	Assertions []assertionMember `json:"assertions"`
}

// assertionMember is one assertion in one run.
type assertionMember struct {
	ID     string      `json:"id"`
	Passed bool        `json:"passed"`
	Weight json.Number `json:"weight"`
}

// evalPair is an eval on both sides, pooled over the runs.
type evalPair struct {
	id       string
	d        int64    // how many more assertions the candidate passes
	total    int64    // assertions times runs
	weighted *big.Rat // d by weight
	weighs   bool     // a weight is not 1

	listed   bool // assertions are there one by one
	up, down int64
}

// pairsOf sets the evals of two score files side by side; false if a file does
// not list them, or they do not fit its sums or the other file.
func pairsOf(candidate, baseline *scoreFile) ([]evalPair, bool) {
	after, okAfter := candidate.evalList()
	before, okBefore := baseline.evalList()
	if !okAfter || !okBefore || len(after) != len(before) {
		return nil, false
	}
	byID := map[string]evalMember{}
	for _, e := range before {
		byID[e.ID] = e
	}
	if len(byID) != len(after) {
		return nil, false
	}
	var pairs []evalPair
	for _, c := range after {
		b, there := byID[c.ID]
		if !there || b.Total != c.Total {
			return nil, false
		}
		delete(byID, c.ID)
		p := evalPair{id: c.ID, d: c.Passed - b.Passed, total: c.Total, weighted: big.NewRat(c.Passed-b.Passed, 1)}
		p.compareAssertions(c.Assertions, b.Assertions)
		pairs = append(pairs, p)
	}
	return pairs, true
}

// evalList reads the evals, if there are any and they add up to the counts
// that were compared.
func (f *scoreFile) evalList() ([]evalMember, bool) {
	var list []evalMember
	if f.assertions > maxListed || json.Unmarshal(f.list, &list) != nil || len(list) == 0 {
		return nil, false
	}
	var passed, total int64
	for _, e := range list {
		if e.Total < 1 || e.Passed < 0 || e.Passed > e.Total || e.Total > f.assertions-total {
			return nil, false
		}
		passed, total = passed+e.Passed, total+e.Total
	}
	return list, passed == f.passed && total == f.assertions
}

// compareAssertions fills in the flips, run j against run j: an assertion that
// stands there several times has its runs in order.
func (p *evalPair) compareAssertions(after, before []assertionMember) {
	if int64(len(after)) != p.total || len(before) != len(after) {
		return
	}
	earlier := map[string][]assertionMember{}
	for _, a := range before {
		earlier[a.ID] = append(earlier[a.ID], a)
	}
	weighted, weighs, up, down := new(big.Rat), false, int64(0), int64(0)
	for _, a := range after {
		runs := earlier[a.ID]
		if len(runs) == 0 || runs[0].Weight != a.Weight {
			return
		}
		was := runs[0].Passed
		earlier[a.ID] = runs[1:]
		weight := big.NewRat(1, 1)
		if a.Weight != "" {
			var err error
			if weight, err = ParseNumber(a.Weight.String()); err != nil {
				return
			}
		}
		weighs = weighs || weight.Cmp(big.NewRat(1, 1)) != 0
		switch {
		case a.Passed && !was:
			up++
			weighted.Add(weighted, weight)
		case !a.Passed && was:
			down++
			weighted.Sub(weighted, weight)
		}
	}
	if up-down != p.d {
		return
	}
	p.listed, p.up, p.down, p.weighted, p.weighs = true, up, down, weighted, weighs
}
