package textdiff

import (
	"fmt"
	"strings"
	"testing"
)

const oneHunk = "@@ -1 +1 @@\n-a\n+b\n"

// handoff.md R-SUB-2: what a patch says about files.
func TestParse(t *testing.T) {
	describe := func(f FilePatch) string {
		words := []string{fmt.Sprintf("%q->%q", f.OldPath, f.NewPath)}
		for word, is := range map[string]bool{"new": f.New, "deleted": f.Deleted, "binary": f.Binary, "rename": f.Rename} {
			if is {
				words = append(words, word)
			}
		}
		if f.OldMode+f.NewMode != "" {
			words = append(words, f.OldMode+">"+f.NewMode)
		}
		return strings.Join(append(words, fmt.Sprintf("%d hunks", len(f.hunks))), " ")
	}
	tests := map[string]struct {
		patch string
		want  []string
	}{
		"plain":              {"--- x\n+++ x\n" + oneHunk, []string{`"x"->"x" 1 hunks`}},
		"plain with a/ b/":   {"--- a/x\n+++ b/x\n" + oneHunk, []string{`"x"->"x" 1 hunks`}},
		"prefix on one side": {"--- a/x\n+++ a/x\n" + oneHunk, []string{`"a/x"->"a/x" 1 hunks`}},
		"times":              {"--- a/x\t2024-01-02 03:04:05\n+++ b/x\t2024-01-02 03:04:05.6 +0000\n" + oneHunk, []string{`"x"->"x" 1 hunks`}},
		"copy of the file":   {"--- x.orig\n+++ x\n" + oneHunk, []string{`"x"->"x" 1 hunks`}},
		"plain new":          {"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", []string{`""->"x" new 1 hunks`}},
		"plain new, diff -N": {"--- a/x\t1970-01-01 00:00:00.000000000 +0000\n+++ b/x\t2024-01-02 03:04:05\n@@ -0,0 +1 @@\n+b\n", []string{`""->"x" new 1 hunks`}},
		"plain deleted":      {"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", []string{`"x"->"" deleted 1 hunks`}},
		"absolute, climbing": {"--- /etc/x\n+++ /etc/x\n" + oneHunk + "--- a/../x\n+++ b/../x\n" + oneHunk, []string{`"/etc/x"->"/etc/x" 1 hunks`, `"../x"->"../x" 1 hunks`}},
		"double slash":       {"--- a//x\n+++ b//x\n" + oneHunk, []string{`"/x"->"/x" 1 hunks`}},
		"git":                {"diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n" + oneHunk, []string{`"x"->"x" 100644> 1 hunks`}},
		"git, no index":      {"diff --git a/x b/x\n--- a/x\n+++ b/x\n" + oneHunk, []string{`"x"->"x" 1 hunks`}},
		"git, no new mode":   {"diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", []string{`""->"x" new 1 hunks`}},
		"mode":               {"diff --git a/a b/c b/a b/c\nold mode 100644\nnew mode 100755\n", []string{`"a b/c"->"a b/c" 100644>100755 0 hunks`}},
		"unusual mode":       {"diff --git a/x b/x\nnew file mode 100664\n", []string{`""->"x" new >100644 0 hunks`}},
		"gitlink":            {"diff --git a/x b/x\nnew file mode 160000\nindex 0000000..1234567\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+Subproject commit 1234567\n", []string{`""->"x" new >160000 1 hunks`}},
		"rename":             {"diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n", []string{`"o"->"n" rename 0 hunks`}},
		"rename in a/":       {"diff --git a/a/o b/b/n\nsimilarity index 90%\nrename from a/o\nrename to b/n\nindex 1..2\n--- a/a/o\n+++ b/b/n\n" + oneHunk, []string{`"a/o"->"b/n" rename 1 hunks`}},
		"rename, quoted":     {"diff --git \"a/\\303\\244\" \"b/a\\tb\"\nrename from \"\\303\\244\"\nrename to \"a\\tb\"\n", []string{`"ä"->"a\tb" rename 0 hunks`}},
		"binary":             {"diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", []string{`"x"->"x" binary 100644> 0 hunks`}},
		"empty and full":     {"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n" + oneHunk, []string{`""->"e" new >100644 0 hunks`, `"x"->"x" 1 hunks`}},
		"mail":               {"From: a\nSubject: [PATCH] x\n\n - one\n---\n x | 2 +-\n\n" + "diff --git a/x b/x\n--- a/x\n+++ b/x\n" + oneHunk + "-- \n2.39.5\n\n", []string{`"x"->"x" 1 hunks`}},
		"fenced":             {"Here it is:\n```diff\n--- a/x\n+++ b/x\n" + oneHunk + "```\nThat is all.\n", []string{`"x"->"x" 1 hunks`}},
		"no final newline":   {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", []string{`"x"->"x" 1 hunks`}},
		"CRLF":               {strings.ReplaceAll("diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n\\ No newline at end of file\n", "\n", "\r\n"), []string{`"x"->"x" 100644>100755 1 hunks`}},
		"translated marker":  {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch am Dateiende.\n+b\n", []string{`"x"->"x" 1 hunks`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			patch, err := Parse([]byte(tt.patch))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range patch.Files {
				got = append(got, describe(f))
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("Parse = %q, want %q", got, tt.want)
			}
		})
	}
}

