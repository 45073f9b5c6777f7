package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const (
	// leftGrace lies between SIGTERM and SIGKILL for what a child that
	// exited by itself left behind.
	leftGrace = 250 * time.Millisecond

	// drainLimit is how long output is read after the group is gone: what is
	// in the pipe is there at once, and only a process that left the group
	// can still hold it open.
	drainLimit = time.Second

	// poll is the pause between two looks at a group that is being ended.
	poll = 5 * time.Millisecond
)

// Plain runs c to its end, without a supervisor. It is for short calls of
// programs that end by themselves, such as git: should forge be killed
// meanwhile, the child runs on.
//
// It errs if the child could not be started, or if ctx was cancelled; then
// the child has been ended and the error wraps the cause of ctx. How the
// child ended is in the result, not in the error.
func Plain(ctx context.Context, c Command) (Result, error) {
	if err := check(ctx, c); err != nil {
		return Result{}, err
	}
	c.Crash.Pass("before child " + c.name())
	p, err := start(c, slices.Concat(c.Prefix, c.Argv), nil)
	if err != nil {
		return Result{}, err
	}
	c.Crash.Pass("child started " + c.name())
	result, err := p.wait(ctx, c)
	p.collect(&result)
	c.Crash.Pass("child ended " + c.name())
	return result, err
}

// Detach starts a program in a session of its own, with nothing on its
// standard streams, and returns at once. Nobody learns how it ended; it is not
// ended with forge. It is for git's own maintenance (gitstore.md R-RUN-8).
func Detach(argv []string, dir string, env []string) error {
	c := Command{Argv: argv, Dir: dir, Env: env}
	if err := check(context.Background(), c); err != nil {
		return err
	}
	cmd, err := build(c, argv)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %q: %w", argv[0], err)
	}
	go cmd.Wait() // only so that it does not stay a zombie
	return nil
}

// check refuses a command that lacks what is required, or comes too late.
func check(ctx context.Context, c Command) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("start a program: no program named")
	}
	if c.Dir == "" {
		return fmt.Errorf("start %q: no working directory", c.Argv[0])
	}
	if ctx.Err() != nil {
		return fmt.Errorf("start %q: %w", c.Argv[0], context.Cause(ctx))
	}
	return nil
}

// build returns the command for argv in the directory and environment of c,
// with no streams yet.
func build(c Command, argv []string) (*exec.Cmd, error) {
	path, err := lookUp(argv[0], c.Dir, c.Env)
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", argv[0], err)
	}
	// A nil Env would inherit forge's own.
	return &exec.Cmd{Path: path, Args: argv, Dir: c.Dir, Env: append([]string{}, c.Env...)}, nil
}

// child is a started program, the leader of its group.
type child struct {
	cmd     *exec.Cmd
	group   int // process group id, which is the child's process id
	stdout  *bounded
	stderr  *ends
	started time.Time

	exited chan struct{} // closed once the child is reaped
	ended  time.Time     // valid after exited

	pipes  []*os.File      // our ends
	copied []chan struct{} // closed when an output pipe is at its end
}

// start starts argv as c wants it. extra are open files the child gets from
// descriptor 3 on.
func start(c Command, argv []string, extra []*os.File) (*child, error) {
	cmd, err := build(c, argv)
	if err != nil {
		return nil, err
	}
	limit := c.OutputLimit
	if limit <= 0 {
		limit = DefaultOutputLimit
	}
	cmd.SysProcAttr = ownGroup()
	cmd.ExtraFiles = extra
	p := &child{cmd: cmd, stdout: newBounded(limit), stderr: &ends{}, exited: make(chan struct{})}

	theirs, err := p.connect(c.Stdin)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("start %q: %w", argv[0], err)
	}
	p.group, p.started = cmd.Process.Pid, time.Now()
	p.pump(c.Stdin)
	return p, nil
}

