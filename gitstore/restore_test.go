package gitstore

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"forge/gitstore/crash"
	"forge/gitstore/fault"
)

// lay makes the working tree of a yard hold exactly these files, .git aside:
// "@target" is a link, "+text" executable, "/" an empty directory.
func (y *yard) lay(files map[string]string) {
	y.t.Helper()
	entries, err := os.ReadDir(y.dir)
	if err != nil {
		y.t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != ".git" {
			if err := os.RemoveAll(filepath.Join(y.dir, entry.Name())); err != nil {
				y.t.Fatal(err)
			}
		}
	}
	for path, content := range files {
		name := filepath.Join(y.dir, path)
		if content == "/" {
			err = os.MkdirAll(name, 0o755)
		} else if target, ok := strings.CutPrefix(content, "@"); ok {
			err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(target, name))
		} else {
			text, exec := strings.CutPrefix(content, "+")
			putFile(y.t, name, text)
			if exec {
				err = os.Chmod(name, 0o755)
			}
		}
		if err != nil {
			y.t.Fatal(err)
		}
	}
}

// laid is the reverse; directories are not in it.
func (y *yard) laid() map[string]string {
	y.t.Helper()
	files := map[string]string{}
	for path, what := range listing(y.t, y.dir) {
		switch {
		case path == ".git" || strings.HasPrefix(path, ".git/"), strings.HasPrefix(what, "d"):
			continue
		case strings.HasPrefix(what, "link "):
			files[path] = "@" + what[len("link "):]
		case strings.Contains(what[:10], "x"):
			files[path] = "+" + what[len("-rwxr-xr-x "):]
		default:
			files[path] = what[len("-rw-r--r-- "):]
		}
	}
	return files
}

