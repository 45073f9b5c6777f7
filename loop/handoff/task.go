package handoff

import (
	"context"
	"errors"

	"forge/gitstore"
)

// ErrExhausted ends a run normally: the proposer has nothing left (R-PROP-2).
var ErrExhausted = errors.New("the proposer has nothing left to propose")

// SkipError ends one experiment as SKIP. Reason is the word that is recorded
// (proposer_failed, proposer_output, proposer_ambiguous, patch_unusable,
// skipped); Detail is one line for the reader, or "".
type SkipError struct {
	Reason string
	Detail string
}

// Error is the reason with its detail.
func (e *SkipError) Error() string {
	if e.Detail == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Detail
}

// Task is a brief with the means to answer it.
type Task struct {
	Brief Brief
	// Read gives the bytes of a file of the scope at the tip, by its path from
	// the root of the repository.
	Read func(ctx context.Context, path string) ([]byte, error)
	// Scope lists the files of the scope that may change, by their path from
	// the root, sorted.
	Scope []string
	// Environment is what a command proposer is given.
	Environment []string
	// Train are the queries of the train split, failing or not; nil where the
	// evals are no queries. Nothing of val and test is ever in a task.
	Train []Query
	// Tip is the commit the answer is applied to.
	Tip string
	// Repeats says whether edits lead to a state that an earlier experiment, of
	// this run or another, made of the same state: such a proposal is refused.
	Repeats func(ctx context.Context, edits []gitstore.Edit) (bool, error)
}

// Query is one trigger eval of the train split.
type Query struct {
	Text          string
	ShouldTrigger bool
}

// FromRoot is a path of the brief, relative to the target, as a path from the
// root of the repository.
func (t Task) FromRoot(path string) string {
	if t.Brief.Target.Path == "." {
		return path
	}
	return t.Brief.Target.Path + "/" + path
}
