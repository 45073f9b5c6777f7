package metric

import (
	"bytes"
	"encoding/json"
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
	ID     string
	Cmd    string
	Args   map[string]any
	Config map[string]any
	Exit   int
	Expect map[string]any
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

// text returns a flag's value as text, "" for null.
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

func texts(v any) []string {
	var all []string
	for _, one := range v.([]any) {
		all = append(all, text(one))
	}
	return all
}

func TestLoopVectors(t *testing.T) {
	for _, path := range vectorFiles("loop.json") {
		for _, v := range readVectors[loopVector](t, path) {
			t.Run(v.ID, func(t *testing.T) {
				switch v.Cmd {
				case "metric":
					q := Request{
						Baseline: text(v.Args["baseline"]), Name: text(v.Args["name"]),
						Direction:        merge(v.Args, v.Config, "direction", "metric_direction"),
						InvariantsBefore: text(v.Args["invariants_before"]), InvariantCommand: text(v.Args["invariant_command"]),
					}
					got, err := q.Compare([]byte(text(v.Args["output"])))
					checkDocument(t, got, err, v.Exit, v.Expect)
				case "noise-floor":
					got, err := ParseFloor(texts(v.Args["values"]), merge(v.Args, v.Config, "relative", "relative") == "true")
					checkDocument(t, got, err, v.Exit, v.Expect)
				}
			})
		}
	}
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
		if !same(got[key], want) {
			t.Errorf("%s = %v, want %v in %s", key, got[key], want, data)
		}
	}
}

// same compares decoded JSON, numbers within 1e-9.
func same(got, want any) bool {
	switch want := want.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		if !ok {
			return false
		}
		x, errX := g.Float64()
		y, errY := want.Float64()
		return errX == nil && errY == nil && math.Abs(x-y) <= 1e-9
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for i := range want {
			if !same(g[i], want[i]) {
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
	Tol      float64
}

func TestStatisticsVectors(t *testing.T) { // R-STAT-17, F8
	for _, path := range vectorFiles("statistics.json") {
		for _, v := range readVectors[statisticsVector](t, path) {
			if v.Kind != "noise_floor" {
				continue
			}
			t.Run(v.ID, func(t *testing.T) { runStatisticsVector(t, v) })
		}
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
