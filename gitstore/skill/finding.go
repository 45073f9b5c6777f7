package skill

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity is how bad a finding is (skill-format.md R-SF-SEV).
type Severity int

// The severities, mildest first.
const (
	Note    Severity = iota // advice
	Warning                 // against the specification, not portable, or costly
	Error                   // some client will not load the skill, or loads the wrong thing
)

// String is the severity's word.
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return fmt.Sprintf("severity(%d)", int(s))
}

// Finding is one thing that is odd about a skill, at one place. As an error it
// names place and sentence.
type Finding struct {
	Rule     string // id of skill-format.md section 6, e.g. "SF107"
	Severity Severity
	Path     string // of the file, "" where the reader was given bytes only
	Line     int    // from 1; 0 concerns the whole file or directory
	Column   int    // in code points, from 1
	Key      string // of the front matter, or ""
	Message  string // one sentence
	Hint     string // what to do, or ""
}

// Error is path, line and column as far as they are known, and the message.
func (f Finding) Error() string {
	place := f.Path
	if f.Line > 0 {
		position := fmt.Sprintf("line %d, column %d", f.Line, f.Column)
		if place != "" {
			position = fmt.Sprintf(":%d:%d", f.Line, f.Column)
		}
		place += position
	}
	if place == "" {
		return f.Message
	}
	return place + ": " + f.Message
}

// Worst returns the first finding of severity [Error] as an error, or nil.
func Worst(findings []Finding) error {
	for _, f := range findings {
		if f.Severity == Error {
			return f
		}
	}
	return nil
}

// sortFindings puts findings in the order of their places.
func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
}
