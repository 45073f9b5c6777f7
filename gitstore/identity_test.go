package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// anonymous takes the identity out of a sandbox's environment.
func (s *sandbox) anonymous() {
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		delete(s.vars, name)
	}
}

func (s *sandbox) homeFile(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func TestIdentity(t *testing.T) { // R-COM-4, pitfall 18
	ctx := context.Background()
	tests := map[string]struct {
		prepare func(s *sandbox)
		author  string // NAME <EMAIL>; "" = refused
		message string
	}{
		"environment only, without git": {func(s *sandbox) { s.vars["PATH"] = "" }, "Test Author <author@example.com>", ""},
		"none":                          {func(s *sandbox) { s.anonymous() }, "", "no author is configured"},
		"none, without git":             {func(s *sandbox) { s.anonymous(); s.vars["PATH"] = "" }, "", "no author is configured"},
		"name only":                     {func(s *sandbox) { s.anonymous(); s.homeFile(".gitconfig", "[user]\nname=A\n") }, "", "no author is configured"},
		"EMAIL is an invention":         {func(s *sandbox) { s.anonymous(); s.vars["EMAIL"] = "a@b"; s.homeFile(".gitconfig", "[user]\nname=A\n") }, "", "no author is configured"},
		"global file":                   {func(s *sandbox) { s.anonymous(); s.homeFile(".gitconfig", "[user]\nname=A B\nemail=a@b\n") }, "A B <a@b>", ""},
		"XDG without user":              {func(s *sandbox) { s.anonymous(); s.homeFile(".config/git/config", "[core]\neditor=x\n") }, "", "no author is configured"},
		"XDG":                           {func(s *sandbox) { s.anonymous(); s.homeFile(".config/git/config", "[user]\nname=X\nemail=x@y\n") }, "X <x@y>", ""},
		"includeIf": {func(s *sandbox) {
			s.anonymous()
			s.homeFile("work.inc", "[user]\nemail=work@example.com\n")
			s.homeFile(".gitconfig", "[user]\nname=A\nemail=private@example.com\n[includeIf \"gitdir:"+s.dir+"/\"]\npath=work.inc\n")
		}, "A <work@example.com>", ""},
		"author.name": {func(s *sandbox) {
			s.anonymous()
			s.homeFile(".gitconfig", "[user]\nname=A\nemail=a@b\n[author]\nname=Writer\n")
		}, "Writer <a@b>", ""},
		"half by environment": {func(s *sandbox) {
			s.anonymous()
			s.vars["GIT_AUTHOR_NAME"] = "Env"
			s.homeFile(".gitconfig", "[user]\nname=A\nemail=a@b\n")
		}, "Env <a@b>", ""},
		"less-than":      {func(s *sandbox) { s.vars["GIT_AUTHOR_NAME"] = "A <x" }, "", "must not hold <, > or a newline"},
		"less-than, git": {func(s *sandbox) { s.anonymous(); s.homeFile(".gitconfig", "[user]\nname=A <x\nemail=a@b\n") }, "", "must not hold <, > or a newline"},
		"newline":        {func(s *sandbox) { s.vars["GIT_AUTHOR_EMAIL"] = "a@b\nc" }, "", "must not hold <, > or a newline"},
		"crud":           {func(s *sandbox) { s.vars["GIT_AUTHOR_NAME"] = " Dr. A. Name., " }, "Dr. A. Name <author@example.com>", ""},
		"crud alone":     {func(s *sandbox) { s.vars["GIT_AUTHOR_NAME"] = " . " }, "", "no author is configured"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t)
			tt.prepare(s)
			author, _, err := s.open().Identity(ctx)
			if tt.author == "" {
				if err == nil || !strings.Contains(err.Error(), tt.message) || fault.KindOf(err) != fault.Usage {
					t.Errorf("Identity() = %v, %v", author, err)
				}
				return
			}
			if got := author.Name + " <" + author.Email + ">"; err != nil || got != tt.author {
				t.Fatalf("Identity() = %q, %v, want %q", got, err, tt.author)
			}
			if s.vars["PATH"] == "" {
				return
			}
			// git means the same person.
			asked, result := s.try("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
			if want, _, _ := strings.Cut(asked, "> "); !result.OK() || want+">" != tt.author {
				t.Errorf("git var says %q", asked)
			}
		})
	}
}

