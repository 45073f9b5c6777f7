package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"forge/gitstore/fault"
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

// vectorFiles returns the committed file of that name and, if FORGE_VECTORS
// names a folder, the one there.
func vectorFiles(name string) []string {
	files := []string{filepath.Join("testdata", name)}
	if dir := os.Getenv("FORGE_VECTORS"); dir != "" {
		files = append(files, filepath.Join(dir, name))
	}
	return files
}

// readVectors decodes a vector file with its numbers as texts.
func readVectors[V any](t *testing.T, path string) []V {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []V }
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		t.Fatalf("decode %s: %v", path, err)
	}
	if len(file.Vectors) == 0 {
		t.Fatalf("%s holds no vectors", path)
	}
	return file.Vectors
}

// text returns a flag's or configuration's value as text, "" for null.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	panic("a vector holds a value of another type")
}

// merge gives the flag's value, else the configuration's (DECISIONS V7).
func merge(args, config map[string]any, flag, key string) string {
	if value, ok := args[flag]; ok {
		return text(value)
	}
	return text(config[key])
}

var errNoConfig = errors.New("no such configuration")

// decide runs the call of a decide vector.
func decide(args, config map[string]any, files map[string][]byte) (Verdict, error) {
	if _, ok := args["config"]; ok {
		return Verdict{}, fault.New(fault.Usage, "", "read configuration: %w", errNoConfig)
	}
	q := Request{
		Candidate: text(args["candidate"]), Baseline: text(args["baseline"]),
		Improvement:    merge(args, config, "improvement", "improvement_threshold"),
		Regression:     merge(args, config, "regression", "regression_threshold"),
		NearMissBand:   merge(args, config, "near_miss_band", "near_miss_band"),
		NoiseFloor:     merge(args, config, "noise_floor", "noise_floor"),
		Resolution:     merge(args, config, "resolution", "resolution"),
		SmallestWeight: text(args["smallest_weight"]),
		Boundary:       merge(args, config, "boundary", "boundary"),
		Direction:      merge(args, config, "direction", "metric_direction"),
		Relative:       merge(args, config, "relative", "relative") == "true",
		ReadFile:       func(path string) ([]byte, error) { return files[path], nil },
	}
	return q.Decide()
}

func TestLoopVectors(t *testing.T) {
	for _, path := range vectorFiles("loop.json") {
		for _, v := range readVectors[loopVector](t, path) {
			t.Run(v.ID, func(t *testing.T) { runLoopVector(t, v) })
		}
	}
}

func runLoopVector(t *testing.T, v loopVector) {
	switch v.Cmd {
	case "decide":
		got, err := decide(v.Args, v.Config, nil)
		checkDocument(t, got, err, v.Exit, v.Expect)
		if v.Exact != nil {
			exact := map[string]any{}
			for k, value := range v.Args {
				exact[k] = value
			}
			for k, value := range v.Exact {
				exact[k] = value
			}
			got, err := decide(exact, v.Config, nil)
			checkDocument(t, got, err, v.Exit, v.Expect)
		}
	case "decide-score":
		files := map[string][]byte{}
		args := map[string]any{"candidate": side(files, "c", v.Candidate), "baseline": side(files, "b", v.Baseline)}
		for k, value := range v.Args {
			args[k] = value
		}
		got, err := decide(args, v.Config, files)
		checkDocument(t, got, err, v.Exit, v.Expect)
	case "plateau":
		var decisions []string
		for _, d := range v.Args["decisions"].([]any) {
			decisions = append(decisions, text(d))
		}
		got, err := FindPlateau(decisions, number(t, v.Args, "window", 3))
		checkDocument(t, got, err, v.Exit, v.Expect)
	case "resolution":
		got, err := Resolution(number(t, v.Args, "assertions", 0), number(t, v.Args, "flips", 2))
		checkDocument(t, got, err, v.Exit, v.Expect)
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
	n, err := strconv.Atoi(text(args[name]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkDocument compares the keys that a vector names.
func checkDocument(t *testing.T, document any, err error, exit int, expect map[string]any) {
	t.Helper()
	if got := int(fault.KindOf(err)); got != exit {
		t.Fatalf("exit = %d (%v), want %d", got, err, exit)
	}
	if err != nil {
		return
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	for key, want := range expect {
		if !same(got[key], want, 1e-9) {
			t.Errorf("%s = %v, want %v in %s", key, got[key], want, data)
		}
	}
}

// same compares decoded JSON, numbers within a tolerance that grows with
// them.
func same(got, want any, tolerance float64) bool {
	switch want := want.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		if !ok {
			return false
		}
		x, errX := g.Float64()
		y, errY := want.Float64()
		return errX == nil && errY == nil && math.Abs(x-y) <= tolerance*max(1, math.Abs(y))
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for k := range want {
			if !same(g[k], want[k], tolerance) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

// statisticsVector is one case of statistics.md section 14.
type statisticsVector struct {
	ID, Kind string
	In       map[string]any
	Out      map[string]any
}

func TestStatisticsVectors(t *testing.T) {
	for _, path := range vectorFiles("statistics.json") {
		for _, v := range readVectors[statisticsVector](t, path) {
			if v.Kind != "decide" {
				continue
			}
			t.Run(v.ID, func(t *testing.T) { runStatisticsVector(t, v) })
		}
	}
}

func runStatisticsVector(t *testing.T, v statisticsVector) {
	config, _ := v.In["config"].(map[string]any)
	args := map[string]any{}
	if total, ok := v.In["total"]; ok && v.In["candidate_counts"] != nil {
		args["candidate"] = text(v.In["candidate_counts"]) + "/" + text(total)
		args["baseline"] = text(v.In["baseline_counts"]) + "/" + text(total)
		if w, ok := v.In["smallest_weight"]; ok {
			args["smallest_weight"] = w
		}
	} else {
		args["candidate"], args["baseline"] = v.In["candidate"], v.In["baseline"]
	}
	files := map[string][]byte{}
	if v.In["candidate"] != nil && v.In["total"] != nil {
		for _, name := range []string{"candidate", "baseline"} {
			files[name] = judgedFile(t, text(v.In[name]), v.In)
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
			checkDocument(t, got, nil, 0, map[string]any{key: want})
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
		file["smallest_weight"], file["total_weight"], file["passed_weight"] = text(w), text(in["total"]), "1"
	} else {
		file["total_assertions"] = in["total"]
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
