package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Mode is git's mode of a tree entry.
type Mode uint32

// The modes forge writes; a gitlink is only copied (R-TREE-2).
const (
	ModeFile    Mode = 0o100644
	ModeExec    Mode = 0o100755
	ModeLink    Mode = 0o120000
	ModeDir     Mode = 0o040000
	ModeGitlink Mode = 0o160000
)

// String returns the mode as git writes it, such as "100644".
func (m Mode) String() string { return strconv.FormatUint(uint64(m), 8) }

// isFile reports whether the mode is that of a regular file.
func (m Mode) isFile() bool { return m == ModeFile || m == ModeExec }

// Entry is one name in the tree of a commit.
type Entry struct {
	Path   string // from the root of the repository; "" is the root itself
	Mode   Mode
	Object Hash
}

// treeEntry is one entry of a tree object. raw is the entry as it stands
// there, so that what is not touched is copied byte by byte.
type treeEntry struct {
	name string
	mode Mode
	id   plumbing.Hash
	raw  []byte
}

func (e treeEntry) at(path string) Entry {
	return Entry{Path: path, Mode: e.mode, Object: Hash(e.id.String())}
}

// newTreeEntry makes an entry as git writes it.
func newTreeEntry(name string, mode Mode, id plumbing.Hash) treeEntry {
	raw := make([]byte, 0, len("100644 ")+len(name)+1+len(id))
	raw = append(raw, mode.String()...)
	raw = append(raw, ' ')
	raw = append(raw, name...)
	raw = append(raw, 0)
	raw = append(raw, id[:]...)
	return treeEntry{name, mode, id, raw}
}

// parseTree reads a tree object. Modes are folded to the five forge knows
// where git does so too; names are taken as they are (R-TREE-3: on read all
// are tolerated).
func parseTree(data []byte) ([]treeEntry, error) {
	entries := make([]treeEntry, 0, len(data)/32)
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		end := bytes.IndexByte(data, 0)
		if space <= 0 || end < space+2 || len(data) < end+1+len(plumbing.ZeroHash) {
			return nil, errors.New("malformed tree object")
		}
		mode, err := strconv.ParseUint(string(data[:space]), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("malformed mode in a tree object: %w", err)
		}
		size := end + 1 + len(plumbing.ZeroHash)
		entry := treeEntry{name: string(data[space+1 : end]), mode: foldMode(Mode(mode)), raw: data[:size:size]}
		copy(entry.id[:], data[end+1:size])
		entries = append(entries, entry)
		data = data[size:]
	}
	return entries, nil
}

// foldMode reads old and odd modes as git does.
func foldMode(mode Mode) Mode {
	switch kind := mode & 0o170000; {
	case kind == 0o100000 && mode&0o100 != 0:
		return ModeExec
	case kind == 0o100000:
		return ModeFile
	case kind == ModeDir, kind == ModeLink, kind == ModeGitlink:
		return kind
	}
	return mode
}

// encodeTree is the content of a tree object with these entries.
func encodeTree(entries []treeEntry) []byte {
	size := 0
	for _, e := range entries {
		size += len(e.raw)
	}
	data := make([]byte, 0, size)
	for _, e := range entries {
		data = append(data, e.raw...)
	}
	return data
}

// compareEntries is the order of a tree: by bytes, a directory as "name/"
// (R-TREE-2).
func compareEntries(a, b treeEntry) int {
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	return int(a.byteAt(n)) - int(b.byteAt(n))
}

// byteAt is the i-th byte of the name the entry is sorted by; 0 at its end.
func (e treeEntry) byteAt(i int) byte {
	switch {
	case i < len(e.name):
		return e.name[i]
	case i == len(e.name) && e.mode == ModeDir:
		return '/'
	}
	return 0
}

// trees reads tree objects; a preview puts those that are not written yet in
// front of the storage.
type trees interface {
	tree(ctx context.Context, id plumbing.Hash) ([]treeEntry, error)
}

var _ trees = (*Repo)(nil)

// emptyTree is the tree without entries, which need not be stored.
var emptyTree = plumbing.ComputeHash(plumbing.TreeObject, nil)

