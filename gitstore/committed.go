package gitstore

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// maxPathspecs bounds the paths named on one command line of git.
const maxPathspecs = 500

// committedAt reports which of these files, by their content, some commit that
// is reachable from tip holds at that path.
func (r *Repo) committedAt(ctx context.Context, tip Hash, files map[string]Hash) (map[string]bool, error) {
	c := &committed{left: maps.Clone(files), found: map[string]bool{}}
	if tip == "" || len(files) == 0 {
		return c.found, nil
	}
	if err := c.look(ctx, r, tip); err != nil || len(c.left) == 0 {
		return c.found, err // most are as HEAD has them
	}
	err := c.ask(ctx, r, tip)
	if errors.Is(err, errNoGit) {
		err = c.walk(ctx, r, tip)
	}
	return c.found, err
}

// committed is a search for contents in history.
type committed struct {
	left  map[string]Hash
	found map[string]bool
}

func (c *committed) saw(path string, object Hash) {
	if want, wanted := c.left[path]; wanted && want == object {
		c.found[path] = true
		delete(c.left, path)
	}
}

// look compares the tree of one commit.
func (c *committed) look(ctx context.Context, r *Repo, commit Hash) error {
	for path := range c.left {
		entry, err := r.Lookup(ctx, commit, path)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		c.saw(path, entry.Object)
	}
	return nil
}

// ask lets git list every change of these paths.
func (c *committed) ask(ctx context.Context, r *Repo, tip Hash) error {
	args := []string{
		"--literal-pathspecs", "-c", "log.showRoot=true", "log", "-m", "--full-history", "--raw", "--no-abbrev", "--no-renames",
		"--no-show-signature", "-z", "--format=", "--end-of-options", string(tip), "--",
	}
	if len(c.left) <= maxPathspecs {
		for path := range c.left {
			args = append(args, path)
		}
	}
	result, err := r.git(ctx, gitCall{Args: args, Env: []string{"GIT_NO_REPLACE_OBJECTS=1"}, Limit: maxTouchLog})
	if err != nil {
		return err
	}
	if !result.OK() {
		return gitFailure("log", result)
	}
	var object Hash
	for field := range strings.SplitSeq(string(result.Stdout), "\x00") {
		field = strings.TrimLeft(field, "\n")
		if strings.HasPrefix(field, ":") && object == "" {
			parts := strings.Fields(field) // :100644 100644 OLD NEW M
			if len(parts) != 5 {
				return fmt.Errorf("git log printed %.60q", field)
			}
			object = Hash(parts[3])
			continue
		}
		if object != "" {
			c.saw(field, object)
			object = ""
		}
	}
	return nil
}

// walk reads every commit, newest first.
func (c *committed) walk(ctx context.Context, r *Repo, tip Hash) error {
	shallow, err := r.shallow()
	if err != nil {
		return err
	}
	todo, seen := &newestFirst{}, map[Hash]bool{}
	push := func(id Hash) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		info, err := r.ReadCommit(ctx, id)
		if err == nil {
			heap.Push(todo, info)
		}
		return err
	}
	err = push(tip)
	for err == nil && todo.Len() > 0 && len(c.left) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		commit := heap.Pop(todo).(CommitInfo)
		err = c.look(ctx, r, commit.Tree)
		for _, parent := range commit.Parents {
			if err == nil && !shallow[commit.Hash] {
				err = push(parent)
			}
		}
	}
	return err
}
