package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/gitstore/process"
)

// TestWriterProcess is no test by itself: it is the writer process of the
// tests below, which start this binary again. It makes commits, each printed
// only after Commit returned.
func TestWriterProcess(t *testing.T) {
	dir, commits, found := strings.Cut(os.Getenv("GITSTORE_TEST_WRITER"), "|")
	if !found {
		t.Skip("started by other tests")
	}
	vars := map[string]string{}
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		vars[name] = value
	}
	r, err := Open(context.Background(), dir, Env{Vars: vars, Now: func() time.Time { return testTime }})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(commits)
	for i := range n {
		id := addOne(t, r, fmt.Sprintf("%d-%d", os.Getpid(), i))
		fmt.Println("made", id)
	}
}

// addOne adds a file to the test ref, however often others are faster.
func addOne(t testing.TB, r *Repo, name string) Hash {
	t.Helper()
	for {
		id, err := r.Update(context.Background(), testRef, func(Hash) (Change, error) {
			return Change{Edits: []Edit{Put(name, []byte(name))}, Subject: name}, nil
		})
		if err == nil {
			return id
		}
		if !errors.Is(err, ErrMoved) && !errors.Is(err, ErrLocked) {
			t.Fatal(err)
		}
	}
}

// writer starts a writer process and returns the hashes it printed.
func (s *sandbox) writer(commits int, timeout time.Duration) []string {
	vars := map[string]string{"GITSTORE_TEST_WRITER": s.dir + "|" + strconv.Itoa(commits)}
	for name, value := range s.vars {
		vars[name] = value
	}
	result, err := process.Plain(context.Background(), process.Command{
		Argv: []string{os.Args[0], "-test.run=^TestWriterProcess$"}, Dir: s.home, Env: process.Environment(vars), Timeout: timeout, Grace: time.Nanosecond,
	})
	if err != nil || !result.OK() && !result.TimedOut {
		s.t.Errorf("writer: %v, exit %d: %s%s", err, result.ExitCode, result.Stdout, result.Stderr)
	}
	var made []string
	for line := range bytes.Lines(result.Stdout) {
		if id, ok := strings.CutPrefix(string(line), "made "); ok && strings.HasSuffix(id, "\n") {
			made = append(made, strings.TrimSpace(id))
		}
	}
	return made
}

// gitWriter makes commits with git's own compare-and-swap.
func (s *sandbox) gitWriter(commits int) []string {
	var made []string
	for i := range commits {
		for {
			tip := s.git("rev-parse", testRef)
			id := s.git("commit-tree", "-m", fmt.Sprint("git ", i), "-p", tip, tip+"^{tree}")
			if _, result := s.try("update-ref", testRef, id, tip); result.OK() {
				made = append(made, id)
				break
			}
		}
	}
	return made
}

// tortureVariable asks for the large form of these tests, as `make torture`
// does; see testscripts.
const tortureVariable = "FORGE_TORTURE"

// race is how many commits how many processes of ours make on one ref, and
// git makes on it.
type race struct{ processes, commits, gitCommits int }

// TestConcurrentWriters: C1 to C5. Every commit that was acknowledged is an
// ancestor of the tip, and no reader sees the ref damaged or gone, while git
// writes other refs and packs all of them.
func TestConcurrentWriters(t *testing.T) {
	size := race{processes: 2, commits: 30, gitCommits: 20}
	if os.Getenv(tortureVariable) != "" {
		size = race{processes: 4, commits: 100, gitCommits: 50}
	}
	ctx := context.Background()
	s := newRepository(t)
	addOne(t, s.open(), "start")
	var (
		mu      sync.Mutex
		made    []string
		writers sync.WaitGroup
		others  sync.WaitGroup
	)
	done := make(chan struct{})
	write := func(f func() []string) {
		writers.Go(func() {
			ids := f()
			mu.Lock()
			made = append(made, ids...)
			mu.Unlock()
		})
	}
	until := func(f func()) {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					f()
				}
			}
		})
	}
	for range size.processes {
		write(func() []string { return s.writer(size.commits, 10*time.Minute) })
	}
	write(func() []string { return s.gitWriter(size.gitCommits) })
	until(func() { s.try("pack-refs", "--all", "--prune") })
	base, moves := s.git("rev-parse", "HEAD"), 0
	until(func() {
		moves++
		s.try("update-ref", fmt.Sprint("refs/heads/other-", moves%5), base) // it may find packed-refs locked
		s.try("update-ref", "-d", fmt.Sprint("refs/heads/other-", (moves+2)%5))
	})
	reader := s.open()
	reads := 0
	until(func() {
		reads++
		if id, err := reader.Ref(ctx, testRef); err != nil || id == "" {
			t.Errorf("Ref() = %q, %v", id, err)
		}
		if refs, err := reader.Refs(ctx, "refs/heads/forge/"); err != nil || len(refs) != 1 {
			t.Errorf("Refs() = %v, %v", refs, err)
		}
	})
	writers.Wait()
	close(done)
	others.Wait()
	want := size.processes*size.commits + size.gitCommits
	if len(made) != want || reads == 0 || moves == 0 {
		t.Errorf("%d commits acknowledged, want %d; %d reads, %d other refs moved", len(made), want, reads, moves)
	}
	reachable := map[string]bool{}
	for id := range strings.FieldsSeq(s.git("rev-list", testRef)) {
		reachable[id] = true
	}
	for _, id := range made {
		if !reachable[id] {
			t.Errorf("commit %s was acknowledged and is lost", id)
		}
	}
	if len(reachable) != want+1 {
		t.Errorf("%d commits on the branch, want %d", len(reachable), want+1)
	}
	if left, _ := os.ReadDir(filepath.Join(s.dir, ".git/forge/ref-locks")); len(left) != 0 {
		t.Errorf("records left: %v", left)
	}
	s.fsck()
}

// TestKilledWriter: K1. A kill leaves the old or the new tip, and who
// holds the run's lock goes on at once.
func TestKilledWriter(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	addOne(t, r, "start")
	rounds := 8
	if os.Getenv(tortureVariable) != "" {
		rounds = 40
	}
	for i := range rounds {
		made := s.writer(100000, time.Duration(120+17*(i%20))*time.Millisecond)
		release, err := r.LockRun(ctx, "r1")
		if err != nil {
			t.Fatal(err)
		}
		before, err := r.Ref(ctx, testRef)
		if err != nil {
			t.Fatal(err)
		}
		r.lockWait = 20 * time.Millisecond
		commit(t, r, Change{Ref: testRef, Base: before, Edits: []Edit{Put(fmt.Sprint("after-", i), nil)}})
		release()
		for _, id := range made {
			if ok, err := r.IsAncestor(ctx, Hash(id), before); err != nil || !ok {
				t.Errorf("round %d: commit %s was acknowledged and is lost (%v)", i, id, err)
			}
		}
	}
	if left, _ := os.ReadDir(filepath.Join(s.dir, ".git/forge/ref-locks")); len(left) > rounds {
		t.Errorf("records left: %v", left)
	}
	s.fsck()
}
