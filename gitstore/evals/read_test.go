package evals

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"forge/gitstore/fault"
)

func read(t testing.TB, text string) Set {
	t.Helper()
	s, err := Read([]byte(text))
	if err != nil {
		t.Fatalf("Read(%s) = %v", text, err)
	}
	return s
}

func readCase(t *testing.T, name string) (Set, error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return Read(data)
}

// wantUsage fails unless err is a usage fault that says want.
func wantUsage(t *testing.T, what string, err error, want string) {
	t.Helper()
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s = %v, want a usage fault with %q", what, err, want)
	}
}

// shape is a set in a line: what the table of spellings makes of it.
func shape(s Set) string {
	var parts []string
	for _, e := range s.Evals {
		var checks []string
		for _, c := range e.Checks {
			checks = append(checks, fmt.Sprintf("%s %s", c.ID, c.Kind))
		}
		parts = append(parts, fmt.Sprintf("%s:%q [%s]", e.ID, e.Prompt, strings.Join(checks, ", ")))
	}
	return strings.Join(parts, "; ")
}

// R-SF-EV-2, R-SF-EV-3, R-SF-EV-4, R-SF-EV-7, R-SF-TR-1: every shape there is.
func TestShapes(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"object":                {`{"version": 1, "evals": [{"id": "a", "prompt": "p", "assertions": [{"id": "k", "check": "says hello"}]}]}`, `a:"p" [k judged]`},
		"skill-creator":         {`{"skill_name": "n", "evals": [{"id": 1, "prompt": "p", "expected_output": "o", "files": [], "expectations": ["x", "y"]}]}`, `1:"p" [1#1 judged, 1#2 judged]`},
		"bare list":             {`[{"id": "a", "input": "p"}]`, `a:"p" []`},
		"byte order mark":       {"\ufeff[{\"id\": \"a\", \"prompt\": \"p\"}]", `a:"p" []`},
		"cases":                 {`{"cases": [{"id": 0, "prompt": "p"}]}`, `0:"p" []`},
		"test_cases":            {`{"test_cases": [{"id": "a", "prompt": "p"}]}`, `a:"p" []`},
		"empty":                 {`{"evals": []}`, ``},
		"equal text twice":      {`[{"id": "a", "prompt": "p", "assertions": ["x"], "expectations": ["x", "y"]}]`, `a:"p" [a#1 judged, a#2 judged]`},
		"the other's id":        {`[{"id": "a", "prompt": "p", "expectations": ["x"], "assertions": [{"id": "k", "text": "x"}]}]`, `a:"p" [k judged]`},
		"two ids, one text":     {`[{"id": "a", "prompt": "p", "assertions": [{"id": "k", "text": "x"}, {"id": "l", "text": "x"}]}]`, `a:"p" [k judged, l judged]`},
		"lists in order":        {`[{"id": "a", "prompt": "p", "must_avoid": ["x"], "must_have": ["a b", "a.b"], "must_not_have": ["c"], "expected_behavior": "b", "scorers": [{"type": "llm_judge", "criterion": "c"}]}]`, `a:"p" [a#1 judged, a#2 judged, a#3 contains, a#4 regex, a#5 not_regex, a#6 not_contains]`},
		"expected alone":        {`[{"id": "a", "prompt": "p", "expected_output": "a chart"}]`, `a:"p" [a#1 judged]`},
		"should NOT trigger":    {`[{"id": "a", "prompt": "p", "expected_output": "The skill should NOT trigger here"}]`, `a:"p" []`},
		"missing id":            {`[{"prompt": "c"}]`, `x2e7d2c03a9:"c" []`},
		"null id":               {`[{"id": null, "prompt": "c"}]`, `x2e7d2c03a9:"c" []`},
		"whole float as id":     {`[{"id": 1.0, "prompt": "c"}]`, `1:"c" []`},
		"queries":               {`{"queries": [{"query": "q", "should_trigger": true}]}`, `8e35c2cd3bf6:"q" [8e35c2cd3bf6#1 triggered]`},
		"query with an id":      {`[{"id": "mine", "query": "q", "should_trigger": false}]`, `mine:"q" [mine#1 triggered]`},
		"passed in the file":    {`[{"id": "a", "prompt": "p", "assertions": [{"text": "x", "passed": true, "evidence": ""}]}]`, `a:"p" [a#1 judged]`},
		"name and description":  {`[{"id": "a", "prompt": "p", "assertions": [{"name": "n", "description": "d"}]}]`, `a:"p" [a#1 judged]`},
		"kind manual":           {`[{"id": "a", "prompt": "p", "assertions": [{"text": "x", "kind": "manual"}]}]`, `a:"p" [a#1 unknown]`},
		"kind script":           {`[{"id": "a", "prompt": "p", "assertions": [{"text": "x", "kind": "script"}]}]`, `a:"p" [a#1 unknown]`},
		"number as check's id":  {`[{"id": "a", "prompt": "p", "assertions": [{"id": 7, "text": "x"}]}]`, `a:"p" [7 judged]`},
		"trigger by should not": {`[{"id": "a", "prompt": "p", "expected_output": "It shouldn't trigger"}]`, `a:"p" []`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := shape(read(t, tt.text)); got != tt.want {
				t.Errorf("Read(%s) = %s, want %s", tt.text, got, tt.want)
			}
		})
	}
}

