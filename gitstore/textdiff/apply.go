package textdiff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Tolerance says how exactly the lines of a patch must stand in the file.
type Tolerance int

const (
	// Strict compares bytes.
	Strict Tolerance = iota

	// Whitespace leaves white space at the end of lines, CR and the newline
	// included, out of the comparison. Lines that stay keep the bytes of the
	// file; added lines end as most lines of the file do.
	Whitespace
)

// Apply returns the content after the patch, given the content before; it
// leaves before as it is. A change of the mode or the name alone returns the
// content unchanged.
//
// A hunk stands where its header says, moved as far as the hunk before it was;
// else at the one place where its lines are. It errs, naming the hunk and the
// line, if there is no such place or more than one, and if the file is there
// but should be new, is not empty after its deletion, or is binary.
//
// Source: handoff.md R-SUB-2.
func (f FilePatch) Apply(before []byte, t Tolerance) ([]byte, error) {
	if f.Binary {
		return nil, errors.New("a binary change without data")
	}
	if f.New && len(before) > 0 {
		return nil, errors.New("the file to add is there already")
	}
	a := newApplier(before, t)
	for n, h := range f.hunks {
		if err := a.hunk(h); err != nil {
			return nil, fmt.Errorf("hunk %d (line %d of the patch): %w", n+1, h.line, err)
		}
	}
	after, err := a.finish()
	if err != nil {
		return nil, err
	}
	if f.Deleted && len(after) > 0 {
		return nil, errors.New("the file to delete has lines the patch does not have")
	}
	return after, nil
}

// applier goes through a file once, hunk by hunk.
type applier struct {
	tolerance Tolerance
	lines     []string // of the file, with their newlines
	keys      []string // what is compared of each
	ending    string   // of most lines; "" if it has none or does not matter
	out       []string
	next      int // the first line that is not in out yet
	shift     int // how far the last hunk stood from where it should
}

func newApplier(before []byte, t Tolerance) *applier {
	a := &applier{tolerance: t, lines: splitLines(before)}
	crlf, lf := 0, 0
	for _, line := range a.lines {
		a.keys = append(a.keys, a.key(line))
		if strings.HasSuffix(line, "\r\n") {
			crlf++
		} else if strings.HasSuffix(line, "\n") {
			lf++
		}
	}
	switch {
	case t == Strict:
	case crlf > lf:
		a.ending = "\r\n"
	case lf > 0:
		a.ending = "\n"
	}
	return a
}

// key returns what is compared of a line.
func (a *applier) key(line string) string {
	if a.tolerance == Whitespace {
		return strings.TrimRight(line, " \t\r\n\v\f")
	}
	return line
}

// hunk applies one hunk.
func (a *applier) hunk(h hunk) error {
	var old []string
	for _, line := range h.lines {
		if line.Old() {
			old = append(old, a.key(line.Line))
		}
	}
	at, err := a.place(h, old)
	if err != nil {
		return err
	}
	a.out = append(a.out, a.lines[a.next:at]...)
	for _, line := range h.lines {
		switch line.Op {
		case gitdiff.OpContext:
			a.out = append(a.out, a.lines[at])
			at++
		case gitdiff.OpDelete:
			at++
		case gitdiff.OpAdd:
			a.out = append(a.out, a.added(line.Line))
		}
	}
	a.next = at
	return nil
}

// place returns the index of the line at which the old lines of a hunk stand.
func (a *applier) place(h hunk, old []string) (int, error) {
	want := h.oldStart - 1 + a.shift
	if len(old) == 0 {
		want++ // the header names the line before
		if h.oldStart == 0 && len(a.lines) > 0 {
			return 0, errors.New("it begins an empty file, and the file is not empty")
		}
		if want < a.next || want > len(a.lines) {
			return 0, fmt.Errorf("no line %d to add lines after", want)
		}
		return want, nil
	}
	if want >= a.next && want+len(old) <= len(a.keys) && slices.Equal(a.keys[want:want+len(old)], old) {
		return want, nil
	}
	places := find(a.keys[a.next:], old, 2)
	switch len(places) {
	case 0:
		return 0, a.mismatch(want, old)
	case 1:
		at := a.next + places[0]
		a.shift = at - (h.oldStart - 1)
		return at, nil
	}
	return 0, fmt.Errorf("its lines are not at line %d but at line %d, line %d and maybe more",
		want+1, a.next+places[0]+1, a.next+places[1]+1)
}

// mismatch names the first line that differs where the hunk should stand.
func (a *applier) mismatch(want int, old []string) error {
	if want < a.next {
		return fmt.Errorf("its lines are nowhere behind line %d", a.next)
	}
	for i, line := range old {
		if want+i >= len(a.keys) {
			return fmt.Errorf("the file ends before line %d, which should be %q", want+i+1, line)
		}
		if a.keys[want+i] != line {
			return fmt.Errorf("line %d is %q and should be %q", want+i+1, a.keys[want+i], line)
		}
	}
	return nil // not reached: place compared the same lines
}

// added returns a line of the patch as it goes into the file.
func (a *applier) added(line string) string {
	text, ended := strings.CutSuffix(line, "\n")
	if !ended || a.ending == "" {
		return line
	}
	return strings.TrimSuffix(text, "\r") + a.ending
}

// finish returns the file. Only its last line may lack a newline; where the
// comparison overlooked that, the newline is added.
func (a *applier) finish() ([]byte, error) {
	out := append(a.out, a.lines[a.next:]...)
	for i, line := range out[:max(0, len(out)-1)] {
		if strings.HasSuffix(line, "\n") {
			continue
		}
		if a.tolerance == Strict {
			return nil, fmt.Errorf("line %d has no newline and is not the last", i+1)
		}
		out[i] = line + a.endingOr("\n")
	}
	return []byte(strings.Join(out, "")), nil
}

func (a *applier) endingOr(other string) string {
	if a.ending == "" {
		return other
	}
	return a.ending
}

// find returns the places of needle in lines, limit at most, overlapping ones
// too, in linear time (Knuth, Morris and Pratt).
func find(lines, needle []string, limit int) (places []int) {
	border := make([]int, len(needle)+1) // border[n]: the longest proper prefix that ends needle[:n]
	border[0] = -1
	extend := func(n int, line string) int {
		for n >= 0 && (n == len(needle) || needle[n] != line) {
			n = border[n]
		}
		return n + 1
	}
	for i := range needle {
		border[i+1] = extend(border[i], needle[i])
	}
	matched := 0
	for i, line := range lines {
		if matched = extend(matched, line); matched == len(needle) {
			if places = append(places, i+1-len(needle)); len(places) == limit {
				break
			}
		}
	}
	return places
}
