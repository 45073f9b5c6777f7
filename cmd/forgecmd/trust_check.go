package forgecmd

import (
	"context"
	"slices"
	"strings"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/loop"
	"forge/loop/journal"
	"forge/loop/runner"
)

// checkTrust refuses committed values that a command is about to act on and
// nobody has looked at (DECISIONS T1): those of the configuration that uses
// picks, and extra, which stand in other files.
func checkTrust(ctx context.Context, e *loop.Engine, cfg *config.Config, uses func(key string) bool, extra ...gitstore.TrustItem) error {
	used := func(item gitstore.TrustItem) bool {
		return cfg.Uses(item.Key) && uses(item.Key) || slices.Contains(extra, item)
	}
	if !slices.ContainsFunc(slices.Concat(cfg.TrustItems(), extra), used) {
		return nil
	}
	all, err := committedItems(ctx, e, cfg)
	if err != nil {
		return err
	}
	missing, err := e.Repo.Trusted(all) // FORGE_TRUST names the whole set, so all of it is asked about
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(m gitstore.UntrustedItem) bool { return !used(m.TrustItem) })
	for _, item := range extra {
		if slices.Contains(all, item) {
			continue
		}
		more, err := e.Repo.Trusted([]gitstore.TrustItem{item})
		if err != nil {
			return err
		}
		missing = append(missing, more...)
	}
	return gitstore.CheckTrust(missing)
}

// committedItems are all values of committed files that execute something: of
// the configuration, and the command checks of the evals of every skill
// (config.md R-CFG-9).
func committedItems(ctx context.Context, e *loop.Engine, cfg *config.Config) ([]gitstore.TrustItem, error) {
	items := slices.Clone(cfg.TrustItems())
	head, err := e.Repo.Head(ctx)
	if err != nil || head.Commit == "" {
		return items, err
	}
	skills, err := e.SkillsWithEvals(ctx, head.Commit)
	if err != nil {
		return nil, err
	}
	for _, dir := range skills {
		item, some, err := e.EvalCommands(ctx, head.Commit, dir)
		if err != nil {
			return nil, err
		}
		if some {
			items = append(items, item)
		}
	}
	return items, nil
}

// usedByRun says which keys a run acts on: those of a runner only if evals are
// answered by a command.
func usedByRun(cfg *config.Config, f runFlags) func(key string) bool {
	return func(key string) bool {
		return !strings.HasPrefix(key, "runner.") || f.skillMode && cfg.Runner.Kind == runner.KindCommand
	}
}

// usedByEval says which keys an evaluation acts on.
func usedByEval(cfg *config.Config) func(key string) bool {
	return func(key string) bool {
		return key == "run.sandbox" || strings.HasPrefix(key, "runner.") && cfg.Runner.Kind == runner.KindCommand
	}
}

// evalItems are what the evals of a skill execute at a commit, if a command
// answers them: nothing else runs command checks.
func evalItems(ctx context.Context, e *loop.Engine, kind string, commit gitstore.Hash, dir string) ([]gitstore.TrustItem, error) {
	if kind != runner.KindCommand {
		return nil, nil
	}
	item, some, err := e.EvalCommands(ctx, commit, dir)
	if err != nil || !some {
		return nil, err
	}
	return []gitstore.TrustItem{item}, nil
}

// frozenItems are what a run's frozen configuration, and the evals at its base,
// execute. A run that was fetched from elsewhere is as foreign as any committed
// file.
func frozenItems(ctx context.Context, e *loop.Engine, run journal.Run) ([]gitstore.TrustItem, error) {
	var items []gitstore.TrustItem
	add := func(key string, argv []string) {
		if len(argv) > 0 {
			items = append(items, gitstore.TrustItem{Key: "run " + run.Run + " " + key, Kind: "exec", Value: strings.Join(argv, "\n")})
		}
	}
	add("metric.command", run.Metric.Command)
	add("metric.invariant_command", run.Guards.InvariantCommand)
	add("run.proposer", run.Proposer.Command)
	spec := specOf(run)
	add("runner.command", spec.Command)
	evals, err := evalItems(ctx, e, spec.Kind, gitstore.Hash(run.Base), run.Target)
	for _, item := range evals {
		item.Key = "run " + run.Run + " " + item.Key
		items = append(items, item)
	}
	return items, err
}
