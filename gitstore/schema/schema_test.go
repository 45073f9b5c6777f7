package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func parse(t testing.TB, text string) *Document {
	t.Helper()
	document, err := Parse([]byte(text), Limits{})
	if err != nil {
		t.Fatalf("Parse(%q) = %v", text, err)
	}
	return document
}

// ARCHITECTURE section 3: strict JSON. Each refusal names its line and says
// what is wrong.
func TestRefusals(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":                {"", "the document is empty"},
		"blank":                {" \n ", "the document is empty"},
		"key twice":            {"{\n \"a\": 1,\n \"b\": 2,\n \"a\": 3}", `line 4: the key "a" is there twice, first in line 2`},
		"key twice by escape":  {`{"a": 1, "\u0061": 2}`, `line 1: the key "a" is there twice, first in line 1`},
		"nested key twice":     {`[{"x": {"k": 1, "k": 1}}]`, `line 1: the key "k" is there twice, first in line 1`},
		"trailing data":        {"{}\n{}", `line 2: something stands after the end of the document: '{'`},
		"line comment":         {"{\n// no\n}", "line 2: JSON has no comments"},
		"block comment":        {"[1, /* no */ 2]", "line 1: JSON has no comments"},
		"hash comment":         {"# no\n{}", "line 1: JSON has no comments"},
		"comma before ]":       {"[1,\n]", `line 1: a comma stands before the closing ']'`},
		"comma before }":       {"{\"a\": 1,\n}", `line 1: a comma stands before the closing '}'`},
		"comma missing":        {"[1\n2]", `line 2: a comma or ']' was expected, not '2'`},
		"colon missing":        {`{"a" 1}`, `line 1: a colon was expected after "a", not '1'`},
		"bare name":            {"{a: 1}", `line 1: a name in double quotes was expected, not 'a'`},
		"single quotes":        {"['a']", "line 1: a text stands in double quotes"},
		"NaN":                  {"[NaN]", "line 1: NaN is no number in JSON"},
		"word":                 {"[True]", `line 1: "True" is no value in JSON`},
		"leading zero":         {"[01]", `line 1: "01" is no number in JSON`},
		"lone minus":           {"[-]", `line 1: "-" is no number in JSON`},
		"no fraction":          {"[1.]", `line 1: "1." is no number in JSON`},
		"no exponent":          {"[1e]", `line 1: "1e" is no number in JSON`},
		"plus":                 {"[+1]", "line 1: a value was expected, not '+'"},
		"huge":                 {"[1e400]", "line 1: the number 1e400 is out of range"},
		"tiny":                 {"[1e-999999999]", "line 1: the number 1e-999999999 is out of range"},
		"zero, huge":           {"[0e999999999]", "line 1: the number 0e999999999 is out of range"},
		"not UTF-8":            {"\n[\"a\xff\"]", "line 2: the byte 0xff at offset 4 is not UTF-8"},
		"not UTF-8 outside":    {"\xff", "line 1: a value was expected, not the byte 0xff"},
		"half surrogate":       {`["\ud800"]`, "line 1: an escape is half a surrogate pair"},
		"low surrogate":        {`["\udc00"]`, "line 1: an escape is half a surrogate pair"},
		"surrogate, no second": {`["\ud800\n"]`, "line 1: an escape is half a surrogate pair"},
		"bad escape":           {`["\x"]`, "line 1: a backslash stands before something that is no escape"},
		"short escape":         {`["\u12"]`, "line 1: a backslash stands before something that is no escape"},
		"control character":    {"[\"a\tb\"]", "line 1: a text holds the control character 0x09; it is written as an escape"},
		"text without end":     {"[\n\"a", "line 2: a text has no end"},
		"list without end":     {"\n[1", "line 2: the document ends inside the list that begins in line 2"},
		"cut after colon":      {`{"a":`, "line 1: the document ends in the middle of a value"},
		"deep":                 {strings.Repeat("[", 65) + strings.Repeat("]", 65), "line 1: lists and objects stand too deep inside one another"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text), Limits{})
			if err == nil || err.Error() != tt.want {
				t.Errorf("Parse(%q) = %v, want %s", tt.text, err, tt.want)
			}
		})
	}
	if _, err := Parse([]byte(strings.Repeat("[", 64)+strings.Repeat("]", 64)), Limits{}); err != nil {
		t.Errorf("64 lists inside one another: %v", err)
	}
	_, err := Parse([]byte(`"123456789"`), Limits{Size: 10})
	if err == nil || err.Error() != "the document has 11 bytes, at most 10 are read" {
		t.Errorf("Parse of 11 bytes of at most 10 = %v", err)
	}
	_, err = Parse([]byte("{}\n  x"), Limits{})
	if at, ok := errors.AsType[*Error](err); !ok || at.Line != 2 || at.Column != 3 {
		t.Errorf("the place of %v is %+v, want line 2, column 3", err, at)
	}
}

