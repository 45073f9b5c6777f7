package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// Session is a run that this process holds: its lock, its tip, its journal and
// the export it measures in. It is not safe for concurrent use. Close it.
type Session struct {
	engine *Engine
	setup  Setup
	began  time.Time // monotonic: the time budget counts from here

	branch  string        // refs/heads/forge/<slug>/<run>
	tip     gitstore.Hash // of the branch
	tipTree gitstore.Hash
	state   gitstore.Hash // the tip's tree without .forge: what was really measured
	journal journal.Journal
	since   int // first history line that plateau and rows of skips count from
	resumed bool

	target   target
	rules    guard.Rules
	scope    guard.Sizes      // at the tip
	files    []handoff.File   // the scope as briefs list it; nil after a KEEP
	regions  []handoff.Region // of the files, in skill mode
	stood    []string         // windows of hidden evals in the scope; nil after a KEEP
	bars     verdict.Bars
	baseline stored
	seen     map[string]string // candidates tried, by state and result

	last    journal.Record // of the newest experiment this session ended
	skill   *skillMode     // nil in generic mode
	bench   *bench         // where candidates are measured; nil until the first measurement
	release func()         // the run's lock
	seq     int            // of the last event
}

// stored is the baseline candidates are compared with (DECISIONS V12, M4).
type stored struct {
	journal.Baseline
	median     *big.Rat
	noiseFloor *big.Rat
	source     string // stored@start or stored@exp-NNN
}

func newStored(b journal.Baseline, source string) (stored, error) {
	median, err := verdict.ParseExact(b.Median)
	if err != nil {
		return stored{}, fmt.Errorf("read the baseline %q: %w", b.Median, err)
	}
	floor, err := verdict.ParseExact(b.NoiseFloor)
	if err != nil {
		return stored{}, fmt.Errorf("read the noise floor %q: %w", b.NoiseFloor, err)
	}
	return stored{Baseline: b, median: median, noiseFloor: floor, source: source}, nil
}

// target is what the run may change.
type target struct {
	text string        // cleaned: the identity of the target
	slug string        // names the branch only
	glob gitstore.Glob // which paths belong to it
	dir  string        // the skill's directory; else the deepest one that holds the whole scope, "." for the root

	reserved []gitstore.Glob // in skill mode: what measures the skill and no candidate may touch
}

// holds says whether a path may be changed by a candidate.
func (t target) holds(file string) bool {
	return t.glob.Match(file) && !slices.ContainsFunc(t.reserved, func(g gitstore.Glob) bool { return g.Match(file) })
}

func newTarget(typed string) (target, error) {
	text, err := gitstore.CleanTarget(typed)
	if err != nil {
		return target{}, err
	}
	glob, err := gitstore.ParseGlob(text)
	if err != nil {
		return target{}, err
	}
	return target{text: text, slug: gitstore.Slug(text), glob: glob}, nil
}

