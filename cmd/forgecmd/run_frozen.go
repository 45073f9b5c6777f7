package forgecmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/journal"
	"forge/loop/runner"
)

// changedInput is a frozen value that somebody asks to be another.
type changedInput struct{ key, text string }

// changedInputs compares what a run froze with what is set now. Only what is
// set somewhere can contradict: `forge run --resume` without flags takes all
// of it from the run (gitstore.md R-RUN-12).
func changedInputs(run journal.Run, cfg *config.Config, f runFlags) []changedInput {
	now := frozen(cfg, f, run.Proposer)
	if run.Mode == loop.ModeSkill {
		now.Thresholds.Resolution = cfg.Value("run.resolution")
		now.Guards.TokenBudget, now.Guards.CharsPerToken = cfg.Run.TokenBudget, cfg.Run.CharsPerToken
	}
	if target, err := gitstore.CleanTarget(now.Target); err == nil {
		now.Target = target
	}
	skillMode := run.Mode == loop.ModeSkill
	if skillMode {
		if again, err := freezeSkill(now, cfg, f); err == nil {
			now.Runner, now.CachedBaseline = withPassEnv(again.Runner, specOf(run).PassEnv), again.CachedBaseline
		}
	}
	kind, command, err := proposerOf(cfg, skillMode)
	if err == nil && cfg.IsSet("run.proposer") {
		now.Proposer.Kind, now.Proposer.Command = kind, command
	}
	// A value given for one of several frozen names is no change.
	now.PassEnv = namesOfEnv(slices.Concat(run.PassEnv, now.PassEnv))
	if run.Proposer.Command != nil {
		now.Proposer.PassEnv = namesOfEnv(slices.Concat(run.Proposer.PassEnv, cfg.Proposer.PassEnv))
	}
	spec := func(of func(runner.Spec) any) func(journal.Run) any {
		return func(r journal.Run) any { return of(specOf(r)) }
	}
	var changed []changedInput
	for _, c := range []struct {
		key string
		of  func(journal.Run) any
	}{
		{"run.target_path", func(r journal.Run) any { return r.Target }},
		{"metric.command", func(r journal.Run) any { return r.Metric.Command }},
		{"metric.name", func(r journal.Run) any { return r.Metric.Name }},
		{"metric.direction", func(r journal.Run) any { return r.Metric.Direction }},
		{"run.relative", func(r journal.Run) any { return r.Metric.Relative }},
		{"run.noise_repeats", func(r journal.Run) any { return r.Metric.NoiseRepeats }},
		{"metric.repeats", func(r journal.Run) any { return r.Metric.MetricRepeats }},
		{"metric.timeout_seconds", func(r journal.Run) any { return r.Metric.TimeoutSeconds }},
		{"metric.output_limit_mib", func(r journal.Run) any { return r.Metric.OutputLimitMiB }},
		{"metric.keep_paths", func(r journal.Run) any { return r.Metric.KeepPaths }},
		{"metric.protected_paths", func(r journal.Run) any { return r.Guards.ProtectedPaths }},
		{"metric.invariant_command", func(r journal.Run) any { return r.Guards.InvariantCommand }},
		{"run.min_scope_ratio", func(r journal.Run) any { return r.Guards.MinScopeRatio }},
		{"run.max_scope_files", func(r journal.Run) any { return r.Guards.MaxScopeFiles }},
		{"run.improvement_threshold", func(r journal.Run) any { return r.Thresholds.Improvement }},
		{"run.regression_threshold", func(r journal.Run) any { return r.Thresholds.Regression }},
		{"run.near_miss_band", func(r journal.Run) any { return r.Thresholds.NearMissBand }},
		{"run.noise_floor", func(r journal.Run) any { return r.Thresholds.NoiseFloor }},
		{"run.resolution", func(r journal.Run) any { return r.Thresholds.Resolution }},
		{"run.token_budget", func(r journal.Run) any { return r.Guards.TokenBudget }},
		{"run.chars_per_token", func(r journal.Run) any { return r.Guards.CharsPerToken }},
		{"run.boundary", func(r journal.Run) any { return r.Thresholds.Boundary }},
		{"run.proposer", func(r journal.Run) any { return loop.ProposerText(r.Proposer) }},
		{"metric.pass_env", func(r journal.Run) any { return r.PassEnv }},
		{"proposer.pass_env", func(r journal.Run) any { return r.Proposer.PassEnv }},
		{"runner.kind", spec(func(s runner.Spec) any { return s.Kind })},
		{"runner.command", spec(func(s runner.Spec) any { return s.Command })},
		{"runner.model", spec(func(s runner.Spec) any { return s.Model })},
		{"runner.timeout_seconds", spec(func(s runner.Spec) any { return s.TimeoutSeconds })},
		{"runner.check_timeout_seconds", spec(func(s runner.Spec) any { return s.CheckTimeoutSeconds })},
		{"runner.lexical_threshold", spec(func(s runner.Spec) any { return s.LexicalThreshold })},
		{"runner.pass_env", spec(func(s runner.Spec) any { return s.PassEnv })},
		{"run.runs_per_side", spec(func(s runner.Spec) any { return s.RunsPerSide })},
		{"run.trigger_runs", spec(func(s runner.Spec) any { return s.TriggerRuns })},
		{"run.baseline", func(r journal.Run) any { return r.CachedBaseline != nil }},
		{"run.baseline_max_age", func(r journal.Run) any { return maxAge(r) }},
	} {
		if skillMode && generic(c.key) {
			continue // the keys of a metric say nothing about a skill
		}
		if was, is := c.of(run), c.of(now); cfg.IsSet(c.key) && fmt.Sprint(was) != fmt.Sprint(is) {
			changed = append(changed, changedInput{c.key, fmt.Sprintf("it was %q and is now %q", typed(was), typed(is))})
		}
	}
	return changed
}

