package forgecmd

import (
	"context"
	"encoding/json"
	"math/big"
	"strings"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/skill"
	"forge/loop"
	"forge/loop/journal"
	"forge/loop/runner"
	"forge/loop/verdict"
)

// chooseMode decides between skill and generic mode, and in skill mode turns
// the name a person gave into the skill's path (config.md run.mode; CLI.md).
func (env *Env) chooseMode(ctx context.Context, repo *gitstore.Repo, cfg *config.Config, f *runFlags) error {
	target := cfg.Run.TargetPath
	switch {
	case f.skill != "":
		target = f.skill
	case target == "" || cfg.Run.Mode == "generic" || cfg.Run.Mode == "auto" && !cfg.Metric.Command.IsZero():
		return nil
	}
	head, err := repo.Head(ctx)
	if err != nil || head.Commit == "" {
		return err
	}
	found, err := env.reader(repo).FindSkill(ctx, head.Commit, target, skill.Search{})
	if err != nil {
		if f.skill == "" && cfg.Run.Mode == "auto" && fault.KindOf(err) == fault.Usage {
			return nil // a target of another kind; what it lacks is said later
		}
		return err
	}
	f.skillMode, cfg.Run.TargetPath = true, found.Path
	return nil
}

// freezeSkill makes a frozen configuration one of skill mode.
func freezeSkill(run journal.Run, cfg *config.Config, f runFlags) (journal.Run, error) {
	spec, err := runnerSpec(cfg)
	if err != nil {
		return run, err
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return run, err
	}
	run.Mode, run.Runner = loop.ModeSkill, encoded
	run.Metric = journal.Metric{Direction: "higher_is_better", KeepPaths: []string{}}
	run.Guards.ProtectedPaths, run.Guards.InvariantCommand, run.Guards.InvariantTimeoutSeconds = []string{}, nil, 0
	run.Guards.TokenBudget, run.Guards.CharsPerToken = cfg.Run.TokenBudget, cfg.Run.CharsPerToken
	run.Thresholds.Resolution = cfg.Value("run.resolution")
	run.Split = &journal.Split{
		Seed: string(cfg.Run.SplitSeed), Ratio: ratioText(cfg.Run.SplitRatio), MinEvals: cfg.Run.MinEvals, MinForTest: cfg.Run.MinEvalsForTest,
		Force: f.force, Ignore: f.ignoreUngraded,
	}
	if cfg.Run.Baseline == "cached" {
		run.CachedBaseline = &journal.CachedBaseline{MaxAge: cfg.Run.BaselineMaxAge}
	}
	return run, nil
}

// runnerSpec is who answers evals, as a run freezes it.
func runnerSpec(cfg *config.Config) (runner.Spec, error) {
	spec := runner.Spec{Kind: cfg.Runner.Kind, LexicalThreshold: cfg.Value("runner.lexical_threshold")}
	switch spec.Kind {
	case "", runner.KindLexical:
		spec.Kind, spec.Fingerprint = runner.KindLexical, "lexical forge/1"
	case runner.KindCommand:
		if cfg.Runner.Command.IsZero() {
			return spec, fault.New(fault.Usage, "--runner command:CMD, or [runner] command", "the runner is a command, and none is named")
		}
		spec.Command = argv(cfg.Runner.Command)
		spec.Fingerprint = runner.CommandFingerprint(spec.Command)
		spec.Model, spec.PassEnv = cfg.Runner.Model, namesOfEnv(cfg.Runner.PassEnv)
		spec.TimeoutSeconds, spec.CheckTimeoutSeconds = int(cfg.Runner.Timeout.Seconds()), int(cfg.Runner.CheckTimeout.Seconds())
		spec.RunsPerSide, spec.TriggerRuns = cfg.Run.RunsPerSide, cfg.Run.TriggerRuns
	default:
		return spec, fault.New(fault.Usage, "--runner lexical, or --runner command:CMD", "the runner %q is not part of this version of forge", spec.Kind)
	}
	return spec, nil
}

// specOf reads the frozen runner of a run; of generic mode it is empty.
func specOf(run journal.Run) (spec runner.Spec) {
	if json.Unmarshal(run.Runner, &spec) != nil {
		return runner.Spec{}
	}
	return spec
}

// runnerFlag reads --runner command:CMD as the two keys it speaks for.
func (g given) runnerFlag() {
	kind, ok := g.values["runner.kind"]
	if !ok {
		return
	}
	if command, isCommand := strings.CutPrefix(kind[0], "command:"); isCommand {
		g.Set("runner.kind", "--runner", runner.KindCommand)
		g.Set("runner.command", "--runner", command)
	}
}

// ratioText is split_ratio as train/val/test.
func ratioText(f evals.Fractions) string {
	train := new(big.Rat).Sub(big.NewRat(1, 1), new(big.Rat).Add(f.Val, f.Test))
	parts := make([]string, 0, 3)
	for _, part := range []*big.Rat{train, f.Val, f.Test} {
		parts = append(parts, verdict.Shortest(part))
	}
	return strings.Join(parts, "/")
}
