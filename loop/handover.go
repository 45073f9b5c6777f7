package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// Folder is where `forge next` puts a brief and the working copy that goes
// with it (handoff.md R-NEXT-3). A temporary directory is shared: the folder
// forge uses there must be the user's own, or it is refused.
func (s *Session) Folder(temporary string, uid int) (string, error) {
	own, base := s.engine.folders(temporary, uid)
	if err := gitstore.PrivateDir(own); err != nil {
		return "", err
	}
	return filepath.Join(base, s.Run(), handoff.ExperimentName(len(s.journal.Lines)+1)), nil
}

// folders are the user's folder in a temporary directory, and the one in it
// that belongs to this repository.
func (e *Engine) folders(temporary string, uid int) (own, base string) {
	sum := sha256.Sum256([]byte(e.Repo.CommonDir()))
	own = filepath.Join(temporary, fmt.Sprintf("forge-%d", uid))
	return own, filepath.Join(own, hex.EncodeToString(sum[:])[:8])
}

// HandOver writes a brief's folder: brief.json, brief.md, work/ and evidence/.
// A working copy that is there is left as it is unless fresh says otherwise.
// The brief that is returned names the folder's own paths; it has the same
// bytes every time.
func (s *Session) HandOver(ctx context.Context, dir string, fresh bool) (handoff.Brief, error) {
	brief, err := s.Next(ctx)
	if err != nil {
		return handoff.Brief{}, err
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return handoff.Brief{}, fmt.Errorf("make the brief's folder: %w", err)
	}
	if err := s.writeWork(ctx, work, fresh); err != nil {
		return handoff.Brief{}, err
	}
	brief.Work = &work
	if err := s.writeEvidence(filepath.Join(dir, "evidence"), &brief); err != nil {
		return handoff.Brief{}, err
	}
	encoded, err := brief.Encode()
	if err != nil {
		return handoff.Brief{}, err
	}
	for name, data := range map[string][]byte{"brief.json": encoded, "brief.md": brief.Markdown()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return handoff.Brief{}, fmt.Errorf("write the brief: %w", err)
		}
	}
	return brief, nil
}

func (s *Session) writeWork(ctx context.Context, work string, fresh bool) error {
	_, err := os.Lstat(work)
	switch {
	case err == nil && !fresh:
		return nil
	case err == nil:
		if err := os.RemoveAll(work); err != nil {
			return fmt.Errorf("make the working copy new: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at the working copy: %w", err)
	}
	// A copy that is written under another name first is whole or not there.
	part := work + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("make the working copy: %w", err)
	}
	if err := os.Mkdir(part, 0o700); err != nil {
		return fmt.Errorf("make the working copy: %w", err)
	}
	if err := s.engine.Repo.CopyOut(ctx, s.tip, s.target.dir, part); err != nil {
		return err
	}
	return os.Rename(part, work)
}

// writeEvidence copies what the unchanged state gave: what the metric printed
// last, or the outputs of the train evals it fails.
func (s *Session) writeEvidence(dir string, brief *handoff.Brief) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the evidence folder: %w", err)
	}
	if s.skill != nil {
		return s.writeOutputs(dir, brief)
	}
	folder := "start"
	if name, ok := strings.CutPrefix(s.baseline.source, "stored@exp-"); ok {
		folder = filepath.Join("exp-"+name, "again")
	}
	data, err := os.ReadFile(filepath.Join(s.engine.Repo.ForgeDir(), "evidence", s.Run(), folder, fmt.Sprintf("metric-%d.txt", len(s.baseline.Values))))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another clone measured it
	}
	if err != nil {
		return fmt.Errorf("read the metric's last output: %w", err)
	}
	name := filepath.Join(dir, "metric.txt")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return fmt.Errorf("write the metric's last output: %w", err)
	}
	if brief.Readings != nil {
		brief.Readings.LastOutput = &name
	}
	return nil
}

// writeOutputs writes the outputs of failing train evals, a folder each, and
// names them in the brief.
func (s *Session) writeOutputs(dir string, brief *handoff.Brief) error {
	outputs := map[string][]runner.Evidence{}
	for i, r := range s.skill.trained[s.state] {
		outputs[s.skill.of(evals.Train)[i].ID] = r.Sides[runner.Baseline].Evidence
	}
	for i, f := range brief.Failures {
		folder := filepath.Join(dir, fmt.Sprintf("%03d", i+1)) // an id may be no name of a file
		for _, out := range outputs[f.Eval] {
			if out.Name != "output.txt" && !strings.HasPrefix(out.Name, "outputs/") || !filepath.IsLocal(out.Name) {
				continue
			}
			name := filepath.Join(folder, filepath.FromSlash(out.Name))
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return fmt.Errorf("make the evidence folder: %w", err)
			}
			if err := os.WriteFile(name, out.Data, 0o600); err != nil {
				return fmt.Errorf("write the output of %q: %w", f.Eval, err)
			}
			if out.Name == "output.txt" {
				brief.Failures[i].Output = &name
			}
		}
	}
	return nil
}