// typed is a frozen value as a person types it: a list without its brackets, a
// command without the shell in front.
func typed(value any) string {
	if list, ok := value.([]string); ok {
		return loop.CommandText(list)
	}
	return fmt.Sprint(value)
}

// generic reports the keys that only a run with a metric reads.
func generic(key string) bool {
	return strings.HasPrefix(key, "metric.") || key == "run.relative" || key == "run.noise_repeats"
}

// withPassEnv is a runner that is handed more variables. A value given for one
// of several frozen names is no change.
func withPassEnv(encoded json.RawMessage, more []string) json.RawMessage {
	var spec runner.Spec
	if json.Unmarshal(encoded, &spec) != nil || spec.Kind != runner.KindCommand {
		return encoded
	}
	spec.PassEnv = namesOfEnv(slices.Concat(spec.PassEnv, more))
	again, err := json.Marshal(spec)
	if err != nil {
		return encoded
	}
	return again
}

// maxAge is how old a cached baseline may be, 0 where none is used.
func maxAge(run journal.Run) int {
	if run.CachedBaseline == nil {
		return 0
	}
	return run.CachedBaseline.MaxAge
}

// checkFrozenTrust refuses to run commands of a run that this clone neither
// began nor trusts: a run branch can be fetched from anywhere.
func (env *Env) checkFrozenTrust(ctx context.Context, e *loop.Engine, run journal.Run, cfg *config.Config) error {
	items, err := frozenItems(ctx, e, run)
	if err != nil {
		return err
	}
	missing, err := e.Repo.Trusted(items)
	if err != nil || len(missing) == 0 {
		return err
	}
	// What the person types or has trusted in the configuration is as good.
	known := map[string]bool{}
	commands := map[string][]string{
		"metric.command": argv(cfg.Metric.Command), "metric.invariant_command": argv(cfg.Metric.InvariantCommand),
		"runner.command": argv(cfg.Runner.Command),
	}
	for key, command := range commands {
		only := func(used string) bool { return used == key }
		if !cfg.Uses(key) || checkTrust(ctx, e, cfg, only) == nil {
			known[strings.Join(command, "\n")] = true
		}
	}
	evals, err := evalItems(ctx, e, specOf(run).Kind, gitstore.Hash(run.Base), run.Target)
	if err != nil {
		return err
	}
	for _, item := range evals {
		if checkTrust(ctx, e, cfg, func(string) bool { return false }, item) == nil {
			known[item.Value] = true
		}
	}
	missing = slices.DeleteFunc(missing, func(m gitstore.UntrustedItem) bool { return known[m.Value] })
	return gitstore.CheckTrust(missing)
}

// frozenPassEnv gives a child of a resumed run the variables it froze by name,
// with the values entries give now.
func (env *Env) frozenPassEnv(run string, frozen, entries []string) ([]string, error) {
	given := namesOfEnv(entries)
	for _, name := range frozen {
		if !slices.Contains(given, name) {
			entries = append(slices.Clip(entries), name)
		}
	}
	passed := env.passEnv(entries)
	have := namesOfEnv(passed)
	for _, name := range frozen {
		if !slices.Contains(have, name) {
			return nil, fault.New(fault.Usage, "forge run --resume --pass-env "+name+"=VALUE",
				"run %s hands %s to its children; its value is not recorded and it is not set", run, name)
		}
	}
	return passed, nil
}

// seconds is a whole number of seconds.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
