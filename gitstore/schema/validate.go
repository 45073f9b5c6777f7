package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a compiled JSON Schema; the zero value is refused by no document.
type Schema struct{ resolved *jsonschema.Resolved }

// Compile reads a JSON Schema, draft 2020-12 or draft-07. A reference to
// anything but the schema itself is refused: nothing is loaded from anywhere.
// The error is one line.
func Compile(n *Node) (*Schema, error) {
	if err := checkReferences(n); err != nil {
		return nil, fmt.Errorf("the schema does not load: %w", err)
	}
	text, err := json.Marshal(plain(n))
	if err != nil {
		return nil, fmt.Errorf("the schema does not load: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("the schema does not load: %s", lastPart(err))
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{Loader: nowhere})
	if err != nil {
		return nil, fmt.Errorf("the schema does not load: %s", lastPart(err))
	}
	return &Schema{resolved}, nil
}

// Validate returns nil if n fits the schema, and else one line that says
// where it does not and why.
func (s *Schema) Validate(n *Node) error {
	if s.resolved == nil {
		return nil
	}
	if err := s.resolved.Validate(plain(n)); err != nil { // references end: see checkReferences
		return errors.New(lastPart(err))
	}
	return nil
}

// lastPart is an error without the library's way to it: "validating root:
// validating /properties/a: minimum: ..." becomes "/properties/a: minimum: ...".
func lastPart(err error) string {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " ")
	if i := strings.LastIndex(text, "validating "); i >= 0 {
		text = text[i+len("validating "):]
	}
	return text
}

// nowhere loads nothing.
func nowhere(uri *url.URL) (*jsonschema.Schema, error) {
	return nil, fmt.Errorf("%q lies outside the schema", uri)
}

// plain is n as the standard library would decode it; whole numbers that fit
// stay whole.
func plain(n *Node) any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		if whole, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
			return whole
		}
		float, _ := strconv.ParseFloat(n.Text, 64) // the parser bounds numbers to what a double holds
		return float
	case String:
		return n.Text
	case Array:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plain(item)
		}
		return list
	case Object:
		object := make(map[string]any, len(n.Members))
		for _, member := range n.Members {
			object[member.Name] = plain(member.Value)
		}
		return object
	}
	return nil
}
