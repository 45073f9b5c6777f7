package skill

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rules lists the rule ids of findings.
func rules(findings []Finding) string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Rule)
	}
	return strings.Join(list, " ")
}

// caseFile reads one of the cases in testdata.
func caseFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The S cases: what is read, and every finding.
func TestParseCases(t *testing.T) {
	tests := map[string]struct {
		name, description string
		rules             string
		line, column      int // of the first finding
		key, message      string
	}{
		"S01-bom":            {"bom-skill", "Use when a file starts with a byte order mark.", "SF501", 1, 1, "", "byte order mark"},
		"S03-colon-space":    {"colon-skill", "Set up the harness. Covers: hooks, servers. Flags: --all, --deep", "SF107", 3, 40, "description", "Quote the value."},
		"S07-block-literal":  {"literal-skill", "First line of the description.\nUse when: two lines matter.", "", 0, 0, "", ""},
		"S08-block-folded":   {"folded-skill", "Wraps over several lines and\nhas a paragraph break.", "", 0, 0, "", ""},
		"S09-duplicate-keys": {"dup-skill", "First description.", "SF108 SF108", 4, 1, "name", "`name` appears twice (lines 2 and 4)"},
		"S11-flow-seq":       {"flow-skill", "Use when parsers disagree.", "SF118", 4, 8, "skill", "flow list"},
		"S12-hr-in-body":     {"hr-skill", "Use for before---after comparisons.", "SF119", 3, 29, "", "`---` inside a value"},
		"S13-accented-name":  {"café-notes", "Notes about cafés.", "", 0, 0, "", ""},
		"S13-cjk-name":       {"技能-审查", "当需要审查时使用。", "", 0, 0, "", ""},
		"S14-nfd-dir":        {"caf\u00e9-nfd", "Decomposed directory name.", "", 0, 0, "", ""},
		"S16-invalid-utf8":   {"latin-skill", "", "SF503", 3, 16, "", "at byte 37."},
		"S17-pointer-file":   {"", "", "SF105", 1, 1, "", "(target `../../SKILL.md`)"},
		"S18-symlink-escape": {"", "", "SF105", 1, 1, "", "(target `/etc/hostname`)"},
		"S27-unclosed":       {"", "", "SF102", 1, 1, "", "opened on line 1 is never closed"},
	}
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d case files, want %d (%v)", len(files), len(tests), err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data := caseFile(t, name)
			doc, err := Parse(data)
			if doc.Name != tt.name || doc.Description != tt.description {
				t.Errorf("Parse = %q, %q; want %q, %q", doc.Name, doc.Description, tt.name, tt.description)
			}
			if got := rules(doc.Findings); got != tt.rules {
				t.Fatalf("findings = %v, want %s", doc.Findings, tt.rules)
			}
			if !bytes.Equal(doc.Bytes(), data) {
				t.Errorf("Bytes() = %q, want %q", doc.Bytes(), data)
			}
			if tt.rules == "" {
				return
			}
			if f := doc.Findings[0]; f.Line != tt.line || f.Column != tt.column || f.Key != tt.key || !strings.Contains(f.Message, tt.message) {
				t.Errorf("finding = %+v, want %d:%d %q %q", f, tt.line, tt.column, tt.key, tt.message)
			}
			first, isFinding := errors.AsType[Finding](err)
			if wantErr := doc.Findings[0].Severity == Error; isFinding != wantErr || wantErr && first != doc.Findings[0] {
				t.Errorf("error = %v, want %v", err, doc.Findings[0])
			}
		})
	}
}

