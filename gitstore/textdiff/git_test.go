package textdiff

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// gitCases are changes of one file that git must understand as we do.
func gitCases() map[string]File {
	text := func(s string) *Side { return &Side{Data: []byte(s), Mode: modeFile} }
	exec := func(s string) *Side { return &Side{Data: []byte(s), Mode: modeExec} }
	link := func(s string) *Side { return &Side{Data: []byte(s), Mode: modeLink} }
	long := numberedLines(100)
	edited := strings.Replace(strings.Replace(long, "line 10\n", "", 1), "line 80\n", "line 80 changed\nand more\n", 1)
	old, changed := text("a\nb\nc\n"), text("a\nB\nc\n")
	return map[string]File{
		"changed":                 {"x", old, changed},
		"two hunks":               {"x", text(long), text(edited)},
		"one hunk of two":         {"x", text(long), text(strings.NewReplacer("line 40\n", "", "line 47\n", "").Replace(long))},
		"two hunks of two":        {"x", text(long), text(strings.NewReplacer("line 40\n", "", "line 48\n", "").Replace(long))},
		"first and last line":     {"x", text(long), text("new\n" + long + "new\n")},
		"added":                   {"dir/sub/x", nil, text("a\nb\n")},
		"added executable":        {"x", nil, exec("#!/bin/sh\n")},
		"added empty":             {"x", nil, text("")},
		"added one line":          {"x", nil, text("a")},
		"deleted":                 {"dir/x", old, nil},
		"deleted empty":           {"x", text(""), nil},
		"deleted without newline": {"x", text("a\nb"), nil},
		"emptied":                 {"x", old, text("")},
		"filled":                  {"x", text(""), old},
		"mode only":               {"x", old, exec("a\nb\nc\n")},
		"mode only, empty":        {"x", text(""), exec("")},
		"mode and content":        {"x", exec("a\nb\nc\n"), changed},
		"newline lost":            {"x", text("a\nb\n"), text("a\nb")},
		"newline won":             {"x", text("a\nb"), text("a\nb\n")},
		"no newline on both":      {"x", text("a\nb"), text("A\nb")},
		"no newline, longer":      {"x", text("a\nb"), text("a\nb\nc")},
		"no newline, far off":     {"x", text(long + "end"), text(edited + "end")},
		"CRLF":                    {"x", text("a\r\nb\r\nc\r\n"), text("a\r\nB\r\nc\r\n")},
		"CRLF to LF":              {"x", text("a\r\nb\r\n"), text("a\nb\n")},
		"LF to CRLF, no newline":  {"x", text("a\nb"), text("a\r\nb")},
		"a lone CR":               {"x", text("a\rb\n"), text("a\rc\n")},
		"looks like a header":     {"x", text("a\n-- b\n++ c\n"), text("a\n++ b\n@@ -1 +1 @@\n")},
		"blank lines":             {"x", text("\n\n\na\n\n\n"), text("\n\n\n\nb\n\n\n\n")},
		"not UTF-8":               {"x", text("\xff\xfe\n"), text("\xff\xfd\n")},
		"link":                    {"x", link("old/target"), link("new")},
		"link added":              {"x", nil, link("../target")},
		"link deleted":            {"x", link("target"), nil},
		"file to link":            {"x", old, link("target")},
		"link to file":            {"x", link("target"), changed},
		"name with spaces":        {"a b/c  d", old, changed},
		"mode, name with spaces":  {"a b/ b", old, exec("a\nb\nc\n")},
		"name in UTF-8":           {"größe/日本", old, changed},
		"name with tab":           {"a\tb", old, changed},
		"name with newline":       {"a\nb", old, changed},
		"name with CR":            {"a\r", old, changed},
		"name with quotes":        {`"a" b`, old, changed},
		"name with backslash":     {`a\`, old, changed},
		"mode, backslash":         {`a\`, old, exec("a\nb\nc\n")},
		"name not UTF-8":          {"a\xff", old, changed},
		"added, quoted":           {"\"a\"\x01", nil, changed},
		"deleted, quoted":         {"ä\x7f", old, nil},
		"name like a prefix":      {"b/a/b", old, changed},
		"added in a/":             {"a/b", nil, changed},
		"deleted in b/":           {"b/b", old, nil},
	}
}

func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// git runs git in dir, away from every other repository and configuration.
func git(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir),
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s%s", args, err, stderr.Bytes(), stdin)
	}
	return string(out)
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("no git here, or no names with quotes")
	}
}

// put makes the file of one side, or removes it.
func put(t *testing.T, dir, path string, s *Side) {
	t.Helper()
	file := filepath.Join(dir, path)
	os.Remove(file)
	if s == nil {
		return
	}
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		switch s.Mode {
		case modeLink:
			err = os.Symlink(string(s.Data), file)
		case modeExec:
			err = os.WriteFile(file, s.Data, 0o755)
		default:
			err = os.WriteFile(file, s.Data, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get returns the side a file has in dir.
func get(t *testing.T, dir, path string) *Side {
	t.Helper()
	file := filepath.Join(dir, path)
	info, err := os.Lstat(file)
	if err != nil {
		return nil
	}
	s := &Side{Mode: modeFile}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		target, _ := os.Readlink(file)
		return &Side{Data: []byte(target), Mode: modeLink}
	case info.Mode()&0o100 != 0:
		s.Mode = modeExec
	}
	if s.Data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	return s
}

func describeSide(s *Side) string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %q", s.Mode, s.Data)
}

// loop.md R-DIFF-3: the text applies with git apply to the old tree and gives
// the new one.
func TestGitAppliesUnified(t *testing.T) {
	needGit(t)
	for name, f := range gitCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, f.Path, f.Before)
			diff := Unified([]File{f})
			git(t, dir, diff, "apply", "--whitespace=nowarn", "-")
			if got, want := describeSide(get(t, dir, f.Path)), describeSide(f.After); got != want {
				t.Errorf("git apply gives %s, want %s\n%s", got, want, diff)
			}
		})
	}
}

func TestGitAppliesSeveralFiles(t *testing.T) {
	needGit(t)
	var files []File
	dir := t.TempDir()
	for _, f := range gitCases() {
		f.Path = fmt.Sprintf("%d/%s", len(files), f.Path)
		files = append(files, f)
		put(t, dir, f.Path, f.Before)
	}
	git(t, dir, Unified(files), "apply", "--whitespace=nowarn", "-")
	for _, f := range files {
		if got, want := describeSide(get(t, dir, f.Path)), describeSide(f.After); got != want {
			t.Errorf("%q: git apply gives %s, want %s", f.Path, got, want)
		}
	}
}

// applyAll applies a parsed patch to one side of one path.
func applyAll(patch Patch, path string, before *Side, tolerance Tolerance) (*Side, error) {
	now := before
	for _, f := range patch.Files {
		if f.OldPath != path && f.NewPath != path {
			return nil, fmt.Errorf("paths %q and %q, want %q", f.OldPath, f.NewPath, path)
		}
		data, err := f.Apply(now.data(), tolerance)
		switch {
		case err != nil:
			return nil, err
		case f.Deleted:
			now = nil
			continue
		}
		next := &Side{Data: data, Mode: f.NewMode}
		if next.Mode == "" && now != nil {
			next.Mode = now.Mode
		}
		now = next
	}
	return now, nil
}

// What we write and what git writes, in the forms its options give, is read
// and applied the same.
func TestParseGit(t *testing.T) {
	needGit(t)
	forms := map[string][]string{
		"default":    {},
		"no prefix":  {"--no-prefix"},
		"no context": {"-U0"},
		"no quotes":  {"-c", "core.quotePath=false"},
		"mnemonic":   {"-c", "diff.mnemonicPrefix=true"},
	}
	for name, f := range gitCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(form string, diff []byte) {
				patch, err := Parse(diff)
				if err != nil {
					t.Errorf("%s: Parse: %v\n%s", form, err, diff)
					return
				}
				for _, tolerance := range []Tolerance{Strict, Whitespace} {
					if tolerance == Whitespace && (strings.Contains(name, "CR") || strings.Contains(name, "newline")) {
						continue // what differs is what is tolerated
					}
					got, err := applyAll(patch, f.Path, f.Before, tolerance)
					if err != nil || describeSide(got) != describeSide(f.After) {
						t.Errorf("%s, tolerance %d: got %s, %v, want %s\n%s", form, tolerance, describeSide(got), err, describeSide(f.After), diff)
					}
				}
			}
			check("our own", Unified([]File{f}))

			dir := t.TempDir()
			git(t, dir, nil, "init", "-q")
			put(t, dir, f.Path, f.Before)
			git(t, dir, nil, "add", "-A")
			put(t, dir, f.Path, f.After)
			if f.Before == nil {
				git(t, dir, nil, "add", "-N", ".")
			}
			for form, options := range forms {
				if form == "no context" && name == "first and last line" {
					continue // refused, as by git apply: see TestApplyErrors
				}
				args := append([]string{"diff"}, options...)
				if len(options) > 0 && options[0] == "-c" {
					args = append(options[:2:2], "diff")
				}
				check(form, []byte(git(t, dir, nil, args...)))
			}
		})
	}
}

// loop.md R-DIFF-2: as git diff --numstat --no-renames.
func TestStatAgreesWithGit(t *testing.T) {
	needGit(t)
	cases := gitCases()
	long := strings.SplitAfter(numberedLines(400), "\n")
	shuffled := strings.Join(append(append(append([]string{}, long[200:300]...), long[:200]...), long[300:]...), "")
	cases["moved"] = File{"x", &Side{Data: []byte(strings.Join(long, ""))}, &Side{Data: []byte(shuffled)}}
	cases["interleaved"] = File{"x", &Side{Data: []byte("a\nb\nc\na\nb\nb\na\n")}, &Side{Data: []byte("c\nb\na\nb\na\nc\n")}}
	cases["rewritten"] = File{"x", &Side{Data: []byte(numberedLines(50))}, &Side{Data: []byte("all\nnew\n")}}
	cases["binary"] = File{"x", &Side{Data: []byte("a\x00\n")}, &Side{Data: []byte("b\n")}}
	for name, f := range cases {
		if f.retyped() || f.Before == nil || f.After == nil || strings.Contains(name, "link") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			git(t, dir, nil, "init", "-q")
			put(t, dir, "x", f.Before)
			git(t, dir, nil, "add", "-A")
			put(t, dir, "x", f.After)
			added, removed := Stat([]File{f})
			got := fmt.Sprintf("%d\t%d\tx\n", added, removed)
			want := strings.Replace(git(t, dir, nil, "diff", "--numstat", "--no-renames"), "-\t-", "0\t0", 1)
			if got != want {
				t.Errorf("Stat = %q, want %q", got, want)
			}
		})
	}
}

func TestStatOfWholeFiles(t *testing.T) {
	side := &Side{Data: []byte("a\nb"), Mode: modeFile}
	added, removed := Stat([]File{{"x", nil, side}, {"y", side, nil}, {"z", side, side}, {"l", nil, &Side{Data: []byte("t"), Mode: modeLink}}})
	if added != 3 || removed != 2 {
		t.Errorf("Stat = %d, %d, want 3, 2", added, removed)
	}
}
