package gitstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// Edit is one change to a tree. Use [Put], [PutMode], [PutObject] or [Remove].
type Edit struct {
	Path   string
	Data   []byte // content to store, unless Object is set
	Object Hash   // an object that exists already; nothing is rewritten
	Mode   Mode   // 0: that of the existing file, else 100644
	Remove bool
}

// Put stores a file. An existing file keeps its mode; a new one gets 100644.
func Put(path string, data []byte) Edit { return Edit{Path: path, Data: data} }

// PutMode stores a file, or with [ModeLink] a symbolic link whose target is
// data.
func PutMode(path string, data []byte, mode Mode) Edit {
	return Edit{Path: path, Data: data, Mode: mode}
}

// PutObject places an object that exists: a blob, a whole directory
// ([ModeDir]) or a gitlink. With [Remove] of its old path this is a move.
func PutObject(path string, object Hash, mode Mode) Edit {
	return Edit{Path: path, Object: object, Mode: mode}
}

// Remove takes a file, link, gitlink or directory out, with all that is
// below it. A path that is not there is no error: the result is the same.
func Remove(path string) Edit { return Edit{Path: path, Remove: true} }

// editNode is the edits of one path and of what is below it. Removals come
// before all else, so the order of a list of edits does not matter.
type editNode struct {
	remove bool
	put    *Edit
	below  map[string]*editNode
}

// planEdits arranges edits by path and refuses those that contradict each
// other or name a path forge must not write (R-TREE-3).
func planEdits(edits []Edit) (*editNode, error) {
	root := &editNode{}
	for i := range edits {
		e := &edits[i]
		if err := checkEdit(e); err != nil {
			return nil, err
		}
		node := root
		for name := range strings.SplitSeq(e.Path, "/") {
			if node.below == nil {
				node.below = map[string]*editNode{}
			}
			if node.below[name] == nil {
				node.below[name] = &editNode{}
			}
			node = node.below[name]
		}
		switch {
		case e.Remove:
			node.remove = true
		case node.put != nil:
			return nil, fault.New(fault.Refused, "", "%q is written twice in one change", e.Path)
		default:
			node.put = e
		}
	}
	return root, root.check("")
}

// checkEdit refuses an edit that cannot be written as it stands.
func checkEdit(e *Edit) error {
	if e.Remove {
		if slices.Contains(strings.Split(e.Path, "/"), "") {
			return fault.New(fault.Refused, "", "path %q has an empty component", e.Path)
		}
		return nil
	}
	if err := checkPath(e.Path); err != nil {
		return err
	}
	allowed := []Mode{0, ModeFile, ModeExec, ModeLink}
	if e.Object != "" {
		allowed = []Mode{ModeFile, ModeExec, ModeLink, ModeDir, ModeGitlink}
	}
	if !slices.Contains(allowed, e.Mode) {
		return fault.New(fault.Refused, "", "%q cannot be written with mode %s", e.Path, e.Mode)
	}
	if _, ok := parseHash(string(e.Object)); e.Object != "" && !ok {
		return fault.New(fault.Usage, "", "%q is not an object id", e.Object)
	}
	if len(e.Data) > maxObject {
		return fault.New(fault.Refused, "", "%q has %d bytes, at most %d are written", e.Path, len(e.Data), maxObject)
	}
	return nil
}

