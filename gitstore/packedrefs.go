package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// packedRefs is the content of packed-refs, sorted by name, and what tells the
// file it was read from apart from a later one.
type packedRefs struct {
	refs  []Ref
	stamp fileStamp
}

// fileStamp tells two states of a file apart without reading it. packed-refs
// is always replaced by renaming a new file over it, so its inode changes.
type fileStamp struct {
	size  int64
	time  time.Time
	inode uint64
}

func stampOf(info fs.FileInfo) fileStamp {
	return fileStamp{info.Size(), info.ModTime(), inodeOf(info)}
}

// packedRefs returns the packed refs as they are now; the file is read again
// only when it was replaced.
func (r *Repo) packedRefs() (packedRefs, error) {
	r.packedMu.Lock()
	defer r.packedMu.Unlock()
	path := filepath.Join(r.commonDir, "packed-refs")
	if info, err := os.Stat(path); err == nil && r.packed.stamp == stampOf(info) {
		return r.packed, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		r.packed = packedRefs{}
		return r.packed, nil
	}
	if err != nil {
		return packedRefs{}, fmt.Errorf("read packed-refs: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return packedRefs{}, fmt.Errorf("read packed-refs: %w", err)
	}
	stamp := stampOf(info)
	data := make([]byte, info.Size())
	if _, err := file.ReadAt(data, 0); err != nil {
		return packedRefs{}, fmt.Errorf("read packed-refs: %w", err)
	}
	refs, err := parsePackedRefs(string(data))
	if err != nil {
		return packedRefs{}, fmt.Errorf("read packed-refs: %w", err)
	}
	r.packed = packedRefs{refs, stamp}
	return r.packed, nil
}

// parsePackedRefs reads the lines "HASH NAME" of packed-refs; the header and
// the peeled values of tags are passed over. The result is sorted by name.
func parsePackedRefs(text string) ([]Ref, error) {
	var refs []Ref
	for number := 1; text != ""; number++ {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			return nil, fmt.Errorf("line %d has no end", number)
		}
		text = rest
		if strings.HasPrefix(line, "#") {
			continue
		}
		peeled := strings.HasPrefix(line, "^")
		hash, name, _ := strings.Cut(strings.TrimPrefix(line, "^"), " ")
		id, ok := parseHash(hash)
		switch {
		case !ok || peeled != (name == "") || strings.ContainsAny(name, "\x00\r"):
			return nil, fmt.Errorf("line %d is malformed", number)
		case !peeled:
			refs = append(refs, Ref{name, id})
		}
	}
	byName := func(a, b Ref) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(refs, byName) {
		slices.SortStableFunc(refs, byName)
	}
	return refs, nil
}

// find returns the packed value of a ref.
func (p packedRefs) find(name string) (Hash, bool) {
	i, found := slices.BinarySearchFunc(p.refs, name, func(ref Ref, name string) int { return strings.Compare(ref.Name, name) })
	if !found {
		return "", false
	}
	return p.refs[i].Hash, true
}

// withPrefix returns the packed refs whose name starts with prefix.
func (p packedRefs) withPrefix(prefix string) []Ref {
	start, _ := slices.BinarySearchFunc(p.refs, prefix, func(ref Ref, name string) int { return strings.Compare(ref.Name, name) })
	end := start
	for end < len(p.refs) && strings.HasPrefix(p.refs[end].Name, prefix) {
		end++
	}
	return p.refs[start:end]
}
