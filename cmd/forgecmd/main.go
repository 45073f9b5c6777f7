// Package forgecmd is the command line of forge: flags in, one call into the
// package that owns the rule, result out.
//
// Everything a command needs from outside (arguments, environment, clock,
// standard streams, terminal) enters through [Env] and goes down as values.
// [Main] is the whole program; errors are printed in one place, report, and
// their kind is the exit code (DECISIONS H1). No command calls os.Exit, and a
// usage error never writes to stdout.
//
// Source: CLI.md; STYLE sections 2 to 4.
package forgecmd

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// Main runs forge on the process's own arguments, environment and streams and
// returns its exit code.
func Main() int {
	if len(os.Args) > 1 && os.Args[1] == process.SuperviseCommand {
		return process.Supervise(os.Stdin)
	}
	ctx, stop := withSignals(context.Background())
	defer stop()

	// A buffered writer keeps its first error, so commands print without
	// checking and a full disk still fails the run, here.
	stdout := bufio.NewWriter(os.Stdout)
	env := newEnv(stdout)
	err := guarded(env, func() error { return env.run(ctx, os.Args) })
	if flushed := stdout.Flush(); err == nil {
		err = flushed
	}
	return printFailure(ctx, env, err)
}

// interrupted is the cause of a root context that a signal cancelled.
type interrupted struct{ signal os.Signal }

// Error names the signal.
func (e interrupted) Error() string { return "interrupted by " + e.signal.String() }

// withSignals returns a context that the first SIGINT, SIGTERM or SIGHUP
// cancels with itself as the cause; a second one has its ordinary effect and
// kills. What was ignored at the start, as under nohup, stays ignored.
//
// Source: gitstore.md R-PROC-4; DECISIONS H12.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	go func() {
		select {
		case s := <-caught:
			signal.Stop(caught)
			cancel(interrupted{s})
		case <-ctx.Done():
		}
	}()
	// Still listened for to the end: a signal that comes when the work is done
	// must not turn its exit code into a death.
	return ctx, func() { cancel(nil) }
}

// guarded runs action and turns a panic into a fault of kind Crash, so that a
// crash is exit 70 and one line, never Go's exit 2, which means "usage" here
// (loop.md R-EXIT-2). The stack is printed with --verbose only.
func guarded(env *Env, action func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			if env.Verbose {
				fmt.Fprintf(env.Stderr, "%s", debug.Stack())
			}
			err = fault.New(fault.Crash,
				"this is a bug of forge; please report it with the command line and what it prints with --verbose",
				"forge crashed: %v", cause)
		}
	}()
	return action()
}
