//go:build unix

package testscripts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// caseDir holds inputs rebuilt from public reports about tools of this kind,
// a folder each; case.json there says what is expected and where it comes
// from.
const caseDir = "testdata/cases"

// TestCases runs each case: repository states (G) with git and without it,
// outputs of metrics (M). A folder without a test fails, and so does a test
// without a folder.
func TestCases(t *testing.T) {
	entries, err := os.ReadDir(caseDir)
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		tested[name] = true
		check, isGit := gitCases[name]
		if isGit {
			for _, way := range []string{"with git", "without git"} {
				t.Run(name+"/"+way, func(t *testing.T) {
					t.Parallel()
					s := newCase(t, name)
					if s.withoutGit = way == "without git"; s.withoutGit {
						s.forgeEnv = append(s.forgeEnv, "PATH="+pathWithoutGit(t))
					}
					check(s)
				})
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if metricCases[name] == nil {
				t.Fatal("this case has no test")
			}
			metricCases[name](t, filepath.Join(caseDir, name))
		})
	}
	for name := range gitCases {
		if !tested[name] {
			t.Errorf("%s has no folder in %s", name, caseDir)
		}
	}
	for name := range metricCases {
		if !tested[name] {
			t.Errorf("%s has no folder in %s", name, caseDir)
		}
	}
}

// gitCases are the repository states, each with what has to hold there.
var gitCases = map[string]func(s *caseSite){
	"G02-dirty-and-untracked": caseDirty,
	"G03-runtime-litter":      caseLitter,
	"G04-shallow":             caseShallow,
	"G05-linked-worktree":     caseLinkedWorktree,
	"G06-autocrlf":            caseAutocrlf,
	"G07-global-excludes":     caseGlobalExcludes,
	"G09-hookspath":           caseHooksPath,
	"G10-signing":             caseSigning,
	"G12-index-lock":          caseIndexLock,
	"G13-rebase-stopped":      caseRebaseStopped,
	"G16-unicode-path":        caseUnicodePath,
	"G18-showuntracked-no":    caseShowUntrackedNo,
	"G19-branch-exists":       caseBranchExists,
	"G21-sparse":              caseSparse,
	"G22-filemode-exec":       caseFileModes,
	"G23-commit-race":         caseCommitRace,
}

// caseSite is a site whose repository a case made.
type caseSite struct {
	*site
	withoutGit bool // forge finds none on its PATH
}

// newCase lets a case's setup.sh make the repository.
func newCase(t *testing.T, name string) *caseSite {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(caseDir, name, "setup.sh"))
	if err != nil {
		t.Fatal(err)
	}
	s := newGround(t)
	if err := os.Remove(s.dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", script, s.dir)
	cmd.Env = append(s.env, "CASE_HOME="+s.home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "main", ".git")); err == nil {
		s.dir = filepath.Join(s.dir, "main") // the linked worktree of G05
	}
	return &caseSite{site: s}
}

