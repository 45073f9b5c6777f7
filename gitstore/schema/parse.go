package schema

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// mark is a UTF-8 byte order mark.
const mark = "\ufeff"

// Parse reads one JSON document. The error is an [*Error].
func Parse(data []byte, limits Limits) (*Document, error) {
	size, depth := limits.Size, limits.Depth
	if size == 0 {
		size = defaultSize
	}
	if depth == 0 {
		depth = defaultDepth
	}
	if len(data) > size {
		return nil, &Error{Reason: fmt.Sprintf("the document has %d bytes, at most %d are read", len(data), size)}
	}
	p := parser{data: data, depth: depth}
	document := &Document{Data: data, lines: lineStarts(data)}
	p.document = document
	if bytes.HasPrefix(data, []byte(mark)) {
		p.at = len(mark)
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	return document, nil
}

// lineStarts are the offsets at which lines begin.
func lineStarts(data []byte) []int {
	starts := make([]int, 1, 1+bytes.Count(data, []byte("\n")))
	for i := 0; ; {
		next := bytes.IndexByte(data[i:], '\n')
		if next < 0 {
			return starts
		}
		i += next + 1
		starts = append(starts, i)
	}
}

// parser reads a document from front to back.
type parser struct {
	data     []byte
	at       int // offset of the next byte
	depth    int // lists and objects that may still be opened
	document *Document
}

// fail is the error about the byte at offset.
func (p *parser) fail(offset int, format string, args ...any) error {
	line := p.document.Line(offset)
	return &Error{Line: line, Column: offset - p.document.lines[line-1] + 1, Reason: fmt.Sprintf(format, args...)}
}

// read reads the one value and what may stand around it.
func (p *parser) read() error {
	if err := p.space(); err != nil {
		return err
	}
	if p.at == len(p.data) {
		return &Error{Reason: "the document is empty"}
	}
	root, err := p.value()
	if err != nil {
		return err
	}
	p.document.Root = root
	if err := p.space(); err != nil {
		return err
	}
	if p.at < len(p.data) {
		return p.fail(p.at, "something stands after the end of the document: %s", p.show())
	}
	return nil
}

// space passes over white space. A comment is refused by name.
func (p *parser) space() error {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		case '/', '#':
			return p.fail(p.at, "JSON has no comments")
		default:
			return nil
		}
	}
	return nil
}

