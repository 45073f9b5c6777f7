package gitstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// byContent tries the files both sides changed once more, line by line, with
// git's merge-tree; without a git that has it they are conflicts.
func (m *merger) byContent(ctx context.Context) error {
	if len(m.again) == 0 {
		return nil
	}
	merged, err := m.repo.mergeLines(ctx, m.again)
	if err != nil {
		return err
	}
	for _, both := range m.again {
		p := both.ours.Path
		entry, clean := merged[p]
		switch {
		case !clean:
			m.conflict(Conflict{Path: p, Ours: "edit", Theirs: "edit"})
		case entry.Mode != both.ours.After.Mode || entry.Object != both.ours.After.Object:
			m.take(p, entry)
		}
	}
	return nil
}

// mergeLines returns the files that git could merge. Three commits that
// nothing refers to stand in for the sides, with these files alone, so that
// any three trees can be merged and git finds no renames; git's own option for
// a base is younger than the command (R-MERGE-1).
func (r *Repo) mergeLines(ctx context.Context, files []twice) (map[string]Entry, error) {
	major, minor, err := r.gitVersion(ctx)
	if errors.Is(err, errNoGit) || err == nil && (major < 2 || major == 2 && minor < 38) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	base, err := r.standIn(ctx, files, "", func(f twice) Entry { return f.ours.Before })
	if fault.KindOf(err) == fault.Refused {
		return nil, nil // a name forge does not write: for a person
	}
	if err != nil {
		return nil, err
	}
	ours, err := r.standIn(ctx, files, base, func(f twice) Entry { return f.ours.After })
	if err != nil {
		return nil, err
	}
	theirs, err := r.standIn(ctx, files, base, func(f twice) Entry { return f.theirs.After })
	if err != nil {
		return nil, err
	}
	return r.mergeTree(ctx, files, ours, theirs)
}

// standIn writes a commit with one side of the files, which nothing refers to.
func (r *Repo) standIn(ctx context.Context, files []twice, parent Hash, side func(twice) Entry) (Hash, error) {
	var edits []Edit
	for _, f := range files {
		entry := side(f)
		edits = append(edits, PutObject(f.ours.Path, entry.Object, entry.Mode))
	}
	tree, editor, err := r.applyEdits(ctx, emptyTree, edits)
	if err != nil {
		return "", err
	}
	if err := editor.write(); err != nil {
		return "", err
	}
	// Nobody sees it; with one signature the same merge writes the same objects.
	who := Signature{Name: "forge", Email: "forge@localhost", When: time.Unix(0, 0).UTC()}
	c := commitObject{tree: Hash(tree.String()), author: who, committer: who, message: "forge: one side of a merge\n"}
	if parent != "" {
		c.parents = []Hash{parent}
	}
	id, err := r.writeObject(object{plumbing.CommitObject, c.encode()})
	return Hash(id.String()), err
}

// mergeTree runs git merge-tree. The tree it prints may hold files with
// conflict markers, which it names; they are never taken (R-MERGE-3).
func (r *Repo) mergeTree(ctx context.Context, files []twice, ours, theirs Hash) (map[string]Entry, error) {
	result, err := r.git(ctx, gitCall{Args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", string(ours), string(theirs)}})
	if err != nil {
		return nil, err
	}
	if result.ExitCode != 0 && result.ExitCode != 1 || result.TimedOut || result.OutputCut {
		return nil, gitFailure("merge-tree", result)
	}
	parts := strings.Split(strings.TrimSuffix(string(result.Stdout), "\x00"), "\x00")
	tree, ok := parseHash(strings.TrimSpace(parts[0]))
	if !ok || result.ExitCode == 1 && len(parts) < 2 {
		return nil, fmt.Errorf("git merge-tree printed %.60q", result.Stdout)
	}
	merged := map[string]Entry{}
	for _, f := range files {
		p := f.ours.Path
		if slices.Contains(parts[1:], p) {
			continue
		}
		entry, err := r.Lookup(ctx, tree, p)
		if err != nil {
			return nil, fmt.Errorf("read what git merged: %w", err)
		}
		if entry.Mode.isFile() {
			merged[p] = entry
		}
	}
	return merged, nil
}
