package skill

import (
	"bytes"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func TestSetDescription(t *testing.T) { // R-SF-E-1 to R-SF-E-4
	wrap := func(description string) string {
		return "---\n# c\nname: \"a\" # n\n" + description + "x-key:   [1, 2]  \n---\n\nBody\n---\n"
	}
	tests := map[string]struct{ description, value, want string }{
		"plain stays plain":        {"description: old\n", "new text", "description: new text\n"},
		"comment stays":            {"description: old  # why\n", "new", "description: new  # why\n"},
		"colon needs quotes":       {"description: old\n", "new: text", "description: \"new: text\"\n"},
		"hash needs quotes":        {"description: old\n", "ends in #hash and #", "description: \"ends in #hash and #\"\n"},
		"ends in a colon":          {"description: old\n", "new:", "description: \"new:\"\n"},
		"number needs quotes":      {"description: old\n", "2048", "description: \"2048\"\n"},
		"boolean needs quotes":     {"description: old\n", "on", "description: \"on\"\n"},
		"quotes inside plain":      {"description: old\n", "say \"hi\"", "description: say \"hi\"\n"},
		"quotes first":             {"description: old\n", "\"hi\" it says", "description: \"\\\"hi\\\" it says\"\n"},
		"line break":               {"description: old\n", "a\nb", "description: \"a\\nb\"\n"},
		"single stays single":      {"description: 'it''s old'\n", "it's new", "description: 'it''s new'\n"},
		"single grows":             {"description: 'it''s\n  old'\n", "it's old, it's new", "description: 'it''s\n  old, it''s new'\n"},
		"double stays double":      {"description: \"old \\u00e9\\n x\"\n", "old é\n x y \"z\"", "description: \"old \\u00e9\\n x y \\\"z\\\"\"\n"},
		"double keeps escapes":     {"description: \"a\\x41\\tb\"\n", "aA\tbc", "description: \"a\\x41\\tbc\"\n"},
		"wrapped plain grows":      {"description: one\n  two\n  three.\n", "one two three. Use it.", "description: one\n  two\n  three. Use it.\n"},
		"wrapped plain changes":    {"description: one\n  two\n  three.\n", "one two four.", "description: one\n  two four.\n"},
		"folded grows":             {"description: >-\n    one\n    two\n\n    three.\n", "one two\nthree. Use it.", "description: >-\n    one\n    two\n\n    three. Use it.\n"},
		"folded anew":              {"description: >  # c\n    one\n    two\n\n", "new", "description: >  # c\n    new\n\n"},
		"folded with a break":      {"description: >\n  one\n", "two\nthree", "description: \"two\\nthree\"\n"},
		"literal grows":            {"description: |\n  one\n  two\n", "one\ntwo\nthree", "description: |\n  one\n  two\n  three\n"},
		"literal shrinks":          {"description: |\n  one\n  two\n", "one", "description: |\n  one\n"},
		"block without content":    {"description: >\n\n", "new", "description: >\n  new\n\n"},
		"value on its own line":    {"description:\n  old\n", "new", "description:\n  new\n"},
		"nothing behind the colon": {"description:\n", "new", "description: new\n"},
		"quoted key":               {"\"description\" : old\n", "new", "\"description\" : new\n"},
		"tagged":                   {"description: !!str 12\n", "13", "description: !!str \"13\"\n"},
		"typed":                    {"description: 12\n", "new", "description: new\n"},
		"null":                     {"description: null\n", "new", "description: new\n"},
		"emptied":                  {"description: old\n", "", "description: \"\"\n"},
		"trimmed":                  {"description: old\n", "  new \n", "description: new\n"},
		"the same":                 {"description:   'old'\n", "old", "description:   'old'\n"},
		"absent":                   {"", "new", "description: new\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in, want := wrap(tt.description), wrap(tt.want)
			if tt.description == "" { // R-SF-E-3: before the closing line
				want = strings.Replace(wrap(""), "---\n\n", tt.want+"---\n\n", 1)
			}
			doc, _ := Parse([]byte(in))
			got, err := doc.SetDescription(tt.value)
			if err != nil || string(got) != want {
				t.Errorf("SetDescription(%q) of %q = %q, %v; want %q", tt.value, tt.description, got, err, want)
			}
		})
	}
}

func TestEditKeepsEndings(t *testing.T) { // R-SF-R-2, R-SF-E-1; S01
	in := "\ufeff---\t\r\nname: a\r\ndescription: >-\r\n  one\r\n  two\r\nx: y\r\n---\r\nT\r\n---"
	doc, _ := Parse([]byte(in))
	got, err := doc.SetDescription("one two three")
	if want := strings.Replace(in, "two", "two three", 1); err != nil || string(got) != want {
		t.Errorf("SetDescription = %q, %v; want %q", got, err, want)
	}
	got, err = doc.SetDescription("other")
	if want := strings.Replace(in, "one\r\n  two", "other", 1); err != nil || string(got) != want {
		t.Errorf("SetDescription = %q, %v; want %q", got, err, want)
	}
	got, err = doc.SetField("license", "MIT")
	if want := strings.Replace(in, "---\r\nT", "license: MIT\r\n---\r\nT", 1); err != nil || string(got) != want {
		t.Errorf("SetField = %q, %v; want %q", got, err, want)
	}
	indented := "---\n  name: a\n---"
	doc, _ = Parse([]byte(indented))
	if got, err := doc.SetDescription("b"); err != nil || string(got) != "---\n  name: a\n  description: b\n---" {
		t.Errorf("SetDescription of %q = %q, %v", indented, got, err)
	}
	if ToEnding("a\r\nb\rc\n", CRLF) != "a\r\nb\r\nc\r\n" || ToEnding("a\r\n", LF) != "a\n" {
		t.Error("ToEnding leaves other endings")
	}
}

