package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"forge/gitstore"
	"forge/gitstore/crash"
	"forge/gitstore/fault"
	"forge/gitstore/process"
	"forge/loop/guard"
	"forge/loop/journal"
	"forge/loop/metric"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// bench is the place where a run measures: one private export with its HOME
// and TMPDIR, kept for the whole run so that caches warm up, and set to one
// commit after the other (gitstore.md R-EXP-3). Baseline and candidates are
// measured in the same place, one at a time, so nothing a child can see says
// which it is (R-EXP-7).
type bench struct {
	export      *gitstore.Export
	probe       metric.Probe
	invariant   process.Command // Argv nil: none
	environment []string
	evidence    string // folder of the run's raw outputs
	crash       *crash.Points
}

// openBench makes the export of a run.
func (s *Session) openBench(ctx context.Context) (*bench, error) {
	if s.bench != nil {
		return s.bench, nil
	}
	run := s.journal.Config
	keep := make([]gitstore.Glob, len(run.Metric.KeepPaths))
	for i, pattern := range run.Metric.KeepPaths {
		var err error
		if keep[i], err = gitstore.ParseGlob(pattern); err != nil {
			return nil, err
		}
	}
	export, err := s.engine.Repo.NewExport(ctx, gitstore.ExportPlan{Run: run.Run, Keep: keep})
	if err != nil {
		return nil, err
	}
	b := &bench{
		export:   export,
		evidence: filepath.Join(s.engine.Repo.ForgeDir(), "evidence", run.Run),
		crash:    s.engine.Repo.Crash(),
		probe: metric.Probe{
			Command: run.Metric.Command, Name: run.Metric.Name,
			Timeout:     time.Duration(run.Metric.TimeoutSeconds) * time.Second,
			OutputLimit: int64(run.Metric.OutputLimitMiB) << 20, Run: s.engine.Execute,
		},
		environment: slices.Concat(s.childEnvironment(s.setup.PassEnv), []string{
			"HOME=" + export.Home, "TMPDIR=" + export.Tmp, "GIT_CEILING_DIRECTORIES=" + export.Parent(),
			"FORGE_WORK=" + export.Tree, "FORGE_TARGET=" + s.target.dir,
		}),
	}
	if len(run.Guards.InvariantCommand) > 0 {
		b.invariant = process.Command{
			Argv: run.Guards.InvariantCommand, Dir: export.Tree,
			Timeout: time.Duration(run.Guards.InvariantTimeoutSeconds) * time.Second,
		}
	}
	s.bench = b
	return b, nil
}

// childEnvironment is what every child of the run is given, whatever its seam,
// and what is passed on to this one (handoff.md R-SEAM-3).
func (s *Session) childEnvironment(passed []string) []string {
	return slices.Concat(s.engine.Child, []string{"LANG=C.UTF-8", "FORGE_ACTIVE=1", "FORGE_RUN=" + s.Run()}, passed)
}

func (b *bench) close() error { return b.export.Remove() }

// readings is what measuring one state gave.
type readings struct {
	values   []*big.Rat
	last     metric.Reading // name, source and warnings of the last reading
	warnings []string       // of all readings, each once
	evidence []journal.Evidence
	took     time.Duration // of the program's clock
}

// broken is a measurement that gave no number. It is never a number, and never
// zero (ARCHITECTURE section 5).
type broken struct {
	failure  *metric.Failure
	evidence []journal.Evidence
}

func (b *broken) Error() string { return b.failure.Message }
func (b *broken) Unwrap() error { return b.failure }

// crashed says whether the command failed, as against one that ran and printed
// no usable number (roles.md section 14).
func (b *broken) crashed() bool {
	switch b.failure.Kind {
	case metric.ExitStatus, metric.Deadline, metric.Start, metric.OutputBound:
		return true
	}
	return false
}

// tampered is a measurement whose program changed a protected file while it
// ran: what it printed says nothing (loop.md R-INV-7).
type tampered struct {
	violation *guard.Violation
	evidence  []journal.Evidence
}

func (t *tampered) Error() string { return t.violation.Message }

// untouched refuses a reading after which a protected file of the export is
// changed or gone. New files are free: caches and reports of a program may lie
// beside it, and the next reading begins without them.
func (s *Session) untouched(b *bench) (*guard.Violation, error) {
	if len(s.rules.Protected) == 0 {
		return nil, nil
	}
	paths, err := b.export.Altered(s.rules.IsProtected)
	if err != nil {
		return nil, err
	}
	return guard.After(paths, s.rules), nil
}

