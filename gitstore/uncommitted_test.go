package gitstore

import (
	"os"
	"path/filepath"
	"testing"

	"forge/gitstore/fault"
)

// CLI.md, --against WORKTREE: the tree git would commit of one directory, with
// the user's work tree and index as they were.
func TestUncommittedTree(t *testing.T) {
	y := newYard(t)
	y.write("s/SKILL.md", "a\n", "s/gone", "x", "s/evals/evals.json", "[]", "other", "o", ".gitignore", "*.tmp\n", ".gitattributes", "*.txt text eol=crlf\n", "s/t.txt", "1\n")
	base := y.commit("base")
	y.write("s/SKILL.md", "b\n", "s/new", "n", "s/x.tmp", "ignored", "other", "dirty", "s/t.txt", "1\r\n2\r\n", "s/evals/evals.json", "[1]")
	if err := os.Remove(filepath.Join(y.dir, "s/gone")); err != nil {
		t.Fatal(err)
	}
	y.git("add", "other")
	status := y.git("status", "--porcelain=v2")
	index, err := os.ReadFile(filepath.Join(y.dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	r := y.open()
	tree, err := r.UncommittedTree(t.Context(), base, "s")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"s/SKILL.md": "b\n", "s/new": "n", "other": "o", "s/t.txt": "1\n2\n", "s/evals/evals.json": "[1]"}
	for name, text := range want {
		if data, err := r.ReadFile(t.Context(), tree, name); err != nil || string(data) != text {
			t.Errorf("%s is %q, %v, want %q", name, data, err, text)
		}
	}
	for _, name := range []string{"s/gone", "s/x.tmp"} {
		if _, err := r.Lookup(t.Context(), tree, name); err == nil {
			t.Errorf("%s is in the tree", name)
		}
	}
	after, err := os.ReadFile(filepath.Join(y.dir, ".git/index"))
	if err != nil || string(after) != string(index) || y.git("status", "--porcelain=v2") != status {
		t.Errorf("the user's index or work tree changed: %v", err)
	}
	if entries, err := os.ReadDir(y.vars["TMPDIR"]); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// done fails a test whose preparation failed.
func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What cannot be measured as it stands is refused, with the reason's kind.
func TestUncommittedTreeRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(y *yard)
		want fault.Kind
	}{
		"nothing changed": {func(y *yard) {}, fault.Usage},
		"not there":       {func(y *yard) { done(t, os.RemoveAll(filepath.Join(y.dir, "s"))) }, fault.Usage},
		"link out":        {func(y *yard) { done(t, os.Symlink("../other", filepath.Join(y.dir, "s/link"))) }, fault.Refused},
		"absolute link":   {func(y *yard) { done(t, os.Symlink("/etc/passwd", filepath.Join(y.dir, "s/link"))) }, fault.Refused},
		"behind a link": {func(y *yard) {
			done(t, os.Rename(filepath.Join(y.dir, "s"), filepath.Join(y.dir, "elsewhere")))
			done(t, os.Symlink("elsewhere", filepath.Join(y.dir, "s")))
		}, fault.Refused},
		"a repository inside": {func(y *yard) {
			y.write("s/sub/a", "a")
			y.gitIn(filepath.Join(y.dir, "s/sub"), "init", "-q")
			y.gitIn(filepath.Join(y.dir, "s/sub"), "add", ".")
			y.gitIn(filepath.Join(y.dir, "s/sub"), "commit", "-q", "-m", "x")
		}, fault.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.write("s/SKILL.md", "a\n", "other", "o")
			base := y.commit("base")
			tt.do(y)
			if _, err := y.open().UncommittedTree(t.Context(), base, "s"); fault.KindOf(err) != tt.want {
				t.Errorf("%v, want a fault of kind %s", err, tt.want)
			}
		})
	}
}

// ExportPlan.Below: one directory and nothing else of the tree; Fresh is empty
// every time.
func TestExportBelow(t *testing.T) {
	y := newYard(t)
	y.write("s/SKILL.md", "a", "s/evals/evals.json", "[]", "s/x", "x", "sx/SKILL.md", "b", "top", "t")
	first := y.commit("one")
	y.write("s/SKILL.md", "changed", "top", "changed")
	second := y.commit("two")
	e, err := y.open().NewExport(t.Context(), ExportPlan{SkillLayout: true, Below: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Remove()
	for _, tt := range []struct {
		commit Hash
		want   map[string]string
	}{
		{first, map[string]string{"s/SKILL.md": "a", "s/x": "x"}},
		{second, map[string]string{"s/SKILL.md": "changed", "s/x": "x"}},
		{"", map[string]string{}},
	} {
		if err := e.Set(t.Context(), tt.commit); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		err := filepath.WalkDir(e.Tree, func(name string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				data, _ := os.ReadFile(name)
				below, _ := filepath.Rel(e.Tree, name)
				got[filepath.ToSlash(below)] = string(data)
			}
			return err
		})
		if err != nil || len(got) != len(tt.want) {
			t.Errorf("the export of %s holds %v, %v, want %v", tt.commit, got, err, tt.want)
		}
		for name, text := range tt.want {
			if got[name] != text {
				t.Errorf("%s is %q, want %q", name, got[name], text)
			}
		}
	}
	for range 2 {
		dir, err := e.Fresh("work")
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("Fresh holds %v, %v", entries, err)
		}
		done(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
		done(t, os.Chmod(filepath.Join(dir, "a"), 0o500))
	}
}