func TestIdentityTimes(t *testing.T) {
	s := newRepository(t)
	delete(s.vars, "GIT_COMMITTER_DATE")
	author, committer, err := s.open().Identity(context.Background())
	if err != nil || author.When.Unix() != 1767323045 || !committer.When.Equal(testTime) {
		t.Errorf("Identity() = %v, %v, %v", author, committer, err)
	}
	for text, want := range map[string]string{
		"1700000000 +0100": "1700000000 +0100", "@1700000000 -0530": "1700000000 -0530", "@5 +0000": "5 +0000", "1700000000": "1700000000 +0000",
		"2026-01-02T03:04:05Z": "1767323045 +0000", "2026-01-02T03:04:05.9+02:00": "1767315845 +0200", "2026-01-02 03:04:05 +0200": "1767315845 +0200",
		"2026-01-02 03:04:05": "1767323045 +0000", "Fri, 2 Jan 2026 03:04:05 +0000": "1767323045 +0000",
	} {
		when, err := parseDate(text)
		if got := (Signature{When: when}).ident(); err != nil || got != " <> "+want {
			t.Errorf("parseDate(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "2026", "1700000000 +9900", "1700000000 0100", "-5 +0000"} {
		if when, err := parseDate(text); err == nil {
			t.Errorf("parseDate(%q) = %v", text, when)
		}
	}
	s.vars["GIT_AUTHOR_DATE"] = "yesterday"
	if _, _, err := s.open().Identity(context.Background()); fault.KindOf(err) != fault.Usage {
		t.Errorf("Identity() with a strange date = %v", err)
	}
}

// TestSigning: R-COM-5, pitfall 19.
func TestSigning(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	if err := s.open().CheckSigning(ctx); err != nil {
		t.Errorf("CheckSigning() without commit.gpgsign = %v", err)
	}
	keygen, err := findProgram("ssh-keygen", s.vars["PATH"])
	if err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	key := filepath.Join(s.home, "key")
	result, err := process.Plain(ctx, process.Command{Argv: []string{keygen, "-q", "-t", "ed25519", "-N", "", "-f", key}, Dir: s.home, Env: process.Environment(s.vars), Timeout: time.Minute})
	if err != nil || !result.OK() {
		t.Fatalf("ssh-keygen: %v %s", err, result.Stderr)
	}
	public, _ := os.ReadFile(key + ".pub")
	s.homeFile("allowed", "author@example.com "+string(public))
	s.homeFile(".gitconfig", "[commit]\ngpgsign=true\n[gpg]\nformat=ssh\n[user]\nsigningkey="+key+"\n[gpg \"ssh\"]\nallowedSignersFile="+s.home+"/allowed\n")
	r := s.open()
	before := len(s.files("objects"))
	if err := r.CheckSigning(ctx); err != nil {
		t.Fatal(err)
	}
	if now := len(s.files("objects")); now != before {
		t.Error("CheckSigning() left objects")
	}
	first := commit(t, r, Change{Ref: testRef, Edits: []Edit{Put("a", nil)}, Body: "b", Trailers: []Trailer{{"Forge-Run", "r1"}}})
	second := commit(t, r, Change{Ref: testRef, Base: first, Edits: []Edit{Put("a", []byte("x"))}})
	s.git("verify-commit", string(first))
	s.git("verify-commit", string(second))
	if info, err := r.ReadCommit(ctx, second); err != nil || info.Subject != "change" || len(info.Parents) != 1 || info.Parents[0] != first || !info.Author.When.Equal(testTime) {
		t.Errorf("ReadCommit() of a signed commit = %+v, %v", info, err)
	}
	s.fsck()

	for name, config := range map[string]string{
		"missing key": "[commit]\ngpgsign=true\n[gpg]\nformat=ssh\n[user]\nsigningkey=" + s.home + "/gone\n",
		"no gpg":      "[commit]\ngpgsign=true\n[gpg]\nprogram=/nonexistent/gpg\n",
	} {
		s.homeFile(".gitconfig", config)
		r := s.open()
		if err := r.CheckSigning(ctx); fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), "could not be signed") {
			t.Errorf("%s: CheckSigning() = %v", name, err)
		}
		if id, err := r.Commit(ctx, Change{Ref: testRef, Base: second, Edits: []Edit{Put("a", nil)}, Subject: "x"}); fault.KindOf(err) != fault.Refused || s.rev(testRef) != second {
			t.Errorf("%s: Commit() = %s, %v", name, id, err)
		}
	}
	s.git("config", "commit.gpgsign", "true")
	s.vars["PATH"] = ""
	if _, err := s.open().Commit(ctx, Change{Ref: testRef, Base: second, Edits: []Edit{Put("a", nil)}, Subject: "x"}); fault.KindOf(err) != fault.Refused {
		t.Errorf("Commit() that must be signed without git = %v", err)
	}
}

// R-COM-5: a signing program that hangs ends at a time limit with what it
// started, and no commit is made.
func TestSignerHangs(t *testing.T) {
	s := newRepository(t)
	s.homeFile("signer", "#!/bin/sh\nexec sleep 600\n")
	if err := os.Chmod(filepath.Join(s.home, "signer"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.homeFile(".gitconfig", "[commit]\ngpgsign=true\n[gpg]\nprogram="+s.home+"/signer\n")
	r := s.open()
	r.signWait = 50 * time.Millisecond
	const want = "the commit could not be signed: no signature came within 50ms"
	if err := r.CheckSigning(t.Context()); fault.KindOf(err) != fault.Refused || err.Error() != want {
		t.Errorf("CheckSigning() = %v, want %s", err, want)
	}
	if id, err := r.Commit(t.Context(), Change{Ref: testRef, Edits: []Edit{Put("a", nil)}, Subject: "x"}); fault.KindOf(err) != fault.Refused {
		t.Errorf("Commit() = %s, %v, want a refusal", id, err)
	}
	if got := s.ref(testRef); got != "" {
		t.Errorf("the ref is at %s", got)
	}
}

// TestNoProcess: with the identity in the environment nothing asks git who
// commits (a git that cannot run would fail the commit).
func TestNoProcess(t *testing.T) {
	s := newRepository(t)
	s.vars["PATH"] = ""
	r := s.open()
	if _, _, err := r.Identity(context.Background()); err != nil {
		t.Fatal(err)
	}
	commit(t, r, Change{Ref: testRef, Edits: []Edit{Put("a", nil)}})
	if r.tool.config == nil {
		t.Error("the repository's own configuration was not read for commit.gpgsign")
	}
}
