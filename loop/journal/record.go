package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"forge/loop/verdict"
)

// RecordSchema names the document of one experiment.
const RecordSchema = "forge.record/1"

// Record is record.json: everything about one experiment, written once with
// its verdict's commit and never changed (R-REC-1). Parts that do not exist
// are left out.
type Record struct {
	Schema            string          `json:"schema"`
	Run               string          `json:"run"`
	Experiment        string          `json:"experiment"`
	Hypothesis        Hypothesis      `json:"hypothesis"`
	Mutation          *Mutation       `json:"mutation,omitempty"`
	BaselineReading   *StoredSide     `json:"baseline_reading,omitempty"`
	Reading           *MeasuredSide   `json:"reading,omitempty"`
	ScoreWithMutation json.RawMessage `json:"score_with_mutation,omitempty"`
	ScoreBaseline     json.RawMessage `json:"score_baseline,omitempty"`
	Guard             *Guard          `json:"guard"`
	Decision          Decision        `json:"decision"`
	Rebaseline        *Baseline       `json:"rebaseline,omitempty"`
	Order             string          `json:"order,omitempty"`
	Timing            Timing          `json:"timing"`
	CostUSD           string          `json:"cost_usd"`
}

// Hypothesis is why the change was tried.
type Hypothesis struct {
	Category     string `json:"category"`
	MutationType string `json:"mutation_type"`
	Text         string `json:"text"`
}

// Mutation is what changed. Tree is the id of the candidate's tree without
// .forge, BaseTree that of the state it was tried on: two candidates are the
// same experiment iff both agree (handoff.md R-PROP-3).
type Mutation struct {
	Diff         string       `json:"diff"`
	LinesAdded   int          `json:"lines_added"`
	LinesRemoved int          `json:"lines_removed"`
	Files        []FileChange `json:"files"`
	Changes      []Change     `json:"changes"`
	Tree         string       `json:"tree"`
	BaseTree     string       `json:"base_tree"`
}

// FileChange names one file and what happened to it: added, modified, deleted
// or mode.
type FileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"`
}

// Change is one changed line, or one file's counts where more than eight lines
// changed (R-HIST-1).
type Change struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
}

// StoredSide is the baseline a reading was compared with, and which
// measurement it is: stored@start or stored@exp-NNN.
type StoredSide struct {
	Baseline
	Source string `json:"source"`
}

// MeasuredSide is the candidate's readings and their median.
type MeasuredSide struct {
	Values   []json.Number `json:"values"`
	Median   string        `json:"median"`
	Name     string        `json:"name"`
	Source   string        `json:"source"`
	Warnings []string      `json:"warnings"`
}

// Guard is what refused a candidate.
type Guard struct {
	Name    string   `json:"name"`
	Message string   `json:"message"`
	Paths   []string `json:"paths"`
}

// Timing is in seconds of the program's clock (R-REC-5).
type Timing struct {
	StartedAt   string  `json:"started_at"`
	DurationS   float64 `json:"duration_s"`
	MeasureS    float64 `json:"measure_s"`
	RebaselineS float64 `json:"rebaseline_s"`
}

// Evidence names a raw output kept outside the history and its SHA-256. Path
// is relative to the run's evidence folder.
type Evidence struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Decision is the member decision of a record: for a measured outcome the
// whole document of decide with the commits around it, else the word and its
// reason (R-REC-2).
type Decision struct {
	Candidate      string
	Baseline       string
	BaselineSource string
	BaselineReason string          // of a fresh one, where a cached one was asked for: why not
	BaselineAge    *int            // of a cached one: rounds measured since
	Verdict        json.RawMessage // decide's document; nil for what was not measured
	Word           string          // the decision, also for a measured outcome
	Crash          bool
	Reason         string
	Ungraded       []string
	Evidence       []Evidence

	raw json.RawMessage // as it was read; a record is never changed
}

type decisionHead struct {
	Candidate      string `json:"candidate,omitempty"`
	Baseline       string `json:"baseline,omitempty"`
	BaselineSource string `json:"baseline_source,omitempty"`
	BaselineReason string `json:"baseline_reason,omitempty"`
	BaselineAge    *int   `json:"baseline_age,omitempty"`
	Decision       string `json:"decision,omitempty"`
}

type decisionTail struct {
	Override *struct{}  `json:"override"`
	Crash    bool       `json:"crash"`
	Reason   *string    `json:"reason"`
	Ungraded []string   `json:"ungraded"`
	Evidence []Evidence `json:"evidence"`
}

