package evals

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"

	"forge/gitstore/fault"
)

// Request is a call of `forge loop score`.
type Request struct {
	Dir        fs.FS  // required: the directory with the gradings
	Side       Side   // "" mixes both sides, with a warning
	Evals      *Set   // the evals file; nil without one
	Means      Means  // what can grade, with Evals
	Ungraded   Policy // with Evals
	Comparator bool   // read the judge's rubric
	Gate       Gate   // the zero value is the default
	Runs       int    // of each eval on a side; 0 is 1
}

// Score is the document of `forge loop score`, which is a score file
// (loop.md section 5). Its numbers are rounded; what is compared is the exact
// texts.
type Score struct {
	Composite      json.Number  `json:"composite_score"`
	CompositeExact string       `json:"composite_exact"`
	PassRate       json.Number  `json:"assertion_pass_rate"`
	Judge          *json.Number `json:"llm_judge_score"`
	GateWeights    gateDocument `json:"gate_weights"`
	Side           *Side        `json:"side"`
	Runs           int          `json:"runs"`
	Passed         int64        `json:"passed"`
	Total          int64        `json:"total_assertions"`

	// With weights only.
	PassedWeight   string `json:"passed_weight,omitempty"`
	TotalWeight    string `json:"total_weight,omitempty"`
	SmallestWeight string `json:"smallest_weight,omitempty"`

	Resolution      json.Number `json:"resolution"`
	ResolutionExact string      `json:"resolution_exact"`
	Ungraded        []string    `json:"ungraded"`
	Evals           []EvalScore `json:"evals"` // nil for a list without evals
	EvalsSHA256     *string     `json:"evals_sha256"`
	Details         Details     `json:"details"`
	Warnings        []string    `json:"warnings"`
}

// EvalScore is one eval of a score.
type EvalScore struct {
	ID         string           `json:"id"`
	Passed     int64            `json:"passed"`
	Total      int64            `json:"total"`
	Assertions []AssertionScore `json:"assertions,omitempty"`
}

// AssertionScore is one assertion in one run.
type AssertionScore struct {
	ID     string      `json:"id"`
	Passed bool        `json:"passed"`
	Weight json.Number `json:"weight"`
}

// Details are measured, reported and never gated (loop.md R-SCORE-6).
type Details struct {
	Efficiency    *json.Number `json:"efficiency_score"`
	TotalTokens   json.Number  `json:"total_tokens"`
	TotalSeconds  json.Number  `json:"total_duration_seconds"`
	TimingFiles   int          `json:"timing_files_found"`
	GradingsFound int          `json:"grading_files_found"`
}

// ratioDigits are the digits of a ratio in a document (loop.md R-OUT-3).
const ratioDigits = 6

// Score adds up the gradings of a side. A grading without counts, one that
// does not agree with the evals file, or none at all is an error: missing
// data never becomes a score (DECISIONS M2). Every error is a usage fault.
//
// Source: loop.md section 5.
func (q Request) Score() (Score, error) {
	if q.Runs == 0 {
		q.Runs = 1
	}
	if q.Comparator && q.Side == "" {
		return Score{}, fault.New(fault.Usage, "--side with_mutation or --side baseline", "a comparator judges one side, and no side is given")
	}
	found, err := walk(q.Dir, q.Side)
	if err != nil {
		return Score{}, err
	}
	gradings, listed, err := q.gradings(found)
	if err != nil {
		return Score{}, err
	}
	sum, err := q.sum(gradings)
	if err != nil {
		return Score{}, err
	}
	s := Score{
		Runs: q.Runs, Passed: sum.passed, Total: sum.total, Ungraded: sorted(sum.ungraded), EvalsSHA256: sum.hash,
		Details: Details{GradingsFound: len(gradings)}, Warnings: []string{},
	}
	if q.Side == "" {
		s.Warnings = append(s.Warnings, "mixed_sides")
	} else {
		s.Side = &q.Side
	}
	if !listed {
		s.Evals = sum.evals()
	}
	if err := q.compose(&s, sum); err != nil {
		return Score{}, err
	}
	timings, err := found.readTimings(q.Dir)
	if err != nil {
		return Score{}, err
	}
	s.Details.time(timings)
	return s, nil
}

// gradings reads the gradings of the side, or the list that stands in for
// them (R-SCORE-2).
func (q Request) gradings(found found) (list []Grading, listed bool, err error) {
	if q.Side == "" {
		list, listed, err = ReadResults(q.Dir)
	}
	if err == nil && !listed {
		list, err = found.readGradings(q.Dir)
	}
	switch {
	case err != nil:
		return nil, listed, err
	case listed && q.Evals != nil:
		return nil, listed, bad("grading_results.json does not say which eval a grading is of; give a side, or leave out the evals file")
	case len(list) == 0 && q.Side != "":
		return nil, listed, bad("there is no grading.json of the side %s", q.Side)
	case len(list) == 0:
		return nil, listed, bad("there is no grading.json")
	}
	return list, listed, nil
}

