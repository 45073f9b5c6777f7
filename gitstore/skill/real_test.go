package skill

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Skills as their authors wrote them, from the folder that FORGE_SKILLS names:
// all are found, read without loss, and edited without another byte changing.
func TestRealSkills(t *testing.T) {
	root := os.Getenv("FORGE_SKILLS")
	if root == "" {
		t.Skip("FORGE_SKILLS names no folder of skills")
	}
	var nodes []Node
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		kind := File
		if entry.Type()&fs.ModeSymlink != 0 {
			kind = Link
		}
		rel, err := filepath.Rel(root, file)
		nodes = append(nodes, Node{Path: filepath.ToSlash(rel), Kind: kind})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := Discover(nodes, Search{})
	for _, f := range found.Findings {
		t.Logf("%s %v", f.Rule, f)
	}
	if len(found.Skills) == 0 {
		t.Fatalf("no skills among %d files", len(nodes))
	}
	var identities []Identity
	for _, f := range found.Skills {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.File)))
		if err != nil {
			t.Fatal(err)
		}
		doc := checkReal(t, f.Path, data)
		identities = append(identities, Identity{Name: doc.Name, Path: f.Path})
		if !NameMatchesDirectory(doc.Name, filepath.Base(f.Path)) {
			t.Logf("%s is named %q", f.Path, doc.Name)
		}
	}
	for _, c := range Collisions(identities) {
		t.Log(c.Finding())
	}
	t.Logf("%d skills in %q", len(found.Skills), found.Roots)
}

// checkReal reads and edits one skill.
func checkReal(t *testing.T, path string, data []byte) Document {
	t.Helper()
	doc, err := Parse(data)
	for _, f := range doc.Findings {
		t.Logf("%s %s %s: %v", f.Severity, f.Rule, path, f)
	}
	if !bytes.Equal(doc.Bytes(), data) {
		t.Errorf("%s: reading loses bytes", path)
	}
	if doc.Name == "" || doc.Description == "" {
		t.Errorf("%s: name %q, description %q", path, doc.Name, doc.Description)
	}
	if body, err := doc.SetBody([]byte("\nNew.\n")); err != nil || !bytes.HasPrefix(body, data[:len(data)-len(doc.Body)]) {
		t.Errorf("%s: SetBody: %v", path, err)
	}
	if err != nil {
		return doc
	}
	field, _ := doc.Field("description")
	for _, want := range []string{doc.Description + " Use when: a, b or #c.", strings.TrimSpace(doc.Description[:len(doc.Description)/2]), "Short."} {
		want = strings.ToValidUTF8(want, "")
		edited, err := doc.SetDescription(want)
		again, _ := Parse(edited)
		if err != nil || again.Description != want || !bytes.HasPrefix(edited, data[:field.Start]) || !bytes.HasSuffix(edited, data[field.End:]) {
			t.Errorf("%s: SetDescription(%q): %v, reads %q", path, want, err, again.Description)
		}
	}
	return doc
}
