package evals

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// one reads the only check of an eval.
func one(t testing.TB, check string) Check {
	t.Helper()
	s := read(t, `[{"id": "e", "prompt": "p", "assertions": [`+check+`]}]`)
	if len(s.Evals[0].Checks) != 1 {
		t.Fatalf("%s gives %d checks", check, len(s.Evals[0].Checks))
	}
	return s.Evals[0].Checks[0]
}

// R-SF-EV-5: the one table of spellings, each also with capitals, hyphens and
// underscores (M9).
func TestSpellings(t *testing.T) {
	rows := map[Kind]struct {
		words string
		rest  string
	}{
		Contains:     {"contains includes substring contains_all icontains content_contains", `"value": "x"`},
		ContainsAny:  {"contains_any any_of includes_any", `"value": ["x", "y"]`},
		NotContains:  {"not_contains excludes not_includes content_not_contains", `"value": "x"`},
		Equals:       {"equals equal exact exact_match", `"value": "x"`},
		StartsWith:   {"starts_with startswith prefix", `"value": "x"`},
		Regex:        {"regex regexp matches match regex_match content_contains content_matches file", `"pattern": "x", "path": "a"`},
		NotRegex:     {"not_regex not_matches regex_absent", `"pattern": "x"`},
		JSONPath:     {"json_path jsonpath json", `"path": "$.a", "value": 1`},
		JSONSchema:   {"json_schema schema valid_json is_json json", `"schema": {}`},
		FileExists:   {"file_exists exists output_exists file", `"path": "a/*.md"`},
		FileContains: {"file_contains file content_contains", `"path": "a", "value": "x"`},
		CommandCheck: {"command shell exec run script manual", `"cmd": ["x"]`},
		MaxWords:     {"max_words word_limit maxwords", `"value": 3`},
		MaxBytes:     {"max_bytes maxbytes size_limit", `"value": 3`},
		ToolUsed:     {"tool_used", `"tool": "Bash"`},
		Judged:       {"judged llm_judge llm judge rubric", `"criterion": "is polite"`},
		Unknown:      {"manual script frobnicate x-y unknown", `"text": "x"`},
	}
	for kind, row := range rows {
		for _, word := range strings.Fields(row.words) {
			for _, spelt := range []string{word, strings.ToUpper(word), strings.ReplaceAll(word, "_", "-")} {
				for _, member := range []string{"kind", "type", "check"} {
					c := one(t, fmt.Sprintf(`{%q: %q, %s}`, member, spelt, row.rest))
					if c.Kind != kind {
						t.Errorf("%s %q with %s is %s (%s), want %s", member, spelt, row.rest, c.Kind, c.Reason, kind)
					}
				}
			}
		}
	}
	others := map[string]Kind{
		`"a sentence"`:                                                Judged,
		`{"check": "the answer is polite"}`:                           Judged,
		`{"check": "tests pass", "cmd": "go test"}`:                   CommandCheck,
		`{"pattern": "x"}`:                                            Regex,
		`{"text": "t", "kind": "regex", "type": "x", "pattern": "y"}`: Regex,
		`{"kind": "odd", "type": "regex", "pattern": "y"}`:            Regex,
		`{"value": "x"}`:                                              Unknown,
		`{"kind": "contains"}`:                                        Unknown,
		`{"kind": "contains", "value": []}`:                           Unknown,
		`{"kind": "contains", "value": ""}`:                           Unknown,
		`{"kind": "contains", "value": {"a": 1}}`:                     Unknown,
		`{"kind": "contains", "value": "x", "negate": true}`:          NotContains,
		`{"kind": "contains", "value": "x", "negate": false}`:         Contains,
		`{"kind": "contains", "value": "x", "negate": "yes"}`:         Unknown,
		`{"kind": "regex", "pattern": "x", "negate": true}`:           NotRegex,
		`{"kind": "equals", "value": "x", "negate": true}`:            Unknown,
		`{"kind": "not_contains", "value": "x", "negate": true}`:      Unknown,
		`{"kind": "regex", "pattern": "("}`:                           Unknown,
		`{"kind": "regex", "pattern": "x", "flags": "g"}`:             Unknown,
		`{"kind": "contains", "value": "x", "target": "stderr"}`:      Unknown,
		`{"kind": "contains", "value": "x", "target": "file:../x"}`:   Unknown,
		`{"kind": "contains", "value": "x", "path": "/etc/passwd"}`:   Unknown,
		`{"kind": "file_exists"}`:                                     Unknown,
		`{"kind": "file_exists", "path": "[a"}`:                       Unknown,
		`{"kind": "json_path", "path": "a.b"}`:                        Unknown,
		`{"kind": "json_path"}`:                                       Unknown,
		`{"kind": "json_schema"}`:                                     Unknown,
		`{"kind": "json_schema", "schema": {"type": "x"}}`:            Unknown,
		`{"kind": "valid_json"}`:                                      JSONSchema,
		`{"kind": "command"}`:                                         Unknown,
		`{"kind": "command", "cmd": []}`:                              Unknown,
		`{"kind": "max_words", "value": "many"}`:                      Unknown,
		`{"kind": "max_words", "value": -1}`:                          Unknown,
		`{"kind": "tool_used"}`:                                       Unknown,
		`{"kind": "judged"}`:                                          Unknown,
	}
	for check, want := range others {
		if c := one(t, check); c.Kind != want || (want == Unknown) != (c.Reason != "") {
			t.Errorf("%s is %s (%s), want %s", check, c.Kind, c.Reason, want)
		}
	}
	s := read(t, `[{"id": "e", "must_have": ["a(", "a.b"]}]`)
	if shape(s) != `e:"" [e#1 unknown, e#2 regex]` || len(s.Warnings) != 1 || s.Warnings[0].Rule != "SF963" {
		t.Errorf("Read = %s with %+v", shape(s), s.Warnings)
	}
}

