package evals

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"forge/gitstore/fault"
	"forge/gitstore/schema"
)

// lists are the names of the list of evals in an object, and queries.
var lists = []string{"evals", "cases", "test_cases", "queries"}

// Read reads an evals file of any shape (skill-format.md R-SF-EV-2,
// R-SF-TR-1). Fields it does not know are kept for [Set.WithSplits]. An eval
// without an id, and even without a prompt, is read: what wants more checks
// more ([Set.CheckIDs], [Set.CheckPrompts]).
//
// Every error is a usage fault that names the line, for the caller to name
// the file.
func Read(data []byte) (Set, error) {
	if len(data) > MaxFile {
		return Set{}, bad("the evals file has %d bytes, at most %d (%d MiB) are read", len(data), MaxFile, MaxFile>>20)
	}
	document, err := schema.Parse(data, schema.Limits{Size: MaxFile})
	if err != nil {
		return Set{}, bad("the evals file is malformed: %w", err)
	}
	r := reader{set: Set{document: document}}
	if err := r.top(); err != nil {
		return Set{}, err
	}
	for i, node := range r.set.list.Items {
		if err := r.element(i, node); err != nil {
			return Set{}, err
		}
	}
	return r.set, r.unique()
}

// reader fills a set.
type reader struct {
	set Set
}

// line is the line a node begins in.
func (r *reader) line(n *schema.Node) int { return r.set.document.Line(n.Start) }

// warn adds a warning.
func (r *reader) warn(rule string, line int, eval, format string, args ...any) {
	r.set.Warnings = append(r.set.Warnings, Warning{Rule: rule, Line: line, Eval: eval, Text: fmt.Sprintf(format, args...)})
}

// top finds the list of evals and what the file says about itself.
func (r *reader) top() error {
	root, s := r.set.document.Root, &r.set
	switch root.Kind {
	case schema.Array:
		s.list = root
	case schema.Object:
		for _, name := range lists {
			member := root.Member(name)
			switch {
			case member == nil:
			case s.member != nil:
				return badAt(r.line(member.Value), "the file has both %q and %q, want one list of evals", s.member.Name, name)
			case member.Value.Kind != schema.Array:
				return badAt(r.line(member.Value), "%q is %s, want a list", name, member.Value.Kind)
			default:
				s.member, s.list = member, member.Value
			}
		}
		if s.list == nil {
			return bad("the file has no list of evals: want a list, or an object with one of %s", strings.Join(lists, ", "))
		}
		s.SkillName, _ = first(root, "skill_name", "skill").AsText()
		s.Context, _ = root.Get("context").AsText()
		if seed := root.Get("split_seed"); seed != nil {
			s.SplitSeed = seed.Text
		}
	default:
		return bad("the file holds %s, want a list of evals, or an object with one", root.Kind)
	}
	if n := len(s.list.Items); n > maxEvals {
		return badAt(r.line(s.list), "%d evals of at most %d", n, maxEvals)
	}
	if s.member != nil && s.member.Name == "queries" || len(s.list.Items) > 0 && isQuery(s.list.Items[0]) {
		s.Form = Triggers
	}
	return nil
}

// isQuery reports whether an element is a trigger eval.
func isQuery(n *schema.Node) bool {
	return n.Member("query") != nil && n.Member("prompt") == nil && n.Member("input") == nil
}

// first is the first of several names that has a value.
func first(n *schema.Node, names ...string) *schema.Node {
	for _, name := range names {
		if value := n.Get(name); value != nil {
			return value
		}
	}
	return nil
}

// text reads an optional text.
func (r *reader) text(n *schema.Node, names ...string) (string, error) {
	value := first(n, names...)
	if value == nil {
		return "", nil
	}
	text, ok := value.AsText()
	if !ok {
		return "", badAt(r.line(value), "%s is %s, want a text", strings.Join(names, " or "), value.Kind)
	}
	return text, nil
}

// element reads one element of the list.
func (r *reader) element(index int, node *schema.Node) error {
	if node.Kind != schema.Object {
		return badAt(r.line(node), "eval %d is %s, want an object", index+1, node.Kind)
	}
	e := Eval{node: node, Line: r.line(node)}
	read := r.task
	if r.set.Form == Triggers {
		read = r.query
	} else if isQuery(node) {
		return badAt(e.Line, "eval %d is a trigger query among evals with prompts; a file is one kind or the other", index+1)
	}
	if err := read(&e); err != nil {
		return err
	}
	if same := r.repeated(e); same >= 0 {
		r.set.entries = append(r.set.entries, entry{node, same})
		return r.checkRepeated(r.set.Evals[same], e)
	}
	r.set.entries = append(r.set.entries, entry{node, len(r.set.Evals)})
	r.set.Evals = append(r.set.Evals, e)
	return nil
}

