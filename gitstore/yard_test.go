package gitstore

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/gitstore/process"
)

// yard is a repository built by the git binary, in an environment of its own.
type yard struct {
	t    testing.TB
	dir  string
	vars map[string]string
}

// newYard makes a repository without a commit, on branch main.
func newYard(t testing.TB) *yard {
	t.Helper()
	home := t.TempDir()
	y := &yard{t: t, dir: realDir(t, t.TempDir()), vars: map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": home, "TMPDIR": realDir(t, t.TempDir()), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC",
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "1700000000 +0000",
		"GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.com", "GIT_COMMITTER_DATE": "1700000000 +0000",
	}}
	y.git("init", "-q", "-b", "main")
	return y
}

func realDir(t testing.TB, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// try runs git in the yard and returns its output and whether it succeeded.
func (y *yard) try(args ...string) (string, bool) {
	y.t.Helper()
	return y.tryIn(y.dir, args...)
}

func (y *yard) tryIn(dir string, args ...string) (string, bool) {
	y.t.Helper()
	result, err := process.Plain(context.Background(), process.Command{
		Argv: append([]string{"git"}, args...), Dir: dir, Env: process.Environment(y.vars), Timeout: time.Minute,
	})
	if err != nil {
		y.t.Fatal(err)
	}
	return strings.TrimRight(string(result.Stdout)+string(result.Stderr), "\n"), result.OK()
}

func (y *yard) git(args ...string) string {
	y.t.Helper()
	return y.gitIn(y.dir, args...)
}

func (y *yard) gitIn(dir string, args ...string) string {
	y.t.Helper()
	out, ok := y.tryIn(dir, args...)
	if !ok {
		y.t.Fatalf("git %s: %s", strings.Join(args, " "), out)
	}
	return out
}

// write writes files of the work tree: pairs of path and content.
func (y *yard) write(pairs ...string) {
	y.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		putFile(y.t, filepath.Join(y.dir, pairs[i]), pairs[i+1])
	}
}

func putFile(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commit commits everything in the work tree, filters off.
func (y *yard) commit(message string) Hash {
	y.t.Helper()
	y.git("-c", "core.autocrlf=false", "add", "-A", "-f")
	y.git("-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", message)
	return y.at("HEAD")
}

func (y *yard) at(rev string) Hash {
	y.t.Helper()
	return Hash(y.git("rev-parse", "--verify", rev+"^{commit}"))
}

func (y *yard) open() *Repo { return y.openAt(y.dir) }

func (y *yard) openAt(dir string) *Repo {
	y.t.Helper()
	return y.openWith(dir, nil)
}

func (y *yard) openWith(dir string, change map[string]string) *Repo {
	y.t.Helper()
	vars := maps.Clone(y.vars)
	maps.Copy(vars, change)
	r, err := Open(context.Background(), dir, Env{Vars: vars, Now: func() time.Time { return time.Unix(1700000000, 42) }})
	if err != nil {
		y.t.Fatal(err)
	}
	return r
}

// listing describes everything below a directory: mode and content by path.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			what = "link " + target
		case d.Type().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			what += " " + string(data)
		}
		found[filepath.ToSlash(rel)] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// diffListings reports each path that differs.
func diffListings(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for path, w := range want {
		if g, ok := got[path]; !ok || g != w {
			t.Errorf("%s: %s is %q, want %q", what, path, g, w)
		}
	}
	for path, g := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: %s is %q, want nothing there", what, path, g)
		}
	}
}

// tree writes a tree object as given, whatever git thinks of its names.
func (y *yard) tree(lines ...string) string {
	y.t.Helper()
	var raw []byte
	for _, line := range lines {
		var mode, kind, id, name string
		meta, name, _ := strings.Cut(line, "\t")
		fmt.Sscan(meta, &mode, &kind, &id)
		raw = fmt.Appendf(raw, "%s %s\x00", strings.TrimPrefix(mode, "0"), name)
		for i := 0; i < len(id); i += 2 {
			var b byte
			fmt.Sscanf(id[i:i+2], "%02x", &b)
			raw = append(raw, b)
		}
	}
	file := filepath.Join(y.t.TempDir(), "raw")
	putFile(y.t, file, string(raw))
	return y.git("hash-object", "-t", "tree", "-w", "--literally", file)
}

func shell(t testing.TB, y *yard, command string) string {
	t.Helper()
	result, err := process.Plain(context.Background(), process.Command{
		Argv: process.Shell(command), Dir: y.dir, Env: process.Environment(y.vars), Timeout: time.Minute,
	})
	if err != nil || !result.OK() {
		t.Fatalf("%s: %v, %s", command, err, result.Stderr)
	}
	return string(result.Stdout)
}