// pathWithoutGit is a PATH with forge and what metrics and proposers of these
// tests call, but no git.
func pathWithoutGit(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"forge", "sh", "cat", "wc", "sleep", "mkdir"} {
		program, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(program, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// skillFile is the skill every repository state has, theMetric its size, and
// proposer what makes it longer and then shorter.
const (
	skillFile = "skills/alpha/SKILL.md"
	theMetric = "wc -c < " + skillFile
	proposer  = `case $FORGE_EXPERIMENT in
exp-001) echo more >> SKILL.md;;
exp-002) echo less > SKILL.md;;
*) exit 10;;
esac`
)

// improving are the arguments of a run whose first experiment appends a line
// to the skill and is kept, and whose second shortens it and is not.
func improving(more ...string) []string {
	return append([]string{
		"run", "--target", skillFile, "--metric", theMetric, "--noise-repeats", "3", "--no-protect", "--proposer", "command:" + proposer,
	}, more...)
}

// inAlpha is the same proposer where the target is all skills.
const inAlpha = "command:cd alpha; " + proposer

// improves runs r1, which must keep its first experiment and touch nothing but
// what is forge's. It returns the run's branch.
func (s *caseSite) improves(more ...string) string {
	s.t.Helper()
	before := s.everything()
	p := s.forge(0, improving(append([]string{"--run", "r1"}, more...)...)...)
	if !strings.Contains(p.stdout.String(), "1 of 2 kept") {
		s.t.Fatalf("the run says\n%s%s", p.stdout.String(), p.stderr.String())
	}
	s.checkOnlyForge(before)
	s.checkSound()
	branch := s.git("for-each-ref", "--format=%(refname)", "refs/heads/forge/*/r1")
	s.checkPaths(branch)
	s.forge(0, "log", "r1")
	s.forge(0, "show", "r1/exp-001")
	s.forge(0, "report", "r1")
	return branch
}

// checkPaths demands that the run's branch changes the skill and forge's own
// folder, and nothing else.
func (s *caseSite) checkPaths(branch string) {
	s.t.Helper()
	for path := range strings.SplitSeq(s.git("diff", "-z", "--name-only", "HEAD", branch), "\x00") {
		if path != "" && path != skillFile && !strings.HasPrefix(path, ".forge/") {
			s.t.Errorf("the run changes %q", path)
		}
	}
}

// lands lands r1. Without git it says what to type, and that is done.
func (s *caseSite) lands() {
	s.t.Helper()
	if !s.withoutGit {
		s.forge(0, "land", "r1")
		return
	}
	before := s.everything()
	p := s.forge(3, "land", "r1")
	const hint = "forge: hint: git merge --ff-only refs/forge/runs/r1/landing\n"
	if !strings.Contains(p.stderr.String(), "needs git") || !strings.HasSuffix(p.stderr.String(), hint) {
		s.t.Errorf("forge land without git says\n%s", p.stderr.String())
	}
	s.checkOnlyForge(before)
	s.git("merge", "-q", "--ff-only", "refs/forge/runs/r1/landing")
}

// refused runs forge and demands that it says why not, and that nothing
// happened.
func (s *caseSite) refused(code int, sentence, hint string, args ...string) {
	s.t.Helper()
	before := s.everything()
	p := s.forge(code, args...)
	want := "forge: error: " + sentence + "\n"
	if hint != "" {
		want += "forge: hint: " + hint + "\n"
	}
	if got := p.stderr.String(); !strings.HasSuffix(got, want) {
		s.t.Errorf("forge %s says\n%swant\n%s", strings.Join(args, " "), got, want)
	}
	checkSame(s.t, before, s.everything())
}

// everything is all there is beside the temporary directory: work trees, git
// directories, other clones, the home.
func (s *caseSite) everything() map[string]string {
	s.t.Helper()
	tmp := filepath.Base(s.tmp)
	return listing(s.t, filepath.Dir(s.tmp), func(name string) bool { return name == tmp })
}

// checkOnlyForge demands that everything is as before but for what a run may
// write: objects, forge's refs with their reflogs, and forge's directory.
func (s *caseSite) checkOnlyForge(before map[string]string) {
	s.t.Helper()
	root := filepath.Dir(s.tmp)
	common, err := filepath.Rel(root, s.commonDir())
	if err != nil {
		s.t.Fatal(err)
	}
	now := s.everything()
	for _, seen := range []map[string]string{before, now} {
		for name := range seen {
			own, below := strings.CutPrefix(name, common)
			if below && isForges(strings.TrimPrefix(own, "/")) {
				delete(seen, name)
			}
		}
	}
	checkSame(s.t, before, now)
}

// isForges says whether a name in the common git directory is one a run
// makes, or a directory that such a name changes.
func isForges(name string) bool {
	if slices.Contains([]string{"", "refs", "refs/heads", "logs", "logs/refs", "logs/refs/heads"}, name) {
		return true
	}
	for _, own := range []string{"objects", "forge", "refs/forge", "refs/heads/forge", "logs/refs/heads/forge"} {
		if name == own || strings.HasPrefix(name, own+"/") {
			return true
		}
	}
	return false
}

// uncommitted is what forge run says of a dirty target.
func uncommitted(path string) (sentence, hint string) {
	return strconv.Quote(path) + " has uncommitted changes", "commit them first: forge measures what is committed"
}

// files reads files of the work tree.
func (s *caseSite) files(names ...string) (texts []string) {
	s.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			s.t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// committedIn says whether any commit of forge's holds a path.
func (s *caseSite) committedIn(path string) bool {
	s.t.Helper()
	return s.git("log", "--format=%h", "--exclude=refs/heads/main", "--all", "--", path) != ""
}

func caseDirty(s *caseSite) {
	sentence, hint := uncommitted(skillFile)
	s.refused(3, sentence, hint, improving("--run", "r1")...)
	s.git("commit", "-q", "-a", "-m", "mine")
	dirt := s.files("notes.txt", "skills/wip/draft.md")
	s.improves()
	s.lands()
	if now := s.files("notes.txt", "skills/wip/draft.md"); !slices.Equal(now, dirt) {
		s.t.Errorf("the person's files are %q, were %q", now, dirt)
	}
	if s.committedIn("notes.txt") || s.committedIn("skills/wip") {
		s.t.Error("a commit of forge holds what the person never committed")
	}
}

// caseLitter has a metric that writes into the repository and beside what it
// measures, as agents do.
func caseLitter(s *caseSite) {
	s.forgeEnv = append(s.forgeEnv, "LITTER="+filepath.Join(s.dir, ".omx", "y.jsonl"))
	args := improving("--run", "r1", "--pass-env", "LITTER", "--metric", `echo line >> "$LITTER"; mkdir -p .omx; echo line > .omx/z.jsonl; `+theMetric)
	if p := s.forge(0, args...); !strings.Contains(p.stdout.String(), "1 of 2 kept") {
		s.t.Fatalf("the run says\n%s%s", p.stdout.String(), p.stderr.String())
	}
	if got := s.files(".omx/x.jsonl", ".omx/y.jsonl"); got[0] != "log\n" || !strings.HasPrefix(got[1], "line\nline\n") {
		s.t.Errorf("the litter is %q", got)
	}
	s.lands()
	if s.committedIn(".omx") {
		s.t.Error("a commit holds the litter")
	}
	if status := s.git("status", "--porcelain"); status != "?? .omx/" {
		s.t.Errorf("git status says\n%s", status)
	}
	s.checkSound()
}

func caseShallow(s *caseSite) {
	s.improves()
	for _, args := range [][]string{{"log", "r1"}, {"log", "r1", "--json"}, {"report", "r1"}, {"status"}} {
		if p := s.forge(0, args...); strings.Contains(p.stderr.String()+p.stdout.String(), "not found") {
			s.t.Errorf("forge %s says\n%s%s", strings.Join(args, " "), p.stdout.String(), p.stderr.String())
		}
	}
	// The person goes on: where run and branch parted lies in front of the
	// boundary.
	s.git("commit", "-q", "--allow-empty", "-m", "mine")
	mine := s.git("rev-parse", "HEAD")
	s.lands()
	if log := s.git("log", "--format=%H", "-2"); !strings.HasSuffix(log, mine) || strings.HasPrefix(log, mine) {
		s.t.Errorf("after the landing HEAD's history is\n%s", log)
	}
	s.checkSound()
}

func caseLinkedWorktree(s *caseSite) {
	if !s.withoutGit { // the identity is the common configuration's
		s.forgeEnv = append(s.forgeEnv, "GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=", "GIT_COMMITTER_EMAIL=")
	}
	branch := s.improves()
	common := filepath.Join(filepath.Dir(s.dir), ".bare")
	for name, want := range map[string]bool{
		filepath.Join(common, "forge", "run-r1.lock"): true, filepath.Join(common, branch): true,
		filepath.Join(common, "worktrees", "main", "forge"): false, filepath.Join(common, "worktrees", "main", branch): false,
	} {
		if isThere(name) != want {
			s.t.Errorf("%s is there: %t, want %t", name, !want, want)
		}
	}
	if got := s.git("log", "-1", "--format=%an", branch); !s.withoutGit && got != "Tester" {
		s.t.Errorf("the author is %q", got)
	}
	s.lands()
	if status := s.git("status", "--porcelain"); status != "" {
		s.t.Errorf("git status says\n%s", status)
	}
}

func caseAutocrlf(s *caseSite) {
	if text := s.files(skillFile)[0]; !strings.Contains(text, "\r\n") {
		s.t.Fatalf("the skill on disk is %q", text)
	}
	branch := s.improves()
	s.lands()
	if blob := s.git("cat-file", "blob", branch+":"+skillFile); strings.Contains(blob, "\r") {
		s.t.Errorf("the commit holds %q", blob)
	}
	if status := s.git("status", "--porcelain"); status != "" {
		s.t.Errorf("git status says\n%s", status)
	}
	if text := s.files(skillFile)[0]; !strings.HasSuffix(text, "more\r\n") {
		s.t.Errorf("the skill on disk is %q", text)
	}
}

func caseGlobalExcludes(s *caseSite) {
	s.improves("--target", "skills/alpha/*")
	if s.lands(); s.committedIn(skillFile + ".bak") {
		s.t.Error("the file that the person excludes is in a commit")
	}
	if got := s.files(skillFile + ".bak"); got[0] != "x\n" {
		s.t.Errorf("the file that the person excludes is %q", got)
	}
}

func caseHooksPath(s *caseSite) {
	before := s.everything()
	p := s.forge(0, improving("--run", "r1")...)
	if n := strings.Count(p.stderr.String(), "git hooks do not run for its commits"); n != 1 {
		s.t.Errorf("the run says %d times that hooks do not run\n%s", n, p.stderr.String())
	}
	s.checkOnlyForge(before)
	s.lands()
	if n := s.git("rev-list", "--count", "ORIG_HEAD..HEAD"); n != "1" {
		s.t.Errorf("%s commits landed", n)
	}
	s.write(map[string]string{"mine.txt": "mine\n"})
	s.git("add", "mine.txt")
	if out, err := s.tryGit("commit", "-m", "mine"); err == nil || !strings.Contains(out, "need-conventional-commit") {
		s.t.Errorf("the person's hook does not run any more: %v\n%s", err, out)
	}
}

// caseSigning takes as long as forge waits for a signature.
func caseSigning(s *caseSite) {
	sentence, hint := "the commit could not be signed: no signature came within 1m0s", "let an agent hold the key's passphrase, and try git commit -S"
	if s.withoutGit {
		sentence, hint = "signing a commit (commit.gpgsign is true) needs git: no git binary was found on PATH", "install git, or put it on PATH"
	} else if testing.Short() {
		s.t.Skip("waits for the time limit of a signature")
	}
	before := s.everything()
	p := s.forge(3, improving("--run", "r1")...)
	if want := "forge: error: " + sentence + "\nforge: hint: " + hint + "\n"; p.stderr.String() != want {
		s.t.Errorf("forge says\n%swant\n%s", p.stderr.String(), want)
	}
	s.gone(nil)
	s.checkOnlyForge(before)
	if refs := s.git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		s.t.Errorf("there are the refs\n%s", refs)
	}
}

func caseIndexLock(s *caseSite) {
	s.improves()
	lock := filepath.Join(s.dir, ".git", "index.lock")
	before := s.everything()
	if s.withoutGit {
		s.forge(3, "land", "r1")
	} else if p := s.forge(1, "land", "r1"); !strings.Contains(p.stderr.String(), "Unable to create '"+lock+"': File exists.") {
		s.t.Errorf("forge land says\n%s", p.stderr.String())
	}
	delete(before, "repo/.git/ORIG_HEAD")
	now := filepath.Join(s.dir, ".git", "ORIG_HEAD")
	if err := os.Remove(now); err != nil && !os.IsNotExist(err) { // git merge begins with it
		s.t.Fatal(err)
	}
	s.checkOnlyForge(before)
	if err := os.Remove(lock); err != nil {
		s.t.Fatal(err)
	}
	s.lands()
	if status := s.git("status", "--porcelain"); status != "" {
		s.t.Errorf("git status says\n%s", status)
	}
}

func caseRebaseStopped(s *caseSite) {
	// The conflict lies in the skill itself: as long as it does, that is dirty.
	sentence, hint := uncommitted(skillFile)
	s.refused(3, sentence, hint, improving("--run", "r1")...)
	s.git("checkout", "-q", "HEAD", "--", skillFile)
	s.improves()
	// t is being rebased, and it changes the skill as well: whichever is said
	// first, nothing moves. land_rebase_underway.txtar has the sentence.
	before := s.everything()
	p := s.start("land", "r1", "--onto", "t")
	if p.wait() == 0 || !strings.Contains(p.stderr.String(), "forge: hint: ") {
		s.t.Errorf("forge land says\n%s%s", p.stdout.String(), p.stderr.String())
	}
	s.checkOnlyForge(before)
	s.git("-c", "core.editor=true", "rebase", "--skip")
	s.checkSound()
}

func caseUnicodePath(s *caseSite) {
	const tab = "skills/alpha/tab\tname.md"
	s.improves("--target", "skills/**", "--proposer", inAlpha, "--metric", `test -f "`+tab+`" && cat skills/技能/SKILL.md skills/alpha/SKILL.md | wc -c`)
	s.write(map[string]string{tab: "dirty\n"})
	s.refused(3, `"skills/alpha/tab\tname.md" has uncommitted changes`, "commit them first: forge measures what is committed",
		improving("--target", "skills/**")...)
}

func caseShowUntrackedNo(s *caseSite) {
	sentence, hint := uncommitted("skills/alpha/new.md")
	s.refused(3, sentence, hint, improving("--run", "r1", "--target", "skills/alpha/*")...)
	s.improves()
	s.lands()
	if s.committedIn("skills/alpha/new.md") {
		s.t.Error("a commit holds the untracked file")
	}
}

func caseBranchExists(s *caseSite) {
	before := s.everything()
	for _, want := range []string{"r1-", "r2-"} {
		if p := s.forge(0, improving()...); !strings.HasPrefix(p.stdout.String(), "run "+want) && !strings.Contains(p.stdout.String(), "\nrun "+want) {
			s.t.Errorf("the run says\n%s\nwant a name with %s", p.stdout.String(), want)
		}
	}
	s.checkSound()
	old := s.git("rev-parse", "refs/heads/forge/alpha/run-1")
	if old != s.git("rev-parse", "main") {
		s.t.Errorf("the earlier branch is at %s", old)
	}
	s.checkOnlyForge(before)
}

func caseSparse(s *caseSite) {
	if isThere(filepath.Join(s.dir, "skills/beta")) {
		s.t.Fatal("beta is checked out")
	}
	branch := s.improves("--target", "skills/**", "--proposer", inAlpha)
	s.lands()
	for _, commit := range []string{branch, "HEAD"} {
		if got, err := s.tryGit("rev-parse", commit+":skills/beta"); err != nil || got != s.git("rev-parse", "HEAD~1:skills/beta") {
			s.t.Errorf("%s has beta as %s", commit, got)
		}
	}
	if status := s.git("status", "--porcelain"); status != "" {
		s.t.Errorf("git status says\n%s", status)
	}
}

func caseFileModes(s *caseSite) {
	scripts := s.git("rev-parse", "HEAD:skills/alpha/scripts")
	if listed := s.git("ls-tree", "-r", scripts); !strings.Contains(listed, "100755 ") || !strings.Contains(listed, "120000 ") {
		s.t.Fatalf("the scripts are\n%s", listed)
	}
	branch := s.improves("--target", "skills/alpha/**")
	s.lands()
	for commit := range strings.FieldsSeq(s.git("log", "--format=%H", branch, "HEAD")) {
		if now, err := s.tryGit("rev-parse", commit+":skills/alpha/scripts"); err == nil && now != scripts && now != s.git("rev-parse", "main~1:skills/alpha/scripts") {
			s.t.Errorf("%s has the scripts as %s, want %s", commit, now, scripts)
		}
	}
	if now := s.git("rev-parse", "HEAD:skills/alpha/scripts"); now != scripts {
		s.t.Errorf("the landed scripts are %s, want %s", now, scripts)
	}
	if status := s.git("status", "--porcelain"); status != "" {
		s.t.Errorf("git status says\n%s", status)
	}
}

// caseCommitRace commits from outside while the run decides.
func caseCommitRace(s *caseSite) {
	gate := filepath.Join(s.tmp, "..", "home", "gate")
	s.forgeEnv = append(s.forgeEnv, "GATE="+gate)
	p := s.start(improving("--run", "r1", "--pass-env", "GATE", "--metric",
		`if [ $(`+theMetric+`) != 76 ]; then echo > "$GATE"; while [ -e "$GATE" ]; do sleep 0.01; done; fi; `+theMetric)...)
	s.until("the first candidate is measured", func() bool { return isThere(gate) })
	s.write(map[string]string{"late2.txt": "late\n"})
	s.git("add", "late2.txt")
	s.git("commit", "-q", "-m", "late2")
	foreign := s.git("rev-parse", "HEAD")
	for isRunning := true; isRunning; { // each measurement of a candidate waits again
		_ = os.Remove(gate)
		isRunning = p.signalAfter(5*time.Millisecond, syscall.Signal(0))
	}
	if code := p.wait(); code != 0 || !strings.Contains(p.stdout.String(), "1 of 2 kept") {
		s.t.Fatalf("forge exits %d\n%s%s", code, p.stdout.String(), p.stderr.String())
	}
	if got := s.git("rev-parse", "HEAD"); got != foreign {
		s.t.Errorf("HEAD is at %s, want the foreign commit %s", got, foreign)
	}
	s.lands()
	if _, err := s.tryGit("merge-base", "--is-ancestor", foreign, "HEAD"); err != nil {
		s.t.Error("the foreign commit is gone")
	}
	if got := s.files("late.txt", "late2.txt"); !slices.Equal(got, []string{"late\n", "late\n"}) {
		s.t.Errorf("the foreign files are %q", got)
	}
	s.checkSound()
}

// metricCases are recorded outputs of metrics.
var metricCases = map[string]func(t *testing.T, dir string){
	"M01-scientific": func(t *testing.T, dir string) {
		checkValue(t, readMetric(t, dir, "stdout.txt", "--name", "score"), "-0.00007539458549707136")
		checkValue(t, readMetric(t, dir, "stdout.txt", "--name", "big"), "420000000")
	},
	"M03-zero-for-missing": func(t *testing.T, dir string) {
		for _, more := range [][]string{nil, {"--name", "score"}, {"--name", "latency"}} {
			checkNoValue(t, readMetric(t, dir, "stdout.txt", more...), "line 1")
		}
	},
	"M04-nan-inf": func(t *testing.T, dir string) {
		checkNoValue(t, readMetric(t, dir, "stdout.txt", "--name", "score"), "line 1")
		rest := filepath.Join(t.TempDir(), "rest")
		whole, err := os.ReadFile(filepath.Join(dir, "stdout.txt"))
		if err == nil {
			err = os.WriteFile(rest, []byte(strings.Join(strings.SplitAfter(string(whole), "\n")[3:], "")), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		checkValue(t, readMetric(t, "", rest, "--name", "c"), "0")
	},
	"M07-duplicates": func(t *testing.T, dir string) {
		checkNoValue(t, readMetric(t, dir, "stdout.txt", "--name", "score"), "score")
	},
	"M13-background-child": func(t *testing.T, dir string) {
		script, err := os.ReadFile(filepath.Join(dir, "run.sh"))
		if err != nil {
			t.Fatal(err)
		}
		s := newSite(t, map[string]string{"run.sh": string(script), "n.txt": "1\n"})
		s.forge(0, "run", "--target", "n.txt", "--metric", "./run.sh", "--protect", "run.sh", "--noise-repeats", "3",
			"--proposer", "command:echo $FORGE_EXPERIMENT > n.txt", "--max-experiments", "2")
		s.gone(nil) // the children slept for ten minutes
		verdicts, _ := s.verdicts(s.branch())
		if len(verdicts) != 2 || !strings.HasPrefix(verdicts[1], "exp-002 NEUTRAL ") {
			t.Errorf("the run gave\n%s", strings.Join(verdicts, "\n"))
		}
	},
}

// readMetric gives a recorded output to forge loop metric.
func readMetric(t *testing.T, dir, file string, more ...string) *started {
	t.Helper()
	name, err := filepath.Abs(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if dir == "" {
		name = file
	}
	s := newGround(t)
	p := s.start(append([]string{"loop", "metric", name, "--baseline", "1"}, more...)...)
	p.wait()
	return p
}

func checkValue(t *testing.T, p *started, want string) {
	t.Helper()
	var document struct {
		Value json.Number `json:"current_value"`
	}
	err := json.Unmarshal(p.stdout.Bytes(), &document)
	if code := p.cmd.ProcessState.ExitCode(); err != nil || code != 0 || document.Value.String() != want {
		t.Errorf("%q exits %d with %q, want the value %s\n%s", p.cmd.Args, code, p.stdout.String(), want, p.stderr.String())
	}
}

// checkNoValue demands that there is no number, and that the error names why.
func checkNoValue(t *testing.T, p *started, why string) {
	t.Helper()
	if code := p.cmd.ProcessState.ExitCode(); code != 1 || p.stdout.Len() > 0 || !strings.Contains(p.stderr.String(), why) {
		t.Errorf("%q exits %d with %q, want 1 and an error that names %s\n%s", p.cmd.Args, code, p.stdout.String(), why, p.stderr.String())
	}
}
