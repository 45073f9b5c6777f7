package evals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forge/gitstore/schema"
)

// Hash is the SHA-256 of the canonical JSON of the evals as the file has
// them, sorted by id: the evals_sha256 of a score (loop.md section 5). White
// space, the order of the evals and what stands beside the list do not count.
func (s *Set) Hash() (string, error) { return s.hash(func(Eval) bool { return true }) }

// SplitHash is the hash of the evals that an assignment puts into one split. A
// run compares that of val: another set wants a new baseline (loop.md
// section 4). The split an eval states in the file is part of what is hashed.
func (s *Set) SplitHash(a Assignment, split Split) (string, error) {
	return s.hash(func(e Eval) bool { return a.Assignment[e.ID] == split })
}

// hash is the hash of some evals.
func (s *Set) hash(wanted func(Eval) bool) (string, error) {
	sorted := slices.Clone(s.Evals)
	slices.SortFunc(sorted, func(a, b Eval) int { return strings.Compare(a.ID, b.ID) })
	var nodes []*schema.Node
	for _, e := range sorted {
		if wanted(e) {
			nodes = append(nodes, e.node)
		}
	}
	sum, err := schema.Hash(nodes)
	if err != nil {
		return "", bad("hash the evals: %w", err)
	}
	return sum, nil
}

// Runner is everything about a runner that may change what it answers.
type Runner struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Model   string `json:"model"`
	Limits  string `json:"limits"`
	Sandbox string `json:"sandbox"`
}

// BaselineKey names a cached baseline: the skill's tree, the hash of the evals
// and the runner (statistics.md R-STAT-12).
func BaselineKey(tree, evals string, runner Runner) (string, error) {
	text, err := json.Marshal(struct {
		Tree   string `json:"tree"`
		Evals  string `json:"evals"`
		Runner Runner `json:"runner"`
	}{tree, evals, runner})
	if err != nil {
		return "", fmt.Errorf("write the key of a baseline: %w", err)
	}
	document, err := schema.Parse(text, schema.Limits{})
	if err != nil {
		return "", fmt.Errorf("write the key of a baseline: %w", err)
	}
	canonical, err := schema.Canonical(document.Root)
	if err != nil {
		return "", fmt.Errorf("write the key of a baseline: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// CachedBaseline is what is known about a baseline measured earlier.
type CachedBaseline struct {
	KeyEqual  bool // its [BaselineKey] is the present one
	KeptSince bool // an experiment was kept since it was measured
	Rounds    int  // since it was measured
	MaxAge    int  // rounds it may be used
}

// Source tells whether the baseline may be used ("cached") or must be
// measured ("fresh"), and then why: key_changed, after_keep or max_age, in
// this order.
//
// Source: statistics.md R-STAT-12.
func (c CachedBaseline) Source() (source, reason string) {
	switch {
	case !c.KeyEqual:
		return "fresh", "key_changed"
	case c.KeptSince:
		return "fresh", "after_keep"
	case c.Rounds >= c.MaxAge:
		return "fresh", "max_age"
	}
	return "cached", ""
}

// Look is which pair of runs of an experiment is meant.
type Look int

// The pairs. The second look has the order turned round (statistics.md
// R-STAT-13).
const (
	FirstLook  Look = 0
	SecondLook Look = 1
)

// PairOrder returns which side each of n evals starts with, "baseline" or
// "candidate": by turns, so that drift falls on both sides alike.
//
// Source: statistics.md R-STAT-11 (ABBA).
func PairOrder(n int, look Look) []string {
	first := make([]string, n)
	for position := range first {
		first[position] = "baseline"
		if (position+int(look))%2 == 1 {
			first[position] = "candidate"
		}
	}
	return first
}

// TriggerPassed is the one assertion of a trigger eval: the skill was loaded
// in at least half of the runs, or in fewer than half where it must stay out
// (skill-format.md R-SF-TR-2). runs is at least 1.
func (e Eval) TriggerPassed(loaded, runs int) bool {
	return (2*loaded >= runs) == e.ShouldTrigger
}
