// Package schema reads JSON strictly.
//
// [Parse] takes one JSON document apart into nodes that know where they
// stand. It refuses what other readers let pass in silence: a key given
// twice, anything after the document, comments, trailing commas, bytes that
// are not UTF-8, half a surrogate pair, numbers no double can hold, and documents that are too
// large or too deep. Every refusal is one sentence with the line it speaks of, so that
// a caller only adds the file's name. A byte order mark in front is skipped.
//
// [Canonical] writes a node in the one form over which forge takes hashes of
// JSON, RFC 8785 (JCS). [Compile] reads a JSON Schema, and [Schema.Validate]
// holds a node against it; neither opens a file or a connection.
//
// Source: ARCHITECTURE section 3; DECISIONS H14.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
)

// Limits bound what is read. A field that is 0 has its default.
type Limits struct {
	Size  int // bytes; default 4 MiB
	Depth int // lists and objects inside one another; default 64
}

// The defaults of [Limits].
const (
	defaultSize  = 4 << 20
	defaultDepth = 64
)

// Error is a document that was refused.
type Error struct {
	Line   int    // from 1; 0 if it is about the document as a whole
	Column int    // from 1, in bytes
	Reason string // the sentence, without the place
}

// Error is the place and the sentence.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// Kind is what a node is.
type Kind int

// The kinds of JSON values.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

// String is the kind in a sentence: "a text", "an object".
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "true or false"
	case Number:
		return "a number"
	case String:
		return "a text"
	case Array:
		return "a list"
	case Object:
		return "an object"
	}
	return "nothing"
}

// Node is one value of a document.
type Node struct {
	Kind    Kind
	Start   int      // offset of its first byte
	End     int      // offset behind its last byte
	Text    string   // of a String what it says, of a Number its digits, of a Bool "true" or "false"
	Items   []*Node  // of an Array
	Members []Member // of an Object, in the order of the document
}

// Member is one name of an object with its value.
type Member struct {
	Name       string
	Start, End int // of the name with its quotes
	Value      *Node
}

// Get returns the value of that name, or nil: where there is none, where it
// is null, and where n is no object or nil itself.
func (n *Node) Get(name string) *Node {
	if member := n.Member(name); member != nil && member.Value.Kind != Null {
		return member.Value
	}
	return nil
}

// Member returns the member of that name, or nil. Its value may be null.
func (n *Node) Member(name string) *Member {
	if n == nil || n.Kind != Object {
		return nil
	}
	i := slices.IndexFunc(n.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &n.Members[i]
}

// AsText returns what a text says; false for every other node.
func (n *Node) AsText() (string, bool) {
	if n == nil || n.Kind != String {
		return "", false
	}
	return n.Text, true
}

// AsBool returns a truth value; ok is false for every other node.
func (n *Node) AsBool() (value, ok bool) {
	if n == nil || n.Kind != Bool {
		return false, false
	}
	return n.Text == "true", true
}

// AsNumber returns a number exactly; false for every other node.
func (n *Node) AsNumber() (*big.Rat, bool) {
	if n == nil || n.Kind != Number {
		return nil, false
	}
	return new(big.Rat).SetString(n.Text) // Parse has bounded its size
}

// AsInt returns a whole number; false for every other node and where it does
// not fit. 3.0 is a whole number.
func (n *Node) AsInt() (int64, bool) {
	r, ok := n.AsNumber()
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// Document is a parsed text.
type Document struct {
	Data []byte // as given, a byte order mark included
	Root *Node

	lines []int // offset of each line's first byte
}

// Line is the line of an offset, from 1.
func (d *Document) Line(offset int) int {
	i, found := slices.BinarySearch(d.lines, offset)
	if found {
		return i + 1
	}
	return i
}

// Excerpt is a node as a message shows it: its text without the space between
// values, so that it is one line, and at most 40 characters of it.
func (d *Document) Excerpt(n *Node) string {
	var line bytes.Buffer
	if err := json.Compact(&line, d.Data[n.Start:n.End]); err != nil {
		return fmt.Sprintf("%.40q", d.Data[n.Start:n.End])
	}
	return fmt.Sprintf("%.40s", line.String())
}
