package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// limitError says which limit of skill-format.md R-SF-R-3 was passed.
type limitError struct{ limit string }

func (e limitError) Error() string { return e.limit }

// decode reads the one YAML document in data, nil if it is empty.
func decode(data []byte) (root *yaml.Node, err error) {
	defer func() { // foreign bytes must not end the process, whatever the library makes of them
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("yaml: %v", p)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("yaml: line %d: a second document begins", second.Line)
		}
		return nil, err
	}
	if first.Kind == yaml.DocumentNode && len(first.Content) == 1 {
		return first.Content[0], nil
	}
	return &first, nil
}

// kindOf is the kind of a node.
func kindOf(n *yaml.Node) Kind {
	switch n.Kind {
	case yaml.SequenceNode:
		return List
	case yaml.MappingNode:
		return Map
	}
	switch n.ShortTag() {
	case "!!bool":
		return Bool
	case "!!int", "!!float":
		return Number
	case "!!timestamp":
		return Date
	case "!!null":
		return Null
	}
	return String
}

// styleOf is the style of a node.
func styleOf(n *yaml.Node) Style {
	if n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode {
		if n.Style&yaml.FlowStyle != 0 {
			return Flow
		}
		return Block
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return DoubleQuoted
	case n.Style&yaml.SingleQuotedStyle != 0:
		return SingleQuoted
	case n.Style&yaml.LiteralStyle != 0:
		return Literal
	case n.Style&yaml.FoldedStyle != 0:
		return Folded
	}
	return Plain
}

// builder turns nodes into fields, within limits.
type builder struct {
	at             func(*yaml.Node) int // byte offset in the file
	data           []byte               // the file
	nodes, aliases int
	duplicates     []duplicate
	special        *yaml.Node // the first anchor, alias or tag
}

// duplicate is a key that a map holds twice.
type duplicate struct {
	key           string
	first, second *yaml.Node
}

// field builds the field of a value, or says which limit it passes.
func (b *builder) field(key string, n *yaml.Node, depth int) (Field, error) {
	style := styleOf(n)
	f := Field{Key: key, Start: b.at(n)}
	f.Line, f.Column = position(b.data, f.Start)
	if b.special == nil && (n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0) {
		b.special = n
	}
	if n.Kind == yaml.AliasNode {
		if b.aliases++; b.aliases > maxAliases {
			return f, limitError{fmt.Sprintf("more than %d aliases", maxAliases)}
		}
		n, style = n.Alias, Alias
	}
	if b.nodes++; b.nodes > maxNodes {
		return f, limitError{fmt.Sprintf("more than %d nodes", maxNodes)}
	}
	if depth > maxDepth {
		return f, limitError{fmt.Sprintf("deeper than %d", maxDepth)}
	}
	f.Kind, f.Style = kindOf(n), style
	switch f.Kind {
	case Map:
		return b.entries(f, n, depth)
	case List:
		for _, child := range n.Content {
			entry, err := b.field("", child, depth+1)
			if err != nil {
				return f, err
			}
			f.Children = append(f.Children, entry)
		}
	case String, Bool, Number, Date:
		f.Value = strings.TrimSpace(n.Value)
	}
	return f, nil
}

// entries builds the children of a map and notes the keys it holds twice.
func (b *builder) entries(f Field, n *yaml.Node, depth int) (Field, error) {
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if b.nodes++; b.nodes > maxNodes {
			return f, limitError{fmt.Sprintf("more than %d nodes", maxNodes)}
		}
		if first := seen[key.Value]; first != nil {
			b.duplicates = append(b.duplicates, duplicate{key.Value, first, key})
		} else {
			seen[key.Value] = key
		}
		entry, err := b.field(key.Value, n.Content[i+1], depth+1)
		if err != nil {
			return f, err
		}
		f.Children = append(f.Children, entry)
	}
	return f, nil
}

// nodeOffset returns the byte offset of a node in text, by the rules of the
// library: lines also end at U+0085, U+2028 and U+2029, columns count code
// points.
func nodeOffset(text []byte, line, column int) int {
	at := 0
	for ; line > 1 && at < len(text); line-- {
		at += yamlLineLength(text[at:])
	}
	for ; column > 1 && at < len(text); column-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// yamlBreaks are the line breaks of the library but for CR LF.
const yamlBreaks = "\r\n\u0085\u2028\u2029"

// yamlLineLength is the length of a line with its break.
func yamlLineLength(text []byte) int {
	end := bytes.IndexAny(text, yamlBreaks)
	if end < 0 {
		return len(text)
	}
	if ending := endingAt(text[end:]); ending != "" {
		return end + len(ending)
	}
	_, size := utf8.DecodeRune(text[end:])
	return end + size
}

var yamlError = pattern(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// countedFromZero are the complaints for which the library counts lines from
// 0: those of its parser, where the others are of its scanner.
var countedFromZero = pattern(`^(?:did not find expected (?:key|node content|'-' indicator|',' or .*|<.*>)|found undefined tag handle)$`)

// explain takes the library's error apart: the line in its text, from 1, and
// the reason.
func explain(err error) (line int, reason string) {
	match := yamlError().FindStringSubmatch(err.Error())
	if match == nil {
		return 1, err.Error()
	}
	line, reason = 1, match[2]
	if n, err := strconv.Atoi(match[1]); err == nil {
		line = n
		if countedFromZero().MatchString(reason) {
			line++
		}
	}
	return line, reason
}