// What is read is what was written, with its place.
func TestNodes(t *testing.T) {
	d := parse(t, "\ufeff{\r\n  \"t\": \"\\u00fc\\ud83d\\ude00\\\"\",\r\n  \"n\": -1.50e1,\r\n  \"l\": [true, null, {}, []]\r\n}\n")
	if text, _ := d.Root.Get("t").AsText(); text != "ü😀\"" {
		t.Errorf("t = %q", text)
	}
	n := d.Root.Get("n")
	if r, ok := n.AsNumber(); !ok || r.RatString() != "-15" || d.Excerpt(n) != "-1.50e1" || d.Line(n.Start) != 3 {
		t.Errorf("n = %v, %q in line %d", r, d.Excerpt(n), d.Line(n.Start))
	}
	if i, ok := n.AsInt(); !ok || i != -15 {
		t.Errorf("n = %d, %t", i, ok)
	}
	l := d.Root.Get("l")
	if d.Excerpt(l) != "[true,null,{},[]]" || len(l.Items) != 4 || l.Items[1].Kind != Null {
		t.Errorf("l = %q", d.Excerpt(l))
	}
	if b, ok := l.Items[0].AsBool(); !b || !ok {
		t.Error("l[0] is not true")
	}
	m := d.Root.Member("l")
	if string(d.Data[m.Start:m.End]) != `"l"` || d.Line(m.Start) != 4 {
		t.Errorf("the name of l is %q in line %d", d.Data[m.Start:m.End], d.Line(m.Start))
	}
	var none *Node
	if none.Get("x") != nil || d.Root.Get("x").Get("y") != nil || l.Get("x") != nil {
		t.Error("a value that is not there is found")
	}
}

// RFC 8785, appendix B and section 3.2.3; DECISIONS H14.
func TestCanonical(t *testing.T) {
	numbers := map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "1.0": "1", "100": "100", "1e2": "100", "4.50": "4.5", "2e-3": "0.002",
		"1e30": "1e+30", "1e21": "1e+21", "1e20": "100000000000000000000", "0.000001": "0.000001", "0.0000001": "1e-7", "-1e-7": "-1e-7",
		"0.000000000000000000000000001": "1e-27", "333333333.33333329": "333333333.3333333", "9007199254740993": "9007199254740992",
	}
	for text, want := range numbers {
		if got, err := Canonical(parse(t, text).Root); err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", text, got, err, want)
		}
	}
	text := `{ "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
	  "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis",
	  "list": [ true , null, {"b": 1, "a": "\u0001\b\t\n\f\r\"\\\/<" } ] }`
	want := "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"list\":[true,null,{\"a\":\"\\u0001\\b\\t\\n\\f\\r\\\"\\\\/<\",\"b\":1}],\"\u0080\":\"Control\"," +
		"\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"
	got, err := Canonical(parse(t, text).Root)
	if err != nil || string(got) != want {
		t.Errorf("Canonical = %s, %v, want %s", got, err, want)
	}
}

