package guard

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gitstore/vectors"
	"forge/loop/verdict"
)

// loopVector is one call of `forge loop <cmd>` (loop.md section 14).
type loopVector struct {
	ID     string
	Cmd    string
	Args   args
	Files  map[string]json.RawMessage
	Before map[string]json.RawMessage
	After  map[string]json.RawMessage
	Delete []string
	Exit   int
	Expect map[string]any
}

type args struct {
	Paths         []string
	Budget        *int
	CharsPerToken int  `json:"chars_per_token"`
	Suggest       bool `json:"suggest_budget"`
	Scope         string
	Protected     []string
	Command       *string
	MinScopeRatio string `json:"min_scope_ratio"`
}

// plant writes a vector's files below dir: text, {"text", "mode"}, {"symlink"},
// {"dir": true} or hex:...
func plant(t *testing.T, dir string, files map[string]json.RawMessage) {
	t.Helper()
	for name, raw := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatalf("%s holds %s, want a text", name, raw)
		}
		data := []byte(text)
		if digits, ok := strings.CutPrefix(text, "hex:"); ok {
			var err error
			if data, err = hex.DecodeString(digits); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVectors(t *testing.T) {
	for _, v := range vectors.Read[loopVector](t, os.Getenv("FORGE_VECTORS"), "loop.json", "artifact-stats", "invariants-check", "invariants-snapshot") {
		t.Run(v.ID, func(t *testing.T) {
			tree := Tree{Root: t.TempDir()}
			plant(t, tree.Root, v.Files)
			plant(t, tree.Root, v.Before)
			if v.Cmd == "artifact-stats" {
				runStats(t, v, tree)
				return
			}
			runInvariants(t, v, tree)
		})
	}
}

// runStats checks the document; being over budget is exit 1 with the document.
func runStats(t *testing.T, v loopVector, tree Tree) {
	files, missing, err := tree.Read(v.Args.Paths)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := MeasureFiles(files, v.Args.CharsPerToken, v.Args.Budget)
	if err != nil {
		vectors.Check(t, nil, err, v.Exit, v.Expect)
		return
	}
	stats.Missing = append(stats.Missing, missing...)
	if v.Args.Suggest {
		stats.Suggest()
	}
	if stats.BudgetOK != (v.Exit == 0) {
		t.Errorf("budget_ok is %t, want exit %d", stats.BudgetOK, v.Exit)
	}
	vectors.CheckDocument(t, stats, v.Expect)
}

// runInvariants takes a snapshot and, for a check, compares what the vector
// makes of the tree afterwards; not ok is exit 3 with the document.
func runInvariants(t *testing.T, v loopVector, tree Tree) {
	before, err := TakeInvariants(tree, v.Args.Scope, v.Args.Protected, MetricPin{}, 200)
	if v.Cmd == "invariants-snapshot" || err != nil {
		vectors.Check(t, before, err, v.Exit, v.Expect)
		return
	}
	for _, name := range v.Delete {
		if err := os.Remove(filepath.Join(tree.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	plant(t, tree.Root, v.After)
	least, err := verdict.ParseNumber(v.Args.MinScopeRatio)
	if err != nil {
		t.Fatal(err)
	}
	var run func() (int, error)
	if v.Args.Command != nil {
		run = func() (int, error) { return exitOf(t, *v.Args.Command), nil }
	}
	check, err := CheckInvariants(before, tree, MetricPin{}, least, run)
	if err != nil {
		t.Fatal(err)
	}
	if check.OK != (v.Exit == 0) {
		t.Errorf("ok is %t (%q), want exit %d", check.OK, check.Reasons, v.Exit)
	}
	vectors.CheckDocument(t, check, v.Expect)
}

// exitOf is what "exit N" does; the vectors have no other command.
func exitOf(t *testing.T, command string) int {
	var code int
	if err := json.Unmarshal([]byte(strings.TrimPrefix(command, "exit ")), &code); err != nil {
		t.Fatalf("the command is %q, want exit N", command)
	}
	return code
}
