package gitstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

const testRef = "refs/heads/forge/x/r1"

// TestRefusedSwapLeavesNothing: R-REF-5, pitfall 4.
func TestRefusedSwapLeavesNothing(t *testing.T) {
	other := Hash("1111111111111111111111111111111111111111")
	tests := map[string]struct {
		prepare     func(s *sandbox, r *Repo)
		base        func(s *sandbox) Hash
		found       func(s *sandbox) Hash
		wantMessage string
	}{
		"missing": {func(*sandbox, *Repo) {}, func(*sandbox) Hash { return other }, func(*sandbox) Hash { return "" }, `"forge/x/r1" is gone; it was at 1111111`},
		"loose, create only": {func(s *sandbox, _ *Repo) { s.git("update-ref", testRef, "HEAD") },
			func(*sandbox) Hash { return "" }, func(s *sandbox) Hash { return s.rev("HEAD") }, ""},
		"packed, create only": {func(s *sandbox, _ *Repo) {
			s.git("update-ref", testRef, "HEAD")
			s.git("pack-refs", "--all", "--prune")
		}, func(*sandbox) Hash { return "" }, func(s *sandbox) Hash { return s.rev("HEAD") }, ""},
		"loose, elsewhere": {func(s *sandbox, _ *Repo) { s.git("update-ref", testRef, "HEAD") },
			func(*sandbox) Hash { return other }, func(s *sandbox) Hash { return s.rev("HEAD") }, ""},
		"packed, elsewhere": {func(s *sandbox, _ *Repo) {
			s.git("update-ref", testRef, "HEAD")
			s.git("pack-refs", "--all", "--prune")
		}, func(*sandbox) Hash { return other }, func(s *sandbox) Hash { return s.rev("HEAD") }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t)
			r := s.open()
			tt.prepare(s, r)
			refs, logs, locks := s.files("refs"), s.files("logs"), s.files("forge/ref-locks")
			err := r.compareAndSwap(context.Background(), swap{ref: testRef, old: tt.base(s), new: s.rev("HEAD")})
			moved, ok := errors.AsType[*MovedError](err)
			if !ok || !errors.Is(err, ErrMoved) || fault.KindOf(err) != fault.Conflict {
				t.Fatalf("compareAndSwap() = %v", err)
			}
			if moved.Expected != tt.base(s) || moved.Found != tt.found(s) {
				t.Errorf("expected %q, found %q", moved.Expected, moved.Found)
			}
			if tt.wantMessage != "" && err.Error() != tt.wantMessage {
				t.Errorf("message %q", err)
			}
			if now := s.files("refs"); !maps.Equal(refs, now) {
				t.Errorf("refs before %v, after %v", refs, now)
			}
			if now := s.files("logs"); !maps.Equal(logs, now) {
				t.Errorf("logs before %v, after %v", logs, now)
			}
			if now := s.files("forge/ref-locks"); len(now) > max(1, len(locks)) {
				t.Errorf("records left: %v", now)
			}
		})
	}
}