// What a schema says, in one line; nothing outside is loaded.
func TestValidate(t *testing.T) {
	tests := map[string]struct{ schema, document, want string }{
		"fits":               {`{"type": "object", "required": ["a"]}`, `{"a": 1}`, ""},
		"true":               {`true`, `[]`, ""},
		"false":              {`false`, `[]`, "root: not: validated against <anonymous schema>"},
		"type":               {`{"properties": {"a": {"type": "string"}}}`, `{"a": 1}`, `/properties/a: type: 1 has type "integer", want "string"`},
		"missing":            {`{"required": ["a", "b"]}`, `{}`, `root: required: missing properties: ["a" "b"]`},
		"by value":           {`{"const": 1.0}`, `1`, ""},
		"exact":              {`{"maximum": 9007199254740992}`, `9007199254740993`, "root: maximum: 9007199254740993/1 is greater than 9007199254740992.000000"},
		"inner reference":    {`{"$defs": {"s": {"type": "string"}}, "items": {"$ref": "#/$defs/s"}}`, `["a", 1]`, `/$defs/s: type: 1 has type "integer", want "string"`},
		"draft 7":            {`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}`, `[1]`, `/items/0: type: 1 has type "integer", want "null"`},
		"names are free":     {`{"properties": {"Type": {"minimum": 2}, "$id": true, "$ref": {"type": "null"}}}`, `{"Type": 1}`, "/properties/Type: minimum: 1/1 is less than 2.000000"},
		"a tree":             {`{"properties": {"left": {"$ref": "#"}}, "required": ["value"]}`, `{"value": 1, "left": {}}`, `root: required: missing properties: ["value"]`},
		"2020-12 by default": {`{"prefixItems": [{"type": "null"}]}`, `[1]`, `/prefixItems/0: type: 1 has type "integer", want "null"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := Compile(parse(t, tt.schema).Root)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.Validate(parse(t, tt.document).Root); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate(%s) = %q, want %q", tt.document, got, tt.want)
			}
		})
	}
	for name, text := range map[string]string{
		"a file":           `{"$ref": "file:///etc/passwd"}`,
		"the network":      `{"$ref": "https://example.com/schema.json"}`,
		"a relative file":  `{"$ref": "other.json"}`,
		"no such place":    `{"$ref": "#/$defs/none"}`,
		"bad keyword":      `{"type": "text"}`,
		"bad pattern":      `{"pattern": "("}`,
		"no schema":        `3`,
		"a circle":         `{"$ref": "#"}`,
		"a long circle":    `{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}, "items": {"$ref": "#/$defs/a"}}`,
		"a dynamic one":    `{"$dynamicRef": "#x"}`,
		"an anchor":        `{"$ref": "#x", "$defs": {"x": {"$anchor": "x"}}}`,
		"draft 7 circle":   `{"dependencies": {"a": {"$ref": "#"}}}`,
		"a keyword's case": `{"dependentSchemAs": {"a": {"$ref": "#"}}}`,
		"an inner $id":     `{"$defs": {"a": {"$id": "http://a.example/", "$ref": "#/$defs/b"}, "b": {}}, "$ref": "#/$defs/a"}`,
	} {
		_, err := Compile(parse(t, text).Root)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "the schema does not load: ") {
			t.Errorf("%s: Compile(%s) = %v, want one line that refuses it", name, text, err)
		}
	}
}

// Every keyword the library decodes is in the table that is walked.
func TestKeywords(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, known := keywords[name]; !known && name != "-" {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// FuzzParse: what is accepted the standard library accepts, and the canonical
// form is a fixed point that means the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a": [1, -2.5e3, "ü\ud83d\ude00"], "b": {"c": null}}`, "[1,]", `{"a":1,"a":2}`, "// x\n{}", "\ufeff[]", `"\ud800"`, "1e999", strings.Repeat("[", 70)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data, Limits{})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Parse(%q) has an error of several lines: %v", data, err)
			}
			return
		}
		if !json.Valid([]byte(strings.TrimPrefix(string(data), mark))) {
			t.Fatalf("Parse(%q) accepts what is no JSON", data)
		}
		canonical, err := Canonical(d.Root)
		if err != nil {
			t.Fatalf("Canonical(%q) = %v", data, err)
		}
		again, err := Parse(canonical, Limits{})
		if err != nil {
			if len(canonical) > 4<<20 {
				return
			}
			t.Fatalf("Parse(%q) = %v", canonical, err)
		}
		twice, err := Canonical(again.Root)
		if err != nil || string(twice) != string(canonical) {
			t.Errorf("Canonical(%q) = %q, and of that %q, %v", data, canonical, twice, err)
		}
	})
}

// Every double in canonical form reads back the same.
func FuzzCanonicalNumber(f *testing.F) {
	f.Add(0.1)
	f.Add(1e21)
	f.Add(-1e-7)
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > 1.797e308 || (v != 0 && math.Abs(v) < 1e-308) {
			t.Skip()
		}
		text := fmt.Sprintf("%.17g", v)
		got, err := Canonical(parse(t, text).Root)
		var back float64
		if err == nil {
			err = json.Unmarshal(got, &back)
		}
		if err != nil || back != v {
			t.Errorf("Canonical(%s) = %s, %v", text, got, err)
		}
	})
}

// FuzzValidate: no schema and no document bring the library down, whatever
// their references; a message is one line.
func FuzzValidate(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"$ref": "#"}`, `1`}, {`{"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}`, `[[[1]]]`},
		{`{"if": {"type": "integer"}, "then": {"minimum": 1}, "else": false}`, `0`}, {`{"properties": {"type": {"type": "string"}}}`, `{"type": 3}`},
		{`{"allOf": [{"$ref": "#/allOf/0"}]}`, `{}`}, {`{"dependentSchemas": {"a": {"$ref": "#"}}}`, `{"a": 1}`},
		{`{"dependentSchemAs": {"a": {"$ref": "#"}}}`, `{"a": 1}`}, {`{"dependencies": {"a": {"$ref": "#"}}}`, `{"a": 1}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, document []byte) {
		s, err := Parse(schema, Limits{})
		if err != nil {
			t.Skip()
		}
		compiled, err := Compile(s.Root)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Compile(%s) has an error of several lines: %v", schema, err)
			}
			return
		}
		d, err := Parse(document, Limits{})
		if err != nil {
			t.Skip()
		}
		if err := compiled.Validate(d.Root); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("Validate(%s) has an error of several lines: %v", document, err)
		}
	})
}
