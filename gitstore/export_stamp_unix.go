//go:build linux || darwin

package gitstore

import (
	"errors"
	"io/fs"
	"syscall"
)

// lstat is [os.Lstat] for what a stamp holds: an export looks at every file of
// a large tree each time, and half of that time would go into the rest.
func lstat(name string) (diskStamp, error) {
	var st syscall.Stat_t
	err := syscall.Lstat(name, &st)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Lstat(name, &st)
	}
	if err != nil {
		return diskStamp{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return diskStamp{
		mode: fileMode(uint32(st.Mode)), size: st.Size, modTime: modified(&st), changed: changed(&st), inode: st.Ino,
	}, nil
}

// fileMode is a mode of the system as package os gives it.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		m |= fs.ModeDir
	case syscall.S_IFLNK:
		m |= fs.ModeSymlink
	case syscall.S_IFREG:
	case syscall.S_IFIFO:
		m |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		m |= fs.ModeSocket
	case syscall.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFBLK:
		m |= fs.ModeDevice
	}
	if mode&syscall.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&syscall.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&syscall.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// diskStampOf returns how a file looks.
func diskStampOf(info fs.FileInfo) diskStamp {
	s := diskStamp{mode: info.Mode(), size: info.Size(), modTime: info.ModTime().UnixNano()}
	s.changed = s.modTime
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed, s.inode = changed(st), st.Ino
	}
	return s
}
