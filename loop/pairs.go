package loop

import (
	"context"
	"fmt"
	"path"
	"sync"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/loop/runner"
)

// question is what pairs are asked about: two states of a skill and some evals.
type question struct {
	run, dir string
	commits  [2]gitstore.Hash
	list     []evals.Eval
	known    []runner.Side // baseline sides that are not measured again; nil: both are
	oneSided bool          // the candidate's side alone; it then stands for both

	// event is told of every pair of a program, one call at a time; nil: nobody.
	event func(name string, data any)
}

// measurePairs runs the evals on both sides. Where both are the same state one
// side is measured, once for a state of a run, and stands for both.
func (k *skillMode) measurePairs(ctx context.Context, run, dir string, commits [2]gitstore.Hash, list []evals.Eval) ([]runner.Result, error) {
	q := question{run: run, dir: dir, commits: commits, list: list}
	if commits[0] != commits[1] {
		return k.measure(ctx, q)
	}
	q.oneSided = true
	if k.cache == nil || k.spec.Kind == runner.KindLexical {
		return k.measure(ctx, q)
	}
	state, err := k.stateOf(ctx, commits[0], dir)
	if err != nil {
		return nil, err
	}
	if sides, ok, err := k.kept(state, list); ok || err != nil {
		results := make([]runner.Result, len(sides))
		for i, side := range sides {
			results[i].Sides = [2]runner.Side{side, side}
		}
		return results, err
	}
	results, err := k.measure(ctx, q)
	if err != nil {
		return nil, err
	}
	return results, k.keep(state, list, results)
}

// measure runs the pairs of a question, several at once, and puts the runs of
// one eval together: one result for each eval of the list. The side that
// starts alternates from eval to eval and from run to run (R-STAT-11).
func (k *skillMode) measure(ctx context.Context, q question) ([]runner.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	runs := k.spec.Runs(k.set.Form)
	pairs := k.pairs(q, runs)
	results := make([]runner.Result, len(pairs))
	todo := make(chan int)
	var wait sync.WaitGroup
	tell := q.teller(k.spec.Kind)
	for range min(k.parallel, max(1, len(pairs))) {
		wait.Go(func() {
			for i := range todo {
				started := PairStarted{i + 1, len(pairs), [2]string{"baseline", "candidate"}[pairs[i].First]}
				tell("pair_started", started)
				var err error
				if results[i], err = k.executor.Run(ctx, pairs[i]); err != nil {
					cancel(err)
					continue
				}
				tell("pair_finished", finishedPair(started, results[i]))
			}
		})
	}
	for i := range pairs {
		if ctx.Err() != nil {
			break // a select that finds both ready may choose either
		}
		select {
		case todo <- i:
		case <-ctx.Done():
		}
	}
	close(todo)
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return k.together(q, runs, results), nil
}

// teller gives the events of a question to whoever listens. The library search
// answers faster than a line is read, so it has none.
func (q question) teller(kind string) func(name string, data any) {
	if q.event == nil || kind == runner.KindLexical {
		return func(string, any) {}
	}
	var mu sync.Mutex
	return func(name string, data any) {
		mu.Lock()
		defer mu.Unlock()
		q.event(name, data)
	}
}

func finishedPair(started PairStarted, r runner.Result) PairFinished {
	f := PairFinished{Index: started.Index, Of: started.Of, Order: started.Order, Outcome: string(runner.OK), CostUSD: "0"}
	var passed [2]int
	for side, m := range r.Sides {
		if m.Outcome != runner.OK && m.Outcome != runner.NotRun && f.Outcome == string(runner.OK) {
			f.Outcome = string(m.Outcome)
		}
		f.Seconds += m.Seconds
		f.Total = max(f.Total, len(m.Verdicts))
		for _, v := range m.Verdicts {
			if *v.Passed {
				passed[side]++
			}
		}
	}
	f.PassedBase, f.PassedCandidate = passed[runner.Baseline], passed[runner.Candidate]
	return f
}

