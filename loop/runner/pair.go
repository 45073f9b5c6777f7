// Package runner measures evals: one pair at a time, both sides of one eval in
// a fixed order, by one executor.
//
// A [Pair] is self-contained and serialisable, and running it twice is
// harmless, so it may run in this process, in another, or on another machine.
// A [Result] is typed: a side that could not be measured says why and holds no
// number.
//
// Source: ARCHITECTURE section 5; handoff.md sections 4.2 and 7; statistics.md
// R-STAT-11.
package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"forge/gitstore"
	"forge/gitstore/evals"
)

// Spec is a runner as a run freezes it.
type Spec struct {
	Kind             string `json:"kind"`              // lexical
	LexicalThreshold string `json:"lexical_threshold"` // decimal text
	Fingerprint      string `json:"fingerprint"`
}

// KindLexical is the library search. It is deterministic, so each query runs
// once on each side (DECISIONS M1a).
const KindLexical = "lexical"

// The sides of a pair, as positions in its arrays.
const (
	Baseline  = 0
	Candidate = 1
)

// Pair is both sides of one eval. Commits "" is a side without the skill.
type Pair struct {
	Run     string           `json:"run"`
	Commits [2]gitstore.Hash `json:"commits"`
	Skill   string           `json:"skill"` // its directory, from the root
	Eval    evals.Eval       `json:"eval"`
	First   int              `json:"first"` // the side that starts
	Seed    int              `json:"seed"`  // the same on both sides
	Runner  Spec             `json:"runner"`
}

// ID is the pair's identity: the SHA-256 of its JSON.
func (p Pair) ID() (string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode the pair of eval %q: %w", p.Eval.ID, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Outcome says whether a side was measured.
type Outcome string

// The outcomes. Only OK holds verdicts.
const (
	OK       Outcome = "ok"
	Failed   Outcome = "failed"    // the runner exited with an error
	TimedOut Outcome = "timeout"   // its deadline passed
	TooMuch  Outcome = "output"    // it printed beyond its bound
	BadReply Outcome = "malformed" // its result file could not be read
)

// Side is what one side of a pair gave.
type Side struct {
	Outcome  Outcome
	Reason   string          // one line; "" for OK
	Verdicts []evals.Verdict // one per check and run, in order; nil unless OK
	Evidence []Evidence
	Seconds  float64 // of the program's clock
}

// Evidence is one raw output by its name.
type Evidence struct {
	Name string
	Data []byte
}

// Result is what a pair gave.
type Result struct {
	Pair  string // its id
	Sides [2]Side
}

// Executor runs pairs. Running one twice is harmless.
type Executor interface {
	Run(ctx context.Context, p Pair) (Result, error)
}

// verdictOf is one check's outcome.
func verdictOf(check evals.Check, passed bool) evals.Verdict {
	return evals.Verdict{ID: check.ID, Text: check.Text, Passed: &passed}
}
