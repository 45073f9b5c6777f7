package guard

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"forge/gitstore/fault"
)

// newTree is a tree with these files.
func newTree(t testing.TB, files map[string]string) Tree {
	t.Helper()
	tree := Tree{Root: t.TempDir()}
	for name, text := range files {
		put(t, tree, name, text)
	}
	return tree
}

func put(t testing.TB, tree Tree, name, text string) {
	t.Helper()
	path := tree.onDisk(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// R-INV-2, R-INV-5: what counts as a change of a protected file, and where.
func TestCheckInvariantsProtected(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and executable bits")
	}
	tests := map[string]struct {
		do                           func(t *testing.T, tree Tree)
		violated, vanished, appeared []string
	}{
		"nothing":              {do: func(*testing.T, Tree) {}},
		"written again":        {do: func(t *testing.T, tree Tree) { put(t, tree, "test/a", "a") }},
		"outside":              {do: func(t *testing.T, tree Tree) { put(t, tree, "src/m", "other") }},
		"a byte":               {do: func(t *testing.T, tree Tree) { put(t, tree, "test/a", "b") }, violated: []string{"test/a"}},
		"executable":           {do: func(t *testing.T, tree Tree) { must(t, os.Chmod(tree.onDisk("test/a"), 0o755)) }, violated: []string{"test/a"}},
		"new in a directory":   {do: func(t *testing.T, tree Tree) { put(t, tree, "test/deep/new", "x") }, appeared: []string{"test/deep/new"}},
		"new under a glob":     {do: func(t *testing.T, tree Tree) { put(t, tree, "src/new_test.go", "x") }, appeared: []string{"src/new_test.go"}},
		"a dot-file":           {do: func(t *testing.T, tree Tree) { put(t, tree, "test/.conf", "x") }, appeared: []string{"test/.conf"}},
		"gone":                 {do: func(t *testing.T, tree Tree) { must(t, os.Remove(tree.onDisk("src/m_test.go"))) }, vanished: []string{"src/m_test.go"}},
		"the directory gone":   {do: func(t *testing.T, tree Tree) { must(t, os.RemoveAll(tree.onDisk("test"))) }, vanished: []string{"test/a", "test/link"}},
		"what a link leads to": {do: func(t *testing.T, tree Tree) { put(t, tree, "elsewhere", "other") }},
		"a link turned":        {do: func(t *testing.T, tree Tree) { symlink(t, tree, "../src/m", "test/link") }, violated: []string{"test/link"}},
		"a link became its content": {do: func(t *testing.T, tree Tree) {
			must(t, os.Remove(tree.onDisk("test/link")))
			put(t, tree, "test/link", "../elsewhere")
		}, violated: []string{"test/link"}},
		"a file became a link to it": {do: func(t *testing.T, tree Tree) {
			put(t, tree, "elsewhere", "a")
			symlink(t, tree, "../elsewhere", "test/a")
		}, violated: []string{"test/a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t, map[string]string{"src/m": "m", "src/m_test.go": "t", "test/a": "a", "elsewhere": "e"})
			symlink(t, tree, "../elsewhere", "test/link")
			before, err := TakeInvariants(tree, "src", []string{"test", "**/*_test.go"}, MetricPin{}, 200)
			if err != nil {
				t.Fatal(err)
			}
			tt.do(t, tree)
			c, err := CheckInvariants(before, tree, MetricPin{}, new(big.Rat), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.ViolatedPaths, orEmpty(tt.violated)) || !slices.Equal(c.VanishedPaths, orEmpty(tt.vanished)) || !slices.Equal(c.AppearedPaths, orEmpty(tt.appeared)) {
				t.Errorf("violated %q, vanished %q, appeared %q", c.ViolatedPaths, c.VanishedPaths, c.AppearedPaths)
			}
			if c.OK != (len(tt.violated)+len(tt.vanished)+len(tt.appeared) == 0) || c.OK != (len(c.Reasons) == 0) {
				t.Errorf("OK = %t, reasons %q", c.OK, c.Reasons)
			}
		})
	}
}

func orEmpty(list []string) []string { return append([]string{}, list...) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, tree Tree, target, name string) {
	t.Helper()
	_ = os.Remove(tree.onDisk(name))
	must(t, os.Symlink(target, tree.onDisk(name)))
}

// R-INV-2, R-INV-3: what is refused when the snapshot is taken, and its
// warnings.
func TestTakeInvariants(t *testing.T) {
	tree := newTree(t, map[string]string{"src/a": "a", "src/b": "b", "[x]/c": "c"})
	must(t, os.Mkdir(tree.onDisk("empty"), 0o755))
	tests := map[string]struct {
		scope     string
		protected []string
		most      int
		fault     string
		files     int
	}{
		"a directory":               {scope: "src", most: 2, files: 2},
		"a glob":                    {scope: "src/*", most: 2, files: 2},
		"a file":                    {scope: "src/a", most: 2, files: 1},
		"brackets in a name":        {scope: "[x]", most: 2, files: 1},
		"an empty directory":        {scope: "empty", most: 2},
		"too many":                  {scope: "src", most: 1, fault: `the scope "src" has 2 files of at most 1`},
		"no such directory":         {scope: "gone", most: 2, fault: `there is no scope "gone"`},
		"a glob without a match":    {scope: "src/*.go", most: 2, fault: `the scope "src/*.go" matches no file`},
		"leaves the tree":           {scope: "../x", most: 2, fault: `target "../x" leaves the repository`},
		"protected matches nothing": {scope: "src", protected: []string{"src/a", "test"}, most: 2, fault: `the protected path "test" matches nothing`},
		"an empty directory too":    {scope: "src", protected: []string{"empty"}, most: 2, fault: `the protected path "empty" matches nothing`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := TakeInvariants(tree, tt.scope, tt.protected, MetricPin{}, tt.most)
			if tt.fault != "" {
				if err == nil || err.Error() != tt.fault || fault.KindOf(err) != fault.Usage {
					t.Errorf("TakeInvariants = %v, want the usage fault %q", err, tt.fault)
				}
				return
			}
			if err != nil || len(v.Scope.Files) != tt.files || !slices.Equal(v.Warnings, []string{WarnNothingProtected, WarnNoInvariantCommand}) {
				t.Errorf("TakeInvariants = %+v, %v, want %d files", v, err, tt.files)
			}
		})
	}
}

