package gitstore

import "syscall"

// modified is the time the content last changed, in nanoseconds.
func modified(st *syscall.Stat_t) int64 { return st.Mtimespec.Nano() }

// changed is the time anything of the inode last changed, in nanoseconds.
func changed(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }
