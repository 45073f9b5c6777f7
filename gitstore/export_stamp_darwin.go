package gitstore

import (
	"io/fs"
	"syscall"
)

// diskStampOf returns how a file looks.
func diskStampOf(info fs.FileInfo) diskStamp {
	s := diskStamp{mode: info.Mode(), size: info.Size(), modTime: info.ModTime().UnixNano()}
	s.changed = s.modTime
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed, s.inode = sys.Ctimespec.Nano(), sys.Ino
	}
	return s
}
