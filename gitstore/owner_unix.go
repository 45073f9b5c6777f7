//go:build unix

package gitstore

import (
	"os"
	"strconv"
	"syscall"
)

// ownedByUser reports whether the directory belongs to the current user, or,
// as with git, to the user who called sudo (R-DISC-3).
func ownedByUser(dir, sudoUID string) bool {
	info, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	user := os.Geteuid()
	if int(stat.Uid) == user {
		return true
	}
	caller, err := strconv.Atoi(sudoUID)
	return user == 0 && err == nil && int(stat.Uid) == caller
}

// closed reports whether a mode keeps others out.
func closed(mode os.FileMode) bool { return mode.Perm()&0o077 == 0 }

// inodeOf returns the number that tells a file from another of the same name.
func inodeOf(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
