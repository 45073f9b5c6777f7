package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// treeOfFiles stores a tree of files: path to content, a content that begins
// with "@" is a link, with "+" executable.
func treeOfFiles(t testing.TB, r *Repo, files map[string]string) Hash {
	t.Helper()
	var edits []Edit
	for path, content := range files {
		edit := Put(path, []byte(content))
		if target, ok := strings.CutPrefix(content, "@"); ok {
			edit = PutMode(path, []byte(target), ModeLink)
		} else if rest, ok := strings.CutPrefix(content, "+"); ok {
			edit = PutMode(path, []byte(rest), ModeExec)
		}
		edits = append(edits, edit)
	}
	tree, editor, err := r.applyEdits(t.Context(), emptyTree, edits)
	if err == nil {
		err = editor.write()
	}
	if err != nil {
		t.Fatal(err)
	}
	return Hash(tree.String())
}

// filesOfTree is the reverse.
func filesOfTree(t testing.TB, r *Repo, tree Hash) map[string]string {
	t.Helper()
	files := map[string]string{}
	if tree == Hash(emptyTree.String()) {
		return files
	}
	err := r.Walk(t.Context(), tree, "", func(e Entry) error {
		data, err := r.Blob(t.Context(), e.Object)
		files[e.Path] = map[Mode]string{ModeLink: "@", ModeExec: "+"}[e.Mode] + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// with returns a copy of files with pairs of path and content; "" removes.
func with(files map[string]string, pairs ...string) map[string]string {
	changed := map[string]string{}
	for path, content := range files {
		changed[path] = content
	}
	for i := 0; i < len(pairs); i += 2 {
		if changed[pairs[i]] = pairs[i+1]; pairs[i+1] == "" {
			delete(changed, pairs[i])
		}
	}
	return changed
}

const (
	lines    = "one\ntwo\nthree\nfour\nfive\nsix\n"
	topEdit  = "ONE\ntwo\nthree\nfour\nfive\nsix\n"
	lastEdit = "one\ntwo\nthree\nfour\nfive\nSIX\n"
)

func TestMerge(t *testing.T) { // R-MERGE-1, R-MERGE-3, R-MERGE-4
	base := map[string]string{
		"a.txt": lines, "b.txt": "b\n", "run": "+#!\n",
		"skills/x/SKILL.md": "x\n", "skills/x/ref/r.md": "r\n", "skills/y/SKILL.md": "y\n",
	}
	archived := func(stamp string) []string {
		return []string{
			"skills/x/SKILL.md", "", "skills/x/ref/r.md", "",
			"skills-archive/x-" + stamp + "/SKILL.md", "x\n", "skills-archive/x-" + stamp + "/ref/r.md", "r\n",
		}
	}
	monday, tuesday := archived("20260504T000000Z"), archived("20260505T000000Z")
	tests := map[string]struct {
		ours, theirs []string
		want         []string // changes of the base
		conflicts    []string
	}{
		"nothing":                     {},
		"only theirs":                 {theirs: []string{"b.txt", "B\n", "new/n", "n"}, want: []string{"b.txt", "B\n", "new/n", "n"}},
		"only ours":                   {ours: []string{"b.txt", "B\n"}, want: []string{"b.txt", "B\n"}},
		"different files":             {ours: []string{"a.txt", "A\n"}, theirs: []string{"b.txt", ""}, want: []string{"a.txt", "A\n", "b.txt", ""}},
		"the same change":             {ours: []string{"a.txt", "A\n", "b.txt", ""}, theirs: []string{"a.txt", "A\n", "b.txt", ""}, want: []string{"a.txt", "A\n", "b.txt", ""}},
		"the same new file":           {ours: []string{"n", "n\n"}, theirs: []string{"n", "n\n"}, want: []string{"n", "n\n"}},
		"mode only":                   {theirs: []string{"b.txt", "+b\n"}, want: []string{"b.txt", "+b\n"}},
		"a link for a file":           {theirs: []string{"b.txt", "@a.txt"}, want: []string{"b.txt", "@a.txt"}},
		"lines apart":                 {ours: []string{"a.txt", topEdit}, theirs: []string{"a.txt", lastEdit}, want: []string{"a.txt", "ONE\ntwo\nthree\nfour\nfive\nSIX\n"}},
		"lines apart, mode":           {ours: []string{"a.txt", topEdit}, theirs: []string{"a.txt", "+" + lines}, want: []string{"a.txt", "+" + topEdit}},
		"one line":                    {ours: []string{"b.txt", "1\n"}, theirs: []string{"b.txt", "2\n"}, conflicts: []string{`"b.txt" (edit/edit)`}},
		"one clean, one not":          {ours: []string{"a.txt", topEdit, "b.txt", "1\n"}, theirs: []string{"a.txt", lastEdit, "b.txt", "2\n"}, conflicts: []string{`"b.txt" (edit/edit)`}},
		"edit and delete":             {ours: []string{"b.txt", "1\n"}, theirs: []string{"b.txt", ""}, conflicts: []string{`"b.txt" (edit/delete)`}},
		"two new files":               {ours: []string{"n", "1\n"}, theirs: []string{"n", "2\n"}, conflicts: []string{`"n" (add/add)`}},
		"a link against an edit":      {ours: []string{"b.txt", "1\n"}, theirs: []string{"b.txt", "@a.txt"}, conflicts: []string{`"b.txt" (edit/edit)`}},
		"file to directory":           {theirs: []string{"b.txt", "", "b.txt/c", "c"}, want: []string{"b.txt", "", "b.txt/c", "c"}},
		"directory to file":           {theirs: []string{"skills/y/SKILL.md", "", "skills/y", "f"}, want: []string{"skills/y/SKILL.md", "", "skills/y", "f"}},
		"a directory over an edit":    {ours: []string{"n", "1\n"}, theirs: []string{"n/c", "c"}, conflicts: []string{`"n" (add/add)`}},
		"a file over new files":       {ours: []string{"n/c", "c"}, theirs: []string{"n", "1\n"}, conflicts: []string{`"n" (add/add)`}},
		"archive":                     {theirs: monday, want: monday},
		"archive here, edit elsewere": {ours: monday, theirs: []string{"skills/y/SKILL.md", "Y\n"}, want: append(slices.Clone(monday), "skills/y/SKILL.md", "Y\n")},
		"the same archive":            {ours: monday, theirs: monday, want: monday},
		"archive against edit":        {ours: monday, theirs: []string{"skills/x/SKILL.md", "X\n"}, conflicts: []string{`"skills/x" (archive/edit)`}},
		"edit against archive":        {ours: []string{"skills/x/ref/r.md", "R\n"}, theirs: monday, conflicts: []string{`"skills/x" (edit/archive)`}},
		"archive against a new file":  {ours: monday, theirs: []string{"skills/x/new.md", "n\n"}, conflicts: []string{`"skills/x" (archive/edit)`}},
		"a new file against archive":  {ours: []string{"skills/x/new.md", "n\n"}, theirs: monday, conflicts: []string{`"skills/x" (edit/archive)`}},
		"two archives":                {ours: monday, theirs: tuesday, conflicts: []string{`"skills/x" (archive/archive)`}},
		"archive against rename":      {ours: monday, theirs: []string{"skills/x/SKILL.md", "", "skills/x/ref/r.md", "", "skills/z/SKILL.md", "x\n", "skills/z/ref/r.md", "r\n"}, conflicts: []string{`"skills/x" (archive/rename)`}},
		"rename against edit":         {ours: []string{"a.txt", "", "c.txt", lines}, theirs: []string{"a.txt", topEdit}, conflicts: []string{`"a.txt" (rename/edit)`}},
		"edit against rename":         {ours: []string{"a.txt", topEdit}, theirs: []string{"a.txt", "", "c.txt", lines}, conflicts: []string{`"a.txt" (edit/rename)`}},
		"two renames":                 {ours: []string{"a.txt", "", "c.txt", lines}, theirs: []string{"a.txt", "", "d.txt", lines}, conflicts: []string{`"a.txt" (rename/rename)`}},
		"archive against delete":      {ours: monday, theirs: []string{"skills/x/SKILL.md", "", "skills/x/ref/r.md", ""}, want: monday},
		"evidence, both":              {ours: []string{".forge/patterns/x/evidence.jsonl", "1\n2\n"}, theirs: []string{".forge/patterns/x/evidence.jsonl", "1\n3\n"}, want: []string{".forge/patterns/x/evidence.jsonl", "1\n2\n3\n"}},
		"other jsonl, both":           {ours: []string{".forge/other.jsonl", "1\n2\n"}, theirs: []string{".forge/other.jsonl", "1\n3\n"}, conflicts: []string{`".forge/other.jsonl" (add/add)`}},
		"union against delete":        {ours: []string{"skills/y/PURPOSE.md", "p\n"}, want: []string{"skills/y/PURPOSE.md", "p\n"}},
		"state, both new":             {ours: []string{statePath, `{"skills":{"a":{"pinned":true}}}`}, theirs: []string{statePath, `{"skills":{"b":{}}}`}, want: []string{statePath, "{\n  \"skills\": {\n    \"a\": {\"pinned\":true},\n    \"b\": {}\n  }\n}\n"}},
		"state, one entry":            {ours: []string{statePath, `{"skills":{"a":1}}`}, theirs: []string{statePath, `{"skills":{"a":2}}`}, conflicts: []string{`".forge/curator/state.json" (add/add)`}},
		"state, conflict markers":     {ours: []string{statePath, "<<<<"}, theirs: []string{statePath, `{}`}, conflicts: []string{`".forge/curator/state.json" (add/add)`}},
	}
	s := newRepository(t)
	r := s.open()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := treeOfFiles(t, r, base)
			o := treeOfFiles(t, r, with(base, tt.ours...))
			got, err := r.Merge(t.Context(), b, o, treeOfFiles(t, r, with(base, tt.theirs...)), nil)
			if err != nil {
				t.Fatal(err)
			}
			var conflicts []string
			for _, c := range got.Conflicts {
				conflicts = append(conflicts, c.String())
			}
			if !slices.Equal(conflicts, tt.conflicts) {
				t.Fatalf("conflicts %q, want %q", conflicts, tt.conflicts)
			}
			if tt.conflicts != nil {
				if got.Tree != "" {
					t.Errorf("a merge with conflicts has the tree %s", got.Tree)
				}
				return
			}
			merged, editor, err := r.applyEdits(t.Context(), hashOf(o), got.Edits)
			if err == nil {
				err = editor.write()
			}
			if err != nil || merged.String() != string(got.Tree) {
				t.Fatalf("the edits give %s, %v, want %s", merged, err, got.Tree)
			}
			diffListings(t, "merged", filesOfTree(t, r, got.Tree), with(base, tt.want...))
		})
	}
}

