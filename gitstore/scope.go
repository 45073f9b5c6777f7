package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forge/gitstore/fault"
)

// ScopeKind says how the target of a [Scope] is meant.
type ScopeKind string

// The kinds, as the message of a snapshot spells them (loop.md R-SNAP-2).
const (
	ScopeFile      ScopeKind = "file"
	ScopeDirectory ScopeKind = "directory"
	ScopeGlob      ScopeKind = "glob"
)

// Scope is a part of the working tree: what a snapshot holds and a revert may
// touch. Its JSON is what a snapshot's message carries.
//
// Source: loop.md R-SNAP-2, R-SNAP-3.
type Scope struct {
	Target         string    `json:"target"` // relative to the root, as [CleanTarget] gives it
	Kind           ScopeKind `json:"kind"`
	Base           string    `json:"base"` // the directory everything in it lies in; "." is the root
	IncludeIgnored bool      `json:"include_ignored"`
}

// NewScope finds out what a person's target names in the working tree. What
// exists literally is a file or a directory, whatever characters it holds;
// only else are "*", "?" and "[" those of a glob.
//
// A target that does not exist, leaves the repository or is reached through a
// link, or that belongs to git or forge, is a fault of kind Usage. A glob may
// match nothing.
//
// Source: loop.md R-SNAP-3, R-SNAP-5.
func (r *Repo) NewScope(target string, includeIgnored bool) (Scope, error) {
	if err := r.needWorkTree(); err != nil {
		return Scope{}, err
	}
	clean, err := CleanTarget(target)
	if err != nil {
		return Scope{}, err
	}
	s := Scope{Target: clean, IncludeIgnored: includeIgnored}
	if !hidden(clean) {
		info, err := os.Lstat(r.onDisk(clean))
		switch {
		case err == nil && info.IsDir():
			s.Kind, s.Base = ScopeDirectory, clean
		case err == nil:
			s.Kind, s.Base = ScopeFile, path.Dir(clean)
		case !isAbsent(err):
			return Scope{}, fmt.Errorf("look at target %q: %w", target, err)
		case strings.ContainsAny(clean, "*?["):
			s.Kind, s.Base = ScopeGlob, literalBase(clean)
		default:
			return Scope{}, fault.New(fault.Usage, "name it relative to the root of the repository", "there is no %q in the working tree", target)
		}
	}
	if _, err := s.matcher(); err != nil {
		return Scope{}, err
	}
	return s, r.checkReached(s)
}

// needWorkTree refuses a bare repository.
func (r *Repo) needWorkTree() error {
	if r.workTree == "" {
		return fault.New(fault.Usage, "run it in a clone with a working tree", "a bare repository has no files to snapshot or revert")
	}
	return nil
}

// checkReached refuses a scope whose base lies in another repository or is
// reached through a link.
func (r *Repo) checkReached(s Scope) error {
	for dir := s.Base; dir != "."; dir = path.Dir(dir) {
		if exists(filepath.Join(r.onDisk(dir), ".git")) {
			return fault.New(fault.Usage, "run it with -C "+shellQuote(dir), "target %q lies in the repository at %q", s.Target, dir)
		}
		info, err := os.Lstat(r.onDisk(dir))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		why := "is reached through the symbolic link"
		if real, err := filepath.EvalSymlinks(r.onDisk(dir)); err == nil {
			root, err := filepath.EvalSymlinks(r.workTree)
			if inside, relErr := filepath.Rel(root, real); err != nil || relErr != nil || !filepath.IsLocal(inside) {
				why = "leaves the repository through the symbolic link"
			}
		}
		return fault.New(fault.Usage, "name the place the link leads to", "target %q %s %q", s.Target, why, dir)
	}
	return nil
}

// literalBase is the deepest directory in front of a pattern's first special
// character.
func literalBase(pattern string) string {
	base := "."
	parts := strings.Split(pattern, "/")
	for _, part := range parts[:len(parts)-1] {
		if hasWildcard(part) {
			break
		}
		base = path.Join(base, part)
	}
	return base
}

// hidden reports what no scope ever enters: .git anywhere and forge's own
// directory at the root.
func hidden(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if isDotGit(part) {
			return true
		}
	}
	return p == forgeDir || strings.HasPrefix(p, forgeDir+"/")
}

// matcher returns the pattern of the paths in the scope. A scope that was read
// from a message is held to the rules too.
func (s Scope) matcher() (Glob, error) {
	clean, err := CleanTarget(s.Target)
	switch {
	case err != nil:
		return Glob{}, err
	case hidden(clean):
		return Glob{}, fault.New(fault.Usage, "", "target %q belongs to git or to forge itself", s.Target)
	case s.Kind == ScopeGlob && s.Base == literalBase(clean):
		return ParseGlob(clean)
	case s.Kind == ScopeDirectory && s.Base == clean, s.Kind == ScopeFile && s.Base == path.Dir(clean) && clean != ".":
		return LiteralGlob(clean), nil
	}
	return Glob{}, fault.New(fault.Usage, "", "scope %q of kind %q with base %q is malformed", s.Target, s.Kind, s.Base)
}