// Over is the answer to `forge next` on a run that is finished.
func (e *Engine) Over(ctx context.Context, r RunRef) (handoff.Over, error) {
	experiments, err := e.Experiments(ctx, r)
	if err != nil {
		return handoff.Over{}, err
	}
	kept := 0
	for _, x := range experiments {
		if IsKept(x) {
			kept++
		}
	}
	return handoff.Over{Schema: handoff.BriefSchema, Run: r.Name, Finished: handoff.Finished{
		Reason: string(r.Ended), Report: journal.ReportPath(r.Name), Kept: kept, Land: "forge land " + r.Name,
	}}, nil
}

// EndIfDue ends the run if a stop rule holds.
func (s *Session) EndIfDue(ctx context.Context) (*handoff.Finished, error) {
	reason, err := s.stop()
	if err != nil || reason == "" {
		return nil, err
	}
	f, err := s.finish(ctx, reason)
	if err != nil {
		return nil, err
	}
	return &handoff.Finished{Reason: string(f.Reason), Report: f.Report, Kept: f.Kept, Land: f.Land}, nil
}

// briefID is the shape of a brief's id.
var briefID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// FindBrief is the open run whose next experiment has that brief. One that no
// run would give now is stale (R-SUB-3).
func (e *Engine) FindBrief(ctx context.Context, id string) (RunRef, error) {
	if !briefID.MatchString(id) {
		return RunRef{}, fault.New(fault.Usage, "forge next prints it", "%q is no brief id; one has 16 hex digits", id)
	}
	runs, err := e.Runs(ctx)
	if err != nil {
		return RunRef{}, err
	}
	hint := "forge next gives a new one"
	for i := len(runs) - 1; i >= 0; i-- {
		if !runs[i].Open() {
			continue
		}
		j, err := journal.Load(ctx, e.Repo, runs[i].Tip, runs[i].Name)
		if err != nil {
			return RunRef{}, err
		}
		now := handoff.ID(string(runs[i].Tip), handoff.ExperimentName(len(j.Lines)+1))
		if now == id {
			return runs[i], nil
		}
		hint = fmt.Sprintf("the brief of run %s is now %s", runs[i].Name, now)
	}
	return RunRef{}, fault.New(fault.Conflict, hint, "brief %s is stale: the run went on since", id)
}

// BriefID is the id of the brief the session would give now.
func (s *Session) BriefID() string {
	return handoff.ID(string(s.tip), handoff.ExperimentName(len(s.journal.Lines)+1))
}

// WorkEdits is what a directory changes against the working copy that
// `forge next` wrote (R-SUB-1).
func (s *Session) WorkEdits(ctx context.Context, dir string) ([]gitstore.Edit, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault.New(fault.Usage, "forge next writes one; or give a patch", "read the working copy: %w", err)
	}
	if len(entries) == 0 {
		return nil, fault.New(fault.Usage, "give a patch if you mean to delete everything", "the directory %q is empty", dir)
	}
	edits, err := s.engine.Repo.CompareDir(ctx, s.tip, s.target.dir, dir, handoff.MaxFileBytes)
	if err != nil && fault.KindOf(err) == fault.Failed {
		err = fault.New(fault.Usage, "", "%w", err)
	}
	return edits, err
}

// Answer is Submit for a proposal that a person or another program hands in: a
// patch that cannot be used is bad input and records nothing (R-SUB-4). An
// experiment that was open is finished instead, and the run is ended if a stop
// rule holds afterwards.
func (s *Session) Answer(ctx context.Context, p handoff.Proposal) (handoff.Result, error) {
	id := s.BriefID()
	open, err := s.openCandidate(ctx)
	if err != nil {
		return handoff.Result{}, err
	}
	var warnings []string
	if open {
		warnings = []string{"this experiment was begun before: what was handed in then was measured, not what is handed in now"}
	} else {
		if _, err := s.resolve(ctx, p); err != nil {
			if skip, ok := errors.AsType[*handoff.SkipError](err); ok {
				return handoff.Result{}, fault.New(fault.Usage, "the brief stays valid", "the patch cannot be used: %s", skip.Detail)
			}
			return handoff.Result{}, err
		}
		if _, err := s.Submit(ctx, p); err != nil {
			return handoff.Result{}, err
		}
	}
	r, err := s.result(ctx, id)
	r.Warnings = append(r.Warnings, warnings...)
	return r, err
}

