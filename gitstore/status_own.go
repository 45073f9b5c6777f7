package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// ownStatus finds uncommitted changes without git: HEAD's tree against the
// index, the index against the files on disk, and files that neither the
// index nor a pattern of ignored files knows.
//
// A file that git wrote counts as unchanged, however git converted it, while
// nobody has touched it; and one of that size whose bytes are the committed
// ones but for CR LF at the ends of its lines: whether this person converts
// them is git's to know.
type ownStatus struct {
	repo  *Repo
	match func(path string) bool

	index   map[string]bool // every path of it, matching or not
	read    time.Time       // when the index was written
	modes   bool            // the file system has executable bits
	ignores *ignores
	dirty   []string
}

// dirtyWithoutGit is [Repo.Dirty] where git is missing (R-GIT-1).
func (r *Repo) dirtyWithoutGit(ctx context.Context, match func(path string) bool) ([]string, error) {
	entries, written, err := r.readIndex()
	if err != nil {
		return nil, err
	}
	s := &ownStatus{repo: r, match: match, index: map[string]bool{}, read: written}
	value, set := r.config.get("core.filemode")
	s.modes = !set || configTrue(value)
	if s.ignores, err = r.newIgnores(ctx); err != nil {
		return nil, err
	}
	head, err := s.committed(ctx)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		s.index[entry.path] = true
		if !match(entry.path) {
			continue
		}
		changed, err := s.changed(entry, head)
		if err != nil {
			return nil, err
		}
		if delete(head, entry.path); changed {
			s.dirty = append(s.dirty, entry.path)
		}
	}
	for path := range head { // committed, and no longer in the index
		s.dirty = append(s.dirty, path)
	}
	slices.Sort(s.dirty)
	s.dirty = slices.Compact(s.dirty) // the sides of a conflict
	if err := s.untracked(ctx, ""); err != nil {
		return nil, fmt.Errorf("look for untracked files: %w", err)
	}
	return s.dirty, nil
}

// committed lists the matching files of HEAD.
func (s *ownStatus) committed(ctx context.Context) (map[string]Entry, error) {
	found := map[string]Entry{}
	head, err := s.repo.Head(ctx)
	if err != nil || head.Commit == "" {
		return found, err
	}
	return found, s.repo.Walk(ctx, head.Commit, "", func(e Entry) error {
		if s.match(e.Path) {
			found[e.Path] = e
		}
		return nil
	})
}

// changed says whether a file of the index is not HEAD's, or the one on disk
// is not the index's.
func (s *ownStatus) changed(e indexEntry, head map[string]Entry) (bool, error) {
	if was, known := head[e.path]; e.unmerged || !known || was.Mode != e.mode || was.Object != Hash(e.id.String()) {
		return true, nil
	}
	if e.unseen || e.mode == ModeGitlink {
		return false, nil
	}
	info, err := os.Lstat(s.repo.onDisk(e.path))
	if isAbsent(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %q: %w", e.path, err)
	}
	mode, err := modeOf(e.path, info)
	switch {
	case err != nil: // a directory stands there
		return true, nil
	case mode != e.mode && (s.modes || mode == ModeLink || e.mode == ModeLink):
		return true, nil
	case uint32(info.Size()) != e.size && e.size != 0: // 0 also means that git is not sure
		return true, nil
	case info.ModTime().Equal(e.modTime) && e.modTime.Before(s.read) && e.size != 0:
		return false, nil // as git left it; one of the index's own instant may have changed since
	}
	data, err := readFileOrLink(s.repo.onDisk(e.path), mode)
	if err != nil {
		return false, fmt.Errorf("read %q: %w", e.path, err)
	}
	same := func(data []byte) bool { return plumbing.ComputeHash(plumbing.BlobObject, data) == e.id }
	return !same(data) && !same(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), nil
}

// untracked looks for files below a directory that the index does not know.
func (s *ownStatus) untracked(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := s.ignores.add(dir, s.repo.onDisk(joinPath(dir, ignoreFile))); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.repo.onDisk(dir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away meanwhile
		}
		return err
	}
	for _, entry := range entries {
		path := joinPath(dir, entry.Name())
		switch {
		case entry.Name() == ".git", s.ignores.ignored(path, entry.IsDir()):
		case !entry.IsDir():
			s.unknown(path, path)
		case exists(s.repo.onDisk(path) + "/.git"): // a repository of its own, or a submodule
			s.unknown(path, path+"/")
		default:
			if err := s.untracked(ctx, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// unknown notes what the index does not have, under the name git gives it.
func (s *ownStatus) unknown(path, name string) {
	if !s.index[path] && s.match(name) {
		s.dirty = append(s.dirty, name)
	}
}
