//go:build !linux && !darwin

package gitstore

import "io/fs"

// diskStampOf returns how a file looks.
func diskStampOf(info fs.FileInfo) diskStamp {
	at := info.ModTime().UnixNano()
	return diskStamp{mode: info.Mode(), size: info.Size(), modTime: at, changed: at}
}
