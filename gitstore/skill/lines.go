package skill

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"
)

// Line endings of a file (skill-format.md R-SF-R-2).
const (
	LF   = "\n"
	CRLF = "\r\n"
	CR   = "\r"
)

// lines yields the offset of each line of data and the line with its ending.
// LF, CR LF and a lone CR end a line.
func lines(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for start := 0; start < len(data); {
			end := start + lineLength(data[start:])
			if !yield(start, data[start:end]) {
				return
			}
			start = end
		}
	}
}

// lineLength is the length of the first line with its ending.
func lineLength(data []byte) int {
	end := bytes.IndexAny(data, "\r\n")
	if end < 0 {
		return len(data)
	}
	return end + len(endingAt(data[end:]))
}

// endingAt is the line ending that data begins with, or "".
func endingAt(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte(CRLF)):
		return CRLF
	case len(data) > 0 && (data[0] == '\n' || data[0] == '\r'):
		return string(data[:1])
	}
	return ""
}

// endingOf is the ending of a line, "" if it has none.
func endingOf(line []byte) string { return string(line[len(chomp(line)):]) }

// chomp returns a line without its ending.
func chomp(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// isBlank reports a line of nothing but spaces and tabs.
func isBlank(line []byte) bool { return len(bytes.Trim(chomp(line), " \t")) == 0 }

// dominantEnding is the most frequent line ending of data, LF if there is
// none. mixed says that there is more than one kind.
func dominantEnding(data []byte) (ending string, mixed bool) {
	crlf := bytes.Count(data, []byte(CRLF))
	lf := bytes.Count(data, []byte(LF)) - crlf
	cr := bytes.Count(data, []byte(CR)) - crlf
	mixed = crlf > 0 && lf+cr > 0 || lf > 0 && cr > 0
	switch {
	case crlf > lf && crlf >= cr:
		return CRLF, mixed
	case cr > lf:
		return CR, mixed
	}
	return LF, mixed
}

// ToEnding rewrites every line ending of a text.
func ToEnding(text, ending string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, CRLF, LF), CR, LF)
	if ending == LF {
		return text
	}
	return strings.ReplaceAll(text, LF, ending)
}

// position returns line and column of a byte offset, both from 1, the column
// in code points.
func position(data []byte, offset int) (line, column int) {
	offset = min(max(offset, 0), len(data))
	line = 1
	start := 0
	for at, text := range lines(data) {
		if end := at + len(text); offset < end || endingOf(text) == "" {
			start = at
			break
		}
		line++
		start = at + len(text)
	}
	text := bytes.TrimPrefix(data[start:offset], []byte(bom))
	if start > 0 {
		text = data[start:offset]
	}
	return line, utf8.RuneCount(text) + 1
}
