package verdict

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"forge/gitstore/fault"
	"forge/gitstore/vectors"
)

// loopVector is one call of `forge loop <cmd>` (loop.md section 14).
type loopVector struct {
	ID        string
	Cmd       string
	Args      map[string]any
	Exact     map[string]any
	Config    map[string]any
	Candidate json.RawMessage
	Baseline  json.RawMessage
	Exit      int
	Expect    map[string]any
}

var errNoConfig = errors.New("no such configuration")

// decide runs the call of a decide vector.
func decide(args, config map[string]any, files map[string][]byte) (Verdict, error) {
	if _, ok := args["config"]; ok {
		return Verdict{}, fault.New(fault.Usage, "", "read configuration: %w", errNoConfig)
	}
	q := Request{
		Candidate: vectors.Text(args["candidate"]), Baseline: vectors.Text(args["baseline"]),
		Improvement:    vectors.Flag(args, config, "improvement", "improvement_threshold"),
		Regression:     vectors.Flag(args, config, "regression", "regression_threshold"),
		NearMissBand:   vectors.Flag(args, config, "near_miss_band", "near_miss_band"),
		NoiseFloor:     vectors.Flag(args, config, "noise_floor", "noise_floor"),
		Resolution:     vectors.Flag(args, config, "resolution", "resolution"),
		SmallestWeight: vectors.Text(args["smallest_weight"]),
		Boundary:       vectors.Flag(args, config, "boundary", "boundary"),
		Direction:      vectors.Flag(args, config, "direction", "metric_direction"),
		Relative:       vectors.Flag(args, config, "relative", "relative") == "true",
		ReadFile:       func(path string) ([]byte, error) { return files[path], nil },
	}
	return q.Decide()
}

func TestLoopVectors(t *testing.T) {
	for _, v := range vectors.Read[loopVector](t, os.Getenv("FORGE_VECTORS"), "loop.json", "decide", "decide-score", "plateau", "resolution") {
		t.Run(v.ID, func(t *testing.T) { runLoopVector(t, v) })
	}
}

func runLoopVector(t *testing.T, v loopVector) {
	switch v.Cmd {
	case "decide":
		got, err := decide(v.Args, v.Config, nil)
		vectors.Check(t, got, err, v.Exit, v.Expect)
		if v.Exact != nil {
			exact := map[string]any{}
			for k, value := range v.Args {
				exact[k] = value
			}
			for k, value := range v.Exact {
				exact[k] = value
			}
			got, err := decide(exact, v.Config, nil)
			vectors.Check(t, got, err, v.Exit, v.Expect)
		}
	case "decide-score":
		files := map[string][]byte{}
		args := map[string]any{"candidate": side(files, "c", v.Candidate), "baseline": side(files, "b", v.Baseline)}
		for k, value := range v.Args {
			args[k] = value
		}
		got, err := decide(args, v.Config, files)
		vectors.Check(t, got, err, v.Exit, v.Expect)
	case "plateau":
		var decisions []string
		for _, d := range v.Args["decisions"].([]any) {
			decisions = append(decisions, vectors.Text(d))
		}
		got, err := FindPlateau(decisions, number(t, v.Args, "window", 3))
		vectors.Check(t, got, err, v.Exit, v.Expect)
	case "resolution":
		got, err := Resolution(number(t, v.Args, "assertions", 0), number(t, v.Args, "flips", 2))
		vectors.Check(t, got, err, v.Exit, v.Expect)
	}
}

// side is a score file under a name, or a plain value.
func side(files map[string][]byte, name string, value json.RawMessage) string {
	var plain string
	if json.Unmarshal(value, &plain) == nil {
		return plain
	}
	files[name] = value
	return "@" + name
}

