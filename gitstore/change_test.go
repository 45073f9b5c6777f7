package gitstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
)

func TestCommit(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	head := s.rev("HEAD")
	start := commit(t, r, Change{Ref: testRef, From: head, Parents: []Hash{head}, Edits: []Edit{Put("log", []byte("0\n"))},
		Subject: "start", Trailers: []Trailer{{"Forge-Action", "run-start"}}})
	candidate := commit(t, r, Change{Ref: "refs/forge/runs/r1/exp-001", From: start, Parents: []Hash{start}, Edits: []Edit{Put("skills/x/SKILL.md", []byte("# y\n"))}})
	keep := commit(t, r, Change{Ref: testRef, Base: start, From: candidate, Parents: []Hash{start, candidate},
		Edits: []Edit{Put("log", []byte("1\n"))}, Subject: "keep", Body: "why\n\nForge-Decision: REVERT",
		Trailers: []Trailer{{"Forge-Decision", "KEEP"}, {"Forge-Experiment", "exp-001"}}, AuthorDate: time.Unix(1700000000, 5).In(time.FixedZone("", 3600))})

	if got := s.git("log", "-1", "--format=%P%n%an <%ae> %ad%n%cn %cd%n%B", "--date=raw", string(keep)); got != fmt.Sprintf(
		"%s %s\nTest Author <author@example.com> 1700000000 +0100\nTest Author 1767323045 +0000\nkeep\n\nwhy\n\n  Forge-Decision: REVERT\n\nForge-Experiment: exp-001\nForge-Decision: KEEP\n",
		start, candidate) {
		t.Errorf("commit %q", got)
	}
	// The line gitstore.md R-COM-3 promises, with a look-alike in the body.
	if got := s.git("log", "--first-parent", "--grep=^Forge-Experiment:", "--format=%s %(trailers:key=Forge-Decision,valueonly,separator=)", string(head)+"..forge/x/r1"); got != "keep KEEP" {
		t.Errorf("git log says %q", got)
	}
	info, err := r.ReadCommit(ctx, keep)
	if err != nil || info.Subject != "keep" || info.Body != "why\n\n  Forge-Decision: REVERT" || info.Trailer("Forge-Decision") != "KEEP" ||
		info.Trailer("Forge-Run") != "" || len(info.Parents) != 2 || info.Author.When.Unix() != 1700000000 {
		t.Errorf("ReadCommit() = %+v, %v", info, err)
	}
	var subjects []string
	r.FirstParents(ctx, keep, func(c CommitInfo) (bool, error) { subjects = append(subjects, c.Subject); return true, nil })
	if strings.Join(subjects, ",") != "keep,start,first" {
		t.Errorf("FirstParents() = %q", subjects)
	}
	for _, tt := range []struct {
		old, new Hash
		want     bool
	}{{head, keep, true}, {candidate, keep, true}, {keep, keep, true}, {keep, start, false}, {candidate, start, false}} {
		if got, err := r.IsAncestor(ctx, tt.old, tt.new); err != nil || got != tt.want {
			t.Errorf("IsAncestor(%s, %s) = %t, %v", tt.old.Short(), tt.new.Short(), got, err)
		}
	}
	if tree, err := r.TreeOf(ctx, keep); err != nil || tree != s.rev(string(keep)+"^{tree}") {
		t.Errorf("TreeOf() = %s, %v", tree, err)
	}
	if out := s.git("status", "--porcelain"); out != "" {
		t.Errorf("the work tree changed: %s", out)
	}
	s.fsck()
}

func TestCommitRefusals(t *testing.T) { // R-VERB-2
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	head := s.rev("HEAD")
	base := commit(t, r, Change{Ref: testRef, From: head, Parents: []Hash{head}})
	_, err := r.Commit(ctx, Change{Ref: testRef, Base: base, Subject: "x", Edits: []Edit{Put("README.md", []byte("hello\n"))}})
	if !errors.Is(err, ErrNoChange) || fault.KindOf(err) != fault.Nothing {
		t.Errorf("Commit() without a change = %v", err)
	}
	if _, err = r.Commit(ctx, Change{Ref: testRef, Base: base, From: head, Parents: []Hash{base, head}, Subject: "x"}); err != nil {
		t.Errorf("a merge with the same tree = %v", err)
	}
	objects := s.files("objects")
	_, err = r.Commit(ctx, Change{Ref: testRef, Base: base, Subject: "x", Edits: []Edit{Put("n", []byte("n"))}})
	if moved, ok := errors.AsType[*MovedError](err); !ok || moved.Expected != base || moved.Found != s.rev(testRef) {
		t.Errorf("Commit() on an old tip = %v", err)
	}
	if now := s.files("objects"); !maps.Equal(objects, now) {
		t.Error("a commit that was late from the start wrote objects")
	}
	_, err = r.Commit(ctx, Change{Ref: "refs/heads/main", Base: head, Subject: "x", Edits: []Edit{Put("n", nil)}})
	if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), "is checked out in") {
		t.Errorf("Commit() on the checked-out branch = %v", err)
	}
	none := "1111111111111111111111111111111111111111"
	if _, err = r.Commit(ctx, Change{Ref: "refs/forge/q", Parents: []Hash{Hash(none)}, Subject: "x"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("Commit() on a parent that is not there = %v", err)
	}
	s.fsck()
}

