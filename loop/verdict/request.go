package verdict

import (
	"math/big"
	"strings"

	"forge/gitstore/fault"
)

// Request is a call of `forge loop decide` as texts: flags where they were
// typed, else the configuration's values. Empty means not given, so a caller
// that lets people type an empty value refuses it first.
type Request struct {
	Candidate, Baseline string // required: a decimal, a count, or @FILE

	Improvement, Regression, NearMissBand string
	NoiseFloor, Resolution                string
	SmallestWeight                        string
	Boundary, Direction                   string
	Relative                              bool

	ReadFile func(path string) ([]byte, error) // required if a side is @FILE
}

// Decide reads the texts and decides. Every error is a usage fault.
func (q Request) Decide() (Verdict, error) {
	b, err := q.Bars()
	if err != nil {
		return Verdict{}, err
	}
	candidate, err := q.side("candidate", q.Candidate)
	if err != nil {
		return Verdict{}, err
	}
	baseline, err := q.side("baseline", q.Baseline)
	if err != nil {
		return Verdict{}, err
	}
	return Decide(candidate, baseline, b)
}

// Bars reads the thresholds; what is not given stays nil, which is its
// default.
func (q Request) Bars() (Bars, error) {
	b := Bars{Boundary: Boundary(q.Boundary), Direction: Direction(q.Direction), Relative: q.Relative}
	thresholds := []struct {
		name, text string
		value      **big.Rat
	}{
		{"improvement threshold", q.Improvement, &b.Improvement},
		{"regression threshold", q.Regression, &b.Regression},
		{"near-miss band", q.NearMissBand, &b.NearMissBand},
		{"noise floor", q.NoiseFloor, &b.NoiseFloor},
		{"resolution", q.Resolution, &b.Resolution},
		{"smallest weight", q.SmallestWeight, &b.SmallestWeight},
	}
	for _, t := range thresholds {
		if t.text == "" {
			continue
		}
		value, err := ParseRatio(t.text)
		if err != nil {
			return Bars{}, fault.New(fault.Usage, fault.HintOf(err), "%s: %w", t.name, err)
		}
		*t.value = value
	}
	return b, nil
}

// side reads one score, named for the error.
func (q Request) side(name, text string) (Score, error) {
	if text == "" {
		return Score{}, fault.New(fault.Usage, "--"+name+" VALUE, a decimal, a count P/T or @FILE", "no %s given", name)
	}
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		s, err := ParseScore(text)
		if err != nil {
			return Score{}, fault.New(fault.Usage, fault.HintOf(err), "%s: %w", name, err)
		}
		return s, nil
	}
	data, err := q.ReadFile(path)
	if err != nil {
		return Score{}, fault.New(fault.Usage, "", "%s: read score file %q: %w", name, path, err)
	}
	s, err := ReadScoreFile(data)
	if err != nil {
		return Score{}, fault.New(fault.Usage, fault.HintOf(err), "%s: %q: %w", name, path, err)
	}
	return s, nil
}
