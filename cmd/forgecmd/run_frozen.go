package forgecmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/journal"
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
	kind, command, err := proposerOf(cfg, skillMode)
	if err == nil && cfg.IsSet("run.proposer") {
		now.Proposer.Kind, now.Proposer.Command = kind, command
	}
	// A value given for one of several frozen names is no change.
	now.PassEnv = namesOfEnv(slices.Concat(run.PassEnv, now.PassEnv))
	if run.Proposer.Command != nil {
		now.Proposer.PassEnv = namesOfEnv(slices.Concat(run.Proposer.PassEnv, cfg.Proposer.PassEnv))
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

// checkFrozenTrust refuses to run commands of a run that this clone neither
// began nor trusts: a run branch can be fetched from anywhere.
func (env *Env) checkFrozenTrust(repo *gitstore.Repo, run journal.Run, cfg *config.Config) error {
	missing, err := repo.Trusted(frozenItems(run))
	if err != nil || len(missing) == 0 {
		return err
	}
	// What the person types or has trusted in the configuration is as good.
	known := map[string]bool{}
	for key, command := range map[string][]string{
		"metric.command": argv(cfg.Metric.Command), "metric.invariant_command": argv(cfg.Metric.InvariantCommand),
	} {
		if !cfg.Uses(key) {
			known[strings.Join(command, "\n")] = true
		}
	}
	if err := checkTrust(repo, cfg); err == nil {
		for _, command := range [][]string{argv(cfg.Metric.Command), argv(cfg.Metric.InvariantCommand)} {
			known[strings.Join(command, "\n")] = true
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
