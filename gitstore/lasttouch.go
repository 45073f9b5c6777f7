package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// touches remembers answers of [Repo.LastTouch] for one tip.
type touches struct {
	mu    sync.Mutex
	tip   Hash
	known map[string]Hash
}

// LastTouch returns the newest commit on the first-parent line of tip that
// changed anything at or below a path, its removal included. git answers where
// it is installed, else the line is walked; the answer is the same, and is
// kept as long as the same tip is asked about.
//
// A path that was never there wraps [ErrNotFound]. If the history that would
// tell is beyond a shallow boundary, that is a fault of kind Usage.
//
// Source: gitstore.md R-TREE-5.
func (r *Repo) LastTouch(ctx context.Context, tip Hash, path string) (Hash, error) {
	r.touched.mu.Lock()
	defer r.touched.mu.Unlock()
	if r.touched.tip != tip {
		r.touched.tip, r.touched.known = tip, map[string]Hash{}
	}
	if commit, known := r.touched.known[path]; known {
		return commit, nil
	}
	commit, err := r.askLastTouch(ctx, tip, path)
	if errors.Is(err, errNoGit) {
		commit, err = r.walkLastTouch(ctx, tip, path)
	}
	if err != nil {
		return "", fmt.Errorf("find the last change of %q: %w", path, err)
	}
	if commit == "" {
		return "", fmt.Errorf("find the last change of %q: %w", path, ErrNotFound)
	}
	r.touched.known[path] = commit
	return commit, nil
}

// askLastTouch asks git, which is ten times faster.
func (r *Repo) askLastTouch(ctx context.Context, tip Hash, path string) (Hash, error) {
	log := func(args ...string) (string, error) {
		args = append([]string{"--literal-pathspecs"}, args...)
		result, err := r.git(ctx, gitCall{Args: args, Env: []string{"GIT_NO_REPLACE_OBJECTS=1"}})
		if err != nil {
			return "", err
		}
		if !result.OK() {
			return "", gitFailure(args[1], result)
		}
		return strings.TrimSpace(string(result.Stdout)), nil
	}
	line, err := log("log", "-1", "--first-parent", "--no-show-signature", "--format=%H", "--end-of-options", string(tip), "--", rootPath(path))
	if err != nil || line == "" {
		return "", err
	}
	commit, ok := parseHash(line)
	if !ok {
		return "", fmt.Errorf("git log printed %.60q", line)
	}
	shallow, err := r.shallow()
	if err != nil || !shallow[commit] {
		return commit, err
	}
	// git takes the boundary for the beginning, where everything is new.
	depth, err := log("rev-list", "--count", "--first-parent", "--end-of-options", string(tip))
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(depth)
	if err != nil {
		return "", fmt.Errorf("git rev-list printed %.60q", depth)
	}
	return "", shallowEnd(n)
}

// LastTouches is [Repo.LastTouch] for many paths in one walk over the history:
// one call for a thousand skills instead of a thousand. A path that was never
// there, or whose last change lies beyond a shallow boundary, is left out.
func (r *Repo) LastTouches(ctx context.Context, tip Hash, paths []string) (map[string]Hash, error) {
	w := &touchWalk{wanted: map[string]bool{}, found: map[string]Hash{}}
	for _, path := range paths {
		w.wanted[path] = true
	}
	shallow, err := r.shallow()
	if err != nil {
		return nil, err
	}
	w.beyond = shallow
	err = w.ask(ctx, r, tip)
	if errors.Is(err, errNoGit) {
		err = w.walk(ctx, r, tip)
	}
	if err != nil {
		return nil, fmt.Errorf("find the last changes: %w", err)
	}
	return w.found, nil
}

// touchWalk goes over the history, newest first.
type touchWalk struct {
	wanted map[string]bool
	found  map[string]Hash
	beyond map[Hash]bool // commits that seem to hold everything for the first time
}

// saw notes that a commit changed a file.
func (w *touchWalk) saw(commit Hash, file string) {
	for path := file; ; path = path[:strings.LastIndexByte(path, '/')] {
		if _, known := w.found[path]; w.wanted[path] && !known {
			w.found[path] = commit
		}
		if !strings.Contains(path, "/") {
			break
		}
	}
	if _, known := w.found[""]; w.wanted[""] && !known {
		w.found[""] = commit
	}
}

// maxTouchLog bounds the output of the one git log, in bytes.
const maxTouchLog = 1 << 30

// ask lets git go over the history.
func (w *touchWalk) ask(ctx context.Context, r *Repo, tip Hash) error {
	const mark = "\x01"
	result, err := r.git(ctx, gitCall{
		Args: []string{
			"log", "--first-parent", "-m", "--no-renames", "--name-only", "-z", "--no-show-signature",
			"--format=%x01%H", "--end-of-options", string(tip), "--",
		},
		Env: []string{"GIT_NO_REPLACE_OBJECTS=1"}, Limit: maxTouchLog,
	})
	if err != nil {
		return err
	}
	if !result.OK() {
		return gitFailure("log", result)
	}
	var commit Hash
	for field := range strings.SplitSeq(string(result.Stdout), "\x00") {
		field = strings.TrimPrefix(field, "\n")
		if name, ok := strings.CutPrefix(field, mark); ok {
			if id, ok := parseHash(name); ok {
				commit = id
				continue
			}
		}
		if field != "" && !w.beyond[commit] {
			w.saw(commit, field)
		}
	}
	return nil
}

// walk goes over the history until everything is found.
func (w *touchWalk) walk(ctx context.Context, r *Repo, tip Hash) error {
	return r.FirstParents(ctx, tip, func(c CommitInfo) (bool, error) {
		if w.beyond[c.Hash] {
			return false, nil
		}
		var parent Hash
		if len(c.Parents) > 0 {
			parent = c.Parents[0]
		}
		differences, err := r.DiffTrees(ctx, parent, c.Hash)
		for _, d := range differences {
			w.saw(c.Hash, d.Path)
		}
		return len(w.found) < len(w.wanted), err
	})
}

// rootPath is a path as git's command line wants it, "." for the root.
func rootPath(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// walkLastTouch walks the first-parent line until the entry changes.
func (r *Repo) walkLastTouch(ctx context.Context, tip Hash, path string) (Hash, error) {
	var found, newer Hash
	var at treeEntry // the entry in newer
	err := r.FirstParents(ctx, tip, func(c CommitInfo) (bool, error) {
		entry, err := r.lookup(ctx, c.Tree, path)
		if errors.Is(err, ErrNotFound) {
			entry, err = treeEntry{}, nil
		}
		if err != nil {
			return false, err
		}
		if newer != "" && (entry.id != at.id || entry.mode != at.mode) {
			found = newer
			return false, nil
		}
		newer, at = c.Hash, entry
		return true, nil
	})
	if err == nil && found == "" && at.id != plumbing.ZeroHash {
		found = newer // it came with the first commit
	}
	return found, err
}
