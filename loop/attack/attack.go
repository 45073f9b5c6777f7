// Package attack plays cheats against a configuration and says which guard
// stopped each.
//
// A [Mutant] is a change, or a program in place of the user's, that would win
// by cheating. A [Suite] plays mutants on a private copy of a commit, in a
// scratch repository outside the user's: nothing is written to a run, a
// journal or the user's files, and what was made is removed at the end.
//
// Static mutants are changes handed to the guards. Dynamic ones are programs
// that run where the metric or the runner would run, in a private export of
// their own. Where a mutant needs something the target lacks, the private copy
// has it.
//
// Source: handoff.md section 9; DECISIONS G11.
package attack

import (
	"context"
	"errors"
	"fmt"

	"forge/gitstore"
	"forge/loop"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/verdict"
)

// Outcome is how a mutant ended.
type Outcome string

// The outcomes (handoff.md R-ATT-3).
const (
	Refused       Outcome = "refused"
	NotContained  Outcome = "not_contained"
	NotApplicable Outcome = "not_applicable"
	GotThrough    Outcome = "got_through"
)

// Mutant is one cheat.
type Mutant struct {
	ID    string // A01 to A36
	Name  string
	Mode  string // a mode of loop it is for; "" for both
	Guard string // the one that is to stop it
	What  string // what it does, in a few words

	play func(context.Context, *stage) (ending, error)
}

// Result is what became of one mutant.
type Result struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	What      string  `json:"what"` // it does
	Guard     string  `json:"guard"`
	Outcome   Outcome `json:"outcome"`
	Decision  string  `json:"decision"`   // INVALID, NO_OP or SKIP; "" where there is no experiment to decide
	StoppedBy string  `json:"stopped_by"` // the guard that did; "" for none
	Detail    string  `json:"detail"`     // what the guard said, or why the mutant was not played
}

// ending is what playing a mutant gave: a violation, or why it was not played.
type ending struct {
	violation    *guard.Violation
	inapplicable string
	uncontained  string
}

// by is the ending of a mutant that something stopped which decides nothing.
func by(name, message string) ending {
	return ending{violation: &guard.Violation{Guard: name, Message: message}}
}

func inapplicable(format string, args ...any) (ending, error) {
	return ending{inapplicable: fmt.Sprintf(format, args...)}, nil
}

// Mutants are all of them, in the order of their ids.
func Mutants() []Mutant {
	return append(static(), dynamic()...)
}

// Suite plays mutants against one configuration on one commit.
type Suite struct {
	Repo   *gitstore.Repo // required: the user's; it is only read
	Commit gitstore.Hash  // required: what the private copy is made of
	Setup  loop.Setup     // required: the frozen configuration and what is handed to children

	// Engine wires the loop to a repository; the closer ends its children.
	// Required.
	Engine func(*gitstore.Repo) (*loop.Engine, func() error)

	// Drift changes the configuration as if it were done on disk during a run,
	// and returns what going on with the run says to it. Required.
	Drift func() error

	off string // a guard that a test switches off (R-ATT-2)
}

// Run plays mutants one after the other and hands each result to told as it
// comes. An error is none of a mutant's: nothing was shown about the rest.
func (s Suite) Run(ctx context.Context, mutants []Mutant, told func(Result)) (err error) {
	st, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	for _, m := range mutants {
		result, err := st.result(ctx, m)
		if err != nil {
			return fmt.Errorf("play %s %s: %w", m.ID, m.Name, err)
		}
		told(result)
	}
	return nil
}

// result plays one mutant; the guards are as configured when it begins.
func (st *stage) result(ctx context.Context, m Mutant) (Result, error) {
	r := Result{ID: m.ID, Name: m.Name, What: m.What, Guard: m.Guard}
	if m.Mode != "" && m.Mode != st.mode {
		r.Outcome, r.Detail = NotApplicable, "for a target with a metric"
		if m.Mode == loop.ModeSkill {
			r.Detail = "for a skill"
		}
		return r, nil
	}
	was := *st.target.Rules()
	defer func() { *st.target.Rules() = was }()
	end, err := m.play(ctx, st)
	switch {
	case err != nil:
		return r, err
	case end.inapplicable != "":
		r.Outcome, r.Detail = NotApplicable, end.inapplicable
	case end.uncontained != "":
		r.Outcome, r.Detail = NotContained, end.uncontained
	case end.violation == nil:
		r.Outcome = GotThrough
	default:
		v := end.violation
		r.Outcome, r.Decision, r.StoppedBy, r.Detail = Refused, string(v.Decision), v.Guard, v.Message
	}
	return r, nil
}

// Line is a result as people read it.
//
// Source: handoff.md R-ATT-3.
func (r Result) Line() string {
	text := fmt.Sprintf("%s %-20s ", r.ID, r.Name)
	switch r.Outcome {
	case NotContained:
		return text + "not contained (" + r.Detail + ")"
	case NotApplicable:
		return text + "not applicable (" + r.Detail + ")"
	case GotThrough:
		return text + "GOT THROUGH"
	}
	text += "refused  "
	if r.Decision != "" {
		text += r.Decision + " "
	}
	text += r.StoppedBy
	if r.StoppedBy != r.Guard {
		text += " (not by " + r.Guard + ")"
	}
	return text
}

// examine holds a proposal against the static guards. One that cannot be
// applied at all is stopped too: it would end as SKIP.
func examine(ctx context.Context, r *loop.Rehearsal, p handoff.Proposal) (ending, error) {
	v, err := r.Examine(ctx, p)
	if skip, ok := errors.AsType[*handoff.SkipError](err); ok {
		return ending{violation: &guard.Violation{Guard: skip.Reason, Decision: verdict.Skip, Message: skip.Error()}}, nil
	}
	return ending{violation: v}, err
}

// edits examines a change that is given as edits.
func edits(ctx context.Context, r *loop.Rehearsal, list ...gitstore.Edit) (ending, error) {
	return examine(ctx, r, handoff.Proposal{Edits: list})
}
