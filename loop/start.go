package loop

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop/guard"
	"forge/loop/journal"
	"forge/loop/metric"
	"forge/loop/tune"
	"forge/loop/verdict"
)

// CheckPlatform refuses the systems on which children are not yet contained
// (DECISIONS H13).
func CheckPlatform() error {
	if runtime.GOOS == "windows" {
		return fault.New(fault.Usage, "use WSL", "forge run is not supported on Windows yet")
	}
	return nil
}

// Start begins a run: it checks the repository and the request, measures the
// unchanged state, and freezes both in the run-start commit, the first of a
// new branch (gitstore.md R-RUN-1). Nothing is written before the metric has
// given its numbers. The caller closes the session.
func (e *Engine) Start(ctx context.Context, setup Setup) (*Session, error) {
	head, err := e.Repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	if head.Commit == "" {
		return nil, fault.New(fault.Usage, "git add -A && git commit", "this repository has no commit yet")
	}
	s := &Session{engine: e, setup: setup, began: time.Now(), seen: map[string]string{}}
	run := setup.Frozen
	run.Schema, run.Mode, run.Base, run.BaseBranch = journal.RunSchema, cmp.Or(run.Mode, ModeGeneric), string(head.Commit), shortBranch(head.Branch)
	run.StartedAt = stamp(e.Now())
	if run.Run = setup.Name; run.Run == "" {
		run.Run, err = e.Repo.NewRunName(ctx, head.Commit)
	} else {
		err = e.checkNewName(ctx, run.Run)
	}
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, &run, head.Commit); err != nil {
		return nil, err
	}
	if s.release, err = e.Repo.LockRun(ctx, run.Run); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, run); err != nil {
		s.emitFailure(ctx, err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkNewName refuses a run name that is malformed or taken.
func (e *Engine) checkNewName(ctx context.Context, name string) error {
	if err := gitstore.CheckRunName(name); err != nil {
		return err
	}
	taken, err := e.Repo.RunNames(ctx)
	if err != nil {
		return err
	}
	if taken[name] {
		return fault.New(fault.Usage, "forge run --resume --run "+name+", or choose another name", "a run named %q exists", name)
	}
	return nil
}

// prepare checks everything that can be checked before a child runs.
func (s *Session) prepare(ctx context.Context, run *journal.Run, base gitstore.Hash) error {
	e := s.engine
	t, err := e.targetOf(ctx, base, run)
	if err != nil {
		return err
	}
	run.Target, run.Slug = t.text, t.slug
	if s.scope, err = e.checkScope(ctx, base, &t, run.Guards.MaxScopeFiles); err != nil {
		return err
	}
	if s.rules, err = rulesOf(*run, t, maps.Clone(s.scope)); err != nil {
		return err
	}
	s.target = t
	if run.Mode == ModeSkill {
		if err := s.prepareSkill(ctx, run, base); err != nil {
			return err
		}
	} else if run.Guards.InvariantsSHA256, err = e.checkProtected(ctx, base, *run, s.rules); err != nil {
		return err
	}
	if s.bars, err = barsOf(*run); err != nil {
		return err
	}
	if run.Proposer.Kind == "builtin:tune" {
		if err := s.checkTunable(ctx, base); err != nil {
			return err
		}
	}
	s.branch = "refs/heads/forge/" + t.slug + "/" + run.Run
	if err := e.Repo.CheckFree(s.branch); err != nil {
		return err
	}
	if err := e.checkClean(ctx, t); err != nil {
		return err
	}
	if _, _, err := e.Repo.Identity(ctx); err != nil {
		return err
	}
	return e.Repo.CheckSigning(ctx)
}

// checkScope reads the target's files at the base and refuses one that
// matches nothing or too much.
func (e *Engine) checkScope(ctx context.Context, base gitstore.Hash, t *target, max int) (guard.Sizes, error) {
	files, count, err := e.sizes(ctx, base, *t, max)
	if err != nil {
		return nil, err
	}
	switch {
	case count == 0:
		return nil, fault.New(fault.Usage, "git ls-files shows what is committed; globs begin at the repository's root, ** crosses directories",
			"--target %q matches no committed file", t.text)
	case count > max:
		return nil, fault.New(fault.Usage, "narrow --target, or raise [run] max_scope_files",
			"--target %q matches %d files of at most %d", t.text, count, max)
	}
	if t.dir == "" {
		t.dir = deepestDir(files)
	}
	return files, nil
}

// checkProtected refuses a protected path that matches nothing and a run that
// names none (DECISIONS G8, G4), and hashes what is protected.
func (e *Engine) checkProtected(ctx context.Context, base gitstore.Hash, run journal.Run, rules guard.Rules) (string, error) {
	if len(run.Guards.ProtectedPaths) == 0 && !run.Guards.NoProtect {
		return "", fault.New(fault.Usage, "protect what the metric is made of: its script, its tests, its data",
			"generic mode needs --protect PATH, or --no-protect in so many words")
	}
	matched := make([]bool, len(rules.Protected))
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q\n", run.Metric.Command, run.Metric.Name, run.Guards.InvariantCommand)
	if len(rules.Protected) > 0 {
		err := e.Repo.Walk(ctx, base, "", func(entry gitstore.Entry) error {
			for i, g := range rules.Protected {
				if g.Match(entry.Path) {
					matched[i] = true
					fmt.Fprintf(sum, "%o %s %q\n", entry.Mode, entry.Object, entry.Path)
				}
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	for i, found := range matched {
		if !found {
			return "", fault.New(fault.Usage, "git ls-files shows what is committed", "--protect %q matches no committed file", run.Guards.ProtectedPaths[i])
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// checkClean refuses a target with uncommitted changes: what is measured is
// what is committed. Dirt elsewhere does not matter.
func (e *Engine) checkClean(ctx context.Context, t target) error {
	dirty, err := e.Repo.Dirty(ctx, t.glob.Match)
	if err != nil {
		return err
	}
	dirty = slices.DeleteFunc(dirty, func(p string) bool { return p == ".forge" || strings.HasPrefix(p, ".forge/") })
	if len(dirty) == 0 {
		return nil
	}
	what := fmt.Sprintf("%q has", dirty[0])
	if len(dirty) > 1 {
		what = fmt.Sprintf("%q and %d more have", dirty[0], len(dirty)-1)
	}
	return fault.New(fault.Refused, "commit them first: forge measures what is committed", "%s uncommitted changes", what)
}

// checkTunable refuses a scope in which the number search has nothing to
// search, or whose markers it cannot read (handoff.md R-TUNE-1, R-TUNE-8).
func (s *Session) checkTunable(ctx context.Context, base gitstore.Hash) error {
	var files []tune.File
	for _, file := range s.scopePaths() {
		data, err := s.engine.Repo.ReadFile(ctx, base, file)
		if err != nil {
			return fmt.Errorf("read %q of the scope: %w", file, err)
		}
		files = append(files, tune.File{Path: file, Data: data})
	}
	_, err := tune.Propose(files, nil)
	if errors.Is(err, tune.ErrExhausted) {
		return nil // bounds leave no move; the run says so itself
	}
	return err
}

// begin measures the baseline and writes the run-start commit.
func (s *Session) begin(ctx context.Context, run journal.Run) error {
	s.journal = journal.New(run)
	base := gitstore.Hash(run.Base)
	s.emit("run_started", "", RunStarted{
		Target: run.Target, Mode: run.Mode, Branch: shortBranch(s.branch), Base: run.Base, Proposer: ProposerText(run.Proposer),
		Runner: s.runnerText(), MaxExperiments: s.setup.Limits.MaxExperiments,
	})
	baseline, r, err := s.measureStart(ctx, base)
	if ctx.Err() != nil {
		return fmt.Errorf("measure the baseline: %w", context.Cause(ctx))
	}
	if err != nil {
		return startFailure(err)
	}
	run.Baseline = baseline
	if err := s.checkMoves(ctx, &run, base, r); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("see the number move: %w", context.Cause(ctx))
		}
		return err
	}
	run.Doctor.Warnings = slices.Concat([]string{}, run.Doctor.Warnings, r.warnings, s.warnings(run))
	for _, w := range run.Doctor.Warnings {
		s.emit("warning", "", Warned{Name: w, Message: WarningText(w)})
	}
	encoded, err := run.Encode()
	if err != nil {
		return err
	}
	if s.setup.Confirm != nil {
		if err := s.setup.Confirm(ctx, run); err != nil {
			return err
		}
	}
	commit, err := s.engine.Repo.Commit(ctx, gitstore.Change{
		Ref: s.branch, From: base, Parents: []gitstore.Hash{base}, Edits: []gitstore.Edit{gitstore.Put(journal.ConfigPath(run.Run), encoded)},
		Subject: fold(fmt.Sprintf("run start: baseline %s, frozen configuration", s.baselineText(baseline)), subjectBytes),
		Body: fmt.Sprintf("Target: %s\nMetric: %s\nProposer: %s\nNoise floor: %s", run.Target, CommandText(run.Metric.Command),
			ProposerText(run.Proposer), baseline.NoiseFloor),
		Trailers: []gitstore.Trailer{
			{Key: "Forge-Run", Value: run.Run}, {Key: "Forge-Action", Value: "run-start"}, {Key: "Forge-Baseline", Value: baseline.Median},
			{Key: "Forge-Skill", Value: run.Target},
		},
	})
	if err != nil {
		return fmt.Errorf("start run %q: %w", run.Run, err)
	}
	// The run has begun: from here on an interrupt is the loop's to report.
	return s.enter(context.WithoutCancel(ctx), commit, journal.New(run))
}

// warnings are the names of what a person should know before the run goes on.
func (s *Session) warnings(run journal.Run) (names []string) {
	if run.Mode == ModeSkill {
		return nil
	}
	if len(run.Guards.InvariantCommand) == 0 {
		names = append(names, "no_invariant_command")
	}
	if run.Guards.NoProtect {
		names = append(names, "nothing_protected")
	}
	return names
}

// WarningText is a warning's name as a sentence; an unknown name stands for
// itself.
func WarningText(name string) string {
	if text, known := warningTexts[name]; known {
		return text
	}
	return name
}

var warningTexts = map[string]string{
	stuck:                  "a version known to be worse scores the same in every run; begun by --force",
	"no_invariant_command": "no invariant command: only the number is watched",
	"nothing_protected":    "nothing is protected: a candidate may change what measures it",
	"children_left":        "the runner leaves processes behind; they were ended",
	"deterministic":        "every reading of the unchanged state was the same: the improvement threshold decides",
	"few_repeats":          "fewer than 5 readings of the unchanged state: a change that does nothing passes the noise floor more often",
	"test_empty":           "no eval fell into the test split",
	"small_test":           "the test split has one or two evals",
	"small_val":            "the val split has fewer than three evals",
	"few_evals":            "there are fewer evals than min_evals",
	"no_test":              "there is no test split, so nothing is held out",
	"train_empty":          "no eval is left for train",
	"class_missing":        "a split lacks queries that should trigger, or such that should not",
	"one_class":            "all queries should trigger, or none",
	"several_names":        "the output names several metrics; the last one counts, --metric-name picks one",
	"unmarked_last_number": "the output holds several numbers and no METRIC line; the last one counts",
}

// enter makes a tip and its journal the session's state.
func (s *Session) enter(ctx context.Context, tip gitstore.Hash, j journal.Journal) error {
	var err error
	s.tip, s.journal = tip, j
	if s.tipTree, err = s.engine.Repo.TreeOf(ctx, tip); err != nil {
		return err
	}
	if s.state, err = s.engine.Repo.StateOf(ctx, s.tipTree); err != nil {
		return err
	}
	if err := s.readBaseline(ctx, tip, j); err != nil {
		return err
	}
	return s.remember(ctx)
}

// readBaseline finds what the next candidate is compared with: the rebaseline
// of the last KEEP, else the baseline of the start (R-REC-4).
func (s *Session) readBaseline(ctx context.Context, tip gitstore.Hash, j journal.Journal) error {
	source, baseline := "stored@start", j.Config.Baseline
	for i := len(j.Lines) - 1; i >= 0; i-- {
		if j.Lines[i].Decision != string(verdict.Keep) {
			continue
		}
		record, err := journal.ReadRecord(ctx, s.engine.Repo, tip, j.Config.Run, i+1, j.Lines[i].ID)
		if err != nil {
			return err
		}
		if _, kept, ok := record.Figures(); ok && j.Config.Mode == ModeSkill {
			source, baseline = "fresh", countBaseline(kept)
			break
		}
		if record.Rebaseline == nil {
			return fmt.Errorf("the record of %s/%s is a KEEP without a rebaseline", j.Config.Run, j.Lines[i].ID)
		}
		source, baseline = "stored@"+j.Lines[i].ID, *record.Rebaseline
		break
	}
	var err error
	s.baseline, err = newStored(baseline, source)
	return err
}

// remember collects what was tried before, in this run and in earlier ones on
// the same target (DECISIONS K12).
func (s *Session) remember(ctx context.Context) error {
	runs, err := s.engine.Runs(ctx)
	if err != nil {
		return err
	}
	take := func(run string, lines []journal.Line) {
		for _, l := range lines {
			if l.Tree != "" && l.Decision != string(verdict.NoOp) {
				s.saw(l.BaseTree, l.Tree, run+"/"+l.ID)
			}
		}
	}
	for _, r := range runs {
		if r.Name == s.Run() || r.Config.Target != s.target.text {
			continue
		}
		j, err := journal.Load(ctx, s.engine.Repo, r.Tip, r.Name)
		if err != nil {
			return err
		}
		take(r.Name, j.Lines)
		if kept := countKept(j.Lines); kept > 0 && !s.resumed && r.Config.Base == s.journal.Config.Base {
			s.emit("warning", "", Warned{
				Name:    "unlanded",
				Message: fmt.Sprintf("from the same commit run %s kept %d, which this run will not try again; forge land %s brings what it kept", r.Name, kept, r.Name),
			})
		}
	}
	take(s.Run(), s.journal.Lines)
	return nil
}

func countKept(lines []journal.Line) (n int) {
	for _, l := range lines {
		if l.Decision == string(verdict.Keep) {
			n++
		}
	}
	return n
}

// saw records that a state was made of another one. The first experiment that
// did so is the one a later refusal names.
func (s *Session) saw(from, to, experiment string) {
	if key := seenKey(from, to); s.seen[key] == "" {
		s.seen[key] = experiment
	}
}

func baselineOf(f metric.Floor) journal.Baseline {
	return journal.Baseline{Values: numbers(f.Values), Median: verdict.Shortest(f.Median), NoiseFloor: verdict.Exact(f.NoiseFloor)}
}
