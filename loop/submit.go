package loop

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/gitstore/scan"
	"forge/gitstore/textdiff"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/metric"
	"forge/loop/verdict"
)

// attempt is one experiment under way, from proposal to verdict.
type attempt struct {
	number    int
	name      string // exp-003
	began     time.Time
	edits     []gitstore.Edit
	preview   gitstore.Preview
	candidate gitstore.Hash // "" until it is committed
	record    journal.Record
	verdict   verdict.Verdict // of a measured outcome
	rebased   journal.Baseline
}

// newAttempt begins the record of the next experiment.
//
// What a proposer says of its change is foreign text and goes into commits: it
// is scrubbed here, where it comes in (gitstore.md R-COM-2).
func (s *Session) newAttempt(h journal.Hypothesis) *attempt {
	h = journal.Hypothesis{Category: scan.Scrub(h.Category), MutationType: scan.Scrub(h.MutationType), Text: scan.Scrub(h.Text)}
	n := len(s.journal.Lines) + 1
	a := &attempt{number: n, name: handoff.ExperimentName(n), began: s.engine.Now()}
	a.record = journal.Record{
		Schema: journal.RecordSchema, Run: s.Run(), Experiment: a.name, Hypothesis: h, CostUSD: "0",
		Decision: journal.Decision{Baseline: string(s.tip), Ungraded: []string{}, Evidence: []journal.Evidence{}},
		Timing:   journal.Timing{StartedAt: stamp(a.began)},
	}
	return a
}

// Submit takes a proposal for the run's next experiment and ends that
// experiment: guards on the pure change, the candidate's commit, the
// measurement, the verdict and its one commit (roles.md section 13, steps 2 to
// 6). An error means that nothing was decided.
func (s *Session) Submit(ctx context.Context, p handoff.Proposal) (VerdictReached, error) {
	a := s.newAttempt(journal.Hypothesis{Category: p.Category, MutationType: p.MutationType, Text: p.Hypothesis})
	s.emit("proposal", a.name, ProposalMade{Hypothesis: p.Hypothesis, Category: p.Category, MutationType: p.MutationType, Fallbacks: []string{}})
	edits, err := s.resolve(ctx, p)
	if skip, ok := errors.AsType[*handoff.SkipError](err); ok {
		return s.skip(ctx, a, skip, false)
	}
	if err != nil {
		return VerdictReached{}, err
	}
	a.edits = edits
	if a.record.Hypothesis.MutationType == "" {
		a.record.Hypothesis.MutationType = "refactor" // generic mode, handoff.md R-SUB-7
	}
	violation, err := s.examine(ctx, a)
	if err != nil {
		return VerdictReached{}, err
	}
	if violation != nil && violation.Withhold {
		a.record.Mutation, a.edits, a.preview = nil, nil, gitstore.Preview{}
	}
	if violation != nil && (violation.Guard == "path" || violation.Decision == verdict.NoOp || violation.Withhold) {
		return s.refuse(ctx, a, violation) // no candidate can, need or may exist (R-RUN-9)
	}
	if err := s.commitCandidate(ctx, a); err != nil {
		return VerdictReached{}, err
	}
	if violation != nil {
		return s.refuse(ctx, a, violation)
	}
	return s.judge(ctx, a)
}

// examine previews the change and holds it against the static guards; nothing
// is written (DECISIONS G7).
func (s *Session) examine(ctx context.Context, a *attempt) (*guard.Violation, error) {
	preview, err := s.engine.Repo.Preview(ctx, s.candidateChange(a))
	if fault.KindOf(err) == fault.Refused {
		return guard.Path(err), nil
	}
	if err != nil {
		return nil, err
	}
	a.preview = preview
	a.record.Mutation = mutationOf(preview, string(s.state))
	stood, err := s.stoodWindows(ctx)
	if err != nil {
		return nil, err
	}
	return guard.Check(guard.Candidate{
		Preview: preview, TipTree: s.tipTree, Tip: s.scope, Stood: stood, SeenIn: s.seen[seenKey(string(s.state), string(preview.State))],
	}, s.rules), nil
}

