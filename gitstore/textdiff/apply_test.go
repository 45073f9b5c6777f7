package textdiff

import (
	"bytes"
	"strings"
	"testing"
)

// onlyFile parses a patch of one file.
func onlyFile(t testing.TB, patch string) FilePatch {
	t.Helper()
	parsed, err := Parse([]byte(patch))
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, patch)
	}
	if len(parsed.Files) != 1 {
		t.Fatalf("Parse finds %d files, want 1", len(parsed.Files))
	}
	return parsed.Files[0]
}

const names = "--- a/x\n+++ b/x\n"

// handoff.md R-SUB-2: strict first, then white-space tolerant.
func TestApply(t *testing.T) {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	change := names + "@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+2\n three\n"
	long := numberedLines(20)
	tests := map[string]struct {
		patch, before    string
		strict, tolerant string // "" means refused
	}{
		"exact":               {change, "one\ntwo\nthree\n", "one\nzwei\n2\nthree\n", "one\nzwei\n2\nthree\n"},
		"LF patch, CRLF file": {change, "one\r\ntwo\r\nthree\r\n", "", "one\r\nzwei\r\n2\r\nthree\r\n"},
		"CRLF patch, LF file": {crlf(change), "one\ntwo\nthree\n", "", "one\nzwei\n2\nthree\n"},
		"CRLF both":           {crlf(change), "one\r\ntwo\r\nthree\r\n", "one\r\nzwei\r\n2\r\nthree\r\n", "one\r\nzwei\r\n2\r\nthree\r\n"},
		"mixed file":          {change, "one\r\ntwo\nthree\r\n", "", "one\r\nzwei\r\n2\r\nthree\r\n"},
		"trailing blanks":     {change, "one  \ntwo\nthree\t\n", "", "one  \nzwei\n2\nthree\t\n"},
		"blanks in added":     {names + "@@ -1 +1 @@\n-a\n+b  \n", "a\n", "b  \n", "b  \n"},
		"leading blanks":      {change, "  one\n  two\n  three\n", "", ""},
		"context lost blank":  {names + "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nb\n", "a\n\nc\n", "a\n\nc\n"},

		"missing newline unknown": {names + "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb", "", "a\nb\nc\n"},
		"newline of last line":    {names + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nb", "", "a\nc\n"},
		"lacking, with more":      {names + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "a\nz\n", "", "b\nz\n"},
		"lacking, CRLF patch":     {crlf(names + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"), "a", "b", "b"},

		"wrong line number":   {names + "@@ -1,3 +1,2 @@\n line 9\n-line 10\n line 11\n", long, strings.Replace(long, "line 10\n", "", 1), strings.Replace(long, "line 10\n", "", 1)},
		"behind the end":      {names + "@@ -90,3 +90,2 @@\n line 9\n-line 10\n line 11\n", long, strings.Replace(long, "line 10\n", "", 1), strings.Replace(long, "line 10\n", "", 1)},
		"numbered from 0":     {names + "@@ -0,2 +0,1 @@\n-line 0\n line 1\n", long, strings.Replace(long, "line 0\n", "", 1), strings.Replace(long, "line 0\n", "", 1)},
		"ambiguous":           {names + "@@ -9 +9 @@\n-a\n+b\n", "a\nx\na\n", "", ""},
		"ambiguous but exact": {names + "@@ -3 +3 @@\n-a\n+b\n", "a\nx\na\n", "a\nx\nb\n", "a\nx\nb\n"},
		"moves with the last": {names + "@@ -1 +1 @@\n-q\n+Q\n@@ -3 +3 @@\n-a\n+b\n", "a\na\nq\na\na\na\n", "a\na\nQ\na\nb\na\n", "a\na\nQ\na\nb\na\n"},
		"out of order":        {names + "@@ -5 +5 @@\n-line 4\n+x\n@@ -2 +2 @@\n-line 1\n+y\n", long, "", ""},
		"overlapping":         {names + "@@ -1,2 +1,2 @@\n-a\n+x\n b\n@@ -2 +2 @@\n-b\n+y\n", "a\nb\n", "", ""},
		"nowhere":             {names + "@@ -1 +1 @@\n-zzz\n+b\n", "a\n", "", ""},
		"file too short":      {names + "@@ -1,3 +1,2 @@\n a\n b\n-c\n", "a\nb\n", "", ""},

		"insertion, no context": {names + "@@ -2,0 +3 @@\n+new\n", "a\nb\nc\n", "a\nb\nnew\nc\n", "a\nb\nnew\nc\n"},
		"insertion, too far":    {names + "@@ -9,0 +10 @@\n+new\n", "a\nb\nc\n", "", ""},
		"begins an empty file":  {names + "@@ -0,0 +1 @@\n+new\n", "a\n", "", ""},
		"fills an empty file":   {names + "@@ -0,0 +1 @@\n+new\n", "", "new\n", "new\n"},
		"new but there":         {"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n", "a\n", "", ""},
		"deleted but longer":    {"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a\nb\n", "", ""},
		"deleted but other":     {"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "b\n", "", ""},
		"deleted unseen":        {"diff --git a/x b/x\ndeleted file mode 100644\n", "b\n", "", ""},
		"mode only":             {"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "a\r\nb", "a\r\nb", "a\r\nb"},
		"binary":                {"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "a", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := onlyFile(t, tt.patch)
			for tolerance, want := range map[Tolerance]string{Strict: tt.strict, Whitespace: tt.tolerant} {
				before := []byte(tt.before)
				got, err := f.Apply(before, tolerance)
				if want == "" && err == nil {
					t.Errorf("Apply(%q, %d) = %q, want an error", tt.before, tolerance, got)
				}
				if want != "" && (err != nil || string(got) != want) {
					t.Errorf("Apply(%q, %d) = %q, %v, want %q", tt.before, tolerance, got, err, want)
				}
				if string(before) != tt.before {
					t.Errorf("Apply changed its input to %q", before)
				}
			}
		})
	}
}

// An error says which hunk and which line.
func TestApplyErrors(t *testing.T) {
	first := "@@ -1 +1 @@\n-line 0\n+x\n"
	tests := map[string]struct{ patch, want string }{
		"other line":  {names + first + "@@ -4,2 +4,2 @@\n line 3\n-line four\n+y\n", `hunk 2 (line 6 of the patch): line 5 is "line 4\n" and should be "line four\n"`},
		"end of file": {names + first + "@@ -20,2 +20,1 @@\n line 19\n-line 20\n", `hunk 2 (line 6 of the patch): the file ends before line 21, which should be "line 20\n"`},
		"ambiguous":   {names + "@@ -5 +5 @@\n-same\n+x\n", "hunk 1 (line 3 of the patch): its lines are not at line 5 but at line 21, line 22 and maybe more"},
		"not empty":   {names + "@@ -0,0 +1 @@\n+x\n", "hunk 1 (line 3 of the patch): it begins an empty file, and the file is not empty"},
	}
	for name, tt := range tests {
		_, err := onlyFile(t, tt.patch).Apply([]byte(numberedLines(20)+"same\nsame\n"), Strict)
		if name == "end of file" {
			_, err = onlyFile(t, tt.patch).Apply([]byte(numberedLines(20)), Strict)
		}
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: Apply: %v, want %s", name, err, tt.want)
		}
	}
}

// The law of the package: applying what Unified wrote gives the other side.
func FuzzUnifiedApply(f *testing.F) {
	for _, c := range gitCases() {
		f.Add(c.Before.data(), c.After.data(), c.Path)
	}
	f.Fuzz(func(t *testing.T, a, b []byte, path string) {
		if bytes.IndexByte(a, 0) >= 0 || bytes.IndexByte(b, 0) >= 0 || strings.ContainsRune(path, 0) || path == "" || bytes.Equal(a, b) {
			t.Skip()
		}
		files := []File{{Path: path, Before: &Side{Data: a}, After: &Side{Data: b}}}
		diff := Unified(files)
		patch, err := Parse(diff)
		if err != nil {
			t.Fatalf("Parse: %v\n%s", err, diff)
		}
		if len(patch.Files) != 1 || patch.Files[0].NewPath != path || patch.Files[0].OldPath != path {
			t.Fatalf("Parse gives %+v, want %q\n%s", patch.Files, path, diff)
		}
		got, err := patch.Files[0].Apply(a, Strict)
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("Apply = %q, %v, want %q\n%s", got, err, b, diff)
		}
		added, removed := Stat(files)
		if lines := len(splitLines(b)) - len(splitLines(a)); added-removed != lines {
			t.Errorf("Stat = %d, %d for %d more lines", added, removed, lines)
		}
	})
}

// Texts too large for go-difflib at once are cut at unique lines.
func TestUnifiedLarge(t *testing.T) {
	lines := strings.SplitAfter(numberedLines(5000), "\n")
	texts := map[string]string{
		"every second line": everyNth(lines, 2),
		"every 50th line":   everyNth(lines, 50),
		"moved":             strings.Join(append(append([]string{}, lines[2500:]...), lines[:2500]...), ""),
		"nothing in common": strings.Repeat("other\n", 5000),
		"all the same line": strings.Repeat("line 1\n", 5000),
		"shuffled blanks":   strings.ReplaceAll(everyNth(lines, 3), "line 1", "\nline 1"),
	}
	for name, after := range texts {
		t.Run(name, func(t *testing.T) {
			before := strings.Join(lines, "")
			f := onlyFile(t, string(Unified([]File{{Path: "x", Before: &Side{Data: []byte(before)}, After: &Side{Data: []byte(after)}}})))
			if got, err := f.Apply([]byte(before), Strict); err != nil || string(got) != after {
				t.Errorf("Apply gives another text, %v", err)
			}
		})
	}
}

// everyNth changes every nth line.
func everyNth(lines []string, n int) string {
	var b strings.Builder
	for i, line := range lines {
		if i%n == 0 {
			b.WriteString("changed ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestUnifiedText(t *testing.T) {
	side := func(s string) *Side { return &Side{Data: []byte(s)} }
	got := string(Unified([]File{
		{Path: "same", Before: side("a\n"), After: side("a\n")},
		{Path: "nothing"},
		{Path: "my file", Before: side("a\nb"), After: &Side{Data: []byte("a\nc\n"), Mode: modeExec}},
		{Path: "pic", Before: nil, After: side("\x00")},
		{Path: "pic2", Before: side("\x00"), After: side("a")},
	}))
	want := `diff --git a/my file b/my file
old mode 100644
new mode 100755
--- a/my file	
+++ b/my file	
@@ -1,2 +1,2 @@
 a
-b
\ No newline at end of file
+c
diff --git a/pic b/pic
new file mode 100644
Binary files /dev/null and b/pic differ
diff --git a/pic2 b/pic2
Binary files a/pic2 and b/pic2 differ
`
	if got != want {
		t.Errorf("Unified = %s, want %s", got, want)
	}
}

func BenchmarkUnified(b *testing.B) {
	lines := strings.SplitAfter(numberedLines(5000), "\n")
	before := []byte(strings.Join(lines, ""))
	for name, after := range map[string]string{
		"one line":    strings.Replace(string(before), "line 2500\n", "changed\n", 1),
		"every 50th":  everyNth(lines, 50),
		"every line":  everyNth(lines, 1),
		"every other": everyNth(lines, 2),
	} {
		b.Run(name, func(b *testing.B) {
			files := []File{{Path: "x", Before: &Side{Data: before}, After: &Side{Data: []byte(after)}}}
			for b.Loop() {
				Unified(files)
			}
		})
	}
}

func BenchmarkStat(b *testing.B) {
	lines := strings.SplitAfter(numberedLines(5000), "\n")
	files := []File{{Path: "x", Before: &Side{Data: []byte(strings.Join(lines, ""))},
		After: &Side{Data: []byte(strings.Join(append(append([]string{}, lines[2500:]...), lines[:2500]...), ""))}}}
	for b.Loop() {
		Stat(files)
	}
}
