package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
)

// dirtyBoth asks for what is dirty with git and without it.
func (s *sandbox) dirtyBoth(match func(string) bool) (with, without []string, err error) {
	s.t.Helper()
	with, err = s.open().Dirty(context.Background(), match)
	if err != nil {
		s.t.Fatal(err)
	}
	alone := s.in(s.dir)
	alone.vars["PATH"] = ""
	without, err = alone.open().Dirty(context.Background(), match)
	return with, without, err
}

// R-GIT-1: what is dirty is the same with git and without it.
func TestDirtyWithoutGit(t *testing.T) {
	remove := func(s *sandbox, name string) {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	tests := map[string]struct {
		prepare func(s *sandbox)
		want    string
	}{
		"clean":         {func(*sandbox) {}, ""},
		"modified":      {func(s *sandbox) { s.write("README.md", "other\n") }, "README.md"},
		"touched alone": {func(s *sandbox) { remove(s, "README.md"); s.write("README.md", "hello\n") }, ""},
		"same size at once": {func(s *sandbox) {
			s.write("README.md", "hellO\n") // in the index's own instant, as far as clocks can tell
			at := time.Now()
			for _, name := range []string{"README.md", ".git/index"} {
				if err := os.Chtimes(filepath.Join(s.dir, name), at, at); err != nil {
					t.Fatal(err)
				}
			}
		}, "README.md"},
		"staged": {func(s *sandbox) { s.write("README.md", "other\n"); s.git("add", "-A") }, "README.md"},
		"staged, and back on disk": {func(s *sandbox) {
			s.write("README.md", "other\n")
			s.git("add", "-A")
			s.write("README.md", "hello\n")
		}, "README.md"},
		"new and staged":     {func(s *sandbox) { s.write("new", ""); s.git("add", "new") }, "new"},
		"to be added":        {func(s *sandbox) { s.write("new", "x"); s.git("add", "-N", "new") }, "new"},
		"deleted":            {func(s *sandbox) { remove(s, "README.md") }, "README.md"},
		"deleted and staged": {func(s *sandbox) { s.git("rm", "-q", "skills/x/SKILL.md") }, "skills/x/SKILL.md"},
		"left the index":     {func(s *sandbox) { s.git("rm", "-q", "--cached", "README.md") }, "README.md README.md"},
		"executable":         {func(s *sandbox) { os.Chmod(filepath.Join(s.dir, "README.md"), 0o755) }, "README.md"},
		"no executable bits": {func(s *sandbox) {
			s.git("config", "core.fileMode", "false")
			os.Chmod(filepath.Join(s.dir, "README.md"), 0o755)
		}, ""},
		"a link now": {func(s *sandbox) {
			remove(s, "README.md")
			if err := os.Symlink("skills", filepath.Join(s.dir, "README.md")); err != nil {
				t.Fatal(err)
			}
		}, "README.md"},
		"a directory now":    {func(s *sandbox) { remove(s, "README.md"); s.write("README.md/f", "") }, "README.md README.md/f"},
		"untracked":          {func(s *sandbox) { s.write("a/b/c", ""); s.write("skills/x/y", "") }, "a/b/c skills/x/y"},
		"not to be shown":    {func(s *sandbox) { s.git("config", "status.showUntrackedFiles", "no"); s.write("new", "") }, "new"},
		"another repository": {func(s *sandbox) { s.git("init", "-q", "sub"); s.write("sub/f", "") }, "sub/"},
		"ignored": {func(s *sandbox) {
			ignoreFiles(s, "*.log\n/build/\n!keep.log\n")
			s.write("a/x.log", "")
			s.write("keep.log", "")
		}, "keep.log"},
		"ignored directory": {func(s *sandbox) { ignoreFiles(s, "build/\n"); s.write("a/build/f", ""); s.write("b/build", "") }, "b/build"},
		"ignored contents": {func(s *sandbox) {
			ignoreFiles(s, "a/**\n!a/keep\n")
			s.write("a/f", "")
			s.write("a/keep", "")
			s.write("a/d/f", "")
		}, "a/keep"},
		"ignored from the root": {func(s *sandbox) {
			ignoreFiles(s, "/f\nd/g\n")
			s.write("f", "")
			s.write("d/f", "")
			s.write("e/d/g", "")
			s.write("d/g", "")
		}, "d/f e/d/g"},
		"ignored at any depth": {func(s *sandbox) {
			ignoreFiles(s, "**/d/*.o\n")
			s.write("d/a.o", "")
			s.write("e/d/a.o", "")
			s.write("a.o", "")
		}, "a.o"},
		"a deeper file of patterns": {func(s *sandbox) {
			ignoreFiles(s, "*.log\n")
			s.write("a/.gitignore", "!x.log\n.gitignore\n")
			s.write("a/x.log", "")
			s.write("x.log", "")
		}, "a/x.log"},
		"odd lines": {func(s *sandbox) {
			ignoreFiles(s, "# x\n\n\\#y\n\\!z\nspace  \nkept\\ \n[\n")
			for _, n := range []string{"#y", "!z", "space", "kept ", "x"} {
				s.write(n, "")
			}
		}, "x"},
		"info/exclude": {func(s *sandbox) { s.write(".git/info/exclude", "new\n"); s.write("new", ""); s.write("other", "") }, "other"},
		"person's file": {func(s *sandbox) {
			s.homeFile(".gitconfig", "[core]\nexcludesFile=~/ign\n")
			s.homeFile("ign", "*.bak\n")
			s.write("f.bak", "")
			s.write("f", "")
		}, "f"},
		"usual place":  {func(s *sandbox) { s.homeFile(".config/git/ignore", "*.bak\n"); s.write("f.bak", "") }, ""},
		"CR LF by git": {func(s *sandbox) { crlf(s); remove(s, "README.md"); s.git("checkout", "-q", "--", "README.md") }, ""},
		"CR LF by git, touched": {func(s *sandbox) {
			crlf(s)
			remove(s, "README.md")
			s.git("checkout", "-q", "--", "README.md")
			at := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(s.dir, "README.md"), at, at); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"CR LF by hand":  {func(s *sandbox) { crlf(s); remove(s, "README.md"); s.write("README.md", "hello\r\n") }, "README.md"},
		"CR LF and more": {func(s *sandbox) { crlf(s); s.write("README.md", "hello!\r\n") }, "README.md"},
		"sparse":         {func(s *sandbox) { s.git("sparse-checkout", "set", "nothing") }, ""},
		"assumed": {func(s *sandbox) {
			s.git("update-index", "--assume-unchanged", "README.md")
			s.write("README.md", "other\n")
		}, ""},
		"conflict": {func(s *sandbox) {
			s.git("checkout", "-q", "-b", "other")
			s.write("README.md", "theirs\n")
			s.git("commit", "-q", "-a", "-m", "theirs")
			s.git("checkout", "-q", "main")
			s.write("README.md", "ours\n")
			s.git("commit", "-q", "-a", "-m", "ours")
			if _, result := s.try("merge", "other"); result.OK() {
				t.Fatal("no conflict")
			}
		}, "README.md"},
		"submodule": {func(s *sandbox) {
			s.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", s.dir, "sub")
			s.git("commit", "-q", "-m", "sub")
		}, ""},
		"version 4":             {func(s *sandbox) { s.git("update-index", "--index-version=4"); s.write("README.md", "other\n") }, "README.md"},
		"untracked cache":       {func(s *sandbox) { s.git("update-index", "--untracked-cache"); s.git("status"); s.write("new", "") }, "new"},
		"paths that git quotes": {func(s *sandbox) { s.write("tab\tname", ""); s.write("技能/a\"b", "") }, "tab\tname 技能/a\"b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRepository(t)
			s.t = t
			tt.prepare(s)
			index := s.files(".")["index"]
			with, without, err := s.dirtyBoth(func(string) bool { return true })
			if err != nil || !slices.Equal(with, without) {
				t.Errorf("Dirty() without git = %q, %v, with it %q", without, err, with)
			}
			if got := strings.Join(without, " "); got != tt.want {
				t.Errorf("Dirty() without git = %q, want %q", got, tt.want)
			}
			if s.files(".")["index"] != index {
				t.Error("the index was written")
			}
		})
	}
}

// ignoreFiles commits a .gitignore.
func ignoreFiles(s *sandbox, text string) {
	s.t.Helper()
	s.write(".gitignore", text)
	s.git("add", ".gitignore")
	s.git("commit", "-q", "-m", "ignore")
}

// crlf lets the person's git convert line ends.
func crlf(s *sandbox) {
	s.t.Helper()
	s.homeFile(".gitconfig", "[core]\nautocrlf=true\n")
}

// Only what is asked for is looked at.
func TestDirtyMatches(t *testing.T) {
	s := newRepository(t)
	s.write("README.md", "other\n")
	s.write("new", "")
	s.git("rm", "-q", "skills/x/SKILL.md")
	with, without, err := s.dirtyBoth(func(p string) bool { return p == "README.md" })
	if want := []string{"README.md"}; err != nil || !slices.Equal(with, want) || !slices.Equal(without, want) {
		t.Errorf("Dirty() = %q with git, %q, %v without", with, without, err)
	}
}

// gitstore.md section 2: an index that only git can read is refused where git
// is missing, and said what to do.
func TestDirtyIndexOfGitAlone(t *testing.T) {
	tests := map[string]struct {
		prepare func(s *sandbox)
		message string
		hint    string
	}{
		"split": {
			func(s *sandbox) { s.git("update-index", "--split-index"); s.write("new", ""); s.git("add", "new") },
			`the index uses the "link" extension`, "install git, or git update-index --no-split-index",
		},
		"sparse": {
			func(s *sandbox) {
				s.write("a/b/f", "")
				s.git("add", "a")
				s.git("commit", "-q", "-m", "more")
				s.git("sparse-checkout", "set", "--cone", "--sparse-index", "skills")
			},
			`the index uses the "sdir" extension`, "install git, or git sparse-checkout reapply --no-sparse-index",
		},
		"damaged": {func(s *sandbox) { s.write(".git/index", "DIRC") }, "it is damaged", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t)
			tt.prepare(s)
			s.vars["PATH"] = ""
			_, err := s.open().Dirty(t.Context(), func(string) bool { return true })
			if err == nil || !strings.Contains(err.Error(), tt.message) || fault.HintOf(err) != tt.hint {
				t.Fatalf("Dirty() = %v, hint %q, want %q, hint %q", err, fault.HintOf(err), tt.message, tt.hint)
			}
			if tt.hint != "" && fault.KindOf(err) != fault.Usage {
				t.Errorf("Dirty() = %v of kind %v, want usage", err, fault.KindOf(err))
			}
		})
	}
}