// compose fills in everything that follows from the sums, the gate and the
// judge (R-SCORE-4, 5, 7, 8, 10).
func (q Request) compose(s *Score, sum *tally) error {
	passed, total, smallest := big.NewRat(sum.passed, 1), big.NewRat(sum.total, 1), big.NewRat(1, 1)
	s.CompositeExact = fmt.Sprintf("%d/%d", sum.passed, sum.total)
	if sum.weighted {
		passed, total, smallest = sum.passedWeight, sum.totalWeight, sum.smallest
		s.PassedWeight, s.TotalWeight, s.SmallestWeight = decimal(passed), decimal(total), decimal(smallest)
		s.CompositeExact = s.PassedWeight + "/" + s.TotalWeight
	}
	rate := new(big.Rat).Quo(passed, total)
	s.PassRate, s.Composite = rounded(rate, ratioDigits), rounded(rate, ratioDigits)

	resolution := new(big.Rat).Quo(smallest, total)
	resolution.Mul(resolution, big.NewRat(2*int64(q.Runs), 1))
	s.Resolution, s.ResolutionExact = rounded(resolution, ratioDigits), resolution.RatString()

	var judge *big.Rat
	if q.Comparator {
		var err error
		if judge, err = readJudge(q.Dir, q.Side); err != nil {
			return err
		}
		number := rounded(judge, ratioDigits)
		s.Judge = &number
	}
	gate := q.Gate.or(judge != nil)
	s.GateWeights = gateDocument{rounded(gate.Assertions, ratioDigits), rounded(gate.Judge, ratioDigits)}
	switch {
	case gate.Judge.Sign() == 0:
		return nil
	case judge == nil:
		return fault.New(fault.Usage, "--use-comparator", "gate_weights gives the judge weight, and there is no judge's value")
	}
	composite := new(big.Rat).Mul(gate.Assertions, rate)
	composite.Add(composite, new(big.Rat).Mul(gate.Judge, judge))
	s.Composite, s.CompositeExact = rounded(composite, ratioDigits), composite.RatString()
	return nil
}

// time adds up the timings: every part of every file that is there has its
// efficiency, and the mean of all is reported.
func (d *Details) time(timings []Timing) {
	tokens, seconds, efficiency := new(big.Rat), new(big.Rat), new(big.Rat)
	parts := int64(0)
	count := func(sum, value *big.Rat, whole int64) {
		if value == nil {
			return
		}
		sum.Add(sum, value)
		part := new(big.Rat).Sub(big.NewRat(1, 1), new(big.Rat).Quo(value, big.NewRat(whole, 1)))
		if part.Sign() > 0 {
			efficiency.Add(efficiency, part)
		}
		parts++
	}
	for _, t := range timings {
		count(tokens, t.Tokens, 100_000)
		count(seconds, t.Seconds, 300)
	}
	d.TimingFiles = len(timings)
	d.TotalTokens, d.TotalSeconds = rounded(tokens, ratioDigits), rounded(seconds, 1)
	if parts > 0 {
		mean := rounded(efficiency.Quo(efficiency, big.NewRat(parts, 1)), ratioDigits)
		d.Efficiency = &mean
	}
}

// tally is the sum of gradings.
type tally struct {
	passed, total int64
	byEval        map[string]*EvalScore
	ungraded      []string
	hash          *string // of the evals file

	weighted                  bool
	passedWeight, totalWeight *big.Rat
	smallest                  *big.Rat // of the assertions measured
}

// evals lists the evals by id.
func (t *tally) evals() []EvalScore {
	list := []EvalScore{}
	for _, id := range slices.Sorted(maps.Keys(t.byEval)) {
		list = append(list, *t.byEval[id])
	}
	return list
}

// add counts one grading or eval.
func (t *tally) add(id string, passed, total int64) *EvalScore {
	e := t.byEval[id]
	if e == nil {
		e = &EvalScore{ID: id}
		t.byEval[id] = e
	}
	e.Passed, e.Total = e.Passed+passed, e.Total+total
	t.passed, t.total = t.passed+passed, t.total+total
	return e
}

// sum adds up gradings.
func (q Request) sum(gradings []Grading) (*tally, error) {
	t := &tally{byEval: map[string]*EvalScore{}}
	if q.Evals != nil {
		return t, q.sumChecked(t, gradings)
	}
	for _, g := range gradings {
		if err := g.check(); err != nil {
			return nil, err
		}
		t.add(g.Eval, g.Passed, g.Total)
	}
	for _, id := range slices.Sorted(maps.Keys(t.byEval)) {
		if e := t.byEval[id]; e.Total%int64(q.Runs) != 0 {
			return nil, bad("eval %q has %d results, which is no multiple of %d runs per side", id, e.Total, q.Runs)
		}
	}
	return t, nil
}

// check refuses a grading without counts, or whose list says otherwise
// (R-SCORE-3; skill-format.md R-SF-GR-2).
func (g Grading) check() error {
	if g.NoCounts != "" {
		return bad("%q %s, so there is no score", g.Path, g.NoCounts)
	}
	list, found, err := g.verdicts()
	if err != nil || !found {
		return err
	}
	passed, total := countVerdicts(list)
	return g.agrees(passed, total)
}

// agrees compares the summary with what the list says.
func (g Grading) agrees(passed, total int64) error {
	if g.Passed == passed && g.Total == total {
		return nil
	}
	return bad("%q: the summary says %d of %d, its list %d of %d", g.Path, g.Passed, g.Total, passed, total)
}

// countVerdicts counts what is graded.
func countVerdicts(list []Verdict) (passed, total int64) {
	for _, v := range list {
		if v.Passed == nil {
			continue
		}
		total++
		if *v.Passed {
			passed++
		}
	}
	return passed, total
}
