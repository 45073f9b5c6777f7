package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"forge/gitstore"
	"forge/gitstore/crash"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/skill"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// The modes of a run.
const (
	ModeGeneric = "generic"
	ModeSkill   = "skill"
)

// reservedOfSkill is what lies beside a SKILL.md and measures or explains it:
// no candidate may touch it (handoff.md section 9, A04).
var reservedOfSkill = []string{"evals", "knowledge", "PURPOSE.md"}

// skillMode is what a run on a skill measures with.
type skillMode struct {
	set      evals.Set
	policy   evals.Policy
	gradable evals.Gradable
	split    evals.Assignment
	spec     runner.Spec
	executor runner.Executor
	shelf    *runner.Shelf
	parallel int

	trained map[gitstore.Hash][]runner.Result // train results by state
}

// FindSkill is the skill of a commit that a person names: by its path, its
// name or the name of its directory. Unknown and ambiguous names are usage
// faults that name what there is (doctor target.unique).
func (e *Engine) FindSkill(ctx context.Context, commit gitstore.Hash, named string, search skill.Search) (skill.Found, error) {
	if err := e.refuseOddSkill(ctx, commit, named); err != nil {
		return skill.Found{}, err
	}
	found, objects, err := runner.Discover(ctx, e.Repo, commit, search)
	if err != nil {
		return skill.Found{}, err
	}
	var matches []skill.Found
	for _, f := range found.Skills {
		if f.Path == strings.TrimSuffix(named, "/") {
			return f, nil
		}
		data, err := e.Repo.Blob(ctx, objects[f.File])
		if err != nil {
			return skill.Found{}, fmt.Errorf("read %q: %w", f.File, err)
		}
		if d, _ := skill.Parse(data); d.Name == named || path.Base(f.Path) == named {
			matches = append(matches, f)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return skill.Found{}, fault.New(fault.Usage, fmt.Sprintf("%d skills were found; name one by its directory", len(found.Skills)), "there is no skill %q in %s", named, commit.Short())
	}
	var paths []string
	for _, m := range matches {
		paths = append(paths, m.Path)
	}
	return skill.Found{}, fault.New(fault.Usage, "name it by its path", "two skills are called %q: %s", named, strings.Join(paths, ", "))
}

// refuseOddSkill says why a directory that is no plain one cannot be a target
// (the table of gitstore.md section 2).
func (e *Engine) refuseOddSkill(ctx context.Context, commit gitstore.Hash, named string) error {
	dir := strings.TrimSuffix(named, "/")
	entry, err := e.Repo.Lookup(ctx, commit, dir)
	if err != nil {
		return nil // a name, or an unknown path: said later
	}
	switch entry.Mode {
	case gitstore.ModeGitlink:
		return fault.New(fault.Refused, "", "%q is a submodule; run forge inside it", dir)
	case gitstore.ModeLink:
		return fault.New(fault.Refused, "", "%q is a symbolic link; forge never writes through links", dir)
	}
	file, err := e.Repo.Lookup(ctx, commit, dir+"/SKILL.md")
	if err == nil && file.Mode == gitstore.ModeLink {
		return fault.New(fault.Refused, "", "%q is a symbolic link; forge never writes through links", dir+"/SKILL.md")
	}
	return nil
}

// targetOf is a run's target in its mode.
func (e *Engine) targetOf(ctx context.Context, base gitstore.Hash, run *journal.Run) (target, error) {
	if run.Mode != ModeSkill {
		return newTarget(run.Target)
	}
	found, err := e.FindSkill(ctx, base, run.Target, e.Search)
	if err != nil {
		return target{}, err
	}
	t := target{text: found.Path, slug: gitstore.Slug(found.Path), glob: gitstore.LiteralGlob(found.Path), dir: found.Path}
	for _, name := range reservedOfSkill {
		t.reserved = append(t.reserved, gitstore.LiteralGlob(path.Join(found.Path, name)))
	}
	name := path.Base(found.Path)
	run.Skill = &name
	return t, nil
}

// prepareSkill reads what the skill is measured with, and freezes it.
func (s *Session) prepareSkill(ctx context.Context, run *journal.Run, base gitstore.Hash) error {
	if err := s.checkRegions(ctx, base); err != nil {
		return err
	}
	if err := s.loadSkill(ctx, *run, base); err != nil {
		return err
	}
	k := s.skill
	val, err := k.set.SplitHash(k.split, evals.Val)
	if err != nil {
		return err
	}
	test, err := k.set.SplitHash(k.split, evals.Test)
	if err != nil {
		return err
	}
	whole, err := k.set.Hash()
	if err != nil {
		return err
	}
	if s.rules.IndexChars, err = s.engine.indexChars(ctx, base, s.target); err != nil {
		return err
	}
	if run.Guards.TokenBudget == 0 {
		run.Guards.TokenBudget = skill.SuggestedBudget(s.rules.Tokens(s.scope))
	}
	s.rules.TokenBudget = run.Guards.TokenBudget
	run.Split.EvalsSHA256, run.Split.ValSHA256, run.Split.TestSHA256 = whole, val, test
	run.Split.Train, run.Split.Val, run.Split.Test = k.split.Counts.Train, k.split.Counts.Val, k.split.Counts.Test
	run.Ungraded = append([]string{}, k.gradable.Ungraded...)
	for _, w := range k.split.Warnings {
		run.Doctor.Warnings = append(run.Doctor.Warnings, w)
	}
	run.Doctor.Forced = run.Split.Force
	return nil
}

// checkRegions refuses a skill with a protected region that is not whole:
// nothing could say what of it must stay (loop.md R-REG-1).
func (s *Session) checkRegions(ctx context.Context, base gitstore.Hash) error {
	for _, file := range sortedPaths(s.scope) {
		data, err := s.engine.Repo.ReadFile(ctx, base, file)
		if err != nil {
			return fmt.Errorf("read %q: %w", file, err)
		}
		if bad := skill.Scan(data).Malformed; len(bad) > 0 {
			return fault.New(fault.Refused, "put the markers right by hand and commit", "%s:%d: protected region %s: %s", file, bad[0].Line, bad[0].Name, bad[0].Reason)
		}
	}
	return nil
}

// indexChars are the code points of the knowledge index of a skill.
func (e *Engine) indexChars(ctx context.Context, commit gitstore.Hash, t target) (int, error) {
	data, err := e.Repo.ReadFile(ctx, commit, path.Join(t.dir, "knowledge", "INDEX.md"))
	if errors.Is(err, gitstore.ErrNotFound) {
		return 0, nil
	}
	return guard.SizeOf(data).Chars, err
}

// loadSkill reads the evals of a run's skill at a commit and divides them as
// the run froze it.
func (s *Session) loadSkill(ctx context.Context, run journal.Run, base gitstore.Hash) error {
	if run.Split == nil {
		return fmt.Errorf("run %q is in skill mode and names no split", run.Run)
	}
	k := &skillMode{executor: s.engine.Executor, shelf: s.engine.Shelf, parallel: max(1, s.setup.Parallel), trained: map[gitstore.Hash][]runner.Result{}}
	if run.Split.Ignore {
		k.policy = evals.IgnoreUngraded
	}
	if err := json.Unmarshal(run.Runner, &k.spec); err != nil {
		return fmt.Errorf("read the runner of run %q: %w", run.Run, err)
	}
	if err := k.read(ctx, s.engine.Repo, base, s.target.dir); err != nil {
		return err
	}
	fractions, err := Fractions(run.Split.Ratio)
	if err != nil {
		return err
	}
	k.split, err = k.set.Assign(evals.SplitRule{
		Seed: evals.Seed(run.Split.Seed), Fractions: fractions, MinEvals: run.Split.MinEvals, MinEvalsForTest: run.Split.MinForTest, Force: run.Split.Force,
	})
	if err != nil {
		return err
	}
	if k.spec.Kind == runner.KindLexical {
		if err := runner.CheckLexical(k.gradable.Evals); err != nil {
			return err
		}
	}
	if s.setup.Limits.TargetValue == nil {
		s.setup.Limits.TargetValue = big.NewRat(1, 1) // nothing left to gain (DECISIONS V19)
	}
	s.rules.Leaks = k.set.Windows(func(id string) bool { return k.split.Assignment[id] != evals.Train })
	s.skill = k
	return nil
}

// read takes the evals of a skill from a commit.
func (k *skillMode) read(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, dir string) error {
	name, data, err := readEvals(ctx, repo, commit, dir)
	if err != nil {
		return err
	}
	if k.set, err = evals.Read(data); err != nil {
		return fault.New(fault.KindOf(err), fault.HintOf(err), "%s: %w", name, err)
	}
	for _, e := range k.set.Evals {
		if !fs.ValidPath(e.ID) || e.ID == "." {
			return fault.New(fault.Usage, "give it an id of letters, digits, dots and hyphens", "%s: the id %q cannot name a folder", name, e.ID)
		}
	}
	k.gradable, err = k.set.Gradable(evals.Means{}, k.policy)
	return err
}

// evalFiles are the names an evals file of a skill may have, the first that is
// there counts (skill-format.md R-SF-TR-1, R-SF-TR-6).
var evalFiles = []string{"evals.json", "eval_queries.json", "eval_set.json", "trigger-eval.json", "triggers.json"}

func readEvals(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, dir string) (name string, data []byte, err error) {
	for _, file := range evalFiles {
		name = path.Join(dir, "evals", file)
		data, err = repo.ReadFile(ctx, commit, name)
		if !errors.Is(err, gitstore.ErrNotFound) {
			return name, data, err
		}
	}
	return "", nil, fault.New(fault.Usage, "write "+path.Join(dir, "evals", evalFiles[0])+" and commit it", "%q has no evals: nothing can be measured", dir)
}

// Fractions reads split_ratio: train/val/test, together 1.
func Fractions(ratio string) (evals.Fractions, error) {
	parts := strings.Split(ratio, "/")
	sum := new(big.Rat)
	var values []*big.Rat
	for _, part := range parts {
		value, err := verdict.ParseNumber(strings.TrimSpace(part))
		if err != nil {
			return evals.Fractions{}, err
		}
		values = append(values, value)
		sum.Add(sum, value)
	}
	if len(parts) != 3 || sum.Cmp(big.NewRat(1, 1)) != 0 {
		return evals.Fractions{}, fault.New(fault.Usage, "0.50/0.25/0.25", "split_ratio is %q, want train/val/test with the sum 1", ratio)
	}
	return evals.Fractions{Val: values[1], Test: values[2]}, nil
}

// of lists the gradable evals of a split, in the order of the file.
func (k *skillMode) of(split evals.Split) []evals.Eval {
	return slices.DeleteFunc(slices.Clone(k.gradable.Evals), func(e evals.Eval) bool { return k.split.Assignment[e.ID] != split })
}

// measurePairs runs the pairs of some evals on both sides, several at once,
// each pair as a whole; the side that starts alternates (R-STAT-11).
func (k *skillMode) measurePairs(ctx context.Context, run, dir string, commits [2]gitstore.Hash, list []evals.Eval) ([]runner.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first := evals.PairOrder(len(list), evals.FirstLook)
	results := make([]runner.Result, len(list))
	todo := make(chan int)
	var wait sync.WaitGroup
	for range min(k.parallel, max(1, len(list))) {
		wait.Go(func() {
			for i := range todo {
				pair := runner.Pair{Run: run, Commits: commits, Skill: dir, Eval: list[i], Seed: i, Runner: k.spec}
				if first[i] == "candidate" {
					pair.First = runner.Candidate
				}
				var err error
				if results[i], err = k.executor.Run(ctx, pair); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range list {
		select {
		case todo <- i:
		case <-ctx.Done():
		}
	}
	close(todo)
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results, nil
}

// sideNames are the folders of the two sides in the evidence.
var sideNames = [2]evals.Side{evals.Baseline, evals.WithMutation}

// scores keeps the evidence of measured pairs in the run's folder of that
// name, and adds up both sides from it.
func (s *Session) scores(folder string, list []evals.Eval, results []runner.Result) (sides [2]evals.Score, evidence []journal.Evidence, missing []string, err error) {
	dir := filepath.Join(s.engine.Repo.ForgeDir(), "evidence", s.Run(), filepath.FromSlash(folder))
	sides, evidence, missing, err = s.skill.scores(s.engine.Repo.Crash(), dir, list, results)
	for i := range evidence {
		evidence[i].Path = path.Join(folder, evidence[i].Path)
	}
	return sides, evidence, missing, err
}

// scores writes the evidence of measured pairs below dir, which is made new,
// and adds up both sides from it. A pair with a side that gave no result is
// left out on both, named in missing.
func (k *skillMode) scores(points *crash.Points, dir string, list []evals.Eval, results []runner.Result) (sides [2]evals.Score, evidence []journal.Evidence, missing []string, err error) {
	if err := os.RemoveAll(dir); err != nil { // of an attempt that was cut off
		return sides, nil, nil, fmt.Errorf("keep the output of a measurement: %w", err)
	}
	for i, r := range results {
		if r.Sides[0].Outcome != runner.OK || r.Sides[1].Outcome != runner.OK {
			missing = append(missing, list[i].ID)
			continue
		}
		for side, name := range sideNames {
			grading, err := evals.EncodeGrading(r.Sides[side].Verdicts)
			if err != nil {
				return sides, nil, nil, err
			}
			parts := append([]runner.Evidence{{Name: "grading.json", Data: grading}}, r.Sides[side].Evidence...)
			for _, part := range parts {
				kept, err := keepFile(points, dir, path.Join(list[i].ID, string(name), part.Name), part.Data)
				if err != nil {
					return sides, nil, nil, err
				}
				evidence = append(evidence, kept)
			}
		}
	}
	if len(missing) == len(list) {
		return sides, evidence, missing, nil
	}
	for side, name := range sideNames {
		sides[side], err = evals.Request{Dir: os.DirFS(dir), Side: name, Evals: &k.set, Ungraded: k.policy}.Score()
		if err != nil {
			return sides, evidence, missing, fmt.Errorf("score the side %s: %w", name, err)
		}
	}
	return sides, evidence, missing, nil
}

// judgeSkill measures both sides of a candidate on val, and decides.
func (s *Session) judgeSkill(ctx context.Context, a *attempt) (VerdictReached, error) {
	k, list := s.skill, s.skill.of(evals.Val)
	s.emit("measure_started", a.name, MeasureStarted{What: "candidate_pair", Runs: 2 * len(list)})
	began := s.engine.Now()
	results, err := k.measurePairs(ctx, s.Run(), s.target.dir, [2]gitstore.Hash{s.tip, a.candidate}, list)
	if err != nil {
		return VerdictReached{}, err
	}
	sides, evidence, missing, err := s.scores(a.name, list, results)
	if err != nil {
		return VerdictReached{}, err
	}
	a.record.Decision.Evidence = append(a.record.Decision.Evidence, evidence...)
	a.record.Decision.Ungraded = append([]string{}, k.gradable.Ungraded...)
	a.record.Order, a.record.Timing.MeasureS = "abba", s.engine.Now().Sub(began).Seconds()
	// An eval without a result is left out on both sides; more than a quarter
	// of val missing is no measurement (roles.md section 14).
	if 4*len(missing) > len(list) {
		return s.skip(ctx, a, &handoff.SkipError{Reason: "no_result", Detail: "evals without a result: " + strings.Join(missing, ", ")}, true)
	}
	if err := s.decideSkill(a, sides); err != nil {
		return VerdictReached{}, err
	}
	s.emit("measure_finished", a.name, MeasureFinished{
		What: "candidate_pair", Score: sides[1].Composite, Exact: sides[1].CompositeExact, Seconds: a.record.Timing.MeasureS, CostUSD: "0",
	})
	return s.settle(ctx, a, a.verdict.Decision)
}

// decideSkill compares the two scores as counts.
func (s *Session) decideSkill(a *attempt, sides [2]evals.Score) error {
	var files [2]json.RawMessage
	var scores [2]verdict.Score
	for i := range sides {
		data, err := json.Marshal(sides[i])
		if err != nil {
			return fmt.Errorf("encode a score of %s: %w", a.name, err)
		}
		files[i] = data
		if scores[i], err = verdict.ReadScoreFile(data); err != nil {
			return err
		}
	}
	v, err := verdict.Decide(scores[1], scores[0], s.effectiveBars())
	if err != nil {
		return err
	}
	document, err := v.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode the verdict of %s: %w", a.name, err)
	}
	a.verdict, a.record.Decision.Verdict, a.record.Decision.BaselineSource = v, document, "fresh"
	a.record.ScoreBaseline, a.record.ScoreWithMutation = files[0], files[1]
	return nil
}

// measureStart measures the unchanged state when a run begins.
func (s *Session) measureStart(ctx context.Context, base gitstore.Hash) (journal.Baseline, readings, error) {
	if s.skill == nil {
		return s.measureBaseline(ctx, base, "baseline", "start")
	}
	list := s.skill.of(evals.Val)
	s.emit("measure_started", "", MeasureStarted{What: "baseline", Runs: 2 * len(list)})
	began := s.engine.Now()
	results, err := s.skill.measurePairs(ctx, s.Run(), s.target.dir, [2]gitstore.Hash{base, base}, list)
	if err != nil {
		return journal.Baseline{}, readings{}, err
	}
	sides, _, missing, err := s.scores("start", list, results)
	if err == nil && len(missing) > 0 {
		err = fault.New(fault.Failed, "forge eval shows what the runner said", "%s of val gave no result: %s", count(len(missing), "eval"), strings.Join(missing, ", "))
	}
	if err != nil {
		return journal.Baseline{}, readings{}, err
	}
	s.emit("measure_finished", "", MeasureFinished{
		What: "baseline", Score: sides[0].Composite, Exact: sides[0].CompositeExact, NoiseFloor: "0", Seconds: s.engine.Now().Sub(began).Seconds(), CostUSD: "0",
	})
	return countBaseline(sides[0].CompositeExact), readings{}, nil
}

// countBaseline is a baseline in skill mode: a count, no readings.
func countBaseline(exact string) journal.Baseline {
	return journal.Baseline{Values: []json.Number{}, Median: exact, NoiseFloor: "0"}
}

// baselineText is a baseline in the subject of the run start.
func (s *Session) baselineText(b journal.Baseline) string {
	value, err := verdict.ParseExact(b.Median)
	if s.skill == nil || err != nil {
		return fmt.Sprintf("%s (%s)", b.Median, count(len(b.Values), "reading"))
	}
	return fmt.Sprintf("%s (%s)", verdict.Fixed(value, 4, false), b.Median)
}

// EvalsText counts the evals that got worse, better and stayed, losses first
// and by id.
func EvalsText(r journal.Record) string {
	var before, after evals.Score
	if json.Unmarshal(r.ScoreBaseline, &before) != nil || json.Unmarshal(r.ScoreWithMutation, &after) != nil {
		return "unknown"
	}
	was := map[string]int64{}
	for _, e := range before.Evals {
		was[e.ID] = e.Passed
	}
	var worse, better []string
	equal := 0
	for _, e := range after.Evals {
		switch {
		case e.Passed < was[e.ID]:
			worse = append(worse, e.ID)
		case e.Passed > was[e.ID]:
			better = append(better, e.ID)
		default:
			equal++
		}
	}
	named := func(n []string, word string) string {
		if len(n) == 0 {
			return "0 " + word
		}
		return fmt.Sprintf("%d %s (%s)", len(n), word, strings.Join(n, ", "))
	}
	return fmt.Sprintf("%s, %s, %d equal", named(worse, "worse"), named(better, "better"), equal)
}
