package loop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/metric"
	"forge/loop/verdict"
)

// Audit is the document of `forge audit`: what of a run follows from its own
// committed evidence. Findings are in the order of the history; the first is
// the first commit that does not follow.
type Audit struct {
	Run         string         `json:"run"`
	Base        string         `json:"base"`
	Tip         string         `json:"tip"`
	OK          bool           `json:"ok"`
	Experiments int            `json:"experiments"`
	Verdicts    int            `json:"verdicts"`         // recomputed
	Checked     int            `json:"evidence_checked"` // raw outputs that have the hash their record names
	Missing     int            `json:"evidence_missing"` // and those that are not in this clone
	Findings    []AuditFinding `json:"findings"`
}

// AuditFinding is one thing that does not follow.
type AuditFinding struct {
	Commit     string `json:"commit"`
	Experiment string `json:"experiment"` // "" for a commit that is none
	Message    string `json:"message"`
}

// auditor walks a run from its start.
type auditor struct {
	engine *Engine
	run    RunRef
	report Audit
	at     gitstore.CommitInfo // the commit that is looked at
	before gitstore.Hash       // its first parent

	journal  journal.Journal
	bars     verdict.Bars
	baseline stored
	ended    bool
}

// Audit recomputes a run from its committed files: every verdict from its
// readings or counts and the frozen thresholds, every baseline, every line of
// the logs from its record, and from the trees that a commit changed nothing
// else (gitstore.md R-RUN-3). Raw outputs are held against their hashes where
// this clone has them.
func (e *Engine) Audit(ctx context.Context, r RunRef) (Audit, error) {
	a := &auditor{engine: e, run: r, report: Audit{
		Run: r.Name, Base: r.Config.Base, Tip: string(r.Tip), Findings: []AuditFinding{},
	}}
	var line []gitstore.CommitInfo
	err := e.Repo.FirstParents(ctx, r.Tip, func(c gitstore.CommitInfo) (bool, error) {
		if string(c.Hash) == r.Config.Base {
			return false, nil
		}
		line = append(line, c)
		return !(c.Trailer("Forge-Action") == "run-start" && c.Trailer("Forge-Run") == r.Name), nil
	})
	if err != nil {
		return Audit{}, err
	}
	slices.Reverse(line)
	if len(line) == 0 || line[0].Trailer("Forge-Action") != "run-start" {
		return Audit{}, fault.New(fault.Failed, "", "run %s has no run-start commit between %s and its tip", r.Name, gitstore.Hash(r.Config.Base).Short())
	}
	for _, c := range line {
		a.at, a.before = c, ""
		if len(c.Parents) > 0 {
			a.before = c.Parents[0]
		}
		if err := a.commit(ctx); err != nil {
			return Audit{}, fmt.Errorf("audit %s: %w", c.Hash.Short(), err)
		}
	}
	a.report.OK = len(a.report.Findings) == 0
	return a.report, nil
}

// find records that something about the commit does not follow.
func (a *auditor) find(format string, args ...any) {
	a.report.Findings = append(a.report.Findings, AuditFinding{
		Commit: string(a.at.Hash), Experiment: a.at.Trailer("Forge-Experiment"), Message: fmt.Sprintf(format, args...),
	})
}

// commit audits one commit of the run's first-parent line.
func (a *auditor) commit(ctx context.Context) error {
	switch {
	case a.at.Trailer("Forge-Run") != a.run.Name:
		a.find("the commit is not one of run %s", a.run.Name)
		return nil
	case a.at.Trailer("Forge-Action") == "run-start":
		return a.start(ctx)
	case a.at.Trailer("Forge-Action") == "run-end":
		return a.onlyChanged(ctx, []string{journal.ReportPath(a.run.Name)}, "")
	case a.at.Trailer("Forge-Experiment") != "":
		return a.experiment(ctx)
	}
	a.find("the commit is neither a start, an experiment nor an end")
	return nil
}

// start reads the frozen configuration and recomputes the first baseline.
func (a *auditor) start(ctx context.Context) error {
	data, err := a.engine.Repo.ReadFile(ctx, a.at.Hash, journal.ConfigPath(a.run.Name))
	if err != nil {
		return err
	}
	config, err := journal.DecodeRun(data)
	if err != nil {
		a.find("%v", err)
		return nil
	}
	a.journal = journal.New(config)
	if a.bars, err = barsOf(config); err != nil {
		a.find("%v", err)
		return nil
	}
	if string(a.before) != config.Base {
		a.find("the run says it began at %s, and its start stands on %s", gitstore.Hash(config.Base).Short(), a.before.Short())
	}
	a.checkBaseline(config.Baseline, "start")
	return a.onlyChanged(ctx, []string{journal.ConfigPath(a.run.Name)}, "")
}

