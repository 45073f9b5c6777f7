package gitstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func TestOpenStates(t *testing.T) { // gitstore.md section 2, states
	tests := map[string]struct {
		prepare func(s *sandbox) string // returns the directory to open
		message string                  // "" = opens
		hint    string
		kind    fault.Kind
	}{
		"plain": {prepare: func(s *sandbox) string { return s.dir }},
		"a directory below": {prepare: func(s *sandbox) string {
			s.write("deep/er/f", "")
			return filepath.Join(s.dir, "deep/er")
		}},
		"worktreeConfig at version 0": {prepare: func(s *sandbox) string {
			s.git("config", "extensions.worktreeConfig", "true")
			return s.dir
		}},
		"worktreeConfig at version 1": {prepare: func(s *sandbox) string {
			s.git("config", "core.repositoryformatversion", "1")
			s.git("config", "extensions.worktreeConfig", "true")
			return s.dir
		}},
		"unknown extension": {prepare: func(s *sandbox) string {
			s.git("config", "extensions.fooBar", "true")
			return s.dir
		}, message: `this repository needs the git extension "foobar", which forge does not know`, kind: fault.Usage},
		"version 2": {prepare: func(s *sandbox) string {
			s.git("config", "core.repositoryformatversion", "2")
			return s.dir
		}, message: `this repository needs the git extension "repositoryformatversion = 2", which forge does not know`, kind: fault.Usage},
		"SHA-256": {prepare: func(s *sandbox) string {
			s.git("init", "-q", "--object-format=sha256", "other")
			return filepath.Join(s.dir, "other")
		}, message: "this repository uses SHA-256 objects, which forge cannot read", kind: fault.Usage},
		"reftable": {prepare: func(s *sandbox) string { // as git 2.45 writes it
			s.git("config", "core.repositoryformatversion", "1")
			s.git("config", "extensions.refStorage", "reftable")
			return s.dir
		}, message: "this repository keeps its refs in a reftable, which forge cannot read", hint: "git refs migrate --ref-format=files", kind: fault.Usage},
		"none": {prepare: func(s *sandbox) string { return s.home }, kind: fault.Usage,
			message: "is not in a git repository", hint: "git init, or name the skill repository with -C"},
		"no directory": {prepare: func(s *sandbox) string { return s.home + "/gone" }, message: "is not a directory", hint: "name a directory", kind: fault.Usage},
		"git file that leads nowhere": {prepare: func(s *sandbox) string {
			s.write("sub/.git", "gitdir: ../gone\n")
			return filepath.Join(s.dir, "sub")
		}, message: "which is not a git repository", hint: "git worktree repair, or clone again", kind: fault.Usage},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t)
			r, err := Open(context.Background(), tt.prepare(s), s.env())
			if tt.message == "" {
				if err != nil {
					t.Fatal(err)
				}
				if head, err := r.Head(context.Background()); err != nil || head.Commit == "" || head.Branch != "refs/heads/main" {
					t.Errorf("Head() = %v, %v", head, err)
				}
				if r.WorkTree() != s.dir || r.GitDir() != filepath.Join(s.dir, ".git") {
					t.Errorf("work tree %q, git directory %q", r.WorkTree(), r.GitDir())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.message) || fault.HintOf(err) != tt.hint || fault.KindOf(err) != tt.kind {
				t.Errorf("Open() = %v (kind %v, hint %q), want %q (kind %v, hint %q)",
					err, fault.KindOf(err), fault.HintOf(err), tt.message, tt.kind, tt.hint)
			}
		})
	}
}

func TestOpenForeignOwner(t *testing.T) { // R-DISC-3
	s := newRepository(t)
	gitDir := filepath.Join(s.dir, ".git")
	if err := os.Chown(gitDir, 12345, -1); err != nil {
		t.Skip("only root can give a directory away")
	}
	_, err := s.tryOpen()
	if fault.KindOf(err) != fault.Refused || fault.HintOf(err) != "git config --global --add safe.directory "+s.dir {
		t.Fatalf("Open() = %v, hint %q", err, fault.HintOf(err))
	}
	// The repository's own word does not count.
	config, _ := os.ReadFile(filepath.Join(gitDir, "config"))
	os.WriteFile(filepath.Join(gitDir, "config"), append(config, "[safe]\n\tdirectory = *\n"...), 0o644)
	if _, err := s.tryOpen(); fault.KindOf(err) != fault.Refused {
		t.Errorf("Open() with safe.directory in the repository = %v", err)
	}
	os.WriteFile(filepath.Join(s.home, ".gitconfig"), []byte("[safe]\n\tdirectory = "+s.dir+"\n"), 0o644)
	if _, err := s.tryOpen(); err != nil {
		t.Errorf("Open() with safe.directory = %v", err)
	}
}

