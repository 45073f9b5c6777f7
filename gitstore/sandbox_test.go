package gitstore

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/gitstore/process"
)

// sandbox is a repository made by git in a directory of its own, with an
// environment in which nothing of the machine shows.
type sandbox struct {
	t    testing.TB
	home string
	dir  string // where git and Open work
	vars map[string]string
}

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newSandbox(t testing.TB) *sandbox {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, home: filepath.Join(root, "home"), dir: filepath.Join(root, "repo")}
	for _, dir := range []string{s.home, s.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.vars = map[string]string{
		"HOME": s.home, "PATH": os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC",
		"GIT_AUTHOR_NAME": "Test Author", "GIT_AUTHOR_EMAIL": "author@example.com", "GIT_AUTHOR_DATE": "1767323045 +0000",
		"GIT_COMMITTER_NAME": "Test Author", "GIT_COMMITTER_EMAIL": "author@example.com", "GIT_COMMITTER_DATE": "1767323045 +0000",
	}
	return s
}

// newRepository is a sandbox with one commit on main.
func newRepository(t testing.TB) *sandbox {
	t.Helper()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	s.write("README.md", "hello\n")
	s.write("skills/x/SKILL.md", "# x\n")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "first")
	return s
}

// in returns the same sandbox working in another directory.
func (s *sandbox) in(dir string) *sandbox {
	other := *s
	other.dir = dir
	other.vars = maps.Clone(s.vars)
	return &other
}

// try runs git and returns what it printed.
func (s *sandbox) try(args ...string) (string, process.Result) {
	s.t.Helper()
	result, err := process.Plain(context.Background(), process.Command{
		Argv: append([]string{"git"}, args...), Dir: s.dir, Env: process.Environment(s.vars), Timeout: time.Minute,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSuffix(string(result.Stdout), "\n"), result
}

// git is try for calls that must succeed.
func (s *sandbox) git(args ...string) string {
	s.t.Helper()
	out, result := s.try(args...)
	if !result.OK() {
		s.t.Fatalf("git %s: exit %d: %s", strings.Join(args, " "), result.ExitCode, result.Stderr)
	}
	return out
}

func (s *sandbox) write(path, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) env() Env {
	return Env{Vars: s.vars, Now: func() time.Time { return testTime }}
}

func (s *sandbox) tryOpen() (*Repo, error) { return Open(context.Background(), s.dir, s.env()) }

func (s *sandbox) open() *Repo {
	s.t.Helper()
	r, err := s.tryOpen()
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *sandbox) rev(name string) Hash { s.t.Helper(); return Hash(s.git("rev-parse", name)) }

// fsck fails the test unless git finds the repository in order.
func (s *sandbox) fsck() {
	s.t.Helper()
	out, result := s.try("fsck", "--strict", "--no-dangling")
	said := strings.TrimSpace(out + string(result.Stderr))
	if said = strings.TrimPrefix(said, "notice: HEAD points to an unborn branch (main)"); !result.OK() || said != "" {
		s.t.Errorf("git fsck --strict: exit %d: %s", result.ExitCode, said)
	}
}

// files lists everything below a directory of the git directory with its
// content, to show that nothing was left behind.
func (s *sandbox) files(below string) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	root := filepath.Join(s.dir, ".git", below)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			found[rel+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		found[rel] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return found
}

// commit makes one commit through r.
func commit(t testing.TB, r *Repo, c Change) Hash {
	t.Helper()
	if c.Subject == "" {
		c.Subject = "change"
	}
	id, err := r.Commit(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
