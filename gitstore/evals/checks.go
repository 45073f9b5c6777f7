package evals

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"forge/gitstore/schema"
)

// checkLists are the members of an eval that hold checks, in reading order
// (skill-format.md R-SF-EV-2).
var checkLists = []string{
	"expectations", "assertions", "checks", "expected_behavior", "scorers", "must_have", "must_not_have", "must_include", "must_avoid",
	"must_not_include", "deterministic_assertions",
}

// checks reads the checks of an eval.
func (r *reader) checks(e *Eval) error {
	for _, name := range checkLists {
		node := e.node.Get(name)
		if node == nil {
			continue
		}
		items := node.Items
		switch node.Kind {
		case schema.String, schema.Object:
			items = []*schema.Node{node}
		case schema.Array:
		default:
			return badAt(r.line(node), "eval %q: %s is %s, want a list of checks", e.ID, name, node.Kind)
		}
		for _, item := range items {
			c, err := r.check(e, name, item)
			if err != nil {
				return err
			}
			e.add(c)
		}
	}
	if len(e.Checks) > maxChecks {
		return badAt(e.Line, "eval %q has %d checks of at most %d", e.ID, len(e.Checks), maxChecks)
	}
	if len(e.Checks) == 0 && strings.TrimSpace(e.Expected) != "" {
		if notTrigger.MatchString(e.Expected) {
			e.Note = e.Expected // R-SF-EV-7
		} else {
			e.Checks = []Check{{Kind: Judged, Text: e.Expected, Line: e.Line}}
		}
	}
	return r.name(e)
}

// add appends a check unless the eval has one that says the same; of two, one
// without an id takes over the other's. Two that both have ids are two.
func (e *Eval) add(c Check) {
	same := -1
	for i := range e.Checks {
		other := &e.Checks[i]
		if other.says(&c) && (!other.ownID || !c.ownID || other.ID == c.ID) {
			same = i
			break
		}
	}
	if same < 0 {
		e.Checks = append(e.Checks, c)
		return
	}
	kept := &e.Checks[same]
	if !kept.ownID && c.ownID {
		kept.ID, kept.ownID = c.ID, true
	}
	if kept.Weight == nil {
		kept.Weight = c.Weight
	}
}

// name gives every check its id and refuses one that is there twice.
func (r *reader) name(e *Eval) error {
	lines := map[string]int{}
	for i := range e.Checks {
		c := &e.Checks[i]
		if !c.ownID {
			c.ID = fmt.Sprintf("%s#%d", e.ID, i+1)
		}
		if line, twice := lines[c.ID]; twice {
			return badAt(c.Line, "eval %q has two checks with the id %q, the first in line %d", e.ID, c.ID, line)
		}
		lines[c.ID] = c.Line
	}
	return nil
}

// check reads one entry of a list of checks.
func (r *reader) check(e *Eval, list string, n *schema.Node) (Check, error) {
	c := Check{Line: r.line(n)}
	switch n.Kind {
	case schema.String:
		if strings.TrimSpace(n.Text) == "" {
			return c, badAt(c.Line, "eval %q: a check in %s is empty", e.ID, list)
		}
		c.plain(list, n.Text)
	case schema.Object:
		if err := r.object(e, &c, n); err != nil {
			return c, err
		}
	default:
		return c, badAt(c.Line, "eval %q: a check in %s is %s, want a text or an object", e.ID, list, n.Kind)
	}
	if c.Kind == Unknown && strings.Contains(c.Reason, "regular expression") {
		r.warn("SF963", c.Line, e.ID, "the regular expression of eval %q does not compile", e.ID)
	}
	return c, nil
}

// metacharacter tells a regular expression from plain words.
var metacharacter = regexp.MustCompile(`[\\^$.|?*+()\[\]{}]`)

// plain makes a check of a text; what it means depends on its list.
func (c *Check) plain(list, text string) {
	reason := ""
	switch {
	case list == "must_include", list == "must_have" && !metacharacter.MatchString(text):
		c.Kind, c.Values, c.Target = Contains, []string{text}, LastMessage
	case list == "must_avoid", list == "must_not_include":
		c.Kind, c.Values, c.Target = NotContains, []string{text}, LastMessage
	case list == "must_have":
		c.Kind, c.Target, reason = Regex, LastMessage, c.compile(text, "")
	case list == "must_not_have":
		c.Kind, c.Target, reason = NotRegex, LastMessage, c.compile(text, "")
	default:
		c.Kind, c.Text = Judged, text
	}
	c.refuse(reason)
	if reason != "" {
		c.Text = text
	}
}

// refuse makes a check unknown if there is a reason.
func (c *Check) refuse(reason string) {
	if reason != "" {
		c.Kind, c.Reason, c.Params = Unknown, reason, Params{}
	}
}

// object makes a check of an object.
func (r *reader) object(e *Eval, c *Check, n *schema.Node) error {
	if node := n.Get("id"); node != nil {
		id, _, ok := idOf(node)
		if !ok {
			return badAt(r.line(node), "eval %q: the id of a check is %s, want a text that is not blank, or a whole number", e.ID, r.set.document.Excerpt(node))
		}
		c.ID, c.ownID = id, true
	}
	var err error
	if c.Weight, err = r.weight(e, n); err != nil {
		return err
	}
	c.Text = textOf(n)
	kind, spelling, reason := kindOf(n)
	if c.Kind = kind; reason == "" {
		if kind == Unknown {
			reason = "forge cannot check what is " + spelling
		} else {
			reason = c.fill(n, spelling)
		}
	}
	c.refuse(reason)
	return nil
}

// maxWeightDigits bounds a weight to what a score file may hold.
const maxWeightDigits = 32

// weight reads the weight of a check (DECISIONS V18).
func (r *reader) weight(e *Eval, n *schema.Node) (*big.Rat, error) {
	node := n.Get("weight")
	if node == nil {
		return nil, nil
	}
	w, ok := node.AsNumber()
	if !ok || w.Sign() <= 0 || len(decimal(w)) > maxWeightDigits {
		return nil, badAt(r.line(node), "eval %q: a weight is %s, want a number above 0", e.ID, r.set.document.Excerpt(node))
	}
	return w, nil
}

// LoadSchemas reads the schemas that checks name as files of the skill; read
// gives a file by its path from the skill's directory. A check whose schema
// does not load becomes unknown.
func (s *Set) LoadSchemas(read func(name string) ([]byte, error)) {
	for i := range s.Evals {
		for j := range s.Evals[i].Checks {
			c := &s.Evals[i].Checks[j]
			if c.SchemaFile == "" || c.schema != nil {
				continue
			}
			name := c.SchemaFile
			data, err := read(name)
			if err != nil {
				c.refuse(err.Error())
				continue
			}
			document, err := schema.Parse(data, schema.Limits{Size: MaxFile})
			if err != nil {
				c.refuse(fmt.Sprintf("its schema file %q is malformed: %v", name, err))
				continue
			}
			c.refuse(c.setSchema(document.Root))
		}
	}
}