// TestOpenLinkedSharedClone is the layout go-git cannot open by itself: a
// linked work tree of a --shared clone with worktreeConfig (pitfalls 1, 2).
func TestOpenLinkedSharedClone(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	clone := s.in(filepath.Join(filepath.Dir(s.dir), "clone"))
	s.git("clone", "-q", "--shared", s.dir, clone.dir)
	clone.git("config", "extensions.worktreeConfig", "true")
	linked := clone.in(filepath.Join(filepath.Dir(s.dir), "linked"))
	clone.git("worktree", "add", "-q", "-b", "side", linked.dir)
	linked.git("config", "--worktree", "core.sparseCheckout", "false")
	linked.write("new", "new\n")
	linked.git("add", "new")
	linked.git("commit", "-q", "-m", "on side")

	r := linked.open()
	if r.WorkTree() != linked.dir || r.CommonDir() != filepath.Join(clone.dir, ".git") || r.GitDir() == r.CommonDir() {
		t.Errorf("work tree %q, common %q, git directory %q", r.WorkTree(), r.CommonDir(), r.GitDir())
	}
	head, err := r.Head(ctx)
	if err != nil || head.Branch != "refs/heads/side" || head.Commit != linked.rev("HEAD") {
		t.Errorf("Head() = %v, %v", head, err)
	}
	if data, err := r.ReadFile(ctx, head.Commit, "skills/x/SKILL.md"); err != nil || string(data) != "# x\n" { // through alternates
		t.Errorf("ReadFile() = %q, %v", data, err)
	}
	id := commit(t, r, Change{Ref: "refs/heads/forge/x/r1", From: head.Commit, Parents: []Hash{head.Commit}, Edits: []Edit{Put("a", []byte("a\n"))}})
	if got := clone.rev("refs/heads/forge/x/r1"); got != id { // refs are common
		t.Errorf("the clone sees %s, want %s", got, id)
	}
	if got, err := r.Resolve(ctx, string(s.rev("HEAD").Short())); err != nil || got != s.rev("HEAD") {
		t.Errorf("Resolve(short, in alternates) = %s, %v", got, err)
	}
	linked.fsck()
	if _, err := os.Stat(filepath.Join(r.GitDir(), "forge")); err == nil {
		t.Error("forge's directory is in the linked git directory")
	}
	inside := linked.in(r.GitDir())
	if r := inside.open(); r.WorkTree() != linked.dir {
		t.Errorf("opened inside the git directory: work tree %q", r.WorkTree())
	}
}

func TestOpenBareUnbornDetached(t *testing.T) { // pitfall 16
	ctx := context.Background()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main", "--bare")
	r := s.open()
	if r.WorkTree() != "" {
		t.Errorf("work tree of a bare repository: %q", r.WorkTree())
	}
	if head, err := r.Head(ctx); err != nil || head.Commit != "" || head.Branch != "refs/heads/main" {
		t.Errorf("Head() of an unborn branch = %v, %v", head, err)
	}
	if dirty, err := r.Dirty(ctx, func(string) bool { return true }); err != nil || dirty != nil {
		t.Errorf("Dirty() in a bare repository = %v, %v", dirty, err)
	}
	first := commit(t, r, Change{Ref: "refs/heads/main2", Edits: []Edit{Put("a", nil)}})
	if s.git("cat-file", "-p", "refs/heads/main2^{tree}") == "" || s.rev("main2") != first {
		t.Error("first commit of a bare repository is not there")
	}
	s.fsck()

	d := newRepository(t)
	d.git("checkout", "-q", "--detach")
	if head, err := d.open().Head(ctx); err != nil || head.Branch != "" || head.Commit != d.rev("HEAD") {
		t.Errorf("Head() when detached = %v, %v", head, err)
	}
}

