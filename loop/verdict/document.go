package verdict

import (
	"bytes"
	"encoding/json"
)

// digits is how many stand after the decimal point of a computed number in a
// document (loop.md R-OUT-3).
const digits = 6

// Document is a verdict as it is printed and committed, its keys in the order
// of loop.md section 2. Numbers are rounded to six digits and never compared;
// the exact texts beside them are. A record embeds it (loop.md R-REC-2).
type Document struct {
	Decision             Decision        `json:"decision"`
	NearMiss             bool            `json:"near_miss"`
	Delta                json.Number     `json:"delta"`
	DeltaExact           string          `json:"delta_exact"`
	Threshold            json.Number     `json:"threshold"`
	ThresholdExact       string          `json:"threshold_exact"`
	ImprovementThreshold json.Number     `json:"improvement_threshold"`
	RegressionThreshold  json.Number     `json:"regression_threshold"`
	NearMissBand         json.Number     `json:"near_miss_band"`
	NoiseFloor           json.Number     `json:"noise_floor"`
	Resolution           json.Number     `json:"resolution"`
	BindingThreshold     Binding         `json:"binding_threshold"`
	Boundary             Boundary        `json:"boundary"`
	Direction            Direction       `json:"direction"`
	Relative             bool            `json:"relative"`
	RelativeFallback     bool            `json:"relative_fallback"`
	Counts               *TallyDocument  `json:"counts"`
	Judge                *JudgesDocument `json:"judge"`
	Formula              string          `json:"formula"`
	Advisory             *Advice         `json:"advisory"` // null unless both sides are score files
}

// TallyDocument is [Tally] in a document.
type TallyDocument struct {
	N         json.Number `json:"N"`
	D         json.Number `json:"D"`
	Candidate string      `json:"candidate"`
	Baseline  string      `json:"baseline"`
}

// JudgesDocument is [Judges] in a document.
type JudgesDocument struct {
	Candidate json.Number `json:"candidate"`
	Baseline  json.Number `json:"baseline"`
}

// Document returns the verdict as it is printed and committed.
func (v Verdict) Document() Document {
	d := Document{
		Decision: v.Decision, NearMiss: v.NearMiss,
		Delta: Rounded(v.Delta, digits), DeltaExact: Exact(v.Delta),
		Threshold: Rounded(v.Threshold, digits), ThresholdExact: Exact(v.Threshold),
		ImprovementThreshold: Rounded(v.Improvement, digits),
		RegressionThreshold:  Rounded(v.Regression, digits),
		NearMissBand:         Rounded(v.NearMissBand, digits),
		NoiseFloor:           Rounded(v.NoiseFloor, digits),
		Resolution:           Rounded(v.Resolution, digits),
		BindingThreshold:     v.Binding, Boundary: v.Boundary, Direction: v.Direction,
		Relative: v.Relative, RelativeFallback: v.RelativeFallback,
		Formula: v.Formula, Advisory: v.Advice,
	}
	if v.Counts != nil {
		d.Counts = &TallyDocument{Rounded(v.Counts.N, digits), Rounded(v.Counts.D, digits), v.Counts.Candidate, v.Counts.Baseline}
	}
	if v.Judge != nil {
		d.Judge = &JudgesDocument{Rounded(v.Judge.Candidate, digits), Rounded(v.Judge.Baseline, digits)}
	}
	return d
}

// MarshalJSON returns the document of loop.md section 2, ">" unescaped.
func (v Verdict) MarshalJSON() ([]byte, error) { return marshal(v.Document()) }

// marshal encodes v without the escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
