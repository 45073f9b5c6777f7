package gitstore

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// archiveStamp ends the name of an archived skill (gitstore.md R-ATOM-1).
var archiveStamp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-[0-9]{8}T[0-9]{6}Z$`)
})

// moveVerb is the word for a move: a skill that went to an archive, under the
// name it gets there, or any other.
func moveVerb(from, to string) string {
	if stamp, ok := strings.CutPrefix(path.Base(to), path.Base(from)); ok && archiveStamp().MatchString(stamp) {
		return "archive"
	}
	return "rename"
}

// moveOf returns the move that took a path away, alone or with a directory it
// was in.
func (s *mergeSide) moveOf(p string) (from, to string, moved bool) {
	for from := p; from != "."; from = path.Dir(from) {
		if to, moved := s.moves[from]; moved {
			return from, to, true
		}
	}
	return "", "", false
}

// findMoves finds the files that a side removed and has unchanged elsewhere,
// and the directories that went as a whole. Only equal content counts: a move
// with an edit is a removal and an addition.
func (r *Repo) findMoves(ctx context.Context, s *mergeSide) (map[string]string, error) {
	added := map[Hash][]string{}
	for _, d := range s.changes {
		if d.Before.Mode == 0 {
			added[d.After.Object] = append(added[d.After.Object], d.Path)
		}
	}
	moves, gone := map[string]string{}, map[string]bool{}
	for _, d := range s.changes {
		candidates := added[d.Before.Object]
		if d.After.Mode != 0 || len(candidates) == 0 || d.Before.Object == emptyBlob {
			continue
		}
		to := slices.MaxFunc(candidates, func(a, b string) int { return commonEnd(d.Path, a) - commonEnd(d.Path, b) })
		from := d.Path
		for range commonEnd(d.Path, to) {
			from, to = path.Dir(from), path.Dir(to)
		}
		// The largest directory of which nothing is left has moved.
		for rest := strings.Split(strings.TrimPrefix(d.Path, from+"/"), "/"); from != d.Path; rest = rest[1:] {
			if _, known := gone[from]; !known {
				exists, err := r.existsIn(ctx, s.root, from)
				if err != nil {
					return nil, err
				}
				gone[from] = !exists
			}
			if gone[from] {
				break
			}
			from, to = from+"/"+rest[0], to+"/"+rest[0]
		}
		if _, known := moves[from]; !known {
			moves[from] = to
		}
	}
	return moves, nil
}

// emptyBlob is the file without content, of which every tree may have many.
const emptyBlob Hash = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

// commonEnd counts the components at the end that two paths share, their first
// one aside.
func commonEnd(a, b string) int {
	n := 0
	for path.Base(a) == path.Base(b) {
		a, b = path.Dir(a), path.Dir(b)
		if a == "." || b == "." {
			break
		}
		n++
	}
	return n
}