func TestOpenByVariables(t *testing.T) { // R-DISC-1
	s := newRepository(t)
	elsewhere := s.in(s.home)
	elsewhere.vars["GIT_DIR"] = filepath.Join(s.dir, ".git")
	if r := elsewhere.open(); r.CommonDir() != filepath.Join(s.dir, ".git") || r.WorkTree() != s.home {
		t.Errorf("GIT_DIR: common %q, work tree %q", r.CommonDir(), r.WorkTree())
	}
	elsewhere.vars["GIT_WORK_TREE"] = "../repo"
	if r := elsewhere.open(); r.WorkTree() != s.dir {
		t.Errorf("GIT_WORK_TREE: work tree %q", r.WorkTree())
	}
	elsewhere.vars["GIT_DIR"] = "nowhere"
	if _, err := elsewhere.tryOpen(); fault.KindOf(err) != fault.Usage {
		t.Errorf("Open() with a wrong GIT_DIR = %v", err)
	}
	s.write("below/f", "")
	below := s.in(filepath.Join(s.dir, "below"))
	below.vars["GIT_CEILING_DIRECTORIES"] = s.dir
	if _, err := below.tryOpen(); err == nil {
		t.Error("Open() looked above a ceiling")
	}
	// An empty environment reads no variable of the process.
	t.Setenv("GIT_DIR", filepath.Join(s.home, "nothing"))
	if r, err := Open(context.Background(), s.dir, Env{}); err != nil || r.WorkTree() != s.dir {
		t.Errorf("Open() with an empty Env = %v", err)
	}
}

func TestShallow(t *testing.T) { // pitfall 10
	ctx := context.Background()
	s := newRepository(t)
	s.git("commit", "-q", "--allow-empty", "-m", "second")
	old := s.rev("HEAD~1")
	clone := s.in(filepath.Join(filepath.Dir(s.dir), "clone"))
	s.git("clone", "-q", "--depth=1", "file://"+s.dir, clone.dir)
	r := clone.open()
	seen := 0
	err := r.FirstParents(ctx, clone.rev("HEAD"), func(CommitInfo) (bool, error) { seen++; return true, nil })
	if seen != 1 || err == nil || err.Error() != "history ends at a shallow boundary after 1 commits" || fault.HintOf(err) != "git fetch --unshallow" {
		t.Errorf("FirstParents() = %v after %d commits", err, seen)
	}
	if err := r.FirstParents(ctx, clone.rev("HEAD"), func(CommitInfo) (bool, error) { return false, nil }); err != nil {
		t.Errorf("FirstParents() that asks for one commit = %v", err)
	}
	if _, err := r.IsAncestor(ctx, old, clone.rev("HEAD")); err == nil {
		t.Error("IsAncestor() answers what it cannot know")
	}

	// What two branches that begin behind the boundary are to each other is
	// known all the same.
	base := clone.rev("HEAD")
	clone.git("checkout", "-q", "-b", "a")
	clone.git("commit", "-q", "--allow-empty", "-m", "a")
	clone.git("checkout", "-q", "-b", "b", string(base))
	clone.git("commit", "-q", "--allow-empty", "-m", "b")
	a, b := clone.rev("a"), clone.rev("b")
	for _, tt := range []struct {
		old, new Hash
		want     bool
	}{{a, b, false}, {b, a, false}, {base, a, true}, {a, base, false}} {
		if got, err := r.IsAncestor(ctx, tt.old, tt.new); err != nil || got != tt.want {
			t.Errorf("IsAncestor(%s, %s) = %t, %v, want %t", tt.old, tt.new, got, err, tt.want)
		}
	}
	if _, err := r.IsAncestor(ctx, old, b); err == nil {
		t.Error("IsAncestor() answers what it cannot know")
	}
}

