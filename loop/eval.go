package loop

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// evalRun stands for the name of a run where there is none.
const evalRun = "eval"

// EvalRequest asks how a skill does, and nothing else: nothing is mutated and
// nothing decided.
type EvalRequest struct {
	Skill    string          // name or path
	Commit   gitstore.Hash   // what is measured
	Against  *gitstore.Hash  // what it is compared with; "" is no skill, nil nothing
	Worktree bool            // measure the uncommitted edits of Commit's skill, against Commit
	Splits   []evals.Split   // which evals; nil is train and val
	Split    *journal.Split  // how they are divided
	Runner   json.RawMessage // a runner.Spec
	PassEnv  []string        // NAME=VALUE for the runner
	Parallel int
	Export   string // directory for the skill-creator layout; "" for none

	// Allow is asked before anything runs whether what the committed evals of a
	// skill execute may run; an error ends the evaluation. Uncommitted evals are
	// the person's own.
	Allow func(ctx context.Context, commit gitstore.Hash, dir string) error
}

// Evaluation is the document of `forge eval`. Regressions stand first.
type Evaluation struct {
	Skill    string         `json:"skill"`
	Commit   gitstore.Hash  `json:"commit"`
	Worktree bool           `json:"worktree"` // not the commit but the edits on top of it were measured
	Against  *gitstore.Hash `json:"against"`  // null: nothing; "": no skill
	Splits   []evals.Split  `json:"splits"`
	Runner   string         `json:"runner"`
	Runs     int            `json:"runs"` // of each eval on each side
	Score    Figure         `json:"score"`
	Baseline *Figure        `json:"baseline"`
	Delta    *json.Number   `json:"delta"`
	Exact    *string        `json:"delta_exact"`

	Regressed      []string    `json:"regressed"`
	PersistentFail []string    `json:"persistent_fail"`
	Improved       []string    `json:"improved"`
	StableSuccess  []string    `json:"stable_success"`
	Flaky          []string    `json:"flaky"` // runs of one side disagree
	NoResult       []string    `json:"no_result"`
	Evals          []EvalState `json:"evals"`
	Missing        []NoResult  `json:"missing"`
	Warnings       []string    `json:"warnings"`
}

// Figure is a score in its two forms.
type Figure struct {
	Score json.Number `json:"score"`
	Exact string      `json:"exact"`
}

// EvalState is one eval on both sides, passed of total over all runs; without a
// second side Baseline repeats Passed.
type EvalState struct {
	ID       string `json:"id"`
	Prompt   string `json:"prompt"`
	Passed   int64  `json:"passed"`
	Baseline int64  `json:"baseline"`
	Total    int64  `json:"total"`
}

// NoResult says why a side of an eval gave none: which leaves the eval out on
// both.
type NoResult struct {
	ID      string         `json:"id"`
	Side    evals.Side     `json:"side"`
	Outcome runner.Outcome `json:"outcome"`
	Reason  string         `json:"reason"`
}

