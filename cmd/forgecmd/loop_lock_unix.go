//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package forgecmd

import (
	"errors"
	"os"
	"syscall"
)

// lockFolder takes the lock of a directory, which leaves no file behind and
// ends with the process; free is false while another process has it. A file
// system without locks has none to wait for.
func lockFolder(path string) (release func(), free bool, err error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, dir.Close()
	}
	return func() { _ = dir.Close() }, true, nil
}
