package snapshot

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gitstore"
	"forge/gitstore/process"
	"forge/gitstore/vectors"
)

// diffVector is a snapshot, a change, the diff and the revert (loop.md section
// 14).
type diffVector struct {
	ID            string
	Args          struct{ Target string }
	Before, After map[string]content
	Delete        []string
	Expect        map[string]any
	Revert        struct {
		Exit     int
		Restored []string
		Removed  []string
		Same     bool `json:"tree_equals_before"`
	}
}

// content is a file: a text, "hex:..", {text, mode}, {symlink} or {dir}.
type content struct {
	Text, Mode, Symlink string
	Dir                 bool
}

func (c *content) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &c.Text); err == nil {
		return nil
	}
	type plain content
	return json.Unmarshal(data, (*plain)(c))
}

func TestVectors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes")
	}
	for _, v := range vectors.Read[diffVector](t, os.Getenv("FORGE_VECTORS"), "loop.json", "diff") {
		t.Run(v.ID, func(t *testing.T) { runDiff(t, v) })
	}
}

func runDiff(t *testing.T, v diffVector) {
	repo := emptyRepository(t)
	dir := repo.WorkTree()
	lay(t, dir, v.Before)
	was := tree(t, dir)
	scope, err := repo.NewScope(v.Args.Target, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(t.Context(), repo, "manual", "v1", scope); err != nil {
		t.Fatal(err)
	}
	for _, name := range v.Delete {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	lay(t, dir, v.After)
	stored, err := Find(t.Context(), repo, "manual", "v1")
	if err != nil {
		t.Fatal(err)
	}
	difference, _, err := stored.Diff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vectors.CheckDocument(t, difference, v.Expect)
	plan, err := stored.PlanRevert(t.Context(), gitstore.KeepIgnored)
	if err != nil {
		t.Fatal(err)
	}
	done, err := plan.Act(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(done.Restored, v.Revert.Restored) || !slices.Equal(done.Removed, v.Revert.Removed) {
		t.Errorf("restored %q and removed %q, want %q and %q", done.Restored, done.Removed, v.Revert.Restored, v.Revert.Removed)
	}
	if now := tree(t, dir); v.Revert.Same && now != was {
		t.Errorf("after the revert the tree is\n%swant\n%s", now, was)
	}
}

// emptyRepository is a repository without a commit.
func emptyRepository(t *testing.T) *gitstore.Repo {
	t.Helper()
	dir := t.TempDir()
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.com",
		"GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.com",
	}
	result, err := process.Plain(t.Context(), process.Command{Argv: []string{"git", "init", "-q", "-b", "main"}, Dir: dir, Env: process.Environment(vars)})
	if err != nil || !result.OK() {
		t.Fatalf("git init: %v %s", err, result.Stderr)
	}
	repo, err := gitstore.Open(t.Context(), dir, gitstore.Env{Vars: vars, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// lay puts files into a directory; a path under a file or a link replaces it.
func lay(t *testing.T, dir string, files map[string]content) {
	t.Helper()
	for name, c := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			if info, err := os.Lstat(filepath.Join(dir, parent)); err == nil && !info.IsDir() {
				check(t, os.Remove(filepath.Join(dir, parent)))
			}
		}
		check(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if info, err := os.Lstat(at); err == nil && (c.Dir != info.IsDir() || info.Mode()&fs.ModeSymlink != 0 || c.Symlink != "") {
			check(t, os.RemoveAll(at))
		}
		switch {
		case c.Dir:
			check(t, os.MkdirAll(at, 0o755))
		case c.Symlink != "":
			check(t, os.Symlink(c.Symlink, at))
		default:
			data := []byte(c.Text)
			if digits, ok := strings.CutPrefix(c.Text, "hex:"); ok {
				var err error
				data, err = hex.DecodeString(digits)
				check(t, err)
			}
			check(t, os.WriteFile(at, data, 0o644))
			if c.Mode == "100755" || c.Mode == "755" || c.Mode == "0755" {
				check(t, os.Chmod(at, 0o755))
			}
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree lists what a directory holds: names, kinds, executable bits, contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if info.Mode()&fs.ModeSymlink != 0 {
			var target string
			target, err = os.Readlink(name)
			data = []byte(target)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		inside, _ := filepath.Rel(dir, name)
		out.WriteString(inside + " " + (info.Mode() & (fs.ModeType | 0o111)).String() + " " + hex.EncodeToString(data) + "\n")
		return err
	})
	check(t, err)
	return out.String()
}