func number(t *testing.T, args map[string]any, name string, fallback int) int {
	t.Helper()
	if args[name] == nil {
		return fallback
	}
	n, err := strconv.Atoi(vectors.Text(args[name]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// statisticsVector is one case of statistics.md section 14.
type statisticsVector struct {
	ID, Kind string
	In       map[string]any
	Out      map[string]any
}

func TestStatisticsVectors(t *testing.T) {
	run := map[string]func(*testing.T, statisticsVector){"decide": runDecideVector, "bars": runBarsVector, "confidence": runConfidenceVector}
	for _, v := range vectors.Read[statisticsVector](t, os.Getenv("FORGE_VECTORS"), "statistics.json", slices.Sorted(maps.Keys(run))...) {
		t.Run(v.ID, func(t *testing.T) { run[v.Kind](t, v) })
	}
}

// runBarsVector is R-STAT-3.
func runBarsVector(t *testing.T, v statisticsVector) {
	config, _ := v.In["config"].(map[string]any)
	bars, err := Request{NoiseFloor: vectors.Text(config["noise_floor"]), Boundary: vectors.Text(config["boundary"])}.Bars()
	if err != nil {
		t.Fatal(err)
	}
	got, err := bars.Flips(int64(number(t, v.In, "N", 0)), 1)
	if err != nil {
		t.Fatal(err)
	}
	vectors.CheckDocument(t, map[string]any{"K": got.Keep, "R": got.Revert, "near_miss_from": got.NearMiss}, v.Out)
}

// runConfidenceVector is R-STAT-6.
func runConfidenceVector(t *testing.T, v statisticsVector) {
	decision, err := ParseDecision(vectors.Text(v.In["decision"]))
	if err != nil {
		t.Fatal(err)
	}
	var d []int64
	for _, x := range v.In["d"].([]any) {
		n, err := x.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		d = append(d, n)
	}
	label, evidence, err := ConfidenceOf(decision, d)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{"label": label}
	if evidence != nil {
		got["mid_p_used"] = float(evidence)
	}
	vectors.CheckDocument(t, got, v.Out)
	if len(got) != len(v.Out) {
		t.Errorf("outcome %v, want %v", got, v.Out)
	}
}

func runDecideVector(t *testing.T, v statisticsVector) {
	config, _ := v.In["config"].(map[string]any)
	args := map[string]any{}
	if total, ok := v.In["total"]; ok && v.In["candidate_counts"] != nil {
		args["candidate"] = vectors.Text(v.In["candidate_counts"]) + "/" + vectors.Text(total)
		args["baseline"] = vectors.Text(v.In["baseline_counts"]) + "/" + vectors.Text(total)
		if w, ok := v.In["smallest_weight"]; ok {
			args["smallest_weight"] = w
		}
	} else {
		args["candidate"], args["baseline"] = v.In["candidate"], v.In["baseline"]
	}
	files := map[string][]byte{}
	if v.In["candidate"] != nil && v.In["total"] != nil {
		for _, name := range []string{"candidate", "baseline"} {
			files[name] = judgedFile(t, vectors.Text(v.In[name]), v.In)
			args[name] = "@" + name
		}
	}
	got, err := decide(args, config, files)
	if v.Out["error"] != nil {
		if kind := fault.KindOf(err).String(); kind != v.Out["error"] {
			t.Errorf("Decide(%v) = %v of kind %s, want %v", v.In, err, kind, v.Out["error"])
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	exact := map[string]float64{"delta": float(got.Delta), "threshold": float(got.Threshold)}
	for key, want := range v.Out {
		value, ok := exact[key]
		if !ok {
			vectors.Check(t, got, nil, 0, map[string]any{key: want})
			continue
		}
		if n, err := want.(json.Number).Float64(); err != nil || math.Abs(value-n) > 1e-9*max(1, math.Abs(n)) {
			t.Errorf("%s = %v, want %v", key, value, want)
		}
	}
}

// judgedFile is a score file with a judge that says composite, of as many
// assertions as the vector's total; the counts themselves do not matter.
func judgedFile(t *testing.T, composite string, in map[string]any) []byte {
	t.Helper()
	file := map[string]any{
		"composite_exact": composite, "llm_judge_score": 0.5,
		"gate_weights": map[string]any{"assertions": 0.65, "judge": 0.35},
		"passed":       1, "total_assertions": 20,
	}
	if w, ok := in["smallest_weight"]; ok {
		file["smallest_weight"], file["total_weight"], file["passed_weight"] = vectors.Text(w), vectors.Text(in["total"]), "1"
	} else {
		file["total_assertions"] = in["total"]
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
