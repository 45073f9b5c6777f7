package history

import (
	"encoding/json"
	"fmt"
	"math/big"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// DefaultCategories are the nine a matrix begins with (R-COV-1).
func DefaultCategories() []string {
	return []string{"formatting", "content_quality", "examples", "workflow", "edge_cases", "efficiency", "scripts", "structure", "knowledge"}
}

// Coverage is the matrix of which categories were tried, and with what
// success. Categories keep the order in which they came.
type Coverage struct {
	document journal.Object // with the members this forge does not know
	names    []string
	cells    map[string]*cell
}

// cell is one category of a matrix.
type cell struct {
	rest                                    journal.Object // as it was read
	total, kept, reverted, neutral, invalid int
	last                                    any      // the name of an experiment, or as it was read
	best                                    *big.Rat // largest gain of a measured outcome; nil before one
}

// NewCoverage is a matrix of these categories without an experiment. A blank
// name is a usage fault, a second one of the same name is none.
func NewCoverage(categories []string) (Coverage, error) {
	c := Coverage{cells: map[string]*cell{}}
	return c, c.Add(categories...)
}

// Add puts in the categories the matrix does not have yet.
func (c *Coverage) Add(categories ...string) error {
	for _, name := range categories {
		if name = journal.Fold(name); name == "" {
			return fault.New(fault.Usage, "", "a category has no name")
		}
		c.cell(name)
	}
	return nil
}

// cell is the cell of a category, made if there is none.
func (c *Coverage) cell(name string) *cell {
	if c.cells[name] == nil {
		c.cells[name] = &cell{}
		c.names = append(c.names, name)
	}
	return c.cells[name]
}

// ReadCoverage reads a coverage-matrix.json. Fields that are missing are
// filled in (R-COV-2); a file that is no matrix is a usage fault.
func ReadCoverage(p journal.Part) (Coverage, error) {
	const hint = "forge loop coverage-init begins one"
	c := Coverage{cells: map[string]*cell{}}
	if err := json.Unmarshal(p.Data, &c.document); err != nil {
		return c, malformed(p, err, hint)
	}
	var categories journal.Object
	if err := json.Unmarshal(c.document.Get("categories"), &categories); err != nil {
		return c, fault.New(fault.Usage, hint, "%s: the matrix has no categories", p.Name)
	}
	for _, name := range categories.Keys() {
		read, err := readCell(categories.Get(name))
		if err != nil {
			return c, fault.New(fault.Usage, "", "%s: category %q: %w", p.Name, name, err)
		}
		c.names, c.cells[name] = append(c.names, name), read
	}
	return c, nil
}

func readCell(data json.RawMessage) (*cell, error) {
	var x cell
	if err := json.Unmarshal(data, &x.rest); err != nil {
		return nil, err
	}
	for _, m := range x.counts() {
		raw := x.rest.Get(m.key)
		if err := json.Unmarshal(raw, m.into); err != nil || *m.into < 0 {
			return nil, fmt.Errorf("%s is %.40s, want a count", m.key, raw)
		}
	}
	x.last = x.rest.Get("last_experiment")
	text := x.rest.Text("best_delta_exact")
	if text == "" { // of a matrix that only has the rounded one
		text = x.rest.Text("best_delta")
	}
	if text == "" {
		return &x, nil
	}
	best, err := journal.ParseFigure(text)
	if err != nil {
		return nil, fmt.Errorf("best_delta: %w", err)
	}
	x.best = best
	return &x, nil
}

type count struct {
	key  string
	into *int
}

// counts are the cell's counts by their names, in the order of the file.
func (x *cell) counts() []count {
	return []count{
		{"experiments_total", &x.total}, {"experiments_kept", &x.kept}, {"experiments_reverted", &x.reverted},
		{"experiments_neutral", &x.neutral}, {"experiments_invalid", &x.invalid},
	}
}

// Outcome is one experiment as the matrix counts it. Gain is positive when
// better, and nil for what was not measured.
type Outcome struct {
	Category, Experiment string
	Decision             verdict.Decision
	Gain                 *big.Rat
}

// Update counts one experiment. An unknown category is created; what was not
// measured raises the count of invalid ones only (R-COV-2). A blank category
// or experiment, and a measured decision without a gain, are usage faults.
func (c *Coverage) Update(o Outcome) error {
	name, experiment := journal.Fold(o.Category), journal.Fold(o.Experiment)
	switch {
	case name == "":
		return fault.New(fault.Usage, "--category C", "the experiment has no category")
	case experiment == "":
		return fault.New(fault.Usage, "--experiment EXP", "the experiment has no name")
	case o.Decision.Measured() && o.Gain == nil:
		return fault.New(fault.Usage, "--delta V", "a %s was measured, and its delta is missing", o.Decision)
	}
	x := c.cell(name)
	x.total++
	x.last = experiment
	switch o.Decision {
	case verdict.Keep:
		x.kept++
	case verdict.Revert:
		x.reverted++
	case verdict.Neutral:
		x.neutral++
	default:
		x.invalid++
		return nil
	}
	if x.best == nil || o.Gain.Cmp(x.best) > 0 {
		x.best = o.Gain
	}
	return nil
}

// saturated says whether a category has little left to give: three measured
// experiments, and the exact best gain below 1/100, without an epsilon
// (R-COV-3).
func (x *cell) saturated() bool {
	return x.kept+x.reverted+x.neutral >= 3 && x.best != nil && x.best.Cmp(big.NewRat(1, 100)) < 0
}

func (x *cell) object() (journal.Object, error) {
	o := x.rest
	var text, exact any
	if x.best != nil {
		text, exact = verdict.Fixed(x.best, 4, true), verdict.Exact(x.best)
	}
	for _, m := range x.counts() {
		if err := o.Set(m.key, *m.into); err != nil {
			return o, err
		}
	}
	for _, m := range []struct {
		key   string
		value any
	}{{"last_experiment", x.last}, {"best_delta", text}, {"best_delta_exact", exact}, {"saturated", x.saturated()}} {
		if err := o.Set(m.key, m.value); err != nil {
			return o, err
		}
	}
	return o, nil
}

// CoverageSummary is the matrix in five figures.
type CoverageSummary struct {
	Total     int         `json:"total_categories"`
	Touched   int         `json:"touched_categories"` // with an experiment, measured or not
	Saturated int         `json:"saturated_categories"`
	Untouched []string    `json:"untouched_categories"`
	Percent   json.Number `json:"coverage_percent"` // 1 digit

	percent *big.Rat
}

// Summary sums the matrix up.
func (c Coverage) Summary() CoverageSummary {
	s := CoverageSummary{Total: len(c.names), Untouched: []string{}, percent: new(big.Rat)}
	for _, name := range c.names {
		x := c.cells[name]
		if x.total > 0 {
			s.Touched++
		} else {
			s.Untouched = append(s.Untouched, name)
		}
		if x.saturated() {
			s.Saturated++
		}
	}
	if s.Total > 0 {
		s.percent = big.NewRat(int64(s.Touched)*100, int64(s.Total))
	}
	s.Percent = verdict.Rounded(s.percent, 1)
	return s
}

// Text is the form for people, one line.
func (s CoverageSummary) Text() string {
	return fmt.Sprintf("Coverage: %s%% (%d/%d)\n", verdict.Fixed(s.percent, 0, false), s.Touched, s.Total)
}

// MarshalJSON writes the matrix as it is stored, everything computed anew.
func (c Coverage) MarshalJSON() ([]byte, error) {
	var categories journal.Object
	for _, name := range c.names {
		x, err := c.cells[name].object()
		if err != nil {
			return nil, err
		}
		if err := categories.Set(name, x); err != nil {
			return nil, err
		}
	}
	document := c.document
	if err := document.Set("categories", categories); err != nil {
		return nil, err
	}
	if err := document.Set("coverage_summary", c.Summary()); err != nil {
		return nil, err
	}
	return document.MarshalJSON()
}