// connect gives the command its streams and returns the child's ends of them.
func (p *child) connect(stdin []byte) (theirs []*os.File, err error) {
	for _, end := range []*io.Writer{&p.cmd.Stdout, &p.cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		*end = w
		theirs, p.pipes = append(theirs, w), append(p.pipes, r)
	}
	if stdin == nil {
		return theirs, nil // os/exec opens the null device
	}
	r, w, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	p.cmd.Stdin = r
	p.pipes = append(p.pipes, w)
	return append(theirs, r), nil
}

// pump moves the child's streams and waits for its exit, in goroutines.
func (p *child) pump(stdin []byte) {
	for i, to := range []io.Writer{p.stdout, p.stderr} {
		from, done := p.pipes[i], make(chan struct{})
		p.copied = append(p.copied, done)
		go func() {
			defer close(done)
			io.Copy(to, from) // ends at EOF or with collect
		}()
	}
	if stdin != nil {
		to := p.pipes[2]
		go func() {
			to.Write(stdin) // a child need not read it all
			to.Close()
		}()
	}
	go func() {
		p.cmd.Wait() // the status is read from ProcessState
		p.ended = time.Now()
		close(p.exited)
	}()
}

// wait returns when the child and its group are gone, ending them if they do
// not go by themselves. It errs only if ctx was cancelled.
func (p *child) wait(ctx context.Context, c Command) (Result, error) {
	var (
		result    Result
		cancelled error
		deadline  <-chan time.Time
	)
	if c.Timeout > 0 {
		timer := time.NewTimer(c.Timeout)
		defer timer.Stop()
		deadline = timer.C
	}
	select {
	case <-p.exited:
	case <-p.stdout.over:
	case <-deadline:
		result.TimedOut = true
	case <-ctx.Done():
		cancelled = fmt.Errorf("run %q: %w", c.Argv[0], context.Cause(ctx))
	}

	stopped := !isClosed(p.exited)
	if stopped {
		grace := c.Grace
		if grace <= 0 {
			grace = DefaultGrace
		}
		result.LeftBehind = p.end(grace)
	} else if left := members(p.group); left > 0 {
		result.LeftBehind = left
		p.end(leftGrace)
	}
	result.Duration = p.ended.Sub(p.started)
	result.ExitCode, result.Signal = status(p.cmd.ProcessState)
	if !stopped {
		// It was done before the deadline or the cancellation got to it.
		result.TimedOut, cancelled = false, nil
	} else {
		result.ExitCode = -1
	}
	return result, cancelled
}

// end ends the child and its group: SIGTERM, then SIGKILL when grace has
// passed. It returns as soon as all are gone, with the number of processes
// that outlived the child and needed the SIGKILL.
func (p *child) end(grace time.Duration) (outlived int) {
	signalGroup(p.cmd.Process, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		for members(p.group) > 0 {
			select {
			case <-timer.C:
				outlived = members(p.group)
				p.kill()
				return outlived
			case <-time.After(poll):
			}
		}
	case <-timer.C:
		p.kill()
	}
	return outlived
}

// kill kills the group and waits until it is gone. What the kernel does not
// let die within [drainLimit] after the child is not waited for.
func (p *child) kill() {
	signalGroup(p.cmd.Process, syscall.SIGKILL)
	<-p.exited
	for limit := time.Now().Add(drainLimit); members(p.group) > 0 && time.Now().Before(limit); {
		signalGroup(p.cmd.Process, syscall.SIGKILL) // a fork may have slipped through
		time.Sleep(poll)
	}
}

// collect fills in what the child printed. It must be called once, after
// wait.
func (p *child) collect(result *Result) {
	limit := time.After(drainLimit)
	for _, done := range p.copied {
		select {
		case <-done:
		case <-limit:
			limit = time.After(0) // also for the next
		}
	}
	p.close()
	result.Stdout, result.OutputCut = p.stdout.bytes()
	result.Stderr = p.stderr.bytes()
}

// close closes our ends of the pipes, which also ends the goroutines on them.
func (p *child) close() {
	for _, f := range p.pipes {
		f.Close()
	}
}

// status takes a child's end apart.
func status(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, "" // somebody else reaped it
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -1, ws.Signal().String()
	}
	return state.ExitCode(), ""
}

// isClosed reports whether c is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
