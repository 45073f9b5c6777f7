package gitstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// landYard has main at old, and new one commit ahead, at the landing ref of
// a run. new changes a and adds added.
func landYard(t *testing.T) (y *yard, old, new Hash) {
	t.Helper()
	y = newYard(t)
	y.write("a", "1\n", "b", "1\n", "keep", "1\n")
	old = y.commit("one")
	y.write("a", "2\n", "added", "x\n")
	new = y.commit("two")
	y.git("update-ref", "refs/forge/runs/r1-abcd/landing", string(new))
	y.git("reset", "-q", "--hard", string(old))
	return y, old, new
}

const landHint = "git merge --ff-only refs/forge/runs/r1-abcd/landing"

// state is what landing must not change when it refuses.
func (y *yard) state() string {
	status := y.git("status", "--porcelain", "-uall")
	index := y.git("ls-files", "-s")
	refs, _ := y.try("for-each-ref")
	stash, _ := y.try("stash", "list")
	return strings.Join([]string{status, index, refs, stash, y.git("rev-parse", "HEAD")}, "\n--\n")
}

func TestAdvance(t *testing.T) { // R-LAND-2, R-LAND-3; pitfall 21
	tests := map[string]struct {
		prepare func(y *yard)
		after   string // git status when it is done
	}{
		"clean":             {func(*yard) {}, ""},
		"unrelated dirt":    {func(y *yard) { y.write("keep", "mine\n") }, " M keep"},
		"unrelated staged":  {func(y *yard) { y.write("keep", "mine\n"); y.git("add", "keep") }, "M  keep"},
		"untracked":         {func(y *yard) { y.write("mine", "m\n") }, "?? mine"},
		"autostash is set":  {func(y *yard) { y.git("config", "merge.autoStash", "true"); y.write("keep", "mine\n") }, " M keep"},
		"merge.ff is no":    {func(y *yard) { y.git("config", "merge.ff", "false") }, ""},
		"signing is broken": {func(y *yard) { y.git("config", "commit.gpgsign", "true"); y.git("config", "user.signingkey", "none") }, ""}, // pitfall 19
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y, old, new := landYard(t)
			tt.prepare(y)
			got, err := y.open().Advance(t.Context(), "refs/heads/main", old, new)
			if err != nil {
				t.Fatal(err)
			}
			if want := (Advanced{Worktree: y.dir, Old: old, New: new}); got != want {
				t.Errorf("Advance = %+v, want %+v", got, want)
			}
			if at := y.at("main"); at != new {
				t.Errorf("main is at %s, want %s", at, new)
			}
			if status := y.git("status", "--porcelain"); status != tt.after {
				t.Errorf("status %q, want %q", status, tt.after)
			}
			if list := y.git("stash", "list"); list != "" {
				t.Errorf("stash %q", list)
			}
			if again, err := y.open().Advance(t.Context(), "refs/heads/main", new, new); err != nil || again.New != new { // twice in a row
				t.Errorf("Advance again = %+v, %v", again, err)
			}
			y.git("reset", "--keep", string(old)) // the undo that is printed, R-LAND-6
		})
	}
}

