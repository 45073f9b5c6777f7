package textdiff

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// section is the part of a patch about one file.
type section struct {
	line  int    // where it begins in the patch, from 1
	git   bool   // with a "diff --git" line
	title string // the names on that line

	from, fromRest       string // of the "---" line; "" if there is none
	to, toRest           string // of the "+++" line
	renameFrom, renameTo string

	text      strings.Builder // header lines without names, and hunks
	hunkLines []int           // where each hunk begins in the patch, from 1
}

// hunk is one hunk of a patch.
type hunk struct {
	line     int // where it begins in the patch, from 1
	oldStart int // as in its header
	lines    []gitdiff.Line
}

// filePatch reads the section.
func (s *section) filePatch() (FilePatch, error) {
	files, _, err := gitdiff.Parse(strings.NewReader(s.text.String()))
	if err != nil {
		return FilePatch{}, err
	}
	if len(files) != 1 || len(files[0].TextFragments) != len(s.hunkLines) {
		return FilePatch{}, errors.New("a file header that cannot be read")
	}
	parsed := files[0]
	f := FilePatch{
		OldMode: mode(parsed.OldMode), NewMode: mode(parsed.NewMode),
		New:     parsed.IsNew || s.from == devNull || s.epoch(s.fromRest, parsed),
		Deleted: parsed.IsDelete || s.to == devNull,
		Rename:  s.renameFrom != "" && s.renameTo != "",
		Binary:  parsed.IsBinary,
	}
	for i, fragment := range parsed.TextFragments {
		f.hunks = append(f.hunks, hunk{line: s.hunkLines[i], oldStart: int(fragment.OldPosition), lines: fragment.Lines})
		if f.New && fragment.OldLines > 0 || f.Deleted && fragment.NewLines > 0 {
			return FilePatch{}, errors.New("a side that is not there has lines")
		}
	}
	if err := s.setPaths(&f); err != nil {
		return FilePatch{}, err
	}
	if len(f.hunks) == 0 && !f.New && !f.Deleted && !f.Rename && !f.Binary && (f.NewMode == "" || f.NewMode == f.OldMode) {
		return FilePatch{}, errors.New("a file header without a change")
	}
	return f, nil
}

// epoch reports whether diff -N wrote the header of a file that is not there:
// without lines and as old as time.
func (s *section) epoch(rest string, parsed *gitdiff.File) bool {
	old := strings.HasPrefix(rest, "1970-01-01 ") || strings.HasPrefix(rest, "1969-12-31 ")
	return old && !s.git && len(parsed.TextFragments) == 1 && parsed.TextFragments[0].OldLines == 0
}

// setPaths finds out the two paths and checks that they fit the rest.
func (s *section) setPaths(f *FilePatch) error {
	from, to := s.paths(f)
	switch {
	case f.New && f.Deleted, f.Rename && (f.New || f.Deleted):
		return errors.New("a file that is new, deleted or renamed at once")
	case from == "" || to == "":
		return errors.New("a file header without a name")
	case f.New && s.git && s.from != "" && s.from != devNull, f.Deleted && s.to != "" && s.to != devNull:
		return fmt.Errorf("a side that is not there is called %q and not %s", s.from+s.to, devNull)
	case !f.New && !f.Deleted && !f.Rename && from != to:
		return fmt.Errorf("%q becomes %q without being renamed", from, to)
	}
	if f.OldPath, f.NewPath = from, to; f.New {
		f.OldPath = ""
	}
	if f.Deleted {
		f.NewPath = ""
	}
	return nil
}

// paths returns the names of both sides without prefixes. That of a side
// which is not there means nothing.
func (s *section) paths(f *FilePatch) (from, to string) {
	titleFrom, titleTo, titled := headerNames(s.title)
	switch {
	case f.Rename:
		return s.renameFrom, s.renameTo
	case s.from == "" && titled:
		return strip(titleFrom, titleTo)
	case s.from == "":
		return "", ""
	case titled && titleFrom == titleTo: // git diff --no-prefix
		return s.from, s.to
	case titled && samePrefixed(titleFrom, titleTo):
		return cutPrefix(s.from, titleFrom[:2]), cutPrefix(s.to, titleTo[:2])
	}
	from, to = cutPrefix(s.from, "a/"), cutPrefix(s.to, "b/")
	if from == s.from && from != devNull || to == s.to && to != devNull {
		from, to = s.from, s.to // not both
	}
	if s.git || from == devNull || to == devNull {
		return from, to
	}
	// Other programs compare a file with its copy: the shorter name is the
	// file's, as git takes it.
	if strings.HasPrefix(to, from) {
		return from, from
	}
	return to, to
}

// mode returns a mode in git's form, "" for none. The bits of a regular file
// that git does not keep are dropped.
func mode(m fs.FileMode) string {
	const typeBits, regular, executable = 0o170000, 0o100000, 0o100
	switch {
	case m == 0:
		return ""
	case m&typeBits != regular:
		return fmt.Sprintf("%06o", uint32(m))
	case m&executable != 0:
		return modeExec
	}
	return modeFile
}
