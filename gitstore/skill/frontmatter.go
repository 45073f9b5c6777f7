package skill

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// frontMatter reads what stands between the two `---` lines.
func (r *reader) frontMatter() {
	front, start := r.doc.FrontMatter, len(r.doc.head)
	if !utf8.Valid(front) {
		r.fallback()
		return // SF503 says it
	}
	if at := bytes.Index(front, []byte("---")); at >= 0 {
		r.add("SF119", Warning, start+at, "", "write it without three hyphens in a row", "A `---` inside a value; the reference validator cuts the file there.")
	}
	if len(front) > MaxFrontMatter {
		r.tooLarge(limitError{"more than 64 KiB"})
		return
	}
	root, err := decode(front)
	switch {
	case err != nil:
		r.unparsable(err)
		r.fallback()
	case root == nil || root.Kind != yaml.MappingNode:
		r.doc.valid = root == nil
		r.add("SF120", Note, start, "", "", "The front matter is empty or a list.")
		r.missing()
	default:
		r.fields(root)
	}
}

// tooLarge reports the limit that the front matter passes.
func (r *reader) tooLarge(err error) {
	r.add("SF117", Error, len(r.doc.head), "", "", "The front matter is too large or too deep to be read safely (%v).", err)
	r.fallback()
}

// fields reads the top level of the front matter.
func (r *reader) fields(root *yaml.Node) {
	front, start := r.doc.FrontMatter, len(r.doc.head)
	b := builder{data: r.data, at: func(n *yaml.Node) int { return start + nodeOffset(front, n.Line, n.Column) }}
	top, err := b.field("", root, 0)
	if limit, ok := errors.AsType[limitError](err); ok {
		r.tooLarge(limit)
		return
	}
	r.doc.Fields, r.doc.flow = top.Children, top.Style == Flow
	r.doc.valid = len(b.duplicates) == 0
	for i := range r.doc.Fields {
		bound := len(front)
		if next := 2*i + 2; next < len(root.Content) {
			bound = b.at(root.Content[next]) - start
		}
		r.measure(&r.doc.Fields[i], root.Content[2*i], b.at(root.Content[2*i]), bound)
	}
	for _, d := range b.duplicates {
		first, _ := position(r.data, b.at(d.first))
		second, _ := position(r.data, b.at(d.second))
		r.add("SF108", Error, b.at(d.second), d.key, "keep one of them", "The key `%s` appears twice (lines %d and %d).", d.key, first, second)
	}
	if b.special != nil {
		r.add("SF116", Warning, b.at(b.special), "", "write the value out", "Anchors, aliases or tags are used; strict readers refuse them.")
	}
	r.identity()
	r.portability()
}

// measure finds the byte range of a top-level scalar. bound is where the next
// key begins in the front matter.
func (r *reader) measure(f *Field, key *yaml.Node, keyAt, bound int) {
	front, start := r.doc.FrontMatter, len(r.doc.head)
	f.keyAt, f.indent = start+keyAt, key.Column-1
	if r.doc.flow || f.Style == Alias || f.Kind == List || f.Kind == Map {
		return
	}
	if s, e, ok := span(front[:bound], f.Start-start, f.Style, f.indent); ok {
		f.Start, f.End = start+s, start+e
		f.Line, f.Column = position(r.data, f.Start)
	}
}

// identity takes name, description and the switch from the fields.
func (r *reader) identity() {
	r.doc.Name = r.text("name")
	r.doc.Description = r.text("description")
	if f, ok := r.doc.Field("disable-model-invocation"); ok {
		r.doc.DisableModelInvocation = f.Kind == Bool && strings.EqualFold(f.Value, "true")
	}
	r.missing()
}

// text returns a field that must be a string, with a finding if it is not
// (skill-format.md R-SF-R-6).
func (r *reader) text(key string) string {
	f, ok := r.doc.Field(key)
	kind := f.Kind
	switch {
	case !ok || f.empty():
		return ""
	case kind == String && f.Style == Plain && isOldBoolean(f.Value):
		kind = Bool
	case kind == String:
		return f.Value
	}
	r.add("SF109", Error, f.Start, key, "put the value in quotes", "`%s` must be a string, got %s; quote it.", key, kind)
	return ""
}

// missing reports a name or description that is not there at all.
func (r *reader) missing() {
	for _, required := range []struct{ rule, key string }{{"SF110", "name"}, {"SF111", "description"}} {
		f, ok := r.doc.Field(required.key)
		if !ok || f.Value == "" && (f.Kind == String || f.empty()) {
			at := len(r.doc.head)
			if ok {
				at = f.Start
			}
			r.add(required.rule, Error, at, required.key, "add it to the front matter", "`%s` is missing or empty; Codex, opencode and pi skip the skill.", required.key)
		}
	}
}

// portability warns about what other readers refuse or read differently.
func (r *reader) portability() {
	for _, f := range r.doc.Fields {
		if f.Style == Flow {
			r.add("SF118", Warning, f.Start, f.Key, "", "`%s` is a flow list or map; strict readers refuse it.", f.Key)
		}
		if f.Style == Plain && f.End > 0 && len(strings.TrimSpace(f.Value)) > 0 {
			rest := r.data[f.End:]
			if text := chomp(rest[:lineLength(rest)]); bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte("#")) {
				r.add("SF112", Warning, f.End, f.Key, "quote the value if the rest belongs to it", "` #` starts a comment: YAML keeps only `%s` of `%s`.", shown([]byte(f.Value)), f.Key)
			}
		}
	}
	if f, ok := r.doc.Field("allowed-tools"); ok && f.Kind != String {
		r.add("SF403", Warning, f.Start, f.Key, "write the names in one line, separated by spaces", "`allowed-tools` is not one space-separated string.")
	}
	if f, ok := r.doc.Field("metadata"); ok && !isTexts(f) {
		r.add("SF404", Warning, f.Start, f.Key, "quote the values", "`metadata` holds something else than strings.")
	}
}

// isTexts reports a map of strings.
func isTexts(f Field) bool {
	for _, child := range f.Children {
		if child.Kind != String {
			return false
		}
	}
	return f.Kind == Map
}
