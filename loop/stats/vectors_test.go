package stats

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"os"
	"slices"
	"testing"

	"forge/gitstore/vectors"
)

// vector is one case of statistics.md section 14.
type vector struct {
	ID, Kind string
	In       struct {
		B, C           int64
		D, M, Passes   []int64
		X, N, K        int64
		Delta, SD, Tau float64
	}
	Out map[string]any
	Tol float64
}

// One case per kind of the statistics vectors that this package answers.
func TestVectors(t *testing.T) { // F2, F3, F4, F5, F9
	answers := map[string]func(*testing.T, vector) map[string]any{
		"mcnemar": mcnemarVector, "sign": signVector, "signflip": signFlipVector, "wilson": wilsonVector,
		"rate_interval": rateVector, "delta_interval": deltaVector, "shrink": shrinkVector,
	}
	seen := map[string]bool{}
	for _, v := range vectors.Read[vector](t, os.Getenv("FORGE_VECTORS"), "statistics.json", slices.Sorted(maps.Keys(answers))...) {
		seen[v.Kind] = true
		t.Run(v.ID, func(t *testing.T) { compare(t, v, answers[v.Kind](t, v)) })
	}
	if len(seen) != len(answers) {
		t.Errorf("vectors of %d kinds, want %d", len(seen), len(answers))
	}
}

// compare holds every member of an outcome against the vector: numbers within
// its tolerance, texts exactly.
func compare(t *testing.T, v vector, got map[string]any) {
	t.Helper()
	if v.Tol == 0 {
		v.Tol = 1e-9
	}
	for key, want := range v.Out {
		switch value := got[key].(type) {
		case float64:
			n, err := want.(json.Number).Float64()
			if err != nil || math.Abs(value-n) > v.Tol*max(1, math.Abs(n)) {
				t.Errorf("%s = %v, want %v", key, value, want)
			}
		default:
			if value != want {
				t.Errorf("%s = %v, want %v", key, value, want)
			}
		}
	}
}

// must takes the outcome of a function that must not err.
func must[V any](t *testing.T) func(V, error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func mcnemarVector(t *testing.T, v vector) map[string]any {
	got := must[Paired](t)(McNemar(v.In.B, v.In.C))
	return map[string]any{
		"p_one_sided": float(got.OneSided), "p_two_sided": float(got.TwoSided), "mid_p_one_sided": float(got.MidP),
		"fraction_one_sided": got.OneSided.RatString(),
	}
}

func signVector(t *testing.T, v vector) map[string]any {
	got := must[Paired](t)(SignTest(v.In.D))
	wins, losses, _ := Tally(v.In.D)
	return map[string]any{"wins": float64(wins), "losses": float64(losses), "p_one_sided": float(got.OneSided)}
}

func signFlipVector(t *testing.T, v vector) map[string]any {
	got := must[Flipped](t)(SignFlip(v.In.D))
	return map[string]any{
		"net": float64(got.Net), "p_one_sided": float(got.P), "mid_p": float(got.MidP), "mid_p_worse": float(got.Worse()),
		"fraction": got.P.RatString(),
	}
}

func wilsonVector(t *testing.T, v vector) map[string]any {
	got := must[Interval](t)(Wilson(v.In.X, v.In.N))
	return map[string]any{"lo": got.Low, "hi": got.High}
}

func rateVector(t *testing.T, v vector) map[string]any {
	var list []Measured
	for i, m := range v.In.M {
		list = append(list, Measured{v.In.Passes[i], m})
	}
	got := must[Rate](t)(RateInterval(list))
	return map[string]any{
		"rate": float(got.Rate), "cluster_se": got.ClusterSE, "design_effect": got.DesignEffect, "n_eff": got.EffectiveN,
		"lo": got.Low, "hi": got.High,
	}
}

func deltaVector(t *testing.T, v vector) map[string]any {
	var list []Change
	for i, m := range v.In.M {
		list = append(list, Change{v.In.D[i], v.In.K * m})
	}
	got := must[Difference](t)(DeltaInterval(list, v.In.B, v.In.C))
	return map[string]any{
		"delta": float(got.Delta), "cluster_se": got.ClusterSE, "naive_se": got.NaiveSE, "design_effect": got.DesignEffect,
		"center": got.Center, "lo": got.Low, "hi": got.High,
	}
}

func shrinkVector(t *testing.T, v vector) map[string]any {
	got := must[Gain](t)(Shrink(v.In.Delta, v.In.SD, v.In.Tau))
	return map[string]any{"B": got.Factor, "expected": got.Expected}
}

// rat reads an exact number.
func rat(t testing.TB, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return r
}