func TestParse(t *testing.T) {
	const ok = "name: a\ndescription: b\n"
	tests := map[string]struct {
		in, name, description string
		body                  string
		rules                 string
	}{
		"plain":                      {"---\n" + ok + "---\n\n# T\n", "a", "b", "\n# T\n", ""},
		"CRLF":                       {"---\r\nname: a\r\ndescription: b\r\n---\r\nT\r\n", "a", "b", "T\r\n", "SF502"},
		"lone CR":                    {"---\rname: a\rdescription: b\r---\rT\r", "a", "b", "T\r", "SF502"},
		"mixed endings":              {"---\nname: a\r\ndescription: b\n---\nT\n", "a", "b", "T\n", "SF502"},
		"everything at once":         {"\ufeff---\r\nname: a\r\ndescription: b\r\n---\t\r\nT\r\n---\r\nU", "a", "b", "T\r\n---\r\nU", "SF501 SF502 SF113"},
		"trailing blanks":            {"--- \n" + ok + "---\t\nT\n", "a", "b", "T\n", "SF113 SF113"},
		"four hyphens close nothing": {"---\n" + ok + "----\n", "", "", "", "SF102"}, // RC-SKILL-4
		"comment closes nothing":     {"---\n" + ok + "--- # x\n---\nT\n", "a", "b", "T\n", "SF106 SF119"},
		"closing line ends the file": {"---\n" + ok + "---", "a", "b", "", ""},
		"only the two lines":         {"---\n---", "", "", "", "SF110 SF111 SF120"},
		"a list":                     {"---\n- a\n---\n", "", "", "", "SF110 SF111 SF120"},
		"hyphens in a block":         {"---\nname: a\ndescription: |\n  x\n  ---\n  y\n---\nT\n", "a", "x\n---\ny", "T\n", "SF119"},
		"fence in the body":          {"---\n" + ok + "---\nT\n---\nname: z\n---\n", "a", "b", "T\n---\nname: z\n---\n", ""},
		"empty file":                 {"", "", "", "", "SF101"},
		"no front matter":            {"# Title\n\nText.\n", "", "", "# Title\n\nText.\n", "SF101"},
		"comment first":              {"<!-- hi -->\n---\n" + ok + "---\n", "", "", "<!-- hi -->\n---\n" + ok + "---\n", "SF103"},
		"blank line first":           {"\n---\n" + ok + "---\n", "", "", "\n---\n" + ok + "---\n", "SF103"},
		"in a code fence":            {"# T\n\n```yaml\n" + ok + "```\n", "", "", "# T\n\n```yaml\n" + ok + "```\n", "SF104"},
		"rule in a plain file":       {"# T\n\n---\n\ntext\n", "", "", "# T\n\n---\n\ntext\n", "SF101"},
		"indented":                   {"  ---\n  name: a\n  ---\n", "", "", "  ---\n  name: a\n  ---\n", "SF114"},
		"tab indents":                {"---\n" + ok + "metadata:\n\ta: b\n---\n", "a", "b", "", "SF115"},
		"not YAML":                   {"---\n" + ok + "x: [\n---\nT\n", "a", "b", "T\n", "SF106"},
		"colon in a continuation":    {"---\nname: a\ndescription: b\n  Keywords: c\n---\nT\n", "a", "b Keywords: c", "T\n", "SF107"},
		"fallback takes no dupes":    {"---\nname: a\nname: z\ndescription: x: y\n---\n", "a", "x: y", "", "SF107"},
		"fallback of a block":        {"---\nname: 'a'\ndescription: >-\n  b\n  c\nx: y: z\n---\n", "a", "b c", "", "SF107"},
		"two documents":              {"---\n" + ok + "...\n# x\nz: 1\n---\n", "a", "b", "", "SF106"},
		"no name":                    {"---\ndescription: b\n---\n", "", "b", "", "SF110"},
		"empty name":                 {"---\nname:\ndescription: ''\n---\n", "", "", "", "SF110 SF111"},
		"number":                     {"---\nname: 2048\ndescription: b\n---\n", "", "b", "", "SF109"},
		"exponent":                   {"---\nname: 1e3\ndescription: b\n---\n", "", "b", "", "SF109"},
		"date":                       {"---\nname: 2026-01-01\ndescription: b\n---\n", "", "b", "", "SF109"},
		"null":                       {"---\nname: null\ndescription: b\n---\n", "", "b", "", "SF109"},
		"tilde":                      {"---\nname: ~\ndescription: b\n---\n", "", "b", "", "SF109"},
		"boolean":                    {"---\nname: true\ndescription: b\n---\n", "", "b", "", "SF109"},
		"old boolean":                {"---\nname: on\ndescription: b\n---\n", "", "b", "", "SF109"},
		"list":                       {"---\nname: a\ndescription: [b]\n---\n", "a", "", "", "SF109 SF118"},
		"quoted number":              {"---\nname: \"2048\"\ndescription: 'on'\n---\n", "2048", "on", "", ""},
		"comment cuts":               {"---\nname: a\ndescription: b #c\n---\n", "a", "b", "", "SF112"},
		"hash in quotes":             {"---\nname: a\ndescription: \"b #c\"\n---\n", "a", "b #c", "", ""},
		"a comment line":             {"---\n# c\n" + ok + "---\n", "a", "b", "", ""},
		"anchor":                     {"---\nname: &n a\ndescription: *n\n---\n", "a", "a", "", "SF116"},
		"list of tools":              {"---\n" + ok + "allowed-tools:\n  - Bash\n---\n", "a", "b", "", "SF403"},
		"nested metadata":            {"---\n" + ok + "metadata:\n  h:\n    x: y\n---\n", "a", "b", "", "SF404"},
		"nested duplicate":           {"---\n" + ok + "metadata:\n  x: y\n  x: z\n---\n", "a", "b", "", "SF108"},
		"trimmed":                    {"---\nname: \" a \"\ndescription: |+\n  b\n\n---\n", "a", "b", "", ""},
		"not UTF-8 in the body":      {"---\n" + ok + "---\n\xff\n", "a", "b", "\xff\n", "SF503"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { // R-SF-R-1 to R-SF-R-6
			doc, _ := Parse([]byte(tt.in))
			if doc.Name != tt.name || doc.Description != tt.description || string(doc.Body) != tt.body {
				t.Errorf("Parse(%q) = %q, %q, %q; want %q, %q, %q", tt.in, doc.Name, doc.Description, doc.Body, tt.name, tt.description, tt.body)
			}
			if got := rules(doc.Findings); got != tt.rules {
				t.Errorf("Parse(%q) finds %s %v, want %s", tt.in, got, doc.Findings, tt.rules)
			}
			if string(doc.Bytes()) != tt.in {
				t.Errorf("Bytes() = %q, want %q", doc.Bytes(), tt.in)
			}
		})
	}
}

