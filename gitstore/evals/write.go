package evals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"forge/gitstore/schema"
)

// WithSplits returns the file with the assignment in it: `split` in every
// eval, and `version` and `split_seed` beside the list, which is wrapped in an
// object if it is bare. Everything else keeps its bytes: members are added in
// the manner of their neighbours, and a split that is there stays.
//
// Source: loop.md section 4; skill-format.md R-SF-EV-9.
func (s *Set) WithSplits(a Assignment) ([]byte, error) {
	var edits []edit
	for _, n := range s.entries {
		split, ok := a.Assignment[s.Evals[n.eval].ID]
		if !ok {
			return nil, fmt.Errorf("eval %q is not in the assignment", s.Evals[n.eval].ID)
		}
		edits = append(edits, s.setMember(n.node, "split", fmt.Sprintf("%q", split)))
	}
	seed, err := json.Marshal(a.Seed)
	if err != nil {
		return nil, fmt.Errorf("write split_seed: %w", err)
	}
	if s.member == nil {
		edits = append(edits, s.wrap(string(seed))...)
	} else {
		edits = append(edits, s.beside(string(seed))...)
	}
	return apply(s.document.Data, edits), nil
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// apply makes the edits, which do not overlap.
func apply(data []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(data[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(data[at:])
	return out.Bytes()
}

// setMember gives an object's member a value that is JSON: in place of the
// one it has, or behind its last member.
func (s *Set) setMember(object *schema.Node, name, value string) edit {
	if m := object.Member(name); m != nil {
		return edit{m.Value.Start, m.Value.End, value}
	}
	last := object.Members[len(object.Members)-1] // an eval has at least an id, a prompt or a query
	end := last.Value.End
	return edit{end, end, "," + s.spaceBefore(object, last) + fmt.Sprintf("%q", name) + s.colon(last) + value}
}

// spaceBefore is the white space in front of a member, as the next one would
// have it.
func (s *Set) spaceBefore(object *schema.Node, m schema.Member) string {
	data := s.document.Data
	start := m.Start
	for start > 0 && bytes.IndexByte([]byte(" \t\r\n"), data[start-1]) >= 0 {
		start--
	}
	if space := string(data[start:m.Start]); space != "" || len(object.Members) > 1 {
		return space
	}
	if s.colon(m) == ":" {
		return ""
	}
	return " "
}

// colon is what stands between a member's name and its value.
func (s *Set) colon(m schema.Member) string { return string(s.document.Data[m.End:m.Value.Start]) }

// beside sets version and split_seed in the object that holds the list: in
// front of the list where they are new. A version the file has is its own.
func (s *Set) beside(seed string) []edit {
	root := s.document.Root
	added := ""
	if root.Member("version") == nil {
		added = `"version"` + s.colon(*s.member) + "1," + s.spaceBefore(root, *s.member)
	}
	if m := root.Member("split_seed"); m != nil {
		return []edit{{m.Value.Start, m.Value.End, seed}, {s.member.Start, s.member.Start, added}}
	}
	added += `"split_seed"` + s.colon(*s.member) + seed + "," + s.spaceBefore(root, *s.member)
	return []edit{{s.member.Start, s.member.Start, added}}
}

// wrap puts an object around a bare list.
func (s *Set) wrap(seed string) []edit {
	name := "evals"
	if s.Form == Triggers {
		name = "queries"
	}
	return []edit{
		{s.list.Start, s.list.Start, fmt.Sprintf(`{"version": 1, "split_seed": %s, "%s": `, seed, name)},
		{s.list.End, s.list.End, "}"},
	}
}
