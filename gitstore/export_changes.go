package gitstore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// Changes returns what a child did to the export since the last Set, as edits
// that would do the same to the commit's tree, sorted by path. Links are
// reported as links and never followed; empty directories are no change; what
// Set left out of the export is not missing. A file of more than limit bytes,
// and what is neither a file nor a link, is a fault of kind Refused that names
// it.
//
// Source: handoff.md R-SUB-1.
func (e *Export) Changes(ctx context.Context, limit int64) ([]Edit, error) {
	var edits []Edit
	found := map[string]bool{}
	err := filepath.WalkDir(e.Tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		relative, err := filepath.Rel(e.Tree, name)
		if err != nil {
			return err
		}
		p := filepath.ToSlash(relative)
		found[p] = true
		edit, changed, err := e.change(p, d, limit)
		if changed {
			edits = append(edits, edit)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("compare the working copy: %w", err)
	}
	for p := range e.want {
		if !found[p] {
			edits = append(edits, Remove(p))
		}
	}
	slices.SortFunc(edits, func(a, b Edit) int { return strings.Compare(a.Path, b.Path) })
	return edits, nil
}

// change compares one file on disk with the tree.
func (e *Export) change(p string, d fs.DirEntry, limit int64) (Edit, bool, error) {
	info, err := d.Info()
	if err != nil {
		return Edit{}, false, err
	}
	want, wanted := e.want[p]
	mode := ModeFile
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		mode = ModeLink
	case !info.Mode().IsRegular():
		return Edit{}, false, fault.New(fault.Refused, "", "%q is neither a file nor a link", p)
	case info.Mode()&0o100 != 0:
		mode = ModeExec
	}
	if have := e.onDisk[p]; wanted && have != nil && mode == want.Mode && diskStampOf(info) == have.stamp && have.stamp.changed < e.horizon {
		return Edit{}, false, nil
	}
	if wanted && mode == want.Mode && e.holds(p, want) {
		return Edit{}, false, nil
	}
	if info.Size() > limit {
		return Edit{}, false, fault.New(fault.Refused, "", "%q has %d bytes of at most %d", p, info.Size(), limit)
	}
	data, err := readFileOrLink(e.onPath(p), mode)
	return PutMode(p, data, mode), true, err
}

// Altered returns, sorted, the exported paths that match picks and that a child
// changed or removed since the last Set. What it added is not looked at.
//
// Source: loop.md R-INV-7.
func (e *Export) Altered(match func(path string) bool) ([]string, error) {
	var altered []string
	for p, want := range e.want {
		if !match(p) {
			continue
		}
		same, err := e.asSet(p, want)
		if err != nil {
			return nil, fmt.Errorf("compare %q with the commit: %w", p, err)
		}
		if !same {
			altered = append(altered, p)
		}
	}
	slices.Sort(altered)
	return altered, nil
}

// asSet says whether an exported path is as Set left it.
func (e *Export) asSet(p string, want Entry) (bool, error) {
	info, err := os.Lstat(e.onPath(p))
	if isAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mode, err := modeOf(p, info)
	if err != nil || mode != want.Mode {
		return false, nil
	}
	if have := e.onDisk[p]; have != nil && diskStampOf(info) == have.stamp && have.stamp.changed < e.horizon {
		return true, nil
	}
	return e.holds(p, want), nil
}

// modeOf is the mode git would give a file on disk.
func modeOf(p string, info fs.FileInfo) (Mode, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return ModeLink, nil
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%q is neither a file nor a link", p)
	case info.Mode()&0o100 != 0:
		return ModeExec, nil
	}
	return ModeFile, nil
}

// readFileOrLink gives a file's bytes, or a link's text.
func readFileOrLink(name string, mode Mode) ([]byte, error) {
	if mode != ModeLink {
		return os.ReadFile(name)
	}
	target, err := os.Readlink(name)
	return []byte(filepath.ToSlash(target)), err
}
