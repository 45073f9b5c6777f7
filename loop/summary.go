package loop

import (
	"context"
	"fmt"
	"math/big"

	"forge/gitstore"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// Summary is what a report is made of: values read from commits, nothing
// measured and nothing remembered.
type Summary struct {
	Run      journal.Run
	Branch   string // as a person types it
	Reason   Reason // "" while the run is open
	Lines    []journal.Line
	Baseline journal.Baseline // of the best state
	Source   string           // where that baseline was measured: stored@start or stored@exp-NNN
	Gain     *big.Rat         // from start to end, oriented; relative where the run is
	Binding  string           // the bar a gain had to pass
	Bar      string           // its shortest exact text
}

// summary is the session's run as a report sees it.
func (s *Session) summary(_ context.Context, reason Reason) (Summary, error) {
	start, err := verdict.ParseExact(s.journal.Config.Baseline.Median)
	if err != nil {
		return Summary{}, err
	}
	tie, err := verdict.Decide(verdict.Decimal(start), verdict.Decimal(start), s.shownBars())
	if err != nil {
		return Summary{}, err
	}
	return Summary{
		Run: s.journal.Config, Branch: shortBranch(s.branch), Reason: reason, Lines: s.journal.Lines,
		Baseline: s.baseline.Baseline, Source: s.baseline.source, Gain: s.improvement(start, s.baseline.median),
		Binding: string(tie.Binding), Bar: verdict.Shortest(tie.Threshold),
	}, nil
}

// Summarise reads a run for a report without holding it.
func (e *Engine) Summarise(ctx context.Context, r RunRef) (Summary, error) {
	j, err := journal.Load(ctx, e.Repo, r.Tip, r.Name)
	if err != nil {
		return Summary{}, err
	}
	s := &Session{engine: e, branch: r.Branch, seen: map[string]string{}}
	if s.target, err = e.targetOf(ctx, gitstore.Hash(j.Config.Base), &j.Config); err != nil {
		return Summary{}, err
	}
	if s.bars, err = barsOf(j.Config); err != nil {
		return Summary{}, err
	}
	if err := s.readBaseline(ctx, r.Tip, j); err != nil {
		return Summary{}, fmt.Errorf("read the baseline of run %q: %w", r.Name, err)
	}
	s.journal = j
	if j.Config.Mode == ModeSkill {
		if err := s.loadSkill(ctx, j.Config, gitstore.Hash(j.Config.Base)); err != nil {
			return Summary{}, err
		}
	}
	return s.summary(ctx, r.Ended)
}
