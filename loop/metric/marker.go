package metric

import (
	"bytes"
	"math/big"

	"forge/loop/verdict"
)

// keyword starts a marker line.
const keyword = "METRIC"

// markers is what the METRIC lines of an output say.
type markers struct {
	values map[string]*big.Rat
	last   string // the name of the last one
}

// readMarkers collects the markers and stops at the first line that is no
// marker although it starts like one, or that contradicts an earlier one
// (loop.md R-METRIC-2 to R-METRIC-4).
func readMarkers(output []byte) (markers, error) {
	found := markers{values: map[string]*big.Rat{}}
	for number := 1; len(output) > 0; number++ {
		var line []byte
		line, output = nextLine(output)
		if !startsLikeMarker(line) {
			continue
		}
		name, value, ok := parseMarker(line)
		if !ok {
			return markers{}, unreadable(ErrGrammar, "a marker is the whole line METRIC name=number",
				"line %d starts like a METRIC line and is not one: %q", number, cut(string(trimBlanks(line))))
		}
		if before, ok := found.values[name]; ok && before.Cmp(value) != 0 {
			return markers{}, unreadable(ErrValues, "print each METRIC name once", "line %d: METRIC %s is %s, and was %s before",
				number, cut(name), verdict.Shortest(value), verdict.Shortest(before))
		}
		found.values[name] = value
		found.last = name
	}
	return found, nil
}

// startsLikeMarker reports whether a line has, after spaces or tabs, the
// letters METRIC not followed by an ASCII letter, digit or underscore
// (R-METRIC-3).
func startsLikeMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(trimBlanks(line), []byte(keyword))
	return ok && (len(rest) == 0 || !(isLetter(rest[0]) || isDigit(rest[0]) || rest[0] == '_'))
}

// parseMarker reads a line that starts like a marker by R-METRIC-2.
func parseMarker(line []byte) (name string, value *big.Rat, ok bool) {
	rest := trimBlanks(line)[len(keyword):]
	after := trimBlanks(rest)
	if len(after) == len(rest) {
		return "", nil, false
	}
	left, right, ok := bytes.Cut(after, []byte("="))
	if !ok {
		return "", nil, false
	}
	name = string(bytes.TrimRight(left, blanks))
	if !isName(name) {
		return "", nil, false
	}
	value, err := verdict.ParseNumber(string(bytes.Trim(right, blanks)))
	return name, value, err == nil
}

// isName reports whether a text is a metric's name: [A-Za-z0-9_.-]+.
func isName(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && !isDigit(c) && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return text != ""
}

// isLetter reports whether c is an ASCII letter.
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