func TestAdvanceRefuses(t *testing.T) { // R-LAND-2 to R-LAND-4; pitfall 21
	tests := map[string]struct {
		prepare func(y *yard)
		kind    fault.Kind
		message []string
		hint    string
	}{
		"same file dirty":      {func(y *yard) { y.write("a", "mine\n") }, fault.Refused, []string{`"a"`, "local changes"}, landHint},
		"same file staged":     {func(y *yard) { y.write("a", "mine\n"); y.git("add", "a") }, fault.Refused, []string{`"a"`}, landHint},
		"untracked in the way": {func(y *yard) { y.write("added", "mine\n") }, fault.Refused, []string{`"added"`}, landHint},
		"both":                 {func(y *yard) { y.write("added", "mine\n", "a", "mine\n") }, fault.Refused, []string{`"a"`, `"added"`}, landHint},
		"autostash is set":     {func(y *yard) { y.git("config", "merge.autoStash", "true"); y.write("a", "mine\n") }, fault.Refused, []string{`"a"`}, landHint},
		"removed":              {func(y *yard) { y.git("rm", "-q", "--cached", "a") }, fault.Refused, []string{`"a"`}, landHint},
		"directory in the way": {func(y *yard) { y.write("added/mine", "m\n") }, fault.Refused, []string{`"added"`}, landHint},
		"rebase":               {func(y *yard) { y.conflict("rebase", "other") }, fault.Refused, []string{"a rebase is under way in"}, "finish or abort it, then forge land r1-abcd"},
		"merge": {func(y *yard) {
			y.git("checkout", "-q", "main")
			y.conflict("merge", "other")
		}, fault.Refused, []string{"a merge is under way in"}, "finish or abort it, then forge land r1-abcd"},
		"cherry-pick":   {func(y *yard) { y.conflict("cherry-pick", "other") }, fault.Refused, []string{"a cherry-pick is under way in"}, "finish or abort it, then forge land r1-abcd"},
		"bisect":        {func(y *yard) { y.git("bisect", "start", "other", "main~0") }, fault.Refused, []string{"a bisect is under way in"}, "finish or abort it, then forge land r1-abcd"},
		"two worktrees": {func(y *yard) { y.git("worktree", "add", "-q", "-f", y.t.TempDir()+"/w", "main") }, fault.Refused, []string{"is checked out in"}, ""},
		"index locked":  {func(y *yard) { y.write(".git/index.lock", "") }, fault.Failed, []string{"index.lock"}, landHint},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y, old, new := landYard(t)
			y.git("checkout", "-q", "-b", "other", string(old))
			y.write("b", "other\n")
			y.commit("other")
			y.git("checkout", "-q", "main")
			tt.prepare(y)
			if now := y.at("main"); now != old { // a conflict needs a commit on main
				old = now
			}
			before := y.state()
			got, err := y.open().Advance(t.Context(), "refs/heads/main", old, new)
			if fault.KindOf(err) != tt.kind || got != (Advanced{}) {
				t.Fatalf("Advance = %+v, %v, want kind %v", got, err, tt.kind)
			}
			for _, part := range tt.message {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("message %q does not have %q", err, part)
				}
			}
			if tt.hint != "" && fault.HintOf(err) != tt.hint {
				t.Errorf("hint %q, want %q", fault.HintOf(err), tt.hint)
			}
			if after := y.state(); after != before {
				t.Errorf("the repository changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// conflict makes b conflict on main and starts an operation that stops there.
func (y *yard) conflict(args ...string) {
	y.t.Helper()
	y.write("b", "main\n")
	y.commit("conflict")
	if out, ok := y.try(args...); ok {
		y.t.Fatalf("git %s did not stop: %s", args, out)
	}
}

func TestAdvanceMoved(t *testing.T) { // R-VERB-2
	for _, checkedOut := range []bool{true, false} {
		y, old, new := landYard(t)
		if !checkedOut {
			y.git("checkout", "-q", "--detach")
		}
		other := Hash(y.git("commit-tree", "-p", string(old), "-m", "other", "HEAD^{tree}"))
		y.git("update-ref", "refs/heads/main", string(other))
		_, err := y.open().Advance(t.Context(), "refs/heads/main", old, new)
		if !errors.Is(err, ErrMoved) || fault.KindOf(err) != fault.Conflict {
			t.Errorf("checked out %t: Advance = %v, want ErrMoved", checkedOut, err)
		}
		_, err = y.open().Advance(t.Context(), "refs/heads/main", other, new)
		if fault.KindOf(err) != fault.Refused || y.at("main") != other {
			t.Errorf("checked out %t: Advance to a sibling = %v, want a refusal", checkedOut, err)
		}
	}
}

func TestAdvanceByRefAlone(t *testing.T) { // R-LAND-2: not checked out, or bare
	y, old, new := landYard(t)
	y.git("checkout", "-q", "--detach")
	got, err := y.open().Advance(t.Context(), "refs/heads/main", old, new)
	if err != nil || got.Worktree != "" || y.at("main") != new {
		t.Errorf("detached: Advance = %+v, %v", got, err)
	}

	y, old, new = landYard(t)
	bare := filepath.Join(realDir(t, t.TempDir()), "bare.git")
	y.git("clone", "-q", "--mirror", y.dir, bare)
	got, err = y.openAt(bare).Advance(t.Context(), "refs/heads/main", old, new)
	if err != nil || got.Worktree != "" || Hash(y.gitIn(bare, "rev-parse", "main")) != new {
		t.Errorf("bare: Advance = %+v, %v", got, err)
	}
}

func TestAdvanceInALinkedWorktree(t *testing.T) { // R-LAND-2, R-WT-1; pitfall 21
	y, old, new := landYard(t)
	linked := filepath.Join(realDir(t, t.TempDir()), "linked")
	y.git("worktree", "add", "-q", "-b", "side", linked)
	// A rebase of another branch in the main worktree is in nobody's way.
	y.git("checkout", "-q", "-b", "other", string(old))
	y.write("b", "other\n")
	y.commit("other")
	y.git("checkout", "-q", "main")
	y.write("b", "main\n")
	y.commit("main")
	if out, ok := y.try("rebase", "other"); ok {
		t.Fatalf("no conflict: %s", out)
	}
	// From either worktree the branch of the linked one is moved there.
	got, err := y.open().Advance(t.Context(), "refs/heads/side", old, new)
	if err != nil || got.Worktree != linked {
		t.Fatalf("Advance = %+v, %v, want it in %q", got, err, linked)
	}
	if status := y.gitIn(linked, "status", "--porcelain"); status != "" {
		t.Errorf("status in the linked worktree: %q", status)
	}
	if data, err := os.ReadFile(filepath.Join(linked, "a")); err != nil || string(data) != "2\n" {
		t.Errorf("a is %q, %v", data, err)
	}
	// And the main worktree's branch, from the linked one, waits for its rebase.
	main := y.at("main")
	_, err = y.openAt(linked).Advance(t.Context(), "refs/heads/main", main, new)
	if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), fmt.Sprintf("a rebase is under way in %q", y.dir)) {
		t.Errorf("Advance of a branch under rebase = %v", err)
	}
	y.git("rebase", "--abort")
	y.git("reset", "-q", "--hard", string(old))
	got, err = y.openAt(linked).Advance(t.Context(), "refs/heads/main", old, new)
	if err != nil || got.Worktree != y.dir || y.git("status", "--porcelain") != "" {
		t.Errorf("Advance from the linked worktree = %+v, %v", got, err)
	}
}

func TestAdvanceWithoutGit(t *testing.T) { // R-LAND-4, R-GIT-1
	y, old, new := landYard(t)
	_, err := y.openWith(y.dir, map[string]string{"PATH": "/nonexistent"}).Advance(t.Context(), "refs/heads/main", old, new)
	if fault.KindOf(err) != fault.Refused || fault.HintOf(err) != landHint || y.at("main") != old {
		t.Errorf("Advance = %v, hint %q, want a refusal with the command", err, fault.HintOf(err))
	}
}

func TestAdvanceHintWithoutALandingRef(t *testing.T) {
	y, old, new := landYard(t)
	y.git("update-ref", "-d", "refs/forge/runs/r1-abcd/landing")
	y.write("a", "mine\n")
	_, err := y.open().Advance(t.Context(), "refs/heads/main", old, new)
	if want := "git merge --ff-only " + string(new); fault.HintOf(err) != want {
		t.Errorf("Advance = %v, hint %q, want %q", err, fault.HintOf(err), want)
	}
}

func TestAdvanceRunsHooksAsGitDoes(t *testing.T) { // R-COM-6
	for _, status := range []string{"0", "1"} {
		y, old, new := landYard(t)
		hook := filepath.Join(y.dir, ".git/hooks/post-merge")
		putFile(t, hook, "#!/bin/sh\npwd >ran; env >>ran; exit "+status+"\n")
		if err := os.Chmod(hook, 0o755); err != nil {
			t.Fatal(err)
		}
		vars := map[string]string{"GIT_INDEX_FILE": "/nonexistent/index", "GIT_PREFIX": "x"} // R-GIT-2
		if _, err := y.openWith(y.dir, vars).Advance(t.Context(), "refs/heads/main", old, new); err != nil {
			t.Fatal(err)
		}
		ran, err := os.ReadFile(filepath.Join(y.dir, "ran"))
		if err != nil || !strings.HasPrefix(string(ran), y.dir+"\n") || strings.Contains(string(ran), "/nonexistent/index") {
			t.Errorf("the hook left %q, %v", ran, err)
		}
	}
}

func TestFilesInTheWay(t *testing.T) {
	message := "error: Your local changes to the following files would be overwritten by merge:\n\ta b\n\tc\nPlease commit.\n" +
		"error: Entry 'it's' not uptodate. Cannot merge.\nerror: Untracked working tree file 'd' would be overwritten by merge.\nfatal: x\n"
	got := filesInTheWay(message)
	if want := []string{"a b", "c", "it's", "d"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("filesInTheWay = %q, want %q", got, want)
	}
	many := nameFiles(strings.Split(strings.Repeat("x,", 12), ","))
	if !strings.HasSuffix(many, `"x" and 3 more`) {
		t.Errorf("nameFiles = %q", many)
	}
}
