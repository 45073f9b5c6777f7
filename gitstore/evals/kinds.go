package evals

import (
	"regexp"
	"strings"
	"unicode"

	"forge/gitstore/schema"
)

// Kind is what a check looks at. Its text is how forge writes it.
type Kind string

// The kinds of skill-format.md R-SF-EV-5, and Triggered, the one check of a
// trigger eval.
const (
	Contains     Kind = "contains"
	ContainsAny  Kind = "contains_any"
	NotContains  Kind = "not_contains"
	Equals       Kind = "equals"
	StartsWith   Kind = "starts_with"
	Regex        Kind = "regex"
	NotRegex     Kind = "not_regex"
	JSONPath     Kind = "json_path"
	JSONSchema   Kind = "json_schema"
	FileExists   Kind = "file_exists"
	FileContains Kind = "file_contains"
	CommandCheck Kind = "command"
	MaxWords     Kind = "max_words"
	MaxBytes     Kind = "max_bytes"
	ToolUsed     Kind = "tool_used"
	Judged       Kind = "judged"
	Unknown      Kind = "unknown"
	Triggered    Kind = "triggered"
)

// spellings is the one table of spellings (DECISIONS M9), folded. Where one
// means several kinds, [kindOf] looks at the rest of the object.
var spellings = map[string]Kind{
	"contains": Contains, "includes": Contains, "substring": Contains, "containsall": Contains, "icontains": Contains, "contentcontains": Contains,
	"containsany": ContainsAny, "anyof": ContainsAny, "includesany": ContainsAny,
	"notcontains": NotContains, "excludes": NotContains, "notincludes": NotContains, "contentnotcontains": NotContains,
	"equals": Equals, "equal": Equals, "exact": Equals, "exactmatch": Equals,
	"startswith": StartsWith, "prefix": StartsWith,
	"regex": Regex, "regexp": Regex, "matches": Regex, "match": Regex, "regexmatch": Regex, "contentmatches": Regex,
	"notregex": NotRegex, "notmatches": NotRegex, "regexabsent": NotRegex,
	"jsonpath":   JSONPath,
	"jsonschema": JSONSchema, "schema": JSONSchema, "validjson": JSONSchema, "isjson": JSONSchema, "json": JSONSchema,
	"fileexists": FileExists, "exists": FileExists, "outputexists": FileExists, "file": FileExists,
	"filecontains": FileContains,
	"command":      CommandCheck, "shell": CommandCheck, "exec": CommandCheck, "run": CommandCheck, "script": CommandCheck,
	"maxwords": MaxWords, "wordlimit": MaxWords,
	"maxbytes": MaxBytes, "sizelimit": MaxBytes,
	"toolused": ToolUsed,
	"judged":   Judged, "llmjudge": Judged, "llm": Judged, "judge": Judged, "rubric": Judged,
	"manual": Unknown, "unknown": Unknown,
}

// fold makes spellings that differ in case, hyphens and underscores one.
func fold(text string) string {
	drop := func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}
	return strings.Map(drop, text)
}

// singleWord is what may be the name of a kind.
var singleWord = regexp.MustCompile(`^[a-z0-9_-]+$`)

// kindOf finds the kind of a check object, and the folded spelling it was
// found by ("" if there was none). reason is set for an unknown one.
func kindOf(n *schema.Node) (kind Kind, spelling, reason string) {
	word := ""
	for _, name := range []string{"kind", "type", "check"} {
		text, ok := n.Get(name).AsText()
		if !ok {
			continue
		}
		if kind, known := spellings[fold(text)]; known {
			return refine(n, kind, fold(text)), fold(text), ""
		}
		if word == "" && singleWord.MatchString(strings.ToLower(text)) {
			word = text
		}
	}
	switch {
	case n.Get("cmd") != nil:
		return CommandCheck, "", ""
	case word != "":
		return Unknown, "", "forge knows no check of the kind " + word
	case n.Get("pattern") != nil:
		return Regex, "", ""
	case textOf(n) != "":
		return Judged, "", ""
	}
	return Unknown, "", "it says neither what to check nor how"
}

// refine settles a spelling that means several kinds.
func refine(n *schema.Node, kind Kind, spelling string) Kind {
	switch spelling {
	case "contentcontains":
		switch {
		case n.Get("pattern") != nil:
			return Regex
		case n.Get("path") != nil:
			return FileContains
		}
	case "json":
		if n.Get("path") != nil {
			return JSONPath
		}
	case "file":
		switch {
		case n.Get("value") != nil:
			return FileContains
		case n.Get("pattern") != nil:
			return Regex
		}
	}
	if n.Get("cmd") != nil && kind == Unknown {
		return CommandCheck // any object with cmd
	}
	return kind
}

// textOf is what a check object says to a person.
func textOf(n *schema.Node) string {
	for _, name := range []string{"text", "description", "criterion", "check", "name"} {
		text, ok := n.Get(name).AsText()
		if !ok || strings.TrimSpace(text) == "" {
			continue
		}
		if _, kind := spellings[fold(text)]; name == "check" && (kind || singleWord.MatchString(strings.ToLower(text))) {
			continue
		}
		return text
	}
	return ""
}
