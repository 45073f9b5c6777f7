package gitstore

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// CommitInfo is a commit, read.
type CommitInfo struct {
	Hash, Tree        Hash
	Parents           []Hash
	Author, Committer Signature
	Subject           string    // the first paragraph, on one line
	Body              string    // without forge's trailers and without a newline at the end
	Trailers          []Trailer // forge's, of the last paragraph (R-COM-2)
}

// Trailer returns the first value of a trailer, or "".
func (c CommitInfo) Trailer(key string) string {
	for _, t := range c.Trailers {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}

// ReadCommit reads a commit. One that is not there wraps [ErrNotFound].
func (r *Repo) ReadCommit(ctx context.Context, id Hash) (CommitInfo, error) {
	if _, ok := parseHash(string(id)); !ok {
		return CommitInfo{}, fmt.Errorf("read commit %q: %w", id, ErrNotFound)
	}
	found, err := r.readObject(ctx, plumbing.CommitObject, plumbing.NewHash(string(id)))
	if err != nil {
		return CommitInfo{}, err
	}
	return parseCommit(id, found.data)
}

// parseCommit reads a commit object. Headers forge does not know, such as a
// signature, are passed over.
func parseCommit(id Hash, data []byte) (CommitInfo, error) {
	c := CommitInfo{Hash: id}
	header, message, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.SplitSeq(header, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.Tree = Hash(value)
		case "parent":
			c.Parents = append(c.Parents, Hash(value))
		case "author":
			c.Author = parseSignature(value)
		case "committer":
			c.Committer = parseSignature(value)
		}
	}
	if _, ok := parseHash(string(c.Tree)); !ok {
		return CommitInfo{}, fmt.Errorf("commit %s is malformed: it names no tree", id)
	}
	for _, parent := range c.Parents {
		if _, ok := parseHash(string(parent)); !ok {
			return CommitInfo{}, fmt.Errorf("commit %s is malformed: parent %q", id, parent)
		}
	}
	c.Subject, c.Body, c.Trailers = parseMessage(message)
	return c, nil
}

// parseSignature reads "NAME <EMAIL> UNIX ZONE", as far as it can: old
// commits hold strange ones.
func parseSignature(text string) Signature {
	name, rest, _ := strings.Cut(text, "<")
	i := strings.LastIndexByte(rest, '>')
	if i < 0 {
		return Signature{Name: strings.TrimSpace(name)}
	}
	s := Signature{Name: strings.TrimSpace(name), Email: rest[:i]}
	seconds, zone, _ := strings.Cut(strings.TrimSpace(rest[i+1:]), " ")
	if unix, err := strconv.ParseInt(seconds, 10, 64); err == nil {
		location, ok := parseZone(zone)
		if !ok {
			location = time.UTC
		}
		s.When = time.Unix(unix, 0).In(location)
	}
	return s
}

// FirstParents calls visit for a commit and its first parents, newest first,
// until visit says false or the history ends. Where it ends only because the
// clone is shallow, that is a fault of kind Usage (gitstore.md section 2).
func (r *Repo) FirstParents(ctx context.Context, from Hash, visit func(CommitInfo) (bool, error)) error {
	shallow, err := r.shallow()
	if err != nil {
		return err
	}
	for n := 1; from != ""; n++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		c, err := r.ReadCommit(ctx, from)
		if err != nil {
			return err
		}
		more, err := visit(c)
		if err != nil || !more {
			return err
		}
		if shallow[from] && len(c.Parents) > 0 {
			return shallowEnd(n)
		}
		from = ""
		if len(c.Parents) > 0 {
			from = c.Parents[0]
		}
	}
	return nil
}

// shallow returns the commits whose parents this clone does not have.
func (r *Repo) shallow() (map[Hash]bool, error) {
	data, err := os.ReadFile(filepath.Join(r.commonDir, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the shallow boundary: %w", err)
	}
	boundary := map[Hash]bool{}
	for line := range strings.FieldsSeq(string(data)) {
		id, ok := parseHash(line)
		if !ok {
			return nil, fmt.Errorf("read the shallow boundary: %q is no commit", line)
		}
		boundary[id] = true
	}
	return boundary, nil
}

func shallowEnd(commits int) error {
	return fault.New(fault.Usage, "git fetch --unshallow", "history ends at a shallow boundary after %d commits", commits)
}

// IsAncestor reports whether old is new, or can be reached from it by any
// parents. If a shallow boundary hides the answer, that is a fault of kind
// Usage.
func (r *Repo) IsAncestor(ctx context.Context, old, new Hash) (bool, error) {
	if old == new {
		return true, nil
	}
	if _, err := r.ReadCommit(ctx, old); err != nil {
		return false, err
	}
	down, err := r.descend(ctx, new, old)
	if err != nil || down.found || len(down.cut) == 0 {
		return down.found, err
	}
	// What the boundary hides are ancestors of the commits at it. If old
	// descends from all of these, it cannot be one of theirs.
	up, err := r.descend(ctx, old, "")
	if err != nil {
		return false, err
	}
	for _, id := range down.cut {
		if !up.seen[id] {
			return false, shallowEnd(len(down.seen))
		}
	}
	return false, nil
}

// descent is a walk from a commit along all parents.
type descent struct {
	seen  map[Hash]bool
	cut   []Hash // commits at a shallow boundary that hides parents
	found bool   // what was looked for; the walk ended there
}

// descend walks, the latest commits first, until it meets a commit, if one is
// named.
func (r *Repo) descend(ctx context.Context, from, until Hash) (descent, error) {
	shallow, err := r.shallow()
	if err != nil {
		return descent{}, err
	}
	d := descent{seen: map[Hash]bool{from: true}}
	walk := &newestFirst{}
	push := func(id Hash) error {
		c, err := r.ReadCommit(ctx, id)
		if err == nil {
			heap.Push(walk, c)
		}
		return err
	}
	if err := push(from); err != nil {
		return d, err
	}
	for walk.Len() > 0 {
		if err := ctx.Err(); err != nil {
			return d, context.Cause(ctx)
		}
		c := heap.Pop(walk).(CommitInfo)
		if shallow[c.Hash] {
			if len(c.Parents) > 0 {
				d.cut = append(d.cut, c.Hash)
			}
			continue
		}
		for _, parent := range c.Parents {
			if d.found = parent == until; d.found {
				return d, nil
			}
			if d.seen[parent] {
				continue
			}
			d.seen[parent] = true
			if err := push(parent); err != nil {
				return d, err
			}
		}
	}
	return d, nil
}

// newestFirst is a heap of commits, the latest committed on top: an ancestor
// that is near is found without reading all of history.
type newestFirst []CommitInfo

func (h newestFirst) Len() int           { return len(h) }
func (h newestFirst) Less(i, j int) bool { return h[i].Committer.When.After(h[j].Committer.When) }
func (h newestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *newestFirst) Push(x any) { *h = append(*h, x.(CommitInfo)) }

// Pop implements [heap.Interface].
func (h *newestFirst) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