// R-LAND-7: within limits a merge to some paths.
func TestMergeWithin(t *testing.T) {
	r := newRepository(t).open()
	base := map[string]string{"skills/x/SKILL.md": "x\n", "other": "o\n"}
	b, o := treeOfFiles(t, r, base), treeOfFiles(t, r, with(base, "other", "mine\n"))
	theirs := treeOfFiles(t, r, with(base, "other", "theirs\n", "skills/x/SKILL.md", "X\n"))
	got, err := r.Merge(t.Context(), b, o, theirs, func(p string) bool { return strings.HasPrefix(p, "skills/x/") })
	if err != nil || len(got.Conflicts) > 0 {
		t.Fatalf("Merge() = %v, %v", got, err)
	}
	diffListings(t, "merged", filesOfTree(t, r, writeMerged(t, r, o, got)), with(base, "other", "mine\n", "skills/x/SKILL.md", "X\n"))
}

func writeMerged(t *testing.T, r *Repo, ours Hash, m Merged) Hash {
	t.Helper()
	_, editor, err := r.applyEdits(t.Context(), hashOf(ours), m.Edits)
	if err == nil {
		err = editor.write()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.Tree
}

// Without git, and with one that has no merge-tree for this, files that both
// sides edited are conflicts, and everything else is merged all the same.
func TestMergeWithoutGit(t *testing.T) {
	s := newRepository(t)
	r := s.open()
	base := map[string]string{"a": lines, "PURPOSE.md": "p\n"}
	b := treeOfFiles(t, r, base)
	o := treeOfFiles(t, r, with(base, "a", topEdit, "PURPOSE.md", "p\n## 1\n"))
	theirs := treeOfFiles(t, r, with(base, "a", lastEdit, "PURPOSE.md", "p\n## 2\n"))
	s.vars["PATH"] = ""
	got, err := s.open().Merge(t.Context(), b, o, theirs, nil)
	if err != nil || len(got.Conflicts) != 1 || got.Conflicts[0].Path != "a" || len(got.Edits) != 1 || string(got.Edits[0].Data) != "p\n\n## 1\n\n## 2\n" {
		t.Errorf("Merge() = %+v, %v, want a conflict of a and a merged PURPOSE.md", got, err)
	}
}

// R-MERGE-2, pitfall 20: both sides add the same line; no final newline; in a
// bare repository, where git's own merge sees no attributes.
func TestMergeUnion(t *testing.T) {
	const purpose = "# Purpose\n\nWhat was tried.\n"
	tests := map[string]struct {
		path               string
		base, ours, theirs string
		want               string
	}{
		"both add":             {"evidence.jsonl", "1\n", "1\n2\n", "1\n3\n", "1\n2\n3\n"},
		"the same line":        {"evidence.jsonl", "1\n", "1\n2\n3\n", "1\n3\n4\n", "1\n2\n3\n4\n"},
		"no final newline":     {"evidence.jsonl", "1", "1\n2", "1\n3", "1\n2\n3\n"},
		"new on both sides":    {"evidence.jsonl", "", "2\n", "3\n", "2\n3\n"},
		"theirs removed one":   {"evidence.jsonl", "1\n2\n", "1\n2\n3\n", "2\n4\n", "2\n3\n4\n"},
		"ours removed one":     {"evidence.jsonl", "1\n2\n", "2\n3\n", "1\n2\n4\n", "2\n3\n4\n"},
		"nothing left":         {"evidence.jsonl", "1\n", "", "", ""},
		"lines alike, entries": {"PURPOSE.md", purpose, purpose + "\n## exp-001\n\n**Run:** r1\n", purpose + "\n## exp-002\n\n**Run:** r1\n", purpose + "\n## exp-001\n\n**Run:** r1\n\n## exp-002\n\n**Run:** r1\n"},
		"the same entry":       {"PURPOSE.md", purpose, purpose + "\n## exp-001\n\na\n\n## exp-002\n\nb\n", purpose + "\n## exp-002\n\nb\n", purpose + "\n## exp-001\n\na\n\n## exp-002\n\nb\n"},
		"an entry edited":      {"PURPOSE.md", "# P\n\n## 1\n\nold\n", "# P\n\n## 1\n\nnew\n", "# P\n\n## 1\n\nold\n\n## 2\n", "# P\n\n## 1\n\nnew\n\n## 2\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			three := Sides{[]byte(tt.base), []byte(tt.ours), []byte(tt.theirs)}
			if got := string(mergeUnion(tt.path, three)); got != tt.want {
				t.Errorf("mergeUnion(%q) = %q, want %q", tt.path, got, tt.want)
			}
		})
	}
}

