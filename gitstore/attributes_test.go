package gitstore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// Section 2: what forge says about a path's filter is what git says.
func TestAttributesAgreeWithGit(t *testing.T) {
	y := newYard(t)
	y.write(
		".gitattributes", "[attr]big filter=lfs diff=lfs merge=lfs -text\n# *.c filter=no\n*.bin big\n*.psd\tfilter=lfs\r\n/top.dat filter=a\ndir/only.dat filter=b\n"+
			"**/any.dat filter=c\ndeep/** filter=d\n\"with space.dat\" filter=e\nset.dat filter\nunset.bin -filter\n{x,y}.dat filter=f\n[ab].dat filter=g\n*.md text\nfolder/ filter=h\n\\!x filter=i\n!neg filter=j\n[bad filter=k\n",
		"sub/.gitattributes", "*.bin !filter\n*.md filter=m\ninner/*.q filter=q\n[attr]own filter=n\n*.own own\n",
		"sub/inner/.gitattributes", "x.md -filter\n",
		"person", "*.person filter=p\n*.over filter=p\n",
	)
	y.git("config", "core.attributesFile", filepath.Join(y.dir, "person"))
	putFile(t, filepath.Join(y.dir, ".git/info/attributes"), "*.over filter=o\ninfo.md filter=i\n")
	start := y.commit("start")
	paths := []string{
		"a.bin", "x/a.bin", "a.psd", "top.dat", "x/top.dat", "dir/only.dat", "x/dir/only.dat", "any.dat", "x/y/any.dat", "deep/a", "deep/b/c", "x/deep/a",
		"with space.dat", "set.dat", "unset.bin", "x.dat", "{x,y}.dat", "a.dat", "c.dat", "a.md", "folder/f", "!x", "neg", "[bad", "sub/a.bin", "sub/x/a.bin", "sub/a.md",
		"sub/inner/x.md", "sub/inner/y.md", "sub/inner/z.q", "inner/z.q", "sub/x.own", "a.person", "a.over", "info.md", "sub/info.md", "plain",
	}
	r := y.open()
	e := newExport(t, r)
	set(t, e, start)
	ours, err := e.filters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Split(y.git(append([]string{"check-attr", "-z", "filter", "--"}, paths...)...), "\x00")
	for i, p := range paths {
		want := said[3*i+2]
		if want == "unspecified" || want == "unset" || want == "set" { // set names no driver
			want = ""
		}
		if got := ours.filter(p); got != want {
			t.Errorf("filter(%q) = %q, want %q", p, got, want)
		}
	}
}

// Section 2, pitfall 13: forge does not edit what is behind a filter, old or
// new; moving it is no edit, and forge's own files are not meant.
func TestCommitRefusesFilteredFiles(t *testing.T) {
	y := newYard(t)
	y.write(".gitattributes", "*.bin filter=lfs\n* filter=all\n*.md !filter\n.gitattributes !filter\n", "skills/x/a.bin", "1", "skills/x/SKILL.md", "x",
		"skills/x/pointer.md", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
	base := y.commit("start")
	r := y.open()
	for name, tt := range map[string]struct {
		edit    Edit
		refused bool
	}{
		"an edit":         {Put("skills/x/a.bin", []byte("2")), true},
		"a new file":      {Put("skills/y/b.bin", []byte("2")), true},
		"by a wildcard":   {Put("skills/x/other", []byte("2")), true},
		"a pointer":       {Put("skills/x/pointer.md", []byte("2")), true},
		"the same bytes":  {Put("skills/x/a.bin", []byte("1")), false},
		"taken away":      {Put("skills/x/SKILL.md", []byte("X")), false},
		"moved":           {PutObject("skills-archive/x/a.bin", Hash(y.git("rev-parse", "HEAD:skills/x/a.bin")), ModeFile), false},
		"removed":         {Remove("skills/x/a.bin"), false},
		"a link":          {PutMode("skills/x/l", []byte("a.bin"), ModeLink), false},
		"a file of forge": {Put(".forge/runs/r/config.json", []byte("{}")), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Preview(t.Context(), Change{From: base, Edits: []Edit{tt.edit}})
			if refused := fault.KindOf(err) == fault.Refused && strings.Contains(err.Error(), "is behind a git filter; forge does not edit such files"); refused != tt.refused || !refused && err != nil {
				t.Errorf("Preview() = %v, refused %v, want %v", err, refused, tt.refused)
			}
		})
	}
}

// Section 2: an export holds the stored bytes and says so.
func TestExportWarnsOfFilters(t *testing.T) {
	y := newYard(t)
	y.write(".gitattributes", "*.bin filter=lfs\n", "a.bin", "stored", "b.md", "b", "p.txt", "version https://git-lfs.github.com/spec/v1\n")
	e := newExport(t, y.open())
	set(t, e, y.commit("start"))
	want := []string{
		`"a.bin" is behind a git filter; the stored bytes are exported`,
		`"p.txt" is behind a git filter; the stored bytes, a pointer of git LFS, are exported`,
	}
	if got := e.Warnings(); !slices.Equal(got, want) {
		t.Errorf("Warnings() = %q, want %q", got, want)
	}
	if got := listing(t, e.Tree)["a.bin"]; got != "-rw-r--r-- stored" {
		t.Errorf("a.bin is %q", got)
	}
}

// FuzzAttributes: no line makes reading or matching fail.
func FuzzAttributes(f *testing.F) {
	f.Add("*.bin filter=lfs\n\"a b\" -filter\n[attr]x filter=y\n", "dir/a.bin")
	f.Fuzz(func(t *testing.T, text, path string) {
		a := &attributes{dirs: map[string][]attributeRule{}, macros: map[string]string{}}
		a.add("", []byte(text))
		a.add("dir", []byte(text))
		a.filter(path)
	})
}
