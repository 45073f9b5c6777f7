package gitstore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// diskStamp is how a file or directory looks without reading it. On Unix every
// change of content, entries or mode, and putting something else in its
// place, changes one of these; elsewhere a change of equal length with the old
// time put back goes unseen.
type diskStamp struct {
	mode    fs.FileMode
	size    int64
	modTime int64  // nanoseconds
	changed int64  // time of the last change of the inode, where there is one; else modTime
	inode   uint64 // 0 where there is none
}

// clean removes from the export what neither the tree nor Keep holds, and
// every file that is not as Set left it or is not the one wanted now. What it
// finds in order gets the number of this pass.
func (e *Export) clean(ctx context.Context) error {
	if err := e.restoreDirs(); err != nil {
		return err
	}
	if err := e.dropFormer(); err != nil {
		return err
	}
	for _, level := range e.byDepth() {
		err := inParallel(ctx, e.workers(), level, func(ctx context.Context, p string) error {
			return e.cleanDir(ctx, p, e.dirs[p])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreDirs makes tree, home and temporary directory again if a child
// removed them or put something else in their place.
func (e *Export) restoreDirs() error {
	for _, dir := range []string{e.Tree, e.Home, e.Tmp} {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			err = os.Remove(dir)
		}
		if ignoreAbsent(err) == nil {
			err = os.Mkdir(dir, 0o700)
		}
		if err != nil {
			return fmt.Errorf("make %q again: %w", dir, err)
		}
	}
	return nil
}

// dropFormer removes the files of the former tree that this one does not
// have. Keep has no say: it is for what children make.
func (e *Export) dropFormer() error {
	for len(e.former) > 0 {
		p := e.former[len(e.former)-1]
		if _, wanted := e.want[p]; !wanted && e.dirs[p] == nil && e.hasRealParents(p) {
			// A file that cannot be looked at was never written.
			if info, err := os.Lstat(e.onPath(p)); err == nil && !info.IsDir() {
				if err := e.remove(p, info.Mode()); err != nil {
					return err
				}
			}
		}
		e.former = e.former[:len(e.former)-1]
	}
	return nil
}

// hasRealParents reports whether all directories on the way to a path are
// directories of the export, none of them a link, and lets entries be removed
// there.
func (e *Export) hasRealParents(p string) bool {
	parents := []string{"."}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		parents = slices.Insert(parents, 1, dir)
	}
	for _, dir := range parents {
		info, err := os.Lstat(e.onPath(dir))
		if err != nil || !info.IsDir() || makeUsable(e.onPath(dir), info) != nil {
			return false
		}
	}
	return true
}

// cleanDir cleans one directory of the tree, not those below it. One that has
// not changed since the last Set holds the same names: only its files are
// looked at.
func (e *Export) cleanDir(ctx context.Context, p string, d *exportDir) error {
	d.present = false
	if p != "." && !e.dirs[path.Dir(p)].present {
		return nil
	}
	name := e.onPath(p)
	stamp, err := lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at directory %q: %w", p, err)
	case !stamp.mode.IsDir():
		return e.remove(p, stamp.mode)
	}
	d.present = true
	if d.quiet && stamp == d.stamp && stamp.inode != 0 && stamp.changed < e.horizon {
		return e.cleanFiles(p, d)
	}
	d.touched = true
	perm := fs.FileMode(0o755)
	if p == "." {
		perm = 0o700
	}
	if stamp.mode&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != perm {
		if err := os.Chmod(name, perm); err != nil {
			return fmt.Errorf("set the mode of directory %q: %w", p, err)
		}
	}
	return e.cleanEntries(ctx, p, d)
}

// cleanFiles looks at the files of a directory whose names are known.
func (e *Export) cleanFiles(dir string, d *exportDir) error {
	onDisk := e.onPath(dir) + string(filepath.Separator)
	for name := range d.names {
		p := path.Join(dir, name)
		stamp, err := lstat(onDisk + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at %q: %w", p, err)
		}
		if err := e.cleanFile(p, stamp); err != nil {
			return err
		}
	}
	return nil
}

// cleanEntries reads a directory and decides about every entry.
func (e *Export) cleanEntries(ctx context.Context, p string, d *exportDir) error {
	entries, err := os.ReadDir(e.onPath(p))
	if err != nil {
		return fmt.Errorf("read directory %q: %w", p, err)
	}
	d.quiet = true
	for _, entry := range entries {
		at := path.Join(p, entry.Name())
		isFile, isDir := d.names[entry.Name()], e.dirs[at] != nil
		switch {
		case isDir && entry.IsDir():
			// its own turn comes
		case isFile && !entry.IsDir():
			stamp, err := lstat(e.onPath(at))
			if err == nil {
				err = e.cleanFile(at, stamp)
			}
			if ignoreAbsent(err) != nil {
				return fmt.Errorf("look at %q: %w", at, err)
			}
		case isFile || isDir: // a directory for a file, or the reverse
			if err := e.remove(at, entry.Type()); err != nil {
				return err
			}
		default:
			kept, err := e.cleanUntracked(ctx, at, entry)
			if err != nil {
				return err
			}
			d.quiet = d.quiet && !kept
		}
	}
	return nil
}

// cleanFile leaves a file of the tree that is in order and removes another.
func (e *Export) cleanFile(p string, stamp diskStamp) error {
	file, want := e.onDisk[p], e.want[p]
	switch {
	case file == nil, file.entry != want, stamp != file.stamp,
		file.stamp.changed >= e.horizon && !e.holds(p, want):
		return e.remove(p, stamp.mode)
	}
	file.pass = e.pass
	return nil
}

// holds reports, by reading it, whether a file has the content of its blob.
func (e *Export) holds(p string, want Entry) bool {
	name := e.onPath(p)
	if want.Mode == ModeLink {
		target, err := os.Readlink(name)
		return err == nil && filepath.ToSlash(target) == e.links[want.Object]
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil)) == string(want.Object)
}