// handoff.md R-SUB-4: what is no patch is refused, with the line.
func TestParseErrors(t *testing.T) {
	const names = "--- a/x\n+++ b/x\n"
	tests := map[string]struct{ patch, want string }{
		"empty":                {"", "no diff found"},
		"prose":                {"I changed the file.\n--- \nDone\n", "no diff found"},
		"binary":               {"\x00\x01\xff", "no diff found"},
		"hunk alone":           {oneHunk, "line 1 of the patch: a hunk without a file header"},
		"names alone":          {names, "no hunk follows"},
		"names, then prose":    {names + "hello\n", "line 3 of the patch: no hunk follows"},
		"cut short":            {names + "@@ -1,3 +1,3 @@\n a\n", "line 5 of the patch: the hunk at line 3 ends too early"},
		"cut by the next file": {names + "@@ -1,3 +1,3 @@\n a\n-b\n+c\ndiff --git a/y b/y\n", `line 7 of the patch: "diff --git a/y b/y" is no line of the hunk at line 3`},
		"more than counted":    {names + "@@ -1 +1 @@\n-a\n+b\n+c\n", `line 6 of the patch: "+c" follows a hunk that is complete by its header`},
		"more, blank between":  {names + "@@ -1 +1 @@\n-a\n+b\n\n+c\n", `line 7 of the patch: "+c" follows`},
		"more of one side":     {names + "@@ -1,2 +1 @@\n-a\n+b\n+c\n c\n", "line 6 of the patch: the hunk at line 3 has more lines than its header says"},
		"no change":            {names + "@@ -1 +1 @@\n a\n", "no changes"},
		"negative count":       {names + "@@ -1,-1 +1 @@\n-a\n", "is no hunk header"},
		"huge count":           {names + "@@ -1,99999999999 +1 @@\n-a\n", "is no hunk header"},
		"huge but possible":    {names + "@@ -1,999999999 +1 @@\n-a\n", "ends too early"},
		"no ranges":            {names + "@@ -1 @@\n-a\n", "is no hunk header"},
		"dots for a hunk":      {names + "@@ ... @@\n-a\n", "no hunk follows"},
		"binary data":          {"diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n", "binary data is not supported"},
		"copy":                 {"diff --git a/x b/y\ncopy from x\ncopy to y\n", "copies are not supported"},
		"no names":             {"diff --git\n", "no diff found"},
		"unclear names":        {"diff --git a/x b/y\nold mode 100644\nnew mode 100755\n", "without a name"},
		"bad quotes":           {"--- \"a/x\n+++ b/x\n" + oneHunk, "quoted name without its end"},
		"bad escape":           {"--- \"a/\\q\"\n+++ b/x\n" + oneHunk, "unknown escape"},
		"empty name":           {"--- a/\n+++ b/\n" + oneHunk, "without a name"},
		"silent rename":        {"diff --git a/x b/y\n--- a/x\n+++ b/y\n" + oneHunk, `"x" becomes "y" without being renamed`},
		"no change at all":     {"diff --git a/x b/x\nindex 1..2 100644\n", "without a change"},
		"bad mode":             {"diff --git a/x b/x\nold mode rwx\nnew mode 100644\n", "invalid mode"},
		"new with old lines":   {"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n" + oneHunk, "new file depends on old contents"},
		"plain new, old lines": {"--- /dev/null\n+++ b/x\n" + oneHunk, "a side that is not there has lines"},
		"deleted, new lines":   {"--- a/x\n+++ /dev/null\n" + oneHunk, "a side that is not there has lines"},
		"new with an old name": {"diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", "not /dev/null"},
		"both not there":       {"--- /dev/null\n+++ /dev/null\n@@ -0,0 +0,0 @@\n", "no content following"},
		"twice":                {names + oneHunk + names + oneHunk, `"x" is patched twice`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			patch, err := Parse([]byte(tt.patch))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse(%q) = %+v, %v, want an error with %q", tt.patch, patch, err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range gitCases() {
		f.Add(Unified([]File{c}), c.Before.data())
	}
	f.Add([]byte("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n\\ No newline at end of file\r\n+b\r\n"), []byte("a"))
	f.Add([]byte("diff --git \"a/\\303\" b/x\nrename from x\nrename to \"\\\n"), []byte{})
	f.Fuzz(func(t *testing.T, patch, before []byte) {
		parsed, err := Parse(patch)
		if err == nil && len(parsed.Files) == 0 {
			t.Errorf("Parse(%q) found no file and no error", patch)
		}
		for _, file := range parsed.Files {
			if file.OldPath == "" && !file.New || file.NewPath == "" && !file.Deleted {
				t.Errorf("Parse(%q) gives %+v: a side without a path", patch, file)
			}
			strict, err := file.Apply(before, Strict)
			if err != nil {
				continue
			}
			// What applies strictly and has no CR and no odd ends at all is
			// the same when white space is tolerated, if it is not ambiguous.
			tolerant, err := file.Apply(before, Whitespace)
			if plain := !strings.ContainsAny(string(before)+string(patch), "\r\\\t\v\f "); plain && err == nil && string(strict) != string(tolerant) {
				t.Errorf("%q on %q: strict %q, tolerant %q", patch, before, strict, tolerant)
			}
		}
	})
}
