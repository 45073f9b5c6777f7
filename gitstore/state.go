package gitstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// forgeDir is where forge keeps what it commits about itself.
const forgeDir = ".forge"

// StateOf returns the id that a commit's or tree's root would have without
// .forge: what was really there to measure. Two commits with one state differ
// in forge's own files only. The tree need not exist; nothing is written.
func (r *Repo) StateOf(ctx context.Context, commit Hash) (Hash, error) {
	root, err := r.treeOf(ctx, commit)
	if err != nil {
		return "", err
	}
	return stateOf(ctx, r, root)
}

func stateOf(ctx context.Context, from trees, root plumbing.Hash) (Hash, error) {
	entries, err := from.tree(ctx, root)
	if err != nil {
		return "", fmt.Errorf("read tree %s: %w", root, err)
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e treeEntry) bool { return e.name == forgeDir })
	return Hash(plumbing.ComputeHash(plumbing.TreeObject, encodeTree(entries)).String()), nil
}

// CheckPath refuses a path that forge must not write: one that leaves the
// repository or enters .git, or that some system cannot hold (R-TREE-3). The
// error is a fault of kind Refused.
func CheckPath(path string) error { return checkPath(path) }