func TestParseLimits(t *testing.T) { // R-SF-R-3, section 10
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+",", 8) + "*" + p + "]\n"
	}
	tests := map[string]string{
		"alias bomb":   bomb,
		"many aliases": "a: &a x\nb:\n" + strings.Repeat("  - *a\n", 101),
		"many nodes":   "b:\n" + strings.Repeat("  - a\n", 1001),
		"deep":         "b: " + strings.Repeat("[", 25) + strings.Repeat("]", 25) + "\n",
		"large":        "b: " + strings.Repeat("x", MaxFrontMatter) + "\n",
		"a loop":       "b: &b [*b]\n",
	}
	for name, front := range tests {
		t.Run(name, func(t *testing.T) {
			doc, err := Parse([]byte("---\nname: a\ndescription: b\n" + front + "---\nT\n"))
			f, _ := errors.AsType[Finding](err)
			if f.Rule != "SF117" || doc.Name != "a" || string(doc.Body) != "T\n" {
				t.Errorf("Parse = %v, %q, %q; want SF117 and the body", err, doc.Name, doc.Body)
			}
		})
	}
	doc, err := Parse(make([]byte, MaxFile+1))
	if f, _ := errors.AsType[Finding](err); f.Rule != "SF117" || doc.Editable() == nil {
		t.Errorf("a file that is too large gives %v", err)
	}
	if doc, err := Parse([]byte("---\nname: a\ndescription: b\nx:\n" + strings.Repeat("  - &a b\n", 99) + "---\n")); err != nil || len(doc.Fields) != 3 {
		t.Errorf("within the limits: %v", err)
	}
}

// Where the YAML breaks: at the line, and at the value or the character.
func TestUnparsablePlace(t *testing.T) { // R-SF-R-4
	tests := map[string]struct {
		front        string
		rule         string
		line, column int
	}{
		"open list":         {"name: a\ndescription: b\nx: [1,\ny: 2\n", "SF106", 4, 4},
		"open map":          {"name: a\nx: {a: b\n", "SF106", 3, 4},
		"open quote":        {"name: a\nx: 'it''s\n", "SF106", 3, 4},
		"reserved":          {"name: a\ndescription: @b\n", "SF106", 3, 14},
		"reserved, first":   {"@a\n", "SF106", 2, 1},
		"no colon":          {"name: a\nfoo bar\nx: y\n", "SF106", 3, 1},
		"bad indentation":   {"name: a\nx:\n  - a\n b: c\n", "SF106", 5, 2},
		"behind a quote":    {"name: \"a\" b\nx: y\n", "SF106", 2, 7},
		"unknown alias":     {"name: a\nx: *u\n", "SF106", 3, 4},
		"control character": {"name: a\nx: b\x01\n", "SF106", 3, 5},
		"list in a value":   {"name: a\ndescription: - b\nx: y\n", "SF106", 3, 14},
		"two tabs":          {"name: a\nm:\n\t\ta: b\n", "SF115", 4, 1},
		"continued key":     {"name: a\n x: b\n", "SF107", 3, 3},
		"quoted key":        {"\"name\": a: b\n", "SF107", 2, 10},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte("---\n" + tt.front + "---\n"))
			if f, _ := errors.AsType[Finding](err); f.Rule != tt.rule || f.Line != tt.line || f.Column != tt.column {
				t.Errorf("Parse(%q) = %v of %s, want %s at %d:%d", tt.front, err, f.Rule, tt.rule, tt.line, tt.column)
			}
		})
	}
}

