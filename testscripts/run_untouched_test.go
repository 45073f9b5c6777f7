//go:build unix

package testscripts

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// busyFiles is how many files the repository of TestRunUntouched has.
const busyFiles = 2000

// newBusy makes a repository in the middle of a person's work: staged, dirty,
// untracked, ignored and stashed, with every hook there is failing and
// writing its name down, and with an index that a careless `git status` would
// refresh.
func newBusy(t *testing.T) (s *site, hookLog string) {
	t.Helper()
	files := tuned()
	for i := range busyFiles {
		files[fmt.Sprintf("data/%02d/%04d.txt", i%50, i)] = fmt.Sprintf("file %d\n", i)
	}
	files[".gitignore"] = "*.log\nbuild/\n"
	files["link-target.txt"] = "here\n"
	s = newSite(t, files)
	hookLog = filepath.Join(t.TempDir(), "hooks")

	s.write(map[string]string{"data/00/0000.txt": "stashed\n", "stashed.txt": "stashed too\n"})
	s.git("stash", "push", "-q", "--include-untracked")
	s.write(map[string]string{"data/01/0001.txt": "staged\n", "staged.txt": "new and staged\n", "both.txt": "staged\n"})
	s.git("rm", "-q", "data/02/0002.txt")
	s.git("add", "data/01/0001.txt", "staged.txt", "both.txt")
	if err := os.Symlink("link-target.txt", filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	s.write(map[string]string{
		"data/03/0003.txt": "dirty\n", "both.txt": "staged, and dirty since\n", "untracked/new.txt": "untracked\n",
		"notes.log": "ignored\n", "build/out.bin": "ignored too\n",
	})
	if err := os.Remove(filepath.Join(s.dir, "data/04/0004.txt")); err != nil {
		t.Fatal(err)
	}
	// Same content, other file: only its times differ from the index.
	touched := filepath.Join(s.dir, "data/05/0005.txt")
	if err := os.Remove(touched); err != nil {
		t.Fatal(err)
	}
	s.write(map[string]string{"data/05/0005.txt": "file 5\n"})

	hooks := map[string]string{}
	for _, name := range hookNames {
		hooks["hooks/"+name+".sh"] = "#!/bin/sh\necho " + name + " >> " + hookLog + "\nexit 1\n"
	}
	s.write(hooks)
	for _, name := range hookNames {
		if err := os.Rename(filepath.Join(s.dir, "hooks", name+".sh"), filepath.Join(s.dir, "hooks", name)); err != nil {
			t.Fatal(err)
		}
	}
	s.git("config", "core.hooksPath", "hooks")
	return s, hookLog
}

// hookNames are git's hooks on the client's side.
var hookNames = []string{
	"applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit", "post-index-change", "post-merge",
	"post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "pre-push", "pre-rebase",
	"reference-transaction",
}

// look says how a file is: type, mode, time of the last change and content.
func look(file string) (string, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	var content []byte
	switch {
	case info.IsDir():
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(file)
		if err != nil {
			return "", err
		}
		content = []byte(to)
	default:
		if content, err = os.ReadFile(file); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s %d %x", info.Mode(), info.ModTime().UnixNano(), sha256.Sum256(content)), nil
}

// listing looks at every file below a directory but those skip names.
func listing(t *testing.T, root string, skip func(name string) bool) map[string]string {
	t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		switch {
		case err != nil:
			return err
		case !skip(name):
			seen[name], err = look(file)
			return err
		case d.IsDir():
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// belongings are what a person has in a repository: each file of the work
// tree and those of git's own that say where he stands.
func (s *site) belongings() map[string]string {
	s.t.Helper()
	seen := listing(s.t, s.dir, func(name string) bool { return name == ".git" })
	for _, name := range []string{"index", "HEAD", "config", "logs/HEAD", "logs/refs/heads/main", "logs/refs/stash", "refs/heads/main", "refs/stash"} {
		var err error
		if seen[".git/"+name], err = look(filepath.Join(s.dir, ".git", name)); err != nil {
			s.t.Fatal(err)
		}
	}
	return seen
}

// checkSame demands that nothing in before is another now, and nothing is
// there that was not.
func checkSame(t *testing.T, before, now map[string]string) {
	t.Helper()
	names := maps.Clone(before)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != now[name] {
			t.Errorf("%s was %q and is %q", name, before[name], now[name])
		}
	}
}

// A whole run changes no byte, mode or time of a person's work and runs none
// of his hooks; landing brings what was kept with that work in place, and
// git revert takes it away again (gitstore.md R-REF-1, R-LOCK-4, R-LAND-2,
// R-LAND-3, C9).
func TestRunUntouched(t *testing.T) {
	t.Parallel()
	s, hookLog := newBusy(t)
	before := s.belongings()
	s.forge(0, tunedRun()...)
	checkSame(t, before, s.belongings())
	if ran, err := os.ReadFile(hookLog); err == nil {
		t.Errorf("the run ran the hooks\n%s", ran)
	}
	s.checkSound()
	if t.Failed() {
		return
	}

	// The landing is git's own merge, which asks this hook before it moves a
	// ref; here it would say no.
	if err := os.Remove(filepath.Join(s.dir, "hooks", "reference-transaction")); err != nil {
		t.Fatal(err)
	}
	before, status := s.belongings(), s.git("status", "--porcelain")
	s.forge(0, "land")
	s.checkLanded(before)
	if now := s.git("status", "--porcelain"); now != status {
		t.Errorf("git status was\n%s\nand is after the landing\n%s", status, now)
	}
	if stash := s.git("stash", "list"); !strings.HasPrefix(stash, "stash@{0}") || strings.Contains(stash, "\n") {
		t.Errorf("the stash is %q", stash)
	}

	kept := s.git("show", "HEAD~1:app.conf")
	s.git("reset", "-q") // git reverts with a clean index only
	s.git("-c", "core.hooksPath=/dev/null", "revert", "--no-edit", "HEAD")
	if got := s.git("show", "HEAD:app.conf"); got != kept {
		t.Errorf("after git revert the target is\n%s\nwant\n%s", got, kept)
	}
	s.git("-c", "core.hooksPath=/dev/null", "stash", "show", "-p", "--include-untracked")
}

// checkLanded demands that main has one commit for each kept experiment, that
// the target is in the work tree as the last one left it, and that all else
// in it is as it was.
func (s *site) checkLanded(before map[string]string) {
	s.t.Helper()
	verdicts, _ := s.verdicts(s.branch())
	var kept []string
	for _, v := range verdicts {
		if fields := strings.Fields(v); fields[1] == "KEEP" {
			kept = append(kept, fields[0])
		}
	}
	landed, _ := s.verdicts("main")
	for i, v := range landed {
		landed[i] = strings.Fields(v)[0]
	}
	if len(kept) == 0 || !slices.Equal(landed, kept) {
		s.t.Errorf("main has %v, the run kept %v", landed, kept)
	}
	target, err := os.ReadFile(filepath.Join(s.dir, "app.conf"))
	if want := s.git("show", s.branch()+":app.conf"); err != nil || strings.TrimSuffix(string(target), "\n") != want {
		s.t.Errorf("the target is %q, %v, want %q", target, err, want)
	}
	now := s.belongings()
	for _, name := range []string{"app.conf", ".", ".git/index", ".git/logs/HEAD", ".git/logs/refs/heads/main", ".git/refs/heads/main"} {
		delete(before, name)
		delete(now, name)
	}
	checkSame(s.t, before, now)
}
