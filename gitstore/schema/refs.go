package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// sameValue are the keywords whose schemas look at the very value their own
// schema looks at. A reference that comes back to itself through these alone
// would never end.
var sameValue = map[string]bool{
	"allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true, "then": true, "else": true, "dependentSchemas": true,
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

// all checks every node below n as a place to begin.
func (c *circle) all(n *Node) error {
	if n == nil {
		return nil
	}
	if n.Kind == Object {
		if err := c.follow(n); err != nil {
			return err
		}
	}
	for _, item := range n.Items {
		if err := c.all(item); err != nil {
			return err
		}
	}
	for _, m := range n.Members {
		if data[m.Name] {
			continue
		}
		if err := c.all(m.Value); err != nil {
			return err
		}
	}
	return nil
}

// data are the keywords whose values are no schemas.
var data = map[string]bool{"const": true, "enum": true, "default": true, "examples": true}

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
	if n == nil || n.Kind != Object || c.state[n] == 2 {
		return nil
	}
	if c.state[n] == 1 {
		return fmt.Errorf("a reference leads back to itself without end")
	}
	c.state[n] = 1
	for _, m := range n.Members {
		switch {
		case m.Name == "$dynamicRef" || m.Name == "$recursiveRef" || m.Name == "$ref" && m.Value.Kind == String && !strings.HasPrefix(m.Value.Text, "#"):
			return fmt.Errorf("%q lies outside the schema", m.Value.Text)
		case m.Name == "$ref" && m.Value.Kind == String:
			target, err := c.resolve(m.Value.Text)
			if err != nil {
				return err
			}
			if err := c.follow(target); err != nil {
				return err
			}
		case m.Name == "type":
			if err := checkType(m.Value); err != nil {
				return err
			}
		case sameValue[m.Name]:
			if err := c.within(m.Value); err != nil {
				return err
			}
		}
	}
	c.state[n] = 2
	return nil
}

// within follows a schema, a list of schemas or a map of schemas.
func (c *circle) within(n *Node) error {
	if err := c.follow(n); err != nil {
		return err
	}
	for _, item := range n.Items {
		if err := c.follow(item); err != nil {
			return err
		}
	}
	for _, m := range n.Members {
		if err := c.follow(m.Value); err != nil {
			return err
		}
	}
	return nil
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
