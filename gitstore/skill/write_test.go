package skill

import (
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func TestDraft(t *testing.T) { // R-SF-W-1 to R-SF-W-6
	tests := map[string]struct {
		draft Draft
		want  string
	}{
		"smallest": {Draft{Name: "a", Description: "b"}, "---\nname: a\ndescription: b\n---\n"},
		"all keys": {Draft{Name: "csv-totals", Description: "Add up: all.", License: "MIT", Compatibility: "git 2.39", AllowedTools: "Bash Read",
			Metadata: map[string]string{"created_by": "agent", "b": "1", "a": "on"}, Body: "\r\n\r\n# CSV\r\n---\r\n\r\n"},
			"---\nname: csv-totals\ndescription: \"Add up: all.\"\nlicense: MIT\ncompatibility: git 2.39\nallowed-tools: Bash Read\n" +
				"metadata:\n  a: \"on\"\n  b: \"1\"\n  created_by: agent\n---\n\n# CSV\n---\n"},
		"typed name": {Draft{Name: "2048", Description: "b"}, "---\nname: \"2048\"\ndescription: b\n---\n"},
		"exponent":   {Draft{Name: "1e3", Description: "b"}, "---\nname: \"1e3\"\ndescription: b\n---\n"},
		"date":       {Draft{Name: "2026-01-01", Description: "b"}, "---\nname: \"2026-01-01\"\ndescription: b\n---\n"},
		"null":       {Draft{Name: "null", Description: "b"}, "---\nname: \"null\"\ndescription: b\n---\n"},
		"no":         {Draft{Name: "no", Description: "~"}, "---\nname: \"no\"\ndescription: \"~\"\n---\n"},
		"indicators": {Draft{Name: "a", Description: "*b"}, "---\nname: a\ndescription: \"*b\"\n---\n"},
		"tricky end": {Draft{Name: "a", Description: "say \"x\" #y:"}, "---\nname: a\ndescription: \"say \\\"x\\\" #y:\"\n---\n"},
		"emoji last": {Draft{Name: strings.Repeat("a", MaxName), Description: strings.Repeat("é", MaxDescription-1) + "🙂"},
			"---\nname: " + strings.Repeat("a", MaxName) + "\ndescription: " + strings.Repeat("é", MaxDescription-1) + "🙂\n---\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := tt.draft.Bytes(); err != nil || string(got) != tt.want {
				t.Errorf("Bytes() of %+v = %q, %v; want %q", tt.draft, got, err, tt.want)
			}
		})
	}
}

func TestDraftRefuses(t *testing.T) { // R-SF-W-3 to R-SF-W-5, section 4
	tests := map[string]Draft{
		"no name":           {Description: "b"},
		"capitals":          {Name: "A", Description: "b"},
		"accent":            {Name: "café", Description: "b"},
		"two hyphens":       {Name: "a--b", Description: "b"},
		"hyphen first":      {Name: "-a", Description: "b"},
		"climbs":            {Name: "..", Description: "b"},
		"too long":          {Name: strings.Repeat("a", MaxName+1), Description: "b"},
		"no description":    {Name: "a", Description: " "},
		"long description":  {Name: "a", Description: strings.Repeat("é", MaxDescription+1)},
		"two lines":         {Name: "a", Description: "b\nc"},
		"angle bracket":     {Name: "a", Description: "b <c>"},
		"placeholder":       {Name: "a", Description: "[TODO: write]"},
		"hyphens":           {Name: "a", Description: "before---after"}, // S12
		"control character": {Name: "a", Description: "b\x00"},
		"not UTF-8":         {Name: "a", Description: "b\xff"},
		"blank at the end":  {Name: "a", Description: "b "},
		"compatibility":     {Name: "a", Description: "b", Compatibility: strings.Repeat("x", MaxCompatibility+1)},
		"metadata":          {Name: "a", Description: "b", Metadata: map[string]string{"k": "a\nb"}},
		"no metadata key":   {Name: "a", Description: "b", Metadata: map[string]string{"": "a"}},
		"long metadata key": {Name: "a", Description: "b", Metadata: map[string]string{strings.Repeat("k", 129): "a"}},
		"body with a mark":  {Name: "a", Description: "b", Body: "\ufeffx"},
	}
	for name, draft := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := draft.Bytes(); fault.KindOf(err) != fault.Usage {
				t.Errorf("Bytes() of %+v = %q, %v; want usage", draft, got, err)
			}
		})
	}
}

func TestNames(t *testing.T) { // R-SF-D-6
	if !SameName("cafe\u0301", "CAF\u00c9") || SameName("a", "b") {
		t.Error("SameName does not fold case and normal form")
	}
	if !NameMatchesDirectory("caf\u00e9-nfd", "cafe\u0301-nfd") || NameMatchesDirectory("A", "a") { // S14
		t.Error("NameMatchesDirectory does not compare in NFKC")
	}
	for name, want := range map[string]bool{"../../victim": true, "..": true, ".": true, "/etc": true, `a\b`: true, "C:x": true, "a.b": false, "技能-审查": false} {
		if got := IsPathName(name); got != want {
			t.Errorf("IsPathName(%q) = %t, want %t", name, got, want)
		}
	}
	tests := map[string]string{
		"pdf-forms": "pdf-forms", "v1.2": "v1.2", "café": "caf%C3%A9", "技": "%E6%8A%80", "A b": "%41%20b", "..": "%2E%2E", ".git": "%2Egit", // S13
		"a..b": "a.%2Eb", "a.": "a%2E", "a.lock": "a%2Elock", "../x": "%2E%2E%2Fx", "a_b": "a%5Fb", "": "",
	}
	for name, want := range tests {
		if got := EncodeName(name); got != want {
			t.Errorf("EncodeName(%q) = %q, want %q", name, got, want)
		}
	}
}

// What a draft becomes is read back as the draft.
func FuzzDraft(f *testing.F) {
	f.Add("a", "b: c #d", "k", "v", "body")
	f.Add("1e3", "- x", "on", "0x1", "---\n")
	f.Add("a", "\u2028", "?", "0o7", "")
	f.Fuzz(func(t *testing.T, name, description, key, value, body string) {
		draft := Draft{Name: name, Description: description, License: value, Metadata: map[string]string{key: value}, Body: body}
		data, err := draft.Bytes()
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Fatalf("Bytes() of %+v = %v", draft, err)
		}
		if err != nil {
			return
		}
		doc, err := Parse(data)
		if err != nil || doc.Name != name || doc.Description != description || doc.Version() != Version([]byte(strings.TrimRight(ToEnding(body, LF), LF)+LF)) && strings.Trim(body, "\r\n") != "" {
			t.Errorf("Bytes() of %+v reads %+v, %v", draft, doc, err)
		}
	})
}
