package evals

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// R-LEAK-2, R-SF-TR-5: which words of an eval are a window, and when a text
// holds it.
func TestWindows(t *testing.T) {
	const queries = `[
		{"query": "sum the revenue", "should_trigger": true}, {"query": "plot it", "should_trigger": false},
		{"query": "which of the nine columns of this export is the largest", "should_trigger": true}]`
	const tasks = `{"evals": [{"id": "a", "prompt": "Add up the amounts of the file.", "assertions": [{"text": "the answer names the largest month"}]}]}`
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"a short query as a whole":            {queries, "## Use\nSum the REVENUE, always.", []string{"sum the revenue"}},
		"inside other words":                  {queries, "resum the revenues", nil},
		"a query of two words":                {queries, "plot it", nil},
		"eight words of a long query":         {queries, "x the nine columns of this export is the y", []string{"the nine columns of this export is the"}},
		"seven words of it":                   {queries, "the nine columns of this export is", nil},
		"across prompt and check":             {tasks, "amounts of the file: the answer names the", []string{"amounts of the file the answer names the"}},
		"another script":                      {`[{"query": "合計 を 出す", "should_trigger": true}]`, "必ず 合計 を 出す。", []string{"合計 を 出す"}},
		"bytes that are no text hide nothing": {queries, "\xff\xfe sum\x00the\xffrevenue", []string{"sum the revenue"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set, err := Read([]byte(tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if got := set.Windows(func(string) bool { return true }).In([]byte(tt.text)); !slices.Equal(got, tt.want) {
				t.Errorf("In(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if got := set.Windows(func(string) bool { return false }).In([]byte(tt.text)); got != nil {
				t.Errorf("of no eval: In = %q", got)
			}
		})
	}
}

// 500 evals of 60 words against a skill of 2,000 words.
func BenchmarkWindows(b *testing.B) {
	var file strings.Builder
	file.WriteString(`{"evals": [`)
	for i := range 500 {
		if i > 0 {
			file.WriteByte(',')
		}
		fmt.Fprintf(&file, `{"id": "e%d", "prompt": %q, "assertions": ["x"]}`, i, strings.Repeat(fmt.Sprintf("word%d and %d ", i, i), 20))
	}
	file.WriteString(`]}`)
	set, err := Read([]byte(file.String()))
	if err != nil {
		b.Fatal(err)
	}
	skill := []byte(strings.Repeat("some words of a skill about totals ", 280))
	w := set.Windows(func(string) bool { return true })
	for b.Loop() {
		if found := w.In(skill); len(found) > 0 {
			b.Fatal(found)
		}
	}
}
