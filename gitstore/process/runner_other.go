//go:build !unix

package process

import (
	"context"
	"io"

	"forge/gitstore/crash"
	"forge/gitstore/fault"
)

// SuperviseCommand is the hidden command of forge's binary whose body is
// [Supervise].
const SuperviseCommand = "supervise-children"

// Runner runs nothing here (gitstore.md R-WIN-1).
type Runner struct {
	Crash *crash.Points // as on other systems, and of no effect
}

// NewRunner returns a Runner that refuses to run.
func NewRunner(string) *Runner { return &Runner{} }

// Run refuses: without process groups no child could be ended for sure.
func (*Runner) Run(context.Context, Command) (Result, error) {
	return Result{}, fault.New(fault.Usage, "use WSL", "forge run is not supported on Windows yet")
}

// Close does nothing.
func (*Runner) Close() error { return nil }

// Supervise has nothing to supervise and returns exit status 2.
func Supervise(io.Reader) int { return 2 }
