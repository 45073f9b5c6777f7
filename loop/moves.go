package loop

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/process"
	"forge/loop/journal"
	"forge/loop/metric"
	"forge/loop/runner"
)

// stuck is the name of the warning that stands in a run that was begun by
// force on a number that does not move.
const stuck = "does_not_move"

// checkMoves refuses a run whose number cannot tell better from worse: a
// version known to be worse scores the same in every run (DECISIONS M6;
// handoff.md section 10, metric.moves). --force lets it begin, with a warning
// that is recorded.
func (s *Session) checkMoves(ctx context.Context, run *journal.Run, base gitstore.Hash, r readings) error {
	var same bool
	var err error
	hint := "fix the evals; --force overrides"
	if s.skill != nil {
		same, err = s.sameWithoutSkill(ctx, base)
	} else {
		hint = "fix the metric or metric.worse_command; --force overrides"
		same, err = s.sameWhenWorse(ctx, base, r.values)
	}
	if err != nil || !same {
		return err
	}
	if !run.Doctor.Forced {
		return fault.New(fault.Refused, hint, "a version known to be worse scores the same in every run: this number cannot tell better from worse")
	}
	run.Doctor.Warnings = append(run.Doctor.Warnings, stuck)
	return nil
}

// sameWhenWorse runs metric.worse_command on the base and takes readings: at
// least as many as have a noise floor. Without the command nothing is known.
func (s *Session) sameWhenWorse(ctx context.Context, base gitstore.Hash, values []*big.Rat) (bool, error) {
	worse := s.journal.Config.Metric.WorseCommand
	if len(worse) == 0 {
		return false, nil
	}
	b, err := s.openBench(ctx)
	if err != nil {
		return false, err
	}
	if err := b.export.Set(ctx, base); err != nil {
		return false, fmt.Errorf("export %s: %w", base.Short(), err)
	}
	result, err := s.engine.Execute(ctx, process.Command{
		Argv: worse, Dir: b.export.Tree, Env: append(slices.Clone(b.environment), "FORGE_SEAM=worse"),
		Timeout: time.Duration(s.journal.Config.Metric.TimeoutSeconds) * time.Second,
	})
	switch {
	case err != nil:
		return false, fmt.Errorf("run metric.worse_command: %w", err)
	case result.TimedOut:
		return false, fault.New(fault.Failed, "", "metric.worse_command did not end in time")
	case !result.OK():
		return false, fault.New(fault.Failed, "run it by hand in a fresh clone", "metric.worse_command exits %d: %s", result.ExitCode, process.FirstLine(result.Stderr))
	}
	for range values {
		m, err := b.probe.Measure(ctx, metric.Place{Dir: b.export.Tree, Env: append(slices.Clone(b.environment), "FORGE_SEAM=metric")})
		if _, failed := errors.AsType[*metric.Failure](err); failed {
			return false, nil // no number at all is not the same number
		}
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(values, func(v *big.Rat) bool { return v.Cmp(m.Reading.Value) == 0 }) {
			return false, nil
		}
	}
	return true, nil
}

// sameWithoutSkill answers val without the skill, which is as much worse as a
// version can be. A program is asked only if it passed everything with it:
// each of its runs costs, and what fails now can still be seen to pass. A
// skill that no query finds yet is not known to be better than none.
func (s *Session) sameWithoutSkill(ctx context.Context, base gitstore.Hash) (bool, error) {
	list := s.skill.of(evals.Val)
	known, helps, failed := make([]runner.Side, len(list)), 0, 0
	passed, queries := 0, s.skill.set.Form == evals.Triggers
	for i, r := range s.skill.start {
		known[i] = r.Sides[runner.Baseline]
		p, f := countSide(known[i])
		failed += f
		if !queries || list[i].ShouldTrigger { // what a skill can help with
			helps, passed = helps+1, passed+p
		}
	}
	if helps > 0 && passed == 0 || s.skill.spec.Kind != runner.KindLexical && failed > 0 {
		return false, nil
	}
	results, err := s.skill.measure(ctx, question{
		run: s.Run(), dir: s.target.dir, commits: [2]gitstore.Hash{base, ""}, list: list, known: known, event: s.teller(""),
	})
	if err != nil {
		return false, err
	}
	for _, r := range results {
		without := r.Sides[runner.Candidate]
		if without.Outcome != runner.OK {
			return false, nil
		}
		with, _ := countSide(r.Sides[runner.Baseline])
		if now, _ := countSide(without); now != with {
			return false, nil
		}
	}
	return true, nil
}

// countSide counts the checks of a side that passed and that failed.
func countSide(side runner.Side) (passed, failed int) {
	for _, v := range side.Verdicts {
		if v.Passed != nil && *v.Passed {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}
