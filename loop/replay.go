package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/scan"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/metric"
	"forge/loop/verdict"
)

// ReplayRequest asks for one experiment of a run to be measured again.
type ReplayRequest struct {
	Run        RunRef
	Setup      Setup // what the children are given, and how many evals at once
	Experiment string
	Number     int // of the experiment

	Begin func(work string) // told what is about to be measured
}

// Replay is the document of `forge replay`.
type Replay struct {
	Run        string       `json:"run"`
	Experiment string       `json:"experiment"`
	Target     string       `json:"target"`
	Baseline   string       `json:"baseline"`  // the commit the candidate was made on
	Candidate  string       `json:"candidate"` // its commit
	Same       bool         `json:"same"`      // the verdict would be the recorded one
	Recorded   ReplayFigure `json:"recorded"`
	Again      ReplayFigure `json:"again"`
	NoResult   []string     `json:"no_result"` // evals that gave none this time
	Warnings   []string     `json:"warnings"`
}

// ReplayFigure is what one of the two measurements gave. Without a verdict it
// holds the decision and its reason alone.
type ReplayFigure struct {
	Decision   string       `json:"decision"`
	Reason     string       `json:"reason"`
	Baseline   string       `json:"baseline"` // exact: a median, or counts
	Candidate  string       `json:"candidate"`
	NoiseFloor string       `json:"noise_floor"` // of a metric
	Delta      *json.Number `json:"delta"`
	Exact      string       `json:"delta_exact"`
	Threshold  string       `json:"threshold"`
	Formula    string       `json:"formula"`
}

// Replay measures a recorded candidate again beside the baseline it was made
// on, as the run froze how, and decides again. A metric's baseline gets its
// noise_repeats readings, so its noise floor is that of now. Guards and the
// invariant are not asked again: they look at what does not change. Nothing of
// the run is written.
//
// Source: CLI.md, Reading the history.
func (e *Engine) Replay(ctx context.Context, q ReplayRequest) (v Replay, err error) {
	rec, err := e.replayable(ctx, q)
	if err != nil {
		return v, err
	}
	a, err := e.measureAgain(ctx, q.Run, q.Setup)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	v = Replay{
		Run: rec.Run, Experiment: rec.Experiment, Target: q.Run.Config.Target, Baseline: rec.Decision.Baseline, Candidate: rec.Decision.Candidate,
		Recorded: replayFigure(rec), NoResult: []string{}, Warnings: []string{},
	}
	try := &attempt{
		number: q.Number, name: rec.Experiment, candidate: gitstore.Hash(rec.Decision.Candidate),
		record: journal.Record{Run: rec.Run, Experiment: rec.Experiment},
	}
	if a.skill != nil {
		err = a.replaySkill(ctx, try, &v, q.Begin)
	} else {
		err = a.replayMetric(ctx, try, &v, q.Begin)
	}
	if err != nil {
		return v, err
	}
	if try.record.Decision.Word == "" {
		try.record.Decision.Word = string(try.verdict.Decision)
	}
	v.Again = replayFigure(try.record)
	v.Same = v.Again.Decision == v.Recorded.Decision
	return v, nil
}

// replayable is the record of an experiment whose candidate was measured, and
// is still there.
func (e *Engine) replayable(ctx context.Context, q ReplayRequest) (journal.Record, error) {
	full := q.Run.Name + "/" + q.Experiment
	rec, err := journal.ReadRecord(ctx, e.Repo, q.Run.Tip, q.Run.Name, q.Number, q.Experiment)
	if errors.Is(err, gitstore.ErrNotFound) {
		return rec, fault.New(fault.Usage, "forge log "+q.Run.Name+" lists them", "run %s has no %s", q.Run.Name, q.Experiment)
	}
	if err != nil {
		return rec, err
	}
	show := "forge show " + full + " says why"
	switch {
	case rec.Guard != nil:
		return rec, fault.New(fault.Usage, show, "%s was refused by the guard %s and never measured", full, rec.Guard.Name)
	case rec.Decision.Candidate == "":
		return rec, fault.New(fault.Usage, show, "%s has no candidate: it ended as %s", full, rec.Decision.Word)
	}
	_, err = e.Repo.ReadCommit(ctx, gitstore.Hash(rec.Decision.Candidate))
	if errors.Is(err, gitstore.ErrNotFound) {
		return rec, fault.New(fault.Usage, "a clone that has it gives it: git fetch REMOTE "+candidateRef(q.Run.Name, q.Experiment),
			"the candidate of %s, %s, is not in this repository", full, gitstore.Hash(rec.Decision.Candidate).Short())
	}
	return rec, err
}

