package skill

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"forge/gitstore/fault"
)

// SetBody returns the file with another body. Byte order mark, front matter
// and the two `---` lines keep their bytes, also if the front matter is no
// valid YAML. The body is taken as it is; [ToEnding] adapts its line endings
// to [Document.Ending]. A file that may not be rewritten, and a body that
// would be read as front matter, is a fault of kind Refused.
//
// Source: skill-format.md R-SF-R-4, R-SF-E-1; DECISIONS C15.
func (d Document) SetBody(body []byte) ([]byte, error) {
	if err := d.refuse(); err != nil {
		return nil, err
	}
	edited := d
	edited.Body = slices.Clone(body)
	if len(edited.closing) > 0 && endingOf(edited.closing) == "" && len(body) > 0 {
		edited.closing = slices.Concat(d.closing, []byte(d.Ending))
	}
	after, _ := Parse(edited.Bytes())
	if !bytes.Equal(after.FrontMatter, d.FrontMatter) || !bytes.Equal(after.Body, body) {
		return nil, fault.New(fault.Refused, "", "the new body would be read as front matter")
	}
	return edited.Bytes(), nil
}

// SetDescription returns the file with another description; see
// [Document.SetField].
func (d Document) SetDescription(description string) ([]byte, error) {
	return d.SetField("description", description)
}

// SetField returns the file with another string value for one top-level key;
// a missing key is added before the closing line. The value is trimmed. It
// keeps its style where it fits, and the bytes of what it has in common with
// the old value at its begin; else it is double-quoted on one line. No other
// byte changes.
//
// The result is read again: exactly this value differs, or the edit is a fault
// of kind Refused. So is every edit of a front matter that is no valid YAML,
// and of a value that is no scalar.
//
// Source: skill-format.md R-SF-E-1 to R-SF-E-4.
func (d Document) SetField(key, value string) ([]byte, error) {
	if err := d.refuse(); err != nil {
		return nil, err
	}
	if len(d.closing) == 0 || !d.valid {
		return nil, fault.New(fault.Refused, "repair the front matter first", "set %q: the front matter is missing or no valid YAML", key)
	}
	if !utf8.ValidString(value) {
		return nil, fault.New(fault.Usage, "", "set %q: the value is not valid UTF-8", key)
	}
	value = strings.TrimSpace(value)
	field, present := d.Field(key)
	if present && field.Kind == String && field.Value == value {
		return d.Bytes(), nil
	}
	for _, front := range d.candidates(key, value, field, present) {
		edited := d
		edited.FrontMatter = front
		if data := edited.Bytes(); d.differsOnlyIn(key, value, data) {
			return data, nil
		}
	}
	return nil, fault.New(fault.Refused, "edit the file by hand", "set %q: the value cannot be replaced without touching others", key)
}

// refuse is why the file may not be rewritten, as a fault.
func (d Document) refuse() error {
	if d.locked == nil {
		return nil
	}
	return &fault.Error{Kind: fault.Refused, Msg: "edit the skill: " + d.locked.Error(), Hint: "repair the file by hand", Err: d.locked}
}

// differsOnlyIn reads an edited file again and compares (skill-format.md
// R-SF-E-4).
func (d Document) differsOnlyIn(key, value string, data []byte) bool {
	after, _ := Parse(data)
	if !after.valid || !bytes.Equal(after.Body, d.Body) || !bytes.Equal(after.closing, d.closing) || !bytes.Equal(after.head, d.head) {
		return false
	}
	want := slices.Clone(d.Fields)
	set := Field{Key: key, Kind: String, Value: value}
	if i := slices.IndexFunc(want, func(f Field) bool { return f.Key == key }); i >= 0 {
		want[i] = set
	} else {
		want = append(want, set)
	}
	got, _ := after.Field(key)
	return slices.EqualFunc(after.Fields, want, Field.sameValue) && (got.Style != Plain || !isOldBoolean(value))
}

// candidates are the front matters that may hold the new value, best first.
func (d Document) candidates(key, value string, field Field, present bool) [][]byte {
	switch {
	case d.flow:
		return nil
	case !present:
		return d.appended(key, value)
	case field.empty():
		return d.filled(field, value)
	case field.End == 0:
		return nil
	}
	start := len(d.head)
	before, raw, after := d.FrontMatter[:field.Start-start], d.FrontMatter[field.Start-start:field.End-start], d.FrontMatter[field.End-start:]
	var all [][]byte
	for _, text := range restyled(string(raw), value, field, d.Ending) {
		all = append(all, slices.Concat(before, []byte(text), after))
	}
	return all
}

// appended adds a line with the key before the closing line (skill-format.md
// R-SF-E-3).
func (d Document) appended(key, value string) [][]byte {
	front := slices.Clone(d.FrontMatter)
	indent := 0
	if len(d.Fields) > 0 {
		indent = d.Fields[0].indent
	}
	if n := len(front); n > 0 && front[n-1] != '\n' && front[n-1] != '\r' {
		front = append(front, d.Ending...)
	}
	return [][]byte{fmt.Appendf(front, "%s%s: %s%s", strings.Repeat(" ", indent), scalarText(key), scalarText(value), d.Ending)}
}

