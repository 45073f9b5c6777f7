// Package evals is what a skill is measured with: evals files in all their
// spellings, the checks in them, splits, gradings, scores and comparisons.
//
// [Read] turns any evals file into a [Set]; a place in the file goes with
// every complaint. [Set.Gradable] says before anything runs which checks can
// be graded, [Check.Grade] grades what needs no judge, [Set.Assign] divides
// the evals into train, val and test. [ReadGradings] finds the gradings below
// a directory, [Request.Score] adds one side of them up and [Compare] sets
// the two sides side by side.
//
// Counts and weights are exact: nothing is rounded before it is printed.
// Nothing here starts a process, calls a model or writes a file; a check that
// runs a command is described as a value ([Command]) for whoever may run it.
//
// Source: skill-format.md sections 7 and 8; loop.md sections 4 to 6;
// DECISIONS M1, M1a, M2, M9, V18, V20.
package evals

import (
	"math/big"

	"forge/gitstore/fault"
	"forge/gitstore/schema"
)

// The bounds of skill-format.md section 10.
const (
	MaxFile   = 4 << 20 // bytes of an evals file, and of a grading
	maxEvals  = 1000
	maxChecks = 200 // of one eval
)

// Form is what kind of file a set was read from.
type Form int

// The forms. A file is one or the other (skill-format.md R-SF-TR-6).
const (
	Tasks    Form = iota // prompts with checks
	Triggers             // queries that should load the skill or not
)

// Split is the part of a set an eval belongs to; "" is none yet.
type Split string

// The splits (DECISIONS M1).
const (
	Train Split = "train"
	Val   Split = "val"
	Test  Split = "test"
)

// IDSource is where an eval's id came from.
type IDSource int

// The sources. Only a text is an id for split-assign (loop.md R-SPLIT-2).
const (
	IDText    IDSource = iota // a text in the file
	IDNumber                  // a whole number in the file
	IDDerived                 // the hash of the prompt or query
)

// Set is an evals file.
type Set struct {
	Form      Form
	SkillName string // as the file says; it may be another skill's
	Context   string // of a transfer file, one sentence
	SplitSeed string // the seed of the split in the file, "" if none
	Evals     []Eval // in the order of the file, a repeated query once

	// Warnings are the file's oddities: missing ids, repeated queries,
	// patterns that do not compile.
	Warnings []Warning

	document *schema.Document
	list     *schema.Node   // the evals
	member   *schema.Member // that holds the list; nil for a bare list
	entries  []entry        // one per element of the list
}

// entry is one element of the file's list.
type entry struct {
	node *schema.Node
	eval int // index in Evals; a repeated query shares one
}

// Warning is an oddity of an evals file that stops nothing.
type Warning struct {
	Rule string // of the lint catalogue: SF960, SF963, SF964
	Line int
	Eval string
	Text string
}

// Eval is one case: a task with its checks, or one query.
type Eval struct {
	ID            string
	IDSource      IDSource
	Name          string
	Prompt        string // the task, or the query
	Expected      string // expected_output, shown to a grader
	Note          string // an expected_output that is no check ("should NOT trigger")
	Files         []string
	Checks        []Check
	Split         Split // as the file says, "" if it does not
	ShouldTrigger bool  // of a query
	Line          int

	node *schema.Node
}

// Check is one assertion of an eval.
type Check struct {
	ID     string // its own, else <eval>#<n>
	Kind   Kind
	Text   string   // what it says to a person or a judge; may be empty
	Reason string   // of an unknown check: why forge cannot grade it
	Weight *big.Rat // above 0; nil if the file states none, which is 1
	Line   int
	Params

	ownID bool
}

// weight is the stated weight or 1.
func (c Check) weight() *big.Rat {
	if c.Weight == nil {
		return big.NewRat(1, 1)
	}
	return c.Weight
}

// Find returns the eval of that id.
func (s *Set) Find(id string) (*Eval, bool) {
	for i := range s.Evals {
		if s.Evals[i].ID == id {
			return &s.Evals[i], true
		}
	}
	return nil, false
}

// bad is a usage fault.
func bad(format string, args ...any) error { return fault.New(fault.Usage, "", format, args...) }

// badAt is a usage fault about a line of a document.
func badAt(line int, format string, args ...any) error {
	return bad("line %d: %w", line, bad(format, args...))
}