func TestMergeState(t *testing.T) { // C25; curator.md RC-STATE-3, RC-STATE-10
	const entryX, entryY = `"skills/x": {"pinned":true}`, `"skills/y": {"pinned":false}`
	tests := map[string]struct {
		base, ours, theirs string
		want               string
		conflicts          []string
	}{
		"different entries": {`{"skills":{}}`, `{"skills":{` + entryX + `}}`, `{"skills":{` + entryY + `}}`,
			"{\n  \"skills\": {\n    " + entryX + ",\n    " + entryY + "\n  }\n}\n", nil},
		"removed and added": {`{"skills":{` + entryX + `}}`, `{"skills":{}}`, `{"skills":{` + entryX + `,` + entryY + `}}`,
			"{\n  \"skills\": {\n    " + entryY + "\n  }\n}\n", nil},
		"one entry, differently": {`{"skills":{"x":{"pinned":false}}}`, `{"skills":{"x":{"pinned":true}}}`, `{"skills":{"x":{"blob":"b"}}}`,
			"{\n  \"skills\": {\n    \"x\": {\"pinned\":true}\n  }\n}\n", []string{"skills/x"}},
		"removed against edited": {`{"skills":{"x":1}}`, `{"skills":{}}`, `{"skills":{"x":2}}`, "{\n  \"skills\": {}\n}\n", []string{"skills/x"}},
		"times": {`{}`, `{"first_seen_at_iso":"2026-05-02","last_curation_at_iso":"2026-05-03"}`, `{"first_seen_at_iso":"2026-05-01","last_curation_at_iso":"2026-05-02"}`,
			"{\n  \"first_seen_at_iso\": \"2026-05-01\",\n  \"last_curation_at_iso\": \"2026-05-03\"\n}\n", nil},
		"disabled wins": {`{}`, `{"disabled":false}`, `{"disabled":true}`, "{\n  \"disabled\": true\n}\n", nil},
		"sets": {`{"declined":[1,2]}`, `{"declined":[1,3]}`, `{"declined":[1,2,4]}`,
			"{\n  \"declined\": [\n    1,\n    3,\n    4\n  ]\n}\n", nil},
		"new on both sides":   {"", `{"schema_version":"1","a":1}`, `{"schema_version":"1","b":"<&>"}`, "{\n  \"a\": 1,\n  \"b\": \"<&>\",\n  \"schema_version\": \"1\"\n}\n", nil},
		"versions apart":      {`{"schema_version":"1"}`, `{"schema_version":"2"}`, `{"schema_version":"3"}`, "{\n  \"schema_version\": \"2\"\n}\n", []string{"schema_version"}},
		"numbers are kept":    {`{}`, `{"a":1.50}`, `{"b":12345678901234567890}`, "{\n  \"a\": 1.50,\n  \"b\": 12345678901234567890\n}\n", nil},
		"nothing on any side": {`{}`, `{}`, `{}`, "{}\n", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			three := Sides{Ours: []byte(tt.ours), Theirs: []byte(tt.theirs)}
			if tt.base != "" {
				three.Base = []byte(tt.base)
			}
			got, conflicts, err := MergeState(three)
			if err != nil || string(got) != tt.want || !slices.Equal(conflicts, tt.conflicts) {
				t.Errorf("MergeState() = %q, %q, %v, want %q, %q", got, conflicts, err, tt.want, tt.conflicts)
			}
		})
	}
	for _, broken := range []string{"", "[]", "null", "{} {}", "<<<<<<< ours"} {
		if got, _, err := MergeState(Sides{Ours: []byte(broken), Theirs: []byte("{}")}); err == nil {
			t.Errorf("MergeState(%q) = %q, want an error", broken, got)
		}
	}
}

