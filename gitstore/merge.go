package gitstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Merged is the result of [Repo.Merge].
type Merged struct {
	Tree      Hash       // "" if there are conflicts
	Edits     []Edit     // what leads from ours to the merged tree, sorted by path; nothing of a conflict
	Conflicts []Conflict // sorted by path; none if the merge is whole
}

// Conflict is a path that both sides changed, and how. Of a file or directory
// that was moved it is the path it had before.
type Conflict struct {
	Path         string
	Ours, Theirs string   // "add", "edit", "delete", "rename" or "archive"
	Keys         []string // of curator/state.json: the entries both sides changed
}

// String is the conflict as people read it, such as
// "skills/x" (archive/edit).
func (c Conflict) String() string { return fmt.Sprintf("%q (%s/%s)", c.Path, c.Ours, c.Theirs) }

// Merge merges three trees, each a commit or a tree: what changed from base to
// theirs is brought to ours. Only paths for which within is true are looked
// at; nil is every path.
//
// The unit is the whole file. What both sides changed differently is merged by
// forge where it is a union file or curator/state.json, else tried once more
// by content with git's merge-tree, where there is a git of 2.38 or later.
// Two moves of one path to different places, and a move on one side with an
// edit on the other, are always conflicts (R-MERGE-4).
//
// No ref is touched. A merge by content writes unreferenced objects, which git
// removes in time. Give the side whose names forge did not choose as ours:
// what the edits write must pass R-TREE-3.
//
// Source: gitstore.md R-MERGE-1 to R-MERGE-4.
func (r *Repo) Merge(ctx context.Context, base, ours, theirs Hash, within func(path string) bool) (Merged, error) {
	m := &merger{repo: r, conflicts: map[string]Conflict{}}
	var err error
	if m.ours, err = r.mergeSide(ctx, base, ours, within); err != nil {
		return Merged{}, fmt.Errorf("merge: %w", err)
	}
	if m.theirs, err = r.mergeSide(ctx, base, theirs, within); err != nil {
		return Merged{}, fmt.Errorf("merge: %w", err)
	}
	m.bothMoved()
	m.addedToMoved()
	for _, t := range m.theirs.changes {
		if err := m.path(ctx, t); err != nil {
			return Merged{}, fmt.Errorf("merge %q: %w", t.Path, err)
		}
	}
	if err := m.byContent(ctx); err != nil {
		return Merged{}, fmt.Errorf("merge by content: %w", err)
	}
	return m.result(ctx)
}

// merger is one merge under way.
type merger struct {
	repo         *Repo
	ours, theirs *mergeSide
	edits        []Edit
	again        []twice // to be tried by content
	conflicts    map[string]Conflict
	spoiled      []string // targets of conflicting moves: nothing below them is taken
}

// twice is a file that both sides changed.
type twice struct{ ours, theirs Difference }

// mergeSide is what one side did to the base.
type mergeSide struct {
	root    plumbing.Hash
	changes []Difference
	byPath  map[string]Difference
	moves   map[string]string // files and directories that left their place, with where they went
	below   map[string]bool   // directories that hold a file this side wrote
	left    map[string]bool   // directories a file of which this side removed
}

func (r *Repo) mergeSide(ctx context.Context, base, side Hash, within func(string) bool) (*mergeSide, error) {
	from, err := r.treeOf(ctx, base)
	if err != nil {
		return nil, err
	}
	s := &mergeSide{byPath: map[string]Difference{}, below: map[string]bool{}, left: map[string]bool{}}
	if s.root, err = r.treeOf(ctx, side); err != nil {
		return nil, err
	}
	all, err := diffTrees(ctx, r, from, s.root)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if within != nil && !within(d.Path) {
			continue
		}
		s.changes = append(s.changes, d)
		s.byPath[d.Path] = d
		above := s.below
		if d.After.Mode == 0 {
			above = s.left
		}
		for dir := path.Dir(d.Path); dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	s.moves, err = r.findMoves(ctx, s)
	return s, err
}

// verb is what a side did to a path.
func verb(d Difference) string {
	switch {
	case d.Before.Mode == 0:
		return "add"
	case d.After.Mode == 0:
		return "delete"
	}
	return "edit"
}

// bothMoved finds what both sides moved to different places.
func (m *merger) bothMoved() {
	for from, mine := range m.ours.moves {
		theirs, moved := m.theirs.moves[from]
		if moved && theirs != mine {
			m.conflict(Conflict{Path: from, Ours: moveVerb(from, mine), Theirs: moveVerb(from, theirs)})
			m.spoiled = append(m.spoiled, theirs)
		}
	}
}

// addedToMoved finds files that ours wrote below a directory theirs moved
// away: no path of theirs meets them.
func (m *merger) addedToMoved() {
	for _, o := range m.ours.changes {
		if from, to, moved := m.theirs.moveOf(o.Path); moved && o.After.Mode != 0 {
			m.moveConflict(from, to, m.theirs, m.ours)
		}
	}
}

// moveConflict notes that mover moved what other edited.
func (m *merger) moveConflict(from, to string, mover, other *mergeSide) {
	c := Conflict{Path: from, Ours: moveVerb(from, to), Theirs: "edit"}
	if mover == m.theirs {
		c.Ours, c.Theirs = c.Theirs, c.Ours
		m.spoiled = append(m.spoiled, to)
	}
	m.conflict(c)
}

func (m *merger) conflict(c Conflict) {
	if _, known := m.conflicts[c.Path]; !known {
		m.conflicts[c.Path] = c
	}
}

