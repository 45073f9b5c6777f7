// Package tune is the proposer builtin:tune: it finds numbers in the files of
// a scope and searches them, one change of one number per experiment.
//
// [Propose] is a pure function. It keeps no state: what was tried before is
// replayed from its hypotheses, oldest first, and the next move follows. The
// same files and the same history give the same proposal, byte for byte, on
// every machine. All arithmetic is in decimals, never in floats.
//
// The numbers are those on lines marked with forge:tune, or between
// forge:tune begin and forge:tune end; without any marker in the scope, every
// number that looks like a setting.
//
// Source: seed 001, "Generic mode"; handoff.md section 5, R-TUNE-1 to
// R-TUNE-8.
package tune

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// File is a file of the scope at the run tip, protected ones already left
// out. Path is relative to the scope's root and separated by slashes.
type File struct {
	Path string
	Data []byte
}

// Tried is an earlier experiment of the run. Decision is KEEP where its change
// is in the tip, also if a person kept it against the verdict; every other
// word counts as a failure of that move (R-TUNE-4).
type Tried struct {
	Hypothesis string
	Decision   string
}

// Proposal is one number changed in one file.
type Proposal struct {
	Path         string
	Line         int    // of the number, from 1
	Old, New     string // the number as it stands, and as it is to be
	Data         []byte // the whole file with New in it
	Hypothesis   string // "set PATH:LINE from OLD to NEW" (R-TUNE-7)
	Category     string // "dir:" and the top-level directory of Path, "." for the root
	MutationType string // config_change
}

// ErrExhausted says that every number has been searched to its unit: a normal
// end of a run (handoff.md R-PROP-2).
var ErrExhausted = errors.New("no move left for any number of the scope")

// ErrNoNumber is the usage fault of a scope without a number (R-TUNE-8).
var ErrNoNumber error = &fault.Error{
	Kind: fault.Usage,
	Msg:  "no number to tune in the scope; mark lines with forge:tune, or choose another proposer",
}

// Propose returns the next move. The files are those of the run tip; tried is
// every experiment of the run, oldest first, and entries whose hypothesis has
// another form than R-TUNE-7 are passed over.
//
// It returns [ErrExhausted] when no number has a move left, [ErrNoNumber] when
// there is none, and a usage fault for a malformed marker.
func Propose(files []File, tried []Tried) (Proposal, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	literals, err := scan(files)
	if err != nil {
		return Proposal{}, err
	}
	if len(literals) == 0 {
		return Proposal{}, ErrNoNumber
	}
	p := choose(replay(literals, tried))
	if p == nil {
		return Proposal{}, ErrExhausted
	}
	return p.proposal(), nil
}

// choose picks a parameter that has a move (R-TUNE-6): the first never tried,
// else the one kept last of those whose last try was kept, else the first of
// those with the fewest tries; nil if none has a move.
func choose(parameters []*parameter) *parameter {
	var best *parameter
	for _, p := range parameters {
		if p.move == nil {
			continue
		}
		if p.tries == 0 {
			return p
		}
		if best == nil || p.before(best) {
			best = p
		}
	}
	return best
}

// before reports whether p is to be moved before q, which comes first in
// order. Both were tried.
func (p *parameter) before(q *parameter) bool {
	if p.keptAt != q.keptAt {
		return p.keptAt > q.keptAt // 0 if the last try was not kept
	}
	return p.tries < q.tries
}

// proposal is the parameter's next move, written into its file.
func (p *parameter) proposal() Proposal {
	l := p.literal
	text := p.grid.format(p.move)
	return Proposal{
		Path: l.file.Path, Line: l.line, Old: l.text, New: text,
		Data:         slices.Concat(l.file.Data[:l.start], []byte(text), l.file.Data[l.end:]),
		Hypothesis:   fmt.Sprintf("set %s from %s to %s", l.name(), l.text, text),
		Category:     "dir:" + topDirectory(l.file.Path),
		MutationType: "config_change",
	}
}

// topDirectory is the first directory of a path, "." for a file at the root
// (the categories of generic mode, roles.md section 3).
func topDirectory(path string) string {
	directory, _, inside := strings.Cut(path, "/")
	if !inside {
		return "."
	}
	return directory
}

// literal is a number in a file.
type literal struct {
	file       *File
	line       int    // from 1
	ordinal    int    // among the literals of its line, from 1
	start, end int    // in the file's bytes, its minus included
	text       string // as it stands
	value      *big.Rat
	signable   bool // a minus written here would belong to the number
	options    options
}

// name is the literal's place in a hypothesis: path:line, from the second of
// a line on with its ordinal.
func (l *literal) name() string {
	if l.ordinal == 1 {
		return fmt.Sprintf("%s:%d", l.file.Path, l.line)
	}
	return fmt.Sprintf("%s:%d#%d", l.file.Path, l.line, l.ordinal)
}

// isText reports whether a file is one that is searched: at most 1 MiB, and
// not binary (R-TUNE-1).
func (f *File) isText() bool {
	const most = 1 << 20
	return len(f.Data) <= most && bytes.IndexByte(f.Data, 0) < 0
}
