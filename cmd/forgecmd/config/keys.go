package config

import (
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// kind is the type of a key's value.
type kind int

const (
	kindText      kind = iota
	kindInt            // a whole number
	kindNumber         // a decimal number
	kindRatio          // a decimal number or P/Q
	kindBool           // true or false
	kindList           // a list of texts
	kindCommand        // a text for the shell, or a list
	kindSandbox        // auto, none, or a list
	kindMinutes        // a whole number of minutes; as a flag also 1h30m
	kindSeconds        // a whole number of seconds
	kindMiB            // a whole number of MiB
	kindGate           // a table of the weights of assertions and judge
	kindFractions      // TRAIN/VAL/TEST
	kindSeed           // a whole number or a text
)

// trust is what config.md R-CFG-8 calls a key's trust class.
type trust int

const (
	trustNone   trust = iota
	trustExec         // T: it executes; inert in a repository until trusted
	trustKey          // T: it hands on what may be a secret
	trustPerson       // P: never in a repository
)

// word is the trust store's word for a class (gitstore.md section 17).
func (t trust) word() string {
	if t == trustKey {
		return "key"
	}
	return "exec"
}

// key is one row of config.md section 3.
type key struct {
	Name     string
	Kind     kind
	Default  string   // as text; "" is "not set"
	Min, Max string   // bounds of a number, both allowed; "" is none
	OneOf    []string // the texts allowed; nil is any
	Check    func(value string) string
	Trust    trust
	Inert    func(value string) bool // nil: every value needs trust
	Reader   string                  // who uses it
	Declined string                  // the hint for a key forge refuses
	NotYet   bool                    // checked, but nothing reads it in this version: Load warns
}

// keys is every key this version reads, in the order of config.md. A test
// holds it against the fields of [Config].
var keys = []key{
	{Name: "run.mode", Kind: kindText, Default: "auto", OneOf: []string{"auto", "skill", "generic"}, Reader: "run"},
	{Name: "run.target_path", Kind: kindText, Reader: "run"},
	{Name: "run.proposer", Kind: kindText, Check: checkProposer, Trust: trustExec, Inert: isCommandProposer, Reader: "run"},
	{Name: "run.max_experiments", Kind: kindInt, Default: "10", Min: "1", Max: "100000", Reader: "engine"},
	{Name: "run.max_crashes", Kind: kindInt, Default: "3", Min: "1", Max: "100", Reader: "engine"},
	{Name: "run.time_budget_minutes", Kind: kindMinutes, Default: "120", Min: "0", Max: "100000", Reader: "engine"},
	{Name: "run.target_value", Kind: kindNumber, Reader: "engine"},
	{Name: "run.improvement_threshold", Kind: kindRatio, Default: "0.02", Min: "0", Reader: "decide"},
	{Name: "run.regression_threshold", Kind: kindRatio, Default: "0.05", Min: "0", Reader: "decide"},
	{Name: "run.near_miss_band", Kind: kindRatio, Default: "0.02", Min: "0", Reader: "decide"},
	{Name: "run.noise_floor", Kind: kindRatio, Min: "0", Reader: "decide"},
	{Name: "run.resolution", Kind: kindRatio, Min: "0", Reader: "decide"},
	{Name: "run.boundary", Kind: kindText, Default: "inclusive", OneOf: []string{"inclusive", "strict"}, Reader: "decide"},
	{Name: "run.relative", Kind: kindBool, Default: "false", Reader: "decide, noise-floor"},
	{Name: "run.gate_weights", Kind: kindGate, Reader: "score"},
	{Name: "run.use_comparator", Kind: kindBool, Default: "false", Reader: "score"},
	{Name: "run.split_ratio", Kind: kindFractions, Default: "0.50/0.25/0.25", Reader: "split"},
	{Name: "run.split_seed", Kind: kindSeed, Default: "42", Reader: "split"},
	{Name: "run.min_evals", Kind: kindInt, Default: "6", Min: "2", Max: "1000", Reader: "split"},
	{Name: "run.min_evals_for_test", Kind: kindInt, Default: "12", Min: "2", Max: "1000", Reader: "split"},
	{Name: "run.runs_per_side", Kind: kindInt, Default: "1", Min: "1", Max: "20", Reader: "score"},
	{Name: "run.trigger_runs", Kind: kindInt, Default: "3", Min: "1", Max: "20", Reader: "engine"},
	{Name: "run.baseline", Kind: kindText, Default: "side_by_side", OneOf: []string{"side_by_side", "cached"}, Reader: "engine"},
	{Name: "run.baseline_max_age", Kind: kindInt, Default: "3", Min: "1", Max: "100", Reader: "engine"},
	{Name: "run.noise_repeats", Kind: kindInt, Default: "5", Min: "3", Max: "10", Reader: "engine"},
	{Name: "run.parallel", Kind: kindInt, Default: "4", Min: "1", Max: "256", Reader: "engine"},
	{Name: "run.rejected_limit", Kind: kindInt, Default: "10", Min: "0", Max: "1000", Reader: "context"},
	{Name: "run.appendix_max_notes", Kind: kindInt, Default: "15", Min: "1", Max: "1000", Reader: "appendix"},
	{Name: "run.token_budget", Kind: kindInt, Min: "1", Max: "100000000", Reader: "guard"},
	{Name: "run.chars_per_token", Kind: kindInt, Default: "3", Min: "1", Max: "10", Reader: "guard"},
	{Name: "run.min_scope_ratio", Kind: kindNumber, Default: "0.9", Min: "0", Max: "1", Reader: "guard"},
	{Name: "run.max_scope_files", Kind: kindInt, Default: "200", Min: "1", Max: "100000", Reader: "guard"},
	{Name: "run.max_export_mib", Kind: kindMiB, Default: "1024", Min: "1", Max: "1048576", Reader: "process", NotYet: true},
	{Name: "run.sandbox", Kind: kindSandbox, Default: "auto", Trust: trustExec, Inert: isNotAuto, Reader: "process"},
	{Name: "run.workspace_path", Declined: "a run's files lie in .forge/runs/<run>/"},

	{Name: "metric.command", Kind: kindCommand, Trust: trustExec, Reader: "metric"},
	{Name: "metric.name", Kind: kindText, Check: checkMetricName, Reader: "metric"},
	{Name: "metric.direction", Kind: kindText, Default: "higher_is_better", OneOf: []string{"higher_is_better", "lower_is_better"}, Reader: "decide"},
	{Name: "metric.repeats", Kind: kindInt, Default: "1", Min: "1", Max: "20", Reader: "metric"},
	{Name: "metric.timeout_seconds", Kind: kindSeconds, Default: "900", Min: "1", Max: "86400", Reader: "metric"},
	{Name: "metric.output_limit_mib", Kind: kindMiB, Default: "16", Min: "1", Max: "1024", Reader: "metric"},
	{Name: "metric.worse_command", Kind: kindCommand, Trust: trustExec, Reader: "doctor"},
	{Name: "metric.protected_paths", Kind: kindList, Check: checkPath, Reader: "guard"},
	{Name: "metric.keep_paths", Kind: kindList, Check: checkPath, Reader: "process"},
	{Name: "metric.invariant_command", Kind: kindCommand, Trust: trustExec, Reader: "guard"},
	{Name: "metric.invariant_timeout_seconds", Kind: kindSeconds, Default: "900", Min: "1", Max: "86400", Reader: "guard"},
	{Name: "metric.pass_env", Kind: kindList, Check: checkPassEnv, Trust: trustKey, Reader: "metric"},

	{Name: "runner.kind", Kind: kindText, OneOf: []string{"claude", "codex", "opencode", "pi", "command", "api", "lexical"}, Reader: "runner"},
	{Name: "runner.command", Kind: kindCommand, Trust: trustExec, Reader: "runner"},
	{Name: "runner.model", Kind: kindText, Reader: "runner"},
	{Name: "runner.timeout_seconds", Kind: kindSeconds, Default: "600", Min: "1", Max: "86400", Reader: "runner"},
	{Name: "runner.check_timeout_seconds", Kind: kindSeconds, Default: "60", Min: "1", Max: "3600", Reader: "assertions of kind command"},
	{Name: "runner.pass_env", Kind: kindList, Check: checkPassEnv, Trust: trustKey, Reader: "runner"},
	{Name: "runner.lexical_threshold", Kind: kindNumber, Default: "1.0", Min: "0", Max: "100", Reader: "lexical"},

	{Name: "proposer.timeout_seconds", Kind: kindSeconds, Default: "900", Min: "1", Max: "86400", Reader: "proposer"},
	{Name: "proposer.pass_env", Kind: kindList, Check: checkPassEnv, Trust: trustKey, Reader: "proposer"},
}

// later are the keys of config.md that this version knows and does not use:
// a file written for the whole of forge stays readable, and a warning says
// that the value has no effect. A star stands for a name of the person's.
var later = strings.Fields(`
	roots.skills roots.global roots.archive roots.discovery_depth
	run.execution_mode run.max_deferred_per_run run.max_usd run.per_day_max_usd run.max_runs run.max_tokens
	run.transfer_evals run.eval_pool run.eval_rotation_interval run.early_exit
	run.second_look run.test_runs run.gain_prior
	run.min_support_count run.appendix
	run.keep_evidence run.meta_memory_interval run.pattern_min_support run.max_knowledge_gaps_per_experiment
	run.gap_limit run.knowledge_enabled run.knowledge_sources_provided run.knowledge_inbox run.knowledge_budget
	run.vault_coverage_threshold run.knowledge_stale_experiments
	runner.binary runner.provider runner.subscription
	runner.max_requests runner.allowed_tools runner.check_network
	models.*.provider models.*.model models.*.base_url models.*.api_key_env models.*.api_key_command
	models.*.command models.*.max_output_tokens models.*.context_tokens models.*.timeout_seconds
	models.*.retries models.*.price
	prices.*.version prices.*.input prices.*.output prices.*.cached_read prices.*.cache_write
	gateway.port gateway.record gateway.upstream_timeout_seconds
	curator.enabled curator.per_run_max_usd curator.per_day_max_usd curator.interval_hours
	curator.stale_after_days curator.archive_after_days curator.edit_failure_rate
	curator.edit_failure_window_minutes curator.max_skills_per_root curator.confirm_archive
	curator.reference_files
	learn.enabled learn.contract learn.mode learn.verify learn.cache_ttl_minutes
	learn.review_every_tool_calls learn.review_min_tool_calls learn.review_max_ops learn.price
	learn.per_run_max_usd learn.per_day_max_usd learn.per_day_max_runs learn.per_day_max_tokens
	learn.usage_comparable_minutes learn.profile learn.allow_unverified_client learn.codex.web_search
	activity.clients activity.auto_import
	lint.strict lint.context_tokens lint.clients
	hosting.remote hosting.kind hosting.base_url hosting.token_env hosting.draft hosting.labels
	hosting.reviewers
	ci.gate ci.max_usd`)

// personOnly are the keys of later with class P.
var personOnly = []string{"runner.subscription", "gateway.record", "learn.profile"}

// findKey returns the row of a key, or nil.
func findKey(name string) *key {
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

// isLater reports whether name is a key of config.md without a use yet.
func isLater(name string) bool {
	parts := strings.Split(name, ".")
	return slices.ContainsFunc(later, func(pattern string) bool {
		wanted := strings.Split(pattern, ".")
		if len(wanted) > len(parts) {
			return false
		}
		if wanted[0] == "prices" || wanted[0] == "models" { // the middle may hold dots of its own
			return parts[0] == wanted[0] && len(parts) > 2 && parts[len(parts)-1] == wanted[2]
		}
		return slices.Equal(parts, wanted)
	})
}

// class is the trust class of a key that exists.
func class(name string) trust {
	if k := findKey(name); k != nil {
		return k.Trust
	}
	if slices.Contains(personOnly, name) {
		return trustPerson
	}
	return trustNone
}

// tables are the names of the tables there are.
func tables() []string {
	seen := []string{}
	for _, name := range allNames() {
		table, _, _ := strings.Cut(name, ".")
		if !slices.Contains(seen, table) {
			seen = append(seen, table)
		}
	}
	return seen
}

// allNames are the names of all keys there are, with stars.
func allNames() []string {
	names := make([]string, 0, len(keys)+len(later))
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return append(names, later...)
}

// suggest returns "; did you mean "x"?" for an unknown key: the nearest in
// its table, the same name in another table, the nearest anywhere, or "".
func suggest(name string) string {
	table, last := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		table, last = name[:i], name[i+1:]
	}
	var here, everywhere []string
	for _, known := range allNames() {
		knownTable, knownLast, _ := strings.Cut(known, ".")
		everywhere = append(everywhere, known)
		if knownTable == table {
			here = append(here, knownLast)
		}
	}
	if near := Nearest(last, here); near != "" {
		return didYouMean(table + "." + near)
	}
	for _, known := range everywhere {
		if strings.HasSuffix(known, "."+last) && !strings.Contains(known, "*") {
			return didYouMean(known)
		}
	}
	return didYouMean(Nearest(name, everywhere))
}

// didYouMean is the tail of a message about an unknown name.
func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean \"" + name + "\"?"
}

// flatName is the name of a key in a flat JSON file: seed 001's, with the
// exceptions of loop.md R-CONF-1. Keys of other tables have none.
func flatName(name string) string {
	table, last, _ := strings.Cut(name, ".")
	switch table {
	case "run":
		return last
	case "metric":
		switch last {
		case "protected_paths", "keep_paths", "invariant_command", "invariant_timeout_seconds", "worse_command", "pass_env":
			return last
		}
		return "metric_" + last
	}
	return ""
}

// declined is the error for a key forge refuses on purpose.
func (k *key) declined(where string) error {
	return fault.New(fault.Usage, k.Declined, "%q%s is not used by forge", k.Name, where)
}