// path decides about one path that theirs changed.
func (m *merger) path(ctx context.Context, t Difference) error {
	o, both := m.ours.byPath[t.Path]
	if from, to, moved := m.ours.moveOf(t.Path); moved && t.After.Mode != 0 {
		m.moveConflict(from, to, m.ours, m.theirs)
		return nil
	}
	if both && o.After.Mode == t.After.Mode && o.After.Object == t.After.Object {
		return nil // the same on both sides
	}
	if !both {
		if c, blocked := m.blocked(t); blocked {
			m.conflict(c)
			return nil
		}
		m.take(t.Path, t.After)
		return nil
	}
	if _, _, moved := m.theirs.moveOf(t.Path); moved && t.After.Mode == 0 {
		return nil // noted by addedToMoved
	}
	regular := o.After.Mode.isFile() && t.After.Mode.isFile()
	switch {
	case regular && isUnion(t.Path):
		return m.union(ctx, o, t)
	case regular && t.Path == statePath:
		return m.state(ctx, o, t)
	case regular && o.Before.Mode.isFile():
		m.again = append(m.again, twice{o, t})
		return nil
	}
	m.conflict(Conflict{Path: t.Path, Ours: verb(o), Theirs: verb(t)})
	return nil
}

// blocked reports a file of theirs where ours now has a directory, or the
// reverse.
func (m *merger) blocked(t Difference) (Conflict, bool) {
	if t.After.Mode == 0 {
		return Conflict{}, false
	}
	if m.ours.below[t.Path] {
		return Conflict{Path: t.Path, Ours: "add", Theirs: verb(t)}, true
	}
	for dir := path.Dir(t.Path); dir != "."; dir = path.Dir(dir) {
		if o, changed := m.ours.byPath[dir]; changed && o.After.Mode != 0 {
			return Conflict{Path: dir, Ours: verb(o), Theirs: "add"}, true
		}
	}
	return Conflict{}, false
}

// take makes a path of ours what theirs has there.
func (m *merger) take(p string, entry Entry) {
	before := m.theirs.byPath[p].Before.Mode
	if entry.Mode == 0 || before == 0 && m.theirs.left[p] || before == ModeGitlink { // a directory or submodule makes room
		m.edits = append(m.edits, Remove(p))
	}
	if entry.Mode == 0 {
		return
	}
	m.edits = append(m.edits, PutObject(p, entry.Object, entry.Mode))
}

// union merges an append-only file of which nothing may be lost.
func (m *merger) union(ctx context.Context, o, t Difference) error {
	three, err := m.sides(ctx, o, t)
	if err != nil {
		return err
	}
	m.put(o, mergeUnion(o.Path, three))
	return nil
}

// state merges curator/state.json; entries both sides changed are a conflict.
func (m *merger) state(ctx context.Context, o, t Difference) error {
	three, err := m.sides(ctx, o, t)
	if err != nil {
		return err
	}
	merged, keys, err := MergeState(three)
	if err != nil || len(keys) > 0 { // what cannot be read is for a person
		m.conflict(Conflict{Path: o.Path, Ours: verb(o), Theirs: verb(t), Keys: keys})
		return nil
	}
	m.put(o, merged)
	return nil
}

// put stores a merged file with the mode it has in ours.
func (m *merger) put(o Difference, data []byte) {
	if plumbing.ComputeHash(plumbing.BlobObject, data).String() != string(o.After.Object) {
		m.edits = append(m.edits, PutMode(o.Path, data, o.After.Mode))
	}
}

// Sides are three states of one file; a nil Base is a file both sides added.
type Sides struct{ Base, Ours, Theirs []byte }

// sides reads a file that both sides changed.
func (m *merger) sides(ctx context.Context, o, t Difference) (three Sides, err error) {
	if o.Before.Mode.isFile() {
		if three.Base, err = m.repo.Blob(ctx, o.Before.Object); err != nil {
			return three, err
		}
	}
	if three.Ours, err = m.repo.Blob(ctx, o.After.Object); err != nil {
		return three, err
	}
	three.Theirs, err = m.repo.Blob(ctx, t.After.Object)
	return three, err
}

// result leaves out what belongs to a conflict and computes the tree.
func (m *merger) result(ctx context.Context) (Merged, error) {
	var merged Merged
	for _, p := range slices.Sorted(maps.Keys(m.conflicts)) {
		merged.Conflicts = append(merged.Conflicts, m.conflicts[p])
		m.spoiled = append(m.spoiled, p)
	}
	for _, e := range m.edits {
		inConflict := func(root string) bool { return e.Path == root || strings.HasPrefix(e.Path, root+"/") }
		if !slices.ContainsFunc(m.spoiled, inConflict) {
			merged.Edits = append(merged.Edits, e)
		}
	}
	slices.SortStableFunc(merged.Edits, func(a, b Edit) int { return strings.Compare(a.Path, b.Path) })
	if len(merged.Conflicts) > 0 {
		return merged, nil
	}
	tree, _, err := m.repo.applyEdits(ctx, m.ours.root, merged.Edits)
	if err != nil {
		return Merged{}, fmt.Errorf("merge: %w", err)
	}
	merged.Tree = Hash(tree.String())
	return merged, nil
}

// existsIn reports whether a path is in a tree.
func (r *Repo) existsIn(ctx context.Context, root plumbing.Hash, p string) (bool, error) {
	_, err := r.lookup(ctx, Hash(root.String()), p)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