func scopeOf(t testing.TB, r *Repo, target string) Scope {
	t.Helper()
	s, err := r.NewScope(target, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func snapshot(t testing.TB, r *Repo, s Scope) ScopeFiles {
	t.Helper()
	files, err := r.StoreScope(t.Context(), s, "")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// R-SNAP-3 to R-SNAP-5.
func TestScope(t *testing.T) {
	y := newYard(t)
	y.write(".gitignore", "*.log\nout/\n")
	y.lay(map[string]string{
		".gitignore": "*.log\nout/\n", "s/SKILL.md": "s", "s/.dot": "d", "s/run": "+r", "s/link": "@../other", "s/dangling": "@nowhere",
		"s/empty": "", "s/crlf": "a\r\nb", "s/x.log": "ignored", "s/out/o": "ignored", "other/a_test.go": "1", "other/deep/b_test.go": "2",
		"app/[slug]/page": "p", ".forge/runs/r": "never", "top_test.go": "3", "s/tracked.log": "t",
	})
	y.git("add", "-f", "s/tracked.log")
	y.gitIn(y.dir, "init", "-q", "s/nested")
	putFile(t, filepath.Join(y.dir, "s/nested/n"), "n")
	y.write("in/f", "f")
	if err := os.Symlink("in", filepath.Join(y.dir, "through")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(y.dir, "away")); err != nil {
		t.Fatal(err)
	}
	r := y.open()
	skill := []string{"s/.dot", "s/SKILL.md", "s/crlf", "s/dangling", "s/empty", "s/link", "s/run", "s/tracked.log"}
	tests := map[string]struct {
		target, kind, base string
		ignored            bool
		files, skipped     []string
	}{
		"a directory":              {"s", "directory", "s", false, skill, []string{"s/nested"}},
		"spelled otherwise":        {"./s//", "directory", "s", false, skill, []string{"s/nested"}},
		"with ignored":             {"s", "directory", "s", true, slices.Sorted(slices.Values(append(slices.Clone(skill), "s/x.log", "s/out/o"))), []string{"s/nested"}},
		"a file":                   {"s/SKILL.md", "file", "s", false, []string{"s/SKILL.md"}, nil},
		"an ignored file, named":   {"s/x.log", "file", "s", false, []string{"s/x.log"}, nil},
		"an ignored folder, named": {"s/out", "directory", "s/out", false, []string{"s/out/o"}, nil},
		"a link":                   {"s/link", "file", "s", false, []string{"s/link"}, nil},
		"brackets that exist":      {"app/[slug]", "directory", "app/[slug]", false, []string{"app/[slug]/page"}, nil},
		"a glob":                   {"*_test.go", "glob", ".", false, []string{"top_test.go"}, nil},
		"a glob across":            {"**/*_test.go", "glob", ".", false, []string{"other/a_test.go", "other/deep/b_test.go", "top_test.go"}, []string{"s/nested"}},
		"a glob with a base":       {"other/**/*.go", "glob", "other", false, []string{"other/a_test.go", "other/deep/b_test.go"}, nil},
		"a glob of nothing":        {"*.rs", "glob", ".", false, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := r.NewScope(tt.target, tt.ignored)
			if err != nil || string(s.Kind) != tt.kind || s.Base != tt.base {
				t.Fatalf("NewScope(%q) = %+v, %v, want a %s at %q", tt.target, s, err, tt.kind, tt.base)
			}
			got, err := r.ReadScope(t.Context(), s, "")
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, e := range got.Files {
				paths = append(paths, e.Path)
			}
			skipped := slices.DeleteFunc(got.Skipped, func(p string) bool { return tt.kind == "glob" && tt.skipped == nil })
			if !slices.Equal(paths, tt.files) || !slices.Equal(skipped, tt.skipped) {
				t.Errorf("files %q, skipped %q, want %q and %q", paths, got.Skipped, tt.files, tt.skipped)
			}
		})
	}
	for target, want := range map[string]string{
		"missing": "there is no", "../out": "leaves", "/etc": "absolute", "through/f": "is reached through the symbolic link", "away/f*": "leaves the repository through the symbolic link",
		".git/config": "belongs to git", ".forge/runs": "belongs to git or to forge", "s/nested": "lies in the repository at", "s/nested/n": "lies in the repository at",
	} {
		if s, err := r.NewScope(target, false); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("NewScope(%q) = %+v, %v, want a fault that says %q", target, s, err, want)
		}
	}
}

// R-SNAP-2: the tree holds the bytes on disk at their paths and nothing else,
// and making it changes neither index nor files.
func TestStoreScope(t *testing.T) {
	y := newYard(t)
	y.git("config", "core.autocrlf", "true")
	y.lay(map[string]string{"s/crlf": "a\r\n", "s/run": "+r", "s/l": "@x", "other": "o"})
	y.commit("start")
	index := listing(t, filepath.Join(y.dir, ".git"))["index"]
	r := y.open()
	files := snapshot(t, r, scopeOf(t, r, "s"))
	if got := listing(t, filepath.Join(y.dir, ".git"))["index"]; got != index {
		t.Error("the index changed")
	}
	id := commit(t, r, Change{Ref: "refs/forge/runs/manual/v1", Edits: files.Edits(), Subject: "snapshot"})
	diffListings(t, "snapshot", filesOfTree(t, r, files.Tree), map[string]string{"s/crlf": "a\r\n", "s/run": "+r", "s/l": "@x"})
	info, err := r.ReadCommit(t.Context(), id)
	if err != nil || info.Tree != files.Tree || len(info.Parents) > 0 {
		t.Errorf("commit %+v, %v, want the tree %s and no parent", info, err, files.Tree)
	}
	if files.Bytes != int64(len("a\r\n")+len("r")+len("x")) {
		t.Errorf("%d bytes", files.Bytes)
	}
	again := snapshot(t, r, scopeOf(t, r, "s"))
	if again.Tree != files.Tree {
		t.Error("the same state is another tree")
	}
	if out, ok := y.try("fsck", "--strict"); !ok {
		t.Error(out)
	}
}

// R-SNAP-5: a glob that matches nothing is a valid, empty snapshot.
func TestEmptyScope(t *testing.T) {
	y := newYard(t)
	y.write("a", "a")
	y.commit("a")
	r := y.open()
	files := snapshot(t, r, scopeOf(t, r, "*.none"))
	commit(t, r, Change{Ref: "refs/forge/runs/manual/v1", Edits: files.Edits(), Subject: "empty"})
	if out, ok := y.try("fsck", "--strict"); !ok {
		t.Error(out)
	}
	y.write("x.none", "new")
	plan, err := r.PlanRestore(t.Context(), scopeOf(t, r, "*.none"), y.at("refs/forge/runs/manual/v1"), KeepIgnored)
	if err != nil || len(plan.Steps) != 1 {
		t.Fatalf("plan %+v, %v", plan.Steps, err)
	}
	if _, err := plan.Restore(t.Context()); err != nil || exists(filepath.Join(y.dir, "x.none")) {
		t.Errorf("Restore() = %v, x.none is left: %v", err, exists(filepath.Join(y.dir, "x.none")))
	}
}

// R-SNAP-4: without an executable bit on the file system a known path keeps
// its mode.
func TestScopeWithoutFileMode(t *testing.T) {
	y := newYard(t)
	y.lay(map[string]string{"s/run": "+r", "s/plain": "p"})
	y.commit("start")
	y.git("config", "core.fileMode", "false")
	for name, mode := range map[string]fs.FileMode{"run": 0o644, "plain": 0o755} {
		if err := os.Chmod(filepath.Join(y.dir, "s", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	putFile(t, filepath.Join(y.dir, "s/new"), "n")
	if err := os.Chmod(filepath.Join(y.dir, "s/new"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := y.open()
	files := snapshot(t, r, scopeOf(t, r, "s"))
	diffListings(t, "snapshot", filesOfTree(t, r, files.Tree), map[string]string{"s/run": "+r", "s/plain": "p", "s/new": "n"})
}

// R-SNAP-7 to R-SNAP-9: what the snapshot had is there again to the byte and
// mode, what it had not is gone, and a second restore does nothing.
func TestRestore(t *testing.T) {
	was := map[string]string{
		"s/file": "f\n", "s/exec": "+x\n", "s/crlf": "a\r\nb", "s/empty": "", "s/link": "@file", "s/dangling": "@nowhere", "s/d/deep/f": "deep\n", "out": "o",
	}
	tests := map[string]struct {
		now   map[string]string // changes of the above
		steps []string
	}{
		"nothing":                  {nil, nil},
		"bytes":                    {map[string]string{"s/file": "F\n", "s/crlf": "a\nb"}, []string{"overwrite s/crlf", "overwrite s/file"}},
		"a final newline":          {map[string]string{"s/crlf": "a\r\nb\n"}, []string{"overwrite s/crlf"}},
		"modes":                    {map[string]string{"s/file": "+f\n", "s/exec": "x\n"}, []string{"overwrite s/exec", "overwrite s/file"}},
		"gone":                     {map[string]string{"s/file": "-", "s/d/deep/f": "-", "s/empty": "-", "s/dangling": "-"}, []string{"create s/d/deep/f", "create s/dangling", "create s/empty", "create s/file"}},
		"new":                      {map[string]string{"s/new/dir/f": "n", "s/n": "@out"}, []string{"delete s/n", "delete s/new/dir/f"}},
		"a link for a file":        {map[string]string{"s/file": "@../out"}, []string{"overwrite s/file"}},
		"a file for a link":        {map[string]string{"s/link": "file", "s/dangling": "d"}, []string{"overwrite s/dangling", "overwrite s/link"}},
		"another target":           {map[string]string{"s/link": "@exec"}, []string{"overwrite s/link"}},
		"a directory for a file":   {map[string]string{"s/file": "-", "s/file/a/b": "1", "s/file/c": "2"}, []string{"create s/file", "delete s/file/a/b", "delete s/file/c"}},
		"an empty directory":       {map[string]string{"s/file": "-", "s/file/a": "/"}, []string{"create s/file"}},
		"a file for a directory":   {map[string]string{"s/d/deep/f": "-", "s/d": "file"}, []string{"create s/d/deep/f", "delete s/d"}},
		"a link for a directory":   {map[string]string{"s/d/deep/f": "-", "s/d": "@.."}, []string{"create s/d/deep/f", "delete s/d"}},
		"everything gone":          {map[string]string{"s/file": "-", "s/exec": "-", "s/crlf": "-", "s/empty": "-", "s/link": "-", "s/dangling": "-", "s/d/deep/f": "-"}, []string{"create s/crlf", "create s/d/deep/f", "create s/dangling", "create s/empty", "create s/exec", "create s/file", "create s/link"}},
		"outside is not looked at": {map[string]string{"out": "changed", "other": "new", "s/file": "F"}, []string{"overwrite s/file"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.lay(was)
			y.commit("start")
			r := y.open()
			scope := scopeOf(t, r, "s")
			files := snapshot(t, r, scope)
			now := maps.Clone(was)
			maps.Copy(now, tt.now)
			maps.DeleteFunc(now, func(_, content string) bool { return content == "-" })
			y.lay(now)
			plan, err := r.PlanRestore(t.Context(), scope, files.Tree, KeepIgnored)
			if err != nil {
				t.Fatal(err)
			}
			var steps []string
			for _, step := range plan.Steps {
				steps = append(steps, string(step.Word)+" "+step.Path)
			}
			slices.Sort(steps)
			if !slices.Equal(steps, tt.steps) {
				t.Errorf("steps %q, want %q", steps, tt.steps)
			}
			before := y.laid()
			diffListings(t, "planning changed", before, maps.Collect(maps.All(withoutDirs(now))))
			done, err := plan.Restore(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(was)
			for path, content := range now {
				if !strings.HasPrefix(path, "s/") {
					want[path] = content
				}
			}
			diffListings(t, "restored", y.laid(), want)
			if len(done.Written)+len(done.Removed) != len(tt.steps) || done.Tree != files.Tree {
				t.Errorf("done %+v, want %q", done, tt.steps)
			}
			again, err := r.PlanRestore(t.Context(), scope, files.Tree, KeepIgnored)
			if err != nil || len(again.Steps) > 0 || again.Unchanged != 7 {
				t.Errorf("the second plan is %+v, %v, want nothing", again.Steps, err)
			}
			for path := range listing(t, y.dir) {
				if strings.Contains(path, restoreMark) || path == "s/new" {
					t.Errorf("%s is left", path)
				}
			}
		})
	}
}

func withoutDirs(files map[string]string) map[string]string {
	found := maps.Clone(files)
	maps.DeleteFunc(found, func(_, content string) bool { return content == "/" })
	return found
}

// R-SNAP-8: what stands in the way is named, and nothing is done.
func TestRestoreRefuses(t *testing.T) {
	was := map[string]string{".gitignore": "*.log\n", "s/d/f": "f\n", "s/g": "g\n"}
	tests := map[string]struct {
		target string
		now    map[string]string
		nested string
		want   string
		drop   bool // --force gets through
	}{
		"a link on the way, outside the scope":  {target: "s/d/f", now: map[string]string{"s/d/f": "-", "s/d": "@../elsewhere", "elsewhere/f": "precious\n"}, want: `"s/d" is a symbolic link outside the scope`},
		"a file on the way, outside the scope":  {target: "s/d/f", now: map[string]string{"s/d/f": "-", "s/d": "mine"}, want: `"s/d" is a file outside the scope`},
		"an ignored file in a directory to go":  {target: "s", now: map[string]string{"s/g": "-", "s/g/x.log": "precious"}, want: `the ignored file "s/g/x.log" stands in the way`, drop: true},
		"an ignored file where a directory was": {target: "s", now: map[string]string{".gitignore": "*.log\nd\n", "s/d/f": "-", "s/d": "precious"}, want: `the ignored file "s/d" stands in the way`, drop: true},
		"another file in a directory to go":     {target: "s/*g", now: map[string]string{"s/g": "-", "s/g/other": "precious"}, want: `"s/g/other" is not in the scope`},
		"a nested repository in a file's place": {target: "s", now: map[string]string{"s/g": "-", "s/g/": "/"}, nested: "s/g", want: `"s/g" is a repository of its own`},
		"a nested repository deeper":            {target: "s", now: map[string]string{"s/g": "-", "s/g/deep": "/"}, nested: "s/g/deep", want: `"s/g/deep" is a repository of its own`},
		"a nested repository on the way":        {target: "s", now: map[string]string{"s/d/f": "-", "s/d": "/"}, nested: "s/d", want: `"s/d" is a repository of its own`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.lay(was)
			y.commit("start")
			r := y.open()
			scope := scopeOf(t, r, tt.target)
			files := snapshot(t, r, scope)
			now := maps.Clone(was)
			maps.Copy(now, tt.now)
			maps.DeleteFunc(now, func(_, content string) bool { return content == "-" })
			y.lay(now)
			if tt.nested != "" {
				y.git("init", "-q", tt.nested)
			}
			before := listing(t, y.dir)
			_, err := r.PlanRestore(t.Context(), scope, files.Tree, KeepIgnored)
			if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("PlanRestore() = %v, want a refusal that says %q", err, tt.want)
			}
			diffListings(t, "after the refusal", listing(t, y.dir), before)
			plan, err := r.PlanRestore(t.Context(), scope, files.Tree, DropIgnored)
			if (err == nil) != tt.drop {
				t.Fatalf("with DropIgnored: %v", err)
			}
			if err != nil {
				return
			}
			if _, err := plan.Restore(t.Context()); err != nil {
				t.Error(err)
			}
			for path, content := range was {
				if strings.HasPrefix(path, "s/") && y.laid()[path] != content {
					t.Errorf("%s is %q, want %q", path, y.laid()[path], content)
				}
			}
		})
	}
}

// A snapshot from elsewhere names nothing outside its scope.
func TestRestoreForgedSnapshot(t *testing.T) {
	y := newYard(t)
	y.write("s/f", "f")
	y.commit("start")
	blob := y.git("rev-parse", "HEAD:s/f")
	r := y.open()
	for name, tree := range map[string]string{
		"outside": y.tree("100644 blob " + blob + "\tother"),
		"climbs":  y.tree("040000 tree " + y.tree("100644 blob "+blob+"\t..") + "\ts"),
		"git":     y.tree("040000 tree " + y.tree("040000 tree "+y.tree("100644 blob "+blob+"\tconfig")+"\t.git") + "\ts"),
		"module":  y.tree("040000 tree " + y.tree("160000 commit "+string(y.at("HEAD"))+"\tm") + "\ts"),
	} {
		if _, err := r.PlanRestore(t.Context(), scopeOf(t, r, "s"), Hash(tree), KeepIgnored); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: PlanRestore() = %v, want a refusal", name, err)
		}
	}
}

// R-SNAP-8: bytes that no commit HEAD reaches holds at that path are marked,
// whether git looks or forge.
func TestRestoreMarksUncommitted(t *testing.T) {
	y := newYard(t)
	y.write("s/a", "old", "s/b", "b", "s/c", "c")
	y.commit("one")
	y.write("s/a", "newer")
	y.commit("two")
	y.git("switch", "-q", "-c", "side", "HEAD~1")
	y.write("s/b", "on the side")
	y.commit("side")
	y.git("switch", "-q", "main")
	y.git("merge", "-q", "--no-ff", "-s", "ours", "-m", "merge", "side")
	y.git("switch", "-q", "-c", "elsewhere", "HEAD~1")
	y.write("s/c", "not reachable")
	y.commit("elsewhere")
	y.git("switch", "-q", "main")
	y.write("s/a", "snapshot", "s/b", "snapshot", "s/c", "snapshot")
	scope := Scope{Target: "s", Kind: ScopeDirectory, Base: "s"}
	files := snapshot(t, y.open(), scope)
	y.write("s/a", "old", "s/b", "on the side", "s/c", "not reachable", "s/d", "old", "s/e", "")
	want := map[string]bool{"s/a": false, "s/b": false, "s/c": true, "s/d": true, "s/e": true}
	scopes := map[string]*Repo{"git": y.open()}
	for name, r := range scopes {
		plan, err := r.PlanRestore(t.Context(), scope, files.Tree, KeepIgnored)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, step := range plan.Steps {
			got[step.Path] = step.Uncommitted
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: uncommitted %v, want %v", name, got, want)
		}
	}
	alone := y.openWith(y.dir, map[string]string{"PATH": ""})
	going := map[string]Hash{}
	current, err := y.open().ReadScope(t.Context(), scope, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range current.Files {
		going[file.Path] = file.Object
	}
	kept, err := alone.committedAt(t.Context(), y.at("HEAD"), going)
	if err != nil || !maps.Equal(kept, map[string]bool{"s/a": true, "s/b": true}) {
		t.Errorf("without git: committed %v, %v, want a and b", kept, err)
	}
}

// R-SNAP-8, R-SNAP-9: a file that changes between plan and act is left, and an
// interrupted restore is finished by another one.
func TestRestoreInterrupted(t *testing.T) {
	y := newYard(t)
	was := map[string]string{"s/a": "a", "s/b/c": "c", "s/l": "@a"}
	y.lay(was)
	y.commit("start")
	r := y.open()
	scope := scopeOf(t, r, "s")
	files := snapshot(t, r, scope)
	y.lay(map[string]string{"s/a": "A", "s/b": "B", "s/new": "n"})
	plan, err := r.PlanRestore(t.Context(), scope, files.Tree, KeepIgnored)
	if err != nil {
		t.Fatal(err)
	}
	y.write("s/a", "somebody types")
	if _, err := plan.Restore(t.Context()); fault.KindOf(err) != fault.Conflict || y.laid()["s/a"] != "somebody types" {
		t.Errorf("Restore() = %v with s/a %q, want it left", err, y.laid()["s/a"])
	}
	for n := 1; ; n++ {
		y.lay(map[string]string{"s/a": "A", "s/b": "B", "s/new": "n"})
		full := y.open()
		if full.env.Crash, err = crash.New(map[string]string{crash.FailVariable: strconv.Itoa(n)}, nil); err != nil {
			t.Fatal(err)
		}
		plan, err := full.PlanRestore(t.Context(), scope, files.Tree, KeepIgnored)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Restore(t.Context())
		if err == nil && n > 20 {
			break
		}
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("point %d: %v", n, err)
		}
		for path, content := range y.laid() {
			if strings.Contains(path, restoreMark) || content != was[path] && content != map[string]string{"s/a": "A", "s/b": "B", "s/new": "n"}[path] {
				t.Errorf("point %d: %s is %q", n, path, content)
			}
		}
		if plan, err = r.PlanRestore(t.Context(), scope, files.Tree, KeepIgnored); err == nil {
			_, err = plan.Restore(t.Context())
		}
		if err != nil {
			t.Errorf("point %d: the next restore: %v", n, err)
		}
		diffListings(t, "restored", y.laid(), was)
	}
}