// R-INV-4, R-INV-6: the pinned configuration, and when the command runs.
func TestCheckInvariantsCommand(t *testing.T) {
	tree := newTree(t, map[string]string{"src/a": "a", "test": "t"})
	pin := MetricPin{Command: "make bench", Name: "ns", Direction: "lower_is_better", TimeoutSeconds: 900, InvariantCommand: "make test"}
	before, err := TakeInvariants(tree, "src", []string{"test"}, pin, 200)
	must(t, err)
	other := pin
	other.Name = "ops"
	ran := 0
	run := func() (int, error) { ran++; return 0, nil }
	c, err := CheckInvariants(before, tree, other, big.NewRat(9, 10), run)
	if err != nil || c.OK || !c.MetricConfigChanged || c.CommandRan || ran != 0 || c.Decision == nil || *c.Decision != "INVALID" {
		t.Errorf("another metric: %+v, %v", c, err)
	}
	put(t, tree, "src/a", "")
	c, err = CheckInvariants(before, tree, pin, big.NewRat(9, 10), run)
	if err != nil || c.OK || !c.CommandRan || ran != 1 || c.ByteRatio != "0" || c.KeptRatio != "1" {
		t.Errorf("hollowed out: %+v, %v; the command runs whatever the ratios", c, err)
	}
	broke := errors.New("no shell")
	if _, err := CheckInvariants(before, tree, pin, big.NewRat(9, 10), func() (int, error) { return 0, broke }); !errors.Is(err, broke) {
		t.Errorf("a command that cannot start: %v", err)
	}
	data := fmt.Appendf(nil, `{"schema": "forge.invariants/2"}`)
	if _, err := ReadInvariants(data); fault.KindOf(err) != fault.Usage {
		t.Errorf("another schema: %v", err)
	}
}

// R-INV-7: 2,000 protected files in at most 100 ms, the whole process.
func BenchmarkCheckInvariants(b *testing.B) {
	files := map[string]string{"src/a": "a"}
	for i := range 2000 {
		files[fmt.Sprintf("test/%02d/%04d", i/100, i)] = fmt.Sprintf("content of the protected file %d\n", i)
	}
	tree := newTree(b, files)
	before, err := TakeInvariants(tree, "src", []string{"test"}, MetricPin{}, 200)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := CheckInvariants(before, tree, MetricPin{}, big.NewRat(9, 10), nil)
		if err != nil || !c.OK {
			b.Fatal(c, err)
		}
	}
}

// R-BUDGET-1, R-BUDGET-2: which files of a skill count.
func TestSkillFiles(t *testing.T) {
	tree := newTree(t, map[string]string{
		"SKILL.md": "1", "references/a.md": "2", "references/.b/c": "3", "scripts/run.sh": "4", "knowledge/INDEX.md": "5",
		"knowledge/pages/p.md": "no", "knowledge/sources/s": "no", "PURPOSE.md": "no", "evals/evals.json": "no", "assets/x.txt": "named", ".hidden": "named",
		"README.md": "not named",
	})
	files, missing, err := tree.SkillFiles([]string{"assets", ".hidden", "evals", "gone", "references/a.md"})
	must(t, err)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{".hidden", "SKILL.md", "assets/x.txt", "knowledge/INDEX.md", "references/.b/c", "references/a.md", "scripts/run.sh"}
	if !slices.Equal(names, want) || !slices.Equal(missing, []string{"gone"}) {
		t.Errorf("counted %q, missing %q, want %q", names, missing, want)
	}
	if _, _, err := newTree(t, nil).SkillFiles(nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("a directory without SKILL.md: %v", err)
	}
}