// repeated is the index of the earlier query that says the same, or -1.
func (r *reader) repeated(e Eval) int {
	if r.set.Form != Triggers {
		return -1
	}
	return slices.IndexFunc(r.set.Evals, func(other Eval) bool { return other.Prompt == e.Prompt })
}

// checkRepeated reports a query that is there twice (R-SF-TR-4).
func (r *reader) checkRepeated(earlier, e Eval) error {
	switch {
	case earlier.ShouldTrigger != e.ShouldTrigger:
		return badAt(e.Line, "the query %.60q appears twice with different expectations, first in line %d", e.Prompt, earlier.Line)
	case earlier.Split != e.Split && e.Split != "":
		return badAt(e.Line, "the query %.60q appears twice in different splits, first in line %d", e.Prompt, earlier.Line)
	}
	r.warn("SF960", e.Line, earlier.ID, "the trigger query %.60q appears twice, first in line %d; it is counted once", e.Prompt, earlier.Line)
	return nil
}

// query reads a trigger eval (R-SF-TR-1, R-SF-TR-2).
func (r *reader) query(e *Eval) (err error) {
	text := e.node.Get("query")
	if text == nil || text.Kind != schema.String || strings.TrimSpace(text.Text) == "" {
		return badAt(e.Line, "a trigger eval has no query")
	}
	e.Prompt = text.Text
	should, ok := e.node.Get("should_trigger").AsBool()
	if !ok {
		return badAt(e.Line, "the query %.60q does not say should_trigger: true or false", e.Prompt)
	}
	e.ShouldTrigger = should
	if err := r.id(e, "", 12); err != nil {
		return err
	}
	e.Checks = []Check{{ID: e.ID + "#1", Kind: Triggered, Line: e.Line}}
	e.Split, err = r.split(e)
	return err
}

// notTrigger finds an expected output that says the skill must stay out.
var notTrigger = regexp.MustCompile(`(?i)\b(should|must|does|do|shall)(\s+not|n['’]t)\s+(be\s+)?(trigger|activat|load)`)

// task reads an eval with a prompt.
func (r *reader) task(e *Eval) error {
	for _, field := range []struct {
		into  *string
		names []string
	}{
		{&e.Prompt, []string{"prompt", "input"}},
		{&e.Name, []string{"name", "eval_name"}},
		{&e.Expected, []string{"expected_output", "expected"}},
	} {
		text, err := r.text(e.node, field.names...)
		if err != nil {
			return err
		}
		*field.into = text
	}
	if err := r.id(e, "x", 10); err != nil {
		return err
	}
	var err error
	if e.Split, err = r.split(e); err != nil {
		return err
	}
	if err := r.files(e); err != nil {
		return err
	}
	return r.checks(e)
}

// id reads an eval's id, or derives it from its prompt or query (R-SF-EV-4).
func (r *reader) id(e *Eval, prefix string, digits int) error {
	node := e.node.Get("id")
	switch {
	case node == nil && e.Prompt == "":
		return badAt(e.Line, "an eval has neither an id nor a prompt")
	case node == nil:
		sum := sha256.Sum256([]byte(e.Prompt))
		e.ID, e.IDSource = prefix+hex.EncodeToString(sum[:])[:digits], IDDerived
		if r.set.Form == Tasks {
			r.warn("SF964", e.Line, e.ID, "an eval has no id; it is called %s, and a changed prompt would make it another one", e.ID)
		}
		return nil
	}
	id, source, ok := idOf(node)
	if !ok {
		return badAt(r.line(node), "an id is %s, want a text that is not blank, or a whole number", r.set.document.Excerpt(node))
	}
	e.ID, e.IDSource = id, source
	return nil
}

// idOf is the id a node states.
func idOf(node *schema.Node) (id string, source IDSource, ok bool) {
	if text, ok := node.AsText(); ok {
		return text, IDText, strings.TrimSpace(text) != ""
	}
	n, ok := node.AsInt()
	return fmt.Sprint(n), IDNumber, ok
}

// split reads the split the file states (DECISIONS M1).
func (r *reader) split(e *Eval) (Split, error) {
	node := e.node.Get("split")
	if node == nil {
		return "", nil
	}
	text, _ := node.AsText()
	switch s := Split(text); s {
	case Train, Val, Test:
		return s, nil
	}
	return "", badAt(r.line(node), "eval %q has the split %s, want train, val or test", e.ID, r.set.document.Excerpt(node))
}

