package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/gitstore/crash"
	"forge/gitstore/process"
)

// crashRef is a branch of forge's own, so that it has a reflog.
const crashRef = "refs/heads/forge/x/r1"

// TestCrashProcess is no test by itself: it is the process that the tests
// below let die. It makes one commit, under the locks a run holds.
func TestCrashProcess(t *testing.T) {
	dir, text, found := strings.Cut(os.Getenv("GITSTORE_TEST_CRASH"), "|")
	if !found {
		t.Skip("started by other tests")
	}
	vars := map[string]string{}
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		vars[name] = value
	}
	points, err := crash.New(vars, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), dir, Env{Vars: vars, Now: func() time.Time { return testTime }, Crash: points})
	if err != nil {
		t.Fatal(err)
	}
	release, err := r.LockRun(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	id, err := r.Update(t.Context(), crashRef, func(Hash) (Change, error) {
		return Change{Edits: []Edit{Put("skills/x/SKILL.md", []byte(text))}, Subject: text}, nil
	})
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	fmt.Println("made", id)
}

// crashing starts that process with one of the variables set.
func (s *sandbox) crashing(text, variable, value string) process.Result {
	s.t.Helper()
	vars := maps.Clone(s.vars)
	vars["GITSTORE_TEST_CRASH"], vars[variable] = s.dir+"|"+text, value
	result, err := process.Plain(context.Background(), process.Command{
		Argv: []string{os.Args[0], "-test.run=^TestCrashProcess$"}, Dir: s.home, Env: process.Environment(vars), Timeout: time.Minute,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// leftovers are the files of the git directory that a commit makes and takes
// away again.
func (s *sandbox) leftovers() []string {
	s.t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(s.dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		record := filepath.Base(filepath.Dir(path)) == "ref-locks"
		if !d.IsDir() && (strings.HasPrefix(name, "tmp_") || record || strings.HasSuffix(name, ".lock") && !strings.HasPrefix(name, "run-")) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

func (s *sandbox) ref(name string) Hash {
	s.t.Helper()
	out, result := s.try("rev-parse", "--verify", "--quiet", name)
	if !result.OK() {
		return ""
	}
	return Hash(out)
}

// R-ATOM-4, K1: killed at any point, a commit is there whole or not at all,
// and the run goes on without waiting. First the branch is made, then moved.
func TestCommitKilledAtEveryPoint(t *testing.T) {
	for name, exists := range map[string]bool{"making the ref": false, "moving the ref": true} {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t)
			points := s.crashPoints(exists)
			for n, point := range points {
				if !exists && strings.Contains(point, "object") {
					continue // as in the other case
				}
				before := s.resetRef(exists)
				result := s.crashing("v"+strconv.Itoa(n), crash.CrashVariable, strconv.Itoa(n+1))
				if result.Signal == "" {
					t.Fatalf("%s: exit %d: %s%s", point, result.ExitCode, result.Stdout, result.Stderr)
				}
				if after := s.ref(crashRef); after != before {
					parent, _ := s.try("rev-parse", "--verify", "--quiet", string(after)+"^")
					if Hash(parent) != before {
						t.Errorf("%s: the ref moved from %q to %q", point, before, after)
					}
				}
				s.fsck()
				s.commitInRun(point)
			}
			s.resetRef(exists)
			if result := s.crashing("last", crash.CrashVariable, "1000"); !result.OK() {
				t.Errorf("with no point left: exit %d: %s%s", result.ExitCode, result.Stdout, result.Stderr)
			}
		})
	}
}

// crashPoints lists the points of a commit.
func (s *sandbox) crashPoints(exists bool) []string {
	s.t.Helper()
	s.resetRef(exists)
	var points []string
	for line := range strings.Lines(string(s.crashing("trace", crash.CrashVariable, "trace").Stderr)) {
		if point, ok := strings.CutPrefix(strings.TrimSpace(line), "forge: crash point "); ok {
			points = append(points, point)
		}
	}
	for _, what := range []string{"object", "lock record", "lock file", "lock content", "reflog line", "ref"} {
		if all := strings.Join(points, "\n") + "\n"; !strings.Contains(all, " before "+what+"\n") {
			s.t.Errorf("no point before %s among\n%s", what, all)
		}
	}
	return points
}

// resetRef makes the test's branch stand at HEAD, or not exist.
func (s *sandbox) resetRef(exists bool) Hash {
	s.t.Helper()
	if exists {
		s.git("update-ref", crashRef, "HEAD")
		return s.ref("HEAD")
	}
	s.git("update-ref", "-d", crashRef)
	return ""
}

// commitInRun makes a commit as the next command of the run does: it must not
// wait for the lock of a dead process (R-REF-9).
func (s *sandbox) commitInRun(point string) {
	s.t.Helper()
	r := s.open()
	r.lockWait = 200 * time.Millisecond
	release, err := r.LockRun(s.t.Context(), "r1")
	if err != nil {
		s.t.Fatal(err)
	}
	defer release()
	_, err = r.Update(s.t.Context(), crashRef, func(Hash) (Change, error) {
		return Change{Edits: []Edit{Put("after", []byte(point))}, Subject: "after"}, nil
	})
	if err != nil {
		s.t.Errorf("%s: the next commit: %v", point, err)
	}
	for _, path := range s.leftovers() {
		if !strings.Contains(path, "tmp_obj_") { // git gc removes these
			s.t.Errorf("%s: %s is left", point, path)
		}
	}
}

// K4: a write that fails as on a full disk leaves the ref, its reflog and
// everything else as it was, and the next commit works.
func TestCommitOnAFullDisk(t *testing.T) {
	for name, exists := range map[string]bool{"making the ref": false, "moving the ref": true} {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t)
			failed := 0
			for n, point := range s.crashPoints(exists) {
				if !exists && strings.Contains(point, "object") {
					continue // as in the other case
				}
				before, reflog := s.resetRef(exists), s.files("logs/refs/heads/forge")
				result := s.crashing("w"+strconv.Itoa(n), crash.FailVariable, strconv.Itoa(n+1))
				if result.OK() {
					continue // no write of weight follows
				}
				failed++
				if said := string(result.Stdout) + string(result.Stderr); !strings.Contains(said, "no space left on device") {
					t.Errorf("%s: exit %d: %s", point, result.ExitCode, said)
				}
				if after := s.ref(crashRef); after != before {
					t.Errorf("%s: the ref moved from %q to %q", point, before, after)
				}
				if got := s.files("logs/refs/heads/forge"); !maps.Equal(got, reflog) {
					t.Errorf("%s: the reflog is %q, want %q", point, got, reflog)
				}
				if left := s.leftovers(); left != nil {
					t.Errorf("%s: %q is left", point, left)
				}
			}
			if failed < 4 {
				t.Errorf("%d points failed a write, want the record, its inode, the reflog and the ref at least", failed)
			}
			if result := s.crashing("last", crash.FailVariable, "1000"); !result.OK() {
				t.Errorf("the next commit: %s", result.Stdout)
			}
			s.fsck()
		})
	}
}

