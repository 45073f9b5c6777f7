package skill

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// bom is the UTF-8 byte order mark.
const bom = "\ufeff"

// Document is a SKILL.md as it lies there. It holds the very bytes of the
// file, see [Document.Bytes], and what could be read of them.
type Document struct {
	Name                   string // trimmed; "" if missing or no string
	Description            string // trimmed, block scalars folded; "" if missing or no string
	DisableModelInvocation bool
	Fields                 []Field // the top level of the front matter in order; nil if it is no valid YAML

	FrontMatter []byte    // between the two `---` lines
	Body        []byte    // everything behind the closing line
	Ending      string    // the most frequent line ending
	Findings    []Finding // in the order of their places

	head    []byte // byte order mark and opening line; the whole file if it is not to be edited
	closing []byte // the closing line
	valid   bool   // the front matter is there and is YAML without duplicate keys
	flow    bool   // the front matter is one flow map
	locked  error  // why the file is never rewritten, or nil
}

// Parse reads a SKILL.md. The document is always usable as far as it goes:
// name and description of a front matter that is no valid YAML are read line
// by line, and the body stays editable. The error is the first finding of
// severity [Error], as a [Finding], or nil.
//
// Source: skill-format.md R-SF-R-1 to R-SF-R-8; curator.md RC-SKILL-4.
func Parse(data []byte) (Document, error) {
	data = bytes.Clone(data)
	r := reader{data: data}
	r.read()
	sortFindings(r.doc.Findings)
	return r.doc, Worst(r.doc.Findings)
}

// Bytes returns the file, byte for byte as it was read.
func (d Document) Bytes() []byte { return slices.Concat(d.head, d.FrontMatter, d.closing, d.Body) }

// Field returns the first top-level field of that key.
func (d Document) Field(key string) (Field, bool) {
	i := slices.IndexFunc(d.Fields, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return Field{}, false
	}
	return d.Fields[i], true
}

// BodyLine is the number of the body's first line in the file, from 1.
func (d Document) BodyLine() int {
	line, _ := position(d.Bytes(), len(d.head)+len(d.FrontMatter)+len(d.closing))
	return line
}

// Editable is nil if the file may be rewritten at all. Files that are not
// UTF-8, too large, never closed or a link checked out as text may not
// (skill-format.md R-SF-R-7, R-SF-L-1).
func (d Document) Editable() error { return d.locked }

// reader is one call of [Parse].
type reader struct {
	data []byte
	doc  Document
}

// add records a finding at a byte offset of the file.
func (r *reader) add(rule string, severity Severity, offset int, key, hint, format string, args ...any) {
	line, column := position(r.data, offset)
	r.doc.Findings = append(r.doc.Findings, Finding{
		Rule: rule, Severity: severity, Line: line, Column: column, Key: key, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

// lock keeps the whole file out of reach of edits.
func (r *reader) lock(why string) {
	r.doc.head, r.doc.FrontMatter, r.doc.closing, r.doc.Body = r.data, nil, nil, nil
	r.doc.locked = errors.New(why)
}

// read fills the document.
func (r *reader) read() {
	if len(r.data) > MaxFile {
		r.add("SF117", Error, 0, "", "move text into references/", "The front matter is too large or too deep to be read safely (the file has %d bytes of at most %d).", len(r.data), MaxFile)
		r.lock("the file is too large to be read")
		return
	}
	var mixed bool
	r.doc.Ending, mixed = dominantEnding(r.data)
	if r.doc.Ending != LF || mixed {
		r.add("SF502", Note, 0, "", "", "The file uses %s.", endingsName(r.doc.Ending, mixed))
	}
	start := 0
	if bytes.HasPrefix(r.data, []byte(bom)) {
		start = len(bom)
		r.add("SF501", Warning, 0, "", "remove the first three bytes", "The file has a byte order mark; two validators and an installer do not see the skill.")
	}
	r.doc.head, r.doc.Body = r.data[:start], r.data[start:]
	if r.split(start) {
		r.frontMatter()
	}
	if at := invalidUTF8(r.data); at >= 0 {
		r.add("SF503", Error, at, "", "save the file as UTF-8", "Invalid UTF-8 at byte %d.", at)
		r.doc.locked = errors.New("the file is not valid UTF-8")
	}
}

// endingsName says what is unusual about the line endings.
func endingsName(ending string, mixed bool) string {
	name := map[string]string{LF: "LF", CRLF: "CRLF", CR: "lone CR"}[ending]
	if mixed {
		return "mixed line endings, mostly " + name
	}
	return name
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// split finds the two `---` lines and cuts the file there. Without them it
// says what the file looks like instead (skill-format.md R-SF-R-1).
func (r *reader) split(start int) bool {
	opening := lineLength(r.data[start:])
	if !isFence(r.data[start : start+opening]) {
		r.notFrontMatter(start)
		return false
	}
	r.fence(start, r.data[start:start+opening])
	front := start + opening
	for at, line := range lines(r.data[front:]) {
		if !isFence(line) {
			continue
		}
		r.fence(front+at, line)
		end := front + at + len(line)
		r.doc.head, r.doc.FrontMatter, r.doc.closing, r.doc.Body = r.data[:front], r.data[front:front+at], r.data[front+at:end], r.data[end:]
		return true
	}
	number, _ := position(r.data, start)
	r.add("SF102", Error, start, "", "add a line `---` behind the last key", "The front matter opened on line %d is never closed.", number)
	r.lock("the front matter is never closed")
	return false
}

// isFence reports a line that is `---` with optional trailing blanks.
func isFence(line []byte) bool {
	return string(bytes.TrimRight(chomp(line), " \t")) == "---"
}

// fence warns about trailing blanks of a `---` line.
func (r *reader) fence(at int, line []byte) {
	if len(chomp(line)) > len("---") {
		r.add("SF113", Warning, at+len("---"), "", "", "The opening or closing `---` has trailing blanks.")
	}
}

// shown shortens a line for a message.
func shown(line []byte) string {
	const most = 40
	text := strings.ToValidUTF8(string(chomp(line)), "\ufffd")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
