// Package loop improves a target by experiment: it proposes one change,
// measures it, decides, and writes the verdict as one commit.
//
// The engine has two steps, [Session.Next] and [Session.Submit]. Next gives a
// brief that is a pure function of the run's tip; Submit takes a proposal,
// holds it against the guards, commits it as a candidate, measures it in a
// private export and ends the experiment with exactly one commit on the run
// branch: a merge for KEEP, a commit that only adds to the log for everything
// else. [Session.Loop] calls the two with a proposer until a stop rule holds.
//
// Where a run stands is read from its refs and its committed log. Killed at any
// instant, it goes on from what the last commit says; nothing is repaired,
// because nothing is ever half done.
//
// Nothing here touches the user's working tree, index or branches; only [Land]
// does, through git.
//
// Source: seed 001; gitstore.md sections 8 to 10; roles.md sections 13 to 15.
package loop

import (
	"context"
	"math/big"
	"time"

	"forge/gitstore"
	"forge/gitstore/process"
	"forge/gitstore/skill"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/runner"
)

// Engine starts and resumes runs. All fields are required but Events.
type Engine struct {
	Repo    *gitstore.Repo
	Now     func() time.Time // the program's clock: what is committed or printed
	Execute func(context.Context, process.Command) (process.Result, error)
	Report  func(Summary) ([]byte, error) // the morning report, committed at the run's end
	Version string                        // forge's own, for fingerprints
	Child   []string                      // what every child is given of the person's environment: PATH, TZ
	Events  func(Event)

	// For skill mode.
	Executor runner.Executor // measures pairs of evals
	Shelf    *runner.Shelf   // reads the library of a commit
	Search   skill.Search    // where skills are looked for
}

// Proposer gives one mutation for a brief. It ends a run with
// [handoff.ErrExhausted] and gives up on one experiment with a
// [handoff.SkipError].
type Proposer interface {
	Propose(ctx context.Context, task handoff.Task) (handoff.Proposal, error)
}

// Limits say when a run stops (DECISIONS V19). They are not frozen: a resumed
// run takes the values of now.
type Limits struct {
	MaxExperiments int           // without DEFERRED; at least 1
	MaxCrashes     int           // in a row; at least 1
	TimeBudget     time.Duration // 0: none; counted from the start of this invocation
	TargetValue    *big.Rat      // nil: none
}

// Setup is what a person asked for: the frozen configuration without what only
// the start can know (run, base, baseline), and the rest.
type Setup struct {
	Frozen journal.Run
	Name   string // "" for r<n>-<xxxx>
	Limits Limits

	// NAME=VALUE; what measures never sees what the proposer was given, which
	// may be the key of a model.
	PassEnv         []string // for metric and invariant
	ProposerPassEnv []string // for a command proposer
	RunnerPassEnv   []string // for a command runner

	Parallel      int // pairs of evals measured at once; not frozen
	RejectedLimit int // rejected experiments a brief shows; not frozen

	// Confirm is given what is about to be frozen, before the run-start commit
	// makes it a run; an error means that there is none. nil: nothing to do.
	Confirm func(context.Context, journal.Run) error
}

// Reason is why a run stopped, a word of handoff.md section 11.
type Reason string

// The reasons, in the order in which they are looked at (roles.md section 13).
const (
	Interrupted    Reason = "interrupt"
	TimeIsUp       Reason = "time_budget"
	TargetReached  Reason = "target_reached"
	Crashes        Reason = "crashes"
	Skips          Reason = "skips"
	Exhausted      Reason = "exhausted"
	Plateau        Reason = "plateau"
	MaxExperiments Reason = "max_experiments"
	Superseded     Reason = "superseded"
)

// Failed says whether that stop makes forge exit with 1 (loop.md R-EXIT-3).
func (r Reason) Failed() bool { return r == Crashes || r == Skips }

// Windows of the stop rules, fixed by DECISIONS V15 and V19.
const (
	plateauWindow = 3
	skipsInARow   = 3
)
