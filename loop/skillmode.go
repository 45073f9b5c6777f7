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
	repo     *gitstore.Repo
	parallel int

	name   string        // of the skill, as clients call it
	source gitstore.Hash // the commit or tree the evals were read from
	seed   string
	hash   string        // of the whole set
	passed []string      // NAME=VALUE for the runner; never recorded
	cache  *runner.Cache // what this run measured before; nil outside a run

	warnedLeft bool

	start   []runner.Result                   // of val, when this process began the run
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
	if err := s.checkFiles(ctx, base); err != nil {
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
	if run.Proposer.Kind == "builtin:discover" && k.set.Form == evals.Triggers && len(k.of(evals.Train)) == 0 {
		return fault.New(fault.Usage, "take \"split\" out of some evals, or --proposer command:CMD",
			"no eval of %q is left for train, and builtin:discover learns from nothing else", s.target.dir)
	}
	if run.Proposer.Kind == "builtin:discover" && k.set.Form != evals.Triggers {
		return fault.New(fault.Usage, "--proposer command:CMD, or forge next and forge submit", "no proposer: builtin:discover reads trigger queries, and the evals of %q are tasks", s.target.dir)
	}
	if s.rules.IndexChars, err = s.engine.indexChars(ctx, base, s.target); err != nil {
		return err
	}
	if run.Guards.TokenBudget == 0 {
		run.Guards.TokenBudget = skill.SuggestedBudget(s.rules.Tokens(s.scope))
	}
	s.rules.TokenBudget = run.Guards.TokenBudget
	run.Split.EvalsSHA256, run.Split.ValSHA256, run.Split.TestSHA256 = k.hash, val, test
	run.Split.Train, run.Split.Val, run.Split.Test = k.split.Counts.Train, k.split.Counts.Val, k.split.Counts.Test
	run.Ungraded = append([]string{}, k.gradable.Ungraded...)
	for _, w := range k.split.Warnings {
		run.Doctor.Warnings = append(run.Doctor.Warnings, w)
	}
	run.Doctor.Forced = run.Split.Force
	return nil
}

