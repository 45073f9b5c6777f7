package gitstore

import (
	"context"
	"errors"
	"strings"

	"forge/gitstore/fault"
)

// maxStatus bounds the output of git status, in bytes.
const maxStatus = 256 << 20

// Dirty returns the paths with staged, unstaged or untracked changes, ignored
// files aside, for which match is true, in git's order. The user's index is
// only read. In a bare repository nothing is dirty. Without git forge looks
// for itself.
//
// Source: gitstore.md section 2, "target skill has uncommitted changes".
func (r *Repo) Dirty(ctx context.Context, match func(path string) bool) ([]string, error) {
	if r.workTree == "" {
		return nil, nil
	}
	result, err := r.git(ctx, gitCall{
		Args:  []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"},
		Env:   []string{"GIT_OPTIONAL_LOCKS=0"},
		Limit: maxStatus,
	})
	if errors.Is(err, errNoGit) {
		return r.dirtyWithoutGit(ctx, match)
	}
	if err != nil {
		return nil, err
	}
	if !result.OK() {
		return nil, fault.New(fault.Failed, "", "look for uncommitted changes: %w", gitFailure("status", result))
	}
	var dirty []string
	for record := range strings.SplitSeq(string(result.Stdout), "\x00") {
		if len(record) < len("XY P") {
			continue
		}
		if path := record[len("XY "):]; match(path) {
			dirty = append(dirty, path)
		}
	}
	return dirty, nil
}