// stoodWindows are the windows of hidden evals that the skill holds at the
// tip. They change with a KEEP only, so they are kept between experiments.
func (s *Session) stoodWindows(ctx context.Context) ([]string, error) {
	if s.skill == nil || s.stood != nil {
		return s.stood, nil
	}
	stood := []string{}
	for _, name := range sortedPaths(s.scope) {
		data, err := s.engine.Repo.ReadFile(ctx, s.tip, name)
		if err != nil {
			return nil, fmt.Errorf("read %q at the run's tip: %w", name, err)
		}
		stood = append(stood, s.rules.Leaks.In(data)...)
	}
	slices.Sort(stood)
	s.stood = stood
	return stood, nil
}

// repeats says whether edits would be refused as a duplicate; nothing is
// written.
func (s *Session) repeats(ctx context.Context, edits []gitstore.Edit) (bool, error) {
	preview, err := s.engine.Repo.Preview(ctx, s.candidateChange(&attempt{edits: edits}))
	if err != nil {
		return false, err
	}
	return s.seen[seenKey(string(s.state), string(preview.State))] != "", nil
}

// seenKey is what makes two experiments one: the state they began on and the
// state they lead to (handoff.md R-PROP-3).
func seenKey(from, to string) string { return from + " " + to }

// judge measures a committed candidate and decides.
func (s *Session) judge(ctx context.Context, a *attempt) (VerdictReached, error) {
	if s.skill != nil {
		return s.judgeSkill(ctx, a)
	}
	message, evidence, err := s.invariantHolds(ctx, a.candidate, a.name)
	if err != nil {
		return VerdictReached{}, err
	}
	a.record.Decision.Evidence = append(a.record.Decision.Evidence, evidence...)
	if message != "" {
		return s.refuse(ctx, a, &guard.Violation{Guard: "invariant_command", Decision: verdict.Invalid, Message: message})
	}
	repeats := s.journal.Config.Metric.MetricRepeats
	s.emit("measure_started", a.name, MeasureStarted{What: "candidate_pair", Runs: repeats})
	r, err := s.measure(ctx, a.candidate, a.name, repeats)
	if b, ok := errors.AsType[*broken](err); ok {
		return s.skipBroken(ctx, a, b)
	}
	if t, ok := errors.AsType[*tampered](err); ok {
		return s.refuseTampered(ctx, a, t)
	}
	if err != nil {
		return VerdictReached{}, err
	}
	median := metric.Median(r.values)
	s.emit("measure_finished", a.name, MeasureFinished{
		What: "candidate_pair", Score: verdict.Number(median), Exact: verdict.Shortest(median), Seconds: r.took.Seconds(), CostUSD: "0",
	})
	if err := s.decide(a, r, median); err != nil {
		return VerdictReached{}, err
	}
	if a.verdict.Decision != verdict.Keep {
		return s.settle(ctx, a, a.verdict.Decision)
	}
	// The noise floor of the kept state is measured before its commit is made:
	// a crash leaves both or neither (R-REC-4).
	again, r, err := s.measureBaseline(ctx, a.candidate, "noise", a.name+"/again")
	if b, ok := errors.AsType[*broken](err); ok {
		a.record.Reading, a.record.BaselineReading, a.record.Decision.Verdict = nil, nil, nil
		return s.skipBroken(ctx, a, b)
	}
	if t, ok := errors.AsType[*tampered](err); ok {
		a.record.Reading, a.record.BaselineReading, a.record.Decision.Verdict = nil, nil, nil
		return s.refuseTampered(ctx, a, t)
	}
	if err != nil {
		return VerdictReached{}, err
	}
	a.rebased, a.record.Rebaseline = again, &again
	a.record.Timing.RebaselineS = r.took.Seconds()
	a.record.Decision.Evidence = append(a.record.Decision.Evidence, r.evidence...)
	return s.settle(ctx, a, verdict.Keep)
}