// TestPreviewWritesNothing: R-VERB-1.
func TestPreviewWritesNothing(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	head := s.rev("HEAD")
	before := s.files("")
	preview, err := r.Preview(ctx, Change{From: head, Edits: []Edit{
		Put("new/file", []byte("n\n")), Put("README.md", []byte("bye\n")), Remove("skills/x/SKILL.md"), PutObject("moved", s.rev("HEAD:skills/x"), ModeDir),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if now := s.files(""); !maps.Equal(before, now) {
		t.Error("Preview() wrote something")
	}
	show := func(f *File) string {
		if f == nil {
			return "-"
		}
		return f.Mode.String() + " " + string(f.Data)
	}
	var got []string
	for _, f := range preview.Files {
		got = append(got, f.Path+": "+show(f.Before)+" > "+show(f.After))
	}
	want := "README.md: 100644 hello\n > 100644 bye\n|moved/SKILL.md: - > 100644 # x\n|new/file: - > 100644 n\n|skills/x/SKILL.md: 100644 # x\n > -"
	if strings.Join(got, "|") != want {
		t.Errorf("Preview() = %q, want %q", got, want)
	}
	if empty, err := r.Preview(ctx, Change{From: head}); err != nil || len(empty.Files) != 0 || empty.Tree != s.rev("HEAD^{tree}") {
		t.Errorf("Preview() of nothing = %v, %v", empty, err)
	}
}

func TestUpdate(t *testing.T) { // R-ATOM-2
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	const ref = "refs/forge/activity"
	calls := 0
	id, err := r.Update(ctx, ref, func(tip Hash) (Change, error) {
		calls++
		if calls < 3 { // somebody else is faster
			s.git("update-ref", ref, s.git("commit-tree", "-m", fmt.Sprint(calls), "HEAD^{tree}"))
		}
		return Change{Edits: []Edit{Put("n", []byte("n"))}, Subject: "x"}, nil
	})
	if err != nil || calls != 3 || s.rev(ref) != id {
		t.Errorf("Update() = %s, %v after %d calls", id, err, calls)
	}
	calls = 0
	_, err = r.Update(ctx, ref, func(Hash) (Change, error) {
		calls++
		s.git("update-ref", ref, s.git("commit-tree", "-m", fmt.Sprint(calls), "HEAD^{tree}"))
		return Change{Edits: []Edit{Put("n", []byte("n"))}, Subject: "x"}, nil
	})
	if !errors.Is(err, ErrMoved) || calls != 5 || fault.KindOf(err) != fault.Conflict || err.Error() != "the repository moved while forge worked; run the command again" {
		t.Errorf("Update() = %v after %d calls", err, calls)
	}
	stop := errors.New("stop")
	if _, err := r.Update(ctx, ref, func(Hash) (Change, error) { return Change{}, stop }); !errors.Is(err, stop) {
		t.Errorf("Update() = %v", err)
	}
}

func TestRepackUnderLiveHandle(t *testing.T) { // R-OPEN-2, pitfall 9, C6
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	tip := Hash("")
	for i := range 5 {
		for j := range 3 {
			tip = commit(t, r, Change{Ref: testRef, Base: tip, Edits: []Edit{Put(fmt.Sprintf("f%d-%d", i, j), []byte(fmt.Sprint(i, j)))}})
		}
		s.git("repack", "-adq")
		s.git("prune-packed", "-q")
		n := 0
		if err := r.FirstParents(ctx, tip, func(c CommitInfo) (bool, error) {
			n++
			return true, r.Walk(ctx, c.Hash, "", func(e Entry) error { _, err := r.Blob(ctx, e.Object); return err })
		}); err != nil || n != 3*(i+1) {
			t.Fatalf("after repack %d: %d commits, %v", i, n, err)
		}
	}
	s.fsck()
}

func TestDirty(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	s.write(".gitignore", "ignored\n")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "ignore")
	s.git("config", "status.showUntrackedFiles", "no")
	r := s.open()
	all := func(string) bool { return true }
	if dirty, err := r.Dirty(ctx, all); err != nil || len(dirty) != 0 {
		t.Errorf("Dirty() of a clean work tree = %q, %v", dirty, err)
	}
	s.write("README.md", "changed\n")
	s.write("skills/x/new file", "")
	s.write("ignored", "")
	s.write("staged", "")
	s.git("add", "staged")
	s.git("mv", "skills/x/SKILL.md", "skills/x/ä")
	index := s.files("")["index"]
	dirty, err := r.Dirty(ctx, all)
	if err != nil || strings.Join(dirty, "|") != "README.md|skills/x/SKILL.md|skills/x/ä|staged|skills/x/new file" {
		t.Errorf("Dirty() = %q, %v", dirty, err)
	}
	if dirty, err := r.Dirty(ctx, func(p string) bool { return p == "staged" }); err != nil || len(dirty) != 1 {
		t.Errorf("Dirty(staged) = %q, %v", dirty, err)
	}
	if s.files("")["index"] != index {
		t.Error("Dirty() rewrote the user's index")
	}
}

// A landing built anew on a ref that holds an unfinished one: what the parent
// does not have is a change, whatever the ref stood at.
func TestCommitSameTreeAsBaseOnly(t *testing.T) {
	s := newRepository(t)
	r := s.open()
	head := s.rev("HEAD")
	edits := []Edit{Put("a", []byte("1"))}
	first := commit(t, r, Change{Ref: testRef, From: head, Parents: []Hash{head}, Edits: edits})
	again := commit(t, r, Change{Ref: testRef, Base: first, From: head, Parents: []Hash{head}, Edits: edits, Subject: "again"})
	if info, err := r.ReadCommit(t.Context(), again); err != nil || len(info.Parents) != 1 || info.Parents[0] != head {
		t.Errorf("commit %+v, %v, want the parent %s", info, err, head)
	}
	_, err := r.Commit(t.Context(), Change{Ref: testRef, Base: again, From: head, Parents: []Hash{head}, Subject: "nothing"})
	if !errors.Is(err, ErrNoChange) {
		t.Errorf("a commit with its parent's tree: %v, want ErrNoChange", err)
	}
}

// R-LAND-1: a stored commit is whole, and no ref moved.
func TestStore(t *testing.T) {
	s := newRepository(t)
	r := s.open()
	before, head := s.git("for-each-ref"), Hash(s.rev("HEAD"))
	c := Change{From: head, Parents: []Hash{head}, Edits: []Edit{Put("a/b", []byte("x\n"))}, Subject: "one", Trailers: []Trailer{{"Forge-Run", "r1"}}}
	id, err := r.Store(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.git("for-each-ref"); got != before {
		t.Errorf("Store moved a ref:\n%s", got)
	}
	if got := s.git("show", "-s", "--format=%P %s", string(id)); got != string(head)+" one" {
		t.Errorf("the commit is %q", got)
	}
	if err := r.Point(t.Context(), "refs/forge/runs/r1/landing", "", id); err != nil {
		t.Fatal(err)
	}
}

// R-ATOM-1, C16, case G22: a skill that is archived and restored has the tree
// it had, executable bits and links included, and nothing of it is rewritten.
func TestArchiveAndRestore(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	s.write("skills/x/scripts/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(s.dir, "skills/x/scripts/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../SKILL.md", filepath.Join(s.dir, "skills/x/scripts/link")); err != nil {
		t.Fatal(err)
	}
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "scripts")
	if listed := s.git("ls-tree", "-r", "HEAD", "skills/x"); !strings.Contains(listed, "100755 ") || !strings.Contains(listed, "120000 ") {
		t.Fatalf("the skill is\n%s", listed)
	}
	r, before := s.open(), s.rev("HEAD^{tree}")
	skill, err := r.Lookup(ctx, s.rev("HEAD"), "skills/x")
	if err != nil {
		t.Fatal(err)
	}
	const archive = "skills-archive/x-20260102T030405Z"
	move := func(tip Hash, from, to string) Hash {
		return commit(t, r, Change{Ref: testRef, Base: s.ref(testRef), From: tip, Parents: []Hash{tip}, Edits: []Edit{Remove(from), PutObject(to, skill.Object, ModeDir)}})
	}
	archived := move(s.rev("HEAD"), "skills/x", archive)
	if renames := s.git("diff-tree", "-r", "-M100%", "--name-status", string(archived)+"^", string(archived)); strings.Count(renames, "R100\t") != 3 || strings.Contains(renames, "\nD") {
		t.Errorf("git sees the archive move as\n%s", renames)
	}
	if got := s.rev(string(archived) + ":" + archive); got != skill.Object {
		t.Errorf("the archived skill is %s, want %s", got, skill.Object)
	}
	restored := move(archived, archive, "skills/x")
	if got := s.rev(string(restored) + "^{tree}"); got != before {
		t.Errorf("after archive and restore the tree is %s, want %s", got, before)
	}
	s.fsck()
}