// filled puts a value behind the colon of a key that has none.
func (d Document) filled(field Field, value string) [][]byte {
	at := field.keyAt - len(d.head)
	if at < 0 || at >= len(d.FrontMatter) {
		return nil
	}
	if c := d.FrontMatter[at]; c == '"' {
		at = quotedEnd(d.FrontMatter, at, DoubleQuoted)
	} else if c == '\'' {
		at = quotedEnd(d.FrontMatter, at, SingleQuoted)
	}
	line := d.FrontMatter[at : at+lineLength(d.FrontMatter[at:])]
	colon := valueColon(chomp(line))
	if colon < 0 {
		return nil
	}
	at += colon + 1
	return [][]byte{slices.Concat(d.FrontMatter[:at], []byte(" "+scalarText(value)), d.FrontMatter[at:])}
}

// restyled writes a new value for a scalar, best first: in the same style with
// the raw bytes of the part that stays, in the same style anew, double-quoted.
func restyled(raw, value string, field Field, ending string) []string {
	var all []string
	kept, rest := keep(raw, field, value)
	switch field.Style {
	case Plain:
		if plainSafe(value) {
			all = append(all, kept+rest, value)
		}
	case SingleQuoted:
		if isPrintable(value) {
			all = append(all, kept+strings.ReplaceAll(rest, "'", "''")+"'", "'"+strings.ReplaceAll(value, "'", "''")+"'")
		}
	case DoubleQuoted:
		all = append(all, kept+escapeDouble(rest)+`"`)
	case Folded, Literal:
		all = append(all, blockTexts(raw, kept, rest, value, field, ending)...)
	case Block, Flow, Alias:
		return nil
	}
	return append(all, quoteDouble(value))
}

// blockTexts writes a new value as a block scalar of the same style.
func blockTexts(raw, kept, rest, value string, field Field, ending string) []string {
	if value == "" || !isPrintable(strings.ReplaceAll(value, "\n", "")) {
		return nil
	}
	header, content, _ := strings.Cut(raw, "\n")
	if ending == CR {
		header, content, _ = strings.Cut(raw, CR)
	}
	indent := content[:len(content)-len(strings.TrimLeft(content, " "))]
	if indent == "" {
		indent = strings.Repeat(" ", field.indent+2)
	}
	var all []string
	folds := func(text string) bool { return field.Style == Folded && strings.Contains(text, "\n") }
	if kept != "" && !folds(rest) {
		all = append(all, kept+strings.ReplaceAll(rest, "\n", ending+indent))
	}
	if !folds(value) {
		all = append(all, strings.TrimRight(header, "\r")+ending+indent+strings.ReplaceAll(value, "\n", ending+indent))
	}
	return all
}

// keep splits a new value in the part that the old one begins with, as the raw
// bytes that hold it, and the rest. Raw and value are compared by their
// characters that are no white space: folding changes only that.
func keep(raw string, field Field, value string) (kept, rest string) {
	common := commonPrefix(field.Value, value)
	for common > 0 {
		r, size := utf8.DecodeLastRuneInString(value[:common])
		if !unicode.IsSpace(r) {
			break
		}
		common -= size
	}
	count := 0
	for _, r := range value[:common] {
		if !unicode.IsSpace(r) {
			count++
		}
	}
	at, err := rawOffset([]byte(raw), field.Style, count)
	if err != nil {
		return "", value
	}
	return raw[:at], value[common:]
}

// commonPrefix is how many bytes of whole characters two texts begin with.
func commonPrefix(a, b string) int {
	n := 0
	for i, r := range a {
		size := utf8.RuneLen(r)
		if size < 0 || !strings.HasPrefix(b[i:], a[i:i+size]) {
			break
		}
		n = i + size
	}
	return n
}

// rawOffset is the offset in a raw scalar behind that many characters that are
// no white space.
func rawOffset(raw []byte, style Style, count int) (int, error) {
	at := 0
	switch style {
	case SingleQuoted, DoubleQuoted:
		at = 1
	case Literal, Folded:
		at = yamlLineLength(raw)
	case Plain, Block, Flow, Alias:
	}
	if count == 0 && (style == Literal || style == Folded) {
		return 0, errors.New("nothing is kept")
	}
	for count > 0 {
		if at >= len(raw) {
			return 0, errors.New("the value is longer than its bytes")
		}
		r, size := utf8.DecodeRune(raw[at:])
		isText := !unicode.IsSpace(r)
		switch {
		case style == SingleQuoted && r == '\'':
			size = 2
		case style == DoubleQuoted && r == '\\':
			size, r = escapeLength(raw[at:])
			isText = !unicode.IsSpace(r)
		}
		if isText {
			count--
		}
		at += size
	}
	return min(at, len(raw)), nil
}
