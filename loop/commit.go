package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"forge/gitstore"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// subjectBytes is the longest subject of a commit (gitstore.md R-COM-1).
const subjectBytes = 72

// candidateRef is where a candidate stays, kept or not.
func candidateRef(run, experiment string) string { return "refs/forge/runs/" + run + "/" + experiment }

// candidateChange is the mutation alone: no log, no journal and no verdict
// (gitstore.md R-RUN-2). The hypothesis is the body; its last line carries
// what a resume needs to write the record without asking the proposer again.
func (s *Session) candidateChange(a *attempt) gitstore.Change {
	h := a.record.Hypothesis
	return gitstore.Change{
		Ref: candidateRef(s.Run(), a.name), From: s.tip, Parents: []gitstore.Hash{s.tip}, Edits: a.edits,
		Subject: fold(a.name+" candidate: "+h.Text, subjectBytes),
		Body:    h.Text + "\n\n" + proposalLine(h),
		Trailers: []gitstore.Trailer{
			{Key: "Forge-Run", Value: s.Run()}, {Key: "Forge-Skill", Value: s.target.text},
		},
	}
}

// proposalPrefix begins the line of a candidate's message that a resume reads.
const proposalPrefix = "Proposal: "

func proposalLine(h journal.Hypothesis) string {
	words, err := json.Marshal(h)
	if err != nil {
		panic("a hypothesis is three texts and always has a JSON form: " + err.Error())
	}
	return proposalPrefix + string(words)
}

// hypothesisOf reads back what candidateChange wrote.
func hypothesisOf(c gitstore.CommitInfo) journal.Hypothesis {
	for line := range strings.Lines(c.Body) {
		if words, ok := strings.CutPrefix(strings.TrimSpace(line), proposalPrefix); ok {
			var h journal.Hypothesis
			if json.Unmarshal([]byte(words), &h) == nil {
				return h
			}
		}
	}
	return journal.Hypothesis{Category: "unknown", Text: handoff.Clean(c.Subject)}
}

// commitCandidate makes the candidate an object under its own ref. A ref that
// exists already means that somebody else works on this experiment.
func (s *Session) commitCandidate(ctx context.Context, a *attempt) error {
	if a.candidate != "" {
		return nil // resumed
	}
	s.engine.Repo.Crash().Pass("before candidate")
	commit, err := s.engine.Repo.Commit(ctx, s.candidateChange(a))
	if err != nil {
		return fmt.Errorf("commit the candidate of %s: %w", a.name, err)
	}
	s.engine.Repo.Crash().Pass("after candidate")
	a.candidate = commit
	s.emit("candidate", a.name, CandidateMade{
		Commit: string(commit), Files: len(a.preview.Files), LinesAdded: a.record.Mutation.LinesAdded, LinesRemoved: a.record.Mutation.LinesRemoved,
	})
	return nil
}

// settle writes the verdict: one commit on the run branch, a merge with the
// candidate for KEEP, for everything else a commit that adds to the log and
// leaves the target as it is (gitstore.md R-RUN-3).
func (s *Session) settle(ctx context.Context, a *attempt, decision verdict.Decision) (VerdictReached, error) {
	a.record.Decision.Word = string(decision)
	a.record.Decision.Candidate = string(a.candidate)
	a.record.Timing.DurationS = s.engine.Now().Sub(a.began).Seconds()
	next, edits, err := s.journal.Add(a.record, s.tip)
	if err != nil {
		return VerdictReached{}, err
	}
	change := gitstore.Change{
		Ref: s.branch, Base: s.tip, Edits: edits,
		Subject: s.subject(a, decision), Body: s.body(a), Trailers: s.trailers(a, decision),
	}
	if decision == verdict.Keep {
		change.From, change.Parents = a.candidate, []gitstore.Hash{s.tip, a.candidate}
	}
	s.engine.Repo.Crash().Pass("before verdict")
	commit, err := s.engine.Repo.Commit(ctx, change)
	if err != nil {
		return VerdictReached{}, fmt.Errorf("write the verdict of %s: %w", a.name, err)
	}
	s.engine.Repo.Crash().Pass("after verdict")
	if err := s.take(ctx, a, decision, commit, next); err != nil {
		return VerdictReached{}, err
	}
	reached := s.reached(a, decision, commit)
	s.emit("verdict", a.name, reached)
	return reached, nil
}

// take makes a written verdict the session's state.
func (s *Session) take(ctx context.Context, a *attempt, decision verdict.Decision, commit gitstore.Hash, next journal.Journal) error {
	tree, err := s.engine.Repo.TreeOf(ctx, commit)
	if err != nil {
		return err
	}
	if a.record.Mutation != nil && decision != verdict.NoOp {
		s.saw(string(s.state), string(a.preview.State), s.Run()+"/"+a.name)
	}
	s.tip, s.tipTree, s.journal, s.last = commit, tree, next, a.record
	if decision != verdict.Keep {
		return nil
	}
	for _, f := range a.preview.Files {
		if f.After == nil {
			delete(s.scope, f.Path)
		} else {
			s.scope[f.Path] = guard.SizeOf(f.After.Data)
		}
	}
	s.state, s.files, s.stood = a.preview.State, nil, nil
	if s.skill != nil {
		_, kept, _ := a.record.Figures()
		s.baseline, err = newStored(countBaseline(kept), "fresh")
		return err
	}
	s.baseline, err = newStored(a.rebased, "stored@"+a.name)
	return err
}

