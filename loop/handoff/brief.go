// Package handoff holds the documents that cross the seam between the engine
// and whoever proposes: the brief that goes out, the proposal that comes back,
// and the result.
//
// A brief is self-contained and depends on committed state alone: the same tip
// gives the same bytes, on every machine and at every hour, so a proposer may
// be restarted, moved or replaced between two experiments.
//
// Source: handoff.md sections 1 to 4; ARCHITECTURE section 1.
package handoff

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// BriefSchema names the brief's document.
const BriefSchema = "forge.brief/1"

// Brief is the document forge.brief/1. Every field is always there: a list
// without members is [], a text without words "", a part that a mode does not
// have null. Readers ignore fields they do not know.
type Brief struct {
	Schema     string     `json:"schema"`
	BriefID    string     `json:"brief_id"`
	Run        string     `json:"run"`
	Experiment string     `json:"experiment"`
	N          int        `json:"n"`
	Mode       string     `json:"mode"`
	Tip        string     `json:"tip"`
	Branch     string     `json:"branch"`
	Target     Target     `json:"target"`
	Scope      Scope      `json:"scope"`
	Work       *string    `json:"work"`
	Protected  Protected  `json:"protected"`
	Baseline   Baseline   `json:"baseline"`
	Thresholds Thresholds `json:"thresholds"`
	Phase      Phase      `json:"phase"`
	Guidance   Guidance   `json:"guidance"`
	Allowed    Allowed    `json:"allowed"`
	Coverage   Coverage   `json:"coverage"`
	Last       []Past     `json:"last"`
	Rejected   []Past     `json:"rejected"`
	NearMisses []Past     `json:"near_misses"`
	Failures   []Failure  `json:"failures"`
	Successes  []any      `json:"successes"`
	Library    []Skill    `json:"library"`
	Tried      []Tried    `json:"tried"`
	Readings   *Readings  `json:"readings"`
	Patterns   []any      `json:"patterns"`
	Questions  []any      `json:"questions"`
	VaultIndex string     `json:"vault_index"`
	Inherited  string     `json:"inherited_purpose"`
	Limits     Limits     `json:"limits"`
	Left       Left       `json:"left"`
	Submit     Submit     `json:"submit"`
}

// Target is what may be improved. Path is from the root of the repository: in
// generic mode the deepest directory that holds the whole scope. Paths of
// files are relative to it.
type Target struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Tree  string `json:"tree"`
	Files []File `json:"files"`
}

