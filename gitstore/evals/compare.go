package evals

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Comparison is the document of `forge loop compare` (loop.md section 6).
type Comparison struct {
	TotalPairs int              `json:"total_pairs"` // evals in a category
	Counts     CategoryCounts   `json:"counts"`
	Categories CategorizedEvals `json:"categories"`
	Unpaired   []string         `json:"unpaired"` // on one side only
	NoData     []string         `json:"no_data"`  // a grading says nothing of use
	Net        int              `json:"net"`      // improved - regressed
}

// CategoryCounts are the sizes of the categories, regressions first.
type CategoryCounts struct {
	Regressed      int `json:"regressed"`
	PersistentFail int `json:"persistent_fail"`
	Improved       int `json:"improved"`
	StableSuccess  int `json:"stable_success"`
}

// CategorizedEvals are the ids in each category, sorted.
type CategorizedEvals struct {
	Regressed      []string `json:"regressed"`
	PersistentFail []string `json:"persistent_fail"`
	Improved       []string `json:"improved"`
	StableSuccess  []string `json:"stable_success"`
}

// Compare sets the two sides below a directory side by side, eval by eval. An
// eval passes a side if all its assertions do. One on one side only is
// unpaired; one with a grading that has no counts is no data and never a
// regression. Without any grading everything is 0. Impossible counts, a
// malformed file and a missing directory are usage faults.
//
// Source: loop.md R-CMP-1 to R-CMP-3.
func Compare(dir fs.FS) (Comparison, error) {
	gradings, err := ReadGradings(dir, "")
	if err != nil {
		return Comparison{}, err
	}
	return CompareGradings(gradings), nil
}

// CompareGradings is [Compare] on gradings that were read. Their order does
// not matter.
func CompareGradings(gradings []Grading) Comparison {
	type sums struct {
		passed, total int64
		found, noData bool
	}
	sides := map[string]map[Side]sums{}
	for _, g := range gradings {
		if sides[g.Eval] == nil {
			sides[g.Eval] = map[Side]sums{}
		}
		s := sides[g.Eval][g.Side]
		s.passed, s.total, s.found = s.passed+g.Passed, s.total+g.Total, true
		s.noData = s.noData || g.NoCounts != ""
		sides[g.Eval][g.Side] = s
	}
	c := Comparison{
		Categories: CategorizedEvals{Regressed: []string{}, PersistentFail: []string{}, Improved: []string{}, StableSuccess: []string{}},
		Unpaired:   []string{}, NoData: []string{},
	}
	for _, id := range slices.Sorted(maps.Keys(sides)) {
		before, after := sides[id][Baseline], sides[id][WithMutation]
		passedBefore, passedAfter := before.passed == before.total, after.passed == after.total
		list := &c.Categories.PersistentFail
		switch {
		case !before.found || !after.found:
			list = &c.Unpaired
		case before.noData || after.noData:
			list = &c.NoData
		case passedBefore && passedAfter:
			list = &c.Categories.StableSuccess
		case passedBefore:
			list = &c.Categories.Regressed
		case passedAfter:
			list = &c.Categories.Improved
		}
		*list = append(*list, id)
	}
	c.count()
	return c
}

// count fills in the sizes.
func (c *Comparison) count() {
	c.Counts = CategoryCounts{
		Regressed: len(c.Categories.Regressed), PersistentFail: len(c.Categories.PersistentFail),
		Improved: len(c.Categories.Improved), StableSuccess: len(c.Categories.StableSuccess),
	}
	c.TotalPairs = c.Counts.Regressed + c.Counts.PersistentFail + c.Counts.Improved + c.Counts.StableSuccess
	c.Net = c.Counts.Improved - c.Counts.Regressed
}

// Text is the form for people: the counts, then every category that is not
// empty under a heading (R-CMP-2).
func (c Comparison) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s: %d regressed, %d persistent fail, %d improved, %d stable success; net %+d\n",
		c.TotalPairs, plural(c.TotalPairs, "pair"), c.Counts.Regressed, c.Counts.PersistentFail, c.Counts.Improved, c.Counts.StableSuccess, c.Net)
	for _, group := range []struct {
		heading string
		ids     []string
	}{
		{"Regressed", c.Categories.Regressed},
		{"Persistent fail", c.Categories.PersistentFail},
		{"Improved", c.Categories.Improved},
		{"Stable success", c.Categories.StableSuccess},
		{"Unpaired", c.Unpaired},
		{"No data", c.NoData},
	} {
		if len(group.ids) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", group.heading)
		for _, id := range group.ids {
			fmt.Fprintf(&b, "  %s\n", id)
		}
	}
	return b.String()
}
