package metric

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"forge/gitstore/fault"
	"forge/gitstore/vectors"
)

// loopVector is one call of `forge loop <cmd>` (loop.md section 14).
type loopVector struct {
	ID     string
	Cmd    string
	Args   map[string]any
	Config map[string]any
	Exit   int
	Expect map[string]any
}

func texts(v any) []string {
	var all []string
	for _, one := range v.([]any) {
		all = append(all, vectors.Text(one))
	}
	return all
}

func TestLoopVectors(t *testing.T) {
	for _, v := range vectors.Read[loopVector](t, os.Getenv("FORGE_VECTORS"), "loop.json", "metric", "noise-floor") {
		t.Run(v.ID, func(t *testing.T) {
			switch v.Cmd {
			case "metric":
				q := Request{
					Baseline: vectors.Text(v.Args["baseline"]), Name: vectors.Text(v.Args["name"]),
					Direction:        vectors.Flag(v.Args, v.Config, "direction", "metric_direction"),
					InvariantsBefore: vectors.Text(v.Args["invariants_before"]), InvariantCommand: vectors.Text(v.Args["invariant_command"]),
				}
				got, err := q.Compare([]byte(vectors.Text(v.Args["output"])))
				vectors.Check(t, got, err, v.Exit, v.Expect)
			case "noise-floor":
				got, err := ParseFloor(texts(v.Args["values"]), vectors.Flag(v.Args, v.Config, "relative", "relative") == "true")
				vectors.Check(t, got, err, v.Exit, v.Expect)
			}
		})
	}
}

// statisticsVector is one case of statistics.md section 14.
type statisticsVector struct {
	ID, Kind string
	In       map[string]any
	Out      map[string]any
	Tol      float64
}

func TestStatisticsVectors(t *testing.T) { // R-STAT-17, F8
	for _, v := range vectors.Read[statisticsVector](t, os.Getenv("FORGE_VECTORS"), "statistics.json", "noise_floor") {
		t.Run(v.ID, func(t *testing.T) { runStatisticsVector(t, v) })
	}
}

func runStatisticsVector(t *testing.T, v statisticsVector) {
	relative, _ := v.In["relative"].(bool)
	f, err := ParseFloor(texts(v.In["values"]), relative)
	if v.Out["error"] != nil {
		if kind := fault.KindOf(err).String(); kind != v.Out["error"] {
			t.Errorf("ParseFloor(%v) = %v of kind %s, want %v", v.In, err, kind, v.Out["error"])
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]float64{
		"range": float(f.Spread), "baseline": float(f.Median), "noise_floor": float(f.NoiseFloor), "t95_bound": f.T95Bound,
	}
	for key, got := range numbers {
		want, err := v.Out[key].(json.Number).Float64()
		if err != nil || math.Abs(got-want) > v.Tol*max(1, math.Abs(want)) {
			t.Errorf("%s = %v, want %v", key, got, v.Out[key])
		}
	}
	if f.RelativeFallback != v.Out["relative_fallback"] {
		t.Errorf("relative_fallback = %t", f.RelativeFallback)
	}
	if v.Out["deterministic"] != (f.Spread.Sign() == 0) || v.Out["warn_few_repeats"] != (len(f.Values) < goodRepeats) {
		t.Errorf("warnings = %v, want %v", f.Warnings, v.Out)
	}
}