// File is one file of the target at the tip. Bytes counts bytes, Tokens is the
// estimate of loop.md R-BUDGET-3 at three code points a token.
type File struct {
	Path   string `json:"path"`
	Mode   string `json:"mode"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
	SHA256 string `json:"sha256"`
}

// Scope says which paths a patch may touch, relative to the target's path.
// Exclude always wins.
type Scope struct {
	Include  []string `json:"include"`
	Exclude  []string `json:"exclude"`
	MaxFiles int      `json:"max_files"`
}

// Protected is what a patch must leave alone inside the scope.
type Protected struct {
	Regions []Region `json:"regions"`
	Paths   []string `json:"paths"`
}

// Region is a protected region of a file, markers included. Name is without
// FORGE_; lines count from 1.
type Region struct {
	Path      string `json:"path"`
	Name      string `json:"name"`
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
}

// Baseline is the score of the tip that a candidate is compared with. Exact is
// a count or, in generic mode, the shortest decimal; Split is null there.
type Baseline struct {
	Score  json.Number `json:"score"`
	Exact  string      `json:"exact"`
	Split  *string     `json:"split"`
	Source string      `json:"source"`
	Start  Point       `json:"start"`
}

// Point is a score in its two forms.
type Point struct {
	Score json.Number `json:"score"`
	Exact string      `json:"exact"`
}

// Thresholds are the bars of decide; noise floor, resolution and threshold are
// exact texts.
type Thresholds struct {
	Improvement  json.Number `json:"improvement"`
	Regression   json.Number `json:"regression"`
	NearMissBand json.Number `json:"near_miss_band"`
	NoiseFloor   string      `json:"noise_floor"`
	Resolution   string      `json:"resolution"`
	Threshold    string      `json:"threshold"`
	Binding      string      `json:"binding"`
	Boundary     string      `json:"boundary"`
	Direction    string      `json:"direction"`
	Relative     bool        `json:"relative"`
}

// Phase is exploration, balanced or exploitation, with the trend of the
// baseline over the last three measured experiments (roles.md R-CTX-3).
type Phase struct {
	Name  string `json:"name"`
	Trend string `json:"trend"`
}

// Guidance is what the phase asks for, in words, and what is forced.
type Guidance struct {
	Text               string  `json:"text"`
	ForcedCategory     *string `json:"forced_category"`
	ForcedMutationType *string `json:"forced_mutation_type"`
	KnowledgeClosed    bool    `json:"knowledge_closed"`
}

// Allowed lists the words a proposal may use.
type Allowed struct {
	Categories    []string `json:"categories"`
	MutationTypes []string `json:"mutation_types"`
}

// Coverage is the search so far by category.
type Coverage struct {
	Untouched  []string `json:"untouched"`
	Saturated  []string `json:"saturated"`
	Categories []any    `json:"categories"`
}

// Past is one earlier experiment in the form the brief's lists show it.
type Past struct {
	Experiment   string       `json:"experiment"`
	Category     string       `json:"category,omitempty"`
	MutationType string       `json:"mutation_type,omitempty"`
	Decision     string       `json:"decision,omitempty"`
	NearMiss     bool         `json:"near_miss,omitempty"`
	Delta        *json.Number `json:"delta"`
	Distance     *json.Number `json:"distance,omitempty"`
	Confidence   string       `json:"confidence,omitempty"`
	Hypothesis   string       `json:"hypothesis"`
	DiffExcerpt  string       `json:"diff_excerpt,omitempty"`
	Run          string       `json:"run,omitempty"`
}

// Failure is one eval of the train split that the tip fails.
type Failure struct {
	Eval       string        `json:"eval"`
	Prompt     string        `json:"prompt"`
	Failed     []FailedCheck `json:"failed"`
	Output     *string       `json:"output"`
	Transcript *string       `json:"transcript"`
	ClaimsRead []string      `json:"claims_read"`
}

// FailedCheck is one assertion that failed, with what was seen.
type FailedCheck struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Evidence string `json:"evidence"`
}

// Skill is one entry of the library the target competes with.
type Skill struct {
	Path        string `json:"path"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Tried is one experiment of this run as built-in proposers replay it.
type Tried struct {
	Experiment string       `json:"experiment"`
	Changes    []string     `json:"changes"`
	Hypothesis string       `json:"hypothesis"`
	Decision   string       `json:"decision"`
	Delta      *json.Number `json:"delta"`
}

// Readings are the baseline's measurements in generic mode. LastOutput is the
// path of what the metric printed last, null where no folder was written.
type Readings struct {
	Values     []json.Number `json:"values"`
	Median     string        `json:"median"`
	NoiseFloor string        `json:"noise_floor"`
	Command    string        `json:"command"`
	Name       *string       `json:"name"`
	LastOutput *string       `json:"last_output"`
}

// Limits bound a patch; bytes are bytes, tokens estimates. TokenBudget is null
// in generic mode.
type Limits struct {
	TokenBudget   *int `json:"token_budget"`
	TokensNow     *int `json:"tokens_now"`
	OverBudget    bool `json:"over_budget"`
	MaxPatchBytes int  `json:"max_patch_bytes"`
	MaxPatchFiles int  `json:"max_patch_files"`
	MaxFileBytes  int  `json:"max_file_bytes"`
}

// The bounds of one patch, handoff.md section 1.
const (
	MaxPatchBytes = 1 << 20
	MaxPatchFiles = 200
	MaxFileBytes  = 1 << 20
)

// Left is what remains of the run's limits. Minutes is null without a time
// budget, USD null when no call costs money.
type Left struct {
	Experiments int          `json:"experiments"`
	Minutes     *json.Number `json:"minutes"`
	USD         *string      `json:"usd"`
	Deferred    int          `json:"deferred"`
}

// Submit says how an answer is given.
type Submit struct {
	Command        string `json:"command"`
	PatchBase      string `json:"patch_base"`
	ProposalSchema string `json:"proposal_schema"`
}

// ID is the brief's identity: it changes with the tip and with the experiment
// and with nothing else (R-NEXT-2).
func ID(tip, experiment string) string {
	sum := sha256.Sum256([]byte(tip + "\n" + experiment + "\n"))
	return hex.EncodeToString(sum[:])[:16]
}

// ExperimentName is the id of the n-th experiment, from 1: exp-001.
func ExperimentName(n int) string { return fmt.Sprintf("exp-%03d", n) }

// Encode writes the document with two-space indent and a final newline.
func (b Brief) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode brief %s: %w", b.BriefID, err)
	}
	return append(data, '\n'), nil
}
