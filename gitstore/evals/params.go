package evals

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"forge/gitstore/schema"
)

// The targets of a check. FileTarget is followed by a path below the outputs.
const (
	LastMessage = "last"
	Transcript  = "transcript"
	AllOutputs  = "outputs"
	FileTarget  = "file:"
)

// Params are what a check needs beside its kind; which fields count follows
// from that (skill-format.md R-SF-EV-5).
type Params struct {
	Target     string   // LastMessage, Transcript, AllOutputs or FileTarget with a path
	Values     []string // contains, contains_any, not_contains, equals, starts_with, file_contains
	IgnoreCase bool
	Pattern    string // regex, not_regex
	Flags      string // of i, m and s
	Path       string // json_path: the path; file_exists, file_contains: a file or glob
	SchemaFile string // json_schema: a file of the skill, see [Set.LoadSchemas]
	Limit      int64  // max_words, max_bytes
	Tool       string // tool_used
	Negate     bool   // tool_used: it must not have been used
	Command    Command
	Expected   string // judged: shown to the grader

	exists bool         // json_path without a value: whether there must be a result
	want   *schema.Node // json_path: the value
	regex  *regexp.Regexp
	schema *schema.Schema
}

// fill reads the parameters a kind needs. It returns why the check cannot be
// graded, or "".
func (c *Check) fill(n *schema.Node, spelling string) string {
	reason := c.negated(n)
	if reason != "" {
		return reason
	}
	switch c.Kind {
	case Contains, ContainsAny, NotContains, Equals, StartsWith, FileContains:
		reason = c.fillValues(n, spelling)
	case Regex, NotRegex:
		reason = c.fillPattern(n)
	case JSONPath:
		reason = c.fillJSONPath(n)
	case JSONSchema:
		reason = c.fillSchema(n, spelling)
	case CommandCheck:
		c.Command, reason = commandOf(n)
	case MaxWords, MaxBytes:
		limit, ok := n.Get("value").AsInt()
		if c.Limit = limit; !ok || limit < 0 {
			reason = "its value is no whole number"
		}
	case ToolUsed:
		if c.Tool, _ = n.Get("tool").AsText(); c.Tool == "" {
			reason = "it names no tool"
		}
	case Judged:
		c.Expected, _ = n.Get("expected").AsText()
		if c.Text == "" {
			reason = "it says nothing to judge by"
		}
	}
	if reason != "" {
		return reason
	}
	return c.fillPlace(n)
}

// negated turns contains and regex round.
func (c *Check) negated(n *schema.Node) string {
	node := n.Get("negate")
	if node == nil {
		return ""
	}
	negate, ok := node.AsBool()
	switch {
	case !ok:
		return "negate is " + node.Kind.String()
	case !negate:
	case c.Kind == Contains:
		c.Kind = NotContains
	case c.Kind == Regex:
		c.Kind = NotRegex
	case c.Kind == ToolUsed:
		c.Negate = true
	default:
		return "forge cannot negate " + string(c.Kind)
	}
	return ""
}

// fillPlace reads where a check looks: its path or its target.
func (c *Check) fillPlace(n *schema.Node) string {
	name, hasPath := n.Get("path").AsText()
	switch c.Kind {
	case FileExists, FileContains:
		clean, ok := inside(name)
		if c.Path = clean; !hasPath || name == "" || !ok {
			return "it names no path below the outputs"
		}
		if !validGlob(clean) {
			return "its path is no glob"
		}
		return ""
	case CommandCheck, ToolUsed, Judged, Unknown, Triggered:
		return ""
	}
	c.Target = LastMessage
	if target := n.Get("target"); target != nil {
		c.Target, _ = target.AsText()
	} else if hasPath && c.Kind != JSONPath {
		c.Target = FileTarget + name
	}
	file, isFile := strings.CutPrefix(c.Target, FileTarget)
	switch {
	case isFile:
		clean, ok := inside(file)
		if c.Target = FileTarget + clean; !ok || file == "" {
			return fmt.Sprintf("its target %q is no file below the outputs", file)
		}
	case c.Target != LastMessage && c.Target != Transcript && c.Target != AllOutputs:
		return fmt.Sprintf("it has no target that forge knows: %q", c.Target)
	}
	return ""
}