// check refuses a file where the same change needs a directory.
func (n *editNode) check(path string) error {
	if n.put != nil && n.writesBelow() {
		return fault.New(fault.Refused, "", "%q is a file and a directory in one change", path)
	}
	for name, child := range n.below {
		if err := child.check(joinPath(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// writesBelow reports whether something below the path is written.
func (n *editNode) writesBelow() bool {
	for _, child := range n.below {
		if child.put != nil || child.writesBelow() {
			return true
		}
	}
	return false
}

// editor applies edits to a tree and collects the objects that are new.
type editor struct {
	repo    *Repo
	objects map[plumbing.Hash]object
	order   []plumbing.Hash // of objects: what others refer to comes first

	attributes *attributes // of the tree before the edits, as far as it was read
}

// applyEdits returns the tree that results from the edits, in memory: nothing
// is written (R-TREE-1). The new objects are in the editor returned, which
// also reads them.
func (r *Repo) applyEdits(ctx context.Context, root plumbing.Hash, edits []Edit) (plumbing.Hash, *editor, error) {
	e := &editor{repo: r, objects: map[plumbing.Hash]object{}}
	if len(edits) == 0 {
		return root, e, nil
	}
	plan, err := planEdits(edits)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	if e.attributes, err = r.newAttributes(ctx); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	entries, err := e.dir(ctx, "", root, plan)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	return e.add(object{plumbing.TreeObject, encodeTree(entries)}), e, nil
}

// add remembers a new object.
func (e *editor) add(o object) plumbing.Hash {
	id := plumbing.ComputeHash(o.kind, o.data)
	if _, have := e.objects[id]; !have {
		e.objects[id] = o
		e.order = append(e.order, id)
	}
	return id
}

// tree reads a tree, new or stored.
func (e *editor) tree(ctx context.Context, id plumbing.Hash) ([]treeEntry, error) {
	if o, ok := e.objects[id]; ok && o.kind == plumbing.TreeObject {
		return parseTree(o.data)
	}
	return e.repo.tree(ctx, id)
}

// blob reads a blob, new or stored.
func (e *editor) blob(ctx context.Context, id plumbing.Hash, path string) ([]byte, error) {
	if o, ok := e.objects[id]; ok && o.kind == plumbing.BlobObject {
		return o.data, nil
	}
	o, err := e.repo.readObject(ctx, plumbing.BlobObject, id)
	if err != nil {
		return nil, named(err, path)
	}
	return o.data, nil
}

// dir returns the entries of a directory with the edits below it applied.
// Entries that are not touched are copied as they are.
func (e *editor) dir(ctx context.Context, path string, id plumbing.Hash, plan *editNode) ([]treeEntry, error) {
	stored, err := e.repo.tree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("edit %q: %w", path, err)
	}
	entries := make([]treeEntry, 0, len(stored)+len(plan.below))
	touched := map[string]treeEntry{}
	for _, entry := range stored {
		if entry.name == attributesFile && entry.mode.isFile() {
			data, err := e.blob(ctx, entry.id, joinPath(path, entry.name))
			if err != nil {
				return nil, err
			}
			e.attributes.add(path, data)
		}
		if plan.below[entry.name] == nil {
			entries = append(entries, entry)
		} else {
			touched[entry.name] = entry
		}
	}
	added := []string{} // names the directory did not have
	for _, name := range slices.Sorted(maps.Keys(plan.below)) {
		old, had := touched[name]
		entry, keep, err := e.entry(ctx, joinPath(path, name), name, old, plan.below[name])
		if err != nil {
			return nil, err
		}
		if keep {
			entries = append(entries, entry)
		}
		if keep && !had {
			added = append(added, name)
		}
	}
	if err := checkCase(path, entries, added); err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, compareEntries)
	return entries, nil
}

// entry returns what becomes of one name; old is the zero entry if it is new.
func (e *editor) entry(ctx context.Context, path, name string, old treeEntry, plan *editNode) (_ treeEntry, keep bool, err error) {
	if plan.remove {
		old = treeEntry{}
	}
	if plan.put != nil {
		entry, err := e.put(ctx, path, name, old, plan.put)
		return entry, err == nil, err
	}
	exists := old.raw != nil
	if exists && old.mode != ModeDir {
		if plan.writesBelow() {
			return treeEntry{}, false, throughFile(path, old.mode)
		}
		return old, true, nil
	}
	if !exists && !plan.writesBelow() {
		return treeEntry{}, false, nil
	}
	entries, err := e.dir(ctx, path, old.id, plan)
	if err != nil || len(entries) == 0 {
		return treeEntry{}, false, err
	}
	id := e.add(object{plumbing.TreeObject, encodeTree(entries)})
	if exists && id == old.id {
		return old, true, nil
	}
	return newTreeEntry(name, ModeDir, id), true, nil
}

// put returns the entry a put makes.
func (e *editor) put(ctx context.Context, path, name string, old treeEntry, edit *Edit) (treeEntry, error) {
	mode := edit.Mode
	if mode == 0 {
		mode = ModeFile
	}
	switch {
	case old.raw == nil:
	case (old.mode == ModeDir) != (mode == ModeDir):
		return treeEntry{}, fault.New(fault.Refused, "remove it in the same change", "%q is %s, not %s", path, old.mode.noun(), mode.noun())
	case old.mode == ModeGitlink && mode != ModeGitlink, old.mode == ModeLink && edit.Mode == 0:
		return treeEntry{}, throughFile(path, old.mode)
	case edit.Mode == 0:
		mode = old.mode
	}
	if edit.Object != "" {
		id := plumbing.NewHash(string(edit.Object))
		return newTreeEntry(name, mode, id), e.checkObject(ctx, path, id, mode)
	}
	id := e.add(object{plumbing.BlobObject, edit.Data})
	if old.raw != nil && old.id == id {
		return newTreeEntry(name, mode, id), nil
	}
	return newTreeEntry(name, mode, id), e.checkFilter(ctx, path, mode, old)
}

// noun is what people call an entry of this mode.
func (m Mode) noun() string {
	switch m {
	case ModeDir:
		return "a directory"
	case ModeLink:
		return "a symbolic link"
	case ModeGitlink:
		return "a submodule"
	}
	return "a file"
}

// throughFile refuses to write below or through what is not a directory
// (gitstore.md section 2).
func throughFile(path string, mode Mode) error {
	switch mode {
	case ModeLink:
		return fault.New(fault.Refused, "", "%q is a symbolic link; forge never writes through links", path)
	case ModeGitlink:
		return fault.New(fault.Refused, "", "%q is a submodule; run forge inside it", path)
	}
	return fault.New(fault.Refused, "remove it in the same change", "%q is a file, not a directory", path)
}

// checkObject refuses to place an object that is not there or of another
// kind. The commit of a gitlink lives in another repository.
func (e *editor) checkObject(ctx context.Context, path string, id plumbing.Hash, mode Mode) error {
	kind := plumbing.BlobObject
	switch mode {
	case ModeGitlink:
		return nil
	case ModeDir:
		if id == emptyTree {
			return fault.New(fault.Refused, "", "%q would be an empty directory, which git does not keep", path)
		}
		kind = plumbing.TreeObject
	}
	if o, ok := e.objects[id]; ok && o.kind == kind {
		return nil
	}
	if _, err := e.repo.readWithin(ctx, kind, id, maxExported); err != nil {
		return fmt.Errorf("place object at %q: %w", path, err)
	}
	return nil
}

// checkFilter refuses to write a file whose content git filters on its way to
// and from the working tree (gitstore.md section 2): what is stored is not
// what people see, with git LFS a pointer. Forge's own files are not meant.
func (e *editor) checkFilter(ctx context.Context, path string, mode Mode, old treeEntry) error {
	filtered := mode.isFile() && !strings.HasPrefix(path, forgeDir+"/") && e.attributes.filter(path) != ""
	if !filtered && old.mode.isFile() {
		data, err := e.blob(ctx, old.id, path)
		if err != nil {
			return err
		}
		filtered = IsPointer(data)
	}
	if filtered {
		return fault.New(fault.Refused, "", "%q is behind a git filter; forge does not edit such files", path)
	}
	return nil
}

// checkCase refuses a new name that differs from another of its directory by
// letter case only: on some systems they are one file (R-TREE-3).
func checkCase(dir string, entries []treeEntry, added []string) error {
	for _, name := range added {
		for _, other := range entries {
			if len(other.name) == len(name) && other.name == name || !strings.EqualFold(other.name, name) {
				continue
			}
			return fault.New(fault.Refused, "choose another name",
				"path %q differs from %q by letter case only", joinPath(dir, name), joinPath(dir, other.name))
		}
	}
	return nil
}