// decide compares the candidate's median with the stored baseline.
func (s *Session) decide(a *attempt, r readings, median *big.Rat) error {
	v, err := verdict.Decide(verdict.Decimal(median), verdict.Decimal(s.baseline.median), s.effectiveBars())
	if err != nil {
		return err
	}
	document, err := v.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode the verdict of %s: %w", a.name, err)
	}
	a.verdict = v
	a.record.Order = "stored"
	a.record.Timing.MeasureS = r.took.Seconds()
	a.record.BaselineReading = &journal.StoredSide{Baseline: s.baseline.Baseline, Source: s.baseline.source}
	a.record.Reading = &journal.MeasuredSide{
		Values: numbers(r.values), Median: verdict.Shortest(median), Name: r.last.Name, Source: string(r.last.Source), Warnings: append([]string{}, r.warnings...),
	}
	a.record.Decision.BaselineSource = s.baseline.source
	a.record.Decision.Verdict = document
	a.record.Decision.Evidence = append(a.record.Decision.Evidence, r.evidence...)
	return nil
}

// effectiveBars are the frozen thresholds with the measured noise floor; a
// configured floor can raise it, never lower it.
func (s *Session) effectiveBars() verdict.Bars {
	bars := s.bars
	if s.baseline.noiseFloor.Cmp(bars.NoiseFloor) > 0 {
		bars.NoiseFloor = s.baseline.noiseFloor
	}
	return bars
}

// refuse ends an experiment that a guard stopped.
func (s *Session) refuse(ctx context.Context, a *attempt, v *guard.Violation) (VerdictReached, error) {
	g := &journal.Guard{Name: v.Guard, Message: scan.Scrub(v.Message), Paths: []string{}}
	for _, file := range v.Paths {
		g.Paths = append(g.Paths, scan.Scrub(file))
	}
	s.emit("guard", a.name, GuardRefused{Guard: g.Name, Message: g.Message})
	a.record.Guard, a.record.Decision.Reason = g, g.Name+": "+g.Message
	return s.settle(ctx, a, v.Decision)
}

// refuseTampered ends an experiment whose program changed a protected file
// while it was measured (A22).
func (s *Session) refuseTampered(ctx context.Context, a *attempt, t *tampered) (VerdictReached, error) {
	a.record.Decision.Evidence = append(a.record.Decision.Evidence, t.evidence...)
	return s.refuse(ctx, a, t.violation)
}

// skip ends an experiment without a verdict.
func (s *Session) skip(ctx context.Context, a *attempt, why *handoff.SkipError, crash bool) (VerdictReached, error) {
	a.record.Decision.Reason, a.record.Decision.Crash = scan.Scrub(handoff.Clean(why.Error())), crash
	return s.settle(ctx, a, verdict.Skip)
}

// skipBroken ends an experiment whose candidate gave no number.
func (s *Session) skipBroken(ctx context.Context, a *attempt, b *broken) (VerdictReached, error) {
	a.record.Decision.Evidence = append(a.record.Decision.Evidence, b.evidence...)
	return s.skip(ctx, a, &handoff.SkipError{Reason: b.failure.Kind, Detail: b.failure.Message}, b.crashed())
}

// mutationOf describes a change for its record.
func mutationOf(p gitstore.Preview, baseTree string) *journal.Mutation {
	m := &journal.Mutation{Tree: string(p.State), BaseTree: baseTree, Files: []journal.FileChange{}}
	files := make([]textdiff.File, len(p.Files))
	for i, f := range p.Files {
		files[i] = textdiff.File{Path: f.Path, Before: side(f.Before), After: side(f.After)}
		m.Files = append(m.Files, journal.FileChange{Path: f.Path, Change: changeWord(f)})
	}
	m.Diff = string(textdiff.Unified(files))
	m.LinesAdded, m.LinesRemoved = textdiff.Stat(files)
	m.Changes = changesOf(files)
	return m
}

func side(f *gitstore.File) *textdiff.Side {
	if f == nil {
		return nil
	}
	return &textdiff.Side{Data: f.Data, Mode: fmt.Sprintf("%06o", uint32(f.Mode))}
}

func changeWord(f gitstore.FileChange) string {
	switch {
	case f.Before == nil:
		return "added"
	case f.After == nil:
		return "deleted"
	case f.Before.Object == f.After.Object:
		return "mode"
	}
	return "modified"
}