// R-SF-EV-10: what is refused, with its line.
func TestReadRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"comment":              {"{\n// no\n\"evals\": []}", "line 2: JSON has no comments"},
		"trailing comma":       {"{\"evals\": [\n],}", "line 2: a comma stands before the closing '}'"},
		"key twice":            {"[{\"id\": \"a\",\n\"id\": \"b\"}]", `line 2: the key "id" is there twice`},
		"a text":               {`"x"`, "the file holds a text"},
		"no list":              {`{"eval": []}`, "no list of evals"},
		"two lists":            {`{"evals": [], "cases": []}`, `both "evals" and "cases"`},
		"list of another kind": {`{"evals": {}}`, `"evals" is an object, want a list`},
		"element":              {"[\n3]", "line 2: eval 1 is a number"},
		"no id, no prompt":     {`[{"name": "n"}]`, "neither an id nor a prompt"},
		"blank id":             {`[{"id": " ", "prompt": "p"}]`, `an id is " "`},
		"fraction as id":       {`[{"id": 1.5, "prompt": "p"}]`, "an id is 1.5"},
		"prompt of a list":     {`[{"id": "a", "prompt": []}]`, "prompt or input is a list"},
		"split":                {"[{\"id\": \"a\",\n\"split\": \"dev\"}]", `line 2: eval "a" has the split "dev"`},
		"split of a number":    {`[{"id": "a", "split": 1}]`, "has the split 1"},
		"weight 0":             {"[{\"id\": \"a\", \"assertions\": [\n{\"text\": \"x\", \"weight\": 0}]}]", `line 2: eval "a": a weight is 0`},
		"weight below 0":       {`[{"id": "a", "assertions": [{"text": "x", "weight": -1}]}]`, "a weight is -1"},
		"weight as text":       {`[{"id": "a", "assertions": [{"text": "x", "weight": "1"}]}]`, `a weight is "1"`},
		"weight too fine":      {`[{"id": "a", "assertions": [{"text": "x", "weight": 1e-300}]}]`, "a weight is 1e-300"},
		"empty check":          {`[{"id": "a", "assertions": [""]}]`, "a check in assertions is empty"},
		"check of a number":    {`[{"id": "a", "assertions": [1]}]`, "a check in assertions is a number"},
		"check id twice":       {`[{"id": "a", "assertions": [{"id": "k", "text": "x"}, {"id": "k", "text": "y"}]}]`, `two checks with the id "k"`},
		"equal prompts":        {`[{"prompt": "c"}, {"prompt": "c"}]`, `"x2e7d2c03a9" is eval 1 in line 1 and eval 2 in line 1`},
		"file outside":         {`[{"id": "a", "files": ["../x"]}]`, `the file "../x" leaves the skill`},
		"absolute file":        {`[{"id": "a", "files": ["/etc/passwd"]}]`, `leaves the skill`},
		"mixed":                {`[{"id": "a", "prompt": "p"}, {"query": "q", "should_trigger": true}]`, "eval 2 is a trigger query among evals"},
		"mixed the other way":  {`[{"query": "q", "should_trigger": true}, {"id": "a", "prompt": "p"}]`, "a trigger eval has no query"},
		"no should_trigger":    {`[{"query": "q"}]`, "does not say should_trigger"},
		"text should_trigger":  {`[{"query": "q", "should_trigger": "yes"}]`, "does not say should_trigger"},
		"two minds":            {"[{\"query\": \"q\", \"should_trigger\": true},\n{\"query\": \"q\", \"should_trigger\": false}]", `line 2: the query "q" appears twice with different expectations, first in line 1`},
		"too many evals":       {`[` + strings.Repeat(`{"id":"a"},`, 1000) + `{"id":"a"}]`, "1001 evals of at most 1000"},
		"too many checks":      {`[{"id":"a","assertions":["0"` + numbered(200) + `]}]`, "201 checks of at most 200"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(tt.text))
			wantUsage(t, "Read", err, tt.want)
		})
	}
}

// numbered is n more texts of a list.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d"`, i)
	}
	return b.String()
}