func TestSetBody(t *testing.T) { // R-SF-R-4
	tests := map[string]struct{ in, body, want string }{
		"plain":               {"---\nname: a\n---\nold\n", "new\n---\n", "---\nname: a\n---\nnew\n---\n"},
		"unparsable":          {"---\ndescription: x: y\n---\nold", "new", "---\ndescription: x: y\n---\nnew"},
		"ends at the closing": {"---\r\nname: a\r\n---", "new", "---\r\nname: a\r\n---\r\nnew"},
		"emptied":             {"\ufeff---\nname: a\n---\t\nold", "", "\ufeff---\nname: a\n---\t\n"},
		"no front matter":     {"# T\n", "# U\n", "# U\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			doc, _ := Parse([]byte(tt.in))
			if got, err := doc.SetBody([]byte(tt.body)); err != nil || string(got) != tt.want {
				t.Errorf("SetBody(%q) of %q = %q, %v; want %q", tt.body, tt.in, got, err, tt.want)
			}
		})
	}
	doc, _ := Parse(caseFile(t, "S03-colon-space"))
	if got, err := doc.SetBody([]byte("\nnew\n")); err != nil || !bytes.HasPrefix(got, caseFile(t, "S03-colon-space")[:90]) {
		t.Errorf("S03 = %q, %v; want another body", got, err)
	}
}

func TestEditRefuses(t *testing.T) {
	tests := map[string]struct {
		in   string
		body bool // whether the body may change
	}{
		"not UTF-8":        {string(caseFile(t, "S16-invalid-utf8")), false}, // R-SF-R-7
		"never closed":     {string(caseFile(t, "S27-unclosed")), false},
		"a pointer":        {string(caseFile(t, "S17-pointer-file")), false},
		"too large":        {strings.Repeat("x", MaxFile+1), false},
		"not YAML":         {string(caseFile(t, "S03-colon-space")), true},
		"duplicate keys":   {string(caseFile(t, "S09-duplicate-keys")), true},
		"no front matter":  {"# T\n", true},
		"a list":           {"---\n- a\n---\n", true},
		"a flow map":       {"---\n{name: a, description: b}\n---\n", true},
		"a list of values": {"---\nname: a\ndescription: [b]\n---\n", true},
		"an alias":         {"---\nname: &n a\ndescription: *n\n---\n", true},
		"others see it":    {"---\nname: a\ndescription: &n b\nx: *n\n---\n", true}, // R-SF-E-4
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			doc, _ := Parse([]byte(tt.in))
			if got, err := doc.SetDescription("new"); fault.KindOf(err) != fault.Refused || got != nil {
				t.Errorf("SetDescription = %q, %v; want it refused", got, err)
			}
			if _, err := doc.SetBody([]byte("new\n")); (err == nil) != tt.body {
				t.Errorf("SetBody = %v, want allowed %t", err, tt.body)
			}
		})
	}
	doc, _ := Parse([]byte("---\nname: a\n---\n"))
	if _, err := doc.SetDescription("\xff"); fault.KindOf(err) != fault.Usage {
		t.Errorf("SetDescription of bytes = %v, want usage", err)
	}
	doc, _ = Parse([]byte("# T\n"))
	if _, err := doc.SetBody([]byte("---\nname: a\n---\n")); fault.KindOf(err) != fault.Refused {
		t.Errorf("a body that is front matter = %v, want it refused", err)
	}
}

// An edit that succeeds gives this very value, and no byte outside the old
// value's range differs.
func FuzzSetDescription(f *testing.F) {
	for _, front := range []string{
		"description: old # c\n", "description: 'it''s'\n", "description: \"a\\tb\\\n  c\"\n", "description: >-\n  one\n   two\n\n  three\n",
		"description: |2+\n   one\n\n", "description:\n", "? description\n: x\n", "description: one\n  two # c\n", "description: &a !!str x\n", "",
	} {
		f.Add("name: a\n"+front+"x: y\n", "old new: \"text\"")
	}
	f.Add("name: a\r\ndescription: one\r\n  two\r\n", "one two three")
	f.Fuzz(func(t *testing.T, front, value string) {
		data := []byte("---\n" + front + "---\nBody\n")
		doc, _ := Parse(data)
		edited, err := doc.SetDescription(value)
		if err != nil {
			return
		}
		again, _ := Parse(edited)
		if want := strings.TrimSpace(value); again.Description != want || !again.valid {
			t.Fatalf("SetDescription(%q) of %q gives %q, which reads %q", value, data, edited, again.Description)
		}
		if !bytes.Equal(again.Body, doc.Body) || again.Name != doc.Name || again.Version() != doc.Version() {
			t.Errorf("SetDescription(%q) of %q gives %q: more than the value differs", value, data, edited)
		}
		field, present := doc.Field("description")
		if !present || field.End == 0 {
			return // a line was added
		}
		if !bytes.HasPrefix(edited, data[:field.Start]) || !bytes.HasSuffix(edited, data[field.End:]) {
			t.Errorf("SetDescription(%q) of %q gives %q: bytes outside %d to %d differ", value, data, edited, field.Start, field.End)
		}
	})
}