// drive finds a path that begins with a drive letter.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// files reads the names of an eval's input files, relative to the skill and
// with slashes (R-SF-EV-11).
func (r *reader) files(e *Eval) error {
	node := e.node.Get("files")
	if node == nil {
		return nil
	}
	items := node.Items
	if node.Kind == schema.String {
		items = []*schema.Node{node}
	} else if node.Kind != schema.Array {
		return badAt(r.line(node), "eval %q: files is %s, want a list of paths", e.ID, node.Kind)
	}
	for _, item := range items {
		text, ok := item.AsText()
		if !ok || text == "" {
			return badAt(r.line(item), "eval %q: a file is %s, want a path", e.ID, item.Kind)
		}
		clean, ok := inside(text)
		if !ok {
			return badAt(r.line(item), "eval %q: the file %q leaves the skill", e.ID, text)
		}
		e.Files = append(e.Files, clean)
	}
	return nil
}

// inside cleans a path and reports whether it stays below its root.
// Backslashes count as slashes.
func inside(text string) (string, bool) {
	clean := strings.ReplaceAll(text, `\`, "/")
	if strings.HasPrefix(clean, "/") || drive.MatchString(clean) || strings.ContainsRune(clean, 0) {
		return "", false
	}
	clean = path.Clean(clean)
	return clean, clean != ".." && !strings.HasPrefix(clean, "../")
}

// unique refuses ids that are there twice, all in one message (R-SF-EV-4).
func (r *reader) unique() error {
	places := map[string][]string{}
	var order []string
	for i, e := range r.set.Evals {
		if places[e.ID] == nil {
			order = append(order, e.ID)
		}
		position := slices.IndexFunc(r.set.entries, func(n entry) bool { return n.eval == i }) + 1
		places[e.ID] = append(places[e.ID], fmt.Sprintf("eval %d in line %d", position, e.Line))
	}
	var twice []string
	for _, id := range order {
		if at := places[id]; len(at) > 1 {
			twice = append(twice, fmt.Sprintf("%q is %s", id, strings.Join(at, " and ")))
		}
	}
	if len(twice) == 0 {
		return nil
	}
	return fault.New(fault.Usage, "give every eval an id of its own", "ids are there more than once: %s", strings.Join(twice, "; "))
}

// CheckIDs refuses a set with an id that is no text of the file: the split of
// an eval follows its id for good (loop.md R-SPLIT-2). A query's hash is an
// id. The error is a usage fault.
func (s *Set) CheckIDs() error {
	for _, e := range s.Evals {
		switch {
		case e.IDSource == IDNumber:
			return badAt(e.Line, "the id %s is a number, want a text: %q", e.ID, e.ID)
		case e.IDSource == IDDerived && s.Form == Tasks:
			return badAt(e.Line, "an eval has no id")
		}
	}
	return nil
}

// placeholder is something a prompt leaves open.
var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}`)

// CheckPrompts refuses a set that cannot be run: an eval without a prompt, or
// with a placeholder that neither the eval nor the file defines by a member
// of that name (R-SF-EV-10). The error is a usage fault.
func (s *Set) CheckPrompts() error {
	for _, e := range s.Evals {
		if strings.TrimSpace(e.Prompt) == "" {
			return badAt(e.Line, "eval %q has no prompt", e.ID)
		}
		for _, found := range placeholder.FindAllStringSubmatch(e.Prompt, -1) {
			if name := found[1]; e.node.Get(name) == nil && s.document.Root.Get(name) == nil {
				return badAt(e.Line, "eval %q: nothing in the file says what %s stands for", e.ID, found[0])
			}
		}
	}
	return nil
}

// CheckPool refuses a pool of evals beside s (config.md section 6): one with
// a split, or an id that s has too. The error is a usage fault.
func (s *Set) CheckPool(pool Set) error { return s.checkBeside(pool, false) }

// CheckTransfer refuses transfer evals beside s (config.md section 6): one
// with a split, or an id or prompt that s has too. The error is a usage
// fault.
func (s *Set) CheckTransfer(transfer Set) error { return s.checkBeside(transfer, true) }

// checkBeside holds a side file against the set.
func (s *Set) checkBeside(other Set, prompts bool) error {
	if other.Form != Tasks {
		return bad("the file holds trigger queries, want evals with prompts")
	}
	known := map[string]bool{}
	for _, e := range s.Evals {
		known[e.Prompt] = true
	}
	for _, e := range other.Evals {
		if _, twice := s.Find(e.ID); twice {
			return badAt(e.Line, "the id %q also stands in the skill's evals", e.ID)
		}
		if prompts && known[e.Prompt] {
			return badAt(e.Line, "the prompt of eval %q also stands in the skill's evals", e.ID)
		}
		if e.Split != "" {
			return badAt(e.Line, "eval %q has a split, which means nothing in this file", e.ID)
		}
	}
	return nil
}
