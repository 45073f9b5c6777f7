package evals

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forge/gitstore/schema"
)

// step is one step of a JSON path: a name, an index, or every element.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind int

const (
	stepName stepKind = iota
	stepIndex
	stepAll
)

// steps is a JSON path.
type steps []step

// parseJSONPath reads a path of $, .name, ['name'], [n] and [*]
// (skill-format.md R-SF-EV-5).
func parseJSONPath(text string) (steps, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, errors.New("it does not begin with $")
	}
	var path steps
	for rest != "" {
		var s step
		var err error
		switch rest[0] {
		case '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			s.name, rest = rest[1:end+1], rest[end+1:]
			if s.name == "" {
				return nil, errors.New("a name is missing after a full stop")
			}
			if s.name == "*" {
				s.kind = stepAll
			}
		case '[':
			if s, rest, err = parseBracket(rest); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%q begins no step", rest)
		}
		path = append(path, s)
	}
	return path, nil
}

// parseBracket reads a step in brackets.
func parseBracket(text string) (s step, rest string, err error) {
	inner := text[1:]
	if inner != "" && (inner[0] == '\'' || inner[0] == '"') {
		name, rest, ok := cutQuoted(inner)
		if rest, ok2 := strings.CutPrefix(rest, "]"); ok && ok2 {
			return step{name: name}, rest, nil
		}
		return s, "", errors.New("a name in brackets has no end")
	}
	inner, rest, ok := strings.Cut(inner, "]")
	if !ok {
		return s, "", errors.New("a bracket has no end")
	}
	if inner == "*" {
		return step{kind: stepAll}, rest, nil
	}
	n, err := strconv.Atoi(inner)
	if err != nil || n < 0 {
		return s, "", fmt.Errorf("%q is no index", inner)
	}
	return step{kind: stepIndex, index: n}, rest, nil
}

// cutQuoted takes a quoted name off the front; a backslash keeps the next
// byte as it is.
func cutQuoted(text string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return b.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

// find returns what the path leads to.
func (p steps) find(root *schema.Node) []*schema.Node {
	found := []*schema.Node{root}
	for _, s := range p {
		var next []*schema.Node
		for _, n := range found {
			switch {
			case s.kind == stepName:
				if m := n.Member(s.name); m != nil {
					next = append(next, m.Value)
				}
			case s.kind == stepIndex:
				if n.Kind == schema.Array && s.index < len(n.Items) {
					next = append(next, n.Items[s.index])
				}
			default:
				next = append(next, n.Items...)
				for _, m := range n.Members {
					next = append(next, m.Value)
				}
			}
		}
		found = next
	}
	return found
}

// equalJSON compares two values, numbers by value.
func equalJSON(a, b *schema.Node) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case schema.Number:
		x, okX := a.AsNumber()
		y, okY := b.AsNumber()
		return okX && okY && x.Cmp(y) == 0
	case schema.Array:
		return slices.EqualFunc(a.Items, b.Items, equalJSON)
	case schema.Object:
		return len(a.Members) == len(b.Members) && !slices.ContainsFunc(a.Members, func(m schema.Member) bool {
			other := b.Member(m.Name)
			return other == nil || !equalJSON(m.Value, other.Value)
		})
	}
	return a.Text == b.Text
}
