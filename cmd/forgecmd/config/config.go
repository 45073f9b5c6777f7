// Package config turns flags, FORGE_ variables and configuration files into
// one typed value, checked and with the origin of everything in it.
//
// The first layer that sets a key wins: flag, environment, repository (or the
// file named by --config, which stands in for it), the person's file, default.
// A value is checked in every layer, also where another one hides it: an
// unknown key, a wrong type or a value out of range is an error that names
// the file, the line and the nearest key there is. [Load] reads no file and
// no environment itself; git's configuration is no layer.
//
// What a repository commits can execute things, so those keys are listed by
// [Config.TrustItems]; whoever uses one checks it first.
//
// Source: config.md; DECISIONS V7, H10, T1.
package config

import (
	"fmt"
	"math/big"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/loop/verdict"
)

// Config is the effective configuration. A pointer that is nil and a string
// or list that is empty were set nowhere and have no default.
type Config struct {
	Run      Run      `key:"run"`
	Metric   Metric   `key:"metric"`
	Runner   Runner   `key:"runner"`
	Proposer Proposer `key:"proposer"`

	// Warnings say which values have no effect, one sentence each.
	Warnings []string

	settings map[string]Setting
	models   map[string]any // what names a model, by key
	trust    []gitstore.TrustItem
}

// Run is the table [run] (config.md section 3).
type Run struct {
	Mode                 string           `key:"mode"`        // auto, skill, generic
	TargetPath           string           `key:"target_path"` // as written; the caller cleans it
	Proposer             string           `key:"proposer"`    // roles, builtin:NAME, command:CMD
	MaxExperiments       int              `key:"max_experiments"`
	MaxCrashes           int              `key:"max_crashes"`
	TimeBudget           time.Duration    `key:"time_budget_minutes"` // 0: none
	TargetValue          *big.Rat         `key:"target_value"`        // nil: none
	ImprovementThreshold *big.Rat         `key:"improvement_threshold"`
	RegressionThreshold  *big.Rat         `key:"regression_threshold"`
	NearMissBand         *big.Rat         `key:"near_miss_band"`
	NoiseFloor           *big.Rat         `key:"noise_floor"` // nil: measured in generic mode, else 0
	Resolution           *big.Rat         `key:"resolution"`  // nil: computed
	Boundary             verdict.Boundary `key:"boundary"`
	Relative             bool             `key:"relative"`
	GateWeights          evals.Gate       `key:"gate_weights"` // zero: the default with or without a judge
	UseComparator        bool             `key:"use_comparator"`
	SplitRatio           evals.Fractions  `key:"split_ratio"`
	SplitSeed            evals.Seed       `key:"split_seed"`
	MinEvals             int              `key:"min_evals"`
	MinEvalsForTest      int              `key:"min_evals_for_test"`
	RunsPerSide          int              `key:"runs_per_side"`
	TriggerRuns          int              `key:"trigger_runs"`
	Baseline             string           `key:"baseline"` // side_by_side, cached
	BaselineMaxAge       int              `key:"baseline_max_age"`
	Parallel             int              `key:"parallel"`
	NoiseRepeats         int              `key:"noise_repeats"`
	RejectedLimit        int              `key:"rejected_limit"`
	AppendixMaxNotes     int              `key:"appendix_max_notes"`
	TokenBudget          int              `key:"token_budget"` // 0: a quarter more than at the start, at least 2,000
	CharsPerToken        int              `key:"chars_per_token"`
	MinScopeRatio        *big.Rat         `key:"min_scope_ratio"` // 0 to 1
	MaxScopeFiles        int              `key:"max_scope_files"`
	MaxExport            int64            `key:"max_export_mib"` // bytes
	Sandbox              Sandbox          `key:"sandbox"`
}

// Metric is the table [metric] (config.md section 3).
type Metric struct {
	Command          Command           `key:"command"`
	Name             string            `key:"name"`
	Direction        verdict.Direction `key:"direction"`
	Repeats          int               `key:"repeats"`
	Timeout          time.Duration     `key:"timeout_seconds"`
	OutputLimit      int64             `key:"output_limit_mib"` // bytes
	ProtectedPaths   []string          `key:"protected_paths"`  // paths and globs from the repository's root
	KeepPaths        []string          `key:"keep_paths"`
	InvariantCommand Command           `key:"invariant_command"`
	InvariantTimeout time.Duration     `key:"invariant_timeout_seconds"`
	PassEnv          []string          `key:"pass_env"` // NAME or NAME=VALUE
	WorseCommand     Command           `key:"worse_command"`
}

