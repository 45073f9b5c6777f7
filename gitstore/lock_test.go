package gitstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
)

func TestLock(t *testing.T) { // R-LOCK-1, R-LOCK-2
	ctx := context.Background()
	s := newRepository(t)
	a, b := s.open(), s.open()
	release, err := a.Lock(ctx, "forge curate", 0)
	if err != nil {
		t.Fatal(err)
	}
	b.env.Now = func() time.Time { return testTime.Add(12 * time.Second) }
	_, err = b.Lock(ctx, "forge pin", 20*time.Millisecond)
	want := fmt.Sprintf("another forge (pid %d, forge curate, 12 s) is at work", os.Getpid())
	if fault.KindOf(err) != fault.Conflict || err.Error() != want {
		t.Errorf("Lock() = %v, want %q", err, want)
	}
	got := make(chan error, 1)
	go func() {
		release, err := b.Lock(ctx, "forge pin", time.Minute)
		if err == nil {
			release()
		}
		got <- err
	}()
	release()
	release()
	if err := <-got; err != nil {
		t.Errorf("Lock() after the release = %v", err)
	}
	cancelled, cancel := context.WithCancelCause(ctx)
	stop := errors.New("stop")
	cancel(stop)
	if _, err := b.Lock(cancelled, "x", time.Minute); !errors.Is(err, stop) {
		t.Errorf("Lock() when cancelled = %v", err)
	}
	info, err := os.Stat(filepath.Join(a.ForgeDir(), "lock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("lock file: %v, %v", info, err)
	}
	if info, err := os.Stat(a.ForgeDir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("forge's directory: %v, %v", info, err)
	}
}

func TestLockRun(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	a, b := s.open(), s.open()
	release, err := a.LockRun(ctx, "r1-k3fq")
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.LockRun(ctx, "r1-k3fq")
	want := fmt.Sprintf("run %q is held by pid %d on %q since 2026-01-02T03:04:05Z", "r1-k3fq", os.Getpid(), hostName())
	if fault.KindOf(err) != fault.Conflict || err.Error() != want {
		t.Errorf("LockRun() = %v, want %q", err, want)
	}
	other, err := b.LockRun(ctx, "r2")
	if err != nil {
		t.Errorf("LockRun() of another run = %v", err)
	}
	other()
	release()
	if again, err := b.LockRun(ctx, "r1-k3fq"); err != nil {
		t.Errorf("LockRun() after the release = %v", err)
	} else {
		again()
	}
	if _, err := a.LockRun(ctx, "../x"); fault.KindOf(err) != fault.Usage {
		t.Errorf("LockRun() of a path = %v", err)
	}
}

// TestStaleLocks: R-REF-9, pitfall 34.
func TestStaleLocks(t *testing.T) {
	const deadPID = 1 << 30 // above every pid there can be
	self, _ := processStart(os.Getpid())
	tests := map[string]struct {
		content string        // of the lock file
		age     time.Duration // of the lock file
		owner   *lockOwner    // of the record; nil = none
		inode   int           // of the record: 0 none yet, 1 the lock's, 2 another
		run     bool          // the run's lock is held
		forge   bool          // forge's own lock is held
		clears  bool
	}{
		"dead, this file, run held":      {"x", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef}, 1, true, false, true},
		"dead, no inode, empty":          {"", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef}, 0, true, false, true},
		"dead, no inode, not empty":      {"x", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef}, 0, true, false, false},
		"dead, another file of the name": {"x", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef}, 2, true, false, false},
		"dead, another host":             {"x", 0, &lockOwner{PID: deadPID, Host: "elsewhere", Ref: testRef}, 1, true, false, false},
		"dead, another ref":              {"x", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef + "x"}, 1, true, false, false},
		"pid in use again":               {"x", 0, &lockOwner{PID: os.Getpid(), Start: "1", Host: hostName(), Ref: testRef}, 1, true, false, self != ""},
		"alive":                          {"x", 0, &lockOwner{PID: os.Getppid(), Start: startOf(os.Getppid()), Host: hostName(), Ref: testRef}, 1, true, false, false},
		"dead, run not held":             {"x", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef}, 1, false, false, false},
		"dead, this file, forge held":    {"x", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef}, 1, false, true, true},
		"dead, another file, forge held": {"x", 0, &lockOwner{PID: deadPID, Host: hostName(), Ref: testRef}, 2, false, true, false},
		"foreign, run held":              {"", 0, nil, 0, true, false, false},
		"foreign, young, forge held":     {"", 30 * time.Second, nil, 0, false, true, false},
		"foreign, old, forge held":       {"", 61 * time.Second, nil, 0, false, true, true},
		"foreign, old, nothing held":     {"", 2 * time.Hour, nil, 0, true, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := newRepository(t)
			r := s.open()
			r.lockWait = 60 * time.Millisecond
			if tt.run {
				release, err := r.LockRun(ctx, "r1")
				if err != nil {
					t.Fatal(err)
				}
				defer release()
			}
			if tt.forge {
				release, err := r.Lock(ctx, "test", 0)
				if err != nil {
					t.Fatal(err)
				}
				defer release()
			}
			path := r.refPath(testRef) + ".lock"
			os.MkdirAll(filepath.Dir(path), 0o755)
			os.WriteFile(path, []byte(tt.content), 0o644)
			if tt.age > 0 {
				info, _ := os.Stat(path)
				os.Chtimes(path, time.Time{}, info.ModTime().Add(-tt.age))
			}
			if tt.owner != nil {
				s.record(r, *tt.owner, path, tt.inode)
			}
			err := r.Point(ctx, testRef, "", s.rev("HEAD"))
			if tt.clears != (err == nil) {
				t.Fatalf("Point() = %v", err)
			}
			if err == nil {
				if left, _ := os.ReadDir(r.lockRecords()); len(left) != 0 {
					t.Errorf("records left: %v", left)
				}
				return
			}
			if !errors.Is(err, ErrLocked) || fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), " s old") {
				t.Errorf("Point() = %v", err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the lock of somebody else is gone: %v", err)
			}
		})
	}
}

