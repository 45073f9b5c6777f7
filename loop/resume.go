package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop/journal"
)

// Resume goes on with a run from its refs alone (gitstore.md R-RUN-5). A run
// that ended goes on too: its plateau window counts from here on (config.md
// R-CFG-7). Frozen and Name of the setup are not looked at. The caller closes the session.
func (e *Engine) Resume(ctx context.Context, r RunRef, setup Setup) (*Session, error) {
	if r.Branch == "" {
		return nil, fault.New(fault.Usage, "forge run starts a new one, which remembers this one", "the branch of run %q is gone", r.Name)
	}
	release, err := e.Repo.LockRun(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	s := &Session{
		engine: e, setup: setup, began: time.Now(),
		branch: r.Branch, resumed: true, seen: map[string]string{}, release: release,
	}
	// Reading the refs takes moments; an interrupt meanwhile is the loop's to
	// report, with how to go on.
	if err := s.reopen(context.WithoutCancel(ctx), r.Name); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	run := s.journal.Config
	s.emit("run_started", "", RunStarted{
		Target: run.Target, Mode: run.Mode, Branch: shortBranch(s.branch), Base: run.Base, Proposer: ProposerText(run.Proposer),
		Runner: s.runnerText(), MaxExperiments: s.setup.Limits.MaxExperiments, Resumed: true,
	})
	return s, nil
}

// Look opens a run for reading its brief: no lock is taken and nothing can be
// written by mistake, because whoever holds the lock moves the branch.
func (e *Engine) Look(ctx context.Context, r RunRef, setup Setup) (*Session, error) {
	s := &Session{engine: e, setup: setup, began: time.Now(), branch: r.Branch, resumed: true, seen: map[string]string{}}
	return s, s.reopen(ctx, r.Name)
}

// reopen reads the run's state.
func (s *Session) reopen(ctx context.Context, name string) error {
	e := s.engine
	tip, err := e.Repo.Ref(ctx, s.branch)
	if err != nil {
		return err
	}
	if err := e.Repo.CheckNotCheckedOut(ctx, s.branch); err != nil {
		return err
	}
	j, err := journal.Load(ctx, e.Repo, tip, name)
	if err != nil {
		return err
	}
	run := j.Config
	if s.target, err = e.targetOf(ctx, gitstore.Hash(run.Base), &run); err != nil {
		return err
	}
	start, _, err := e.sizes(ctx, gitstore.Hash(run.Base), s.target, run.Guards.MaxScopeFiles)
	if err != nil {
		return err
	}
	if s.target.dir == "" {
		s.target.dir = deepestDir(start)
	}
	if s.rules, err = rulesOf(run, s.target, start); err != nil {
		return err
	}
	// The scope may have grown since the start; only that of the start is
	// bounded.
	if s.scope, _, err = e.sizes(ctx, tip, s.target, int(^uint(0)>>1)); err != nil {
		return err
	}
	s.scope = maps.Clone(s.scope)
	if s.bars, err = barsOf(run); err != nil {
		return err
	}
	if run.Mode == ModeSkill {
		if err := s.loadSkill(ctx, run, gitstore.Hash(run.Base)); err != nil {
			return err
		}
		if s.rules.IndexChars, err = e.indexChars(ctx, tip, s.target); err != nil {
			return err
		}
	}
	if err := s.enter(ctx, tip, j); err != nil {
		return err
	}
	if s.since, err = s.windowStart(ctx); err != nil {
		return err
	}
	return nil
}

// windowStart is the first experiment that plateau and rows of skips count
// from: the one after the newest run end, so that the same commits always give
// the same answer.
func (s *Session) windowStart(ctx context.Context) (int, error) {
	after := 0
	ended := false
	err := s.engine.Repo.FirstParents(ctx, s.tip, func(c gitstore.CommitInfo) (bool, error) {
		if c.Trailer("Forge-Action") == "run-end" {
			ended = true
			return false, nil
		}
		if c.Trailer("Forge-Experiment") != "" {
			after++
		}
		return c.Trailer("Forge-Action") != "run-start", nil
	})
	if err != nil {
		return 0, fmt.Errorf("read the history of run %q: %w", s.Run(), err)
	}
	if !ended {
		return 0, nil
	}
	return len(s.journal.Lines) - after, nil
}

// Supersede closes a run whose frozen inputs are no longer those of now: its
// report and tip stay, and a new run may begin (gitstore.md R-RUN-12).
func (s *Session) Supersede(ctx context.Context) error {
	_, err := s.finish(ctx, Superseded)
	return err
}
