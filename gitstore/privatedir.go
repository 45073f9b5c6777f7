package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"forge/gitstore/fault"
)

// PrivateDir makes sure that dir is a directory only the current user can
// write to or read: it is made with mode 0700, or is one already. Where it is
// somebody else's, a link, or open to others, it is refused (fault Refused):
// in a shared temporary directory anybody may have made it first.
func PrivateDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %q: %w", dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at %q: %w", dir, err)
	}
	if !info.IsDir() || !ownedByUser(dir, "") || !closed(info.Mode()) {
		return fault.New(fault.Refused, "remove it, or name another directory: --dir, or TMPDIR", "%q is not a directory of yours alone", dir)
	}
	return nil
}