// R-SF-EV-6: what is ungraded follows from file and means.
func TestUngraded(t *testing.T) {
	s := read(t, `[{"id": "a", "assertions": [{"id": "j", "text": "x"}, {"id": "t", "kind": "tool_used", "tool": "Bash"}, {"id": "c", "kind": "contains", "value": "x"}]},
	 {"id": "b", "assertions": [{"id": "m", "kind": "manual", "text": "x"}]}]`)
	for name, tt := range map[string]struct {
		means    Means
		ungraded string
		left     string
	}{
		"nothing":    {Means{}, "a/j a/t b/m", "b"},
		"judge":      {Means{Judge: true}, "a/t b/m", "b"},
		"transcript": {Means{Transcript: true}, "a/j b/m", "b"},
		"both":       {Means{true, true}, "b/m", "b"},
	} {
		g, err := s.Gradable(tt.means, IgnoreUngraded)
		if err != nil || strings.Join(g.Ungraded, " ") != tt.ungraded || strings.Join(g.LeftOut, " ") != tt.left {
			t.Errorf("%s: Gradable = %v, %v, %v", name, g.Ungraded, g.LeftOut, err)
		}
		_, err = s.Gradable(tt.means, RefuseUngraded)
		wantUsage(t, "Gradable", err, "b/m (forge cannot check what is manual)")
	}
}

