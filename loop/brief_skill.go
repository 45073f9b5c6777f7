package loop

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// skillCategories are the default categories of a skill's mutations (seed 001;
// loop.md R-COV-1).
var skillCategories = []string{
	"formatting", "content_quality", "examples", "workflow", "edge_cases", "efficiency", "scripts", "structure", "knowledge",
}

// skillMutations are the kinds of mutation a skill's proposal may name
// (roles.md section 3).
var skillMutations = []string{
	"instruction_edit", "example_add", "script_add", "reference_add", "restructure", "prune", "config_change", "refactor",
}

// briefSkill fills in what a brief holds in skill mode only: the failures of
// the train split and the library. Nothing of val and test is read here
// (R-BRIEF-1).
func (s *Session) briefSkill(ctx context.Context, b *handoff.Brief) error {
	val := "val"
	b.Baseline.Split = &val
	b.Scope.Include, b.Scope.Exclude = []string{"**"}, []string{".forge/**", "evals/**", "knowledge/**", "PURPOSE.md"}
	b.Allowed = handoff.Allowed{Categories: skillCategories, MutationTypes: skillMutations}
	b.Thresholds.Resolution = s.resolution()
	s.briefBudget(b)
	list := s.skill.of(evals.Train)
	results, err := s.train(ctx, list)
	if err != nil {
		return err
	}
	for i, r := range results {
		if f, failed := failureOf(list[i], r.Sides[runner.Baseline]); failed {
			b.Failures = append(b.Failures, f)
		}
	}
	listed, err := s.skill.shelf.List(ctx, s.tip)
	if err != nil {
		return err
	}
	for _, d := range runner.Once(listed, s.target.dir) {
		if d.Path != s.target.dir {
			b.Library = append(b.Library, handoff.Skill{Path: d.Path, Name: d.Name, Description: d.Description})
		}
	}
	return nil
}

// briefBudget says how large the skill is, and what is forced while it is over
// its budget (roles.md section 13, step 7).
func (s *Session) briefBudget(b *handoff.Brief) {
	if s.rules.TokenBudget == 0 { // a run begun before there were budgets
		return
	}
	budget, now := s.rules.TokenBudget, s.rules.Tokens(s.scope)
	b.Limits.TokenBudget, b.Limits.TokensNow, b.Limits.OverBudget = &budget, &now, now > budget
	if b.Limits.OverBudget {
		category, mutation := guard.ForcedCategory, guard.ForcedMutationType
		b.Guidance.ForcedCategory, b.Guidance.ForcedMutationType = &category, &mutation
	}
}

// train measures the train split at the tip, once per state.
func (s *Session) train(ctx context.Context, list []evals.Eval) ([]runner.Result, error) {
	if known, ok := s.skill.trained[s.state]; ok {
		return known, nil
	}
	results, err := s.skill.measurePairs(ctx, s.Run(), s.target.dir, [2]gitstore.Hash{s.tip, s.tip}, list)
	if err != nil {
		return nil, err
	}
	s.skill.trained = map[gitstore.Hash][]runner.Result{s.state: results} // of an older state nobody asks again
	return results, nil
}

// failureOf is a train eval that the tip fails.
func failureOf(e evals.Eval, side runner.Side) (handoff.Failure, bool) {
	f := handoff.Failure{Eval: e.ID, Prompt: e.Prompt, Failed: []handoff.FailedCheck{}, ClaimsRead: []string{}}
	for _, v := range side.Verdicts {
		if v.Passed == nil || *v.Passed {
			continue
		}
		f.Failed = append(f.Failed, failedCheck(e, v, side.Grades))
	}
	return f, len(f.Failed) > 0
}

// evidenceLength is how much of what was seen a brief shows of one check, in
// code points (R-BRIEF-2).
const evidenceLength = 500

// failedCheck is one check that failed, with what was seen: of a query which
// way the choice went.
func failedCheck(e evals.Eval, v evals.Verdict, grades []evals.Result) handoff.FailedCheck {
	isQuery := slices.ContainsFunc(e.Checks, func(c evals.Check) bool { return c.Kind == evals.Triggered })
	switch {
	case isQuery && e.ShouldTrigger:
		return handoff.FailedCheck{ID: "triggered", Text: v.Text, Evidence: "another skill was chosen, or none"}
	case isQuery:
		return handoff.FailedCheck{ID: "not_triggered", Text: v.Text, Evidence: "this skill was chosen"}
	}
	failed := handoff.FailedCheck{ID: v.ID, Text: v.Text}
	for _, g := range grades {
		if g.ID == v.ID && !g.Passed {
			failed.Evidence = journal.Cut(g.Evidence, evidenceLength)
			break
		}
	}
	return failed
}

// shownBars are the bars with the resolution that decide would compute: two
// flips of the assertions of val.
func (s *Session) shownBars() verdict.Bars {
	bars := s.effectiveBars()
	if bars.Resolution != nil {
		return bars
	}
	bars.Resolution = new(big.Rat)
	if s.skill != nil {
		if two, err := verdict.ParseRatio(s.resolution()); err == nil {
			bars.Resolution = two
		}
	}
	return bars
}

// resolution is two flips of the assertions of val as an unreduced count.
func (s *Session) resolution() string {
	total := 0
	for _, e := range s.skill.of(evals.Val) {
		total += len(e.Checks)
	}
	return fmt.Sprintf("2/%d", total)
}
