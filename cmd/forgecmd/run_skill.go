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
	spec := runner.Spec{
		Kind: cfg.Runner.Kind, LexicalThreshold: cfg.Value("runner.lexical_threshold"), Fingerprint: "lexical forge/1",
	}
	if spec.Kind == "" {
		spec.Kind = runner.KindLexical
	}
	if spec.Kind != runner.KindLexical {
		return run, fault.New(fault.Usage, "--runner lexical", "the runner %q is not part of this version of forge", spec.Kind)
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
	return run, nil
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
