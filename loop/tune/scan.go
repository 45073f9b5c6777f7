package tune

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// mostUnmarked is how many numbers count in a scope without markers
// (R-TUNE-1).
const mostUnmarked = 64

// line is a line of a file with what its markers say.
type line struct {
	file    *File
	number  int // from 1
	start   int // in the file's bytes
	text    []byte
	markers []marker
	marked  bool
	options options
}

// scan returns the parameters of files that are sorted by path (R-TUNE-1):
// the numbers on marked lines if the scope holds a marker, else the first 64
// that [line.literals] finds anywhere.
func scan(files []File) ([]literal, error) {
	var lines []line
	marked := false
	for i := range files {
		f := &files[i]
		if !f.isText() {
			continue
		}
		found, err := f.lines()
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			marked = marked || len(l.markers) > 0
		}
		lines = append(lines, found...)
	}
	var literals []literal
	for _, l := range lines {
		if marked && !l.marked || !marked && l.isComment() {
			continue
		}
		literals = append(literals, l.literals()...)
		if !marked && len(literals) >= mostUnmarked {
			return literals[:mostUnmarked], nil
		}
	}
	return literals, nil
}

// lines splits a file and reads its markers. A block that is not closed, not
// opened or inside another one is a usage fault.
func (f *File) lines() ([]line, error) {
	const hint = "close each forge:tune begin with a forge:tune end of its own"
	var lines []line
	var block options
	open := 0 // the line of the begin whose end is still to come
	for number, at := 1, 0; at < len(f.Data); number++ {
		text, _, _ := bytes.Cut(f.Data[at:], []byte("\n"))
		l := line{file: f, number: number, start: at, text: text, marked: open > 0, options: block}
		at += len(text) + 1
		var err error
		if l.markers, err = findMarkers(text, f.Path, number); err != nil {
			return nil, err
		}
		for _, m := range l.markers {
			l.marked = m.word == ""
			switch {
			case m.word == "":
				l.options = m.options.over(block)
			case m.word == "begin" && open > 0:
				return nil, fault.New(fault.Usage, hint, "%s:%d: forge:tune begin inside the block of line %d", f.Path, number, open)
			case m.word == "begin":
				open, block = number, m.options
			case open == 0:
				return nil, fault.New(fault.Usage, hint, "%s:%d: forge:tune end without a begin", f.Path, number)
			default:
				open, block = 0, options{}
			}
		}
		lines = append(lines, l)
	}
	if open > 0 {
		return nil, fault.New(fault.Usage, hint, "%s:%d: forge:tune begin without an end", f.Path, open)
	}
	return lines, nil
}

// isComment reports whether a line begins as a comment does (R-TUNE-2).
func (l *line) isComment() bool {
	text := bytes.TrimLeft(l.text, " \t")
	for _, mark := range []string{"#", "//", "--", ";", "*", "/*", "<!--"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return true
		}
	}
	return false
}

// literals returns the numbers of a line (R-TUNE-2). On a line that is not
// marked, numbers in quotes are none; on one that is, letters and a percent
// sign may follow a number, and what stands in the marker is none.
func (l *line) literals() []literal {
	var found []literal
	for i := 0; i < len(l.text); {
		if end := l.passOver(i); end > i {
			i = end
			continue
		}
		end := numberEnd(l.text[i:]) + i
		if end == i {
			i++
			continue
		}
		if n, ok := l.literal(i, end); ok {
			n.ordinal = len(found) + 1
			found = append(found, n)
		}
		i = end
	}
	return found
}

// passOver returns where the marker or the quoted text that begins at i ends,
// or i.
func (l *line) passOver(i int) int {
	for _, m := range l.markers {
		if m.start == i {
			return m.end
		}
	}
	if q := l.text[i]; !l.marked && (q == '"' || q == '\'') {
		for n := i + 1; n < len(l.text); n++ {
			switch l.text[n] {
			case '\\':
				n++
			case q:
				return n + 1
			}
		}
	}
	return i
}

// numberEnd returns the length of the number that text begins with:
// [0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)? or \.[0-9]+; 0 if there is none.
func numberEnd(text []byte) int {
	whole := digitsEnd(text, 0)
	if whole == 0 {
		if text[0] != '.' {
			return 0
		}
		if n := digitsEnd(text, 1); n > 1 {
			return n
		}
		return 0
	}
	n := whole
	if n < len(text) && text[n] == '.' {
		if fraction := digitsEnd(text, n+1); fraction > n+1 {
			n = fraction
		}
	}
	return exponentEnd(text, n)
}

// exponentEnd returns the end of the exponent [eE][+-]?[0-9]+ that begins at
// from, or from.
func exponentEnd(text []byte, from int) int {
	if from == len(text) || text[from]|0x20 != 'e' {
		return from
	}
	sign := from + 1
	if sign < len(text) && (text[sign] == '+' || text[sign] == '-') {
		sign++
	}
	if end := digitsEnd(text, sign); end > sign {
		return end
	}
	return from
}

// digitsEnd returns the end of the ASCII digits that begin at from.
func digitsEnd(text []byte, from int) int {
	for from < len(text) && isDigit(text[from]) {
		from++
	}
	return from
}

// literal reads the number at start..end of the line, if its neighbours allow
// it: no letter, digit, underscore, point or dollar sign directly before or
// behind it.
func (l *line) literal(start, end int) (literal, bool) {
	if before, _ := utf8.DecodeLastRune(l.text[:start]); start > 0 && joins(before) {
		return literal{}, false
	}
	if l.joinedBehind(end) {
		return literal{}, false
	}
	signable := l.signable(start)
	if start > 0 && l.text[start-1] == '-' && l.signable(start-1) {
		start, signable = start-1, true
	}
	text := string(l.text[start:end])
	value, err := verdict.ParseNumber(text)
	if err != nil {
		return literal{}, false
	}
	return literal{
		file: l.file, line: l.number, start: l.start + start, end: l.start + end,
		text: text, value: value, signable: signable, options: l.options,
	}, true
}

// joinedBehind reports whether what follows a number makes it part of a word.
// On a marked line a unit of letters or percent signs may follow (30s, 64MB),
// if it is a word's end itself (0x1F is no number with a unit, and in .5e+3 the
// e is no unit either).
func (l *line) joinedBehind(end int) bool {
	rest := l.text[end:]
	if exponentEnd(rest, 0) > 0 {
		return true
	}
	for l.marked && len(rest) > 0 {
		r, n := utf8.DecodeRune(rest)
		if !unicode.IsLetter(r) && r != '%' {
			break
		}
		rest = rest[n:]
	}
	r, n := utf8.DecodeRune(rest)
	return n > 0 && joins(r)
}

// joins reports whether r directly beside a number makes it part of something
// else.
func joins(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' || r == '$'
}

// signable reports whether a minus at that place of the line belongs to the
// number behind it: the last other character before it opens or assigns
// something, or there is none.
func (l *line) signable(at int) bool {
	before := bytes.TrimRight(l.text[:at], " \t")
	return len(before) == 0 || bytes.IndexByte([]byte("=([{,:<>"), before[len(before)-1]) >= 0
}
