package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// longText is a text long enough for a change to have context on both sides.
func longText(n int, changed string) string {
	var b strings.Builder
	for i := range n {
		if i == n/2 {
			b.WriteString(changed + "\n")
		}
		b.WriteString("line\n")
	}
	return b.String()
}

// R-LAND-8: git am makes the same tree of a mail, whatever the files hold,
// and the same author and message.
func TestMail(t *testing.T) {
	tests := map[string]struct{ before, after func(y *yard) }{
		"text":       {func(y *yard) { y.write("a", longText(20, "old")) }, func(y *yard) { y.write("a", longText(20, "new")) }},
		"added":      {nothing, func(y *yard) { y.write("dir/sub/a", "x\ny\n", "empty", "") }},
		"deleted":    {func(y *yard) { y.write("dir/a", "x\n", "empty", "") }, func(y *yard) { y.git("rm", "-q", "-r", "dir", "empty") }},
		"no newline": {func(y *yard) { y.write("a", "x\ny", "b", "x\n", "c", "x") }, func(y *yard) { y.write("a", "x\nz", "b", "x", "c", "x\n") }},
		"CRLF":       {func(y *yard) { y.write("a", "x\r\ny\r\n") }, func(y *yard) { y.write("a", "x\r\nz\r\n", "b", "new\r\n") }},
		"binary": {func(y *yard) { y.write("a", "\x00\x01\xff", "gone", "\x00") }, func(y *yard) {
			y.write("a", strings.Repeat("\x00\xfe\r\n", 3000), "b", "late"+strings.Repeat("x", 9000)+"\x00")
			y.git("rm", "-q", "gone")
		}},
		"not UTF-8":    {func(y *yard) { y.write("a", "\xff\xfe\nx\n") }, func(y *yard) { y.write("a", "\xff\xfd\nx\n") }},
		"modes":        {func(y *yard) { y.write("a", "x\n", "b", "x\n") }, func(y *yard) { y.write("b", "y\n"); y.mode("a", 0o755); y.mode("b", 0o755) }},
		"link":         {func(y *yard) { y.relink("a", "old"); y.write("b", "x\n"); y.relink("c", "x") }, func(y *yard) { y.relink("a", "new"); y.relink("b", "x"); y.write("c", "x\n") }},
		"names":        {func(y *yard) { y.write("a b/c", "x\n", "größe/日本", "x\n", "a\"\t\\", "x\n") }, func(y *yard) { y.write("a b/c", "y\n", "größe/日本", "y\n", "a\"\t\\", "y\n") }},
		"like a mail":  {func(y *yard) { y.write("a", "From me\n-- \n---\n") }, func(y *yard) { y.write("a", "From a@b Mon Sep 17 00:00:00 2001\n-- \ndiff --git a/x b/x\n--- a\n") }},
		"like a patch": {func(y *yard) { y.write("a", "- x\n-- a/x\n") }, func(y *yard) { y.write("a", "++ b/x\n@@ -1 +1 @@\n") }},
		"file for dir": {func(y *yard) { y.write("a/b", "x\n") }, func(y *yard) { y.git("rm", "-q", "-r", "a"); y.write("a", "x\n") }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			tt.before(y)
			base := y.commit("base")
			tt.after(y)
			want := y.commit("score: faster\n\nWhy.\n\nForge-Run: r1")
			checkMail(t, y, base, want)
		})
	}
}

func nothing(*yard) {}

func (y *yard) mode(name string, mode os.FileMode) {
	y.t.Helper()
	if err := os.Chmod(filepath.Join(y.dir, name), mode); err != nil {
		y.t.Fatal(err)
	}
}

// relink makes a symbolic link in place of what is there.
func (y *yard) relink(name, target string) {
	y.t.Helper()
	_ = os.Remove(filepath.Join(y.dir, name)) // there may be none
	if err := os.Symlink(target, filepath.Join(y.dir, name)); err != nil {
		y.t.Fatal(err)
	}
}