// FuzzMergeState: a merge is the same from both sides, but for conflicts, and
// merging with nothing new changes nothing.
func FuzzMergeState(f *testing.F) {
	f.Add(`{"skills":{"x":1}}`, `{"skills":{"x":1,"y":2}}`, `{"skills":{}}`)
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		there, clashes, err := MergeState(Sides{[]byte(base), []byte(ours), []byte(theirs)})
		if err != nil {
			return
		}
		back, _, err := MergeState(Sides{[]byte(base), []byte(theirs), []byte(ours)})
		if err != nil || len(clashes) == 0 && !bytes.Equal(there, back) {
			t.Errorf("merged %q, from the other side %q, %v", there, back, err)
		}
		again, clashes, err := MergeState(Sides{there, there, there})
		if err != nil || len(clashes) > 0 || !bytes.Equal(again, there) {
			t.Errorf("merged with itself %q is %q, %q, %v", there, again, clashes, err)
		}
	})
}

// R-MERGE-1: on trees without moves, what forge merges whole is what git
// merges, and git finds the same conflicts.
func TestMergeAgreesWithGit(t *testing.T) {
	s := newRepository(t)
	r := s.open()
	random := rand.New(rand.NewPCG(1, 2))
	commitOf := func(tree Hash, parent string) string {
		args := []string{"commit-tree", "-m", "x", string(tree)}
		if parent != "" {
			args = append(args, "-p", parent)
		}
		return s.git(args...)
	}
	clean := 0
	for round := range 25 {
		base := map[string]string{}
		for i := range 8 {
			base[fmt.Sprintf("d%d/f%d", i%3, i)] = fmt.Sprintf("file %d\n%s", i, lines)
		}
		change := func() map[string]string {
			files := with(base)
			for range 2 {
				path := fmt.Sprintf("d%d/f%d", random.IntN(3), random.IntN(9))
				switch old, exists := files[path]; {
				case random.IntN(4) == 0:
					delete(files, path)
				case exists && random.IntN(2) == 0:
					files[path] = strings.Replace(old, []string{"one", "six"}[random.IntN(2)], fmt.Sprint(random.IntN(1000)), 1)
				default:
					files[path] = fmt.Sprint(random.IntN(1000), "\n")
				}
			}
			return files
		}
		b, o, th := treeOfFiles(t, r, base), treeOfFiles(t, r, change()), treeOfFiles(t, r, change())
		got, err := r.Merge(t.Context(), b, o, th, nil)
		if err != nil {
			t.Fatal(err)
		}
		start := commitOf(b, "")
		out, result := s.try("merge-tree", "--write-tree", "--no-messages", "--name-only", "-Xno-renames", commitOf(o, start), commitOf(th, start))
		if !result.OK() && result.ExitCode != 1 {
			out, result = s.try("-c", "merge.renames=false", "merge-tree", "--write-tree", "--no-messages", "--name-only", commitOf(o, start), commitOf(th, start))
		}
		if result.OK() != (len(got.Conflicts) == 0) {
			t.Fatalf("round %d: conflicts %v, git exits %d: %s", round, got.Conflicts, result.ExitCode, out)
		}
		if result.OK() {
			clean++
			if string(got.Tree) != out {
				t.Fatalf("round %d: tree %s, git has %s", round, got.Tree, out)
			}
		}
	}
	if clean == 0 || clean == 25 {
		t.Errorf("%d of 25 merges are clean; the test shows nothing", clean)
	}
}

// BenchmarkMerge10000 merges two branches that changed different skills of
// 1,000, ten files each: 17 to 29 ms (gitstore.md R-MERGE-1).
func BenchmarkMerge10000(b *testing.B) {
	s := bigRepository(b)
	r := s.open()
	base := s.rev("HEAD")
	side := func(skill string) Hash {
		tree, editor, err := r.applyEdits(context.Background(), hashOf(s.rev("HEAD^{tree}")), []Edit{Put("skills/"+skill+"/file-1.md", []byte(skill))})
		if err == nil {
			err = editor.write()
		}
		if err != nil {
			b.Fatal(err)
		}
		return Hash(tree.String())
	}
	ours, theirs := side("skill-0001"), side("skill-0002")
	for b.Loop() {
		got, err := s.open().Merge(context.Background(), base, ours, theirs, nil)
		if err != nil || len(got.Edits) != 1 {
			b.Fatal(got, err)
		}
	}
}

func hashOf(h Hash) plumbing.Hash { return plumbing.NewHash(string(h)) }
