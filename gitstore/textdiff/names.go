package textdiff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// devNull stands for a side that is not there.
const devNull = "/dev/null"

// escapes are the characters git writes with a letter, and the letters.
const (
	escaped = "\a\b\t\n\v\f\r\"\\"
	letters = `abtnvfr"\`
)

// quote returns a name as it stands in a header: as it is, or in double quotes
// with the escapes of C if it has characters that would be misread. Printable
// text in UTF-8 stays readable, which git reads as well.
func quote(name string) string {
	plain := func(r rune) bool {
		return r == ' ' || unicode.IsGraphic(r) && r != '"' && r != '\\' && r != utf8.RuneError
	}
	if strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(name); i++ {
		c := name[i]
		if n := strings.IndexByte(escaped, c); n >= 0 {
			b.WriteByte('\\')
			b.WriteByte(letters[n])
		} else if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unquote reads the quoted name that text begins with and returns what follows
// it.
func unquote(text string) (name, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			return b.String(), text[i+1:], nil
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		i++
		if i == len(text) {
			break
		}
		if n := strings.IndexByte(letters, text[i]); n >= 0 {
			b.WriteByte(escaped[n])
			continue
		}
		value, err := strconv.ParseUint(text[i:min(i+3, len(text))], 8, 8)
		if err != nil || i+3 > len(text) {
			return "", "", fmt.Errorf("unknown escape in quoted name %s", text)
		}
		b.WriteByte(byte(value))
		i += 2
	}
	return "", "", fmt.Errorf("quoted name without its end: %s", text)
}

// field reads the name on a "---", "+++", "rename from" or "rename to" line. A
// tab ends one that is not quoted; what follows, often a time, is the rest.
func field(text string) (name, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		return unquote(text)
	}
	name, rest, _ = strings.Cut(text, "\t")
	return name, rest, nil
}

// headerNames splits the two names of a "diff --git" line. Names with spaces
// that are not quoted can only be told apart where both sides are the same
// file; else ok is false.
func headerNames(text string) (from, to string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		from, rest, err := unquote(text)
		if err != nil {
			return "", "", false
		}
		to, _, err := field(strings.TrimLeft(rest, " "))
		return from, to, err == nil && to != ""
	}
	if at := strings.Index(text, ` "`); at >= 0 {
		to, rest, err := unquote(text[at+1:])
		return text[:at], to, err == nil && rest == ""
	}
	for at := range len(text) {
		if text[at] != ' ' {
			continue
		}
		from, to = text[:at], text[at+1:]
		if from == to || samePrefixed(from, to) {
			return from, to, true
		}
	}
	return "", "", false
}

// samePrefixed reports whether both are the same path behind "a/" and "b/", or
// behind the letters of git's diff.mnemonicPrefix: commit, index, work tree
// and object.
func samePrefixed(from, to string) bool {
	if len(from) < 3 || len(to) < 3 || from[1] != '/' || from[1:] != to[1:] {
		return false
	}
	switch from[:1] + to[:1] {
	case "ab", "iw", "ci", "cw", "ow":
		return true
	}
	return false
}

// strip takes the prefixes off the two names of a "diff --git" line.
func strip(from, to string) (string, string) {
	if samePrefixed(from, to) {
		return from[2:], to[2:]
	}
	return from, to
}

// cutPrefix takes a prefix off a name; the null device has none.
func cutPrefix(name, prefix string) string {
	if name == devNull {
		return name
	}
	return strings.TrimPrefix(name, prefix)
}
