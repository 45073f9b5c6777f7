package skill

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"forge/gitstore/fault"
)

// loopVector is one call of `forge loop <cmd>` (loop.md section 14).
type loopVector struct {
	ID     string
	Cmd    string
	Args   map[string]json.RawMessage
	Before json.RawMessage
	After  json.RawMessage
	Files  map[string]json.RawMessage
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

// arg decodes a text, number or list of a vector.
func arg[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return value
}

func TestLoopVectors(t *testing.T) {
	for _, file := range vectorFiles("loop.json") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		vectors := arg[struct{ Vectors []loopVector }](t, data).Vectors
		if len(vectors) == 0 {
			t.Fatalf("%s holds no vectors", file)
		}
		for _, v := range vectors {
			switch v.Cmd {
			case "verify-regions":
				t.Run(v.ID, func(t *testing.T) { runVerify(t, v) })
			case "appendix-append":
				t.Run(v.ID, func(t *testing.T) { runAppend(t, v) })
			case "artifact-stats":
				t.Run(v.ID, func(t *testing.T) { runSizes(t, v) })
			}
		}
	}
}

func runVerify(t *testing.T, v loopVector) {
	got := VerifyRegions([]byte(arg[string](t, v.Args["before"])), []byte(arg[string](t, v.Args["after"])))
	if got.OK != (v.Exit == 0) {
		t.Errorf("OK = %t, want exit %d", got.OK, v.Exit)
	}
	checkDocument(t, got, v.Expect)
}

func runAppend(t *testing.T, v loopVector) {
	notes, err := ReadNotes(v.Args["notes"])
	if err != nil {
		t.Fatal(err)
	}
	before := arg[string](t, v.Before)
	got, err := AppendNotes([]byte(before), notes, arg[int](t, v.Args["max_notes"]))
	if kind := int(fault.KindOf(err)); kind != v.Exit {
		t.Fatalf("AppendNotes = %v, want exit %d", err, v.Exit)
	}
	if err != nil {
		return
	}
	if want := arg[string](t, v.After); string(got.Data) != want {
		t.Errorf("AppendNotes(%q, %q) = %q, want %q", before, notes, got.Data, want)
	}
	checkDocument(t, got, v.Expect)
}

// runSizes checks the numbers of artifact-stats; which files it counts and its
// document belong to the command.
func runSizes(t *testing.T, v loopVector) {
	perToken := arg[int](t, v.Args["chars_per_token"])
	var sum Size
	for name, raw := range v.Files {
		counted := slices.ContainsFunc(arg[[]string](t, v.Args["paths"]), func(pattern string) bool {
			match, err := path.Match(pattern, name)
			return err == nil && match
		})
		var content string
		if !counted || json.Unmarshal(raw, &content) != nil {
			continue
		}
		if size, ok := Measure([]byte(content)); ok {
			sum = sum.Add(size)
		}
	}
	got := map[string]any{
		"chars": float64(sum.Chars), "lines": float64(sum.Lines), "tokens": float64(sum.Tokens(perToken)),
		"protected_tokens": float64(sum.ProtectedTokens(perToken)), "suggested_budget": float64(SuggestedBudget(sum.Tokens(perToken))),
	}
	for key, value := range got {
		if want, ok := v.Expect[key]; ok && v.Expect["file_count"] != nil && value != want {
			t.Errorf("%s = %v, want %v", key, value, want)
		}
	}
}

// checkDocument compares the keys that a vector names.
func checkDocument(t *testing.T, document any, expect map[string]any) {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	got := arg[map[string]any](t, data)
	for key, want := range expect {
		if !reflect.DeepEqual(got[key], want) {
			t.Errorf("%s = %v, want %v in %s", key, got[key], want, data)
		}
	}
}
