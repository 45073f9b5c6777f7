package loop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"forge/gitstore"
	"forge/loop/journal"
)

// again measures states of a run with what the run froze, beside it: the run
// gets no commit, no ref and no evidence, and its lock is left alone. What the
// measurements print goes with the scratch directory.
type again struct {
	*Session
	scratch *gitstore.Export // its record tells the next forge what a killed one left
}

// measureAgain opens a run for that. Only the runner's and the metric's share
// of the setup is looked at. The caller closes it.
func (e *Engine) measureAgain(ctx context.Context, r RunRef, setup Setup) (a *again, err error) {
	run := r.Config
	base := gitstore.Hash(run.Base)
	s := &Session{engine: e, setup: setup, began: time.Now(), branch: r.Branch, tip: r.Tip, journal: journal.New(run)}
	if s.target, err = e.targetOf(ctx, base, &run); err != nil {
		return nil, err
	}
	if s.target.dir == "" {
		start, _, err := e.sizes(ctx, base, s.target, run.Guards.MaxScopeFiles)
		if err != nil {
			return nil, err
		}
		s.target.dir = deepestDir(start)
	}
	if s.bars, err = barsOf(run); err != nil {
		return nil, err
	}
	if run.Mode == ModeSkill {
		if err := s.loadSkill(ctx, run, base); err != nil {
			return nil, err
		}
	}
	a = &again{Session: s}
	if a.scratch, err = e.Repo.NewExport(ctx, gitstore.ExportPlan{Run: run.Run}); err != nil {
		return nil, err
	}
	if run.Mode == ModeSkill {
		return a, nil
	}
	b, err := s.openBench(ctx)
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	b.evidence = a.folder("evidence")
	return a, nil
}

// folder is a directory of the scratch.
func (a *again) folder(name string) string { return filepath.Join(a.scratch.Tmp, name) }

// close removes every export.
func (a *again) close() error {
	if err := errors.Join(a.Session.Close(), a.scratch.Remove()); err != nil {
		return fmt.Errorf("remove what a measurement left: %w", err)
	}
	return nil
}
