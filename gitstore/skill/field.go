package skill

import (
	"slices"
	"strings"
)

// Kind is what YAML makes of a value.
type Kind string

// The kinds of a value.
const (
	String Kind = "string"
	Bool   Kind = "bool"
	Number Kind = "number"
	Date   Kind = "date"
	Null   Kind = "null"
	List   Kind = "list"
	Map    Kind = "map"
)

// Style is how a value is written.
type Style string

// The styles of a value.
const (
	Plain        Style = "plain"
	SingleQuoted Style = "single-quoted"
	DoubleQuoted Style = "double-quoted"
	Literal      Style = "literal" // block scalar with |
	Folded       Style = "folded"  // block scalar with >
	Block        Style = "block"   // list or map, one entry per line
	Flow         Style = "flow"    // list or map in brackets
	Alias        Style = "alias"   // stands for an anchored value
)

// Field is one key of a map, or with an empty key one entry of a list.
type Field struct {
	Key      string
	Kind     Kind
	Style    Style
	Value    string  // of a scalar, trimmed; "" for null, lists and maps
	Children []Field // of a list or map, aliases resolved

	Line, Column int // of the value in the file, from 1
	Start, End   int // byte range of a top-level scalar in the file; End is 0 where it is not known

	keyAt  int // byte offset of a top-level key in the file
	indent int // columns before the key
}

// empty reports a key without anything behind it.
func (f Field) empty() bool { return f.Kind == Null && f.End <= f.Start }

// sameValue reports whether two fields mean the same, wherever they stand and
// however they are written.
func (f Field) sameValue(other Field) bool {
	return f.Key == other.Key && f.Kind == other.Kind && f.Value == other.Value &&
		slices.EqualFunc(f.Children, other.Children, Field.sameValue)
}

// Text returns the value of a string entry of a map, and whether there is one:
// the way to read metadata.
func (f Field) Text(key string) (string, bool) {
	for _, child := range f.Children {
		if child.Key == key && child.Kind == String {
			return child.Value, true
		}
	}
	return "", false
}

// oldBooleans are plain words that YAML 1.1 readers take for a boolean, and
// this package's library does not.
var oldBooleans = []string{"yes", "no", "on", "off"}

// isOldBoolean reports a plain scalar that is a string to some readers only.
func isOldBoolean(plain string) bool {
	return slices.Contains(oldBooleans, strings.ToLower(plain)) && (plain == strings.ToLower(plain) || plain == strings.ToUpper(plain) || plain[1:] == strings.ToLower(plain[1:]))
}