// MarshalJSON splices decide's own document between the commits and what the
// engine adds, so that its keys keep their order and its numbers their digits.
func (d Decision) MarshalJSON() ([]byte, error) {
	if d.raw != nil {
		return d.raw, nil
	}
	head := decisionHead{
		Candidate: d.Candidate, Baseline: d.Baseline, BaselineSource: d.BaselineSource, BaselineReason: d.BaselineReason, BaselineAge: d.BaselineAge,
	}
	if d.Verdict == nil {
		head.Decision = d.Word
	}
	tail := decisionTail{Crash: d.Crash, Ungraded: d.Ungraded, Evidence: d.Evidence}
	if d.Reason != "" {
		tail.Reason = &d.Reason
	}
	parts := []any{head, d.Verdict, tail}
	var out bytes.Buffer
	out.WriteByte('{')
	for _, part := range parts {
		members, err := membersOf(part)
		if err != nil {
			return nil, err
		}
		if len(members) > 0 && out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(members)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// membersOf is the inside of a JSON object.
func membersOf(part any) ([]byte, error) {
	if raw, ok := part.(json.RawMessage); ok && raw == nil {
		return nil, nil
	}
	data, err := jsonLine(part)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
	if len(data) < 2 || data[0] != '{' {
		return nil, errors.New("a decision's part is not a JSON object")
	}
	return data[1 : len(data)-1], nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Verdict then holds the whole
// member, from which [Decision.Facts] picks.
func (d *Decision) UnmarshalJSON(data []byte) error {
	var whole struct {
		decisionHead
		decisionTail
		Formula *string `json:"formula"`
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		return err
	}
	*d = Decision{
		Candidate: whole.Candidate, Baseline: whole.Baseline, BaselineSource: whole.BaselineSource,
		BaselineReason: whole.BaselineReason, BaselineAge: whole.BaselineAge, Word: whole.Decision, Crash: whole.Crash, Ungraded: whole.Ungraded, Evidence: whole.Evidence,
		raw: bytes.Clone(data),
	}
	if whole.Reason != nil {
		d.Reason = *whole.Reason
	}
	if whole.Formula != nil {
		d.Verdict = d.raw
	}
	return nil
}

// Facts are the members of decide's document that views need.
type Facts struct {
	NearMiss         bool        `json:"near_miss"`
	Delta            json.Number `json:"delta"`
	DeltaExact       string      `json:"delta_exact"`
	Threshold        json.Number `json:"threshold"`
	ThresholdExact   string      `json:"threshold_exact"`
	BindingThreshold string      `json:"binding_threshold"`
	Formula          string      `json:"formula"`
	Relative         bool        `json:"relative"`
	RelativeFallback bool        `json:"relative_fallback"`

	Counts   json.RawMessage `json:"counts"`   // null without counts
	Advisory *verdict.Advice `json:"advisory"` // null in generic mode
}

// Confidence is the label of the evidence beside the verdict, nil without one.
func (f Facts) Confidence() *string {
	if f.Advisory == nil || f.Advisory.Confidence == nil {
		return nil
	}
	label := string(*f.Advisory.Confidence)
	return &label
}

// Assertions are the number of assertions a verdict rests on, nil in generic
// mode.
func (f Facts) Assertions() *int {
	var counts *struct{ N *int }
	if json.Unmarshal(f.Counts, &counts) != nil || counts == nil {
		return nil
	}
	return counts.N
}

// Facts returns the verdict's figures; ok is false for what was not measured.
func (d Decision) Facts() (facts Facts, ok bool) {
	if d.Verdict == nil || json.Unmarshal(d.Verdict, &facts) != nil {
		return Facts{}, false
	}
	return facts, true
}

// Figures are the two sides of a measured experiment as exact text: medians of
// a metric, or counts of evals. ok is false for what was not measured.
func (r Record) Figures() (baseline, candidate string, ok bool) {
	if r.BaselineReading != nil && r.Reading != nil {
		return r.BaselineReading.Median, r.Reading.Median, true
	}
	var before, after struct {
		Exact string `json:"composite_exact"`
	}
	if r.ScoreBaseline == nil || json.Unmarshal(r.ScoreBaseline, &before) != nil || json.Unmarshal(r.ScoreWithMutation, &after) != nil {
		return "", "", false
	}
	return before.Exact, after.Exact, before.Exact != "" && after.Exact != ""
}

// Encode writes the document as it is committed.
func (r Record) Encode() ([]byte, error) { return encode("record of "+r.Experiment, r) }

// DecodeRecord reads record.json. A newer schema is refused by name.
func DecodeRecord(data []byte) (Record, error) {
	var r Record
	if err := decode(data, "forge.record/", RecordSchema, &r); err != nil {
		return Record{}, fmt.Errorf("read a record.json: %w", err)
	}
	return r, nil
}
