// Package crash lets a test kill the program, or fill its disk, at a chosen
// point of its writing.
//
// Code that changes something on disk passes a named point before and after
// each step and writes through [Points.Writer]. With FORGE_CRASH_AT=n the
// process ends at the n-th point as by kill -9; with FORGE_FAIL_WRITE_AT=n the
// write that follows the n-th point stops half way as on a full disk, and all
// later ones succeed. A test counts n up until the command ends by itself, so
// every failure repeats with the same n. FORGE_CRASH_AT=trace lists the points.
//
// The facility is in every build and for tests only. A nil *Points, which is
// what a person's forge has, passes every point with one comparison.
//
// Source: gitstore.md section 15; config.md section 4.
package crash

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"forge/gitstore/fault"
)

// The variables that switch the facility on. They are for this process alone:
// a child is not given them.
const (
	CrashVariable = "FORGE_CRASH_AT"
	FailVariable  = "FORGE_FAIL_WRITE_AT"
)

// Points counts the points a process passes and acts at one of them. A nil
// Points does nothing. It is safe for concurrent use, but only steps that
// follow one another have the same numbers every time: see [Points.On].
type Points struct {
	crashAt, failAt int64
	trace           io.Writer // nil: no list

	mu     sync.Mutex
	passed int64
	full   bool // the next write fails
}

// New reads the two variables from vars. Without them it returns nil. The
// list of points, if wanted, goes to stderr. A value that is neither a number
// from 1 nor, for FORGE_CRASH_AT, "trace" is a fault of kind Usage.
func New(vars map[string]string, stderr io.Writer) (*Points, error) {
	at, fail := vars[CrashVariable], vars[FailVariable]
	if at == "" && fail == "" {
		return nil, nil
	}
	p := &Points{}
	if at == "trace" {
		p.trace, at = stderr, ""
	}
	for _, read := range []struct {
		name, text string
		to         *int64
	}{{CrashVariable, at, &p.crashAt}, {FailVariable, fail, &p.failAt}} {
		if read.text == "" {
			continue
		}
		n, err := strconv.ParseInt(read.text, 10, 64)
		if err != nil || n < 1 {
			return nil, fault.New(fault.Usage, read.name+"=1", "%s is %q, want a number from 1", read.name, read.text)
		}
		*read.to = n
	}
	return p, nil
}

// On reports whether points are counted. Work that is otherwise spread over
// goroutines is then done in one, so that a number always means the same
// step.
func (p *Points) On() bool { return p != nil }

// Pass passes a point. At the chosen one it does not return: the process is
// gone, without running anything deferred.
func (p *Points) Pass(name string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed++
	p.full = p.passed == p.failAt
	if p.trace != nil {
		fmt.Fprintf(p.trace, "forge: crash point %d %s\n", p.passed, name)
	}
	if p.passed == p.crashAt {
		kill()
	}
}

// kill ends this process by SIGKILL, or what the system has for it.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("crash: the process cannot kill itself: %v", err))
	}
	select {} // the signal is on its way
}

// Writer returns w, or a writer in front of it whose next Write fails if the
// last point passed was the chosen one: half of the bytes are written and the
// error is that of a full disk. Only one write fails.
func (p *Points) Writer(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return &writer{p, w}
}

type writer struct {
	points *Points
	to     io.Writer
}

// Write implements [io.Writer].
func (w *writer) Write(data []byte) (int, error) {
	if !w.points.takeFull() {
		return w.to.Write(data)
	}
	n, err := w.to.Write(data[:len(data)/2])
	if err == nil {
		err = diskFull(w.to)
	}
	return n, err
}

// takeFull reports, once, whether the disk is full.
func (p *Points) takeFull() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := p.full
	p.full = false
	return full
}

// diskFull is the error of a file on a full disk.
func diskFull(w io.Writer) error {
	if file, ok := w.(interface{ Name() string }); ok {
		return &fs.PathError{Op: "write", Path: file.Name(), Err: syscall.ENOSPC}
	}
	return syscall.ENOSPC
}

// Symlink is [os.Symlink] as one write, which cannot be done by half.
func (p *Points) Symlink(target, name string) error {
	if p != nil && p.takeFull() {
		return &os.LinkError{Op: "symlink", Old: target, New: name, Err: syscall.ENOSPC}
	}
	return os.Symlink(target, name)
}

// WriteFile is [os.WriteFile] between two points, "before" and "after" what.
// A file that could not be written whole is removed.
func (p *Points) WriteFile(what, name string, data []byte, perm fs.FileMode) error {
	p.Pass("before " + what)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = p.Writer(file).Write(data)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(name) // half a file is of no use to anybody
		return err
	}
	p.Pass("after " + what)
	return nil
}