// fillValues reads value, a text or a list of texts.
func (c *Check) fillValues(n *schema.Node, spelling string) string {
	c.IgnoreCase = spelling == "icontains"
	if fold, ok := n.Get("ignore_case").AsBool(); ok {
		c.IgnoreCase = fold
	}
	value := n.Get("value")
	items := []*schema.Node{value}
	if value != nil && value.Kind == schema.Array {
		items = value.Items
	}
	for _, item := range items {
		if item == nil || item.Kind == schema.Null || item.Kind == schema.Array || item.Kind == schema.Object {
			return "its value is no text"
		}
		if item.Text == "" && c.Kind != Equals {
			return "its value is empty"
		}
		c.Values = append(c.Values, item.Text)
	}
	single := c.Kind == Equals || c.Kind == StartsWith
	if len(c.Values) == 0 || single && len(c.Values) != 1 {
		return "it has no value"
	}
	return ""
}

// fillPattern reads and compiles pattern and flags.
func (c *Check) fillPattern(n *schema.Node) string {
	pattern, ok := n.Get("pattern").AsText()
	if !ok || pattern == "" {
		return "it has no pattern"
	}
	flags := ""
	if node := n.Get("flags"); node != nil {
		if flags, ok = node.AsText(); !ok || strings.Trim(flags, "ims") != "" {
			return "its flags are not of i, m and s"
		}
	}
	return c.compile(pattern, flags)
}

// compile sets the pattern of a check.
func (c *Check) compile(pattern, flags string) string {
	prefix := ""
	if flags != "" {
		prefix = "(?" + flags + ")"
	}
	compiled, err := regexp.Compile(prefix + pattern)
	if err != nil {
		return "its regular expression does not compile"
	}
	c.Pattern, c.Flags, c.regex = pattern, flags, compiled
	return ""
}

// fillJSONPath reads path with value or exists.
func (c *Check) fillJSONPath(n *schema.Node) string {
	text, ok := n.Get("path").AsText()
	if !ok {
		return "it has no path"
	}
	if _, err := parseJSONPath(text); err != nil {
		return "its path is no JSON path: " + err.Error()
	}
	c.Path, c.exists = text, true
	if member := n.Member("value"); member != nil {
		c.want = member.Value
	} else if exists, ok := n.Get("exists").AsBool(); ok {
		c.exists = exists
	}
	return ""
}

// fillSchema reads and compiles a schema, or the name of its file.
func (c *Check) fillSchema(n *schema.Node, spelling string) string {
	if node := n.Get("schema"); node != nil {
		return c.setSchema(node)
	}
	name, ok := n.Get("schema_file").AsText()
	switch {
	case ok:
		clean, ok := inside(name)
		if c.SchemaFile = clean; !ok {
			return fmt.Sprintf("its schema file %q leaves the skill", name)
		}
		return ""
	case spelling == "jsonschema" || spelling == "schema":
		return "it has no schema"
	}
	c.schema = &schema.Schema{}
	return ""
}

// setSchema compiles a schema.
func (c *Check) setSchema(node *schema.Node) string {
	compiled, err := schema.Compile(node)
	if err != nil {
		return err.Error()
	}
	c.schema = compiled
	return ""
}

// says reports whether two checks of one eval say the same (R-SF-EV-2).
// Unknown ones without a text have nothing to compare by.
func (c *Check) says(other *Check) bool {
	if c.Kind != other.Kind || c.Text != other.Text || c.Kind == Unknown && c.Text == "" {
		return false
	}
	a, b := c.Params, other.Params
	sameWant := a.want == nil && b.want == nil || a.want != nil && b.want != nil && equalJSON(a.want, b.want)
	return a.Target == b.Target && slices.Equal(a.Values, b.Values) && a.IgnoreCase == b.IgnoreCase &&
		a.Pattern == b.Pattern && a.Flags == b.Flags && a.Path == b.Path && a.exists == b.exists && sameWant &&
		a.SchemaFile == b.SchemaFile && a.schema == nil && b.schema == nil && a.Limit == b.Limit &&
		a.Tool == b.Tool && a.Negate == b.Negate && a.Expected == b.Expected && c.Reason == other.Reason &&
		slices.Equal(a.Command.Argv, b.Command.Argv) && a.Command.Shell == b.Command.Shell &&
		a.Command.ExpectExit == b.Command.ExpectExit && a.Command.ExpectSubstring == b.Command.ExpectSubstring
}
