package gitstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
	"forge/gitstore/process"
)

func newExport(t testing.TB, r *Repo, keep ...string) *Export {
	t.Helper()
	plan := ExportPlan{Run: "r1-abcd"}
	for _, pattern := range keep {
		g, err := ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		plan.Keep = append(plan.Keep, g)
	}
	e, err := r.NewExport(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Remove(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func set(t testing.TB, e *Export, commit Hash) {
	t.Helper()
	if err := e.Set(context.Background(), commit); err != nil {
		t.Fatal(err)
	}
}

func (y *yard) link(path, target string) {
	y.t.Helper()
	name := filepath.Join(y.dir, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		y.t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		y.t.Fatal(err)
	}
}

func TestExportContents(t *testing.T) { // R-EXP-1, R-EXP-2; pitfalls 12, 13, 23 and 37
	y := newYard(t)
	y.git("config", "core.autocrlf", "true")
	y.write(
		".gitattributes", "*.txt text eol=crlf\nsecret.txt export-ignore\n",
		"lf.txt", "a\nb\n", "crlf.bin", "a\r\nb\r\n", "secret.txt", "s\n", "run.sh", "#!/bin/sh\n",
		".forge/config.toml", "x", "sub/.forge/x", "kept",
		"skills/x/SKILL.md", "skill", "skills/x/PURPOSE.md", "p", "skills/x/evals/evals.json", "{}", "skills/x/deep/evals/a", "deep",
		"skills/x/references/evals.md", "r", "src/evals/cases.json", "[]", "docs/PURPOSE.md", "doc", "src/evalsuite/a", "a", "big.bin",
		"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
	)
	if err := os.Chmod(filepath.Join(y.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, target := range map[string]string{
		"skills/x/inside": "references/evals.md", "skills/x/shared": "../../docs", "dangling": "build/out", "root": ".",
		"skills/x/a/b/tests": "../../evals", "skills/x/case": "evals/evals.json", "skills/x/deeper": "a/../deep/../evals/",
		"skills/x/escape": "../../../etc/passwd", "absolute": "/etc/passwd", "forge": ".forge/config.toml",
		"loop1": "loop2", "loop2": "loop1", "chain": "skills/x/escape", "through": "skills/x/shared/../PURPOSE.md",
		"skills/y/evals": "../../docs", "up": "root/../x",
	} {
		y.link(path, target)
	}
	y.write("skills/y/SKILL.md", "y")
	y.commit("one")
	y.git("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,module")
	y.git("commit", "-q", "-m", "gitlink")
	e := newExport(t, y.open())
	set(t, e, y.at("HEAD"))

	dirs := map[string]string{}
	for _, dir := range []string{"sub", "sub/.forge", "skills", "skills/x", "skills/x/deep", "skills/x/deep/evals", "skills/x/references", "skills/y", "src", "src/evals", "src/evalsuite", "docs"} {
		dirs[dir] = "drwxr-xr-x"
	}
	want := map[string]string{
		".gitattributes": "-rw-r--r-- *.txt text eol=crlf\nsecret.txt export-ignore\n",
		"lf.txt":         "-rw-r--r-- a\nb\n", "crlf.bin": "-rw-r--r-- a\r\nb\r\n", "secret.txt": "-rw-r--r-- s\n", "run.sh": "-rwxr-xr-x #!/bin/sh\n",
		"sub/.forge/x": "-rw-r--r-- kept", "skills/x/SKILL.md": "-rw-r--r-- skill", "skills/y/SKILL.md": "-rw-r--r-- y",
		"skills/x/deep/evals/a": "-rw-r--r-- deep", "skills/x/references/evals.md": "-rw-r--r-- r", "src/evals/cases.json": "-rw-r--r-- []",
		"docs/PURPOSE.md": "-rw-r--r-- doc", "src/evalsuite/a": "-rw-r--r-- a",
		"big.bin":         "-rw-r--r-- version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
		"skills/x/inside": "link references/evals.md", "skills/x/shared": "link ../../docs", "dangling": "link build/out", "root": "link .",
		"through": "link skills/x/shared/../PURPOSE.md",
	}
	for dir, mode := range dirs {
		want[dir] = mode
	}
	diffListings(t, "export", listing(t, e.Tree), want)
	skipped := []string{"absolute", "chain", "forge", "loop1", "loop2", "module", "skills/x/a/b/tests", "skills/x/case", "skills/x/deeper", "skills/x/escape", "up"}
	if got := e.Skipped(); !slices.Equal(got, skipped) {
		t.Errorf("Skipped() = %q, want %q", got, skipped)
	}
	if got := e.Warnings(); len(got) != 1 || !strings.Contains(got[0], `"big.bin"`) {
		t.Errorf("Warnings() = %q, want one about big.bin", got)
	}
	for _, dir := range []string{filepath.Dir(e.Tree), e.Tree, e.Home, e.Tmp} {
		if info, err := os.Lstat(dir); err != nil || info.Mode().String() != "drwx------" {
			t.Errorf("%s: %v, %v, want drwx------", dir, info.Mode(), err)
		}
	}
}

func TestExportSkillLayout(t *testing.T) { // R-EXP-2
	y := newYard(t)
	y.write("skills/x/SKILL.md", "x", "docs/a.md", "a", "skills/y/SKILL.md", "y")
	y.link("skills/x/out", "../../docs")
	y.link("skills/x/other", "../y/SKILL.md")
	y.link("skills/x/own", "./SKILL.md")
	y.link("docs/free", "../skills/x")
	commit := y.commit("one")
	e, err := y.open().NewExport(t.Context(), ExportPlan{SkillLayout: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Remove()
	set(t, e, commit)
	if got, want := e.Skipped(), []string{"skills/x/other", "skills/x/out"}; !slices.Equal(got, want) {
		t.Errorf("Skipped() = %q, want %q", got, want)
	}
}

func TestExportSetCleansWhatAChildLeft(t *testing.T) { // R-EXP-3
	y := newYard(t)
	y.write("a.txt", "aaaa", "d/b.txt", "bbbb", "d/e/c.txt", "cccc", "run.sh", "#!")
	if err := os.Chmod(filepath.Join(y.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	y.link("l", "a.txt")
	commit := y.commit("one")
	r := y.open()
	outside := filepath.Join(t.TempDir(), "outside")
	putFile(t, filepath.Join(outside, "precious"), "precious")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]func(tree string){
		"nothing":        func(string) {},
		"new file":       func(tree string) { putFile(t, tree+"/d/new", "x") },
		"new directory":  func(tree string) { putFile(t, tree+"/build/x/y", "x") },
		"empty dir":      func(tree string) { must(os.Mkdir(tree+"/empty", 0o700)) },
		"link out":       func(tree string) { must(os.Symlink(outside, tree+"/out")) },
		"changed":        func(tree string) { putFile(t, tree+"/a.txt", "other text") },
		"removed":        func(tree string) { must(os.Remove(tree + "/d/b.txt")) },
		"removed dir":    func(tree string) { must(os.RemoveAll(tree + "/d")) },
		"mode":           func(tree string) { must(os.Chmod(tree+"/a.txt", 0o777)) },
		"exec bit":       func(tree string) { must(os.Chmod(tree+"/run.sh", 0o644)) },
		"directory mode": func(tree string) { must(os.Chmod(tree+"/d", 0o1777)) },
		"unreadable":     func(tree string) { must(os.Chmod(tree+"/d/e", 0)) },
		"tree removed":   func(tree string) { must(os.RemoveAll(tree)) },
		"link for tree":  func(tree string) { must(os.RemoveAll(tree)); must(os.Symlink(outside, tree)) },
		"home removed":   func(tree string) { must(os.RemoveAll(filepath.Join(filepath.Dir(tree), "home"))) },
		"root mode":      func(tree string) { must(os.Chmod(tree, 0o500)) },
		"read-only tree": func(tree string) {
			putFile(t, tree+"/ro/x/y", "x")
			must(os.Chmod(tree+"/ro/x/y", 0o400))
			must(os.Chmod(tree+"/ro/x", 0o500))
			must(os.Chmod(tree+"/ro", 0))
			must(os.Chmod(tree+"/d", 0o500))
		},
		"dir for file": func(tree string) { must(os.Remove(tree + "/a.txt")); putFile(t, tree+"/a.txt/x", "x") },
		"file for dir": func(tree string) { must(os.RemoveAll(tree + "/d")); putFile(t, tree+"/d", "x") },
		"link for dir": func(tree string) { must(os.RemoveAll(tree + "/d")); must(os.Symlink(outside, tree+"/d")) },
		"link for file": func(tree string) {
			must(os.Remove(tree + "/a.txt"))
			must(os.Symlink(outside+"/precious", tree+"/a.txt"))
		},
		"link changed":      func(tree string) { must(os.Remove(tree + "/l")); must(os.Symlink("run.sh", tree+"/l")) },
		"file for link":     func(tree string) { must(os.Remove(tree + "/l")); putFile(t, tree+"/l", "aaaa") },
		"renamed over":      func(tree string) { must(os.Rename(tree+"/d/b.txt", tree+"/a.txt")) },
		"hard link outside": func(tree string) { must(os.Link(tree+"/a.txt", outside+"/hard")) },
		"same size, time put back": func(tree string) {
			info, err := os.Stat(tree + "/a.txt")
			must(err)
			must(os.WriteFile(tree+"/a.txt", []byte("zzzz"), 0o644))
			must(os.Chtimes(tree+"/a.txt", info.ModTime(), info.ModTime()))
		},
	}
	for name, child := range tests {
		t.Run(name, func(t *testing.T) {
			e := newExport(t, r)
			set(t, e, commit)
			want := listing(t, e.Tree)
			child(e.Tree)
			set(t, e, commit)
			diffListings(t, name, listing(t, e.Tree), want)
			if info, err := os.Stat(e.Tree); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode of the tree is %v, %v, want 0700", info.Mode(), err)
			}
			if !isDir(e.Home) || !isDir(e.Tmp) {
				t.Error("home or temporary directory is gone")
			}
			if data, err := os.ReadFile(outside + "/precious"); err != nil || string(data) != "precious" {
				t.Errorf("the file outside is %q, %v", data, err)
			}
			if name == "hard link outside" { // written anew, not through the shared inode
				a, _ := os.Stat(e.Tree + "/a.txt")
				b, _ := os.Stat(outside + "/hard")
				if os.SameFile(a, b) {
					t.Error("a.txt still shares its inode with a file outside")
				}
			}
		})
	}
}

func TestExportSetAtOnce(t *testing.T) { // an edit in the very tick of the write is found
	y := newYard(t)
	y.write("a", "0000", "b", "bbbb")
	commit := y.commit("one")
	e := newExport(t, y.open())
	for i := range 50 {
		set(t, e, commit)
		if data, err := os.ReadFile(e.Tree + "/a"); err != nil || string(data) != "0000" {
			t.Fatalf("round %d: a is %q, %v, want 0000", i, data, err)
		}
		info, err := os.Stat(e.Tree + "/a")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(e.Tree+"/a", fmt.Appendf(nil, "%04d", i+1), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(e.Tree+"/a", info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExportSetBetweenCommits(t *testing.T) { // R-EXP-3
	y := newYard(t)
	r := y.open()
	remove := func(path string) {
		if err := os.RemoveAll(filepath.Join(y.dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	var commits []Hash
	for _, step := range []func(){
		func() {
			y.write("a", "1", "b/c", "1", "s/SKILL.md", "s", "s/evals/e", "e", "s/PURPOSE.md", "p", "x", "x")
		},
		func() { y.write("a", "2") },
		func() { remove("a"); y.write("a/b/c", "3") },             // a file becomes a directory
		func() { remove("b"); y.write("b", "file") },              // and the reverse
		func() { remove("s/SKILL.md") },                           // what stood beside it appears
		func() { y.write("s/SKILL.md", "again") },                 // and goes
		func() { remove("x"); y.link("x", "s/evals") },            // left out
		func() { remove("s/SKILL.md") },                           // now it may be followed
		func() { remove("x"); y.link("x", "b") },                  // another link
		func() { _ = os.Chmod(filepath.Join(y.dir, "b"), 0o755) }, // only a mode
		func() { remove("a"); remove("b"); remove("s"); remove("x") },
	} {
		step()
		commits = append(commits, y.commit("step"))
	}
	walking := newExport(t, r)
	order := slices.Clone(commits)
	slices.Reverse(order)
	for i, commit := range append(slices.Clone(commits), append(order, commits[0], commits[6], commits[2], commits[9])...) {
		set(t, walking, commit)
		fresh := newExport(t, r)
		set(t, fresh, commit)
		diffListings(t, fmt.Sprintf("step %d", i), listing(t, walking.Tree), listing(t, fresh.Tree))
		if !slices.Equal(walking.Skipped(), fresh.Skipped()) {
			t.Errorf("step %d: Skipped() = %q, want %q", i, walking.Skipped(), fresh.Skipped())
		}
	}
}

func TestExportRandom(t *testing.T) { // R-EXP-3: whatever happened, Set gives what a new export has
	y := newYard(t)
	r := y.open()
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "d/a", "d/b", "d/d/a", "e/x", "e/SKILL.md", "e/evals/t", "e/PURPOSE.md"}
	// change does something to a directory that a child or an author might.
	change := func(dir string) {
		name := filepath.Join(dir, names[random.IntN(len(names))])
		_ = os.RemoveAll(name)
		for up := filepath.Dir(name); up != dir; up = filepath.Dir(up) {
			if info, err := os.Lstat(up); err == nil && !info.IsDir() {
				_ = os.Remove(up)
			}
		}
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		switch random.IntN(6) {
		case 0:
			_ = os.Symlink(names[random.IntN(len(names))], name)
		case 1:
			_ = os.MkdirAll(name, 0o755)
			putFile(t, name+"/below", fmt.Sprint(random.IntN(3)))
		case 2:
		default:
			putFile(t, name, fmt.Sprint(random.IntN(3)))
			_ = os.Chmod(name, []os.FileMode{0o644, 0o755}[random.IntN(2)])
		}
	}
	var commits []Hash
	for range 12 {
		for range 4 {
			change(y.dir)
		}
		commits = append(commits, y.commit("random"))
	}
	e := newExport(t, r)
	for i := range 60 {
		commit := commits[random.IntN(len(commits))]
		set(t, e, commit)
		fresh := newExport(t, r)
		set(t, fresh, commit)
		diffListings(t, fmt.Sprintf("round %d", i), listing(t, e.Tree), listing(t, fresh.Tree))
		if t.Failed() {
			return
		}
		for range random.IntN(5) {
			change(e.Tree)
		}
	}
}

func TestExportKeep(t *testing.T) { // R-EXP-3; pitfall 36
	y := newYard(t)
	y.write("a", "a", "cache/tracked", "t", "cache/moved", "m")
	one := y.commit("one")
	y.git("rm", "-q", "cache/moved")
	two := y.commit("two")
	y.write("out/gen", "now tracked")
	three := y.commit("three")
	e := newExport(t, y.open(), "cache", "**/__pycache__", "out/*", "deep/**/*.o")
	set(t, e, one)
	for path, content := range map[string]string{
		"cache/tracked": "changed", "cache/x": "x", "cache/s/y": "y", "other": "o", "p/__pycache__/m": "m", "p/q": "q",
		"out/gen": "g", "out/d/n": "n", "deep/a/b.o": "o", "deep/a/b.c": "c",
	} {
		name := filepath.Join(e.Tree, path)
		putFile(t, name, content)
		_ = os.Chmod(name, 0o644) // whatever the umask is
		for dir := filepath.Dir(name); dir != e.Tree; dir = filepath.Dir(dir) {
			_ = os.Chmod(dir, 0o755)
		}
	}
	if err := os.Chmod(filepath.Join(e.Tree, "cache/s"), 0o500); err != nil {
		t.Fatal(err)
	}
	set(t, e, two)
	want := map[string]string{
		"a": "-rw-r--r-- a", "cache": "drwxr-xr-x", "cache/tracked": "-rw-r--r-- t", "cache/x": "-rw-r--r-- x",
		"cache/s": "dr-x------", "cache/s/y": "-rw-r--r-- y", "p": "drwxr-xr-x", "p/__pycache__": "drwxr-xr-x", "p/__pycache__/m": "-rw-r--r-- m",
		"out": "drwxr-xr-x", "out/gen": "-rw-r--r-- g", "out/d": "drwxr-xr-x", "deep": "drwxr-xr-x", "deep/a": "drwxr-xr-x", "deep/a/b.o": "-rw-r--r-- o",
	}
	diffListings(t, "kept", listing(t, e.Tree), want)
	set(t, e, three)
	want["out/gen"] = "-rw-r--r-- now tracked"
	diffListings(t, "tracked now", listing(t, e.Tree), want)
}

func TestExportLiesOutsideTheRepository(t *testing.T) { // R-EXP-4; pitfall 22
	y := newYard(t)
	y.write("a", "a")
	commit := y.commit("one")
	inside := filepath.Join(y.dir, "tmp")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"work tree": inside, "git directory": filepath.Join(y.dir, ".git"), "link": link, "relative": "tmp", "missing": "/no/such/dir"} {
		_, err := y.openWith(y.dir, map[string]string{"TMPDIR": dir}).NewExport(t.Context(), ExportPlan{})
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: NewExport = %v, want a usage fault", name, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(y.dir, ".git/forge/exports/*")); len(left) > 0 {
		t.Errorf("records left: %q", left)
	}

	real := filepath.Join(t.TempDir(), "real")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(real, linked); err != nil {
		t.Fatal(err)
	}
	e := newExport(t, y.openWith(y.dir, map[string]string{"TMPDIR": linked}))
	set(t, e, commit)
	if e.Parent() != realDir(t, real) {
		t.Errorf("Parent() = %q, want %q", e.Parent(), real)
	}
	result, err := process.Plain(t.Context(), process.Command{
		Argv: []string{"git", "rev-parse", "--git-dir"}, Dir: e.Tree,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + e.Home, "GIT_CEILING_DIRECTORIES=" + e.Parent()},
	})
	if err != nil || result.OK() {
		t.Errorf("git found %q, %v in the export, want no repository", result.Stdout, err)
	}
}

func TestExportNamesSayNothing(t *testing.T) { // R-EXP-7; pitfall 39
	y := newYard(t)
	y.commit("one")
	r := y.open()
	form := regexp.MustCompile(`^forge-x-[a-z0-9]{16}$`)
	for range 2 {
		e := newExport(t, r)
		if name := filepath.Base(filepath.Dir(e.Tree)); !form.MatchString(name) {
			t.Errorf("an export is called %q", name)
		}
		for got, want := range map[string]string{e.Tree: "tree", e.Home: "home", e.Tmp: "tmp"} {
			if filepath.Base(got) != want {
				t.Errorf("directory %q, want %q", got, want)
			}
		}
	}
}

func TestExportMissingBlobIsNoDeletion(t *testing.T) { // pitfall 11
	y := newYard(t)
	y.write("a", "a", "dir/gone", "missing")
	commit := y.commit("one")
	blob := y.git("rev-parse", "HEAD:dir/gone")
	if err := os.Remove(filepath.Join(y.dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	err := newExport(t, y.open()).Set(t.Context(), commit)
	if err == nil || !strings.Contains(err.Error(), `"dir/gone"`) {
		t.Errorf("Set = %v, want an error that names dir/gone", err)
	}
}

func TestExportRecoversFromAFailedSet(t *testing.T) { // K4: the error names the path, the next Set works
	y := newYard(t)
	y.write("a", "a")
	good := y.commit("one")
	blob := y.git("rev-parse", "HEAD:a")
	list := filepath.Join(t.TempDir(), "tree")
	long := strings.Repeat("n", 300) // no file system takes it
	putFile(t, list, fmt.Sprintf("100644 blob %s\t%s\n100644 blob %s\tz\n", blob, long, blob))
	out := shell(t, y, "git mktree --missing <"+list)
	bad := Hash(y.git("commit-tree", "-m", "bad", strings.TrimSpace(out)))
	e := newExport(t, y.open())
	for range 2 {
		set(t, e, good)
		err := e.Set(t.Context(), bad)
		if err == nil || !strings.Contains(err.Error(), long) {
			t.Fatalf("Set = %v, want an error that names the path", err)
		}
	}
	set(t, e, good)
	diffListings(t, "after", listing(t, e.Tree), map[string]string{"a": "-rw-r--r-- a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Set(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("Set of a cancelled context = %v", err)
	}
}

func TestExportUnsafeNames(t *testing.T) { // R-TREE-3 is about writing; a forged tree must not escape
	y := newYard(t)
	y.write("a", "a")
	y.commit("one")
	blob := y.git("rev-parse", "HEAD:a")
	inner := y.tree("100644 blob " + blob + "\tconfig")
	outer := y.tree("040000 tree "+inner+"\t.git", "040000 tree "+inner+"\t..", "100644 blob "+blob+"\tok")
	e := newExport(t, y.open())
	set(t, e, Hash(y.git("commit-tree", "-m", "forged", outer)))
	diffListings(t, "forged", listing(t, e.Tree), map[string]string{"ok": "-rw-r--r-- a"})
	if got, want := e.Skipped(), []string{"../config", ".git/config"}; !slices.Equal(got, want) {
		t.Errorf("Skipped() = %q, want %q", got, want)
	}
}

// loop.md R-INV-7: what a child changed or removed of the files that are
// looked at; what it added or only rewrote with the same bytes is no change.
func TestExportAltered(t *testing.T) {
	y := newYard(t)
	y.write("p/same", "1", "p/bytes", "1", "p/mode", "1", "p/gone", "1", "p/dir", "1", "p/linked", "1", "free", "1")
	e := newExport(t, y.open())
	set(t, e, y.commit("one"))
	on := func(name string) string { return filepath.Join(e.Tree, filepath.FromSlash(name)) }
	for _, err := range []error{
		os.WriteFile(on("p/same"), []byte("1"), 0o644), os.WriteFile(on("p/bytes"), []byte("2"), 0o644), os.Chmod(on("p/mode"), 0o755),
		os.Remove(on("p/gone")), os.Remove(on("p/dir")), os.Mkdir(on("p/dir"), 0o755), os.Remove(on("p/linked")), os.Symlink("same", on("p/linked")),
		os.WriteFile(on("p/new"), nil, 0o644), os.WriteFile(on("free"), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := e.Altered(func(p string) bool { return strings.HasPrefix(p, "p/") })
	if want := []string{"p/bytes", "p/dir", "p/gone", "p/linked", "p/mode"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Altered = %v, %v, want %v", got, err, want)
	}
}