// replayFigure reads the figures of a record.
func replayFigure(rec journal.Record) ReplayFigure {
	f := ReplayFigure{Decision: rec.Decision.Word, Reason: rec.Decision.Reason}
	facts, measured := rec.Decision.Facts()
	if !measured {
		return f
	}
	f.Baseline, f.Candidate, _ = rec.Figures()
	f.Delta, f.Exact, f.Threshold, f.Formula = &facts.Delta, facts.DeltaExact, facts.ThresholdExact, facts.Formula
	if rec.BaselineReading != nil {
		f.NoiseFloor = rec.BaselineReading.NoiseFloor
	}
	return f
}

// replaySkill measures both sides on val, as an experiment does.
func (a *again) replaySkill(ctx context.Context, try *attempt, v *Replay, begin func(string)) error {
	k, list := a.skill, a.skill.of(evals.Val)
	var err error
	if a.baseline, err = newStored(countBaseline("0"), "fresh"); err != nil {
		return err
	}
	begin(count(k.runsOf(list, baselineUse{}), "run") + " of " + count(len(list), "eval"))
	results, err := k.measure(ctx, question{
		run: a.Run(), dir: a.target.dir, commits: [2]gitstore.Hash{gitstore.Hash(v.Baseline), try.candidate}, list: list,
	})
	if err != nil {
		return err
	}
	if leftBehind(results) > 0 {
		v.Warnings = append(v.Warnings, "children_left")
	}
	sides, _, missing, err := k.scores(a.engine.Repo.Crash(), a.folder("sides"), list, results)
	if err != nil {
		return err
	}
	v.NoResult = append(v.NoResult, missing...)
	if 4*len(missing) > len(list) { // no measurement
		try.gaveNothing("no_result", "evals without a result: "+strings.Join(missing, ", ")+firstReason(results))
		return nil
	}
	return a.decideSkill(try, sides)
}

// gaveNothing ends an attempt as the run would (roles.md section 14).
func (a *attempt) gaveNothing(reason, detail string) {
	why := &handoff.SkipError{Reason: reason, Detail: detail}
	a.record.Decision.Word, a.record.Decision.Reason = string(verdict.Skip), scan.Scrub(handoff.Clean(why.Error()))
}

// replayMetric measures the baseline, then the candidate.
func (a *again) replayMetric(ctx context.Context, try *attempt, v *Replay, begin func(string)) error {
	m := a.journal.Config.Metric
	begin(fmt.Sprintf("%s of the baseline and %d of the candidate", count(m.NoiseRepeats, "reading"), m.MetricRepeats))
	b, _, err := a.measureBaseline(ctx, gitstore.Hash(v.Baseline), "baseline", "baseline")
	if failed, ok := errors.AsType[*broken](err); ok {
		return fault.New(fault.Failed, "the metric may need what --pass-env hands on", "the metric gave no number on the baseline %s: %s", gitstore.Hash(v.Baseline).Short(), failed.failure.Message)
	}
	if err != nil {
		return err
	}
	if a.baseline, err = newStored(b, "again"); err != nil {
		return err
	}
	r, err := a.measure(ctx, try.candidate, "candidate", m.MetricRepeats)
	if failed, ok := errors.AsType[*broken](err); ok {
		try.gaveNothing(failed.failure.Kind, failed.failure.Message)
		return nil
	}
	if err != nil {
		return err
	}
	v.Warnings = append(v.Warnings, r.warnings...)
	return a.decide(try, r, metric.Median(r.values))
}