// reached is the verdict as an event and a result.
func (s *Session) reached(a *attempt, decision verdict.Decision, commit gitstore.Hash) VerdictReached {
	v := VerdictReached{
		Decision: string(decision), Commit: string(commit), Hypothesis: a.record.Hypothesis.Text, Reason: a.record.Decision.Reason,
	}
	if decision.Measured() {
		v.NearMiss, v.Delta, v.DeltaExact = a.verdict.NearMiss, rounded(a.verdict.Delta), verdict.Exact(a.verdict.Delta)
		v.Threshold, v.Binding = verdict.Exact(a.verdict.Threshold), string(a.verdict.Binding)
	}
	return v
}

// subject is one line of `git log --first-parent --oneline`.
func (s *Session) subject(a *attempt, decision verdict.Decision) string {
	delta, what := "       ", a.record.Hypothesis.Text
	if decision.Measured() {
		delta = verdict.Fixed(a.verdict.Delta, 4, true)
	} else if a.record.Decision.Reason != "" {
		what = a.record.Decision.Reason
	}
	return fold(fmt.Sprintf("%s %-8s %s  %s", a.name, decision, delta, what), subjectBytes)
}

// body is the reasoning of a verdict: what was tried, the formula with its
// figures, and where to look.
func (s *Session) body(a *attempt) string {
	var b strings.Builder
	if a.record.Hypothesis.Text != "" {
		fmt.Fprintf(&b, "%s\n\n", a.record.Hypothesis.Text)
	}
	if a.record.Decision.Verdict != nil {
		b.WriteString(measuredText(a.record, s.journal.Config.Mode))
	}
	if again := a.record.Rebaseline; again != nil {
		fmt.Fprintf(&b, "New baseline: %s, noise floor %s over %d readings of the kept state\n", again.Median, again.NoiseFloor, len(again.Values))
	}
	if a.record.Guard != nil {
		fmt.Fprintf(&b, "Guard: %s: %s\n", a.record.Guard.Name, a.record.Guard.Message)
	} else if a.record.Decision.Reason != "" {
		fmt.Fprintf(&b, "Reason: %s\n", a.record.Decision.Reason)
	}
	fmt.Fprintf(&b, "Show: forge show %s/%s", s.Run(), a.name)
	return b.String()
}

// measuredText is what both sides gave, in the lines that a verdict's commit
// and the commit that lands it share (gitstore.md R-LAND-7).
func measuredText(r journal.Record, mode string) string {
	facts, measured := r.Decision.Facts()
	before, after, ok := r.Figures()
	delta, err := verdict.ParseExact(facts.DeltaExact)
	if !measured || !ok || err != nil {
		return ""
	}
	var b strings.Builder
	where := ""
	if mode == ModeSkill {
		where = " on val"
	}
	fmt.Fprintf(&b, "Measured: %s against %s%s, %s%s\n", after, before, where, verdict.Fixed(delta, 4, true), relativeWord(facts))
	fmt.Fprintf(&b, "Formula: %s\n", facts.Formula)
	if mode == ModeSkill {
		fmt.Fprintf(&b, "Evals: %s", EvalsText(r))
		if text := facts.Advisory.Text(verdict.Decision(r.Decision.Word)); text != "" {
			fmt.Fprintf(&b, "; confidence: %s; advisory", text)
		}
		b.WriteByte('\n')
	} else {
		fmt.Fprintf(&b, "Noise floor: %s over %s of the baseline; %s of the candidate\n", r.BaselineReading.NoiseFloor,
			count(len(r.BaselineReading.Values), "reading"), count(len(r.Reading.Values), "reading"))
	}
	return b.String()
}

func relativeWord(f journal.Facts) string {
	if f.Relative && !f.RelativeFallback {
		return " of the baseline"
	}
	return ""
}

// trailers are the verdict as an API (gitstore.md R-COM-3).
func (s *Session) trailers(a *attempt, decision verdict.Decision) []gitstore.Trailer {
	t := []gitstore.Trailer{
		{Key: "Forge-Run", Value: s.Run()}, {Key: "Forge-Experiment", Value: a.name}, {Key: "Forge-Decision", Value: string(decision)},
	}
	if before, _, ok := a.record.Figures(); ok && decision.Measured() {
		t = append(t, gitstore.Trailer{Key: "Forge-Delta", Value: verdict.Fixed(a.verdict.Delta, 6, true)},
			gitstore.Trailer{Key: "Forge-Baseline", Value: before})
	}
	if a.candidate != "" {
		t = append(t, gitstore.Trailer{Key: "Forge-Candidate", Value: string(a.candidate)})
	}
	return append(t, gitstore.Trailer{Key: "Forge-Skill", Value: s.target.text}, gitstore.Trailer{Key: "Forge-Cost-USD", Value: a.record.CostUSD})
}

// fold makes text one line of at most n bytes, cut between code points.
func fold(text string, n int) string {
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	text = lead + strings.Join(strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
	if len(text) <= n {
		return text
	}
	cut := 0
	for i := range text {
		if i > n-len("...") {
			break
		}
		cut = i
	}
	return text[:cut] + "..."
}

// count is a number with its noun: "1 reading", "5 readings".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
