package purpose

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// preface is how a new file begins.
const preface = `# Purpose

Why this skill looks the way it does: one entry per change that was kept, with the attempts in the same category that were rejected before it.
`

const (
	listLabel        = "Rejected before in the same category:"
	hypothesisLength = 120 // code points of a rejected attempt's hypothesis (R-PURPOSE-4)
)

// Change is a kept change to be recorded. Figures may be nil; Delta, if given,
// is positive when better, and otherwise After - Before turned by Direction
// (R-PURPOSE-5).
type Change struct {
	Experiment, Category, MutationType string // required
	Hypothesis, Section                string
	Before, After, Delta               *big.Rat
	Direction                          verdict.Direction
	Pattern                            string
	Knowledge                          []string
	Run                                string
	Date                               string            // required: 2006-01-02
	Rejected                           []journal.Refused // the buffer, oldest first
}

// Appended is what [Append] did. Data is nil if the experiment was recorded
// already.
type Appended struct {
	Data         []byte
	Experiment   string   // as it stands in the file
	Category     string   // likewise
	Predecessors []string // rejected attempts listed with the entry
}

// Append adds an entry to a file, or begins one. It is idempotent by run and
// experiment (R-PURPOSE-3). A change without an experiment, a category or a
// mutation type is a usage fault.
func Append(file []byte, c Change) (Appended, error) {
	c.Experiment, c.Category, c.MutationType = heading(c.Experiment), heading(c.Category), heading(c.MutationType)
	c.Run = journal.Fold(c.Run)
	for _, required := range []struct{ name, text string }{
		{"experiment", c.Experiment}, {"category", c.Category}, {"mutation-type", c.MutationType},
	} {
		if required.text == "" {
			return Appended{}, fault.New(fault.Usage, "--"+required.name+" TEXT", "the entry has no %s", required.name)
		}
	}
	entries := Parse(file)
	done := Appended{Experiment: c.Experiment, Category: c.Category, Predecessors: []string{}}
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Experiment == c.Experiment && e.Run == c.Run }) {
		return done, nil
	}
	before := c.predecessors(entries)
	for _, r := range before {
		done.Predecessors = append(done.Predecessors, heading(r.Experiment))
	}
	done.Data = bytes.Clone(file)
	switch {
	case len(bytes.TrimSpace(file)) == 0:
		done.Data = []byte(preface)
	case file[len(file)-1] != '\n':
		done.Data = append(done.Data, '\n')
	}
	done.Data = append(done.Data, c.markdown(before)...)
	return done, nil
}

// heading makes a text a part of a heading: no long dash, which separates
// them (R-PURPOSE-2).
func heading(text string) string {
	return strings.ReplaceAll(journal.Fold(text), "—", "-")
}

// markdown is the entry, with the blank line before it.
func (c Change) markdown(before []journal.Refused) string {
	text := "\n## " + strings.Join([]string{c.Experiment, c.Category, c.MutationType, c.Date}, dash) + "\n\n"
	field := func(label, value string) {
		if value = journal.Fold(value); value != "" {
			text += "**" + label + ":** " + value + "\n"
		}
	}
	field("Hypothesis", c.Hypothesis)
	field("Section", c.Section)
	field("Score", c.score())
	field("Pattern", c.Pattern)
	field("Knowledge", strings.Join(c.Knowledge, ", "))
	field("Run", c.Run)
	if len(before) == 0 {
		return text
	}
	text += "\n" + listLabel + "\n"
	for _, r := range before {
		text += "- " + c.attempt(r) + "\n"
	}
	return text
}

// score is "0.7200 → 0.7900 (+0.0700)", or "" without both figures.
func (c Change) score() string {
	if c.Before == nil || c.After == nil {
		return ""
	}
	delta := c.Delta
	if delta == nil {
		delta = journal.Gain(c.Before, c.After, c.Direction)
	}
	return fmt.Sprintf("%s → %s (%s)", verdict.Fixed(c.Before, 4, false), verdict.Fixed(c.After, 4, false), verdict.Fixed(delta, 4, true))
}

// attempt is the line of a rejected attempt.
func (c Change) attempt(r journal.Refused) string {
	parts := []string{heading(r.Experiment)}
	for _, text := range []string{r.MutationType, r.Decision} {
		if text = heading(text); text != "" {
			parts = append(parts, text)
		}
	}
	delta := r.Delta // of a record without figures
	if r.Before != nil && r.After != nil {
		delta = journal.Gain(r.Before, r.After, c.Direction)
	}
	if delta != nil {
		parts = append(parts, "("+verdict.Fixed(delta, 4, true)+")")
	}
	hypothesis := journal.Flatten(r.Hypothesis, hypothesisLength)
	if hypothesis == "" {
		hypothesis = "no hypothesis given"
	}
	return strings.Join(parts, " ") + dash + hypothesis
}

// predecessors are the rejected attempts that led to the change: those of its
// category, and of its run where they name one, between the last entry of that
// category and run and this experiment. Each is listed once: of two records of
// one name the last counts, and what an earlier entry names stays there
// (R-PURPOSE-4).
func (c Change) predecessors(entries []Entry) []journal.Refused {
	var listed []string
	last := 0
	for _, e := range entries {
		if e.Category != c.Category || e.Run != c.Run {
			continue
		}
		if n, ok := journal.Number(e.Experiment); ok {
			last = n
		}
		listed = append(listed, e.Rejected...)
	}
	this, numbered := journal.Number(c.Experiment)
	var found []journal.Refused
	for _, r := range c.Rejected {
		name := heading(r.Experiment)
		n, ok := journal.Number(name)
		switch {
		case name == "", name == c.Experiment, heading(r.Category) != c.Category:
			continue
		case slices.ContainsFunc(listed, func(line string) bool { return strings.HasPrefix(line, name+" ") }):
			continue
		case c.Run != "" && r.Run != "" && journal.Fold(r.Run) != c.Run:
			continue
		case numbered && ok && (n <= last || n >= this):
			continue
		}
		found = slices.DeleteFunc(found, func(f journal.Refused) bool { return heading(f.Experiment) == name })
		found = append(found, r)
	}
	slices.SortStableFunc(found, func(a, b journal.Refused) int {
		return order(heading(a.Experiment)) - order(heading(b.Experiment))
	})
	return found
}

// order sorts names by their number; those without one come last, as they
// came.
func order(experiment string) int {
	if n, ok := journal.Number(experiment); ok {
		return n
	}
	return int(^uint(0) >> 1)
}