func TestSwapWrites(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	first := s.rev("HEAD")
	s.git("commit", "-q", "--allow-empty", "-m", "second")
	second := s.rev("HEAD")

	// Created, packed by git, then moved: the packed-only ref is updated (pitfall 5).
	if err := r.Point(ctx, testRef, "", first); err != nil {
		t.Fatal(err)
	}
	s.git("tag", "-a", "-m", "a peeled line", "v1")
	s.git("pack-refs", "--all", "--prune")
	if err := r.Point(ctx, testRef, first, second); err != nil {
		t.Fatal(err)
	}
	if got := s.rev(testRef); got != second {
		t.Errorf("git sees %s, want %s", got, second)
	}
	log := s.files("logs")["refs/heads/forge/x/r1"]
	want := fmt.Sprintf("%s %s Test Author <author@example.com> 1767323045 +0000\tforge: first\n"+
		"%s %s Test Author <author@example.com> 1767323045 +0000\tforge: second\n", zeroHash, first, first, second)
	if log != want { // R-REF-6
		t.Errorf("reflog %q, want %q", log, want)
	}
	if out := s.git("reflog", "show", "--format=%gs", testRef); out != "forge: second\nforge: first" {
		t.Errorf("git reflog says %q", out)
	}
	// An empty directory where the ref goes (pitfall 6).
	if err := os.MkdirAll(filepath.Join(s.dir, ".git/refs/forge/a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Point(ctx, "refs/forge/a", "", first); err != nil {
		t.Errorf("Point() over an empty directory = %v", err)
	}
	if got := s.rev("refs/forge/a"); got != first {
		t.Errorf("git sees %s, want %s", got, first)
	}
	if _, found := s.files("logs")["refs/forge/a"]; found {
		t.Error("a ref that is no branch got a reflog")
	}
	if err := r.Point(ctx, "refs/forge/b", "", "1111111111111111111111111111111111111111"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Point() at a commit that is not there = %v", err)
	}
	s.fsck()
}

func TestReflogSettings(t *testing.T) { // R-REF-6
	tests := map[string]struct {
		config string
		bare   bool
		want   bool
	}{
		"unset": {"", false, true}, "unset, bare": {"", true, false}, "false": {"[core]\nlogAllRefUpdates=false\n", false, false},
		"true, bare": {"[core]\nlogAllRefUpdates=true\n", true, true}, "always": {"[core]\nlogAllRefUpdates=always\n", false, true},
	}
	for name, tt := range tests {
		config, err := parseConfig(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		r := &Repo{config: config, bare: tt.bare}
		if got := r.keepsReflog("refs/heads/x"); got != tt.want {
			t.Errorf("%s: keepsReflog() = %t, want %t", name, got, tt.want)
		}
	}
}

func TestNameConflicts(t *testing.T) { // R-REF-4 step 1, pitfall 7
	tests := map[string]struct{ there, wanted, message, hint string }{
		"forge is a branch": {"refs/heads/forge", "refs/heads/forge/x/r1-k3fq",
			`branch "forge" stands in the way of "forge/x/r1-k3fq"`, "git branch -m forge forge-old"},
		"the target is a branch": {"refs/heads/forge/x", "refs/heads/forge/x/r1",
			`branch "forge/x" stands in the way of "forge/x/r1"`, "git branch -m forge/x forge-x-old"},
		"a deeper branch": {"refs/heads/forge/x/r1/deep", "refs/heads/forge/x/r1",
			`branch "forge/x/r1/deep" stands in the way of "forge/x/r1"`, "git branch -m forge/x/r1/deep forge-x-r1-deep-old"},
		"a ref of forge's": {"refs/forge/runs/a", "refs/forge/runs/a/tip", `ref "refs/forge/runs/a" stands in the way of "refs/forge/runs/a/tip"`, ""},
	}
	for name, tt := range tests {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed %t", name, packed), func(t *testing.T) {
				s := newRepository(t)
				s.git("update-ref", tt.there, "HEAD")
				if packed {
					s.git("pack-refs", "--all", "--prune")
				}
				before := s.files("refs")
				err := s.open().Point(context.Background(), tt.wanted, "", s.rev("HEAD"))
				if err == nil || err.Error() != tt.message || fault.HintOf(err) != tt.hint || fault.KindOf(err) != fault.Usage {
					t.Errorf("Point() = %v, hint %q", err, fault.HintOf(err))
				}
				if now := s.files("refs"); !maps.Equal(before, now) {
					t.Errorf("refs before %v, after %v", before, now)
				}
			})
		}
	}
}

