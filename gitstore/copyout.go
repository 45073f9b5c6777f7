package gitstore

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Exported lists what an export of a commit holds at and below dir, "." for
// all of it, sorted by path: without .forge, without the evals and PURPOSE.md
// of skills, without links that leave the repository (gitstore.md R-EXP-1,
// R-EXP-2).
func (r *Repo) Exported(ctx context.Context, commit Hash, dir string) ([]Entry, error) {
	e := newBook(r, ExportPlan{})
	if err := e.load(ctx, commit); err != nil {
		return nil, fmt.Errorf("list what is exported of %s: %w", commit.Short(), err)
	}
	var entries []Entry
	for _, p := range slices.Sorted(maps.Keys(e.want)) {
		if dir == "." || strings.HasPrefix(p, dir+"/") {
			entries = append(entries, e.want[p])
		}
	}
	return entries, nil
}

// CopyOut writes what [Repo.Exported] lists into dest, a directory that exists
// and is empty, by paths relative to dir. It is a copy to edit: nothing of it
// is known to the repository afterwards.
func (r *Repo) CopyOut(ctx context.Context, commit Hash, dir, dest string) error {
	entries, err := r.Exported(ctx, commit, dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(dest, filepath.FromSlash(below(dir, entry.Path)))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("copy %q: %w", entry.Path, err)
		}
		blob, err := r.readWithin(ctx, plumbing.BlobObject, plumbing.NewHash(string(entry.Object)), maxExported)
		if err != nil {
			return named(err, entry.Path)
		}
		if entry.Mode == ModeLink {
			err = os.Symlink(filepath.FromSlash(string(blob.data)), name)
		} else {
			_, err = writeNew(r.env.Crash, name, blob.data, permOf(entry.Mode))
		}
		if err != nil {
			return fmt.Errorf("copy %q: %w", entry.Path, err)
		}
	}
	return nil
}

// below is a path relative to dir, "." for the root.
func below(dir, p string) string {
	if dir == "." {
		return p
	}
	return strings.TrimPrefix(p, dir+"/")
}

// CompareDir returns the edits that make the commit's tree below dir what the
// directory src holds. What CopyOut leaves out is neither compared nor counted
// as deleted (handoff.md R-SUB-1). Links are compared as links. A file of more
// than limit bytes that differs is an error that names it.
func (r *Repo) CompareDir(ctx context.Context, commit Hash, dir, src string, limit int64) ([]Edit, error) {
	entries, err := r.Exported(ctx, commit, dir)
	if err != nil {
		return nil, err
	}
	want := map[string]Entry{}
	for _, entry := range entries {
		want[entry.Path] = entry
	}
	var edits []Edit
	err = filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		relative, err := filepath.Rel(src, name)
		if err != nil {
			return err
		}
		p := filepath.ToSlash(relative)
		if dir != "." {
			p = dir + "/" + p
		}
		entry, known := want[p]
		delete(want, p)
		edit, changed, err := compareFile(name, p, d, entry, known, limit)
		if changed {
			edits = append(edits, edit)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("compare %q: %w", src, err)
	}
	for p := range want {
		edits = append(edits, Remove(p))
	}
	slices.SortFunc(edits, func(a, b Edit) int { return strings.Compare(a.Path, b.Path) })
	return edits, nil
}

// compareFile holds one file of a directory against the entry of its path.
func compareFile(name, p string, d fs.DirEntry, entry Entry, known bool, limit int64) (Edit, bool, error) {
	info, err := d.Info()
	if err != nil {
		return Edit{}, false, err
	}
	mode, err := modeOf(p, info)
	if err != nil {
		return Edit{}, false, err
	}
	if info.Size() > limit && !known {
		return Edit{}, false, fmt.Errorf("%q has %d bytes of at most %d", p, info.Size(), limit)
	}
	data, err := readFileOrLink(name, mode)
	if err != nil {
		return Edit{}, false, err
	}
	same := known && mode == entry.Mode && plumbing.ComputeHash(plumbing.BlobObject, data).String() == string(entry.Object)
	if !same && int64(len(data)) > limit {
		return Edit{}, false, fmt.Errorf("%q has %d bytes of at most %d", p, len(data), limit)
	}
	return PutMode(p, data, mode), !same, nil
}
