//go:build !unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup has no counterpart without process groups (gitstore.md R-WIN-1).
func ownGroup() *syscall.SysProcAttr { return nil }

// ownSession has no counterpart without sessions.
func ownSession() *syscall.SysProcAttr { return nil }

// signalGroup ends the child alone, whatever the signal.
func signalGroup(leader *os.Process, _ syscall.Signal) { leader.Kill() }

// members is 0: without groups nothing is known to be left.
func members(int) int { return 0 }

// lookUp returns the file that name stands for.
func lookUp(name, _ string, _ []string) (string, error) { return exec.LookPath(name) }