func TestDamagedRefs(t *testing.T) { // R-REF-3, pitfall 8
	ctx := context.Background()
	tests := map[string]struct {
		content string
		fails   string
	}{
		"empty": {"", `the file of ref "refs/heads/forge/x/r1" is empty`}, "short": {"1234\n", "malformed"},
		"text": {"hello world\n", "malformed"}, "no target": {"ref: \n", "malformed"}, "crlf": {"HEAD\r\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t)
			s.git("update-ref", testRef, "HEAD")
			s.git("pack-refs", "--all") // the older packed value must not be used
			head := s.rev("HEAD")
			file := filepath.Join(s.dir, ".git", testRef)
			os.MkdirAll(filepath.Dir(file), 0o755)
			if err := os.WriteFile(file, []byte(strings.Replace(tt.content, "HEAD", string(head), 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := s.open().Ref(ctx, testRef)
			if tt.fails == "" {
				if err != nil || got != head {
					t.Errorf("Ref() = %s, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.fails) || !strings.Contains(err.Error(), testRef) {
				t.Errorf("Ref() = %s, %v", got, err)
			}
			if _, err := s.open().Refs(ctx, "refs/heads/"); err == nil {
				t.Error("Refs() passes over a damaged ref")
			}
			if err := s.open().Point(ctx, testRef, head, head); err == nil {
				t.Error("Point() writes over a damaged ref")
			}
		})
	}
}

func TestWritableRefs(t *testing.T) { // R-REF-1, R-LAND-3
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	head := s.rev("HEAD")
	s.git("branch", "free")
	s.git("symbolic-ref", "refs/heads/forge/alias", "refs/heads/free")
	tests := map[string]struct {
		ref  string
		old  Hash
		kind fault.Kind // 0 = done
	}{
		"own": {"refs/forge/runs/r1/tip", "", 0}, "user branch": {"refs/heads/free", head, 0},
		"checked out": {"refs/heads/main", head, fault.Refused}, "tag": {"refs/tags/x", "", fault.Refused},
		"stash": {"refs/stash", "", fault.Refused}, "remote": {"refs/remotes/origin/x", "", fault.Refused},
		"HEAD": {"HEAD", head, fault.Usage}, "upper case": {"refs/forge/X", "", fault.Usage},
		"dots": {"refs/forge/a..b", "", fault.Usage}, "lock": {"refs/forge/a.lock", "", fault.Usage},
		"dot first": {"refs/forge/.a", "", fault.Usage}, "traversal": {"refs/forge/../heads/main", "", fault.Usage},
		"symbolic": {"refs/heads/forge/alias", head, fault.Refused}, "control": {"refs/forge/a\x01", "", fault.Usage},
	}
	for name, tt := range tests {
		if err := r.Point(ctx, tt.ref, tt.old, head); fault.KindOf(err) != tt.kind {
			t.Errorf("%s: Point(%q) = %v, want kind %v", name, tt.ref, err, tt.kind)
		}
		if name == "symbolic" {
			if err := r.DeleteRef(ctx, tt.ref, ""); err == nil {
				t.Error("DeleteRef without a value deletes")
			}
		}
	}
}

func TestRefsAndResolve(t *testing.T) {
	ctx := context.Background()
	s := newRepository(t)
	s.git("update-ref", "refs/forge/runs/a/tip", "HEAD")
	s.git("update-ref", "refs/forge/runs/b/tip", "HEAD")
	s.git("pack-refs", "--all", "--prune")
	first := s.rev("HEAD")
	s.git("commit", "-q", "--allow-empty", "-m", "second")
	second := s.rev("HEAD")
	s.git("update-ref", "refs/forge/runs/b/tip", "HEAD")
	s.git("update-ref", "refs/forge/runs/c/tip", "HEAD")
	s.git("tag", "-a", "-m", "x", "v1", "HEAD~1")
	s.git("update-ref", "refs/remotes/origin/main", "HEAD")
	s.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	os.WriteFile(filepath.Join(s.dir, ".git/refs/forge/runs/c/tip.lock"), nil, 0o644)
	r := s.open()
	refs, err := r.Refs(ctx, "refs/forge/runs/")
	want := []Ref{{"refs/forge/runs/a/tip", first}, {"refs/forge/runs/b/tip", second}, {"refs/forge/runs/c/tip", second}}
	if err != nil || !slices.Equal(refs, want) {
		t.Errorf("Refs() = %v, %v, want %v", refs, err, want)
	}
	if all, err := r.Refs(ctx, ""); err != nil || len(all) != 7 {
		t.Errorf("Refs(all) = %v, %v", all, err)
	}
	if some, err := r.Refs(ctx, "refs/forge/runs/b"); err != nil || len(some) != 1 {
		t.Errorf("Refs(partial name) = %v, %v", some, err)
	}
	for rev, want := range map[string]Hash{
		"HEAD": second, "main": second, "refs/heads/main": second, "v1": first, "origin": second, "origin/main": second,
		string(first): first, string(first[:7]): first, string(first[:8]): first, strings.ToUpper(string(first)): first, "HEAD~1": first,
	} {
		if got, err := r.Resolve(ctx, rev); err != nil || got != want {
			t.Errorf("Resolve(%q) = %s, %v, want %s", rev, got, err, want)
		}
	}
	for _, rev := range []string{"", "nothing", "-x", "HEAD:README.md", "HEAD^{tree}", "../x", "1111111111111111111111111111111111111111"} {
		if got, err := r.Resolve(ctx, rev); !errors.Is(err, ErrNotFound) || fault.KindOf(err) != fault.Usage {
			t.Errorf("Resolve(%q) = %s, %v", rev, got, err)
		}
	}
}

func TestDeleteRef(t *testing.T) { // R-REF-7
	ctx := context.Background()
	s := newRepository(t)
	head := s.rev("HEAD")
	for _, git := range []bool{true, false} {
		for _, packed := range []bool{false, true} {
			s.git("update-ref", testRef, "HEAD")
			if packed {
				s.git("pack-refs", "--all", "--prune")
			}
			at := s.in(s.dir)
			if !git {
				at.vars["PATH"] = ""
			}
			r := at.open()
			if err := r.DeleteRef(ctx, testRef, "1111111111111111111111111111111111111111"); !errors.Is(err, ErrMoved) {
				t.Errorf("DeleteRef() of another value = %v", err)
			}
			err := r.DeleteRef(ctx, testRef, head)
			if !git && packed {
				if fault.KindOf(err) != fault.Refused {
					t.Errorf("DeleteRef() of a packed ref without git = %v", err)
				}
				s.git("update-ref", "-d", testRef)
				continue
			}
			if got, _ := s.try("rev-parse", "--verify", "--quiet", testRef); err != nil || got != "" {
				t.Errorf("git %t, packed %t: DeleteRef() = %v, left %q", git, packed, err, got)
			}
		}
	}
	if err := s.open().DeleteRef(ctx, "refs/heads/main", head); fault.KindOf(err) != fault.Refused {
		t.Errorf("DeleteRef(main) = %v", err)
	}
}

func FuzzPackedRefs(f *testing.F) {
	f.Add("# pack-refs with: peeled fully-peeled sorted \n0123456789012345678901234567890123456789 refs/heads/main\n")
	f.Add("0123456789012345678901234567890123456789 refs/tags/v1\n^0123456789012345678901234567890123456789\n")
	f.Add("0123456789012345678901234567890123456789 refs/tags/v1")
	f.Fuzz(func(t *testing.T, text string) {
		refs, err := parsePackedRefs(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, ref := range refs {
			fmt.Fprintf(&again, "%s %s\n", ref.Hash, ref.Name)
		}
		back, err := parsePackedRefs(again.String())
		if err != nil || !slices.Equal(refs, back) {
			t.Errorf("parsePackedRefs(%q) = %v, and of that %v, %v", text, refs, back, err)
		}
		for _, ref := range refs {
			if _, found := (packedRefs{refs: refs}).find(ref.Name); !found {
				t.Errorf("%q is not found", ref.Name)
			}
		}
	})
}