func startOf(pid int) string {
	start, _ := processStart(pid)
	return start
}

// record writes the record of a lock as a killed forge would have left it.
func (s *sandbox) record(r *Repo, owner lockOwner, lock string, inode int) {
	s.t.Helper()
	if err := r.makeForgeDir("ref-locks"); err != nil {
		s.t.Fatal(err)
	}
	line, _ := json.Marshal(owner)
	text := string(line) + "\n"
	info, err := os.Stat(lock)
	if err != nil {
		s.t.Fatal(err)
	}
	if inode > 0 {
		line, _ := json.Marshal(lockInode{inodeOf(info) + uint64(inode-1)})
		text += string(line) + "\n"
	}
	path := filepath.Join(r.lockRecords(), fmt.Sprintf("%d-%s", owner.PID, refDigest(owner.Ref)))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// R-TIDY-1: whether a process works on a run is seen without taking its lock.
func TestRunHeld(t *testing.T) {
	y := newYard(t)
	y.commit("base")
	r := y.open()
	held := func(want bool) {
		t.Helper()
		if got, err := r.RunHeld("r1"); err != nil || got != want {
			t.Errorf("RunHeld = %t, %v, want %t", got, err, want)
		}
	}
	held(false)
	if _, err := os.Stat(filepath.Join(y.dir, ".git", "forge", "run-r1.lock")); err == nil {
		t.Error("RunHeld made the lock file")
	}
	release, err := y.open().LockRun(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	held(true)
	release()
	held(false)
	release, err = y.open().LockRun(t.Context(), "r1")
	if err != nil {
		t.Fatalf("LockRun after RunHeld: %v", err)
	}
	release()
}