// show is the byte or character at hand, for a message.
func (p *parser) show() string {
	if p.at >= len(p.data) {
		return "the end"
	}
	r, size := utf8.DecodeRune(p.data[p.at:])
	if r == utf8.RuneError && size <= 1 {
		return fmt.Sprintf("the byte 0x%02x", p.data[p.at])
	}
	return fmt.Sprintf("%q", r)
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// value reads the value that begins here.
func (p *parser) value() (*Node, error) {
	switch c := p.peek(); {
	case c == '{':
		return p.nested(p.object)
	case c == '[':
		return p.nested(p.array)
	case c == '"':
		start := p.at
		text, err := p.text()
		return &Node{Kind: String, Start: start, End: p.at, Text: text}, err
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == '\'':
		return nil, p.fail(p.at, "a text stands in double quotes")
	case p.at == len(p.data):
		return nil, p.fail(p.at, "the document ends in the middle of a value")
	}
	return p.word()
}

// nested reads a list or an object one level deeper.
func (p *parser) nested(read func() (*Node, error)) (*Node, error) {
	if p.depth == 0 {
		return nil, p.fail(p.at, "lists and objects stand too deep inside one another")
	}
	p.depth--
	node, err := read()
	p.depth++
	return node, err
}

// word reads true, false or null.
func (p *parser) word() (*Node, error) {
	start := p.at
	end := start
	for end < len(p.data) && (p.data[end]|0x20 >= 'a' && p.data[end]|0x20 <= 'z') {
		end++
	}
	p.at = end
	switch word := string(p.data[start:end]); word {
	case "true", "false":
		return &Node{Kind: Bool, Start: start, End: end, Text: word}, nil
	case "null":
		return &Node{Kind: Null, Start: start, End: end}, nil
	case "":
		p.at = start
		return nil, p.fail(start, "a value was expected, not %s", p.show())
	case "NaN", "Infinity", "nan", "inf":
		return nil, p.fail(start, "%s is no number in JSON", word)
	default:
		return nil, p.fail(start, "%.20q is no value in JSON", word)
	}
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?
func (p *parser) number() (*Node, error) {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	whole := p.digits()
	ok := whole == 1 || whole > 1 && p.data[p.at-whole] != '0'
	if p.peek() == '.' {
		p.at++
		ok = p.digits() > 0 && ok
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		ok = p.digits() > 0 && ok
	}
	text := string(p.data[start:p.at])
	if !ok {
		return nil, p.fail(start, "%.40q is no number in JSON", text)
	}
	if !inRange(text) {
		return nil, p.fail(start, "the number %.40s is out of range", text)
	}
	return &Node{Kind: Number, Start: start, End: p.at, Text: text}, nil
}

// inRange reports whether a number is zero or lies between 1e-308 and 1.797e308
// (loop.md R-NUM-2), so that nobody computes one with a million digits.
func inRange(text string) bool {
	size := strings.TrimPrefix(strings.ToLower(text), "-")
	mantissa, exponent, _ := strings.Cut(size, "e")
	if strings.Trim(mantissa, "0.") == "" {
		return len(exponent) < 5
	}
	f, err := strconv.ParseFloat(size, 64)
	return err == nil && f >= 1e-308 && f <= 1.797e308 && len(exponent) < 10
}

// digits passes over digits and returns how many there were.
func (p *parser) digits() int {
	start := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at - start
}

// array reads a list.
func (p *parser) array() (*Node, error) {
	node := &Node{Kind: Array, Start: p.at}
	p.at++
	more, err := p.first(']')
	for more && err == nil {
		var item *Node
		if item, err = p.value(); err != nil {
			return nil, err
		}
		node.Items = append(node.Items, item)
		more, err = p.next(']', "list", node.Start)
	}
	node.End = p.at
	return node, err
}

// object reads an object.
func (p *parser) object() (*Node, error) {
	node := &Node{Kind: Object, Start: p.at}
	p.at++
	more, err := p.first('}')
	for more && err == nil {
		var member Member
		if member, err = p.member(); err != nil {
			return nil, err
		}
		node.Members = append(node.Members, member)
		more, err = p.next('}', "object", node.Start)
	}
	node.End = p.at
	if err != nil {
		return nil, err
	}
	return node, p.unique(node.Members)
}

// first passes over white space behind an opening bracket and reports whether
// an element follows; an empty list or object is closed.
func (p *parser) first(closing byte) (bool, error) {
	if err := p.space(); err != nil {
		return false, err
	}
	if p.peek() == closing {
		p.at++
		return false, nil
	}
	return true, nil
}

// next reads what follows an element: a comma before one more, or the closing
// bracket of the list or object that was opened at start.
func (p *parser) next(closing byte, what string, start int) (bool, error) {
	if err := p.space(); err != nil {
		return false, err
	}
	switch p.peek() {
	case closing:
		p.at++
		return false, nil
	case ',':
	default:
		if p.at == len(p.data) {
			return false, p.fail(p.at, "the document ends inside the %s that begins in line %d", what, p.document.Line(start))
		}
		return false, p.fail(p.at, "a comma or %q was expected, not %s", closing, p.show())
	}
	comma := p.at
	p.at++
	if err := p.space(); err != nil {
		return false, err
	}
	if p.peek() == closing {
		return false, p.fail(comma, "a comma stands before the closing %q", closing)
	}
	return true, nil
}

// member reads a name, a colon and a value.
func (p *parser) member() (Member, error) {
	m := Member{Start: p.at}
	if p.peek() != '"' {
		return m, p.fail(p.at, "a name in double quotes was expected, not %s", p.show())
	}
	var err error
	if m.Name, err = p.text(); err != nil {
		return m, err
	}
	m.End = p.at
	if err := p.space(); err != nil {
		return m, err
	}
	if p.peek() != ':' {
		return m, p.fail(p.at, "a colon was expected after %.40q, not %s", m.Name, p.show())
	}
	p.at++
	if err := p.space(); err != nil {
		return m, err
	}
	m.Value, err = p.value()
	return m, err
}

// few is up to how many members are compared each with each.
const few = 16

// unique refuses a name that is there twice.
func (p *parser) unique(members []Member) error {
	var first, second *Member // the first in the document that repeats a name
	if len(members) <= few {
		for i := range members {
			for j := range members[:i] {
				if second == nil && members[i].Name == members[j].Name {
					first, second = &members[j], &members[i]
				}
			}
		}
	} else {
		seen := make(map[string]*Member, len(members))
		for i := range members {
			m := &members[i]
			if seen[m.Name] != nil && second == nil {
				first, second = seen[m.Name], m
			}
			seen[m.Name] = m
		}
	}
	if second == nil {
		return nil
	}
	return p.fail(second.Start, "the key %.40q is there twice, first in line %d", second.Name, p.document.Line(first.Start))
}

// text reads a text in double quotes.
func (p *parser) text() (string, error) {
	start := p.at
	p.at++
	from := p.at
	var built []byte // what stands before from, once there is an escape
	for {
		switch c := p.peek(); {
		case p.at == len(p.data):
			return "", p.fail(start, "a text has no end")
		case c == '"':
			p.at++
			if built == nil {
				return string(p.data[from : p.at-1]), nil
			}
			return string(append(built, p.data[from:p.at-1]...)), nil
		case c == '\\':
			built = append(built, p.data[from:p.at]...)
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			built = utf8.AppendRune(built, r)
			from = p.at
		case c < 0x20:
			return "", p.fail(p.at, "a text holds the control character 0x%02x; it is written as an escape", c)
		case c < utf8.RuneSelf:
			p.at++
		default:
			r, size := utf8.DecodeRune(p.data[p.at:])
			if r == utf8.RuneError && size == 1 {
				return "", p.fail(p.at, "the byte 0x%02x at offset %d is not UTF-8", c, p.at)
			}
			p.at += size
		}
	}
}

// escape reads a backslash and what belongs to it.
func (p *parser) escape() (rune, error) {
	start := p.at
	p.at++
	c := p.peek()
	p.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		r, ok := p.unit()
		if ok && utf16.IsSurrogate(r) {
			low := rune(-1)
			if p.peek() == '\\' && p.at+1 < len(p.data) && p.data[p.at+1] == 'u' {
				p.at += 2
				low, ok = p.unit()
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return 0, p.fail(start, "an escape is half a surrogate pair")
			}
		}
		if ok {
			return r, nil
		}
	}
	p.at = start
	return 0, p.fail(start, "a backslash stands before something that is no escape")
}

// unit reads the four hexadecimal digits of an escape.
func (p *parser) unit() (rune, bool) {
	if p.at+4 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, c := range p.data[p.at : p.at+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	p.at += 4
	return r, true
}
