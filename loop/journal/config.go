package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"forge/gitstore/fault"
)

// RunSchema names the frozen configuration's document.
const RunSchema = "forge.run/1"

// Run is config.json: everything about a run that may not change while it
// goes on (DECISIONS M10). It is written once, in the run-start commit; limits
// that say when to stop are not in it (config.md R-CFG-7).
type Run struct {
	Schema     string          `json:"schema"`
	Run        string          `json:"run"`
	Mode       string          `json:"mode"`
	Target     string          `json:"target"`
	Slug       string          `json:"slug"`
	Skill      *string         `json:"skill"`
	Base       string          `json:"base"`
	BaseBranch string          `json:"base_branch"` // "" when HEAD was detached
	StartedAt  string          `json:"started_at"`
	Metric     Metric          `json:"metric"`
	Guards     Guards          `json:"guards"`
	Thresholds Thresholds      `json:"thresholds"`
	Proposer   Proposer        `json:"proposer"`
	Model      *string         `json:"model"`
	Prompts    struct{}        `json:"prompts"`
	Runner     json.RawMessage `json:"runner"` // of skill mode, as package runner writes it; null otherwise
	Split      *Split          `json:"split"`  // of skill mode; null otherwise
	Ungraded   []string        `json:"ungraded"`
	Sandbox    string          `json:"sandbox"`
	PassEnv    []string        `json:"pass_env"` // for metric and invariant: names only; values are never recorded
	Baseline   Baseline        `json:"baseline"`
	Doctor     Doctor          `json:"doctor"`

	CachedBaseline *CachedBaseline `json:"cached_baseline,omitempty"` // nil: both sides are measured every time
}

// CachedBaseline is asked for with baseline = "cached" (DECISIONS V12).
type CachedBaseline struct {
	MaxAge int `json:"max_age"` // rounds a measured baseline may be used
}

// Split is how the evals of a skill are divided, frozen by hash: no id and no
// text of an eval stands here.
type Split struct {
	Seed        string `json:"seed"`
	Ratio       string `json:"ratio"` // train/val/test
	MinEvals    int    `json:"min_evals"`
	MinForTest  int    `json:"min_evals_for_test"`
	Force       bool   `json:"force"`           // fewer evals than that were accepted
	Ignore      bool   `json:"ignore_ungraded"` // checks that cannot be graded are left out
	Train       int    `json:"train"`
	Val         int    `json:"val"`
	Test        int    `json:"test"`
	EvalsSHA256 string `json:"evals_sha256"`
	ValSHA256   string `json:"val_sha256"`
	TestSHA256  string `json:"test_sha256"`
}

// Metric is how the number is measured. Command and WorseCommand are argument
// lists; a command given as one text is {"/bin/sh", "-c", text}.
type Metric struct {
	Command        []string `json:"command"`
	Name           string   `json:"name"` // "" for none
	Direction      string   `json:"direction"`
	Relative       bool     `json:"relative"`
	TimeoutSeconds int      `json:"timeout_seconds"`
	OutputLimitMiB int      `json:"output_limit_mib"`
	MetricRepeats  int      `json:"metric_repeats"`
	NoiseRepeats   int      `json:"noise_repeats"`
	WorseCommand   []string `json:"worse_command"`
	KeepPaths      []string `json:"keep_paths"`
}

// Guards is what a candidate is held to. MinScopeRatio is decimal text.
type Guards struct {
	ProtectedPaths          []string `json:"protected_paths"`
	NoProtect               bool     `json:"no_protect"`
	InvariantCommand        []string `json:"invariant_command"`
	InvariantTimeoutSeconds int      `json:"invariant_timeout_seconds"`
	MinScopeRatio           string   `json:"min_scope_ratio"`
	MaxScopeFiles           int      `json:"max_scope_files"`
	InvariantsSHA256        string   `json:"invariants_sha256"`
	TokenBudget             int      `json:"token_budget,omitempty"`    // of a skill, in tokens
	CharsPerToken           int      `json:"chars_per_token,omitempty"` // of a skill
}

// Thresholds are the bars of decide as exact text.
type Thresholds struct {
	Improvement  string `json:"improvement"`
	Regression   string `json:"regression"`
	NearMissBand string `json:"near_miss_band"`
	NoiseFloor   string `json:"noise_floor"`
	Resolution   string `json:"resolution"`
	Boundary     string `json:"boundary"`
}

// Proposer is who mutates. Command is null for a built-in one.
type Proposer struct {
	Kind           string   `json:"kind"`
	Command        []string `json:"command"`
	TimeoutSeconds int      `json:"timeout_seconds"`
	Fingerprint    string   `json:"fingerprint"`
	PassEnv        []string `json:"pass_env,omitempty"` // of a command: names only
}

// Baseline is the unchanged state, measured: the readings in the order taken,
// their median and the noise floor, both exact text (R-REC-4).
type Baseline struct {
	Values     []json.Number `json:"values"`
	Median     string        `json:"median"`
	NoiseFloor string        `json:"noise_floor"`
}

// Doctor is what the checks before the start said.
type Doctor struct {
	Forced   bool     `json:"forced"`
	Warnings []string `json:"warnings"`
}

// Encode writes the document as it is committed.
func (r Run) Encode() ([]byte, error) { return encode("config of run "+r.Run, r) }

// DecodeRun reads config.json. A newer schema is refused by name.
func DecodeRun(data []byte) (Run, error) {
	var r Run
	if err := decode(data, "forge.run/", RunSchema, &r); err != nil {
		return Run{}, fmt.Errorf("read a run's config.json: %w", err)
	}
	return r, nil
}

func encode(what string, document any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	return out.Bytes(), nil
}

// decode reads a document whose schema is family + a number, and refuses a
// number above that of known.
func decode(data []byte, family, known string, into any) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	version, isNumber := strings.CutPrefix(head.Schema, family)
	n, err := strconv.Atoi(version)
	if !isNumber || err != nil {
		return fmt.Errorf("the schema is %q, want %q", head.Schema, known)
	}
	if newest, _ := strconv.Atoi(strings.TrimPrefix(known, family)); n > newest {
		return fault.New(fault.Usage, "install a newer forge", "the schema %q is newer than this forge, which knows %q", head.Schema, known)
	}
	return json.Unmarshal(data, into)
}
