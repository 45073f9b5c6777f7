package forgecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/gitstore/process"
	"forge/loop"
	"forge/loop/journal"
	"forge/loop/proposer"
	"forge/loop/verdict"
)

// runFlags are the flags of `forge run` that are no configuration key.
type runFlags struct {
	named     string // --config
	name      string // --run
	resume    bool
	exitCode  bool
	noProtect bool

	skill          string // SKILL, as typed
	skillMode      bool   // set by chooseMode
	force          bool
	ignoreUngraded bool
}

// runKeys maps flags of `forge run` to the keys they set (config.md section 3).
func runKeys() map[string]string {
	return map[string]string{
		"target": "run.target_path", "proposer": "run.proposer", "max-experiments": "run.max_experiments",
		"time-budget": "run.time_budget_minutes", "relative": "run.relative", "noise-repeats": "run.noise_repeats",
		"metric": "metric.command", "metric-name": "metric.name", "direction": "metric.direction",
		"metric-repeats": "metric.repeats", "protect": "metric.protected_paths", "invariant": "metric.invariant_command",
		"pass-env": "metric.pass_env", "runner": "runner.kind", "parallel": "run.parallel",
	}
}

// runCommand is `forge run`: a skill with its evals, or any file with a metric.
func runCommand(env *Env) *cli.Command {
	var f runFlags
	return &cli.Command{
		Name:      "run",
		Usage:     "improve a target by experiment; writes only the run's own branch",
		ArgsUsage: "[SKILL]",
		Category:  groupImprove,
		Description: about{
			Text: "A skill is measured by its evals; --target and --metric measure any file by a number.\n" +
				"Each experiment changes one thing, measures it in a private copy and ends with one commit on\n" +
				"refs/heads/forge/<target>/<run>: a merge for KEEP, a commit that only logs for everything else.\n" +
				"Your working tree, index and branches stay as they are; `forge land` brings what was kept.\n" +
				"Hooks of yours do not run for these commits.\n\n" +
				"The metric runs in a copy of what is committed, with a clean environment and a HOME of its own.\n" +
				"It prints `METRIC name=number`, or one number alone, and exits 0.",
			Exits: exits{
				1: "the metric failed at the start, or the run stopped by crashes or skips",
				3: "uncommitted changes in the target, or a committed command that is not trusted",
				4: "another forge holds this run, or its branch moved",
				5: "with --exit-code: nothing was kept",
			},
			Example: "forge run --target src/limits.conf --metric ./bench.sh --minimize --protect bench.sh",
		}.String(),
		Flags: append(runCommandFlags(&f),
			&cli.StringFlag{Name: "run", Destination: &f.name, Usage: "`NAME` of the new run, or of the run to go on with; default r<n>-<4 characters>"},
			&cli.BoolFlag{Name: "resume", Destination: &f.resume, Usage: "go on with the run of this target, or with --run NAME"},
			&cli.BoolFlag{Name: "exit-code", Destination: &f.exitCode, Usage: "exit 0 if something was kept and 5 if nothing was"},
		),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			if f.skill = c.Args().First(); f.skill != "" && (c.IsSet("target") || c.IsSet("metric")) {
				return fault.New(fault.Usage, "leave one of them out", "a SKILL is measured by its evals; --target and --metric are for other files")
			}
			return resumable(c.Context, env.runLoop(c.Context, c, f), f)
		},
	}
}

// resumable gives an interrupt its hint that came before a run was at hand; of
// one that is, the loop's error says how to go on (gitstore.md R-PROC-4).
func resumable(ctx context.Context, err error, f runFlags) error {
	if err == nil || ctx.Err() == nil || fault.HintOf(err) != "" {
		return err
	}
	hint := "no experiment was under way; run the same command again"
	if f.resume {
		hint = strings.TrimSuffix("forge run --resume --run "+f.name, " --run ")
	}
	return &fault.Error{Kind: fault.Failed, Msg: err.Error(), Hint: hint, Err: err}
}