func TestPartialClone(t *testing.T) { // pitfall 11
	ctx := context.Background()
	s := newRepository(t)
	s.git("config", "uploadpack.allowFilter", "true")
	s.git("config", "uploadpack.allowAnySHA1InWant", "true")
	clone := s.in(filepath.Join(filepath.Dir(s.dir), "clone"))
	s.git("clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+s.dir, clone.dir)
	head := clone.rev("HEAD")

	without := clone.in(clone.dir)
	without.vars["PATH"] = ""
	_, err := without.open().ReadFile(ctx, head, "README.md")
	if err == nil || err.Error() != `the content of "README.md" is not in this partial clone` ||
		fault.KindOf(err) != fault.Usage || errors.Is(err, ErrNotFound) {
		t.Errorf("ReadFile() without git = %v", err)
	}
	if data, err := clone.open().ReadFile(ctx, head, "README.md"); err != nil || string(data) != "hello\n" {
		t.Errorf("ReadFile() with git = %q, %v", data, err)
	}
}

func TestWarnings(t *testing.T) {
	s := newRepository(t)
	if got := s.open().Warnings(); len(got) != 0 {
		t.Errorf("Warnings() = %q", got)
	}
	s.git("commit", "-q", "--allow-empty", "-m", "other")
	s.git("replace", "HEAD", "HEAD~1")
	if got := s.open().Warnings(); len(got) != 1 || !strings.Contains(got[0], "refs/replace") {
		t.Errorf("Warnings() = %q", got)
	}
}

func TestConfig(t *testing.T) {
	tests := map[string]struct {
		text string
		want gitConfig
	}{
		"sections":   {"[Core]\n\tBare = true\n[remote \"Or.igin\"]\nurl=x\n", gitConfig{"core.bare": "true", "remote.Or.igin.url": "x"}},
		"one line":   {"[core] bare = false ; no\n", gitConfig{"core.bare": "false"}},
		"no value":   {"[a]\nb\nc # x\n", gitConfig{"a.b": "true", "a.c": "true"}},
		"quotes":     {"[a]\nb = \" x # y\" z  # c\n", gitConfig{"a.b": " x # y z"}},
		"escapes":    {"[a]\nb = a\\tb\\\\\\\"\\\n  c\n", gitConfig{"a.b": "a\tb\\\"  c"}},
		"last wins":  {"[a]\nb=1\nb=2", gitConfig{"a.b": "2"}},
		"crlf":       {"[a]\r\nb = 1\r\n", gitConfig{"a.b": "1"}},
		"subsection": {"[a \"x\\\"y\"]\nb=1\n", gitConfig{"a.x\"y.b": "1"}},
		"empty":      {"[a]\nb =\n", gitConfig{"a.b": ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := parseConfig(tt.text)
			got := config.last()
			if err != nil || len(got) != len(tt.want) {
				t.Fatalf("parseConfig(%q) = %v, %v", tt.text, got, err)
			}
			for key, want := range tt.want {
				if got[key] != want {
					t.Errorf("parseConfig(%q)[%s] = %q, want %q", tt.text, key, got[key], want)
				}
			}
		})
	}
	for _, text := range []string{"x = 1\n", "[a\n", "[a]\n= 1\n", "[a]\nb = \"x\n", "[a]\nb c\n", "[a]\nb = \\q\n"} {
		if _, err := parseConfig(text); err == nil {
			t.Errorf("parseConfig(%q) found nothing wrong", text)
		}
	}
}

// TestOpenSubmodule: a submodule's own repository works like any other, also
// where git itself is asked about it.
func TestOpenSubmodule(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	super := s.in(filepath.Join(filepath.Dir(s.dir), "super"))
	os.Mkdir(super.dir, 0o755)
	super.git("init", "-q", "-b", "main")
	super.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", s.dir, "sub")
	sub := super.in(filepath.Join(super.dir, "sub"))
	r := sub.open()
	if r.WorkTree() != sub.dir || r.GitDir() != filepath.Join(super.dir, ".git/modules/sub") {
		t.Errorf("work tree %q, git directory %q", r.WorkTree(), r.GitDir())
	}
	sub.write("new", "")
	if dirty, err := r.Dirty(ctx, func(string) bool { return true }); err != nil || len(dirty) != 1 || dirty[0] != "new" {
		t.Errorf("Dirty() = %q, %v", dirty, err)
	}
	commit(t, r, Change{Ref: testRef, Edits: []Edit{Put("a", nil)}})
	sub.fsck()
	linked := s.in(filepath.Join(filepath.Dir(s.dir), "linked"))
	s.git("worktree", "add", "-q", "--detach", linked.dir)
	linked.write("README.md", "dirty\n")
	linked.vars["GIT_INDEX_FILE"] = "/nowhere/index" // of a hook: not for other calls (R-GIT-2)
	if dirty, err := linked.open().Dirty(ctx, func(string) bool { return true }); err != nil || len(dirty) != 1 || dirty[0] != "README.md" {
		t.Errorf("Dirty() in a linked work tree = %q, %v", dirty, err)
	}
	if dirty, err := s.open().Dirty(ctx, func(string) bool { return true }); err != nil || len(dirty) != 0 {
		t.Errorf("Dirty() in the main work tree = %q, %v", dirty, err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("[core]\n\tbare = false\n[remote \"o\"]\n\turl = a b # c\n")
	f.Add("[a \"\\\"\"] b = \"x\\n\" \\\n y")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := parseConfig(text)
		for _, v := range config {
			if err == nil && !strings.Contains(v.name, ".") {
				t.Errorf("parseConfig(%q): name %q", text, v.name)
			}
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789" + "40000 b\x0001234567890123456789"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseTree(data)
		if err == nil && string(encodeTree(entries)) != string(data) {
			t.Errorf("parseTree(%q) does not encode to the same bytes", data)
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree 0123456789012345678901234567890123456789\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\ns\n\nForge-Run: r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCommit("", data)
		if err == nil && strings.Contains(c.Subject, "\n") {
			t.Errorf("parseCommit(%q): subject %q", data, c.Subject)
		}
	})
}