// checkMail applies the mail of a commit to its parent with git am and
// compares what comes of it.
func checkMail(t *testing.T, y *yard, base, want Hash) {
	t.Helper()
	mail, err := y.open().Mail(context.Background(), want, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), mail.Name)
	if err := os.WriteFile(file, mail.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	y.git("reset", "-q", "--hard", string(base))
	if out, ok := y.try("am", "-q", file); !ok {
		t.Fatalf("git am: %s\n%s", out, mail.Data)
	}
	for _, format := range []string{"%T", "%an <%ae> %ad", "%B"} {
		if got, want := y.git("show", "-s", "--format="+format, "HEAD"), y.git("show", "-s", "--format="+format, string(want)); got != want {
			t.Errorf("git am makes %s\n%s\nof\n%s\n%s", format, got, want, mail.Data)
		}
	}
}

// R-LAND-8, R-COM-2: a message comes through a mail, and what a model wrote in
// it neither ends it nor begins the patch.
func TestMailMessages(t *testing.T) {
	tests := map[string]struct{ message, author string }{
		"unicode subject":  {"größe: 日本語の説明を短くする, and more words so that it must be folded ×", "A"},
		"long subject":     {"score: " + strings.Repeat("long words ", 6) + "end", "A"},
		"no body":          {"score: faster", "A"},
		"author in UTF-8":  {"score: faster", "Jürgen Ünal"},
		"author with dots": {"score: faster", `J. "Q" Public, Jr.`},
		"equals sign":      {"score: =?utf-8?q?no?= word", "A"},
		"two paragraphs":   {"score: faster\n\none\n\ntwo\nthree", "A"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.vars["GIT_AUTHOR_NAME"] = tt.author
			base := y.commit("base")
			y.write("a", "x\n")
			checkMail(t, y, base, y.commit(tt.message))
		})
	}
	for name, hostile := range map[string]string{
		"scissors": "---", "a patch": "diff --git a/x b/x\nnew file mode 100644", "another mail": "From a@b Mon Sep 17 00:00:00 2001\nSubject: x",
		"a header": "From: Somebody Else <else@example.com>\n\nx", "an index": "Index: x\n===",
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			base := y.commit("base")
			y.write("a", "x\n")
			want := y.commit("score: faster\n\n" + hostile + "\n\nForge-Run: r1")
			mail, err := y.open().Mail(context.Background(), want, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), mail.Name)
			if err := os.WriteFile(file, mail.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			y.git("reset", "-q", "--hard", string(base))
			if out, ok := y.try("am", "-q", file); !ok {
				t.Fatalf("git am: %s\n%s", out, mail.Data)
			}
			if got, want := y.git("show", "-s", "--format=%T %an", "HEAD"), y.git("show", "-s", "--format=%T %an", string(want)); got != want {
				t.Errorf("git am makes %s, want %s", got, want)
			}
			if n := y.git("rev-list", "--count", string(base)+"..HEAD"); n != "1" {
				t.Errorf("git am makes %s commits", n)
			}
			if message := y.git("show", "-s", "--format=%B", "HEAD"); !strings.HasSuffix(message, "\n\nForge-Run: r1") {
				t.Errorf("the message lost its trailers:\n%s", message)
			}
		})
	}
}

func TestMailRefuses(t *testing.T) {
	y := newYard(t)
	y.commit("base")
	y.git("update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub")
	y.git("commit", "-q", "-m", "submodule")
	if _, err := y.open().Mail(context.Background(), y.at("HEAD"), 1, 1); fault.KindOf(err) != fault.Refused {
		t.Errorf("Mail of a submodule: %v, want a fault of kind refused", err)
	}
	root := y.at("HEAD~1")
	if _, err := y.open().Mail(context.Background(), root, 1, 1); err == nil {
		t.Error("Mail of a commit without a parent gives no error")
	}
}

func TestMailName(t *testing.T) {
	for subject, want := range map[string]string{
		"score: faster (+0.1)": "0002-score-faster-0-1.patch", "日本": "0002-change.patch", "../../x": "0002-x.patch",
		strings.Repeat("ab ", 40): "0002-" + strings.TrimRight(strings.Repeat("ab-", 40)[:52], "-") + ".patch",
	} {
		if got := mailName(2, subject); got != want {
			t.Errorf("mailName(2, %q) = %s, want %s", subject, got, want)
		}
	}
}
