package textdiff

import (
	"slices"
	"testing"
)

func TestCommon(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          []int
	}{
		"the same":            {"a\nb\n", "a\nb\n", []int{0, 1}},
		"new":                 {"", "a\nb\n", []int{-1, -1}},
		"emptied":             {"a\n", "", []int{}},
		"changed in between":  {"a\nb\nc\n", "a\nx\nc\n", []int{0, -1, 2}},
		"added at the front":  {"a\nb\n", "x\na\nb\n", []int{-1, 0, 1}},
		"taken from the end":  {"a\nb\nc\n", "a\n", []int{0}},
		"moved up":            {"a\nb\nc\n", "c\na\nb\n", []int{-1, 0, 1}},
		"a final newline":     {"a\nb", "a\nb\n", []int{0, -1}},
		"another line ending": {"a\r\nb\r\n", "a\nb\r\n", []int{-1, 1}},
	} {
		if got := Common([]byte(c.before), []byte(c.after)); !slices.Equal(got, c.want) {
			t.Errorf("%s: Common(%q, %q) = %v, want %v", name, c.before, c.after, got, c.want)
		}
		if got := len(Lines([]byte(c.after))); got != len(c.want) {
			t.Errorf("%s: Lines(%q) gives %d lines, want %d", name, c.after, got, len(c.want))
		}
	}
}