// tree returns the entries of a tree; the zero hash is the empty tree.
func (r *Repo) tree(ctx context.Context, id plumbing.Hash) ([]treeEntry, error) {
	if id.IsZero() || id == emptyTree {
		return nil, nil
	}
	found, err := r.readObject(ctx, plumbing.TreeObject, id)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(found.data)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", id, err)
	}
	return entries, nil
}

// TreeOf returns the root tree of a commit. A tree stands for itself.
func (r *Repo) TreeOf(ctx context.Context, commit Hash) (Hash, error) {
	id, err := r.treeOf(ctx, commit)
	if err != nil {
		return "", err
	}
	return Hash(id.String()), nil
}

// treeOf is [Repo.TreeOf]; "" is the empty tree.
func (r *Repo) treeOf(ctx context.Context, commit Hash) (plumbing.Hash, error) {
	id := plumbing.NewHash(string(commit))
	if commit == "" || id == emptyTree {
		return emptyTree, nil
	}
	found, err := r.readObject(ctx, plumbing.AnyObject, id)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	switch found.kind {
	case plumbing.TreeObject:
		return id, nil
	case plumbing.CommitObject:
		c, err := parseCommit(commit, found.data)
		return plumbing.NewHash(string(c.Tree)), err
	}
	return plumbing.ZeroHash, fmt.Errorf("object %s is a %s, neither commit nor tree: %w", id, found.kind, ErrNotFound)
}

// Lookup returns the entry at path in the tree of a commit; "" is the root.
// A path that is not there wraps [ErrNotFound]. Links are not followed
// (R-TREE-6).
func (r *Repo) Lookup(ctx context.Context, commit Hash, path string) (Entry, error) {
	entry, err := r.lookup(ctx, commit, path)
	if err != nil {
		return Entry{}, err
	}
	return entry.at(path), nil
}

func (r *Repo) lookup(ctx context.Context, commit Hash, path string) (treeEntry, error) {
	root, err := r.treeOf(ctx, commit)
	if err != nil {
		return treeEntry{}, err
	}
	at := treeEntry{mode: ModeDir, id: root}
	if path == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at.mode != ModeDir {
			return treeEntry{}, fmt.Errorf("look up %q: %w", path, ErrNotFound)
		}
		entries, err := r.tree(ctx, at.id)
		if err != nil {
			return treeEntry{}, fmt.Errorf("look up %q: %w", path, err)
		}
		i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == name })
		if i < 0 {
			return treeEntry{}, fmt.Errorf("look up %q: %w", path, ErrNotFound)
		}
		at = entries[i]
	}
	return at, nil
}

// Walk calls visit for every file, link and gitlink below dir in the tree of
// a commit, in the order of the tree, until visit errs. If dir is a file, a
// link or a gitlink, it is visited alone; "" is the root. A dir that is not
// there wraps [ErrNotFound].
func (r *Repo) Walk(ctx context.Context, commit Hash, dir string, visit func(Entry) error) error {
	start, err := r.lookup(ctx, commit, dir)
	if err != nil {
		return err
	}
	return walk(ctx, r, dir, start, visit)
}

func walk(ctx context.Context, from trees, path string, entry treeEntry, visit func(Entry) error) error {
	if entry.mode != ModeDir {
		return visit(entry.at(path))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	entries, err := from.tree(ctx, entry.id)
	if err != nil {
		return fmt.Errorf("walk %q: %w", path, err)
	}
	for _, e := range entries {
		if err := walk(ctx, from, joinPath(path, e.name), e, visit); err != nil {
			return err
		}
	}
	return nil
}

// joinPath is path.Join without cleaning: names are kept as they are stored.
func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// ReadFile returns the content of a file in the tree of a commit, as it is
// stored: no filter, no line-end conversion; of a link, its target. A path
// that is no file or not there wraps [ErrNotFound].
func (r *Repo) ReadFile(ctx context.Context, commit Hash, path string) ([]byte, error) {
	entry, err := r.lookup(ctx, commit, path)
	if err != nil {
		return nil, err
	}
	if !entry.mode.isFile() && entry.mode != ModeLink {
		return nil, fmt.Errorf("read %q: not a file: %w", path, ErrNotFound)
	}
	content, err := r.readObject(ctx, plumbing.BlobObject, entry.id)
	if err != nil {
		return nil, named(err, path)
	}
	return content.data, nil
}
