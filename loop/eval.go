package loop

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// EvalRequest asks how a skill does, and nothing else: nothing is mutated and
// nothing decided.
type EvalRequest struct {
	Skill    string          // name or path
	Commit   gitstore.Hash   // what is measured
	Against  *gitstore.Hash  // what it is compared with; "" is no skill, nil nothing
	Splits   []evals.Split   // which evals; nil is train and val
	Split    *journal.Split  // how they are divided
	Runner   json.RawMessage // a runner.Spec
	Parallel int
}

// Evaluation is the document of `forge eval`. Regressions stand first.
type Evaluation struct {
	Skill    string         `json:"skill"`
	Commit   gitstore.Hash  `json:"commit"`
	Against  *gitstore.Hash `json:"against"` // null: nothing; "": no skill
	Splits   []evals.Split  `json:"splits"`
	Score    Figure         `json:"score"`
	Baseline *Figure        `json:"baseline"`
	Delta    *json.Number   `json:"delta"`
	Exact    *string        `json:"delta_exact"`

	Regressed      []string    `json:"regressed"`
	PersistentFail []string    `json:"persistent_fail"`
	Improved       []string    `json:"improved"`
	StableSuccess  []string    `json:"stable_success"`
	NoResult       []string    `json:"no_result"`
	Evals          []EvalState `json:"evals"`
}

// Figure is a score in its two forms.
type Figure struct {
	Score json.Number `json:"score"`
	Exact string      `json:"exact"`
}

// EvalState is one eval on both sides, passed of total; without a second side
// Baseline repeats Passed.
type EvalState struct {
	ID       string `json:"id"`
	Prompt   string `json:"prompt"`
	Passed   int64  `json:"passed"`
	Baseline int64  `json:"baseline"`
	Total    int64  `json:"total"`
}

// Evaluate measures a skill at a commit, and beside it at another one or
// without the skill (CLI.md, forge eval).
func (e *Engine) Evaluate(ctx context.Context, q EvalRequest) (Evaluation, error) {
	run := journal.Run{Run: "eval", Mode: ModeSkill, Target: q.Skill, Split: q.Split, Runner: q.Runner}
	s := &Session{engine: e, setup: Setup{Parallel: q.Parallel}, journal: journal.New(run)}
	var err error
	if s.target, err = e.targetOf(ctx, q.Commit, &run); err != nil {
		return Evaluation{}, err
	}
	if err := s.loadSkill(ctx, run, q.Commit); err != nil {
		return Evaluation{}, err
	}
	if q.Splits == nil {
		q.Splits = []evals.Split{evals.Train, evals.Val}
	}
	list := slices.DeleteFunc(slices.Clone(s.skill.gradable.Evals), func(v evals.Eval) bool {
		return !slices.Contains(q.Splits, s.skill.split.Assignment[v.ID])
	})
	if len(list) == 0 {
		return Evaluation{}, fault.New(fault.Usage, "forge loop split-assign shows the splits", "no eval of %q is in that split", s.target.dir)
	}
	sides := [2]gitstore.Hash{q.Commit, q.Commit}
	if q.Against != nil {
		sides[runner.Baseline] = *q.Against
	}
	results, err := s.skill.measurePairs(ctx, "eval", s.target.dir, sides, list)
	if err != nil {
		return Evaluation{}, err
	}
	return s.evaluation(q, list, results)
}

// evaluation makes the document of measured pairs.
func (s *Session) evaluation(q EvalRequest, list []evals.Eval, results []runner.Result) (Evaluation, error) {
	dir, err := os.MkdirTemp(s.engine.Repo.ForgeDir(), "eval-")
	if err != nil {
		return Evaluation{}, err
	}
	defer os.RemoveAll(dir)
	scores, _, missing, err := s.skill.scores(s.engine.Repo.Crash(), filepath.Join(dir, "sides"), list, results)
	if err != nil {
		return Evaluation{}, err
	}
	v := Evaluation{
		Skill: s.target.dir, Commit: q.Commit, Against: q.Against, Splits: q.Splits, NoResult: append([]string{}, missing...),
		Regressed: []string{}, PersistentFail: []string{}, Improved: []string{}, StableSuccess: []string{}, Evals: []EvalState{},
	}
	if len(missing) == len(list) {
		return v, fault.New(fault.Failed, "", "no eval gave a result")
	}
	v.Score = Figure{scores[1].Composite, scores[1].CompositeExact}
	if q.Against != nil {
		v.Baseline = &Figure{scores[0].Composite, scores[0].CompositeExact}
		tie := s.bars
		tie.Direction = verdict.HigherIsBetter
		after, err := verdict.ParseScore(scores[1].CompositeExact)
		if err != nil {
			return v, err
		}
		before, err := verdict.ParseScore(scores[0].CompositeExact)
		if err != nil {
			return v, err
		}
		decided, err := verdict.Decide(after, before, tie)
		if err != nil {
			return v, err
		}
		exact := verdict.Exact(decided.Delta)
		v.Delta, v.Exact = rounded(decided.Delta), &exact
	}
	v.sort(list, scores)
	return v, nil
}

// sort puts every eval into its category, in the order of the file.
func (v *Evaluation) sort(list []evals.Eval, scores [2]evals.Score) {
	was := map[string]evals.EvalScore{}
	for _, e := range scores[0].Evals {
		was[e.ID] = e
	}
	now := map[string]evals.EvalScore{}
	for _, e := range scores[1].Evals {
		now[e.ID] = e
	}
	for _, e := range list {
		after, measured := now[e.ID]
		if !measured {
			continue
		}
		before := was[e.ID]
		v.Evals = append(v.Evals, EvalState{e.ID, e.Prompt, after.Passed, before.Passed, after.Total})
		passed, passedBefore := after.Passed == after.Total, before.Passed == before.Total
		switch {
		case passedBefore && !passed:
			v.Regressed = append(v.Regressed, e.ID)
		case !passedBefore && !passed:
			v.PersistentFail = append(v.PersistentFail, e.ID)
		case !passedBefore:
			v.Improved = append(v.Improved, e.ID)
		default:
			v.StableSuccess = append(v.StableSuccess, e.ID)
		}
	}
}
