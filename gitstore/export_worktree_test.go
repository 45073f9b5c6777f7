package gitstore

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// R-EXP-6: a whole working tree in which git works, set right between two
// measurements, and nothing of it left.
func TestWorktreeExport(t *testing.T) {
	y := newYard(t)
	y.write(".gitignore", "*.log\n", "a", "1", "dir/b", "1", "gone", "1", "skills/x/SKILL.md", "x", "skills/x/evals/e.json", "{}")
	one := y.commit("one")
	y.write("a", "2", "new/c", "2")
	y.git("rm", "-q", "gone")
	two := y.commit("two")
	hook := filepath.Join(y.dir, ".git/hooks/post-checkout")
	putFile(t, hook, "#!/bin/sh\ntouch '"+filepath.Join(y.dir, "hooked")+"'\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	y.write("dirty", "untouched")
	before := listing(t, y.dir)
	r := y.open()
	keep, err := ParseGlob("cache")
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.NewWorktreeExport(t.Context(), ExportPlan{Keep: []Glob{keep}})
	if err != nil {
		t.Fatal(err)
	}
	for round, commit := range []Hash{one, two, one, one} {
		if err := w.Set(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
		if got := y.gitIn(w.Tree, "rev-parse", "HEAD"); got != string(commit) {
			t.Errorf("round %d: HEAD is %s", round, got)
		}
		if status := y.gitIn(w.Tree, "status", "--porcelain", "--ignored", "--untracked-files=all"); status != "" && status != "?? cache/c" {
			t.Errorf("round %d: status %q", round, status)
		}
		want := filesOfTree(t, r, commit)
		if round > 0 {
			want["cache/c"] = "kept"
		}
		got := map[string]string{}
		for path, what := range listing(t, w.Tree) {
			if path != ".git" && !strings.HasPrefix(what, "d") {
				got[path] = what[len("-rw-r--r-- "):]
			}
		}
		diffListings(t, "worktree", got, want)
		// A child works.
		putFile(t, filepath.Join(w.Tree, "cache/c"), "kept")
		putFile(t, filepath.Join(w.Tree, "a"), "changed")
		putFile(t, filepath.Join(w.Tree, "deep/er/x.log"), "made")
		y.gitIn(w.Tree, "init", "-q", "own")
		switch round {
		case 0:
			y.gitIn(w.Tree, "commit", "-q", "-a", "-m", "a child commits")
			gitDir := y.gitIn(w.Tree, "rev-parse", "--git-dir")
			putFile(t, filepath.Join(gitDir, "index.lock"), "")
		case 1:
			y.gitIn(w.Tree, "-c", "core.hooksPath=/dev/null", "switch", "-q", "-c", "child")
		case 2:
			if err := os.Remove(filepath.Join(w.Tree, ".git")); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(w.Tree, "cache")); err != nil {
				t.Fatal(err)
			}
			putFile(t, filepath.Join(w.Tree, "cache/c"), "kept")
		}
		if round == 2 { // with the tree the cache went
			putFile(t, filepath.Join(w.Home, "x"), "")
			if err := w.Set(t.Context(), two); err != nil {
				t.Fatal(err)
			}
			putFile(t, filepath.Join(w.Tree, "cache/c"), "kept")
		}
	}
	if err := errors.Join(w.Remove(), w.Remove()); err != nil {
		t.Fatal(err)
	}
	y.git("branch", "-q", "-D", "child")
	after := listing(t, y.dir)
	ownFiles := func(path, _ string) bool { return strings.HasPrefix(path, ".git/") || path == ".git" }
	maps.DeleteFunc(before, ownFiles)
	maps.DeleteFunc(after, ownFiles)
	diffListings(t, "the person's files", after, before)
	if got := y.git("worktree", "list"); strings.Contains(got, "\n") {
		t.Errorf("worktrees left: %s", got)
	}
	if left := listNames(t, y.vars["TMPDIR"]); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	if _, err := y.openWith(y.dir, map[string]string{"PATH": ""}).NewWorktreeExport(t.Context(), ExportPlan{}); fault.KindOf(err) != fault.Refused {
		t.Errorf("without git: %v, want a refusal", err)
	}
}

// R-EXP-4: the next forge removes the working tree of a dead process, and only
// that one.
func TestSweepWorktreeExport(t *testing.T) {
	y := newYard(t)
	y.write("a", "1")
	one := y.commit("one")
	mine := filepath.Join(realDir(t, t.TempDir()), "mine")
	y.git("worktree", "add", "-q", "--detach", mine)
	r := y.open()
	w, err := r.NewWorktreeExport(t.Context(), ExportPlan{})
	if err == nil {
		err = w.Set(t.Context(), one)
	}
	if err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(w.place.record)
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.Index(string(record), `"pid":`) + len(`"pid":`)
	dead := string(record[:pid]) + "1073741824" + string(record[pid+strings.IndexByte(string(record[pid:]), ','):])
	putFile(t, w.place.record, dead)
	if err := r.SweepExports(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := listNames(t, y.vars["TMPDIR"]); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	list := y.git("worktree", "list", "--porcelain")
	if strings.Count(list, "worktree ") != 2 || !strings.Contains(list, mine) {
		t.Errorf("worktrees:\n%s\nwant the person's two", list)
	}
}