// runCommandFlags are the flags that describe a run.
func runCommandFlags(f *runFlags) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "target", Usage: "files to change: a path or `GLOB` from the repository's root; ** crosses directories"},
		&cli.StringFlag{Name: "metric", Usage: "`CMD` that prints the number, run by /bin/sh -c"},
		&cli.StringFlag{Name: "metric-name", Usage: "`NAME` in the line METRIC NAME=number; nothing else is read then"},
		&cli.BoolFlag{Name: "maximize", Usage: "higher is better (default)"},
		&cli.BoolFlag{Name: "minimize", Usage: "lower is better"},
		&cli.StringFlag{Name: "direction", Usage: "`D`: higher_is_better or lower_is_better"},
		&cli.BoolFlag{Name: "relative", Usage: "thresholds are fractions of the baseline"},
		&cli.IntFlag{Name: "noise-repeats", Usage: "`N` readings of the unchanged state, 3 to 10; default 5"},
		&cli.IntFlag{Name: "metric-repeats", Usage: "`N` readings of each candidate, their median counts; default 1"},
		&cli.StringSliceFlag{Name: "protect", Usage: "`PATH` or glob no candidate may touch; repeatable"},
		&cli.BoolFlag{Name: "no-protect", Destination: &f.noProtect, Usage: "protect nothing, in so many words"},
		&cli.StringFlag{Name: "invariant", Usage: "`CMD` that must exit 0 for a candidate to be measured"},
		&cli.StringFlag{Name: "proposer", Usage: "`WHO` proposes: command:CMD, or builtin:tune for files and builtin:discover for skills, the defaults"},
		&cli.IntFlag{Name: "max-experiments", Usage: "stop after `N` experiments; default 10"},
		&cli.StringFlag{Name: "time-budget", Usage: "stop after `TIME`: minutes, or 1h30m; 0 is none; default 120"},
		&cli.StringSliceFlag{Name: "pass-env", Usage: "hand `NAME[=VALUE]` to the metric, the invariant, the runner and the proposer; repeatable"},
		&cli.StringFlag{Name: "runner", Usage: "`WHO` answers the evals of a skill: command:CMD, or lexical, the default, for trigger queries"},
		&cli.IntFlag{Name: "parallel", Usage: "measure `N` evals at once; default 4"},
		&cli.BoolFlag{Name: "force", Destination: &f.force, Usage: "accept fewer evals than min_evals, or a number that does not move; it is recorded"},
		&cli.BoolFlag{Name: "ignore-ungraded", Destination: &f.ignoreUngraded, Usage: "leave out checks that forge cannot grade, on both sides"},
		configFlag(&f.named),
	}
}

// givenRunFlags reads the flags of a run; --maximize and --minimize are two
// ways to say --direction, and --pass-env speaks for every seam.
func givenRunFlags(c *cli.Context) (given, error) {
	g := givenFlags(c, runKeys())
	for flag, direction := range map[string]verdict.Direction{"maximize": verdict.HigherIsBetter, "minimize": verdict.LowerIsBetter} {
		if !c.Bool(flag) {
			continue
		}
		if other, twice := g.values["metric.direction"]; twice && other[0] != string(direction) {
			return given{}, fault.New(fault.Usage, "", "--%s and %s contradict each other", flag, g.spelled["metric.direction"])
		}
		g.Set("metric.direction", "--"+flag, string(direction))
	}
	g.passEnvToAll()
	g.runnerFlag()
	return g, nil
}

// passEnvToAll makes --pass-env, read as metric.pass_env, speak for the runner
// and the proposer too (handoff.md R-SEAM-3).
func (g given) passEnvToAll() {
	if passed, ok := g.values["metric.pass_env"]; ok {
		g.Set("proposer.pass_env", "--pass-env", passed...)
		g.Set("runner.pass_env", "--pass-env", passed...)
	}
}