// checkFiles refuses a skill with a protected region that is not whole: nothing
// could say what of it must stay (loop.md R-REG-1); and one whose SKILL.md is a
// pointer of git LFS: there is nothing to improve (gitstore.md section 2).
func (s *Session) checkFiles(ctx context.Context, base gitstore.Hash) error {
	for _, file := range sortedPaths(s.scope) {
		data, err := s.engine.Repo.ReadFile(ctx, base, file)
		if err != nil {
			return fmt.Errorf("read %q: %w", file, err)
		}
		if path.Base(file) == "SKILL.md" && gitstore.IsPointer(data) {
			return fault.New(fault.Refused, "keep SKILL.md out of git LFS", "%q is behind a git filter; forge does not edit such files", file)
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
	k := &skillMode{
		executor: s.engine.Executor, shelf: s.engine.Shelf, repo: s.engine.Repo, parallel: max(1, s.setup.Parallel),
		source: base, seed: run.Split.Seed, passed: s.setup.RunnerPassEnv, trained: map[gitstore.Hash][]runner.Result{},
	}
	if run.Split.Ignore {
		k.policy = evals.IgnoreUngraded
	}
	err := json.Unmarshal(run.Runner, &k.spec)
	if err != nil {
		return fmt.Errorf("read the runner of run %q: %w", run.Run, err)
	}
	if err := k.read(ctx, s.engine.Repo, base, s.target.dir); err != nil {
		return err
	}
	if k.name, err = skillName(ctx, s.engine.Repo, base, s.target.dir); err != nil {
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
	switch k.spec.Kind {
	case runner.KindLexical:
		err = runner.CheckLexical(k.gradable.Evals)
	case runner.KindCommand:
		err = runner.CheckInputs(ctx, s.engine.Repo, base, s.target.dir, k.gradable.Evals)
	}
	if err != nil {
		return err
	}
	if run.Run != evalRun {
		k.cache = &runner.Cache{Dir: filepath.Join(s.engine.Repo.ForgeDir(), "evidence", run.Run, "cache"), Crash: s.engine.Repo.Crash()}
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
	k.set.LoadSchemas(func(file string) ([]byte, error) { return repo.ReadFile(ctx, commit, path.Join(dir, file)) })
	if k.hash, err = k.set.Hash(); err != nil {
		return err
	}
	k.gradable, err = k.set.Gradable(evals.Means{}, k.policy)
	return err
}

// skillName is what clients call a skill: the name of its front matter, else
// that of its directory.
func skillName(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, dir string) (string, error) {
	data, err := repo.ReadFile(ctx, commit, path.Join(dir, "SKILL.md"))
	if err != nil {
		return "", fmt.Errorf("read the skill %q: %w", dir, err)
	}
	if d, _ := skill.Parse(data); d.Name != "" {
		return d.Name, nil
	}
	return path.Base(dir), nil
}

// EvalCommands is what the evals of a skill would execute, as something to
// trust: their command checks in the order of the file, one JSON value per
// line. ok is false if there are none, or no evals that can be read: such
// execute nothing.
//
// Source: DECISIONS T1; gitstore.md R-TRUST-1.
func (e *Engine) EvalCommands(ctx context.Context, commit gitstore.Hash, dir string) (item gitstore.TrustItem, ok bool, err error) {
	name, data, err := readEvals(ctx, e.Repo, commit, dir)
	if errors.Is(err, errNoEvals) {
		return item, false, nil
	}
	if err != nil {
		return item, false, err
	}
	set, err := evals.Read(data)
	if err != nil {
		return item, false, nil
	}
	var lines []string
	for _, one := range set.Evals {
		for _, check := range one.Checks {
			if check.Kind != evals.CommandCheck {
				continue
			}
			var command any = check.Command.Argv
			if check.Command.Shell != "" {
				command = check.Command.Shell
			}
			line, err := plainJSON(command)
			if err != nil {
				return item, false, fmt.Errorf("write a command check: %w", err)
			}
			lines = append(lines, string(line))
		}
	}
	return gitstore.TrustItem{Key: "evals:" + name, Kind: "exec", Value: strings.Join(lines, "\n")}, len(lines) > 0, nil
}

// evalFiles are the names an evals file of a skill may have, the first that is
// there counts (skill-format.md R-SF-TR-1, R-SF-TR-6).
var evalFiles = []string{"evals.json", "eval_queries.json", "eval_set.json", "trigger-eval.json", "triggers.json"}

// errNoEvals is a skill without an evals file.
var errNoEvals = errors.New("nothing can be measured")

func readEvals(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, dir string) (name string, data []byte, err error) {
	for _, file := range evalFiles {
		name = path.Join(dir, "evals", file)
		data, err = repo.ReadFile(ctx, commit, name)
		if !errors.Is(err, gitstore.ErrNotFound) {
			return name, data, err
		}
	}
	return "", nil, fault.New(fault.Usage, "write "+path.Join(dir, "evals", evalFiles[0])+" and commit it", "%q has no evals: %w", dir, errNoEvals)
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
// left out on both, named in missing; what it printed is kept, but nothing a
// score is read from.
func (k *skillMode) scores(points *crash.Points, dir string, list []evals.Eval, results []runner.Result) (sides [2]evals.Score, evidence []journal.Evidence, missing []string, err error) {
	if err := os.RemoveAll(dir); err != nil { // of an attempt that was cut off
		return sides, nil, nil, fmt.Errorf("keep the output of a measurement: %w", err)
	}
	for i, r := range results {
		measured := r.Sides[0].Outcome == runner.OK && r.Sides[1].Outcome == runner.OK
		if !measured {
			missing = append(missing, list[i].ID)
		}
		for side, name := range sideNames {
			parts, err := k.filesOf(r.Sides[side], measured)
			if err != nil {
				return sides, nil, nil, err
			}
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
	runs := k.spec.Runs(k.set.Form)
	if k.set.Form == evals.Triggers {
		runs = 1 // the rate over its runs is one assertion
	}
	for side, name := range sideNames {
		sides[side], err = evals.Request{Dir: os.DirFS(dir), Side: name, Evals: &k.set, Ungraded: k.policy, Runs: runs}.Score()
		if err != nil {
			return sides, evidence, missing, fmt.Errorf("score the side %s: %w", name, err)
		}
	}
	return sides, evidence, missing, nil
}

// filesOf is what is kept of a side: one grading per run, and its evidence.
func (k *skillMode) filesOf(side runner.Side, measured bool) ([]runner.Evidence, error) {
	if !measured {
		kept := slices.DeleteFunc(slices.Clone(side.Evidence), func(e runner.Evidence) bool { return path.Base(e.Name) == "timing.json" })
		if side.Outcome == runner.OK {
			return kept, nil
		}
		return append(kept, runner.Evidence{Name: "no_result.txt", Data: fmt.Appendf(nil, "%s: %s\n", side.Outcome, side.Reason)}), nil
	}
	var files []runner.Evidence
	runs := max(1, side.Runs)
	if k.set.Form == evals.Triggers {
		runs = 1
	}
	each := len(side.Verdicts) / runs
	for run := range runs {
		grading, err := evals.EncodeGrading(side.Verdicts[run*each : (run+1)*each])
		if err != nil {
			return nil, err
		}
		name := "grading.json"
		if runs > 1 {
			name = path.Join(runName(run), name)
		}
		files = append(files, runner.Evidence{Name: name, Data: grading})
	}
	return append(files, side.Evidence...), nil
}

// judgeSkill measures both sides of a candidate on val, and decides.
func (s *Session) judgeSkill(ctx context.Context, a *attempt) (VerdictReached, error) {
	k, list := s.skill, s.skill.of(evals.Val)
	use, err := s.useBaseline(ctx, list)
	if err != nil {
		return VerdictReached{}, err
	}
	s.emit("measure_started", a.name, MeasureStarted{What: "candidate_pair", Runs: k.runsOf(list, use)})
	began := s.engine.Now()
	results, err := k.measure(ctx, question{run: s.Run(), dir: s.target.dir, commits: [2]gitstore.Hash{s.tip, a.candidate}, list: list, known: use.sides, event: s.teller(a.name)})
	if err != nil {
		return VerdictReached{}, err
	}
	s.warnLeft(a.name, results)
	if use.reason != "" {
		if err := k.keep(use.state, list, results); err != nil {
			return VerdictReached{}, err
		}
	}
	sides, evidence, missing, err := s.scores(a.name, list, results)
	if err != nil {
		return VerdictReached{}, err
	}
	a.record.Decision.Evidence = append(a.record.Decision.Evidence, evidence...)
	a.record.Decision.Ungraded = append([]string{}, k.gradable.Ungraded...)
	a.record.Order, a.record.Timing.MeasureS = use.order(), s.engine.Now().Sub(began).Seconds()
	// An eval without a result is left out on both sides; more than a quarter
	// of val missing is no measurement (roles.md section 14).
	if 4*len(missing) > len(list) {
		return s.skip(ctx, a, &handoff.SkipError{Reason: "no_result", Detail: "evals without a result: " + strings.Join(missing, ", ")}, true)
	}
	if err := s.decideSkill(a, sides); err != nil {
		return VerdictReached{}, err
	}
	a.record.Decision.BaselineSource, a.record.Decision.BaselineReason = use.source, use.reason
	if use.sides != nil {
		a.record.Decision.BaselineAge = &use.age
	}
	s.emit("measure_finished", a.name, MeasureFinished{
		What: "candidate_pair", Score: sides[1].Composite, Exact: sides[1].CompositeExact, Seconds: a.record.Timing.MeasureS, CostUSD: "0",
	})
	return s.settle(ctx, a, a.verdict.Decision)
}

// teller sends the events of an experiment's pairs.
func (s *Session) teller(experiment string) func(name string, data any) {
	return func(name string, data any) { s.emit(name, experiment, data) }
}

// runnerText is who answers the evals of a run, as a person types it; nil in
// generic mode.
func (s *Session) runnerText() *string {
	if s.skill == nil {
		return nil
	}
	text := s.skill.spec.Kind
	if text == runner.KindCommand {
		text += ":" + CommandText(s.skill.spec.Command)
	}
	return &text
}

// runsOf counts the runs a measurement takes.
func (k *skillMode) runsOf(list []evals.Eval, use baselineUse) int {
	runs := len(list) * k.spec.Runs(k.set.Form)
	if use.sides != nil {
		return runs
	}
	return 2 * runs
}

// firstReason is why the first of some results is none, in parentheses.
func firstReason(results []runner.Result) string {
	for _, r := range results {
		for _, side := range r.Sides {
			if side.Outcome != runner.OK {
				return fmt.Sprintf(" (%s: %s)", side.Outcome, side.Reason)
			}
		}
	}
	return ""
}

// leftBehind counts the processes that runners left and forge ended.
func leftBehind(results []runner.Result) (n int) {
	for _, r := range results {
		n += r.Sides[0].Left + r.Sides[1].Left
	}
	return n
}

// warnLeft says once in a process that a runner leaves processes behind.
func (s *Session) warnLeft(experiment string, results []runner.Result) {
	if leftBehind(results) > 0 && !s.skill.warnedLeft {
		s.skill.warnedLeft = true
		s.emit("warning", experiment, Warned{Name: "children_left", Message: WarningText("children_left")})
	}
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
	a.verdict, a.record.Decision.Verdict = v, document
	a.record.ScoreBaseline, a.record.ScoreWithMutation = files[0], files[1]
	return nil
}

// measureStart measures the unchanged state when a run begins.
func (s *Session) measureStart(ctx context.Context, base gitstore.Hash) (journal.Baseline, readings, error) {
	if s.skill == nil {
		return s.measureBaseline(ctx, base, "baseline", "start")
	}
	list := s.skill.of(evals.Val)
	s.emit("measure_started", "", MeasureStarted{What: "baseline", Runs: s.skill.runsOf(list, baselineUse{})})
	began := s.engine.Now()
	results, err := s.skill.measure(ctx, question{run: s.Run(), dir: s.target.dir, commits: [2]gitstore.Hash{base, base}, list: list, event: s.teller("")})
	if err != nil {
		return journal.Baseline{}, readings{}, err
	}
	s.warnLeft("", results)
	s.skill.start = results
	sides, _, missing, err := s.scores("start", list, results)
	if err == nil && len(missing) > 0 {
		err = fault.New(fault.Failed, "forge eval shows what the runner said", "%s of val gave no result: %s%s", count(len(missing), "eval"), strings.Join(missing, ", "), firstReason(results))
	}
	if err == nil && s.journal.Config.CachedBaseline != nil {
		var state runner.State
		if state, err = s.skill.stateOf(ctx, base, s.target.dir); err == nil {
			err = s.skill.keep(state, list, results)
		}
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
