//go:build unix

package process

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"forge/gitstore/crash"
)

// SuperviseCommand is the hidden command of forge's binary whose body is
// [Supervise].
const SuperviseCommand = "supervise-children"

// gate holds the child back until forge has written one line to descriptor 3:
// by then the supervisor knows its group. Should forge die before, the read
// finds the end of the pipe and the child ends without having run anything.
// A command that cannot be executed gives the shell's own 126 or 127.
const gate = `read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`

// Runner runs commands that people wrote: metrics, runners, proposers,
// checks. To what [Plain] does it adds that no child outlives forge, however
// forge ends: one supervisor process, started before the first command, ends
// the registered groups when forge is gone without a goodbye. On Linux forge
// also becomes the reaper of its descendants, so that a process that left its
// group is found when its command ends.
//
// Such a process is known by the TMPDIR, or by the HOME beside it, that it was
// started with; so TMPDIR should be private to a command or to commands that
// run one after the other. Commands that run at once with the same one share
// what they leave behind: the last to end is charged with it.
//
// A Runner is safe for concurrent use. Source: gitstore.md R-PROC-1 and
// R-PROC-2; DECISIONS H12.
type Runner struct {
	self string

	// Crash is passed before and after a child's start and end; nil, but in
	// tests (gitstore.md section 15). Set it before the first Run.
	Crash *crash.Points

	mu         sync.Mutex
	supervisor *supervisor
	running    map[int][]string // group id to the marks its descendants carry
	zombies    zombies
}

// NewRunner returns a Runner whose supervisor is the program self, run as
// "self supervise-children". self is forge's own binary.
func NewRunner(self string) *Runner {
	return &Runner{self: self, running: map[int][]string{}}
}

// Run runs c to its end under the supervisor.
//
// It errs if the child or the supervisor could not be started, or if ctx was
// cancelled; then the child has been ended and the error wraps the cause of
// ctx. A program that does not exist or cannot be executed is no error but
// exit status 127 or 126 with a message on standard error, as in a shell.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	if err := check(ctx, c); err != nil {
		return Result{}, err
	}
	if c.Crash == nil {
		c.Crash = r.Crash
	}
	c.Crash.Pass("before child " + c.name())
	p, err := r.start(c)
	if err != nil {
		return Result{}, err
	}
	c.Crash.Pass("child started " + c.name())
	result, err := p.wait(ctx, c)
	result.LeftBehind += r.finish(p.group)
	p.collect(&result)
	c.Crash.Pass("child ended " + c.name())
	return result, err
}

// Close says goodbye to the supervisor, which exits. Commands that still run
// lose their protection only now: without a goodbye the supervisor ends them.
// A later Run starts a new supervisor.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.supervisor == nil {
		return nil
	}
	err := r.supervisor.close(len(r.running) == 0)
	r.supervisor = nil
	return err
}

// start starts c behind the gate, registers its group and opens the gate.
func (r *Runner) start(c Command) (*child, error) {
	held, open, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Argv[0], err)
	}
	defer open.Close()
	defer held.Close()
	argv := slices.Concat([]string{"/bin/sh", "-c", gate, "sh"}, c.Prefix, c.Argv)

	// Under the lock from the fork on, so that a sweep sees every child of
	// the Runner either registered or not yet there.
	r.mu.Lock()
	defer r.mu.Unlock()
	adoptOrphans()
	p, err := start(c, argv, []*os.File{held})
	if err != nil {
		return nil, err
	}
	if err := r.register(p.group, marks(c.Env)); err != nil {
		open.Close() // the child ends at the gate
		<-p.exited
		p.close()
		return nil, fmt.Errorf("start %q: %w", c.Argv[0], err)
	}
	c.Crash.Pass("child at the gate " + c.name())
	open.WriteString("\n") // cannot fail while we hold the other end too
	p.started = time.Now()
	return p, nil
}

// register tells the supervisor of a group, starting one if there is none or
// if the last one is gone. r.mu is held.
func (r *Runner) register(group int, marks []string) error {
	r.running[group] = marks
	if r.supervisor != nil && r.supervisor.send('+', group) == nil {
		return nil
	}
	if r.supervisor != nil {
		r.supervisor.lines.Close()
		r.supervisor = nil
	}
	s, err := startSupervisor(r.self)
	if err != nil {
		delete(r.running, group)
		return fmt.Errorf("start supervisor %q: %w", r.self, err)
	}
	for g := range r.running {
		if err := s.send('+', g); err != nil {
			delete(r.running, group)
			s.lines.Close()
			return fmt.Errorf("start supervisor %q: %w", r.self, err)
		}
	}
	r.supervisor = s
	return nil
}

// finish forgets a group that is gone and ends what had left it, returning
// how many processes those were.
func (r *Runner) finish(group int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := r.running[group]
	delete(r.running, group)
	if r.supervisor != nil {
		r.supervisor.send('-', group) // if it is gone, the next register notices
	}
	for _, others := range r.running {
		mine = slices.DeleteFunc(slices.Clone(mine), func(m string) bool { return slices.Contains(others, m) })
	}
	return r.sweep(group, mine)
}
