package skill

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// indicators are the characters that mean something to YAML at the begin of a
// value.
const indicators = "-?:,[]{}#&*!|>'\"%@`"

// properties are an anchor or a tag before a scalar.
var properties = pattern(`^(?:[&!][^ \t\r\n]*[ \t]+)+`)

// span finds the bytes of a scalar that begins at start in text, which ends
// where the next key begins. indent is that of its key. The range leaves out
// anchors, tags, comments, and blank lines behind the value; that of a block
// scalar begins with its header. ok is false where no scalar of that style
// begins there.
func span(text []byte, start int, style Style, indent int) (from, to int, ok bool) {
	if start < 0 || start >= len(text) {
		return 0, 0, false
	}
	start += len(properties().Find(text[start:]))
	switch style {
	case SingleQuoted, DoubleQuoted:
		to = quotedEnd(text, start, style)
	case Literal, Folded:
		if c := text[start]; c == '|' || c == '>' {
			to = blockEnd(text, start, indent)
		}
	case Plain:
		if c := text[start]; c != '#' && c != '\r' && c != '\n' {
			to = plainEnd(text, start, indent)
		}
	}
	return start, to, to > start
}

// quotedEnd is the offset behind the closing quote, or 0.
func quotedEnd(text []byte, start int, style Style) int {
	quote := byte('\'')
	if style == DoubleQuoted {
		quote = '"'
	}
	if text[start] != quote {
		return 0
	}
	for i := start + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// plainEnd is the offset behind the last character of a plain scalar.
func plainEnd(text []byte, start, indent int) int {
	end := start
	for at := start; at < len(text); {
		length := yamlLineLength(text[at:])
		line := bytes.TrimRight(text[at:at+length], yamlBreaks)
		value := bytes.TrimLeft(line, " \t")
		if at > start && len(value) > 0 && (len(line)-len(value) <= indent || value[0] == '#') {
			break // the next key, or a comment
		}
		comment := commentStartIn(line)
		if value := bytes.TrimRight(line[:comment], " \t"); len(value) > 0 {
			end = at + len(value)
		}
		if comment < len(line) {
			break
		}
		at += length
	}
	return end
}

// commentStartIn is the offset of a `#` behind a blank, else the length of the
// line.
func commentStartIn(line []byte) int {
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return len(line)
}

// blockEnd is the offset behind the last line of a block scalar that is not
// blank, without its ending; behind the header if there is none.
func blockEnd(text []byte, start, indent int) int {
	at := start + yamlLineLength(text[start:])
	end := start + len(bytes.TrimRight(text[start:at], yamlBreaks+" \t"))
	for at < len(text) {
		length := yamlLineLength(text[at:])
		line := bytes.TrimRight(text[at:at+length], yamlBreaks)
		if value := bytes.TrimLeft(line, " "); len(bytes.TrimLeft(value, "\t")) > 0 {
			if len(line)-len(value) <= indent {
				break
			}
			end = at + len(line)
		}
		at += length
	}
	return end
}

// plainSafe reports whether every YAML reader takes the text, written plain on
// one line, for this very string (skill-format.md R-SF-W-2, R-SF-W-4).
func plainSafe(value string) bool {
	switch {
	case value == "" || strings.TrimSpace(value) != value || !isPrintable(value),
		strings.ContainsRune(indicators, rune(value[0])),
		strings.Contains(value, ": ") || strings.HasSuffix(value, ":"),
		strings.Contains(value, " #") || strings.Contains(value, "---"),
		isOldBoolean(value) || strings.EqualFold(value, "y") || strings.EqualFold(value, "n"),
		oldNumber().MatchString(value):
		return false
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("k: "+value+"\n"), &n); err != nil || len(n.Content) != 1 || len(n.Content[0].Content) != 2 {
		return false
	}
	scalar := n.Content[0].Content[1]
	return kindOf(scalar) == String && scalar.Kind == yaml.ScalarNode && scalar.Value == value
}

// oldNumber is what YAML 1.1 takes for a number in base 60, and what some
// readers take for one although this package's library does not.
var oldNumber = pattern(`^[-+.]?[0-9][0-9_,.:eExXoO+-]*$`)

// isPrintable reports text on one line without characters that YAML wants
// escaped.
func isPrintable(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return needsEscape(r) || r == '\n' || r == utf8.RuneError })
}

// needsEscape reports control characters, line separators and the like.
func needsEscape(r rune) bool {
	return r != '\n' && r != ' ' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) && !unicode.Is(unicode.Cf, r) || r == '\ufeff'
}

// quoteDouble writes a value double-quoted on one line.
func quoteDouble(value string) string { return `"` + escapeDouble(value) + `"` }

// escapeDouble is a value as it stands between double quotes.
func escapeDouble(value string) string {
	var b strings.Builder
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case needsEscape(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		case needsEscape(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// scalarText writes a value plain where that is safe, else double-quoted
// (skill-format.md R-SF-W-2).
func scalarText(value string) string {
	if plainSafe(value) {
		return value
	}
	return quoteDouble(value)
}

// escapeLength is the length of the escape that raw begins with, and the
// character it stands for; 0 for none, as at a folded line break.
func escapeLength(raw []byte) (length int, r rune) {
	if len(raw) < 2 {
		return len(raw), 0
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[raw[1]]
	switch {
	case digits > 0 && len(raw) >= 2+digits:
		n, err := strconv.ParseUint(string(raw[2:2+digits]), 16, 32)
		if err != nil {
			return 2, 0
		}
		return 2 + digits, rune(n)
	case bytes.IndexByte([]byte(" \tntr_NLPfv\r\n"), raw[1]) >= 0:
		return 2, ' '
	case raw[1] == '0':
		return 2, 0
	}
	return 2, rune(raw[1])
}
