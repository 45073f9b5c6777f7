//go:build !linux && !darwin

package gitstore

import (
	"io/fs"
	"os"
)

// lstat is [os.Lstat] for what a stamp holds.
func lstat(name string) (diskStamp, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return diskStamp{}, err
	}
	return diskStampOf(info), nil
}

// diskStampOf returns how a file looks.
func diskStampOf(info fs.FileInfo) diskStamp {
	at := info.ModTime().UnixNano()
	return diskStamp{mode: info.Mode(), size: info.Size(), modTime: at, changed: at}
}