// A file of 50 MB is refused at once, with a sentence.
func TestReadHugeFile(t *testing.T) {
	data := []byte(`[{"id": "a", "prompt": "` + strings.Repeat("x", 50<<20) + `"}]`)
	start := time.Now()
	_, err := Read(data)
	wantUsage(t, "Read of 50 MiB", err, "the evals file has 52428827 bytes, at most 4194304 (4 MiB) are read")
	if took := time.Since(start); took > time.Second {
		t.Errorf("Read of 50 MiB took %s", took)
	}
}

// The eval files of the case collection, as their rows say.
func TestCases(t *testing.T) {
	t.Run("E01", func(t *testing.T) { // M9
		s, err := readCase(t, "E01")
		if err != nil || shape(s) != `1:"p" [1#1 judged, 1#2 judged]` {
			t.Fatalf("Read = %s, %v", shape(s), err)
		}
		if g, err := s.Gradable(Means{Judge: true}, RefuseUngraded); err != nil || len(g.Evals[0].Checks) != 2 {
			t.Errorf("Gradable with a judge = %+v, %v", g, err)
		}
		_, err = s.Gradable(Means{}, RefuseUngraded)
		wantUsage(t, "Gradable", err, "1/1#1 (it needs a judge), 1/1#2 (it needs a judge)")
		_, err = s.Gradable(Means{}, IgnoreUngraded)
		wantUsage(t, "Gradable, ignoring", err, "nothing to measure")
	})
	t.Run("E03", func(t *testing.T) { // M1a, R-SF-TR-4
		s, err := readCase(t, "E03")
		if err != nil || s.Form != Triggers || len(s.Evals) != 2 || s.Evals[0].ID != "b330ce95dccc" || s.Evals[1].ID != "115ff558a2b5" {
			t.Fatalf("Read = %s, %v", shape(s), err)
		}
		if len(s.Warnings) != 1 || s.Warnings[0].Rule != "SF960" || s.Warnings[0].Line != 10 {
			t.Errorf("Warnings = %+v, want one SF960 in line 10", s.Warnings)
		}
	})
	t.Run("E04", func(t *testing.T) { // M9
		s, err := readCase(t, "E04")
		if err != nil || shape(s) != `e1:"p" [e1#1 regex, e1#2 judged]` {
			t.Fatalf("Read = %s, %v", shape(s), err)
		}
		_, err = s.Gradable(Means{}, RefuseUngraded)
		wantUsage(t, "Gradable", err, "e1/e1#2")
		g, err := s.Gradable(Means{}, IgnoreUngraded)
		if err != nil || !slices.Equal(g.Ungraded, []string{"e1/e1#2"}) || len(g.Evals[0].Checks) != 1 {
			t.Fatalf("Gradable = %+v, %v", g, err)
		}
		check := g.Evals[0].Checks[0]
		for name, tt := range map[string]struct {
			files fstest.MapFS
			want  bool
		}{
			"there": {fstest.MapFS{"out.md": {Data: []byte("PII such as an email")}}, true},
			"other": {fstest.MapFS{"out.md": {Data: []byte("nothing")}}, false},
			"none":  {fstest.MapFS{}, false},
		} {
			if got, err := check.Grade(Output{Files: tt.files}); err != nil || got.Passed != tt.want {
				t.Errorf("%s: Grade = %+v, %v, want %t", name, got, err, tt.want)
			}
		}
	})
	t.Run("E08", func(t *testing.T) { // M1, R-SF-EV-4
		_, err := readCase(t, "E08")
		wantUsage(t, "Read", err, `"1" is eval 1 in line 3 and eval 2 in line 7; "2" is eval 4 in line 14 and eval 5 in line 18`)
		s := read(t, `{"evals": [{"id": 1, "prompt": "a"}, {"id": "3", "prompt": "b"}, {"prompt": "c"}]}`)
		if s.Evals[2].ID != "x2e7d2c03a9" || len(s.Warnings) != 1 || s.Warnings[0].Rule != "SF964" {
			t.Errorf("Read = %s with %+v", shape(s), s.Warnings)
		}
	})
	t.Run("E10", func(t *testing.T) { // M2
		for _, name := range []string{"E10", "E10b"} {
			s, err := readCase(t, name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Gradable(Means{Judge: true}, IgnoreUngraded)
			wantUsage(t, "Gradable", err, "nothing to measure")
		}
	})
	t.Run("C06", func(t *testing.T) {
		_, err := readCase(t, "C06")
		wantUsage(t, "Read", err, `line 1: eval "1": the file "C:\\Users\\x\\in.csv" leaves the skill`)
		s := read(t, `[{"id": "a", "files": ["evals\\files\\in.csv", "./x//y"]}]`)
		if got := s.Evals[0].Files; !slices.Equal(got, []string{"evals/files/in.csv", "x/y"}) {
			t.Errorf("Files = %q", got)
		}
	})
}

// R-SPLIT-2: split-assign wants texts; a query's hash is one.
func TestCheckIDs(t *testing.T) {
	for text, want := range map[string]string{
		`[{"id": 1, "prompt": "p"}]`: "the id 1 is a number",
		`[{"prompt": "p"}]`:          "an eval has no id",
	} {
		s := read(t, text)
		wantUsage(t, "CheckIDs", s.CheckIDs(), want)
	}
	s := read(t, `[{"query": "q", "should_trigger": true}]`)
	if err := s.CheckIDs(); err != nil {
		t.Errorf("CheckIDs of a query = %v", err)
	}
}

// R-SF-EV-10: placeholders and missing prompts.
func TestCheckPrompts(t *testing.T) {
	for text, want := range map[string]string{
		`[{"id": "a"}]`: `eval "a" has no prompt`,
		`[{"id": "a", "prompt": "use {{FIXTURE_RUST}}"}]`:                   "what {{FIXTURE_RUST}} stands for",
		`{"x": 1, "evals": [{"id": "a", "prompt": "use {{x}} and {{y}}"}]}`: "what {{y}} stands for",
	} {
		s := read(t, text)
		wantUsage(t, "CheckPrompts", s.CheckPrompts(), want)
	}
	s := read(t, `{"x": 1, "evals": [{"id": "a", "prompt": "use {{x}} {not} {{ y }}", "y": 2}]}`)
	if err := s.CheckPrompts(); err != nil {
		t.Error(err)
	}
}

// config.md section 6: what stands beside an evals file.
func TestSideFiles(t *testing.T) {
	main := read(t, `[{"id": "a", "prompt": "p"}]`)
	other := func(text string) Set { return read(t, text) }
	if err := main.CheckPool(other(`[{"id": "b", "prompt": "p"}]`)); err != nil {
		t.Error(err)
	}
	wantUsage(t, "pool, id", main.CheckPool(other(`[{"id": "a", "prompt": "q"}]`)), `the id "a" also stands`)
	wantUsage(t, "pool, split", main.CheckPool(other(`[{"id": "b", "split": "val"}]`)), "has a split")
	wantUsage(t, "pool, queries", main.CheckPool(other(`[{"query": "b", "should_trigger": true}]`)), "trigger queries")
	wantUsage(t, "transfer, prompt", main.CheckTransfer(other(`[{"id": "b", "prompt": "p"}]`)), "also stands")
	transfer := other(`{"context": "another model", "evals": [{"id": "b", "prompt": "q"}]}`)
	if err := main.CheckTransfer(transfer); err != nil || transfer.Context != "another model" {
		t.Errorf("CheckTransfer = %v, context %q", err, transfer.Context)
	}
}

// FuzzRead: no file makes it panic; what is read splits and is written back so
// that it reads the same.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"E01", "E03", "E04", "E08", "E10", "C06"} {
		data, err := os.ReadFile(filepath.Join("testdata", "cases", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`[{"id":"a","assertions":[{"kind":"json-path","path":"$.a[0]['b']","value":[1]},{"cmd":["x"]},{"kind":"schema","schema":{"$ref":"#"}}]}]`))
	f.Add([]byte("{\r\n  \"split_seed\": 3,\r\n  \"evals\": [\r\n    {\r\n      \"id\": \"a\"\r\n    }\r\n  ]\r\n}"))
	f.Add([]byte("{ \"evals\": [ { \"id\": [\n] } ] }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(data)
		if err != nil {
			if fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "\n") {
				t.Errorf("Read(%q) = %v, want a usage fault of one line", data, err)
			}
			return
		}
		if _, err := s.Gradable(Means{Judge: true}, IgnoreUngraded); err == nil {
			for _, e := range s.Evals {
				for _, c := range e.Checks {
					_, _ = c.Grade(Output{Last: data, Files: fstest.MapFS{"a/b.txt": {Data: data}}})
				}
			}
		}
		a, err := s.Assign(rule())
		if err != nil {
			return
		}
		written, err := s.WithSplits(a)
		if err != nil {
			t.Fatal(err)
		}
		if len(written) > MaxFile {
			return
		}
		back, err := Read(written)
		if err != nil {
			t.Fatalf("Read(%q) = %v", written, err)
		}
		again, err := back.Assign(rule())
		if err != nil || fmt.Sprint(again.Assignment) != fmt.Sprint(a.Assignment) {
			t.Errorf("%q splits into %v, and written as %q into %v, %v", data, a.Assignment, written, again.Assignment, err)
		}
		if shape(back) != shape(s) {
			t.Errorf("%q reads as %s, and written as %q as %s", data, shape(s), written, shape(back))
		}
	})
}
