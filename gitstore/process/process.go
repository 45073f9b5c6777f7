// Package process is the only place in forge that starts a program.
//
// Every child gets a process group of its own, exactly the environment it is
// given, no standard input unless there is one, a bound on what it may print
// and, if asked for, a deadline. Whatever ends the child (it exits, it runs
// out of time, it prints too much, the context is cancelled), what is left of
// its group is ended with it, so nothing keeps running or writing once a call
// has returned.
//
// [Plain] is for short calls of programs forge trusts to end, git above all.
// [Runner] is for commands other people wrote: it adds a supervisor process
// that ends them when forge itself is killed, and on Linux finds the
// descendants that left the group.
//
// Nothing here reads forge's own environment, and a child inherits nothing
// of it.
//
// Source: gitstore.md section 18; DECISIONS G11, H12 and H13.
package process

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"forge/gitstore/crash"
)

const (
	// DefaultOutputLimit is the bound on standard output, in bytes, of a
	// [Command] that names none (handoff.md section 4).
	DefaultOutputLimit = 16 << 20

	// DefaultGrace is the time between SIGTERM and SIGKILL of a [Command]
	// that names none (gitstore.md R-PROC-1).
	DefaultGrace = 5 * time.Second
)

// Command is a program to run and the bounds it runs in.
type Command struct {
	Argv []string // required: program and arguments; a bare program is looked up in the PATH of Env
	Dir  string   // required: working directory
	Env  []string // the whole environment, NAME=VALUE; nothing is inherited

	// Stdin is the standard input; nil means none (/dev/null).
	Stdin []byte

	// OutputLimit is the number of bytes of standard output that are kept;
	// a child that prints more is ended. 0 means [DefaultOutputLimit].
	OutputLimit int64

	// Timeout ends the child when it has passed; 0 means never.
	Timeout time.Duration

	// Grace lies between SIGTERM and SIGKILL; 0 means [DefaultGrace].
	Grace time.Duration

	// Prefix is the argv prefix of a sandbox, put before Argv
	// (gitstore.md R-PROC-3).
	Prefix []string

	// Crash is passed before and after the child's start and end; nil, but in
	// tests (gitstore.md section 15). A [Runner] puts its own here.
	Crash *crash.Points
}

// name is what the child is called in the list of crash points.
func (c Command) name() string { return filepath.Base(c.Argv[0]) }

// Result is what became of a child.
type Result struct {
	// Stdout is what the child printed, at most Command.OutputLimit bytes.
	Stdout []byte

	// Stderr is evidence, never parsed for results: the first and the last
	// 32 KiB, with one line between them that counts what was left out
	// (handoff.md R-SEAM-5).
	Stderr []byte

	ExitCode int    // -1 if ended by a signal or by forge
	Signal   string // name of the signal that ended the child, such as "killed"; "" if none did
	TimedOut bool   // Command.Timeout passed

	// OutputCut says that standard output passed Command.OutputLimit, for
	// which the child was ended.
	OutputCut bool

	// LeftBehind counts the processes of the group that outlived the child
	// and were ended, and those that had left the group and were found. Where
	// there is no /proc it is 1 for any number in the group. A member of the
	// group that heeds the SIGTERM forge ended the child with is not counted.
	LeftBehind int

	// Duration is the time from letting the child go to its exit, measured
	// with the monotonic clock.
	Duration time.Duration
}

// OK reports whether the child exited with status 0, within its time and its
// output limit.
func (r Result) OK() bool {
	return r.ExitCode == 0 && r.Signal == "" && !r.TimedOut && !r.OutputCut
}

// Shell returns the argv that runs command in the shell (handoff.md R-SEAM-1).
func Shell(command string) []string {
	return []string{"/bin/sh", "-c", command}
}

// Environment returns variables as sorted NAME=VALUE lines, the form
// [Command] takes, so that equal variables give equal environments. It is
// never nil.
func Environment(variables map[string]string) []string {
	lines := make([]string, 0, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		lines = append(lines, name+"="+variables[name])
	}
	return lines
}
