package loop

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// stop is the first stop rule that holds now, in the order of roles.md section
// 13, or "" if the run may go on. An interrupt and an exhausted proposer are
// seen where they happen.
func (s *Session) stop() (Reason, error) {
	limits := s.setup.Limits
	since := s.journal.Lines[s.since:]
	decisions := make([]string, len(since))
	for i, l := range since {
		decisions[i] = l.Decision
	}
	flat, err := verdict.FindPlateau(decisions, plateauWindow)
	if err != nil {
		return "", err
	}
	switch {
	case limits.TimeBudget > 0 && time.Since(s.began) >= limits.TimeBudget:
		return TimeIsUp, nil
	case limits.TargetValue != nil && s.reaches(limits.TargetValue):
		return TargetReached, nil
	case row(since, crashed) >= limits.MaxCrashes:
		return Crashes, nil
	case row(since, skipped) >= skipsInARow:
		return Skips, nil
	case flat.Plateau:
		return Plateau, nil
	case s.counted() >= limits.MaxExperiments:
		return MaxExperiments, nil
	}
	return "", nil
}

// reaches says whether the baseline is at or beyond a value, in the metric's
// direction.
func (s *Session) reaches(value *big.Rat) bool {
	if s.bars.Direction == verdict.LowerIsBetter {
		return s.baseline.median.Cmp(value) <= 0
	}
	return s.baseline.median.Cmp(value) >= 0
}

// counted is how many experiments used up one of max_experiments: all but
// DEFERRED (DECISIONS V16).
func (s *Session) counted() (n int) {
	for _, l := range s.journal.Lines {
		if l.Decision != string(verdict.Deferred) {
			n++
		}
	}
	return n
}

func crashed(l journal.Line) bool { return l.Crash }
func skipped(l journal.Line) bool { return l.Decision == string(verdict.Skip) }

// row is how many experiments at the end of the history have a property; any
// measured one ends a row (roles.md section 14).
func row(lines []journal.Line, has func(journal.Line) bool) (n int) {
	for i := len(lines) - 1; i >= 0; i-- {
		switch {
		case has(lines[i]):
			n++
		case verdict.Decision(lines[i].Decision).Measured():
			return n
		}
	}
	return n
}

// Loop runs experiments until a stop rule holds, and ends the run. A run that
// is interrupted stays open: the error says how to resume it.
func (s *Session) Loop(ctx context.Context, p Proposer) (RunFinished, error) {
	finished, err := s.loop(ctx, p)
	if err != nil {
		s.emitFailure(ctx, err)
	}
	return finished, err
}

// emitFailure sends the last event of a run that an error or a signal ended.
func (s *Session) emitFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		s.emit("run_finished", "", s.finished(Interrupted))
		return
	}
	s.emit("error", "", Failed{Kind: fault.KindOf(err).String(), Message: err.Error(), Hint: fault.HintOf(err)})
}

// loop is Loop without the event that tells of an error.
func (s *Session) loop(ctx context.Context, p Proposer) (RunFinished, error) {
	for {
		reason, err := s.stop()
		if err == nil && reason == "" {
			err = s.experiment(ctx, p)
		}
		if errors.Is(err, handoff.ErrExhausted) {
			reason, err = Exhausted, nil
		}
		if ctx.Err() != nil {
			return RunFinished{}, s.interrupted(ctx, context.Cause(ctx))
		}
		if err != nil {
			_ = s.engine.pointTip(ctx, s.Run(), s.tip) // a copy that may lag; the error below is what matters
			return RunFinished{}, s.stopped(err)
		}
		if reason != "" {
			finished, err := s.finish(ctx, reason)
			if err != nil && ctx.Err() != nil {
				err = s.interrupted(ctx, context.Cause(ctx))
			}
			return finished, err
		}
	}
}

// stopped adds to an error that ends a run what the reader can type: where the
// run's own commits are if somebody else moved its branch, else how to go on.
func (s *Session) stopped(err error) error {
	hint := "forge run --resume --run " + s.Run()
	if moved, ok := errors.AsType[*gitstore.MovedError](err); ok && moved.Ref == s.branch {
		hint = "git log " + tipRef(s.Run()) + " shows what this run wrote"
	} else if fault.HintOf(err) != "" {
		return err
	}
	return &fault.Error{Kind: fault.KindOf(err), Msg: err.Error(), Hint: hint, Err: err}
}

// experiment is one round: an open candidate is measured first, else the
// proposer is asked.
func (s *Session) experiment(ctx context.Context, p Proposer) error {
	open, err := s.openCandidate(ctx)
	if err != nil || open {
		return err
	}
	task, err := s.task(ctx)
	if err != nil {
		return err
	}
	s.emit("experiment_started", task.Brief.Experiment, ExperimentStarted{N: task.Brief.N, BriefID: task.Brief.BriefID, Phase: task.Brief.Phase.Name})
	proposal, err := p.Propose(ctx, task)
	if skip, ok := errors.AsType[*handoff.SkipError](err); ok {
		_, err := s.skip(ctx, s.newAttempt(journal.Hypothesis{Category: "unknown"}), skip, false)
		return err
	}
	if err != nil {
		return err
	}
	_, err = s.Submit(ctx, proposal)
	return err
}

