package handoff

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/gitstore/schema"
)

// shipped reads a schema that is shipped.
func shipped(t *testing.T, name string) *schema.Document {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	document, err := schema.Parse(data, schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// The shipped schemas have exactly the fields of the documents, and require
// those that are always there.
func TestSchemas(t *testing.T) {
	brief := shipped(t, "forge.brief.1.json").Root
	for _, s := range []struct {
		name string
		root *schema.Node
		of   reflect.Type
	}{
		{"brief", brief.Get("$defs").Get("brief"), reflect.TypeFor[Brief]()},
		{"over", brief.Get("$defs").Get("over"), reflect.TypeFor[Over]()},
		{"result", shipped(t, "forge.result.1.json").Root, reflect.TypeFor[Result]()},
		{"proposal", shipped(t, "forge.proposal.1.json").Root, reflect.TypeFor[document]()},
	} {
		sameFields(t, s.name, s.root, s.of)
	}
}

// sameFields compares the properties of an object's schema with the fields of
// its type, and those of what it holds.
func sameFields(t *testing.T, at string, s *schema.Node, of reflect.Type) {
	switch of.Kind() {
	case reflect.Pointer:
		sameFields(t, at, s, of.Elem())
		return
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			sameFields(t, at+"[]", s.Get("items"), of.Elem())
		}
		return
	case reflect.Struct:
	default:
		return
	}
	properties := s.Get("properties")
	if properties == nil {
		t.Errorf("%s: the schema has no properties", at)
		return
	}
	required := map[string]bool{}
	for _, r := range s.Get("required").Items {
		required[r.Text] = true
	}
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = true
		if properties.Get(name) == nil {
			t.Errorf("%s.%s is not in the schema", at, name)
			continue
		}
		if always := options == ""; always != required[name] && of != reflect.TypeFor[document]() {
			t.Errorf("%s.%s: required is %t, the type says %t", at, name, required[name], always)
		}
		sameFields(t, at+"."+name, properties.Get(name), f.Type)
	}
	for _, p := range properties.Members {
		if !fields[p.Name] {
			t.Errorf("%s.%s is in the schema and not in the document", at, p.Name)
		}
	}
}

// The schema of a proposal takes what is read, and refuses what is refused.
func TestProposalSchema(t *testing.T) {
	compiled, err := schema.Compile(shipped(t, "forge.proposal.1.json").Root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"the least":      `{"schema": "forge.proposal/1", "hypothesis": "h"}`,
		"all of it":      `{"schema": "forge.proposal/1", "hypothesis": "h", "category": "c", "mutation_type": "m", "section": "s", "generalizability": 1, "builds_on_near_miss": "exp-001", "builds_on_pattern": null, "risk": "low", "confidence": 0.5, "patch": "p"}`,
		"no hypothesis":  `{"schema": "forge.proposal/1"}`,
		"an empty one":   `{"schema": "forge.proposal/1", "hypothesis": ""}`,
		"one too long":   `{"schema": "forge.proposal/1", "hypothesis": "` + strings.Repeat("ü", maxHypothesis+1) + `"}`,
		"another schema": `{"schema": "forge.proposal/2", "hypothesis": "h"}`,
		"unknown field":  `{"schema": "forge.proposal/1", "hypothesis": "h", "why": 1}`,
		"patch no text":  `{"schema": "forge.proposal/1", "hypothesis": "h", "patch": 3}`,
	} {
		document, err := schema.Parse([]byte(text), schema.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		_, refused := ParseProposal([]byte(text))
		if fits := compiled.Validate(document.Root); (fits == nil) != (refused == nil) {
			t.Errorf("%s: the schema says %v, ParseProposal %v", name, fits, refused)
		}
	}
}