// R-SF-EV-5: what passes and what does not.
func TestGrade(t *testing.T) {
	output := Output{
		Last:       []byte("  Total: 12 euros\nsee out.md\n"),
		Transcript: []byte("called Bash"),
		Files: fstest.MapFS{
			"out.md": {Data: []byte("# Out\nvalue 7")}, "data/r.json": {Data: []byte(`{"a": [{"b": 1.0}, {"b": "x"}], "n": null, "a'b": 2}`)},
			"data/deep/x.txt": {Data: []byte("deep")}, "bin": {Data: []byte("\x00value 8")}, "empty": {},
		},
		Tools: []string{"Bash"},
	}
	tests := map[string]bool{
		`{"kind": "contains", "value": "Total"}`:                                                              true,
		`{"kind": "contains", "value": "total"}`:                                                              false,
		`{"kind": "icontains", "value": "total"}`:                                                             true,
		`{"kind": "contains", "value": ["Total", "12"]}`:                                                      true,
		`{"kind": "contains", "value": ["Total", "13"]}`:                                                      false,
		`{"kind": "contains", "value": 12}`:                                                                   true,
		`{"kind": "contains", "value": "Bash", "target": "transcript"}`:                                       true,
		`{"kind": "contains", "value": "value 7", "target": "outputs"}`:                                       true,
		`{"kind": "contains", "value": "value 8", "target": "outputs"}`:                                       false, // no text file
		`{"kind": "contains", "value": "deep", "target": "file:data/deep/x.txt"}`:                             true,
		`{"kind": "contains", "value": "x", "path": "none.md"}`:                                               false,
		`{"kind": "contains_any", "value": ["x9", "euros"]}`:                                                  true,
		`{"kind": "contains_any", "value": ["x9"]}`:                                                           false,
		`{"kind": "not_contains", "value": ["x9", "x8"]}`:                                                     true,
		`{"kind": "not_contains", "value": ["x9", "12"]}`:                                                     false,
		`{"kind": "not_contains", "value": "x", "path": "none.md"}`:                                           false, // nothing was made
		`{"kind": "not_regex", "pattern": "x9", "path": "none.md"}`:                                           false,
		`{"kind": "not_regex", "pattern": "x9"}`:                                                              true,
		`{"kind": "equals", "value": "  Total: 12 euros\nsee out.md"}`:                                        true,
		`{"kind": "equals", "value": "  total: 12 euros\nsee out.md", "ignore_case": true}`:                   true,
		`{"kind": "equals", "value": "Total: 12 euros"}`:                                                      false,
		`{"kind": "equals", "value": "", "path": "empty"}`:                                                    true,
		`{"kind": "starts_with", "value": "Total"}`:                                                           true,
		`{"kind": "starts_with", "value": "12"}`:                                                              false,
		`{"kind": "regex", "pattern": "^see"}`:                                                                false,
		`{"kind": "regex", "pattern": "^SEE", "flags": "im"}`:                                                 true,
		`{"kind": "json_path", "path": "$.a[0].b", "value": 1, "target": "file:data/r.json"}`:                 true,
		`{"kind": "json_path", "path": "$.a[*].b", "value": "x", "target": "file:data/r.json"}`:               true,
		`{"kind": "json_path", "path": "$.a[*].b", "value": "y", "target": "file:data/r.json"}`:               false,
		`{"kind": "json_path", "path": "$['a\\'b']", "value": 2, "target": "file:data/r.json"}`:               true,
		`{"kind": "json_path", "path": "$.n", "value": null, "target": "file:data/r.json"}`:                   true,
		`{"kind": "json_path", "path": "$.n", "target": "file:data/r.json"}`:                                  true,
		`{"kind": "json_path", "path": "$.z", "target": "file:data/r.json"}`:                                  false,
		`{"kind": "json_path", "path": "$.z", "exists": false, "target": "file:data/r.json"}`:                 true,
		`{"kind": "json_path", "path": "$.z", "exists": false}`:                                               false, // no JSON
		`{"kind": "json_path", "path": "$.a", "value": [{"b": 1}, {"b": "x"}], "target": "file:data/r.json"}`: true,
		`{"kind": "is_json"}`:                                                             false,
		`{"kind": "is_json", "target": "file:data/r.json"}`:                               true,
		`{"kind": "schema", "schema": {"required": ["a"]}, "target": "file:data/r.json"}`: true,
		`{"kind": "schema", "schema": {"required": ["q"]}, "target": "file:data/r.json"}`: false,
		`{"kind": "file_exists", "path": "out.md"}`:                                       true,
		`{"kind": "file_exists", "path": "**/*.txt"}`:                                     true,
		`{"kind": "file_exists", "path": "*.txt"}`:                                        false,
		`{"kind": "file_exists", "path": "data"}`:                                         false, // no regular file
		`{"kind": "file_contains", "path": "*.md", "value": "value 7"}`:                   true,
		`{"kind": "file_contains", "path": "*.md", "value": "value 8"}`:                   false,
		`{"kind": "file_contains", "path": "none", "value": "x"}`:                         false,
		`{"kind": "max_words", "value": 5}`:                                               true,
		`{"kind": "max_words", "value": 4}`:                                               false,
		`{"kind": "max_bytes", "value": 29}`:                                              true,
		`{"kind": "max_bytes", "value": 28}`:                                              false,
		`{"kind": "tool_used", "tool": "Bash"}`:                                           true,
		`{"kind": "tool_used", "tool": "Read"}`:                                           false,
		`{"kind": "tool_used", "tool": "Read", "negate": true}`:                           true,
	}
	for check, want := range tests {
		c := one(t, check)
		got, err := c.Grade(output)
		if err != nil || got.Passed != want || got.Evidence == "" || got.ID != "e#1" {
			t.Errorf("Grade(%s) = %+v, %v, want %t", check, got, err, want)
		}
		nothing, err := c.Grade(Output{})
		if err != nil || nothing.Passed {
			t.Errorf("Grade(%s) of nothing = %+v, %v, want a failure", check, nothing, err)
		}
	}
	for _, check := range []string{`"polite"`, `{"cmd": "true"}`, `{"kind": "manual"}`} {
		if _, err := one(t, check).Grade(output); !errors.Is(err, ErrElsewhere) {
			t.Errorf("Grade(%s) = %v, want ErrElsewhere", check, err)
		}
	}
}