// checkBaseline recomputes median and noise floor from the readings and makes
// the baseline the one that what follows is compared with.
func (a *auditor) checkBaseline(b journal.Baseline, what string) {
	if a.journal.Config.Mode != ModeSkill {
		values, err := ratsOf(b.Values)
		floor, floorErr := metric.NoiseFloor(values, a.journal.Config.Metric.Relative)
		switch {
		case err != nil:
			a.find("the readings of the baseline: %v", err)
		case floorErr != nil:
			a.find("the readings of the baseline: %v", floorErr)
		case verdict.Shortest(floor.Median) != b.Median || verdict.Exact(floor.NoiseFloor) != b.NoiseFloor:
			a.find("the baseline says median %s and noise floor %s, and its readings give %s and %s",
				b.Median, b.NoiseFloor, verdict.Shortest(floor.Median), verdict.Exact(floor.NoiseFloor))
		}
	}
	s, err := newStored(b, "stored@"+what)
	if err != nil {
		a.find("the baseline: %v", err)
		return
	}
	a.baseline = s
}

func ratsOf(numbers []json.Number) ([]*big.Rat, error) {
	values := make([]*big.Rat, len(numbers))
	for i, n := range numbers {
		var err error
		if values[i], err = verdict.ParseExact(n.String()); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// experiment audits one verdict commit.
func (a *auditor) experiment(ctx context.Context) error {
	a.report.Experiments++
	n := len(a.journal.Lines) + 1
	name := fmt.Sprintf("exp-%03d", n)
	if got := a.at.Trailer("Forge-Experiment"); got != name {
		a.find("the commit is of %s, and %s comes next", got, name)
		return nil
	}
	rec, err := journal.ReadRecord(ctx, a.engine.Repo, a.at.Hash, a.run.Name, n, name)
	if err != nil {
		a.find("%v", err)
		return nil
	}
	measured := rec.Decision.Verdict != nil
	if measured {
		a.recompute(rec)
		a.report.Verdicts++
	}
	if word := a.at.Trailer("Forge-Decision"); word != rec.Decision.Word {
		a.find("the trailer says %s and the record %s", word, rec.Decision.Word)
	}
	if err := a.checkTrees(ctx, rec); err != nil {
		return err
	}
	if err := a.checkFiles(ctx, rec); err != nil {
		return err
	}
	if rec.Rebaseline != nil {
		a.checkBaseline(*rec.Rebaseline, name)
	} else if _, kept, ok := rec.Figures(); ok && a.journal.Config.Mode == ModeSkill && rec.Decision.Word == string(verdict.Keep) {
		a.checkBaseline(countBaseline(kept), name)
	} else if rec.Decision.Word == string(verdict.Keep) {
		a.find("a KEEP without the readings of its new baseline")
	}
	return a.checkEvidence(rec)
}

// recompute decides again from the record's readings or counts, and compares
// every member of the verdict.
func (a *auditor) recompute(rec journal.Record) {
	candidate, baseline, ok := a.sides(rec)
	if !ok {
		return
	}
	bars := a.bars
	if a.baseline.noiseFloor != nil && a.baseline.noiseFloor.Cmp(bars.NoiseFloor) > 0 {
		bars.NoiseFloor = a.baseline.noiseFloor
	}
	v, err := verdict.Decide(candidate, baseline, bars)
	if err != nil {
		a.find("the verdict cannot be computed again: %v", err)
		return
	}
	document, err := v.MarshalJSON()
	if err != nil {
		a.find("the verdict cannot be computed again: %v", err)
		return
	}
	var want, got map[string]json.RawMessage
	if json.Unmarshal(document, &want) != nil || json.Unmarshal(rec.Decision.Verdict, &got) != nil {
		a.find("the verdict is no object")
		return
	}
	for _, key := range sortedKeys(want) {
		if !sameJSON(want[key], got[key]) {
			a.find("%s is %s, and the readings give %s", key, or(string(got[key]), "missing"), want[key])
			return
		}
	}
	if want, got := verdict.Fixed(v.Delta, 6, true), a.at.Trailer("Forge-Delta"); want != got {
		a.find("the trailer Forge-Delta is %s, and the readings give %s", got, want)
	}
}

// sides are the two scores of a record, each checked on its own first.
func (a *auditor) sides(rec journal.Record) (candidate, baseline verdict.Score, ok bool) {
	if a.journal.Config.Mode == ModeSkill {
		var sides [2]verdict.Score
		for i, file := range []json.RawMessage{rec.ScoreBaseline, rec.ScoreWithMutation} {
			err := evals.CheckScore(file)
			if err == nil {
				sides[i], err = verdict.ReadScoreFile(file)
			}
			if err != nil {
				a.find("%s: %v", []string{"score_baseline", "score_with_mutation"}[i], err)
				return candidate, baseline, false
			}
		}
		return sides[1], sides[0], true
	}
	if rec.Reading == nil || rec.BaselineReading == nil {
		a.find("a verdict without readings")
		return candidate, baseline, false
	}
	if was, is := rec.BaselineReading, a.baseline; was.Median != is.Median || was.NoiseFloor != is.NoiseFloor || was.Source != is.source || !slices.Equal(was.Values, is.Values) {
		a.find("the baseline it was compared with is not that of %s", strings.TrimPrefix(is.source, "stored@"))
		return candidate, baseline, false
	}
	values, err := ratsOf(rec.Reading.Values)
	if err != nil || len(values) == 0 {
		a.find("the candidate's readings: %v", err)
		return candidate, baseline, false
	}
	median := metric.Median(values)
	if got := verdict.Shortest(median); got != rec.Reading.Median {
		a.find("the candidate's median is %s, and its readings give %s", rec.Reading.Median, got)
		return candidate, baseline, false
	}
	return verdict.Decimal(median), verdict.Decimal(a.baseline.median), true
}

// checkTrees holds the record's ids against what the commits hold.
func (a *auditor) checkTrees(ctx context.Context, rec journal.Record) error {
	if got := a.at.Trailer("Forge-Candidate"); got != rec.Decision.Candidate {
		a.find("the trailer Forge-Candidate is %q and the record says %q", got, rec.Decision.Candidate)
	}
	if rec.Mutation == nil {
		return nil
	}
	before, err := a.engine.Repo.StateOf(ctx, a.before)
	if err != nil {
		return err
	}
	if string(before) != rec.Mutation.BaseTree {
		a.find("the record's base_tree is not what the commit before it holds")
	}
	if rec.Decision.Candidate == "" {
		return nil
	}
	candidate, err := a.engine.Repo.ReadCommit(ctx, gitstore.Hash(rec.Decision.Candidate))
	if errors.Is(err, gitstore.ErrNotFound) {
		a.find("the candidate %s is not in this repository", gitstore.Hash(rec.Decision.Candidate).Short())
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.Equal(candidate.Parents, []gitstore.Hash{a.before}) {
		a.find("the candidate was not made on the commit before the verdict")
	}
	tried, err := a.engine.Repo.StateOf(ctx, candidate.Hash)
	if err == nil && string(tried) != rec.Mutation.Tree {
		a.find("the record's tree is not what the candidate holds")
	}
	return err
}

// checkFiles writes the journal again from the record: every byte of the run's
// files must be that, and nothing else may have changed but, with a KEEP, the
// target as the candidate has it.
func (a *auditor) checkFiles(ctx context.Context, rec journal.Record) error {
	next, edits, err := a.journal.Add(rec, a.before)
	if err != nil {
		a.find("the journal cannot be written again: %v", err)
		return nil
	}
	a.journal = next
	var paths []string
	for _, edit := range edits {
		paths = append(paths, edit.Path)
		data, err := a.engine.Repo.ReadFile(ctx, a.at.Hash, edit.Path)
		if errors.Is(err, gitstore.ErrNotFound) {
			a.find("%s is missing", edit.Path)
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(data, edit.Data) {
			a.find("%s is not what the record gives", edit.Path)
		}
	}
	kept := gitstore.Hash("")
	if IsKept(a.at) {
		kept = gitstore.Hash(rec.Decision.Candidate)
		if !slices.Contains(a.at.Parents[1:], kept) {
			a.find("the candidate that was kept is no parent of the commit")
			return nil
		}
	}
	return a.onlyChanged(ctx, paths, kept)
}

// onlyChanged finds what the commit changed beside the paths named. With a
// kept candidate its changes must be there, exactly.
func (a *auditor) onlyChanged(ctx context.Context, paths []string, kept gitstore.Hash) error {
	from := a.before
	if kept != "" {
		from = kept // what the candidate has is the change
	}
	differences, err := a.engine.Repo.DiffTrees(ctx, from, a.at.Hash)
	if err != nil {
		return err
	}
	for _, d := range differences {
		if !slices.Contains(paths, d.Path) {
			a.find("the commit changes %s, which does not follow from its record", d.Path)
			return nil
		}
	}
	return nil
}

// checkEvidence holds the raw outputs of an experiment against their hashes.
func (a *auditor) checkEvidence(rec journal.Record) error {
	dir := filepath.Join(a.engine.Repo.ForgeDir(), "evidence", a.run.Name)
	for _, e := range rec.Decision.Evidence {
		if !filepath.IsLocal(e.Path) {
			a.find("the evidence %q lies outside the run's", e.Path)
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(e.Path)))
		if errors.Is(err, fs.ErrNotExist) {
			a.report.Missing++
			continue
		}
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != e.SHA256 {
			a.find("the evidence %s is not what was recorded", e.Path)
			continue
		}
		a.report.Checked++
	}
	return nil
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// sameJSON compares two values by their compact text.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
