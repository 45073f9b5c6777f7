package gitstore

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// R-TREE-5: git and the own walk give one answer, of a file, a directory, what
// a merge brought, what was removed and the root.
func TestLastTouch(t *testing.T) {
	y := newYard(t)
	y.write("a", "1", "d/x", "1", "d/*", "star")
	first := y.commit("first")
	y.write("d/y", "1")
	y.write("gone", "1")
	second := y.commit("second")
	y.git("rm", "-q", "gone")
	third := y.commit("third")
	y.git("switch", "-q", "-c", "side")
	y.write("a", "2")
	y.commit("on the side")
	y.git("switch", "-q", "main")
	y.write("other", "1")
	y.commit("other")
	y.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	tip := y.at("HEAD")
	withGit, alone := y.open(), y.openWith(y.dir, map[string]string{"PATH": ""})
	for path, want := range map[string]Hash{
		"a": tip, "": tip, "d": second, "d/x": first, "d/y": second, "d/*": first, "gone": third,
	} {
		for name, r := range map[string]*Repo{"git": withGit, "walk": alone} {
			for range 2 { // the second answer is remembered
				if got, err := r.LastTouch(t.Context(), tip, path); err != nil || got != want {
					t.Errorf("%s: LastTouch(%q) = %s, %v, want %s", name, path, got.Short(), err, want.Short())
				}
			}
		}
	}
	for _, r := range []*Repo{withGit, alone} {
		got, err := r.LastTouches(t.Context(), tip, []string{"a", "", "d", "d/x", "d/y", "d/*", "gone", "never"})
		want := map[string]Hash{"a": tip, "": tip, "d": second, "d/x": first, "d/y": second, "d/*": first, "gone": third}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("LastTouches() = %v, %v, want %v", got, err, want)
		}
		if got, err := r.LastTouch(t.Context(), tip, "never"); !errors.Is(err, ErrNotFound) {
			t.Errorf("LastTouch(never) = %s, %v, want not found", got, err)
		}
		if got, err := r.LastTouch(t.Context(), first, "a"); err != nil || got != first {
			t.Errorf("LastTouch(a) at the first commit = %s, %v", got, err)
		}
	}
}

// Section 2, pitfall 10: what lies beyond a shallow boundary is not guessed.
func TestLastTouchShallow(t *testing.T) {
	y := newYard(t)
	y.write("old", "1")
	y.commit("one")
	for _, n := range []string{"2", "3"} {
		y.write("new", n)
		y.commit(n)
	}
	clone := filepath.Join(realDir(t, t.TempDir()), "clone")
	y.git("clone", "-q", "--depth=2", "file://"+y.dir, clone)
	for name, vars := range map[string]map[string]string{"git": nil, "walk": {"PATH": ""}} {
		r := y.openWith(clone, vars)
		if got, err := r.LastTouch(t.Context(), y.at("HEAD"), "new"); err != nil || got != y.at("HEAD") {
			t.Errorf("%s: LastTouch(new) = %s, %v", name, got, err)
		}
		_, err := r.LastTouch(t.Context(), y.at("HEAD"), "old")
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "history ends at a shallow boundary after 2 commits") {
			t.Errorf("%s: LastTouch(old) = %v, want the shallow boundary", name, err)
		}
		got, err := r.LastTouches(t.Context(), y.at("HEAD"), []string{"old", "new"})
		if err != nil || !maps.Equal(got, map[string]Hash{"new": y.at("HEAD")}) {
			t.Errorf("%s: LastTouches() = %v, %v, want new alone", name, got, err)
		}
	}
}
