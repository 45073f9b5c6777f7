package sample

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"forge/gitstore/vectors"
	"forge/loop/verdict"
)

// vector is one case of statistics.md section 14.
type vector struct {
	ID, Kind string
	In       struct {
		D             [][]int64
		M             []int64
		B             []int64
		Flips         int64
		N             int64
		K             int64
		V             float64
		DesignEffect  float64 `json:"design_effect"`
		Delta         float64
		FalseKeep     float64 `json:"false_keep"`
		Seen          map[string]int64
		Config        map[string]any
		Mode          string
		First, Second []int64
		History       [][2]int64
		Set           string
		Touches       []struct{ Run, Touch, Set string }
	}
	Out map[string]any
	Tol float64
}

// Every kind of the statistics vectors that this package answers.
func TestVectors(t *testing.T) {
	answers := map[string]func(*testing.T, vector) map[string]any{
		"aa": forecastVector, "power": powerVector, "sample_size": sizeVector, "earlystop": boundVector,
		"earlystop_exclusion": exclusionVector, "second_look": lookVector, "fail_first": failFirstVector, "test_touches": touchesVector,
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

// compare holds an outcome against the vector, no member more or less.
func compare(t *testing.T, v vector, got map[string]any) {
	t.Helper()
	rest := map[string]any{}
	for key, want := range v.Out {
		n, isNumber := want.(json.Number)
		value, isFloat := got[key].(float64)
		if !isNumber || !isFloat {
			rest[key] = want
			continue
		}
		if w, err := n.Float64(); err != nil || math.Abs(value-w) > max(v.Tol, 1e-9)*max(1, math.Abs(w)) {
			t.Errorf("%s = %v, want %v", key, value, want)
		}
	}
	vectors.CheckDocument(t, got, rest)
	if len(got) != len(v.Out) {
		t.Errorf("outcome %v, want %v", got, v.Out)
	}
}

// must takes the outcome of a function that must not err.
func must[V any](t testing.TB) func(V, error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (v vector) bars(t *testing.T) verdict.Bars {
	t.Helper()
	return must[verdict.Bars](t)(verdict.Request{NoiseFloor: vectors.Text(v.In.Config["noise_floor"]), Boundary: vectors.Text(v.In.Config["boundary"])}.Bars())
}

func forecastVector(t *testing.T, v vector) map[string]any {
	got := must[Forecast](t)(ForecastOf(v.In.D, v.In.M, v.In.Flips, v.bars(t)))
	return map[string]any{
		"N": got.N, "K": got.Keep, "sd_delta": got.SD, "flip_rate": got.FlipRate, "p_false_keep": got.FalseKeep,
		"mde80": got.MDE80, "floor_1sd": got.Floor, "floor_1_645sd": got.FloorWide,
	}
}

func powerVector(t *testing.T, v vector) map[string]any {
	got := must[Power](t)(PowerOf(v.In.N, v.In.K, Noise{2 * v.In.V, v.In.DesignEffect}, v.In.Delta, v.bars(t)))
	return map[string]any{"K": got.Keep, "sd_delta": got.SD, "p_keep_null": got.FalseKeep, "p_keep_at_delta": got.AtDelta, "mde80": got.MDE80}
}

func sizeVector(t *testing.T, v vector) map[string]any {
	size, exact, err := SampleSize(Noise{2 * v.In.V, v.In.DesignEffect}, v.In.Delta, v.In.FalseKeep)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"assertions_times_repeats": size, "exact": exact}
}

// progress is the baseline and what has run of a vector.
func (v vector) progress(t *testing.T) (evals []Eval, seen map[int]int64) {
	t.Helper()
	for i, m := range v.In.M {
		evals = append(evals, Eval{m, v.In.B[i]})
	}
	seen = map[int]int64{}
	for text, passes := range v.In.Seen {
		seen[must[int](t)(strconv.Atoi(text))] = passes
	}
	return evals, seen
}

// orNull is null for what is not settled.
func orNull[T ~string](text T) any {
	if text == "" {
		return nil
	}
	return text
}

func boundVector(t *testing.T, v vector) map[string]any {
	evals, seen := v.progress(t)
	got := must[Bounds](t)(Bound(evals, seen, v.bars(t)))
	near := any(got.NearMiss)
	if got.Verdict == "" {
		near = nil
	}
	return map[string]any{
		"N": got.N, "lo": got.Low, "hi": got.High, "verdict_settled": orNull(got.Verdict), "action_settled": orNull(got.Action), "near_miss_settled": near,
	}
}

func exclusionVector(t *testing.T, v vector) map[string]any {
	evals, seen := v.progress(t)
	got := must[Bounds](t)(BoundWithExclusions(evals, seen, v.bars(t)))
	return map[string]any{"N": got.N, "N_seen": got.Seen, "lo": got.Low, "hi": got.High, "corners": got.Corners, "verdict_settled": orNull(got.Verdict)}
}

func lookVector(t *testing.T, v vector) map[string]any {
	mode := must[SecondLook](t)(ParseSecondLook(v.In.Mode))
	first, second := Pair{v.In.First[0], v.In.First[1]}, Pair{v.In.Second[0], v.In.Second[1]}
	final := must[Pooled](t)(Pool(v.In.N, v.bars(t), first))
	got := map[string]any{"second_pair": mode.Wanted(final.Decision, final.NearMiss)}
	if got["second_pair"] == true {
		got["provisional"] = final.Decision
		final = must[Pooled](t)(Pool(v.In.N, v.bars(t), first, second))
	}
	got["decision"], got["near_miss"], got["D"], got["N_pooled"] = final.Decision, final.NearMiss, final.D, final.N
	return got
}

func failFirstVector(t *testing.T, v vector) map[string]any {
	var evals []History
	for i, m := range v.In.M {
		evals = append(evals, History{m, v.In.History[i][0], v.In.History[i][1]})
	}
	order, failures, err := FailFirst(evals)
	if err != nil {
		t.Fatal(err)
	}
	var floats []float64
	for _, r := range failures {
		f, _ := r.Float64()
		floats = append(floats, f)
	}
	return map[string]any{"order": order, "expected_failures": floats}
}

func touchesVector(t *testing.T, v vector) map[string]any {
	var found []Touch
	for _, touch := range v.In.Touches {
		found = append(found, Touch{touch.Run, touch.Touch, touch.Set})
	}
	count, often := CountTouches(v.In.Set, found)
	return map[string]any{"count": count, "warn": often}
}
