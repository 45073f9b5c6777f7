//go:build !windows

package gitstore

import "os"

// renameOver renames a file over another one.
func renameOver(from, to string) error { return os.Rename(from, to) }
