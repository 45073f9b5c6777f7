package textdiff

import (
	"errors"
	"fmt"
	"strings"
)

// Patch is a parsed unified diff.
type Patch struct {
	// Files are in the order of the patch. A path is there twice only where
	// a deletion comes before an addition: a file became a link.
	Files []FilePatch
}

// FilePatch is what a patch says about one file.
type FilePatch struct {
	// OldPath and NewPath are as the patch spells them, unquoted, without
	// the prefixes "a/" and "b/" where both had theirs (in git's format also
	// those of diff.mnemonicPrefix). OldPath is "" for a new
	// file and NewPath for a deleted one.
	OldPath, NewPath string

	// OldMode and NewMode are six octal digits such as "100644"; "" where
	// the patch does not say.
	OldMode, NewMode string

	New, Deleted bool
	Binary       bool // named as differing, without data: Apply refuses it
	Rename       bool // with or without changes of the content

	hunks []hunk
}

// Parse reads a patch: git's format with its headers for new files,
// deletions, modes and renames, or plain "---" and "+++" lines. Text before,
// between and after the files is skipped, and so is CR at the end of header
// lines; a newline that is missing at the end of the patch is added.
//
// It errs if there is no diff in it, if a hunk has another number of lines
// than its header says, if a file is patched twice, and for binary data and
// copies. Errors name the line of the patch.
//
// Source: handoff.md R-SUB-2.
func Parse(patch []byte) (Patch, error) {
	p := &parser{lines: splitLines(patch)}
	if n := len(p.lines); n > 0 && !strings.HasSuffix(p.lines[n-1], "\n") {
		p.lines[n-1] += "\n"
	}
	var parsed Patch
	for {
		found, err := p.nextFile(len(parsed.Files) > 0)
		if err != nil {
			return Patch{}, err
		}
		if !found {
			break
		}
		f, err := p.file()
		if err != nil {
			return Patch{}, err
		}
		parsed.Files = append(parsed.Files, f)
	}
	if len(parsed.Files) == 0 {
		return Patch{}, errors.New("no diff found")
	}
	if err := checkOnce(parsed.Files); err != nil {
		return Patch{}, err
	}
	return parsed, nil
}

// checkOnce refuses two patches of the same file: the line numbers of the second
// would count from a text nobody has seen.
func checkOnce(files []FilePatch) error {
	from, to := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.OldPath != "" && from[f.OldPath] {
			return fmt.Errorf("%q is patched twice", f.OldPath)
		}
		if f.NewPath != "" && to[f.NewPath] {
			return fmt.Errorf("%q is patched twice", f.NewPath)
		}
		from[f.OldPath], to[f.NewPath] = true, true
	}
	return nil
}
