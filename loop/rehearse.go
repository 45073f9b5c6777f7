package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// rehearsalRun stands for the name of a run where candidates are only held
// against the guards.
const rehearsalRun = "rehearsal"

// Rehearsal holds changes and programs against the guards of a configuration,
// as a run would, without a run: no baseline, no verdict, no commit and no
// lock. What programs print is kept in forge's directory of the engine's
// repository, and exports are recorded there, so that repository should be a
// scratch one. It is for one goroutine. Close it.
type Rehearsal struct{ s *Session }

// Rehearse prepares the frozen configuration of a setup on a commit.
//
// Source: handoff.md R-ATT-1.
func (e *Engine) Rehearse(ctx context.Context, setup Setup, commit gitstore.Hash) (*Rehearsal, error) {
	run := setup.Frozen
	run.Run, run.Mode, run.Base, run.Proposer = rehearsalRun, cmp.Or(run.Mode, ModeGeneric), string(commit), journal.Proposer{}
	s := &Session{engine: e, setup: setup, began: time.Now(), seen: map[string]string{}, tip: commit}
	t, err := e.targetOf(ctx, commit, &run)
	if err != nil {
		return nil, err
	}
	run.Target, run.Slug = t.text, t.slug
	if s.scope, err = e.checkScope(ctx, commit, &t, run.Guards.MaxScopeFiles); err != nil {
		return nil, err
	}
	if s.rules, err = rulesOf(run, t, maps.Clone(s.scope)); err != nil {
		return nil, err
	}
	s.target = t
	if run.Mode == ModeSkill {
		if err := s.prepareSkill(ctx, &run, commit); err != nil {
			return nil, err
		}
	}
	s.journal = journal.New(run)
	if s.tipTree, err = e.Repo.TreeOf(ctx, commit); err != nil {
		return nil, err
	}
	s.state, err = e.Repo.StateOf(ctx, s.tipTree)
	return &Rehearsal{s}, err
}

// Close removes the export, if there is one.
func (r *Rehearsal) Close() error { return r.s.Close() }

// Config is the configuration that is rehearsed.
func (r *Rehearsal) Config() journal.Run { return r.s.Config() }

// Rules are the guards a test may bend; see [guard.Rules].
func (r *Rehearsal) Rules() *guard.Rules { return &r.s.rules }

// Files are what a candidate may change, sorted: the scope without what is
// protected.
func (r *Rehearsal) Files() []string { return r.s.scopePaths() }

// May says whether a candidate may write a path.
func (r *Rehearsal) May(file string) bool {
	return r.s.target.holds(file) && !r.s.rules.IsProtected(file)
}

// Tokens estimates the skill as it stands.
func (r *Rehearsal) Tokens() int { return r.s.rules.Tokens(r.s.scope) }

// Size is how large a file of the scope is.
func (r *Rehearsal) Size(file string) int64 { return r.s.scope[file].Bytes }

// Protected lists what is protected, sorted: regular files that are exported.
func (r *Rehearsal) Protected(ctx context.Context) ([]gitstore.Entry, error) {
	entries, err := r.s.engine.Repo.Exported(ctx, r.s.tip, ".")
	return slices.DeleteFunc(entries, func(e gitstore.Entry) bool {
		return !r.s.rules.IsProtected(e.Path) || e.Mode != gitstore.ModeFile && e.Mode != gitstore.ModeExec
	}), err
}

// Read is a file at the commit.
func (r *Rehearsal) Read(ctx context.Context, file string) ([]byte, error) {
	return r.s.engine.Repo.ReadFile(ctx, r.s.tip, file)
}

// EvalsFile is the path of the skill's evals, "" for none.
func (r *Rehearsal) EvalsFile(ctx context.Context) (string, error) {
	name, _, err := readEvals(ctx, r.s.engine.Repo, r.s.tip, r.s.target.dir)
	if errors.Is(err, errNoEvals) {
		return "", nil
	}
	return name, err
}

// Hidden is the text of an eval that is not shown and that the leak guard can
// tell, "" for none; one of val where there is one.
func (r *Rehearsal) Hidden(ctx context.Context) (string, error) {
	stood, err := r.s.stoodWindows(ctx)
	if err != nil || r.s.skill == nil {
		return "", err
	}
	for _, e := range slices.Concat(r.s.skill.of(evals.Val), r.s.skill.of(evals.Test)) {
		for _, window := range r.s.rules.Leaks.In([]byte(e.Prompt)) {
			if _, known := slices.BinarySearch(stood, window); !known {
				return e.Prompt, nil
			}
		}
	}
	return "", nil
}

