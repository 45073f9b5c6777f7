package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"forge/gitstore/evals"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// baselineUse is where the baseline side of an experiment comes from.
type baselineUse struct {
	source string // fresh, or cached@exp-NNN, or cached@start
	reason string // of fresh, where a cached one was asked for: key_changed, after_keep, max_age
	age    int    // rounds measured since; of a cached one
	sides  []runner.Side
	state  runner.State // where a fresh one is to be kept
}

// order is the word of the record (statistics.md section 2).
func (u baselineUse) order() string {
	if u.sides != nil {
		return "cached"
	}
	return "abba"
}

// useBaseline decides whether the baseline of val is measured beside the
// candidate, which is the default, or taken from an earlier round, and says
// which (statistics.md R-STAT-12; DECISIONS V12).
func (s *Session) useBaseline(ctx context.Context, list []evals.Eval) (baselineUse, error) {
	cached := s.journal.Config.CachedBaseline
	if cached == nil {
		return baselineUse{source: "fresh"}, nil
	}
	state, err := s.skill.stateOf(ctx, s.tip, s.target.dir)
	if err != nil {
		return baselineUse{}, err
	}
	sides, all, err := s.skill.kept(state, list)
	if err != nil {
		return baselineUse{}, err
	}
	from, known := s.lastFresh()
	known.KeyEqual, known.MaxAge = all, cached.MaxAge
	source, reason := known.Source()
	if source == "fresh" {
		return baselineUse{source: source, reason: reason, state: state}, nil
	}
	use := baselineUse{source: "cached@" + from, age: known.Rounds, sides: slices.Clone(sides)}
	note, err := json.Marshal(map[string]any{"source": use.source, "age": use.age})
	if err != nil {
		return baselineUse{}, fmt.Errorf("note a cached baseline: %w", err)
	}
	for i := range use.sides {
		use.sides[i].Evidence = append(slices.Clip(use.sides[i].Evidence), runner.Evidence{Name: "cached.json", Data: append(note, '\n')})
	}
	return use, nil
}

// lastFresh is the measurement of the baseline that was last made, and what
// came after it. A round that measured nothing makes nothing older.
func (s *Session) lastFresh() (name string, since evals.CachedBaseline) {
	for _, l := range slices.Backward(s.journal.Lines) {
		if l.BaselineSource == "" {
			continue
		}
		since.KeptSince = since.KeptSince || l.Decision == string(verdict.Keep)
		if l.BaselineSource == "fresh" {
			return l.ID, since
		}
		since.Rounds++
	}
	return "start", since
}
