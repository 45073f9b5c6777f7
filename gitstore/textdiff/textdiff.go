// Package textdiff makes unified diffs that git apply takes, and applies the
// ones other programs made.
//
// [Unified] and [Stat] describe a change of files. [Parse] reads a patch, and
// [FilePatch.Apply] applies the part for one file, byte for byte or with white
// space tolerated. The package is pure: it reads and writes no file and
// compares lines, never characters.
//
// Whether a path may be touched is for the caller to say: paths are returned
// as the patch spells them.
//
// Source: handoff.md R-SUB-2; loop.md R-DIFF-2 and R-DIFF-3.
package textdiff

import "bytes"

// Modes of a [Side], as git writes them.
const (
	modeFile = "100644"
	modeExec = "100755"
	modeLink = "120000"
)

// sniffed is how far git looks for a NUL to tell a binary file.
const sniffed = 8000

// Side is a file before or after a change.
type Side struct {
	Data []byte // content; of a link its target
	Mode string // "100644", "100755" or "120000"; "" means "100644"
}

// File is the change of one file. A nil Before means that it was added, a nil
// After that it was deleted.
type File struct {
	Path          string // slash-separated, relative to the root
	Before, After *Side
}

// data returns the content, empty for a file that is not there.
func (s *Side) data() []byte {
	if s == nil {
		return nil
	}
	return s.Data
}

// mode returns the mode, or "" for a file that is not there.
func (s *Side) mode() string {
	switch {
	case s == nil:
		return ""
	case s.Mode == "":
		return modeFile
	}
	return s.Mode
}

// Binary reports whether git would call either side binary.
func (f File) Binary() bool {
	return isBinary(f.Before.data()) || isBinary(f.After.data())
}

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0
}

// retyped reports whether a file became a link or the reverse, which git
// shows as a deletion and an addition.
func (f File) retyped() bool {
	return f.Before != nil && f.After != nil && (f.Before.mode() == modeLink) != (f.After.mode() == modeLink)
}