// Tried makes what a proposal leads to something that was tried before.
func (r *Rehearsal) Tried(ctx context.Context, p handoff.Proposal, in string) error {
	preview, err := r.s.engine.Repo.Preview(ctx, r.s.candidateChange(&attempt{edits: p.Edits}))
	if err == nil {
		r.s.saw(string(r.s.state), string(preview.State), in)
	}
	return err
}

// Examine holds a proposal against the static guards; nil is a candidate that
// a run would measure. Nothing is written.
func (r *Rehearsal) Examine(ctx context.Context, p handoff.Proposal) (*guard.Violation, error) {
	a := r.s.newAttempt(journal.Hypothesis{Text: p.Hypothesis})
	edits, err := r.s.resolve(ctx, p)
	if err != nil {
		return nil, err
	}
	a.edits = edits
	return r.s.examine(ctx, a)
}

// Bounds are what a program is held to, where that is not what is configured.
type Bounds struct {
	Timeout     time.Duration // 0: as configured
	OutputLimit int64         // bytes of standard output; 0: as configured
}

// Played is what became of a program that stood in for the user's.
type Played struct {
	Violation *guard.Violation // why the experiment would end without a verdict; nil: it was measured
	Output    []byte           // what it printed, as it was kept
	Names     []string         // of what was kept of it
}

// PlayMetric runs a program in place of the metric, once.
func (r *Rehearsal) PlayMetric(ctx context.Context, argv []string, bounds Bounds) (Played, error) {
	s := r.s
	b, err := s.openBench(ctx)
	if err != nil {
		return Played{}, err
	}
	was := b.probe
	defer func() { b.probe = was }()
	b.probe.Command = argv
	b.probe.Timeout = cmp.Or(bounds.Timeout, was.Timeout)
	b.probe.OutputLimit = cmp.Or(bounds.OutputLimit, was.OutputLimit)
	_, err = s.measure(ctx, s.tip, "played", 1)
	var played Played
	failed, isBroken := errors.AsType[*broken](err)
	t, isTampered := errors.AsType[*tampered](err)
	switch {
	case isBroken:
		played.Violation = &guard.Violation{Guard: failed.failure.Kind, Decision: verdict.Skip, Message: failed.failure.Message}
	case isTampered:
		played.Violation = t.violation
	case err != nil:
		return Played{}, err
	}
	played.Output, err = os.ReadFile(filepath.Join(s.engine.Repo.ForgeDir(), "evidence", s.Run(), "played", "metric-1.txt"))
	if err != nil {
		return Played{}, fmt.Errorf("read what a metric printed: %w", err)
	}
	return played, nil
}

// PlayInvariant runs a program in place of the invariant command of a
// configuration that has one.
func (r *Rehearsal) PlayInvariant(ctx context.Context, argv []string) (Played, error) {
	s := r.s
	b, err := s.openBench(ctx)
	if err != nil {
		return Played{}, err
	}
	was := b.invariant
	defer func() { b.invariant = was }()
	b.invariant.Argv = argv
	message, _, err := s.invariantHolds(ctx, s.tip, "played")
	if err != nil || message == "" {
		return Played{}, err
	}
	return Played{Violation: &guard.Violation{Guard: "invariant_command", Decision: verdict.Invalid, Message: message}}, nil
}

// PlayRunner runs a program in place of the runner on one eval, in the skill
// as it stands.
func (r *Rehearsal) PlayRunner(ctx context.Context, argv []string) (Played, error) {
	k := *r.s.skill
	k.spec.Command, k.spec.RunsPerSide, k.spec.TriggerRuns = argv, 1, 1
	if len(k.gradable.Evals) == 0 {
		return Played{}, fault.New(fault.Usage, "", "%q has no eval a runner could answer", r.s.target.dir)
	}
	one := k.gradable.Evals[:1]
	results, err := k.measure(ctx, question{run: r.s.Run(), dir: r.s.target.dir, commits: [2]gitstore.Hash{r.s.tip, r.s.tip}, list: one, oneSided: true})
	if err != nil {
		return Played{}, err
	}
	side := results[0].Sides[runner.Candidate]
	var played Played
	if side.Outcome != runner.OK {
		played.Violation = &guard.Violation{Guard: string(side.Outcome), Decision: verdict.Skip, Message: side.Reason}
	}
	for _, part := range side.Evidence {
		played.Names = append(played.Names, part.Name)
		if part.Name == "output.txt" {
			played.Output = part.Data
		}
	}
	return played, nil
}

// Process says whether measuring starts a program: a metric does, a runner
// where it is a command.
func (r *Rehearsal) Process() bool {
	return r.s.skill == nil || r.s.skill.spec.Kind == runner.KindCommand
}

// Below is a path in the target's directory.
func (r *Rehearsal) Below(name string) string { return path.Join(r.s.target.dir, name) }
