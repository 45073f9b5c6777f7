package loop_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"forge/gitstore"
	"forge/gitstore/process"
	"forge/loop"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/report"
)

// What one experiment costs beside its metric and its proposer: brief,
// candidate commit, guards, the export rewritten by the difference, record,
// verdict commit. Targets on 2 cores: 30 ms with 50 skills, 60 ms with 2,000.
func BenchmarkExperiment(b *testing.B) {
	for _, skills := range []int{50, 2000} {
		b.Run(fmt.Sprintf("skills=%d", skills), func(b *testing.B) {
			s := benchSession(b, skills)
			for b.Loop() {
				experiment(b, s)
			}
		})
	}
}

// The 1,000th experiment against the 10th: at most 1.3 times as much. Run it
// with -benchtime 1x; each figure is the median of 15 experiments.
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		s := benchSession(b, 50)
		var took []time.Duration
		for range 1010 {
			began := time.Now()
			experiment(b, s)
			took = append(took, time.Since(began))
		}
		early, late := median(took[5:20]), median(took[995:1010])
		b.ReportMetric(float64(early.Microseconds())/1000, "ms/10th")
		b.ReportMetric(float64(late.Microseconds())/1000, "ms/1000th")
		b.ReportMetric(float64(late)/float64(early), "ratio")
	}
}

// An audit of 1,000 experiments: at most 2 s.
func BenchmarkAudit(b *testing.B) {
	s, e := benchRun(b, 50)
	for range 1000 {
		experiment(b, s)
	}
	r, err := e.FindRun(b.Context(), s.Run())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a, err := e.Audit(b.Context(), r)
		if err != nil || !a.OK || a.Verdicts != 1000 {
			b.Fatal(a.Findings, err)
		}
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

// benchMetric is a metric that costs nothing: one experiment in three is a
// little better than all before.
func benchMetric() func(context.Context, process.Command) (process.Result, error) {
	calls, best := 0, 1000
	return func(context.Context, process.Command) (process.Result, error) {
		calls++
		value := best
		if calls%8 == 0 {
			best++
		}
		return process.Result{Stdout: []byte("METRIC x=" + strconv.Itoa(value) + "\n")}, nil
	}
}

// benchSession is a run on one file of a repository with that many skills of
// ten files each.
func benchSession(b *testing.B, skills int) *loop.Session {
	s, _ := benchRun(b, skills)
	return s
}

// benchRun is benchSession with the engine that began it.
func benchRun(b *testing.B, skills int) (*loop.Session, *loop.Engine) {
	b.Helper()
	dir := b.TempDir()
	for i := range skills {
		for j := range 10 {
			name := filepath.Join(dir, "skills", fmt.Sprintf("skill-%04d", i), fmt.Sprintf("file-%d.md", j))
			write(b, name, fmt.Sprintf("# skill %d, file %d\n\nsome text\n", i, j))
		}
	}
	write(b, filepath.Join(dir, "p.cfg"), "speed=10\nsize=7\n")
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": dir, "GIT_CONFIG_NOSYSTEM": "1", "TMPDIR": b.TempDir(),
		"GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.com",
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "skills"}, {"repack", "-adq"}} {
		result, err := process.Plain(context.Background(), process.Command{Argv: append([]string{"git"}, args...), Dir: dir, Env: process.Environment(vars)})
		if err != nil || !result.OK() {
			b.Fatalf("git %v: %v %s", args, err, result.Stderr)
		}
	}
	repo, err := gitstore.Open(b.Context(), dir, gitstore.Env{Vars: vars, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	e := &loop.Engine{Repo: repo, Now: time.Now, Execute: benchMetric(), Report: report.Markdown, Version: "bench"}
	s, err := e.Start(b.Context(), loop.Setup{
		Limits: loop.Limits{MaxExperiments: 1 << 30, MaxCrashes: 3}, RejectedLimit: 10,
		Frozen: journal.Run{
			Target:     "p.cfg",
			Metric:     journal.Metric{Command: []string{"true"}, Direction: "higher_is_better", TimeoutSeconds: 60, OutputLimitMiB: 1, MetricRepeats: 1, NoiseRepeats: 3},
			Guards:     journal.Guards{NoProtect: true, MinScopeRatio: "0", MaxScopeFiles: 200},
			Thresholds: journal.Thresholds{Improvement: "0.02", Regression: "0.05", NearMissBand: "0.02", NoiseFloor: "0", Resolution: "0", Boundary: "inclusive"},
			Proposer:   journal.Proposer{Kind: "builtin:tune"}, Ungraded: []string{}, Sandbox: "none", PassEnv: []string{},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, e
}

func write(b *testing.B, name, text string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// experiment is one round with a change nobody tried before.
func experiment(b *testing.B, s *loop.Session) {
	b.Helper()
	brief, err := s.Next(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	text := fmt.Sprintf("speed=%d\nsize=7\n", 100+brief.N)
	if _, err := s.Submit(b.Context(), handoff.Proposal{
		Hypothesis: "set the speed to " + strconv.Itoa(100+brief.N), Category: "dir:.", MutationType: "config_change",
		Edits: []gitstore.Edit{gitstore.Put("p.cfg", []byte(text))},
	}); err != nil {
		b.Fatal(err)
	}
}
