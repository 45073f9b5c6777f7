//go:build !linux

package gitstore

import (
	"errors"
	"os"
	"syscall"
)

// processStart returns "": the start of a process is not asked here.
func processStart(int) (start string, running bool) { return "", true }

// isRunning reports whether some process has that pid. It errs on the side of
// a living one.
func isRunning(pid int, _ string) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}
