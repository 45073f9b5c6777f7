package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/gitstore"
	"forge/gitstore/textdiff"
)

// Difference is what became of the files of a snapshot.
//
// Source: loop.md R-DIFF-1, R-DIFF-2.
type Difference struct {
	Changed      bool          `json:"changed"` // the tree ids differ; false is NO_OP
	LinesAdded   int           `json:"lines_added"`
	LinesRemoved int           `json:"lines_removed"`
	FilesChanged []string      `json:"files_changed"` // content, mode or type
	FilesAdded   []string      `json:"files_added"`
	FilesDeleted []string      `json:"files_deleted"`
	BinaryFiles  []string      `json:"binary_files"`
	ModeChanged  []string      `json:"mode_changed"`
	TreeBefore   gitstore.Hash `json:"tree_before"`
	TreeNow      gitstore.Hash `json:"tree_now"`
	DiffPath     *string       `json:"diff_path"` // where the text was written to
}

// Diff compares the snapshot with the files of its scope as they are now. The
// text is a unified diff that git apply takes; it is empty where only binary
// files differ.
//
// Source: loop.md R-DIFF-1 to R-DIFF-3.
func (s Stored) Diff(ctx context.Context) (Difference, []byte, error) {
	now, err := s.repo.ReadScope(ctx, s.scope, s.commit)
	if err != nil {
		return Difference{}, nil, err
	}
	d := Difference{
		FilesChanged: []string{}, FilesAdded: []string{}, FilesDeleted: []string{}, BinaryFiles: []string{}, ModeChanged: []string{}, TreeNow: now.Tree,
	}
	if d.TreeBefore, err = s.repo.TreeOf(ctx, s.commit); err != nil {
		return Difference{}, nil, err
	}
	d.Changed = d.TreeBefore != d.TreeNow
	if !d.Changed {
		return d, nil, nil
	}
	files, err := s.changedFiles(ctx, now.Files)
	if err != nil {
		return Difference{}, nil, err
	}
	for _, f := range files {
		d.count(f)
	}
	d.LinesAdded, d.LinesRemoved = textdiff.Stat(files)
	return d, textdiff.Unified(files), nil
}

// count notes one file.
func (d *Difference) count(f textdiff.File) {
	switch {
	case f.Before == nil:
		d.FilesAdded = append(d.FilesAdded, f.Path)
	case f.After == nil:
		d.FilesDeleted = append(d.FilesDeleted, f.Path)
	default:
		d.FilesChanged = append(d.FilesChanged, f.Path)
		if f.Before.Mode != f.After.Mode {
			d.ModeChanged = append(d.ModeChanged, f.Path)
		}
	}
	if f.Binary() {
		d.BinaryFiles = append(d.BinaryFiles, f.Path)
	}
}

// changedFiles are both sides of each file that differs, sorted by path.
func (s Stored) changedFiles(ctx context.Context, now []gitstore.Entry) ([]textdiff.File, error) {
	before := map[string]gitstore.Entry{}
	err := s.repo.Walk(ctx, s.commit, "", func(e gitstore.Entry) error {
		before[e.Path] = e
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read version %q: %w", s.version, err)
	}
	var files []textdiff.File
	for _, entry := range now {
		old, known := before[entry.Path]
		delete(before, entry.Path)
		if known && old.Object == entry.Object && old.Mode == entry.Mode {
			continue
		}
		f := textdiff.File{Path: entry.Path}
		if known {
			f.Before, err = s.stored(ctx, old)
		}
		if err == nil {
			f.After, err = s.onDisk(entry)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	for path, old := range before {
		side, err := s.stored(ctx, old)
		if err != nil {
			return nil, err
		}
		files = append(files, textdiff.File{Path: path, Before: side})
	}
	slices.SortFunc(files, func(a, b textdiff.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func (s Stored) stored(ctx context.Context, e gitstore.Entry) (*textdiff.Side, error) {
	data, err := s.repo.Blob(ctx, e.Object)
	if err != nil {
		return nil, fmt.Errorf("read %q of version %q: %w", e.Path, s.version, err)
	}
	return &textdiff.Side{Data: data, Mode: e.Mode.String()}, nil
}

func (s Stored) onDisk(e gitstore.Entry) (*textdiff.Side, error) {
	name := filepath.Join(s.repo.WorkTree(), filepath.FromSlash(e.Path))
	if e.Mode != gitstore.ModeLink {
		data, err := os.ReadFile(name)
		return &textdiff.Side{Data: data, Mode: e.Mode.String()}, err
	}
	target, err := os.Readlink(name)
	return &textdiff.Side{Data: []byte(filepath.ToSlash(target)), Mode: e.Mode.String()}, err
}
