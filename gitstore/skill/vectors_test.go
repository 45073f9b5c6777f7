package skill

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"forge/gitstore/fault"
	"forge/gitstore/vectors"
)

// loopVector is one call of `forge loop <cmd>` (loop.md section 14).
type loopVector struct {
	ID     string
	Cmd    string
	Args   map[string]json.RawMessage
	Before json.RawMessage
	After  json.RawMessage
	Exit   int
	Expect map[string]any
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
	run := map[string]func(*testing.T, loopVector){"verify-regions": runVerify, "appendix-append": runAppend}
	for _, v := range vectors.Read[loopVector](t, os.Getenv("FORGE_VECTORS"), "loop.json", slices.Sorted(maps.Keys(run))...) {
		t.Run(v.ID, func(t *testing.T) { run[v.Cmd](t, v) })
	}
}

func runVerify(t *testing.T, v loopVector) {
	got := VerifyRegions([]byte(arg[string](t, v.Args["before"])), []byte(arg[string](t, v.Args["after"])))
	if got.OK != (v.Exit == 0) {
		t.Errorf("OK = %t, want exit %d", got.OK, v.Exit)
	}
	vectors.CheckDocument(t, got, v.Expect)
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
	vectors.CheckDocument(t, got, v.Expect)
}