// K4: an export on a full disk is an error, and the next Set sets it right.
func TestExportOnAFullDisk(t *testing.T) {
	y := newYard(t)
	y.write("a", "one", "dir/b", "two", "empty", "")
	if err := os.Symlink("a", filepath.Join(y.dir, "link")); err != nil {
		t.Fatal(err)
	}
	one := y.commit("one")
	for n := 1; ; n++ {
		points, err := crash.New(map[string]string{crash.FailVariable: strconv.Itoa(n)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := y.open()
		r.env.Crash = points
		e, err := r.NewExport(t.Context(), ExportPlan{})
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("point %d: NewExport() = %v", n, err)
			}
			if left := append(listNames(t, y.vars["TMPDIR"]), listNames(t, filepath.Join(y.dir, ".git/forge/exports"))...); len(left) > 0 {
				t.Errorf("point %d: %q is left", n, left)
			}
			continue
		}
		err = e.Set(t.Context(), one)
		if err == nil && n > 12 {
			if err := e.Remove(); err != nil {
				t.Error(err)
			}
			return
		}
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("point %d: Set() = %v", n, err)
		}
		if err := e.Set(t.Context(), one); err != nil {
			t.Errorf("point %d: the next Set() = %v", n, err)
		}
		want := map[string]string{"a": "-rw-r--r-- one", "dir": "drwxr-xr-x", "dir/b": "-rw-r--r-- two", "empty": "-rw-r--r-- ", "link": "link a"}
		diffListings(t, fmt.Sprintf("point %d", n), listing(t, e.Tree), want)
		if err := e.Remove(); err != nil {
			t.Error(err)
		}
	}
}

func listNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Objects have the mode git gives them: other users of a shared repository
// read them (core.sharedRepository aside, which widens the umask).
func TestObjectMode(t *testing.T) {
	s := newRepository(t)
	commit(t, s.open(), Change{Ref: testRef, Edits: []Edit{Put("a", []byte("mode"))}})
	mine := s.git("rev-parse", testRef+":a")
	s.write("b", "other")
	theirs := s.git("hash-object", "-w", "b")
	mode := func(id string) fs.FileMode {
		info, err := os.Stat(filepath.Join(s.dir, ".git/objects", id[:2], id[2:]))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if mode(mine) != mode(theirs) {
		t.Errorf("an object of forge has mode %v, one of git %v", mode(mine), mode(theirs))
	}
}
