package gitstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// Difference is one file, link or gitlink that differs between two trees. A
// side whose Mode is 0 does not have it.
type Difference struct {
	Path          string
	Before, After Entry
}

// DiffTrees returns what differs from a to b, each a commit or a tree, sorted
// by path: files, links and gitlinks only, no renames. "" is the empty tree.
// Equal subtrees are not read (R-TREE-4).
func (r *Repo) DiffTrees(ctx context.Context, a, b Hash) ([]Difference, error) {
	before, err := r.treeOf(ctx, a)
	if err != nil {
		return nil, err
	}
	after, err := r.treeOf(ctx, b)
	if err != nil {
		return nil, err
	}
	return diffTrees(ctx, r, before, after)
}

// diffTrees compares two trees that from can read.
func diffTrees(ctx context.Context, from trees, a, b plumbing.Hash) ([]Difference, error) {
	d := differ{from: from}
	if err := d.dirs(ctx, "", a, b); err != nil {
		return nil, err
	}
	return d.found, nil
}

// differ collects differences. Trees are walked side by side in their own
// order, which is the order of whole paths.
type differ struct {
	from  trees
	found []Difference
}

func (d *differ) dirs(ctx context.Context, path string, a, b plumbing.Hash) error {
	if a == b {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	before, err := d.sorted(ctx, path, a)
	if err != nil {
		return err
	}
	after, err := d.sorted(ctx, path, b)
	if err != nil {
		return err
	}
	for len(before) > 0 || len(after) > 0 {
		var x, y treeEntry
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = compareEntries(before[0], after[0])
		}
		if order <= 0 {
			x, before = before[0], before[1:]
		}
		if order >= 0 {
			y, after = after[0], after[1:]
		}
		if err := d.pair(ctx, path, x, y); err != nil {
			return err
		}
	}
	return nil
}

// sorted returns the entries of a tree, in order even if the stored ones are not.
func (d *differ) sorted(ctx context.Context, path string, id plumbing.Hash) ([]treeEntry, error) {
	entries, err := d.from.tree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("compare %q: %w", path, err)
	}
	if !slices.IsSortedFunc(entries, compareEntries) {
		slices.SortStableFunc(entries, compareEntries)
	}
	return entries, nil
}

// pair compares two entries of one name and kind; one of them may be missing.
func (d *differ) pair(ctx context.Context, dir string, x, y treeEntry) error {
	if x.id == y.id && x.mode == y.mode {
		return nil
	}
	name := x.name
	if x.raw == nil {
		name = y.name
	}
	path := joinPath(dir, name)
	if x.mode == ModeDir || y.mode == ModeDir { // then the other is one too, or missing
		return d.dirs(ctx, path, x.id, y.id)
	}
	change := Difference{Path: path}
	if x.raw != nil {
		change.Before = x.at(path)
	}
	if y.raw != nil {
		change.After = y.at(path)
	}
	d.found = append(d.found, change)
	return nil
}
