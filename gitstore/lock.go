package gitstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"forge/gitstore/fault"

	"github.com/gofrs/flock"
)

// lockPoll is the time between two tries for forge's own lock.
const lockPoll = 10 * time.Millisecond

// lockHolder is what a lock file says about the process that holds it.
type lockHolder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

// Lock takes forge's own lock of this repository, held from reading a tip to
// the swap by short actions, and waits for it at most that long (5 s for
// actions, 200 ms for hooks). command is what others are told is at work. The
// kernel releases the lock of a killed process.
//
// Correctness never rests on it: git does not know it (R-LOCK-3). If somebody
// else keeps it, the error is a fault of kind Conflict that names him. release
// may be called more than once.
//
// Source: gitstore.md R-LOCK-1, R-LOCK-2.
func (r *Repo) Lock(ctx context.Context, command string, wait time.Duration) (release func(), err error) {
	path, unlock, err := r.takeLock(ctx, "lock", command, wait)
	if errors.Is(err, errHeld) {
		return nil, &fault.Error{Kind: fault.Conflict, Msg: r.describeHolder(path) + " is at work", Hint: "run the command again", Err: errHeld}
	}
	if err != nil {
		return nil, err
	}
	r.heldMu.Lock()
	r.heldForge = true
	r.heldMu.Unlock()
	return sync.OnceFunc(func() {
		r.heldMu.Lock()
		r.heldForge = false
		r.heldMu.Unlock()
		unlock()
	}), nil
}

// runLockWait is for a lock that nobody holds for good: a forge that looks
// after the refs of other runs takes it for a moment, and a child that a killed
// forge was just starting has it until it is executed.
const runLockWait = 200 * time.Millisecond

// LockRun takes the lock that is held for a whole run, and hardly waits. A
// run that is held by somebody else is a fault of kind Conflict that says by
// whom and since when. Holding it lets swaps on the run's refs clear the
// lock files a killed forge left on them (R-REF-9).
//
// Source: gitstore.md R-LOCK-1, R-LOCK-2.
func (r *Repo) LockRun(ctx context.Context, run string) (release func(), err error) {
	if err := CheckRunName(run); err != nil && run != "manual" {
		return nil, err
	}
	path, unlock, err := r.takeLock(ctx, "run-"+run+".lock", "forge run", runLockWait)
	if errors.Is(err, errHeld) {
		who := "another process"
		if h, ok := readHolder(path); ok {
			who = fmt.Sprintf("pid %d on %q since %s", h.PID, h.Host, h.Since.UTC().Format(time.RFC3339))
		}
		return nil, &fault.Error{
			Kind: fault.Conflict, Err: errHeld,
			Msg:  fmt.Sprintf("run %q is held by %s", run, who),
			Hint: "wait until it ends, or end it",
		}
	}
	if err != nil {
		return nil, err
	}
	r.heldMu.Lock()
	r.heldRuns[run] = true
	r.heldMu.Unlock()
	r.sweepLockRecords()
	return sync.OnceFunc(func() {
		r.heldMu.Lock()
		delete(r.heldRuns, run)
		r.heldMu.Unlock()
		unlock()
	}), nil
}

// RunHeld says whether a process holds the lock of a run, without taking it.
func (r *Repo) RunHeld(run string) (bool, error) {
	path := filepath.Join(r.commonDir, "forge", "run-"+run+".lock")
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the lock %q: %w", path, err)
	}
	return !free, lock.Close()
}

// errHeld says that somebody else holds a lock.
var errHeld = errors.New("the lock is held")

// takeLock locks a file of forge's directory and writes down who did.
func (r *Repo) takeLock(ctx context.Context, name, command string, wait time.Duration) (path string, unlock func(), err error) {
	if err := r.makeForgeDir(""); err != nil {
		return "", nil, err
	}
	path = filepath.Join(r.commonDir, "forge", name)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err == nil && !got && wait > 0 {
		limited, cancel := context.WithTimeout(ctx, wait)
		got, err = lock.TryLockContext(limited, lockPoll)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil
		}
	}
	switch {
	case ctx.Err() != nil:
		_ = lock.Close()
		return path, nil, fmt.Errorf("wait for %q: %w", path, context.Cause(ctx))
	case err != nil:
		return path, nil, fmt.Errorf("lock %q: %w", path, err)
	case !got:
		return path, nil, errHeld
	}
	holder := lockHolder{PID: os.Getpid(), Host: hostName(), Command: command}
	if r.env.Now != nil {
		holder.Since = r.env.Now()
	}
	if line, err := json.Marshal(holder); err == nil {
		r.env.Crash.Pass("before lock content")
		r.writeHolder(path, append(line, '\n'))
		r.env.Crash.Pass("after lock content")
	}
	return path, func() { _ = lock.Close() }, nil
}

// writeHolder says in a lock file who holds it. It is only for messages, so
// that a lock without it holds all the same.
func (r *Repo) writeHolder(path string, line []byte) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	_, _ = r.env.Crash.Writer(file).Write(line)
	_ = file.Close()
}

// readHolder returns what a lock file says; it may say nothing yet.
func readHolder(path string) (lockHolder, bool) {
	data, err := os.ReadFile(path)
	var holder lockHolder
	if err != nil || json.Unmarshal(data, &holder) != nil || holder.PID == 0 {
		return lockHolder{}, false
	}
	return holder, true
}

// describeHolder names the process that holds forge's lock.
func (r *Repo) describeHolder(path string) string {
	holder, ok := readHolder(path)
	if !ok {
		return "another forge"
	}
	seconds := 0
	if r.env.Now != nil && !holder.Since.IsZero() {
		seconds = max(0, int(r.env.Now().Sub(holder.Since).Seconds()))
	}
	return fmt.Sprintf("another forge (pid %d, %s, %d s)", holder.PID, holder.Command, seconds)
}