// literalDir is the part of a pattern before its first wild card: where a walk
// may begin.
func literalDir(pattern string) string {
	var parts []string
	for part := range strings.SplitSeq(pattern, "/") {
		if strings.ContainsAny(part, `*?[{\`) {
			break
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 || pattern == "." {
		return ""
	}
	return strings.Join(parts, "/")
}

// sizes walks the scope at a commit: regular files of the target, in bytes.
// At most max files are measured; count is how many there are.
func (e *Engine) sizes(ctx context.Context, commit gitstore.Hash, t target, max int) (files guard.Sizes, count int, err error) {
	files = guard.Sizes{}
	err = e.Repo.Walk(ctx, commit, literalDir(t.text), func(entry gitstore.Entry) error {
		if !t.holds(entry.Path) || entry.Mode != gitstore.ModeFile && entry.Mode != gitstore.ModeExec {
			return nil
		}
		if top, _, _ := strings.Cut(entry.Path, "/"); top == ".forge" {
			return nil
		}
		count++
		if count > max {
			return nil
		}
		data, err := e.Repo.Blob(ctx, entry.Object)
		files[entry.Path] = guard.SizeOf(data)
		return err
	})
	if errors.Is(err, gitstore.ErrNotFound) && count == 0 {
		err = nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the scope %q: %w", t.text, err)
	}
	return files, count, nil
}

// deepestDir is the deepest directory that holds all of the files.
func deepestDir(files guard.Sizes) string {
	paths := sortedPaths(files)
	if len(paths) == 0 {
		return "."
	}
	// What the first and the last of sorted paths share, all of them share.
	dir, last := path.Dir(paths[0]), paths[len(paths)-1]
	for dir != "." && !strings.HasPrefix(last, dir+"/") {
		dir = path.Dir(dir)
	}
	return dir
}

// barsOf reads the frozen thresholds.
func barsOf(run journal.Run) (verdict.Bars, error) {
	bars := verdict.Bars{Relative: run.Metric.Relative}
	for _, t := range []struct {
		into **big.Rat
		text string
	}{
		{&bars.Improvement, run.Thresholds.Improvement}, {&bars.Regression, run.Thresholds.Regression},
		{&bars.NearMissBand, run.Thresholds.NearMissBand}, {&bars.NoiseFloor, run.Thresholds.NoiseFloor},
		{&bars.Resolution, run.Thresholds.Resolution},
	} {
		if t.text == "" { // computed from the counts
			continue
		}
		value, err := verdict.ParseRatio(t.text)
		if err != nil {
			return verdict.Bars{}, fmt.Errorf("read the thresholds of run %q: %w", run.Run, err)
		}
		*t.into = value
	}
	var err error
	if bars.Boundary, err = verdict.ParseBoundary(run.Thresholds.Boundary); err != nil {
		return verdict.Bars{}, err
	}
	bars.Direction, err = verdict.ParseDirection(run.Metric.Direction)
	return bars, err
}

// rulesOf reads the frozen guards; start is the scope when the run began.
func rulesOf(run journal.Run, t target, start guard.Sizes) (guard.Rules, error) {
	rules := guard.Rules{Target: t.glob, Reserved: t.reserved, Start: start}
	if run.Mode == ModeSkill {
		rules.Skill, rules.TokenBudget, rules.CharsPerToken = t.dir, run.Guards.TokenBudget, max(1, run.Guards.CharsPerToken)
	}
	for _, p := range run.Guards.ProtectedPaths {
		g, err := gitstore.ParseGlob(p)
		if err != nil {
			return guard.Rules{}, err
		}
		rules.Protected = append(rules.Protected, g)
	}
	ratio, err := verdict.ParseRatio(run.Guards.MinScopeRatio)
	if err != nil {
		return guard.Rules{}, fmt.Errorf("read min_scope_ratio of run %q: %w", run.Run, err)
	}
	rules.MinScopeRatio = ratio
	return rules, nil
}

// Branch is the run branch's full ref name.
func (s *Session) Branch() string { return s.branch }

// Run is the run's name.
func (s *Session) Run() string { return s.journal.Config.Run }

// Config is what the run froze at its start.
func (s *Session) Config() journal.Run { return s.journal.Config }

// Close ends what the session holds: exports and the run's lock.
func (s *Session) Close() error {
	var err error
	if s.bench != nil {
		err = s.bench.close()
		s.bench = nil
	}
	if s.release != nil {
		s.release()
		s.release = nil
	}
	return err
}

// emit sends one progress event.
func (s *Session) emit(name, experiment string, data any) {
	if s.engine.Events == nil {
		return
	}
	s.seq++
	s.engine.Events(Event{Name: name, Seq: s.seq, At: stamp(s.engine.Now()), Run: s.Run(), Experiment: experiment, Data: data})
}

// stamp is a time as forge commits it (loop.md R-OUT-5).
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// scopePaths lists the files a proposal may change, sorted.
func (s *Session) scopePaths() []string {
	return slices.DeleteFunc(sortedPaths(s.scope), s.rules.IsProtected)
}

// task is the brief of the next experiment with the means to answer it.
func (s *Session) task(ctx context.Context) (handoff.Task, error) {
	brief, err := s.Next(ctx)
	if err != nil {
		return handoff.Task{}, err
	}
	task := handoff.Task{
		Brief: brief, Tip: string(s.tip), Scope: s.scopePaths(), Environment: s.childEnvironment(s.setup.ProposerPassEnv),
		Read: func(ctx context.Context, file string) ([]byte, error) {
			return s.engine.Repo.ReadFile(ctx, s.tip, file)
		},
		Repeats: s.repeats,
	}
	if s.skill != nil {
		for _, e := range s.skill.of(evals.Train) {
			task.Train = append(task.Train, handoff.Query{Text: e.Prompt, ShouldTrigger: e.ShouldTrigger})
		}
	}
	return task, nil
}

// kept counts the experiments of the run that were kept.
func (s *Session) kept() (n int) {
	for _, l := range s.journal.Lines {
		if l.Decision == string(verdict.Keep) {
			n++
		}
	}
	return n
}

// rounded is a figure as documents print it, 6 digits (R-OUT-3).
func rounded(r *big.Rat) *json.Number {
	n := verdict.Rounded(r, 6)
	return &n
}

// improvement is how much better b is than a, oriented and, with a relative
// metric, as a fraction of a (DECISIONS V8).
func (s *Session) improvement(a, b *big.Rat) *big.Rat {
	delta := new(big.Rat).Sub(b, a)
	if s.bars.Direction == verdict.LowerIsBetter {
		delta.Neg(delta)
	}
	if abs := new(big.Rat).Abs(a); s.bars.Relative && abs.Cmp(big.NewRat(1, 1_000_000_000)) >= 0 {
		delta.Quo(delta, abs)
	}
	return delta
}

// interrupted turns an error under a cancelled context into the sentence that
// says how to go on, after the tip ref was brought up.
func (s *Session) interrupted(ctx context.Context, cause error) error {
	_ = s.engine.pointTip(context.WithoutCancel(ctx), s.Run(), s.tip) // a copy that may lag; the next command brings it up
	return &fault.Error{
		Kind: fault.Failed, Msg: fmt.Sprintf("run %s was interrupted after %d experiments", s.Run(), len(s.journal.Lines)),
		Hint: "forge run --resume --run " + s.Run(), Err: cause,
	}
}