// pairs lists what is to be run, one repetition of the whole list after the
// other, in the order of starting.
func (k *skillMode) pairs(q question, runs int) []runner.Pair {
	pairs := make([]runner.Pair, 0, runs*len(q.list))
	for repetition := range runs {
		first := evals.PairOrder(len(q.list), evals.Look(repetition))
		for i, e := range q.list {
			pair := runner.Pair{
				Run: q.run, Commits: q.commits, Skill: q.dir, Name: k.name, Source: k.source, Eval: e,
				Seed: runner.SeedOf(k.seed, e.ID, repetition), Runner: k.spec, Passed: k.passed,
			}
			if first[i] == "candidate" {
				pair.First = runner.Candidate
			}
			pair.Skip[runner.Baseline] = q.oneSided || q.known != nil
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// together makes one result of the runs of each eval.
func (k *skillMode) together(q question, runs int, results []runner.Result) []runner.Result {
	whole := make([]runner.Result, len(q.list))
	for i, e := range q.list {
		for side := range whole[i].Sides {
			parts := make([]runner.Side, runs)
			for repetition := range parts {
				parts[repetition] = results[repetition*len(q.list)+i].Sides[side]
			}
			whole[i].Sides[side] = oneSide(k.set.Form, e, parts)
		}
		if q.oneSided {
			whole[i].Sides[runner.Baseline] = whole[i].Sides[runner.Candidate]
		}
		if q.known != nil {
			whole[i].Sides[runner.Baseline] = q.known[i]
		}
	}
	return whole
}

// oneSide puts the runs of one side of an eval together. One without a result
// leaves the whole side without (roles.md section 14). Of a query the share of
// runs that loaded the skill decides (skill-format.md R-SF-TR-2).
func oneSide(form evals.Form, e evals.Eval, parts []runner.Side) runner.Side {
	if len(parts) == 1 {
		return parts[0]
	}
	whole := runner.Side{Outcome: parts[0].Outcome, Runs: len(parts), Tokens: new(int64)}
	for i, part := range parts {
		if part.Outcome != runner.OK && whole.Outcome == runner.OK || i == 0 && part.Outcome != runner.OK {
			whole.Outcome, whole.Reason = part.Outcome, fmt.Sprintf("run %d: %s", i+1, part.Reason)
		}
		whole.Verdicts, whole.Grades = append(whole.Verdicts, part.Verdicts...), append(whole.Grades, part.Grades...)
		whole.Triggered += part.Triggered
		whole.Seconds += part.Seconds
		whole.Left += part.Left
		if part.Tokens == nil || whole.Tokens == nil {
			whole.Tokens = nil
		} else {
			*whole.Tokens += *part.Tokens
		}
		for _, evidence := range part.Evidence {
			evidence.Name = path.Join(runName(i), evidence.Name)
			whole.Evidence = append(whole.Evidence, evidence)
		}
	}
	if whole.Outcome != runner.OK {
		whole.Verdicts, whole.Grades = nil, nil
	} else if form == evals.Triggers {
		whole.Verdicts, whole.Grades = byRate(e, whole, parts[0].Verdicts)
	}
	return whole
}

// byRate is the verdict on a query that was run several times.
func byRate(e evals.Eval, whole runner.Side, one []evals.Verdict) (verdicts []evals.Verdict, grades []evals.Result) {
	passed := e.TriggerPassed(whole.Triggered, whole.Runs)
	for _, v := range one {
		v.Passed = &passed
		verdicts = append(verdicts, v)
		grades = append(grades, evals.Result{ID: v.ID, Passed: passed, Evidence: fmt.Sprintf("loaded in %d of %d runs", whole.Triggered, whole.Runs)})
	}
	return verdicts, grades
}

// runName is the folder of the i-th run of a side, from 0. Padded, so that the
// order of the paths is that of the runs (loop.md R-SCORE-10).
func runName(i int) string { return fmt.Sprintf("run-%02d", i+1) }

// flaky says whether the runs of a side disagree.
func flaky(form evals.Form, side runner.Side) bool {
	if side.Outcome != runner.OK || side.Runs < 2 {
		return false
	}
	if form == evals.Triggers {
		return side.Triggered > 0 && side.Triggered < side.Runs
	}
	checks := len(side.Verdicts) / side.Runs
	for i, v := range side.Verdicts {
		if *v.Passed != *side.Verdicts[i%checks].Passed {
			return true
		}
	}
	return false
}

// stateOf is what the sides of a state depend on beside their evals.
func (k *skillMode) stateOf(ctx context.Context, commit gitstore.Hash, dir string) (runner.State, error) {
	tree, err := k.skillTree(ctx, commit, dir)
	return runner.State{Tree: string(tree), Evals: k.hash, Spec: k.spec}, err
}

// skillTree is the tree of a skill at a commit, without forge's own records
// where it is the whole repository.
func (k *skillMode) skillTree(ctx context.Context, commit gitstore.Hash, dir string) (gitstore.Hash, error) {
	if dir == "." {
		return k.repo.StateOf(ctx, commit)
	}
	entry, err := k.repo.Lookup(ctx, commit, dir)
	if err != nil {
		return "", fmt.Errorf("read the skill %q at %s: %w", dir, commit.Short(), err)
	}
	return entry.Object, nil
}

// kept returns the sides of a state that were measured before; ok says that
// all are there.
func (k *skillMode) kept(state runner.State, list []evals.Eval) (sides []runner.Side, ok bool, err error) {
	for _, e := range list {
		key, err := state.Key(e.ID, k.spec.Runs(k.set.Form))
		if err != nil {
			return nil, false, err
		}
		side, found := k.cache.Get(key)
		if !found {
			return nil, false, nil
		}
		sides = append(sides, side)
	}
	return sides, true, nil
}

// keep remembers the baseline sides of results.
func (k *skillMode) keep(state runner.State, list []evals.Eval, results []runner.Result) error {
	for i, e := range list {
		key, err := state.Key(e.ID, k.spec.Runs(k.set.Form))
		if err != nil {
			return err
		}
		if err := k.cache.Put(key, results[i].Sides[runner.Baseline]); err != nil {
			return err
		}
	}
	return nil
}
