package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// scopeWalk looks for the files of a scope.
type scopeWalk struct {
	repo  *Repo
	match Glob
	store func(object) error

	fileMode bool            // the file system has executable bits
	modes    map[string]Mode // of the paths known
	found    ScopeFiles
}

// prepare asks what is ignored, and reads the modes of the paths known.
func (w *scopeWalk) prepare(ctx context.Context, s Scope, known Hash) error {
	value, set := w.repo.config.get("core.filemode")
	w.fileMode = !set || configTrue(value)
	head, err := w.repo.Head(ctx)
	if err != nil {
		return err
	}
	w.modes = map[string]Mode{}
	for _, commit := range []Hash{head.Commit, known} {
		if commit == "" {
			continue
		}
		err := w.repo.Walk(ctx, commit, "", func(e Entry) error {
			w.modes[e.Path] = e.Mode
			return nil
		})
		if err != nil {
			return err
		}
	}
	if s.IncludeIgnored || s.Kind == ScopeFile && !isDir(w.repo.onDisk(s.Target)) {
		return nil
	}
	return w.askIgnored(ctx, s)
}

// askIgnored asks git which files and directories it ignores. A target that
// git ignores itself is meant as it is named.
func (w *scopeWalk) askIgnored(ctx context.Context, s Scope) error {
	if s.Kind == ScopeDirectory && s.Target != "." {
		result, err := w.repo.git(ctx, gitCall{Args: []string{"check-ignore", "--quiet", "--", s.Target}})
		if err != nil {
			return needGit(err, "telling ignored files")
		}
		if result.ExitCode == 0 {
			return nil
		}
	}
	result, err := w.repo.git(ctx, gitCall{
		Args: []string{
			"--literal-pathspecs", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--", s.start(),
		},
		Env: []string{"GIT_OPTIONAL_LOCKS=0"}, Limit: maxStatus,
	})
	if err != nil {
		return needGit(err, "telling ignored files")
	}
	if !result.OK() {
		return gitFailure("ls-files", result)
	}
	for p := range strings.SplitSeq(string(result.Stdout), "\x00") {
		if p != "" {
			w.found.ignored[strings.TrimSuffix(p, "/")] = true
		}
	}
	return nil
}

// entry looks at one file, link or directory.
func (w *scopeWalk) entry(ctx context.Context, p string, info fs.FileInfo) error {
	switch {
	case hidden(p), w.found.ignored[p]:
		return nil
	case info.IsDir():
		return w.dir(ctx, p)
	case !w.match.Match(p):
		return nil
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		w.found.Skipped = append(w.found.Skipped, p)
		return nil
	}
	return w.file(p, info)
}

func (w *scopeWalk) dir(ctx context.Context, p string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if w.nested(p) {
		w.found.Skipped = append(w.found.Skipped, p)
		return nil
	}
	entries, err := os.ReadDir(w.repo.onDisk(p))
	if err != nil {
		return err
	}
	dir := p
	if dir == "." {
		dir = ""
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went away meanwhile
		}
		if err == nil {
			err = w.entry(ctx, joinPath(dir, entry.Name()), info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file reads one file or link.
func (w *scopeWalk) file(p string, info fs.FileInfo) error {
	mode, err := modeOf(p, info)
	if err != nil {
		return err
	}
	if !w.fileMode && mode != ModeLink {
		mode = ModeFile
		if known := w.modes[p]; known.isFile() {
			mode = known
		}
	}
	if info.Size() > maxExported {
		return fault.New(fault.Refused, "", "%q has %d bytes, at most %d are kept", p, info.Size(), maxExported)
	}
	data, err := readFileOrLink(w.repo.onDisk(p), mode)
	if err != nil {
		return fmt.Errorf("read %q: %w", p, err)
	}
	blob := object{plumbing.BlobObject, data}
	id := Hash(plumbing.ComputeHash(blob.kind, blob.data).String())
	w.found.Files = append(w.found.Files, Entry{Path: p, Mode: mode, Object: id})
	w.found.Bytes += int64(len(data))
	w.found.stamps[p] = diskStampOf(info)
	return w.store(blob)
}

// finish sorts what was found and computes its tree.
func (f *ScopeFiles) finish() {
	slices.SortFunc(f.Files, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(f.Skipped)
	root := &treeNode{}
	for _, entry := range f.Files {
		root.add(entry.Path, entry)
	}
	id := root.encode(f)
	f.Tree = Hash(id.String())
}

// treeNode is a directory of a tree that is made from a list of files.
type treeNode struct {
	files []treeEntry
	dirs  map[string]*treeNode
}

func (n *treeNode) add(rest string, entry Entry) {
	name, below, isDir := strings.Cut(rest, "/")
	if !isDir {
		n.files = append(n.files, newTreeEntry(name, entry.Mode, plumbing.NewHash(string(entry.Object))))
		return
	}
	if n.dirs == nil {
		n.dirs = map[string]*treeNode{}
	}
	if n.dirs[name] == nil {
		n.dirs[name] = &treeNode{}
	}
	n.dirs[name].add(below, entry)
}

// encode appends the trees below and at n to those of f and returns its id.
func (n *treeNode) encode(f *ScopeFiles) plumbing.Hash {
	entries := n.files
	for _, name := range slices.Sorted(maps.Keys(n.dirs)) {
		entries = append(entries, newTreeEntry(name, ModeDir, n.dirs[name].encode(f)))
	}
	slices.SortFunc(entries, compareEntries)
	tree := object{plumbing.TreeObject, encodeTree(entries)}
	f.trees = append(f.trees, tree)
	return plumbing.ComputeHash(tree.kind, tree.data)
}
