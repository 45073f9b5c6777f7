package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address is the name of the one schema there is, for references inside it.
const address = "forge:///schema.json"

// Schema is a compiled JSON Schema; the zero value is refused by no document.
type Schema struct{ compiled *jsonschema.Schema }

// Compile reads a JSON Schema, draft 2020-12 unless it names another. A
// reference to anything but the schema itself and the drafts is refused:
// nothing is loaded from anywhere. The error is one line.
func Compile(n *Node) (*Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(nowhere{})
	if err := compiler.AddResource(address, plain(n)); err != nil {
		return nil, fmt.Errorf("the schema does not load: %s", lastLine(err))
	}
	compiled, err := compiler.Compile(address)
	if err != nil {
		return nil, fmt.Errorf("the schema does not load: %s", lastLine(err))
	}
	return &Schema{compiled}, nil
}

// Validate returns nil if n fits the schema, and else one line that says
// where it does not and why. Numbers are compared by value.
func (s *Schema) Validate(n *Node) error {
	if s.compiled == nil {
		return nil
	}
	err := s.compiled.Validate(plain(n))
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return errors.New(lastLine(err))
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	return errors.New(lastLine(invalid))
}

// lastLine is the last line of an error, where the library says what is
// wrong.
func lastLine(err error) string {
	text := strings.TrimSpace(err.Error())
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return strings.ReplaceAll(strings.TrimPrefix(text, "- "), address, "")
}

// nowhere loads nothing.
type nowhere struct{}

// Load refuses every address.
func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q lies outside the schema", url)
}

// plain is n as the standard library would decode it, numbers kept exact.
func plain(n *Node) any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
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