// Runner is the table [runner] (config.md section 3).
type Runner struct {
	Kind             string        `key:"kind"`
	Command          Command       `key:"command"`
	Model            string        `key:"model"`
	Timeout          time.Duration `key:"timeout_seconds"`
	CheckTimeout     time.Duration `key:"check_timeout_seconds"`
	PassEnv          []string      `key:"pass_env"` // NAME or NAME=VALUE
	LexicalThreshold *big.Rat      `key:"lexical_threshold"`
}

// Proposer is the table [proposer] (config.md section 3).
type Proposer struct {
	Timeout time.Duration `key:"timeout_seconds"`
	PassEnv []string      `key:"pass_env"`
}

// Bars returns what a verdict is held against. A noise floor that is set
// nowhere is 0.
func (c *Config) Bars() verdict.Bars {
	floor := c.Run.NoiseFloor
	if floor == nil {
		floor = new(big.Rat)
	}
	return verdict.Bars{
		Improvement:  c.Run.ImprovementThreshold,
		Regression:   c.Run.RegressionThreshold,
		NearMissBand: c.Run.NearMissBand,
		NoiseFloor:   floor,
		Resolution:   c.Run.Resolution,
		Boundary:     c.Run.Boundary,
		Direction:    c.Metric.Direction,
		Relative:     c.Run.Relative,
	}
}

// Layer is where a value came from.
type Layer string

// The layers, strongest first (config.md R-CFG-1).
const (
	FromFlag        Layer = "flag"
	FromEnvironment Layer = "environment"
	FromRepository  Layer = "repository"
	FromNamed       Layer = "named" // the file of --config: trusted as typed
	FromPerson      Layer = "person"
	FromDefault     Layer = "default"
)

// Setting is one effective value and where it came from.
type Setting struct {
	Key    string `json:"key"`    // dotted: "run.max_experiments"
	Value  string `json:"value"`  // as written; a list is JSON; "" if set nowhere
	Layer  Layer  `json:"layer"`  // the layer that won
	Origin string `json:"origin"` // file:line, variable, "flag" or "default"
}

// Origin says where the value of key came from, for people: "flag",
// "FORGE_RUN_MODE", ".forge/config.toml:4" or "default". It is "" for a key
// that does not exist.
func (c *Config) Origin(key string) string { return c.settings[key].Origin }

// Unread reports whether key is checked, and nothing reads it in this version.
func Unread(key string) bool {
	k := findKey(key)
	return k != nil && k.NotYet
}

// Value is the effective value of key as it was written, a list as JSON; "" if
// it is set nowhere and has no default.
func (c *Config) Value(key string) string { return c.settings[key].Value }

// IsSet reports whether any layer but the defaults sets key.
func (c *Config) IsSet(key string) bool {
	s, ok := c.settings[key]
	return ok && s.Layer != FromDefault
}

// Uses reports whether the effective value of key comes from the repository's
// committed file, so that it must be trusted before it is used.
func (c *Config) Uses(key string) bool { return c.settings[key].Layer == FromRepository }

// List returns every key with its effective value, in the order of config.md.
func (c *Config) List() []Setting {
	list := make([]Setting, 0, len(c.settings))
	for _, k := range keys {
		if k.Declined == "" {
			list = append(list, c.settings[k.Name])
		}
	}
	return list
}

// TrustItems returns every value of the repository's committed file that
// executes something or hands a variable on, also where a stronger layer
// hides it, in the order of config.md. A caller asks the trust store about
// all of them and stops for those it [Config.Uses].
//
// Source: config.md R-CFG-8 to R-CFG-10; gitstore.md section 17.
func (c *Config) TrustItems() []gitstore.TrustItem { return c.trust }

// Command is a program to run: a line for the shell, or program and arguments.
type Command struct {
	Line string   // for /bin/sh -c; empty if Argv is set
	Argv []string // as given in a list
}

// IsZero reports whether no command is set.
func (c Command) IsZero() bool { return c.Line == "" && len(c.Argv) == 0 }

// String is the line, or the list as JSON.
func (c Command) String() string {
	if len(c.Argv) > 0 {
		return listText(c.Argv)
	}
	return c.Line
}

// Sandbox says what stands before a child's command line (DECISIONS G11).
type Sandbox struct {
	Auto   bool     // use what the system has, or nothing
	Prefix []string // program and arguments; empty with Auto and for "none"
}

// String is auto, none, or the prefix as JSON.
func (s Sandbox) String() string {
	switch {
	case s.Auto:
		return "auto"
	case len(s.Prefix) == 0:
		return "none"
	}
	return listText(s.Prefix)
}

// Variable is the name of the environment variable of a key
// (config.md section 4): FORGE_RUN_MAX_EXPERIMENTS for run.max_experiments.
func Variable(key string) string {
	return fmt.Sprintf("FORGE_%s", upper(key))
}
