package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// TestTreeOrder: R-TREE-2, pitfall 14.
func TestTreeOrder(t *testing.T) {
	s := newRepository(t)
	r := s.open()
	var edits []Edit
	for _, path := range []string{"a/x", "a-b", "a.b", "a0", "a-b-c/d", "ab", "z"} {
		edits = append(edits, Put(path, []byte(path)))
	}
	id := commit(t, r, Change{Ref: testRef, Edits: edits})
	if got, want := s.git("ls-tree", "--name-only", string(id)), "a-b\na-b-c\na.b\na\na0\nab\nz"; got != want {
		t.Errorf("tree order %q, want %q", got, want)
	}
	s.git("read-tree", string(id))
	if got, want := s.git("write-tree"), s.git("rev-parse", string(id)+"^{tree}"); got != want {
		t.Errorf("git makes tree %s of it, forge %s", got, want)
	}
	s.fsck()
}

// TestApplyEdits compares every result with the tree git itself makes.
func TestApplyEdits(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	for _, path := range []string{"a/one", "a/two", "b/c/d", "run.sh", "top", "lfs"} {
		s.write(path, path+"\n")
	}
	s.write("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
	s.git("add", "-A")
	s.git("update-index", "--chmod=+x", "run.sh")
	s.git("update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub")
	s.git("update-index", "--add", "--cacheinfo", "120000,"+s.git("hash-object", "-w", "top")+",link")
	s.git("commit", "-q", "-m", "base")
	head := s.rev("HEAD")
	r := s.open()
	dir, blob := s.rev("HEAD:a"), s.rev("HEAD:top")
	tests := map[string]struct {
		edits   []Edit
		want    string // ls-tree -r, mode and path; "" = refused
		message string
	}{
		"nothing":                    {nil, "100644 a/one|100644 a/two|100644 b/c/d|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top", ""},
		"mode is kept":               {[]Edit{Put("run.sh", []byte("x"))}, "100644 a/one|100644 a/two|100644 b/c/d|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top", ""},
		"mode is set":                {[]Edit{PutMode("run.sh", nil, ModeFile), PutMode("top", nil, ModeExec)}, "100644 a/one|100644 a/two|100644 b/c/d|100644 lfs|120000 link|100644 run.sh|160000 sub|100755 top", ""},
		"last of a directory":        {[]Edit{Remove("b/c/d")}, "100644 a/one|100644 a/two|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top", ""},
		"a directory":                {[]Edit{Remove("a")}, "100644 b/c/d|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top", ""},
		"what is not there":          {[]Edit{Remove("no/thing"), Remove("top/x"), Remove("aux")}, "100644 a/one|100644 a/two|100644 b/c/d|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top", ""},
		"move":                       {[]Edit{PutObject("z/a", dir, ModeDir), Remove("a")}, "100644 b/c/d|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top|100644 z/a/one|100644 z/a/two", ""},
		"directory becomes a file":   {[]Edit{Put("b", []byte("x")), Remove("b")}, "100644 a/one|100644 a/two|100644 b|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top", ""},
		"file becomes a directory":   {[]Edit{Put("top/x", []byte("x")), Remove("top")}, "100644 a/one|100644 a/two|100644 b/c/d|100644 lfs|120000 link|100755 run.sh|160000 sub|100644 top/x", ""},
		"case after removal":         {[]Edit{Put("TOP", nil), Remove("top")}, "100644 TOP|100644 a/one|100644 a/two|100644 b/c/d|100644 lfs|120000 link|100755 run.sh|160000 sub", ""},
		"link and gitlink":           {[]Edit{PutMode("l2", []byte("top"), ModeLink), PutObject("s2", head, ModeGitlink), PutObject("t2", blob, ModeExec)}, "100644 a/one|100644 a/two|100644 b/c/d|120000 l2|100644 lfs|120000 link|100755 run.sh|160000 s2|160000 sub|100755 t2|100644 top", ""},
		"removal of submodule":       {[]Edit{Remove("sub"), Remove("link"), Remove("lfs")}, "100644 a/one|100644 a/two|100644 b/c/d|100755 run.sh|100644 top", ""},
		"file over a directory":      {[]Edit{Put("a", nil)}, "", `"a" is a directory, not a file`},
		"directory over a file":      {[]Edit{Put("top/x", nil)}, "", `"top" is a file, not a directory`},
		"through a link":             {[]Edit{Put("link/x", nil)}, "", `"link" is a symbolic link; forge never writes through links`},
		"over a link":                {[]Edit{Put("link", nil)}, "", `"link" is a symbolic link; forge never writes through links`},
		"into a submodule":           {[]Edit{Put("sub/x", nil)}, "", `"sub" is a submodule; run forge inside it`},
		"behind a filter":            {[]Edit{Put("lfs", nil)}, "", `"lfs" is behind a git filter; forge does not edit such files`},
		"case":                       {[]Edit{Put("Top", nil)}, "", `path "Top" differs from "top" by letter case only`},
		"case of two new":            {[]Edit{Put("n/x", nil), Put("n/X", nil)}, "", `path "n/X" differs from "n/x" by letter case only`},
		"case of a directory":        {[]Edit{Put("A/x", nil)}, "", `path "A" differs from "a" by letter case only`},
		"twice":                      {[]Edit{Put("x", nil), Put("x", nil)}, "", `"x" is written twice in one change`},
		"file and directory at once": {[]Edit{Put("x", nil), Put("x/y", nil)}, "", `"x" is a file and a directory in one change`},
		"unknown mode":               {[]Edit{PutMode("x", nil, 0o100600)}, "", `"x" cannot be written with mode 100600`},
		"data as a directory":        {[]Edit{PutMode("x", nil, ModeDir)}, "", `"x" cannot be written with mode 40000`},
		"object of another kind":     {[]Edit{PutObject("x", dir, ModeFile)}, "", "not a blob"},
		"object that is not there":   {[]Edit{PutObject("x", "1111111111111111111111111111111111111111", ModeFile)}, "", "not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Change{Ref: "refs/forge/t/" + strings.ReplaceAll(name, " ", "-"), From: head, Edits: tt.edits}
			if tt.want == "" {
				c.Subject = "x"
				_, err := r.Commit(ctx, c)
				if err == nil || !strings.Contains(err.Error(), tt.message) {
					t.Errorf("Commit() = %v, want %q", err, tt.message)
				}
				return
			}
			preview, err := r.Preview(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			id := commit(t, r, c)
			if got := strings.ReplaceAll(s.git("ls-tree", "-r", "--format=%(objectmode) %(path)", string(id)), "\n", "|"); got != tt.want {
				t.Errorf("tree %s, want %s", got, tt.want)
			}
			if tree := s.rev(string(id) + "^{tree}"); tree != preview.Tree {
				t.Errorf("previewed tree %s, made %s", preview.Tree, tree)
			}
		})
	}
	s.fsck()
}

func TestRefusedPaths(t *testing.T) { // R-TREE-3, pitfall 15
	for _, path := range []string{
		"", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", ".git", "a/.GIT/x", ".git.", ".git ", ".git. .", "git~1", "GIT~1/x",
		".g\u200cit", ".git\ufeff", ".git::$INDEX_ALLOCATION", "a\\b", "a\x00b", "a\nb", "a:b", "a?", "a*b", `"a"`, "a<b", "a|b",
		"aux", "aux.md", "Con", "nul.tar.gz", "PRN .x", "com1", "LPT9.txt", "x/com¹", "a.", "a ", "x./y", strings.Repeat("a", 256),
	} {
		if err := checkPath(path); fault.KindOf(err) != fault.Refused {
			t.Errorf("checkPath(%q) = %v", path, err)
		}
	}
	for _, path := range []string{
		"a", "a/b", ".gitignore", ".github/x", "git~2", "..a", "auxiliary.md", "com", "com10", "lpt", "a b", "ü", ".gît", strings.Repeat("a", 255),
	} {
		if err := checkPath(path); err != nil {
			t.Errorf("checkPath(%q) = %v", path, err)
		}
	}
}

// TestUntouchedIsRaw: an entry with a mode of old git is copied as it stands,
// and a tree nothing changes keeps its id (R-TREE-1).
func TestUntouchedIsRaw(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	blob := plumbing.NewHash(string(s.rev("HEAD:README.md")))
	raw := append(append([]byte("100664 old\x00"), blob[:]...), append([]byte("100644 z\x00"), blob[:]...)...)
	tree, err := r.writeObject(object{plumbing.TreeObject, raw})
	if err != nil {
		t.Fatal(err)
	}
	same, _, err := r.applyEdits(ctx, tree, []Edit{Put("z", []byte("hello\n")), Remove("gone")})
	if err != nil || same != tree {
		t.Errorf("applyEdits() without effect = %s, %v, want %s", same, err, tree)
	}
	after, e, err := r.applyEdits(ctx, tree, []Edit{Put("z", []byte("x"))})
	if err != nil {
		t.Fatal(err)
	}
	if data := e.objects[after].data; !bytes.HasPrefix(data, []byte("100664 old\x00")) {
		t.Errorf("tree %q", data)
	}
	if entry, err := r.Lookup(ctx, Hash(tree.String()), "old"); err != nil || entry.Mode != ModeFile {
		t.Errorf("Lookup() = %v, %v", entry, err)
	}
}

func TestReadTrees(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	head := s.rev("HEAD")
	var paths []string
	if err := r.Walk(ctx, head, "", func(e Entry) error { paths = append(paths, e.Path); return nil }); err != nil || !slices.Equal(paths, []string{"README.md", "skills/x/SKILL.md"}) {
		t.Errorf("Walk() = %q, %v", paths, err)
	}
	for path, want := range map[string]int{"skills": 1, "skills/x": 1, "README.md": 1} {
		n := 0
		if err := r.Walk(ctx, head, path, func(Entry) error { n++; return nil }); err != nil || n != want {
			t.Errorf("Walk(%q) visits %d, %v", path, n, err)
		}
	}
	stop := errors.New("stop")
	if err := r.Walk(ctx, head, "", func(Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Walk() = %v", err)
	}
	if root, err := r.Lookup(ctx, head, ""); err != nil || root.Mode != ModeDir || root.Object != s.rev("HEAD^{tree}") {
		t.Errorf("Lookup(root) = %v, %v", root, err)
	}
	for _, path := range []string{"gone", "README.md/x", "skills/", "/", "skills//x"} {
		if _, err := r.Lookup(ctx, head, path); !errors.Is(err, ErrNotFound) {
			t.Errorf("Lookup(%q) = %v", path, err)
		}
		if err := r.Walk(ctx, head, path, func(Entry) error { return nil }); !errors.Is(err, ErrNotFound) {
			t.Errorf("Walk(%q) = %v", path, err)
		}
	}
	if _, err := r.ReadFile(ctx, head, "skills"); !errors.Is(err, ErrNotFound) {
		t.Errorf("ReadFile(directory) = %v", err)
	}
	if _, err := r.ReadFile(ctx, "1111111111111111111111111111111111111111", "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("ReadFile(no commit) = %v", err)
	}
	if _, err := r.Blob(ctx, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf(`Blob("") = %v`, err)
	}
}

// TestDiffTrees compares with git's own answer over random changes (R-TREE-4).
func TestDiffTrees(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	random := rand.New(rand.NewPCG(1, 2))
	tip := Hash("")
	names := []string{"a", "a-b", "a.b", "a0", "b"}
	for round := range 12 {
		var edits []Edit
		for range 1 + random.IntN(4) {
			path := names[random.IntN(len(names))]
			edits = append(edits, Remove(path))
			if random.IntN(3) > 0 {
				path += "/" + names[random.IntN(len(names))]
			}
			edits = append(edits, PutMode(path, fmt.Append(nil, random.IntN(3)), []Mode{ModeFile, ModeExec}[random.IntN(2)]))
		}
		c := Change{Ref: testRef, Base: tip, Edits: edits, Subject: "x"}
		next, err := r.Commit(ctx, c)
		if errors.Is(err, ErrNoChange) || fault.KindOf(err) == fault.Refused {
			continue // contradicting edits
		}
		if err != nil {
			t.Fatal(err)
		}
		if tip != "" {
			differences, err := r.DiffTrees(ctx, tip, next)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range differences {
				zero := func(e Entry) string {
					if e.Mode == 0 {
						return "000000 " + string(zeroHash)
					}
					return e.Mode.String() + " " + string(e.Object)
				}
				got = append(got, zero(d.Before)+" "+zero(d.After)+" "+d.Path)
			}
			var want []string
			for line := range strings.SplitSeq(s.git("diff-tree", "-r", "--no-renames", string(tip), string(next)), "\n") {
				f := strings.Fields(line) // :mode mode id id status path
				want = append(want, strings.TrimPrefix(f[0], ":")+" "+f[2]+" "+f[1]+" "+f[3]+" "+f[5])
			}
			slices.SortFunc(want, func(a, b string) int {
				return strings.Compare(a[strings.LastIndex(a, " "):], b[strings.LastIndex(b, " "):])
			})
			if !slices.Equal(got, want) {
				t.Errorf("round %d: DiffTrees() = %q, want %q", round, got, want)
			}
		}
		tip = next
	}
	if d, err := r.DiffTrees(ctx, "", tip); err != nil || len(d) == 0 {
		t.Errorf("DiffTrees(nothing, tip) = %v, %v", d, err)
	}
	s.fsck()
}

// FuzzApplyEdits: the order of edits does not matter, applying them twice is
// applying them once, and what they give is a tree git takes.
func FuzzApplyEdits(f *testing.F) {
	f.Add([]byte("a/b\x00-a\x00c/d/e\x00A"))
	f.Add([]byte("-skills\x00skills/y\x00README.md/x\x00-README.md"))
	f.Add([]byte("a-b\x00a/x\x00a.b\x00a0\x00-a-b"))
	s := newRepository(f)
	r := s.open()
	root := plumbing.NewHash(string(s.rev("HEAD^{tree}")))
	f.Fuzz(func(t *testing.T, script []byte) {
		ctx := context.Background()
		var edits []Edit
		for i, word := range strings.Split(string(script), "\x00") {
			if path, remove := strings.CutPrefix(word, "-"); remove {
				edits = append(edits, Remove(path))
			} else {
				edits = append(edits, Put(path, []byte{byte(i)}))
			}
		}
		first, e, err := r.applyEdits(ctx, root, edits)
		backwards := slices.Clone(edits)
		slices.Reverse(backwards)
		second, _, errBack := r.applyEdits(ctx, root, backwards)
		if (err == nil) != (errBack == nil) || first != second {
			t.Fatalf("applyEdits(%q) = %s, %v; backwards %s, %v", script, first, err, second, errBack)
		}
		if err != nil {
			return
		}
		entries, err := e.tree(ctx, first)
		if err != nil || !slices.IsSortedFunc(entries, compareEntries) || len(slices.CompactFunc(slices.Clone(entries), func(a, b treeEntry) bool { return a.name == b.name })) != len(entries) {
			t.Fatalf("applyEdits(%q): tree %v, %v", script, entries, err)
		}
		if err := e.write(); err != nil {
			t.Fatal(err)
		}
		again, _, err := r.applyEdits(ctx, first, edits)
		if err != nil || again != first {
			t.Fatalf("applyEdits(%q) twice = %s, %v, once %s", script, again, err, first)
		}
	})
}