// Evaluate measures a skill at a commit, or as it stands in the work tree, and
// beside it at another commit or without the skill (CLI.md, forge eval).
func (e *Engine) Evaluate(ctx context.Context, q EvalRequest) (v Evaluation, err error) {
	run := journal.Run{Run: evalRun, Mode: ModeSkill, Target: q.Skill, Split: q.Split, Runner: q.Runner}
	s := &Session{engine: e, setup: Setup{Parallel: q.Parallel, RunnerPassEnv: q.PassEnv}, journal: journal.New(run)}
	if s.target, err = e.targetOf(ctx, q.Commit, &run); err != nil {
		return Evaluation{}, err
	}
	measured := q.Commit
	if q.Worktree {
		q.Against = &q.Commit
		if measured, err = e.Repo.UncommittedTree(ctx, q.Commit, s.target.dir); err != nil {
			return Evaluation{}, err
		}
	}
	if err := s.loadSkill(ctx, run, measured); err != nil {
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
	if err := q.Allow(ctx, q.Commit, s.target.dir); err != nil {
		return Evaluation{}, err
	}
	if q.Export != "" {
		if err := e.checkExport(ctx, q.Commit, q.Export); err != nil {
			return Evaluation{}, err
		}
	}
	ask := question{run: evalRun, dir: s.target.dir, commits: [2]gitstore.Hash{measured, measured}, list: list, oneSided: q.Against == nil}
	if q.Against != nil {
		ask.commits[runner.Baseline] = *q.Against
	}
	results, err := s.skill.measure(ctx, ask)
	if err != nil {
		return Evaluation{}, err
	}
	v, err = s.evaluation(ctx, q, list, results)
	if err == nil && q.Export != "" {
		err = s.skill.writeWorkspace(q.Export, workspaceOf(q), list, results)
	}
	return v, err
}

// evaluation makes the document of measured pairs.
func (s *Session) evaluation(ctx context.Context, q EvalRequest, list []evals.Eval, results []runner.Result) (v Evaluation, err error) {
	// An export, because the record of one tells the next forge what a killed
	// one left.
	scratch, err := s.engine.Repo.NewExport(ctx, gitstore.ExportPlan{Run: evalRun})
	if err != nil {
		return Evaluation{}, err
	}
	defer func() { err = errors.Join(err, scratch.Remove()) }()
	scores, _, missing, err := s.skill.scores(s.engine.Repo.Crash(), filepath.Join(scratch.Tmp, "sides"), list, results)
	if err != nil {
		return Evaluation{}, err
	}
	v = Evaluation{
		Skill: s.target.dir, Commit: q.Commit, Worktree: q.Worktree, Against: q.Against, Splits: q.Splits,
		Runner: s.skill.spec.Kind, Runs: s.skill.spec.Runs(s.skill.set.Form), NoResult: append([]string{}, missing...),
		Regressed: []string{}, PersistentFail: []string{}, Improved: []string{}, StableSuccess: []string{}, Evals: []EvalState{},
		Flaky: []string{}, Missing: []NoResult{}, Warnings: []string{},
	}
	if leftBehind(results) > 0 {
		v.Warnings = append(v.Warnings, "children_left")
	}
	v.unsteady(s.skill.set.Form, list, results, q.Against != nil)
	if len(missing) == len(list) {
		return v, fault.New(fault.Failed, "", "no eval of %q gave a result%s", v.Skill, firstReason(results))
	}
	v.Score = Figure{scores[1].Composite, scores[1].CompositeExact}
	if q.Against != nil {
		if err := v.compare(scores, s.bars); err != nil {
			return v, err
		}
	}
	v.sort(list, scores)
	return v, nil
}

// compare fills in the baseline and the difference.
func (v *Evaluation) compare(scores [2]evals.Score, tie verdict.Bars) error {
	v.Baseline = &Figure{scores[0].Composite, scores[0].CompositeExact}
	tie.Direction = verdict.HigherIsBetter
	after, err := verdict.ParseScore(scores[1].CompositeExact)
	if err != nil {
		return err
	}
	before, err := verdict.ParseScore(scores[0].CompositeExact)
	if err != nil {
		return err
	}
	decided, err := verdict.Decide(after, before, tie)
	if err != nil {
		return err
	}
	exact := verdict.Exact(decided.Delta)
	v.Delta, v.Exact = rounded(decided.Delta), &exact
	return nil
}

// unsteady names the evals whose runs disagree, and the sides without a result.
func (v *Evaluation) unsteady(form evals.Form, list []evals.Eval, results []runner.Result, two bool) {
	for i, r := range results {
		if flaky(form, r.Sides[0]) || flaky(form, r.Sides[1]) {
			v.Flaky = append(v.Flaky, list[i].ID)
		}
		for side, name := range sideNames {
			if m := r.Sides[side]; m.Outcome != runner.OK && (two || side == runner.Candidate) {
				v.Missing = append(v.Missing, NoResult{list[i].ID, name, m.Outcome, m.Reason})
			}
		}
	}
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

// SkillsWithEvals are the directories of a commit's skills that have an evals
// file, sorted.
func (e *Engine) SkillsWithEvals(ctx context.Context, commit gitstore.Hash) ([]string, error) {
	found, objects, err := runner.Discover(ctx, e.Repo, commit, e.Search)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, f := range found.Skills {
		has := func(file string) bool { return objects[joinDir(f.Path, "evals/"+file)] != "" }
		if slices.ContainsFunc(evalFiles, has) {
			dirs = append(dirs, f.Path)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// joinDir is a path below a directory, "." for the root.
func joinDir(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
