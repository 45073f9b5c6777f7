package gitstore

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"forge/gitstore/fault"
)

// indexEntry is a file of the index.
type indexEntry struct {
	path string
	mode Mode
	id   plumbing.Hash

	size    uint32    // of the file when it was last compared, modulo 2^32
	modTime time.Time // of that file

	unmerged bool // a stage of a conflict
	unseen   bool // skip-worktree or assume-unchanged: the file on disk is not looked at
}

// readIndex reads this worktree's index, for where git is missing; with git,
// git is asked. Without a file it is empty.
//
// Source: gitstore.md R-HOOK-3.
func (r *Repo) readIndex() ([]indexEntry, time.Time, error) {
	name := filepath.Join(r.gitDir, "index")
	info, err := os.Stat(name)
	if isAbsent(err) {
		return nil, time.Time{}, nil
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the index: %w", err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the index: %w", err)
	}
	entries, err := parseIndex(data)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the index %q: %w", name, err)
	}
	return entries, info.ModTime(), nil
}

// Sizes and bits of the index format, versions 2 to 4.
const (
	indexHeader  = 12                        // DIRC, version, number of entries
	indexStat    = 10 * 4                    // what lstat said
	indexFixed   = indexStat + sha1.Size + 2 // an entry up to its name
	assumeValid  = 0x8000                    // of the flags
	extendedFlag = 0x4000                    // more flags follow
	stageMask    = 0x3000                    // not 0: a side of a conflict
	skipWorktree = 0x4000                    // of the further flags
	maxNameStrip = 1 << 20                   // of a name in version 4; far above any path
)

// errIndex says that an index is damaged.
var errIndex = errors.New("it is damaged")

// parseIndex reads an index of version 2, 3 or 4. Every length is checked
// against the data. An extension that changes what the entries mean is a
// fault that names it.
func parseIndex(data []byte) ([]indexEntry, error) {
	if len(data) < indexHeader+sha1.Size || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	body, sum := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	if got := sha1.Sum(body); !bytes.Equal(got[:], sum) && !bytes.Equal(sum, make([]byte, sha1.Size)) { // zero: index.skipHash
		return nil, errIndex
	}
	version := binary.BigEndian.Uint32(data[4:])
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("its version is %d, want 2, 3 or 4", version)
	}
	p := indexParser{version: version, rest: body[indexHeader:]}
	var entries []indexEntry
	for range binary.BigEndian.Uint32(data[8:]) {
		entry, err := p.entry()
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	if err := p.extensions(); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.path == "" { // only a split index has these
			return nil, errIndex
		}
	}
	return entries, nil
}

// indexParser goes through the entries.
type indexParser struct {
	version uint32
	rest    []byte
	name    []byte // of the entry before: version 4 says what differs
}

func (p *indexParser) entry() (indexEntry, error) {
	if len(p.rest) < indexFixed {
		return indexEntry{}, errIndex
	}
	field := func(n int) uint32 { return binary.BigEndian.Uint32(p.rest[4*n:]) }
	flags := binary.BigEndian.Uint16(p.rest[indexFixed-2:])
	e := indexEntry{
		modTime: time.Unix(int64(field(2)), int64(field(3))), mode: Mode(field(6)), size: field(9),
		id:       plumbing.Hash(p.rest[indexStat : indexStat+sha1.Size]),
		unmerged: flags&stageMask != 0, unseen: flags&assumeValid != 0,
	}
	length := indexFixed
	if flags&extendedFlag != 0 {
		if length += 2; p.version < 3 || len(p.rest) < length {
			return indexEntry{}, errIndex
		}
		e.unseen = e.unseen || binary.BigEndian.Uint16(p.rest[length-2:])&skipWorktree != 0
	}
	err := p.takeName(length)
	e.path = string(p.name)
	return e, err
}

// takeName reads the name behind an entry's first bytes and goes on to the
// next entry.
func (p *indexParser) takeName(length int) error {
	kept := 0
	at := p.rest[length:]
	if p.version == 4 {
		strip, n := indexVarint(at)
		if n == 0 || strip > len(p.name) {
			return errIndex
		}
		kept, at, length = len(p.name)-strip, at[n:], length+n
	}
	end := bytes.IndexByte(at, 0)
	if end < 0 {
		return errIndex
	}
	p.name = append(p.name[:kept:kept], at[:end]...)
	if length += end + 1; p.version < 4 {
		length = (length + 7) / 8 * 8
	}
	if length > len(p.rest) {
		return errIndex
	}
	p.rest = p.rest[length:]
	return nil
}

// indexVarint reads git's offset encoding; n is 0 if there is none.
func indexVarint(data []byte) (value, n int) {
	for i, b := range data {
		value = value<<7 | int(b&0x7f)
		if value > maxNameStrip {
			return 0, 0
		}
		if b&0x80 == 0 {
			return value, i + 1
		}
		value++
	}
	return 0, 0
}

// extensions refuses what forge does not know and must not ignore: those in
// lower case.
func (p *indexParser) extensions() error {
	for rest := p.rest; len(rest) > 0; {
		if len(rest) < 8 {
			return errIndex
		}
		name, size := string(rest[:4]), binary.BigEndian.Uint32(rest[4:])
		if uint64(size) > uint64(len(rest)-8) {
			return errIndex
		}
		if name[0] < 'A' || name[0] > 'Z' {
			hint := "install git"
			switch name {
			case "link":
				hint += ", or git update-index --no-split-index"
			case "sdir":
				hint += ", or git sparse-checkout reapply --no-sparse-index"
			}
			return fault.New(fault.Usage, hint, "the index uses the %q extension", name)
		}
		rest = rest[8+size:]
	}
	return nil
}