// Any bytes are an index or an error, and what is read is within them
// (pitfall 26).
func FuzzParseIndex(f *testing.F) {
	s := newRepository(f)
	for _, args := range [][]string{{"add", "-N", "new"}, {"update-index", "--index-version=4"}, {"update-index", "--skip-worktree", "README.md"}} {
		s.write("new", "x")
		s.git(args...)
		data, err := os.ReadFile(filepath.Join(s.dir, ".git/index"))
		if err != nil {
			f.Fatal(err)
		}
		if _, err := parseIndex(data); err != nil {
			f.Fatalf("after git %v: %v", args, err)
		}
		f.Add(unsummed(data))
		for n := range data {
			if _, err := parseIndex(data[:n]); err == nil {
				f.Fatalf("after git %v: cut at %d of %d it is still an index", args, n, len(data))
			}
			f.Add(unsummed(data[:n]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseIndex(unsummed(data))
		for _, e := range entries {
			if err == nil && (e.path == "" || strings.Contains(e.path, "\x00")) {
				t.Errorf("parseIndex() gives the path %q", e.path)
			}
		}
	})
}

// unsummed puts a checksum of zeros, which is none, at the end.
func unsummed(data []byte) []byte {
	data = slices.Clone(data)
	clear(data[max(0, len(data)-20):])
	return data
}
