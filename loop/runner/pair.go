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
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"forge/gitstore"
	"forge/gitstore/evals"
)

// Spec is a runner as a run freezes it. What is left out is of the other kind,
// or 1.
type Spec struct {
	Kind             string `json:"kind"`              // KindLexical, KindCommand
	LexicalThreshold string `json:"lexical_threshold"` // decimal text
	Fingerprint      string `json:"fingerprint"`       // of the program; see [CommandFingerprint]

	Command             []string `json:"command,omitempty"`
	Model               string   `json:"model,omitempty"` // handed on as FORGE_MODEL
	TimeoutSeconds      int      `json:"timeout_seconds,omitempty"`
	CheckTimeoutSeconds int      `json:"check_timeout_seconds,omitempty"`
	PassEnv             []string `json:"pass_env,omitempty"` // names only; values are never recorded

	RunsPerSide int `json:"runs_per_side,omitempty"` // of a task
	TriggerRuns int `json:"trigger_runs,omitempty"`  // of a query (DECISIONS M1a)
}

// The kinds of runner.
const (
	KindLexical = "lexical" // the library search, which is deterministic
	KindCommand = "command" // a program of the person's
)

// Runs is how often an eval of a set is run on each side.
func (s Spec) Runs(form evals.Form) int {
	if form == evals.Triggers {
		return max(1, s.TriggerRuns)
	}
	return max(1, s.RunsPerSide)
}

// CommandFingerprint stands for a program that says no version: the SHA-256 of
// its command line. What a script does that the command names is not in it.
func CommandFingerprint(argv []string) string {
	sum := sha256.Sum256([]byte(strings.Join(argv, "\x00")))
	return "command sha256:" + hex.EncodeToString(sum[:8])
}

// The sides of a pair, as positions in its arrays.
const (
	Baseline  = 0
	Candidate = 1
)

// Pair is both sides of one run of one eval. Commits are commits or trees; ""
// is a side without the skill.
type Pair struct {
	Run     string           `json:"run"`
	Commits [2]gitstore.Hash `json:"commits"`
	Skill   string           `json:"skill"`  // its directory, from the root
	Name    string           `json:"name"`   // what clients call it
	Source  gitstore.Hash    `json:"source"` // whose evals these are: the eval's own files come from here
	Eval    evals.Eval       `json:"eval"`
	First   int              `json:"first"` // the side that starts
	Skip    [2]bool          `json:"skip"`  // sides that are known already
	Seed    int64            `json:"seed"`  // the same on both sides
	Runner  Spec             `json:"runner"`

	// Passed are NAME=VALUE the person hands to the runner. They may be
	// secrets: no id and no record holds them.
	Passed []string `json:"-"`
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

// SeedOf is a number from the seed of a run, an eval and a repetition, at least
// 0 (handoff.md section 4.2).
func SeedOf(seed, eval string, repetition int) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", seed, eval, repetition))
	return int64(binary.BigEndian.Uint32(sum[:4]) >> 1)
}

// Outcome says whether a side was measured.
type Outcome string

// The outcomes. Only OK holds verdicts. A runner that says how its run ended
// (handoff.md section 4.2) may also use those of clients.md R-CL-RES-2.
const (
	OK       Outcome = "ok"
	Failed   Outcome = "failed"      // it exited with an error
	TimedOut Outcome = "timeout"     // its deadline passed
	TooMuch  Outcome = "output"      // it made more than is read
	BadReply Outcome = "malformed"   // its result file could not be read
	Empty    Outcome = "empty"       // it ended well and made nothing
	Refused  Outcome = "refused"     // it has no permission or credential
	Later    Outcome = "unavailable" // it asked to be tried later, twice
	NotRun   Outcome = ""            // the pair said to skip this side
)

// Side is what one side of a pair gave.
type Side struct {
	Outcome   Outcome         `json:"outcome"`
	Reason    string          `json:"reason,omitempty"`    // one line; "" for OK
	Verdicts  []evals.Verdict `json:"verdicts,omitempty"`  // one per check, and per run where several are put together; nil unless OK
	Grades    []evals.Result  `json:"grades,omitempty"`    // the same with what was seen, where something was
	Triggered int             `json:"triggered,omitempty"` // of a query: runs that loaded the skill
	Runs      int             `json:"runs,omitempty"`      // put together in this side; 0 is 1
	Evidence  []Evidence      `json:"evidence,omitempty"`
	Seconds   float64         `json:"seconds,omitempty"` // of the program's clock
	Tokens    *int64          `json:"tokens,omitempty"`  // nil: not said
	Left      int             `json:"left,omitempty"`    // processes it left behind, which were ended
}

// Evidence is one raw output by its name.
type Evidence struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Result is what a pair gave.
type Result struct {
	Pair  string // its id
	Sides [2]Side
}

// Executor runs pairs. Running one twice is harmless. An error is nobody's
// measurement: what a runner does wrong is in its side's outcome.
type Executor interface {
	Run(ctx context.Context, p Pair) (Result, error)
}

// verdictOf is one check's outcome.
func verdictOf(check evals.Check, passed bool) evals.Verdict {
	return evals.Verdict{ID: check.ID, Text: check.Text, Passed: &passed}
}