// cleanUntracked removes what is not in the tree, except what Keep matches,
// and reports whether something stays. A directory stays if it is matched or
// holds something that stays.
func (e *Export) cleanUntracked(ctx context.Context, p string, entry fs.DirEntry) (kept bool, err error) {
	covers := func(g Glob) bool { return g.coversBelow(p) }
	switch {
	case len(e.plan.Keep) == 0:
		return false, e.remove(p, entry.Type())
	case slices.ContainsFunc(e.plan.Keep, covers):
		return true, nil
	case !entry.IsDir():
		if matchAny(e.plan.Keep, p) {
			return true, nil
		}
		return false, e.remove(p, entry.Type())
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	below, err := readAnyDir(e.onPath(p))
	if err != nil {
		return false, fmt.Errorf("read directory %q: %w", p, err)
	}
	for _, entry := range below {
		stays, err := e.cleanUntracked(ctx, path.Join(p, entry.Name()), entry)
		if err != nil {
			return false, err
		}
		kept = kept || stays
	}
	if kept || matchAny(e.plan.Keep, p) {
		return true, nil
	}
	return false, e.remove(p, entry.Type())
}

// readAnyDir reads a directory of ours whatever its mode is, and leaves it
// writable.
func readAnyDir(dir string) ([]fs.DirEntry, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if err := makeUsable(dir, info); err != nil {
		return nil, err
	}
	return os.ReadDir(dir)
}

// makeUsable lets the owner read, search and write a directory.
func makeUsable(dir string, info fs.FileInfo) error {
	if info.Mode()&0o700 == 0o700 {
		return nil
	}
	return os.Chmod(dir, info.Mode().Perm()|0o700)
}

// remove removes an entry of the export, whatever it is. mode says what was
// seen there.
func (e *Export) remove(p string, mode fs.FileMode) error {
	var err error
	if mode.IsDir() {
		err = removeTree(e.onPath(p))
	} else {
		err = ignoreAbsent(os.Remove(e.onPath(p)))
	}
	if err != nil {
		return fmt.Errorf("remove %q: %w", p, err)
	}
	return nil
}
