package evals

import (
	"encoding/json"
	"io/fs"
	"math/big"

	"forge/gitstore/fault"
)

// Gate is what each part of the composite score weighs. The zero value is no
// gate: the default applies.
type Gate struct {
	Assertions, Judge *big.Rat
}

// IsZero reports whether no weights are given.
func (g Gate) IsZero() bool { return g.Assertions == nil && g.Judge == nil }

// NewGate reads the weights of `gate_weights`: assertions and judge, a missing
// one being 0. They are not negative and make 1 within 1e-6; efficiency is
// measured and never gated. An empty map is no gate. The error is a usage
// fault.
//
// Source: loop.md R-SCORE-8.
func NewGate(weights map[string]*big.Rat) (Gate, error) {
	if len(weights) == 0 {
		return Gate{}, nil
	}
	g := Gate{new(big.Rat), new(big.Rat)}
	for name, weight := range weights {
		switch name {
		case "assertions":
			g.Assertions = weight
		case "judge":
			g.Judge = weight
		case "efficiency":
			if weight.Sign() != 0 {
				return Gate{}, fault.New(fault.Usage, "leave efficiency out", "efficiency is reported, never gated; its weight is %s", weight.RatString())
			}
		default:
			return Gate{}, bad("%q is no part of a score, want assertions and judge", name)
		}
		if weight.Sign() < 0 {
			return Gate{}, bad("the weight of %s is negative", name)
		}
	}
	off := new(big.Rat).Add(g.Assertions, g.Judge)
	off.Abs(off.Sub(off, big.NewRat(1, 1)))
	if off.Cmp(big.NewRat(1, 1_000_000)) > 0 {
		return Gate{}, bad("the weights of assertions and judge must make 1, not %s", rounded(new(big.Rat).Add(g.Assertions, g.Judge), 6))
	}
	return g, nil
}

// or is the gate, or the default with or without a judge's value.
func (g Gate) or(judged bool) Gate {
	switch {
	case !g.IsZero():
		return g
	case judged:
		return Gate{big.NewRat(65, 100), big.NewRat(35, 100)}
	}
	return Gate{big.NewRat(1, 1), new(big.Rat)}
}

// gateDocument is a gate in a score file.
type gateDocument struct {
	Assertions json.Number `json:"assertions"`
	Judge      json.Number `json:"judge"`
}

// readJudge reads the judge's value of a side, from 0 to 1, out of
// DIR/comparison.json (loop.md R-SCORE-7).
func readJudge(dir fs.FS, side Side) (*big.Rat, error) {
	const name = "comparison.json"
	document, err := readJSON(dir, name)
	if err != nil {
		return nil, err
	}
	ten := big.NewRat(10, 1)
	values := map[Side]*big.Rat{}
	for _, s := range []Side{WithMutation, Baseline} {
		value, ok := document.Root.Get("rubric").Get(string(s)).Get("overall_score").AsNumber()
		if !ok || value.Sign() < 0 || value.Cmp(ten) > 0 {
			return nil, bad("%q: rubric.%s.overall_score is no number from 0 to 10", name, s)
		}
		values[s] = value
	}
	return new(big.Rat).Quo(values[side], ten), nil
}