// start is where looking for the scope's files begins.
func (s Scope) start() string {
	if s.Kind == ScopeGlob {
		return s.Base
	}
	return s.Target
}

// onDisk is the name in the file system of a path of the working tree.
func (r *Repo) onDisk(p string) string { return filepath.Join(r.workTree, filepath.FromSlash(p)) }

// ScopeFiles is the state of a scope's files on disk.
type ScopeFiles struct {
	Tree    Hash     // a tree with these files at their paths and nothing else
	Files   []Entry  // sorted by path
	Bytes   int64    // of all files together
	Skipped []string // nested repositories, submodules and what is neither file nor link, sorted

	scope   Scope
	stamps  map[string]diskStamp
	ignored map[string]bool // what git ignores and the scope leaves out; a directory stands for all below it
	trees   []object        // of Tree; what others refer to comes first
}

// ReadScope looks at the files of a scope without writing anything. Bytes are
// those on disk: no filter, no line-end conversion. Links are links. Where the
// file system has no executable bit, a path keeps the mode it has in known, a
// commit or tree; "" is HEAD.
//
// Ignored files belong to the scope only with IncludeIgnored or where the
// target names them, alone or with their directory. Telling them takes git;
// without it that is a fault which says so.
//
// Source: loop.md R-SNAP-2 to R-SNAP-5.
func (r *Repo) ReadScope(ctx context.Context, s Scope, known Hash) (ScopeFiles, error) {
	return r.readScope(ctx, s, known, func(object) error { return nil })
}

// StoreScope is [Repo.ReadScope] that also stores the files and the tree as
// objects, which nothing refers to yet. No ref, no index and no file changes.
// [ScopeFiles.Edits] makes a commit of them.
func (r *Repo) StoreScope(ctx context.Context, s Scope, known Hash) (ScopeFiles, error) {
	store := func(o object) error {
		_, err := r.writeObject(o)
		return err
	}
	found, err := r.readScope(ctx, s, known, store)
	if err != nil {
		return ScopeFiles{}, err
	}
	for _, tree := range found.trees {
		if err := store(tree); err != nil {
			return ScopeFiles{}, err
		}
	}
	return found, nil
}

// Edits returns the change that makes an empty tree that of the scope, for a
// [Change] without Base and From: a commit with no parent.
func (f ScopeFiles) Edits() []Edit {
	if len(f.Files) == 0 {
		return nil
	}
	root, err := parseTree(f.trees[len(f.trees)-1].data)
	if err != nil {
		panic("gitstore: a tree of our own is malformed")
	}
	var edits []Edit
	for _, entry := range root {
		edits = append(edits, PutObject(entry.name, Hash(entry.id.String()), entry.mode))
	}
	return edits
}

func (r *Repo) readScope(ctx context.Context, s Scope, known Hash, store func(object) error) (ScopeFiles, error) {
	if err := r.needWorkTree(); err != nil {
		return ScopeFiles{}, err
	}
	match, err := s.matcher()
	if err != nil {
		return ScopeFiles{}, err
	}
	w := &scopeWalk{
		repo: r, match: match, store: store,
		found: ScopeFiles{scope: s, stamps: map[string]diskStamp{}, ignored: map[string]bool{}},
	}
	if err := w.prepare(ctx, s, known); err != nil {
		return ScopeFiles{}, fmt.Errorf("read scope %q: %w", s.Target, err)
	}
	if err := w.begin(ctx, s); err != nil {
		return ScopeFiles{}, fmt.Errorf("read scope %q: %w", s.Target, err)
	}
	w.found.finish()
	return w.found, nil
}

// begin starts the walk, unless a directory on the way to it is none.
func (w *scopeWalk) begin(ctx context.Context, s Scope) error {
	for dir := path.Dir(s.start()); dir != "."; dir = path.Dir(dir) {
		info, err := os.Lstat(w.repo.onDisk(dir))
		if err != nil && !isAbsent(err) {
			return err
		}
		if err != nil || !info.IsDir() || w.nested(dir) {
			return nil
		}
	}
	info, err := os.Lstat(w.repo.onDisk(s.start()))
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.entry(ctx, s.start(), info)
}

// nested reports whether a directory below the root is a repository of its
// own, or a submodule.
func (w *scopeWalk) nested(dir string) bool {
	if dir == "." {
		return false
	}
	_, err := os.Lstat(filepath.Join(w.repo.onDisk(dir), ".git"))
	return w.modes[dir] == ModeGitlink || !errors.Is(err, fs.ErrNotExist) && !isAbsent(err)
}
