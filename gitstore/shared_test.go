package gitstore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// T5: own refs first, then what was fetched, whatever the remote is called.
func TestSharedRefs(t *testing.T) {
	y := newYard(t)
	y.commit("base")
	y.git("remote", "add", "team/a", "file:///nowhere")
	for _, ref := range []string{
		"refs/forge/runs/r1-a/tip", "refs/forge/activity", "refs/forge-remote/origin/runs/r2-b/tip", "refs/forge-remote/origin/runs/r1-a/tip",
		"refs/forge-remote/team/a/runs/r3-c/tip", "refs/forge-remote/gone/b/activity", "refs/forge-remote/unknown",
	} {
		y.git("update-ref", ref, "HEAD")
	}
	r := y.open()
	for prefix, want := range map[string][]string{
		"runs/":    {" runs/r1-a/tip", "origin runs/r1-a/tip", "origin runs/r2-b/tip", "team/a runs/r3-c/tip"},
		"activity": {" activity", "gone/b activity"},
		"learn":    nil,
	} {
		shared, err := r.SharedRefs(t.Context(), prefix)
		var got []string
		for _, ref := range shared {
			got = append(got, ref.Remote+" "+ref.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("SharedRefs(%q) = %q, %v, want %q", prefix, got, err, want)
		}
	}
}

// Pitfall 29: with the mapping of T5 a fetch --prune leaves local runs; with
// the refspecs that are found here it deletes them, and the hint mends it.
func TestBadRefspecs(t *testing.T) {
	theirs := newYard(t)
	theirs.commit("base")
	theirs.git("update-ref", "refs/forge/activity", "HEAD")
	y := newYard(t)
	y.commit("base")
	y.git("remote", "add", "origin", "file://"+theirs.dir)
	local := func() bool {
		y.git("update-ref", "refs/forge/runs/r1-a/tip", "HEAD")
		y.git("fetch", "-q", "--prune", "--force", "origin")
		_, there := y.try("rev-parse", "--verify", "--quiet", "refs/forge/runs/r1-a/tip")
		return there
	}
	tests := map[string]struct {
		refspec string
		bad     bool
		hint    string // what the command of the hint leaves; "" if it only shows
	}{
		"the mapping":    {refspec: "+refs/forge/*:refs/forge-remote/origin/*"},
		"branches":       {refspec: "+refs/heads/*:refs/remotes/origin/*"},
		"one ref":        {refspec: "refs/forge/activity:refs/forge-remote/origin/activity"},
		"negative":       {refspec: "^refs/heads/x"},
		"no target":      {refspec: "refs/forge/activity"},
		"into itself":    {refspec: "+refs/forge/*:refs/forge/*", bad: true, hint: "+refs/forge/*:refs/forge-remote/origin/*"},
		"without a plus": {refspec: "refs/forge/*:refs/forge/*", bad: true, hint: "+refs/forge/*:refs/forge-remote/origin/*"},
		"everything":     {refspec: "+refs/*:refs/*", bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y.git("config", "--replace-all", "remote.origin.fetch", tt.refspec)
			for tool, r := range map[string]*Repo{"git": y.open(), "own": y.openWith(y.dir, map[string]string{"PATH": ""})} {
				found, err := r.BadRefspecs(t.Context())
				if err != nil || (len(found) == 1) != tt.bad || tt.bad && (found[0].Remote != "origin" || found[0].Refspec != tt.refspec) {
					t.Errorf("%s: BadRefspecs() = %+v, %v, want bad %v", tool, found, err, tt.bad)
				}
			}
			if strings.Contains(tt.refspec, "*") && tt.refspec[0] != '^' && name != "everything" { // that one git refuses to fetch into the checked-out branch
				if got := local(); got == tt.bad {
					t.Errorf("after git fetch --prune the local ref is there: %v", got)
				}
			}
			if tt.hint == "" {
				return
			}
			found, _ := y.open().BadRefspecs(t.Context())
			shell(t, y, found[0].Hint)
			if got := y.git("config", "--get-all", "remote.origin.fetch"); got != tt.hint {
				t.Errorf("after %s: %q, want %q", found[0].Hint, got, tt.hint)
			}
			if !local() {
				t.Error("after the hint git fetch --prune deletes the local ref")
			}
		})
	}
}

// Several values, an included file, a remote with an odd name.
func TestBadRefspecsEverywhere(t *testing.T) {
	y := newYard(t)
	included := filepath.Join(t.TempDir(), "more")
	putFile(t, included, "[remote \"a.b c\"]\n\tfetch = +refs/heads/*:refs/remotes/x/*\n\tfetch = +refs/forge/*:refs/forge/*\n")
	y.git("config", "include.path", included)
	y.git("config", "remote.z.fetch", "+refs/forge/runs/*:refs/forge/runs/*")
	found, err := y.open().BadRefspecs(t.Context())
	if err != nil || len(found) != 2 || found[0].Remote != "a.b c" || found[1].Remote != "z" {
		t.Fatalf("BadRefspecs() = %+v, %v", found, err)
	}
	if found[0].Hint != `git config --replace-all 'remote.a.b c.fetch' '+refs/forge/*:refs/forge-remote/a.b c/*' '^\+?refs/forge/'` {
		t.Errorf("hint %s", found[0].Hint)
	}
}