// runLoop is the whole of `forge run`.
func (env *Env) runLoop(ctx context.Context, c *cli.Context, f runFlags) error {
	if err := loop.CheckPlatform(); err != nil {
		return err
	}
	flags, err := givenRunFlags(c)
	if err != nil {
		return err
	}
	repo, err := env.openRepo(ctx)
	if err != nil {
		return err
	}
	cfg, err := env.repoConfig(ctx, repo, f.named, flags)
	if err != nil {
		return err
	}
	if err := env.chooseMode(ctx, repo, cfg, &f); err != nil {
		return err
	}
	finished, err := env.runSession(ctx, repo, cfg, f)
	if err != nil {
		return err
	}
	if err := repo.Maintain(ctx); err != nil {
		env.Warn("git maintenance was not started: %v", err)
	}
	return exitOf(finished, f.exitCode)
}

// runSession starts or resumes a run, loops until it stops, and prints how it
// ended.
func (env *Env) runSession(ctx context.Context, repo *gitstore.Repo, cfg *config.Config, f runFlags) (finished loop.RunFinished, err error) {
	view := &runView{env: env}
	engine, closeRunner := env.engine(repo, view.event)
	defer func() { err = errors.Join(err, closeRunner()) }()
	if err := env.clearAway(ctx, engine); err != nil {
		return finished, err
	}
	env.warnRefspecs(ctx, engine.Repo)
	session, err := env.session(ctx, engine, cfg, f)
	if err != nil {
		return finished, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	who, err := env.proposer(engine, session)
	if err != nil {
		return finished, err
	}
	defer func() { err = errors.Join(err, who.Close()) }()
	if finished, err = session.Loop(ctx, who); err != nil {
		return finished, err
	}
	view.finished(finished)
	return finished, nil
}

// exitOf turns how a run ended into forge's exit code (loop.md R-EXIT-3).
func exitOf(f loop.RunFinished, exitCode bool) error {
	switch {
	case f.Reason.Failed():
		return fault.New(fault.Failed, "forge log shows why; forge show exp-NNN explains one", "the run stopped: %s", f.Reason)
	case exitCode && f.Kept == 0:
		return fault.New(fault.Nothing, "", "nothing was kept")
	}
	return nil
}

// session starts a run or goes on with one.
func (env *Env) session(ctx context.Context, e *loop.Engine, cfg *config.Config, f runFlags) (*loop.Session, error) {
	open, err := env.toResume(ctx, e, cfg, f)
	if err != nil {
		return nil, err
	}
	if open == nil {
		setup, err := env.setup(ctx, e, cfg, f)
		if err != nil {
			return nil, err
		}
		return env.begin(ctx, e, setup)
	}
	changed := changedInputs(open.Config, cfg, f)
	if len(changed) > 0 && (f.resume || env.Terminal || f.name != "") {
		return nil, frozenError(open.Name, changed[0])
	}
	s, err := env.open(ctx, e, cfg, *open)
	if err != nil || len(changed) == 0 {
		return s, err
	}
	// Unattended, the old run is closed with its report and a new one begins
	// (gitstore.md R-RUN-12).
	env.Warn("%s changed since run %s began (%s); it is closed as superseded", changed[0].key, open.Name, changed[0].text)
	if err := errors.Join(s.Supersede(ctx), s.Close()); err != nil {
		return nil, err
	}
	return env.session(ctx, e, cfg, f)
}

// begin starts a run.
func (env *Env) begin(ctx context.Context, e *loop.Engine, setup loop.Setup) (*loop.Session, error) {
	// The person typed or trusted these commands just now, so this clone may
	// resume with them: noted before there is a run, or a kill between the two
	// would leave one that nobody trusts.
	setup.Confirm = func(ctx context.Context, run journal.Run) error {
		items, err := frozenItems(ctx, e, run)
		if err != nil {
			return err
		}
		return e.Repo.Trust(ctx, items)
	}
	return e.Start(ctx, setup)
}

// resume goes on with a run in person: a frozen input that changed is refused
// (gitstore.md R-RUN-12).
func (env *Env) resume(ctx context.Context, e *loop.Engine, cfg *config.Config, f runFlags, r loop.RunRef) (*loop.Session, error) {
	if changed := changedInputs(r.Config, cfg, f); len(changed) > 0 {
		return nil, frozenError(r.Name, changed[0])
	}
	return env.open(ctx, e, cfg, r)
}

// open goes on with a run whose commands this clone may run.
func (env *Env) open(ctx context.Context, e *loop.Engine, cfg *config.Config, r loop.RunRef) (*loop.Session, error) {
	setup, err := env.setupOf(ctx, e, cfg, r)
	if err != nil {
		return nil, err
	}
	return e.Resume(ctx, r, setup)
}

// setupOf is what a run that exists is worked on with, once its commands are
// known to be trusted.
func (env *Env) setupOf(ctx context.Context, e *loop.Engine, cfg *config.Config, r loop.RunRef) (setup loop.Setup, err error) {
	if err := env.checkFrozenTrust(ctx, e, r.Config, cfg); err != nil {
		return setup, err
	}
	setup = loop.Setup{Limits: limitsOf(cfg), Parallel: cfg.Run.Parallel, RejectedLimit: cfg.Run.RejectedLimit}
	for _, seam := range []struct {
		into          *[]string
		frozen, given []string
	}{
		{&setup.PassEnv, r.Config.PassEnv, cfg.Metric.PassEnv},
		{&setup.ProposerPassEnv, r.Config.Proposer.PassEnv, cfg.Proposer.PassEnv},
		{&setup.RunnerPassEnv, specOf(r.Config).PassEnv, cfg.Runner.PassEnv},
	} {
		if *seam.into, err = env.frozenPassEnv(r.Name, seam.frozen, seam.given); err != nil {
			return setup, err
		}
	}
	return setup, nil
}

func frozenError(run string, c changedInput) error {
	return fault.New(fault.Usage, "leave it as the run froze it, or start a new run with --run NAME", "%s of run %s is frozen: %s", c.key, run, c.text)
}

// toResume is the run to go on with, or nil for a new one.
func (env *Env) toResume(ctx context.Context, e *loop.Engine, cfg *config.Config, f runFlags) (*loop.RunRef, error) {
	runs, err := e.Runs(ctx)
	if err != nil {
		return nil, err
	}
	pick := func(fits func(loop.RunRef) bool) *loop.RunRef {
		for _, r := range slices.Backward(runs) {
			if fits(r) {
				return &r
			}
		}
		return nil
	}
	if f.name != "" {
		r := pick(func(r loop.RunRef) bool { return r.Name == f.name })
		if r == nil && f.resume {
			return nil, fault.New(fault.Usage, "forge status lists the runs", "there is no run %q", f.name)
		}
		return r, nil
	}
	target := ""
	if cfg.Run.TargetPath != "" {
		if target, err = gitstore.CleanTarget(cfg.Run.TargetPath); err != nil {
			return nil, err
		}
	}
	if f.resume && target == "" {
		r, err := e.FindRun(ctx, "")
		return &r, err
	}
	open := pick(func(r loop.RunRef) bool { return r.Open() && r.Config.Target == target })
	if f.resume && open == nil {
		if open = pick(func(r loop.RunRef) bool { return r.Branch != "" && r.Config.Target == target }); open == nil {
			return nil, fault.New(fault.Usage, "forge status lists the runs", "no run on %q can be resumed", target)
		}
		return open, nil
	}
	if open != nil && env.Terminal && !f.resume {
		return nil, fault.New(fault.Usage, "forge run --resume --run "+open.Name+", or --run NAME for a new one", "run %s on %q is open", open.Name, target)
	}
	return open, nil
}

// limitsOf are the stop limits of now.
func limitsOf(cfg *config.Config) loop.Limits {
	return loop.Limits{
		MaxExperiments: cfg.Run.MaxExperiments, MaxCrashes: cfg.Run.MaxCrashes,
		TimeBudget: cfg.Run.TimeBudget, TargetValue: cfg.Run.TargetValue,
	}
}

// setup is a new run as the person asked for it.
func (env *Env) setup(ctx context.Context, e *loop.Engine, cfg *config.Config, f runFlags) (loop.Setup, error) {
	switch {
	case cfg.Run.TargetPath == "":
		return loop.Setup{}, fault.New(fault.Usage, "forge run SKILL, or forge run --target GLOB --metric CMD --protect PATH", "no target: name a skill, or a file with --target, or [run] target_path")
	case cfg.Metric.Command.IsZero() && !f.skillMode:
		return loop.Setup{}, fault.New(fault.Usage, "forge run --target GLOB --metric CMD --protect PATH", "no metric: name one with --metric, or as [metric] command")
	case len(cfg.Run.Sandbox.Prefix) > 0:
		return loop.Setup{}, noSandbox()
	case f.noProtect && len(cfg.Metric.ProtectedPaths) > 0:
		return loop.Setup{}, fault.New(fault.Usage, "leave one of them out", "--no-protect and protected paths contradict each other")
	}
	if err := env.checkRunTrust(ctx, e, cfg, f); err != nil {
		return loop.Setup{}, err
	}
	kind, command, err := proposerOf(cfg, f.skillMode)
	if err != nil {
		return loop.Setup{}, err
	}
	who := journal.Proposer{Kind: kind, Command: command, TimeoutSeconds: int(cfg.Proposer.Timeout.Seconds()), Fingerprint: "forge " + e.Version}
	if command != nil {
		who.PassEnv = namesOfEnv(cfg.Proposer.PassEnv)
	}
	freeze := frozen(cfg, f, who)
	if f.skillMode {
		if freeze, err = freezeSkill(freeze, cfg, f); err != nil {
			return loop.Setup{}, err
		}
	}
	return loop.Setup{
		Frozen: freeze, Name: f.name, Limits: limitsOf(cfg),
		PassEnv: env.passEnv(cfg.Metric.PassEnv), ProposerPassEnv: env.passEnv(cfg.Proposer.PassEnv), RunnerPassEnv: env.passEnv(cfg.Runner.PassEnv),
		Parallel: cfg.Run.Parallel, RejectedLimit: cfg.Run.RejectedLimit,
	}, nil
}

// noSandbox refuses to run children without the sandbox somebody asked for.
func noSandbox() error {
	return fault.New(fault.Usage, "leave run.sandbox out", "a sandbox is not part of this version of forge: children would not be contained")
}

// checkRunTrust holds a new run's committed commands against what this clone
// trusts, those of the skill's evals among them.
func (env *Env) checkRunTrust(ctx context.Context, e *loop.Engine, cfg *config.Config, f runFlags) error {
	var extra []gitstore.TrustItem
	if f.skillMode {
		head, err := e.Repo.Head(ctx)
		if err == nil {
			extra, err = evalItems(ctx, e, cfg.Runner.Kind, head.Commit, cfg.Run.TargetPath)
		}
		if err != nil {
			return err
		}
	}
	return checkTrust(ctx, e, cfg, usedByRun(cfg, f), extra...)
}

// proposerOf says who proposes (handoff.md R-PROP-1).
func proposerOf(cfg *config.Config, skillMode bool) (kind string, command []string, err error) {
	switch name := cfg.Run.Proposer; {
	case skillMode && (name == "" || name == discoverName):
		return discoverName, nil, nil
	case !skillMode && (name == "" || name == tuneName):
		return tuneName, nil, nil
	case strings.HasPrefix(name, "command:"):
		return "command", process.Shell(strings.TrimPrefix(name, "command:")), nil
	default:
		return "", nil, fault.New(fault.Usage, "builtin:tune is for files with a metric, builtin:discover for skills, command:CMD for both", "the proposer %q cannot be used here", name)
	}
}

// frozen is the configuration a run freezes (DECISIONS M10).
func frozen(cfg *config.Config, f runFlags, who journal.Proposer) journal.Run {
	text := func(key, none string) string {
		if v := cfg.Value(key); v != "" {
			return v
		}
		return none
	}
	return journal.Run{
		Target: cfg.Run.TargetPath,
		Metric: journal.Metric{
			Command: argv(cfg.Metric.Command), Name: cfg.Metric.Name, Direction: string(cfg.Metric.Direction), Relative: cfg.Run.Relative,
			TimeoutSeconds: int(cfg.Metric.Timeout.Seconds()), OutputLimitMiB: int(cfg.Metric.OutputLimit >> 20),
			MetricRepeats: cfg.Metric.Repeats, NoiseRepeats: cfg.Run.NoiseRepeats, KeepPaths: append([]string{}, cfg.Metric.KeepPaths...),
			WorseCommand: argv(cfg.Metric.WorseCommand),
		},
		Guards: journal.Guards{
			ProtectedPaths: append([]string{}, cfg.Metric.ProtectedPaths...), NoProtect: f.noProtect,
			InvariantCommand: argv(cfg.Metric.InvariantCommand), InvariantTimeoutSeconds: int(cfg.Metric.InvariantTimeout.Seconds()),
			MinScopeRatio: text("run.min_scope_ratio", "0.9"), MaxScopeFiles: cfg.Run.MaxScopeFiles,
		},
		Thresholds: journal.Thresholds{
			Improvement: text("run.improvement_threshold", "0.02"), Regression: text("run.regression_threshold", "0.05"),
			NearMissBand: text("run.near_miss_band", "0.02"), NoiseFloor: text("run.noise_floor", "0"),
			Resolution: text("run.resolution", "0"), Boundary: string(cfg.Run.Boundary),
		},
		Proposer: who, Ungraded: []string{}, Sandbox: "none",
		PassEnv: namesOfEnv(cfg.Metric.PassEnv),
		Doctor:  journal.Doctor{Forced: f.force, Warnings: []string{}},
	}
}

// argv is a configured command as an argument list.
func argv(c config.Command) []string {
	switch {
	case c.IsZero():
		return nil
	case len(c.Argv) > 0:
		return c.Argv
	}
	return process.Shell(c.Line)
}

// closingProposer is a proposer with something to clean up.
type closingProposer interface {
	loop.Proposer
	Close() error
}

// builtin is a proposer that has nothing to close.
type builtin struct{ loop.Proposer }

func (builtin) Close() error { return nil }

// The built-in proposers by the name a person types.
const (
	tuneName     = "builtin:tune"
	discoverName = "builtin:discover"
)

// proposer makes the frozen proposer of a run.
func (env *Env) proposer(e *loop.Engine, s *loop.Session) (closingProposer, error) {
	who := s.Config().Proposer
	switch who.Kind {
	case tuneName:
		return builtin{&proposer.Tune{}}, nil
	case discoverName:
		return builtin{proposer.Discover{}}, nil
	case byHand:
		return nil, fault.New(fault.Usage, "forge next --run "+s.Run()+" gives the brief, forge submit takes the answer", "run %s has no proposer of its own: it waits for forge submit", s.Run())
	case "command":
		return &proposer.Command{
			Argv: who.Command, Timeout: seconds(who.TimeoutSeconds), Run: s.Run(), NewExport: e.Repo.NewExport, Execute: e.Execute,
		}, nil
	}
	return nil, fmt.Errorf("run %s was begun with the proposer %q, which this forge does not know", s.Run(), who.Kind)
}
