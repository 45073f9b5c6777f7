package metric

import (
	"bytes"
	"encoding/json"
	"math/big"

	"forge/loop/verdict"
)

// digits is how many stand after the decimal point of a computed number in a
// document (loop.md R-OUT-3).
const digits = 6

// MarshalJSON returns the document of loop.md R-NOISE-1.
func (f Floor) MarshalJSON() ([]byte, error) {
	values := make([]json.Number, len(f.Values))
	for i, v := range f.Values {
		values[i] = verdict.Number(v)
	}
	bound := new(big.Rat).SetFloat64(f.T95Bound)
	return marshal(struct {
		Runs             int           `json:"runs"`
		Values           []json.Number `json:"values"`
		Median           json.Number   `json:"median"`
		Min              json.Number   `json:"min"`
		Max              json.Number   `json:"max"`
		Spread           json.Number   `json:"spread"`
		Relative         bool          `json:"relative"`
		RelativeFallback bool          `json:"relative_fallback"`
		NoiseFloor       json.Number   `json:"noise_floor"`
		NoiseFloorExact  string        `json:"noise_floor_exact"`
		T95Bound         json.Number   `json:"t95_bound"`
		Warnings         []string      `json:"warnings"`
	}{
		len(f.Values), values, verdict.Rounded(f.Median, digits), verdict.Number(f.Min), verdict.Number(f.Max),
		verdict.Rounded(f.Spread, digits), f.Relative, f.RelativeFallback,
		verdict.Rounded(f.NoiseFloor, digits), verdict.Exact(f.NoiseFloor), verdict.Rounded(bound, digits), f.Warnings,
	})
}

// MarshalJSON returns the document of loop.md R-METRIC-6; the name is null
// without a marker.
func (c Comparison) MarshalJSON() ([]byte, error) {
	var name *string
	if c.Reading.Name != "" {
		name = &c.Reading.Name
	}
	return marshal(struct {
		CurrentValue     json.Number       `json:"current_value"`
		BaselineValue    json.Number       `json:"baseline_value"`
		RawDelta         json.Number       `json:"raw_delta"`
		NormalizedDelta  json.Number       `json:"normalized_delta"`
		RelativeFallback bool              `json:"relative_fallback"`
		ImprovedRaw      bool              `json:"improved_raw"`
		Direction        verdict.Direction `json:"direction"`
		Name             *string           `json:"name"`
		Source           Source            `json:"source"`
		Warnings         []string          `json:"warnings"`
	}{
		verdict.Number(c.Reading.Value), verdict.Number(c.Baseline),
		verdict.Rounded(c.RawDelta, digits), verdict.Rounded(c.NormalizedDelta, digits),
		c.RelativeFallback, c.ImprovedRaw, c.Direction, name, c.Reading.Source, c.Reading.Warnings,
	})
}

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
