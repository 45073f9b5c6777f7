package metric

import "bytes"

const (
	escape = 0x1b
	bell   = 0x07
)

// stripEscapes removes ANSI sequences (loop.md R-METRIC-1): CSI, OSC and the
// other escapes. An OSC that its line does not end is removed to the end of
// that line. An escape character that starts none of them stays.
func stripEscapes(b []byte) []byte {
	next := bytes.IndexByte(b, escape)
	if next < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for next >= 0 {
		out = append(out, b[:next]...)
		b = b[next:]
		n := escapeLen(b)
		if n == 0 {
			out, n = append(out, escape), 1
		}
		b = b[n:]
		next = bytes.IndexByte(b, escape)
	}
	return append(out, b...)
}

// escapeLen returns the length of the sequence that b starts with, b[0] being
// an escape character, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case ']':
		return oscLen(b)
	case '[':
		n := skip(b, 2, 0x30, 0x3f)
		n = skip(b, n, 0x20, 0x2f)
		if n < len(b) && 0x40 <= b[n] && b[n] <= 0x7e {
			return n + 1
		}
	}
	n := skip(b, 1, 0x20, 0x2f)
	if n < len(b) && 0x30 <= b[n] && b[n] <= 0x7e {
		return n + 1
	}
	return 0
}

// oscLen returns the length of an operating system command: up to BEL, to
// escape and backslash, or to before the end of the line.
func oscLen(b []byte) int {
	for n := 2; n < len(b); n++ {
		switch b[n] {
		case bell:
			return n + 1
		case escape:
			if n+1 < len(b) && b[n+1] == '\\' {
				return n + 2
			}
		case '\n', '\r':
			return n
		}
	}
	return len(b)
}

// skip returns the first position from n on whose byte is not in low..high.
func skip(b []byte, n int, low, high byte) int {
	for n < len(b) && low <= b[n] && b[n] <= high {
		n++
	}
	return n
}

// nextLine cuts the first line off b. Lines end at CR LF, LF or a lone CR.
func nextLine(b []byte) (line, rest []byte) {
	for i, c := range b {
		switch {
		case c == '\n', c == '\r' && (i+1 == len(b) || b[i+1] != '\n'):
			return b[:i], b[i+1:]
		case c == '\r':
			return b[:i], b[i+2:]
		}
	}
	return b, nil
}

// blanks are the characters that a marker allows between its parts.
const blanks = " \t"

// trimBlanks removes spaces and tabs from the front.
func trimBlanks(b []byte) []byte { return bytes.TrimLeft(b, blanks) }

// cut shortens a text for an error of one line.
func cut(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
