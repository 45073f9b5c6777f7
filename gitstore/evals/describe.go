package evals

import (
	"fmt"
	"strings"
)

// Describe is a check in one line for people: its own text, else what it looks
// for.
func (c Check) Describe() string {
	if c.Text != "" {
		return c.Text
	}
	where := ""
	if c.Target != "" && c.Target != LastMessage {
		where = " in the " + describe(c.Target)
	}
	switch c.Kind {
	case Contains, ContainsAny, NotContains, Equals, StartsWith:
		return fmt.Sprintf("%s %s%s", c.Kind, quoteAll(c.Values), where)
	case Regex, NotRegex:
		return fmt.Sprintf("%s /%s/%s%s", c.Kind, c.Pattern, c.Flags, where)
	case JSONPath:
		return fmt.Sprintf("%s %s%s", c.Kind, c.Path, where)
	case FileExists:
		return fmt.Sprintf("%s %s", c.Kind, c.Path)
	case FileContains:
		return fmt.Sprintf("%s %s %s", c.Kind, c.Path, quoteAll(c.Values))
	case CommandCheck:
		if c.Command.Shell != "" {
			return fmt.Sprintf("%s %s", c.Kind, c.Command.Shell)
		}
		return fmt.Sprintf("%s %s", c.Kind, strings.Join(c.Command.Argv, " "))
	case MaxWords, MaxBytes:
		return fmt.Sprintf("%s %d%s", c.Kind, c.Limit, where)
	case ToolUsed:
		return fmt.Sprintf("%s %s", c.Kind, c.Tool)
	}
	return string(c.Kind) + where
}

// quoteAll is a list of values in a sentence.
func quoteAll(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = fmt.Sprintf("%q", cut(v))
	}
	return strings.Join(quoted, ", ")
}
