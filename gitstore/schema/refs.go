package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// holds says what the value of a keyword is.
type holds int

const (
	other       holds = iota // no schema
	schemas                  // a schema or a list of them, for parts of the value
	named                    // schemas by names that are no keywords, for parts of the value
	sameSchemas              // as schemas, for the very value the schema itself looks at
	sameNamed                // as named, for that value
)

// keywords are those the library knows. A reference that comes back to itself
// through the ones of the same value alone would never end.
var keywords = map[string]holds{
	"$id": other, "$schema": other, "$ref": other, "$comment": other, "$anchor": other, "$dynamicAnchor": other, "$dynamicRef": other, "$vocabulary": other,
	"title": other, "description": other, "default": other, "deprecated": other, "readOnly": other, "writeOnly": other, "examples": other,
	"type": other, "enum": other, "const": other, "multipleOf": other, "minimum": other, "maximum": other, "exclusiveMinimum": other, "exclusiveMaximum": other,
	"minLength": other, "maxLength": other, "pattern": other, "minItems": other, "maxItems": other, "uniqueItems": other, "minContains": other, "maxContains": other,
	"minProperties": other, "maxProperties": other, "required": other, "dependentRequired": other, "contentEncoding": other, "contentMediaType": other, "format": other,
	"prefixItems": schemas, "items": schemas, "additionalItems": schemas, "contains": schemas, "unevaluatedItems": schemas,
	"additionalProperties": schemas, "propertyNames": schemas, "unevaluatedProperties": schemas, "contentSchema": schemas,
	"$defs": named, "definitions": named, "properties": named, "patternProperties": named,
	"allOf": sameSchemas, "anyOf": sameSchemas, "oneOf": sameSchemas, "not": sameSchemas, "if": sameSchemas, "then": sameSchemas, "else": sameSchemas,
	"dependentSchemas": sameNamed, "dependencies": sameNamed,
}

// checkReferences refuses a schema whose references leave it or never end,
// before the library follows them: it would follow a circle until the stack is
// full. References are "#" and "#/...", JSON pointers into the schema itself.
func checkReferences(root *Node) error {
	c := circle{root: root, state: map[*Node]int{}}
	return c.all(root)
}

// circle walks a schema; state is 1 while a node is on the way and 2 when it
// is known to end.
type circle struct {
	root  *Node
	state map[*Node]int
}

// all checks n and every schema in it as a place to begin.
func (c *circle) all(n *Node) error {
	if n.Kind != Object {
		return nil
	}
	for _, m := range n.Members {
		if err := c.checkName(n, m.Name); err != nil {
			return err
		}
	}
	if err := c.follow(n); err != nil {
		return err
	}
	for _, m := range n.Members {
		for _, sub := range within(m.Value, keywords[m.Name]) {
			if err := c.all(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName refuses what the library would take for another keyword, or what
// would give references another place to start from.
func (c *circle) checkName(n *Node, name string) error {
	if _, known := keywords[name]; known {
		if name == "$id" && n != c.root {
			return fmt.Errorf("$id stands inside the schema; it may only name the whole")
		}
		return nil
	}
	for keyword := range keywords {
		if strings.EqualFold(keyword, name) { // encoding/json does not tell them apart
			return fmt.Errorf("%q is no keyword; did you mean %q", name, keyword)
		}
	}
	return nil
}

// within are the schemas in the value of a keyword.
func within(n *Node, h holds) []*Node {
	switch {
	case h == other:
		return nil
	case h == named || h == sameNamed:
		var list []*Node
		for _, m := range n.Members {
			list = append(list, m.Value)
		}
		return list
	case n.Kind == Array:
		return n.Items
	}
	return []*Node{n}
}

// types are the words of the keyword type; the library takes any.
var types = map[string]bool{"null": true, "boolean": true, "object": true, "array": true, "number": true, "string": true, "integer": true}

// checkType refuses a word that is no type.
func checkType(n *Node) error {
	words := append([]*Node{n}, n.Items...)
	for _, w := range words {
		if w.Kind == String && !types[w.Text] {
			return fmt.Errorf("%q is no type", w.Text)
		}
	}
	return nil
}

// follow goes to every schema that looks at the same value as n.
func (c *circle) follow(n *Node) error {
	if n.Kind != Object || c.state[n] == 2 {
		return nil
	}
	if c.state[n] == 1 {
		return fmt.Errorf("a reference leads back to itself without end")
	}
	c.state[n] = 1
	for _, m := range n.Members {
		next, err := c.sameValue(m)
		if err != nil {
			return err
		}
		for _, sub := range next {
			if err := c.follow(sub); err != nil {
				return err
			}
		}
	}
	c.state[n] = 2
	return nil
}

// sameValue are the schemas a member applies to the value its own schema looks
// at.
func (c *circle) sameValue(m Member) ([]*Node, error) {
	switch {
	case m.Name == "$dynamicRef" || m.Name == "$recursiveRef" || m.Name == "$ref" && m.Value.Kind == String && !strings.HasPrefix(m.Value.Text, "#"):
		return nil, fmt.Errorf("%q lies outside the schema", m.Value.Text)
	case m.Name == "$ref" && m.Value.Kind == String:
		target, err := c.resolve(m.Value.Text)
		return []*Node{target}, err
	case m.Name == "type":
		return nil, checkType(m.Value)
	case keywords[m.Name] == sameSchemas || keywords[m.Name] == sameNamed:
		return within(m.Value, keywords[m.Name]), nil
	}
	return nil, nil
}

// resolve is the schema a reference names.
func (c *circle) resolve(reference string) (*Node, error) {
	at := c.root
	if reference == "#" {
		return at, nil
	}
	pointer, ok := strings.CutPrefix(reference, "#/")
	if !ok {
		return nil, fmt.Errorf("%q is no path in the schema", reference)
	}
	for token := range strings.SplitSeq(pointer, "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		next := at.Get(name)
		if i, err := strconv.Atoi(name); err == nil && at != nil && at.Kind == Array && i >= 0 && i < len(at.Items) {
			next = at.Items[i]
		}
		if next == nil {
			return nil, fmt.Errorf("%q is no path in the schema", reference)
		}
		at = next
	}
	return at, nil
}