// Decline ends the experiment as SKIP without a candidate.
func (s *Session) Decline(ctx context.Context, reason string) (handoff.Result, error) {
	id := s.BriefID()
	a := s.newAttempt(journal.Hypothesis{Category: "unknown"})
	if _, err := s.skip(ctx, a, &handoff.SkipError{Reason: "skipped", Detail: handoff.Clean(reason)}, false); err != nil {
		return handoff.Result{}, err
	}
	return s.result(ctx, id)
}

// result is the newest experiment as its proposer may see it.
func (s *Session) result(ctx context.Context, id string) (handoff.Result, error) {
	rec := s.last
	r := handoff.Result{
		Schema: handoff.ResultSchema, Run: s.Run(), Experiment: rec.Experiment, BriefID: id, Decision: rec.Decision.Word, Crash: rec.Decision.Crash,
		Commit: string(s.tip), DurationS: rec.Timing.DurationS, CostUSD: rec.CostUSD, Warnings: []string{}, Next: "forge next --run " + s.Run(),
	}
	text := func(t string) *string {
		if t == "" {
			return nil
		}
		return &t
	}
	r.Reason = text(rec.Decision.Reason)
	if rec.Guard != nil {
		r.Guard = &rec.Guard.Name
	}
	if rec.Decision.Candidate != "" {
		r.CandidateRef, r.CandidateCommit = text(candidateRef(s.Run(), rec.Experiment)), text(rec.Decision.Candidate)
	}
	if facts, measured := rec.Decision.Facts(); measured {
		r.NearMiss, r.Delta, r.DeltaExact = facts.NearMiss, &facts.Delta, &facts.DeltaExact
		r.Threshold, r.Binding, r.Formula = &facts.ThresholdExact, &facts.BindingThreshold, &facts.Formula
		before, after, _ := rec.Figures()
		r.Baseline, r.Candidate, r.Confidence = point(before), point(after), facts.Confidence()
		if advice := facts.Advisory; advice != nil {
			r.MidP = advice.MidP
			if e := advice.Evals; e != nil {
				r.Wins, r.Losses, r.Ties, r.EvalsRun = int(e.Wins), int(e.Losses), int(e.Ties), int(e.N)
			}
		}
		if rec.Reading != nil {
			r.Warnings = append(r.Warnings, rec.Reading.Warnings...)
		}
	}
	var err error
	r.Finished, err = s.EndIfDue(ctx)
	return r, err
}

// point is a figure in its two forms, nil for text that is none.
func point(exact string) *handoff.Point {
	value, err := verdict.ParseExact(exact)
	if err != nil {
		return nil
	}
	return &handoff.Point{Score: verdict.Rounded(value, 6), Exact: exact}
}

// SweepFolders removes the folders of experiments that are over and of runs
// that are gone, below what [Session.Folder] uses (R-NEXT-3). Only folders of
// the names forge gives are touched.
func (e *Engine) SweepFolders(ctx context.Context, temporary string, uid int) error {
	own, base := e.folders(temporary, uid)
	if _, err := os.Lstat(own); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := gitstore.PrivateDir(own); err != nil {
		return nil // somebody else's: nothing of forge's is in it
	}
	folders, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for old briefs: %w", err)
	}
	runs, err := e.Runs(ctx)
	if err != nil {
		return err
	}
	current := map[string]string{} // by run: the experiment whose folder stays
	for _, r := range runs {
		if !r.Open() {
			continue
		}
		j, err := journal.Load(ctx, e.Repo, r.Tip, r.Name)
		if err != nil {
			return err
		}
		current[r.Name] = handoff.ExperimentName(len(j.Lines) + 1)
	}
	for _, folder := range folders {
		if err := sweepRun(filepath.Join(base, folder.Name()), current[folder.Name()]); err != nil {
			return err
		}
	}
	return nil
}

// sweepRun removes the experiment folders of one run but the one that stays,
// and the run's own folder if it is empty then.
func sweepRun(dir, stays string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for old briefs: %w", err)
	}
	left := 0
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "exp-") || entry.Name() == stays {
			left++
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove an old brief: %w", err)
		}
	}
	if left > 0 {
		return nil
	}
	return os.Remove(dir)
}