func TestFields(t *testing.T) {
	doc, err := Parse([]byte("---\nname: a\ndescription: b\ndisable-model-invocation: true\nmetadata:\n  created_by: agent\n  n: 1\nwhen: 2026-01-01\n---\n\nT\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !doc.DisableModelInvocation {
		t.Error("disable-model-invocation is not read")
	}
	metadata, _ := doc.Field("metadata")
	if by, ok := metadata.Text("created_by"); by != "agent" || !ok {
		t.Errorf("created_by = %q, %t", by, ok)
	}
	if _, ok := metadata.Text("n"); ok || metadata.Kind != Map || metadata.Style != Block {
		t.Errorf("metadata = %+v", metadata)
	}
	var kinds []Kind
	for _, f := range doc.Fields {
		kinds = append(kinds, f.Kind)
		if f.End > 0 && string(doc.Bytes()[f.Start:f.End]) != f.Value {
			t.Errorf("%s lies at %q, want %q", f.Key, doc.Bytes()[f.Start:f.End], f.Value)
		}
	}
	if want := []Kind{String, String, Bool, Map, Date}; len(kinds) != len(want) || kinds[2] != Bool || kinds[4] != Date {
		t.Errorf("kinds = %v, want %v", kinds, want)
	}
	if line := doc.BodyLine(); line != 10 {
		t.Errorf("BodyLine() = %d, want 10", line)
	}
	if doc, _ := Parse([]byte("---\nname: a\ndescription: x: y\ndisable-model-invocation: true\n---\n")); !doc.DisableModelInvocation {
		t.Error("the fallback does not read disable-model-invocation")
	}
}

// The table of RC-SKILL-7.
func TestVersion(t *testing.T) {
	tests := map[string]struct{ file, want string }{
		"LF":                  {"---\nname: a\n---\nBody\n", "421dc617d921c24f"},
		"blank line":          {"---\nname: a\n---\n\nBody\n", "421dc617d921c24f"},
		"CRLF":                {"---\r\nname: a\r\n---\r\nBody\r\n", "421dc617d921c24f"},
		"CRLF and blank line": {"---\r\nname: a\r\n---\r\n\r\nBody\r\n", "421dc617d921c24f"},
		"byte order mark":     {"\ufeff---\nname: a\n---\nBody\n", "421dc617d921c24f"},
		"empty":               {"---\nname: a\n---\n", "e3b0c44298fc1c14"},
		"ends at the closing": {"---\nname: a\n---", "e3b0c44298fc1c14"},
		"title":               {"---\nname: a\n---\n# Title\n\nDo the thing.\n", "677e10f386b10698"},
		"one letter":          {"---\nname: b\n---\na\n", "87428fc522803d31"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			doc, _ := Parse([]byte(tt.file))
			if got := doc.Version(); got != tt.want {
				t.Errorf("Version of %q = %s, want %s", tt.file, got, tt.want)
			}
		})
	}
}

// Reading loses nothing and never panics, whatever the bytes.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("---\nname: &a [*a, {b: *a}]\n? x\n: y\n!!t z: |2-\n   q\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse(data)
		if !bytes.Equal(doc.Bytes(), data) {
			t.Fatalf("Bytes() = %q, want %q", doc.Bytes(), data)
		}
		if (err == nil) != (Worst(doc.Findings) == nil) {
			t.Errorf("error %v with findings %v", err, doc.Findings)
		}
		for _, finding := range doc.Findings {
			if finding.Line < 1 || finding.Column < 1 || finding.Rule == "" || finding.Message == "" {
				t.Errorf("finding without a place: %+v", finding)
			}
		}
		for _, field := range doc.Fields {
			if field.End > len(data) || field.End > 0 && field.Start > field.End {
				t.Errorf("%q lies at %d to %d of %d bytes", field.Key, field.Start, field.End, len(data))
			}
		}
		body := []byte("new\r\nbody\n---\n")
		edited, err := doc.SetBody(body)
		if err != nil {
			return
		}
		if again, _ := Parse(edited); !bytes.Equal(again.Body, body) || !bytes.HasPrefix(edited, data[:len(data)-len(doc.Body)]) {
			t.Errorf("SetBody(%q) of %q gives %q", body, data, edited)
		}
	})
}

// A lint of 10,000 skills is to stay under two seconds (skill-format.md
// section 10).
func BenchmarkParse(b *testing.B) {
	data := []byte("---\nname: csv-totals\ndescription: " + strings.Repeat("Add up the amount column. ", 20) + "\nlicense: MIT\nmetadata:\n  created_by: agent\n---\n\n" + strings.Repeat("# A line of the body\n", 300))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