// openCandidate finishes an experiment whose candidate was committed and whose
// verdict was not: nothing measured before is trusted, the guards look again,
// and the candidate is measured from its commit (gitstore.md R-RUN-5).
func (s *Session) openCandidate(ctx context.Context) (bool, error) {
	name := handoff.ExperimentName(len(s.journal.Lines) + 1)
	commit, err := s.engine.Repo.Ref(ctx, candidateRef(s.Run(), name))
	if err != nil || commit == "" {
		return false, err
	}
	info, err := s.engine.Repo.ReadCommit(ctx, commit)
	if err != nil {
		return false, err
	}
	if len(info.Parents) != 1 || info.Parents[0] != s.tip {
		return false, fault.New(fault.Conflict, "forge show "+s.Run()+"/"+name,
			"the open candidate of %s was not built on the tip of run %s", name, s.Run())
	}
	differences, err := s.engine.Repo.DiffTrees(ctx, s.tip, commit)
	if err != nil {
		return false, err
	}
	a := s.newAttempt(hypothesisOf(info))
	a.candidate, a.edits = commit, editsOf(differences)
	s.emit("experiment_started", name, ExperimentStarted{N: a.number, BriefID: handoff.ID(string(s.tip), name), Phase: phase(a.number)})
	violation, err := s.examine(ctx, a)
	if err != nil {
		return false, err
	}
	if violation != nil {
		_, err = s.refuse(ctx, a, violation)
		return true, err
	}
	_, err = s.judge(ctx, a)
	return true, err
}

// editsOf are the edits that lead from the first tree of a difference to the
// second.
func editsOf(differences []gitstore.Difference) []gitstore.Edit {
	edits := make([]gitstore.Edit, len(differences))
	for i, d := range differences {
		if d.After.Mode == 0 {
			edits[i] = gitstore.Remove(d.Path)
		} else {
			edits[i] = gitstore.PutObject(d.Path, d.After.Object, d.After.Mode)
		}
	}
	return edits
}

// finish ends the run with its report in one commit, and moves the tip ref
// (gitstore.md R-RUN-13, R-RUN-10).
func (s *Session) finish(ctx context.Context, reason Reason) (RunFinished, error) {
	summary, err := s.summary(ctx, reason)
	if err != nil {
		return RunFinished{}, err
	}
	report, err := s.engine.Report(summary)
	if err != nil {
		return RunFinished{}, fmt.Errorf("write the report of run %q: %w", s.Run(), err)
	}
	commit, err := s.engine.Repo.Commit(ctx, gitstore.Change{
		Ref: s.branch, Base: s.tip, Edits: []gitstore.Edit{gitstore.Put(journal.ReportPath(s.Run()), report)},
		Subject: fold(fmt.Sprintf("run end: %s, %d kept", reason, s.kept()), subjectBytes),
		Body:    fmt.Sprintf("%s of %s on %s.\nReport: %s\nLand: forge land %s", count(len(s.journal.Lines), "experiment"), s.target.text, shortBranch(s.branch), journal.ReportPath(s.Run()), s.Run()),
		Trailers: []gitstore.Trailer{
			{Key: "Forge-Run", Value: s.Run()}, {Key: "Forge-Action", Value: "run-end"}, {Key: "Forge-Skill", Value: s.target.text},
			{Key: "Forge-Cost-USD", Value: "0"}, {Key: "Forge-Reason", Value: string(reason)},
		},
	})
	if errors.Is(err, gitstore.ErrNoChange) {
		commit, err = s.tip, nil // it ended with this very report before
	}
	if err != nil {
		return RunFinished{}, fmt.Errorf("end run %q: %w", s.Run(), err)
	}
	s.tip = commit
	if err := s.engine.pointTip(ctx, s.Run(), commit); err != nil {
		return RunFinished{}, err
	}
	finished := s.finished(reason)
	s.emit("run_finished", "", finished)
	return finished, nil
}

// finished is the last event of a run.
func (s *Session) finished(reason Reason) RunFinished {
	start, err := verdict.ParseExact(s.journal.Config.Baseline.Median)
	f := RunFinished{
		Reason: reason, Kept: s.kept(), Experiments: len(s.journal.Lines), SpentUSD: "0", Branch: shortBranch(s.branch), Tip: string(s.tip),
		Report: journal.ReportPath(s.Run()), Land: "forge land " + s.Run(),
	}
	if err == nil {
		first, last := verdict.Number(start), verdict.Number(s.baseline.median)
		if s.skill != nil { // counts, not readings
			first, last = *rounded(start), *rounded(s.baseline.median)
		}
		f.Start, f.End, f.Delta = &first, &last, rounded(s.improvement(start, s.baseline.median))
	}
	switch {
	case reason.Failed():
		f.Exit = int(fault.Failed)
	case reason == Interrupted:
		f.Exit, f.Report = int(fault.Interrupted), "" // the report comes with the run's end
	}
	return f
}