// measure sets the export to a commit and takes n readings. name is the
// evidence folder. A failed reading is a *broken error, one whose program
// changed what is protected a *tampered.
func (s *Session) measure(ctx context.Context, commit gitstore.Hash, name string, n int) (readings, error) {
	b, err := s.openBench(ctx)
	if err != nil {
		return readings{}, err
	}
	began := s.engine.Now()
	s.engine.Repo.Crash().Pass("before measurement")
	var r readings
	for i := range n {
		if err := b.export.Set(ctx, commit); err != nil {
			return readings{}, fmt.Errorf("export %s: %w", commit.Short(), err)
		}
		m, err := b.probe.Measure(ctx, metric.Place{Dir: b.export.Tree, Env: append(slices.Clone(b.environment), "FORGE_SEAM=metric")})
		if ctx.Err() != nil {
			return readings{}, context.Cause(ctx)
		}
		failure, failed := errors.AsType[*metric.Failure](err)
		if failed {
			m.Result = failure.Result
		}
		kept, keepErr := b.keep(name, "metric-"+strconv.Itoa(i+1), m.Result)
		if keepErr != nil {
			return readings{}, keepErr
		}
		r.evidence = append(r.evidence, kept...)
		changed, afterErr := s.untouched(b)
		switch {
		case afterErr != nil:
			return readings{}, afterErr
		case changed != nil:
			return readings{}, &tampered{violation: changed, evidence: r.evidence}
		}
		if failed {
			return readings{}, &broken{failure: failure, evidence: r.evidence}
		}
		if err != nil {
			return readings{}, err
		}
		r.values, r.last = append(r.values, m.Reading.Value), m.Reading
		for _, w := range m.Reading.Warnings {
			if !slices.Contains(r.warnings, w) {
				r.warnings = append(r.warnings, w)
			}
		}
	}
	r.took = s.engine.Now().Sub(began)
	s.engine.Repo.Crash().Pass("after measurement")
	return r, nil
}

// invariantHolds runs the invariant command on a commit; message says why it
// does not hold, "" that it does (A20).
func (s *Session) invariantHolds(ctx context.Context, commit gitstore.Hash, name string) (message string, evidence []journal.Evidence, err error) {
	b, err := s.openBench(ctx)
	if err != nil || b.invariant.Argv == nil {
		return "", nil, err
	}
	if err := b.export.Set(ctx, commit); err != nil {
		return "", nil, fmt.Errorf("export %s: %w", commit.Short(), err)
	}
	command := b.invariant
	command.Env = append(slices.Clone(b.environment), "FORGE_SEAM=invariant")
	result, err := s.engine.Execute(ctx, command)
	if err != nil {
		return "", nil, fmt.Errorf("run the invariant command: %w", err)
	}
	evidence, err = b.keep(name, "invariant", result)
	switch {
	case err != nil || result.OK():
		return "", evidence, err
	case result.TimedOut:
		return fmt.Sprintf("the invariant command did not end within %s", command.Timeout), evidence, nil
	default:
		return fmt.Sprintf("the invariant command exits %d: %s", result.ExitCode, process.FirstLine(result.Stderr)), evidence, nil
	}
}

// keep stores a child's raw output in the run's evidence folder and names it
// by its hash.
func (b *bench) keep(folder, name string, result process.Result) ([]journal.Evidence, error) {
	parts := []runner.Evidence{{Name: name + ".txt", Data: result.Stdout}}
	if len(result.Stderr) > 0 {
		parts = append(parts, runner.Evidence{Name: name + ".err.txt", Data: result.Stderr})
	}
	var kept []journal.Evidence
	for _, part := range parts {
		e, err := keepFile(b.crash, b.evidence, folder+"/"+part.Name, part.Data)
		if err != nil {
			return nil, err
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// keepFile stores one raw output below a folder and names it by its hash.
func keepFile(points *crash.Points, dir, name string, data []byte) (journal.Evidence, error) {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return journal.Evidence{}, fmt.Errorf("keep the output of a measurement: %w", err)
	}
	if err := points.WriteFile("evidence", file, data, 0o600); err != nil {
		return journal.Evidence{}, fmt.Errorf("keep the output of a measurement: %w", err)
	}
	sum := sha256.Sum256(data)
	return journal.Evidence{Path: name, SHA256: hex.EncodeToString(sum[:])}, nil
}

// measureBaseline measures an unchanged state noise_repeats times: the median
// is the baseline, the spread the noise floor (DECISIONS M4).
func (s *Session) measureBaseline(ctx context.Context, commit gitstore.Hash, what, name string) (journal.Baseline, readings, error) {
	repeats := s.journal.Config.Metric.NoiseRepeats
	s.emit("measure_started", "", MeasureStarted{What: what, Runs: repeats})
	r, err := s.measure(ctx, commit, name, repeats)
	if err != nil {
		return journal.Baseline{}, r, err
	}
	floor, err := metric.NoiseFloor(r.values, s.bars.Relative)
	if err != nil {
		return journal.Baseline{}, r, err
	}
	b := baselineOf(floor)
	s.emit("measure_finished", "", MeasureFinished{
		What: what, Score: verdict.Number(floor.Median), Exact: b.Median, NoiseFloor: b.NoiseFloor, Seconds: r.took.Seconds(), CostUSD: "0",
	})
	r.warnings = append(r.warnings, floor.Warnings...)
	return b, r, nil
}

// startFailure is a metric that gave no number on the unchanged state: nothing
// can be compared with it, so no run begins (loop.md R-EXIT-3).
func startFailure(err error) error {
	if t, ok := errors.AsType[*tampered](err); ok {
		return &fault.Error{
			Kind: fault.Failed, Msg: "the metric changes what is protected: " + t.violation.Message,
			Hint: "let it write to $TMPDIR, or to a file that is not protected", Err: err,
		}
	}
	b, ok := errors.AsType[*broken](err)
	if !ok {
		return err
	}
	return &fault.Error{
		Kind: fault.Failed, Msg: "the metric gave no number on the unchanged state: " + b.failure.Message,
		Hint: "run the metric by hand in a fresh clone; forge gives it a clean environment, see --pass-env", Err: err,
	}
}
