package gitstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func TestCheckedOutAt(t *testing.T) { // R-LAND-2, R-WT-1
	type where struct{ main, linked bool } // in neither: not checked out
	tests := map[string]struct {
		prepare func(y *yard, linked string)
		branch  string
		want    where
		busy    string
	}{
		"main worktree":   {func(*yard, string) {}, "main", where{main: true}, ""},
		"linked worktree": {func(*yard, string) {}, "side", where{linked: true}, ""},
		"nowhere":         {func(*yard, string) {}, "other", where{}, ""},
		"no such branch":  {func(*yard, string) {}, "nothing", where{}, ""},
		"detached":        {func(y *yard, _ string) { y.git("checkout", "-q", "--detach") }, "main", where{}, ""},
		"merge": {func(y *yard, linked string) {
			if _, ok := y.tryIn(linked, "merge", "other"); ok {
				y.t.Fatal("no conflict")
			}
		}, "side", where{linked: true}, "merge"},
		"rebase, merge backend": {func(y *yard, linked string) {
			if _, ok := y.tryIn(linked, "rebase", "--merge", "other"); ok {
				y.t.Fatal("no conflict")
			}
		}, "side", where{linked: true}, "rebase"},
		"rebase, apply backend": {func(y *yard, linked string) {
			if _, ok := y.tryIn(linked, "rebase", "--apply", "other"); ok {
				y.t.Fatal("no conflict")
			}
		}, "side", where{linked: true}, "rebase"},
		"rebase of another branch": {func(y *yard, linked string) {
			if _, ok := y.tryIn(linked, "rebase", "other"); ok {
				y.t.Fatal("no conflict")
			}
		}, "other", where{}, ""},
		"rebase --update-refs": {func(y *yard, linked string) {
			y.git("branch", "stacked", "side")
			if _, ok := y.tryIn(linked, "rebase", "--update-refs", "other"); ok {
				y.t.Fatal("no conflict")
			}
		}, "stacked", where{linked: true}, "rebase"},
		"bisect": {func(y *yard, linked string) {
			y.gitIn(linked, "bisect", "start", "side", "side~1")
		}, "side", where{linked: true}, "bisect"},
		"revert": {func(y *yard, linked string) { y.gitIn(linked, "revert", "--no-commit", "HEAD") }, "side", where{linked: true}, "revert"},
		"am": {func(y *yard, linked string) {
			patch := y.gitIn(linked, "format-patch", "-1", "-o", y.t.TempDir(), "other")
			if _, ok := y.tryIn(linked, "am", patch); ok {
				y.t.Fatal("no conflict")
			}
		}, "side", where{linked: true}, "git am"},
		"worktree gone": {func(y *yard, linked string) { _ = os.RemoveAll(linked) }, "side", where{}, ""},
		"worktree gone but locked": {func(y *yard, linked string) {
			y.git("worktree", "lock", linked)
			_ = os.RemoveAll(linked)
		}, "side", where{linked: true}, ""},
		"config of worktrees": {func(y *yard, _ string) { y.git("config", "extensions.worktreeConfig", "true") }, "main", where{main: true}, ""},
		"HEAD is a link": {func(y *yard, _ string) {
			head := filepath.Join(y.dir, ".git/HEAD")
			_ = os.Remove(head)
			_ = os.Symlink("refs/heads/main", head)
		}, "main", where{main: true}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.write("b", "1\n")
			y.commit("one")
			y.git("checkout", "-q", "-b", "other")
			y.write("b", "other\n")
			y.commit("other")
			y.git("checkout", "-q", "main")
			linked := filepath.Join(realDir(t, t.TempDir()), "linked")
			y.git("worktree", "add", "-q", "-b", "side", linked)
			putFile(t, filepath.Join(linked, "b"), "side\n")
			y.gitIn(linked, "commit", "-q", "-a", "-m", "side")
			r, fromLinked := y.open(), y.openAt(linked)
			tt.prepare(y, linked)
			want := ""
			if tt.want.main {
				want = y.dir
			} else if tt.want.linked {
				want = linked
			}
			for from, r := range map[string]*Repo{"main": r, "linked": fromLinked} {
				got, busy, err := r.CheckedOutAt(t.Context(), "refs/heads/"+tt.branch)
				if err != nil || got != want || busy != tt.busy {
					t.Errorf("from %s: CheckedOutAt(%q) = %q, %q, %v, want %q, %q", from, tt.branch, got, busy, err, want, tt.busy)
				}
				err = r.CheckNotCheckedOut(t.Context(), "refs/heads/"+tt.branch)
				if want == "" && err != nil || want != "" && (fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), want)) {
					t.Errorf("from %s: CheckNotCheckedOut(%q) = %v", from, tt.branch, err)
				}
			}
			if want == linked {
				if got := fromLinked.Operation(); got != tt.busy {
					t.Errorf("Operation() = %q, want %q", got, tt.busy)
				}
				if got := r.Operation(); got != "" {
					t.Errorf("Operation() of the main worktree = %q, want none", got)
				}
			}
		})
	}
}

func TestCheckedOutOfABareRepository(t *testing.T) { // R-LAND-2: HEAD of a bare repository is no checkout
	y := newYard(t)
	y.commit("one")
	bare := filepath.Join(realDir(t, t.TempDir()), "bare.git")
	y.git("clone", "-q", "--bare", y.dir, bare)
	linked := filepath.Join(realDir(t, t.TempDir()), "linked")
	y.gitIn(bare, "worktree", "add", "-q", "-b", "side", linked)
	for _, dir := range []string{bare, linked} {
		r := y.openAt(dir)
		for branch, want := range map[string]string{"refs/heads/main": "", "refs/heads/side": linked} {
			if got, _, err := r.CheckedOutAt(t.Context(), branch); err != nil || got != want {
				t.Errorf("from %q: CheckedOutAt(%q) = %q, %v, want %q", dir, branch, got, err, want)
			}
		}
	}
}

func TestCheckedOutInASubmodule(t *testing.T) { // core.worktree names the main worktree
	y := newYard(t)
	y.write("a", "a")
	y.commit("one")
	super := newYard(t)
	super.commit("super")
	super.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", y.dir, "sub")
	sub := filepath.Join(super.dir, "sub")
	linked := filepath.Join(realDir(t, t.TempDir()), "linked")
	super.gitIn(sub, "worktree", "add", "-q", "-b", "side", linked)
	for _, dir := range []string{sub, linked} {
		if got, _, err := super.openAt(dir).CheckedOutAt(t.Context(), "refs/heads/main"); err != nil || got != sub {
			t.Errorf("from %q: CheckedOutAt(main) = %q, %v, want %q", dir, got, err, sub)
		}
	}
}

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := shellQuote(text); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", text, got, want)
		}
	}
}