// A check that runs a command is a value, its words filled in without harm.
func TestCommand(t *testing.T) {
	list := one(t, `{"cmd": ["diff", "{case_dir}/a", "{output_dir}/b"], "expect_exit": 1, "expect_substring": "<"}`).Command
	if got := list.Expand("/c d", "/o"); !slices.Equal(got, []string{"diff", "/c d/a", "/o/b"}) {
		t.Errorf("Expand = %q", got)
	}
	if !list.Passed(1, []byte("< x")) || list.Passed(0, []byte("< x")) || list.Passed(1, []byte("x")) {
		t.Error("Passed does not hold exit and output against what is expected")
	}
	shell := one(t, `{"check": "shell", "cmd": "test -s {output_dir}/x"}`).Command
	if got := shell.Expand("/c", "/it's; rm"); !slices.Equal(got, []string{"/bin/sh", "-c", `test -s '/it'\''s; rm'/x`}) {
		t.Errorf("Expand = %q", got)
	}
	for _, cmd := range []string{`"cmd": [1]`, `"cmd": " "`, `"cmd": ["x"], "expect_exit": 300`, `"cmd": ["x"], "expect_substring": 1`, `"cmd": ["a\u0000b"]`} {
		if c := one(t, "{"+cmd+"}"); c.Kind != Unknown {
			t.Errorf("{%s} is %s, want unknown", cmd, c.Kind)
		}
	}
}

// Schemas that are files of the skill.
func TestLoadSchemas(t *testing.T) {
	s := read(t, `[{"id": "e", "assertions": [{"id": "ok", "kind": "schema", "schema_file": "s.json"}, {"id": "no", "kind": "schema", "schema_file": "none.json"},
	 {"id": "bad", "kind": "schema", "schema_file": "bad.json"}, {"id": "out", "kind": "schema", "schema_file": "../s.json"}]}]`)
	files := fstest.MapFS{"s.json": {Data: []byte(`{"type": "object"}`)}, "bad.json": {Data: []byte(`{"type": 3}`)}}
	s.LoadSchemas(files.ReadFile)
	var kinds []Kind
	for _, c := range s.Evals[0].Checks {
		kinds = append(kinds, c.Kind)
	}
	if !slices.Equal(kinds, []Kind{JSONSchema, Unknown, Unknown, Unknown}) {
		t.Errorf("kinds are %v", kinds)
	}
	for text, want := range map[string]bool{"{}": true, "[]": false} {
		if got, err := s.Evals[0].Checks[0].Grade(Output{Last: []byte(text)}); err != nil || got.Passed != want {
			t.Errorf("Grade(%s) = %+v, %v", text, got, err)
		}
	}
}

// Globs: * stays inside a name, ** crosses directories.
func TestMatchGlob(t *testing.T) {
	for pattern, names := range map[string]map[string]bool{
		"**/*.md":    {"a.md": true, "x/a.md": true, "x/y/a.md": true, "a.txt": false},
		"a/**":       {"a/b": true, "a/b/c": true, "b/a": false},
		"a/**/b":     {"a/b": true, "a/x/b": true, "a/x/y/b": true, "a/bc": false},
		"*.md":       {"a.md": true, "x/a.md": false},
		"a?c":        {"abc": true, "a/c": false},
		"**":         {"a": true, "a/b": true},
		"**/**/**/x": {"x": true, "a/b/c/d/e/x": true, "a/b": false},
	} {
		for name, want := range names {
			if got := matchGlob(pattern, name); got != want {
				t.Errorf("matchGlob(%q, %q) = %t", pattern, name, got)
			}
		}
	}
}

// A check says in a line what it looks for; its own text comes first.
func TestDescribe(t *testing.T) {
	for object, want := range map[string]string{
		`{"kind": "contains", "value": ["a", "b"]}`:                     `contains "a", "b"`,
		`{"kind": "contains", "value": "a", "text": "names the a"}`:     "names the a",
		`{"kind": "not_contains", "value": "x", "target": "outputs"}`:   `not_contains "x" in the output`,
		`{"kind": "regex", "pattern": "a+", "flags": "i"}`:              "regex /a+/i",
		`{"kind": "equals", "value": "x", "path": "out.txt"}`:           `equals "x" in the out.txt`,
		`{"kind": "file_contains", "path": "*.md", "value": "x"}`:       `file_contains *.md "x"`,
		`{"cmd": ["test", "-s", "x"]}`:                                  "command test -s x",
		`{"cmd": "test -s x"}`:                                          "command test -s x",
		`{"kind": "max_words", "value": 5}`:                             "max_words 5",
		`{"kind": "json_path", "path": "$.a", "value": 1}`:              "json_path $.a",
		`{"kind": "tool_used", "tool": "Bash"}`:                         "tool_used Bash",
		`{"kind": "is_json"}`:                                           "json_schema",
		`{"kind": "file_exists", "path": "a/**"}`:                       "file_exists a/**",
		`{"kind": "starts_with", "value": "x", "target": "transcript"}`: `starts_with "x" in the transcript`,
	} {
		if got := one(t, object).Describe(); got != want {
			t.Errorf("%s.Describe() = %q, want %q", object, got, want)
		}
	}
}
