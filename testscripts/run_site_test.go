//go:build unix

package testscripts

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests. It is no measure of anything: a
// loaded machine must not fail them.
const patience = 90 * time.Second

// site is a repository with everything a forge in it sees: an environment
// built from nothing and a temporary directory of its own, by which its
// processes are known.
type site struct {
	t    *testing.T
	dir  string // the work tree
	tmp  string // TMPDIR of forge
	home string
	env  []string

	forgeEnv []string // what else forge sees, over env
	brief    string   // one that was given, where a test asked for it
}

// newGround makes the directories and the environment of a site. There is no
// repository yet, and nothing will maintain it in the background.
func newGround(t *testing.T) *site {
	t.Helper()
	root := t.TempDir()
	s := &site{t: t, dir: filepath.Join(root, "repo"), tmp: filepath.Join(root, "tmp"), home: filepath.Join(root, "home")}
	for _, dir := range []string{s.dir, s.tmp, s.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.home, ".gitconfig"), []byte("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.tmp}
	for name, value := range hermetic() {
		s.env = append(s.env, name+"="+value)
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		s.env = append(s.env, "GOCOVERDIR="+dir)
	}
	return s
}

// newSite makes a repository with one commit of the files; those that end in
// .sh can be executed.
func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	s := newGround(t)
	s.write(files)
	s.git("init", "-q", "-b", "main")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "base")
	return s
}

// write writes files into the work tree.
func (s *site) write(files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		file := filepath.Join(s.dir, filepath.FromSlash(name))
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			s.t.Fatal(err)
		}
	}
}

// git runs git and returns what it printed, without the last line end.
func (s *site) git(args ...string) string {
	s.t.Helper()
	out, err := s.tryGit(args...)
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *site) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

// started is a program that was started at a site.
type started struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
	done   chan struct{} // closed when it is reaped
}

// start starts forge with the arguments.
func (s *site) start(args ...string) *started {
	s.t.Helper()
	return s.startProgram(append([]string{"forge"}, args...)...)
}

func (s *site) startProgram(argv ...string) *started {
	s.t.Helper()
	p := &started{t: s.t, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = s.dir, slices.Concat(s.env, s.forgeEnv), &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in ProcessState
		close(p.done)
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// wait returns the exit status, -1 after a signal.
func (p *started) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.done
		p.t.Fatalf("%q did not end within %s\n%s", p.cmd.Args, patience, p.stderr.String())
	}
	for _, bad := range []string{"panic: ", "goroutine ", "forge crashed", "DATA RACE"} {
		if strings.Contains(p.stderr.String(), bad) {
			p.t.Fatalf("%q crashed\n%s", p.cmd.Args, p.stderr.String())
		}
	}
	return p.cmd.ProcessState.ExitCode()
}

// signalAfter sends a signal after that time, unless the program has ended,
// and returns whether it did.
func (p *started) signalAfter(d time.Duration, signal os.Signal) bool {
	select {
	case <-p.done:
		return false
	case <-time.After(d):
		return p.cmd.Process.Signal(signal) == nil
	}
}

// endedBy says whether the program was ended by a signal.
func (p *started) endedBy(signal syscall.Signal) bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == signal
}

// forge runs forge and demands an exit status.
func (s *site) forge(want int, args ...string) *started {
	s.t.Helper()
	p := s.start(args...)
	if got := p.wait(); got != want {
		s.t.Fatalf("forge %s exits %d, want %d\n%s", strings.Join(args, " "), got, want, p.stderr.String())
	}
	return p
}

// until waits for a condition.
func (s *site) until(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// isThere says whether there is a file.
func isThere(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// living is a running process, told from a later one with its id by its
// start.
type living struct {
	pid, parent int
	start       string
	line        string // its command line
	environment string
}

// processes lists what runs; nothing where there is no /proc. Zombies do not
// run.
func processes(want func(living) bool) []living {
	entries, _ := os.ReadDir("/proc")
	var found []living
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", entry.Name())
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		p := living{pid, parent, fields[19], strings.ReplaceAll(string(line), "\x00", " "), string(environment)}
		if want(p) {
			found = append(found, p)
		}
	}
	return found
}

// children lists the children of a process.
func children(pid int) []living {
	return processes(func(p living) bool { return p.parent == pid })
}

func isOneOf(p living, those []living) bool {
	return slices.ContainsFunc(those, func(o living) bool { return o.pid == p.pid && o.start == p.start })
}

// gone waits until none of the processes runs and none that sees the site's
// temporary directory does.
func (s *site) gone(those []living) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := processes(func(p living) bool {
			return isOneOf(p, those) || strings.Contains(p.environment, s.tmp) || strings.Contains(p.line, s.tmp)
		})
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d processes of the run still live after %s, the first %d: %s", len(left), patience, left[0].pid, left[0].line)
		}
	}
}

// commonDir is the git directory that linked worktrees share.
func (s *site) commonDir() string {
	s.t.Helper()
	return s.git("rev-parse", "--path-format=absolute", "--git-common-dir")
}

// branch is the run's branch, "" while there is none.
func (s *site) branch() string {
	s.t.Helper()
	return s.git("for-each-ref", "--format=%(refname)", "refs/heads/forge")
}

// line of a ref file as git writes it.
var refLine = regexp.MustCompile(`^([0-9a-f]{40}|ref: refs/.*)\n$`)

// checkSound demands that the repository is whole: git finds nothing wrong,
// and no ref file is empty or malformed. Lock files may be left (R-REF-9).
func (s *site) checkSound() {
	s.t.Helper()
	if out, err := s.tryGit("fsck", "--strict", "--no-dangling", "--no-progress"); err != nil || out != "" {
		s.t.Fatalf("git fsck: %v\n%s", err, out)
	}
	err := filepath.WalkDir(filepath.Join(s.commonDir(), "refs"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(file, ".lock") {
			return err
		}
		text, err := os.ReadFile(file)
		if err == nil && !refLine.Match(text) {
			s.t.Errorf("the ref file %s holds %q", file, text)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// verdicts are the experiments of a run branch, oldest first: number,
// decision, delta and hypothesis, then the commit.
func (s *site) verdicts(branch string) (lines []string, last string) {
	s.t.Helper()
	const format = "%H%x00%(trailers:key=Forge-Experiment,valueonly,separator=)%x00%(trailers:key=Forge-Decision,valueonly,separator=)" +
		"%x00%(trailers:key=Forge-Delta,valueonly,separator=)%x00%b%x1e"
	for record := range strings.SplitSeq(s.git("log", "--first-parent", "--reverse", "--format="+format, branch), "\x1e") {
		fields := strings.Split(strings.TrimSpace(record), "\x00")
		if len(fields) < 5 || fields[1] == "" {
			continue
		}
		hypothesis, _, _ := strings.Cut(fields[4], "\n")
		lines = append(lines, strings.Join([]string{fields[1], fields[2], fields[3], hypothesis}, " "))
		last = fields[0]
	}
	return lines, last
}

// logRows are the experiments of the committed log.
func (s *site) logRows(branch string) (names []string) {
	s.t.Helper()
	run := branch[strings.LastIndexByte(branch, '/')+1:]
	for file := range strings.FieldsSeq(s.git("ls-tree", "-r", "--name-only", branch, ".forge/runs/"+run+"/log/")) {
		for row := range strings.Lines(s.git("show", branch+":"+file)) {
			if name := strings.Split(row, "\t")[1]; name != "experiment" {
				names = append(names, name)
			}
		}
	}
	return names
}

// outcome is what an undisturbed run gives and every other has to.
type outcome struct {
	verdicts []string
	last     string // commit of the last verdict
	took     time.Duration
}

// checkOutcome demands that a run that ended is the undisturbed one: the same
// verdicts, down to the commit, each once and each with its row in the log,
// and nothing left behind (roles.md R-RES-1).
func (s *site) checkOutcome(branch string, want outcome) {
	s.t.Helper()
	got, last := s.verdicts(branch)
	if !slices.Equal(got, want.verdicts) {
		s.t.Fatalf("the run gave\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want.verdicts, "\n"))
	}
	if last != want.last {
		s.t.Errorf("the last verdict is %s, want %s\n%s", last, want.last, s.git("log", "--first-parent", "--stat", "-1", last))
	}
	var names []string
	for _, line := range got {
		names = append(names, strings.Fields(line)[0])
	}
	if rows := s.logRows(branch); !slices.Equal(rows, names) {
		s.t.Errorf("the log has rows for %v, the branch verdicts of %v", rows, names)
	}
	s.checkTip(branch)
	s.checkNothingLeft()
}

// checkTip demands that the tip ref stands where the branch does (R-RUN-10).
func (s *site) checkTip(branch string) {
	s.t.Helper()
	run := branch[strings.LastIndexByte(branch, '/')+1:]
	if tip, err := s.tryGit("rev-parse", "--verify", "-q", "refs/forge/runs/"+run+"/tip"); err != nil || tip != s.git("rev-parse", branch) {
		s.t.Errorf("the tip ref of %s is at %q, its branch at %s", run, tip, s.git("rev-parse", branch))
	}
}

// checkNothingLeft demands that neither exports nor their records nor lock
// files are left.
func (s *site) checkNothingLeft() {
	s.t.Helper()
	for _, dir := range []string{s.tmp, filepath.Join(s.dir, ".git", "forge", "exports"), filepath.Join(s.dir, ".git", "forge", "ref-locks")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.t.Fatal(err)
		}
		for _, entry := range entries {
			// A lock's record that a killed process had not written yet says nothing
			// and goes when it is old.
			if info, err := entry.Info(); err == nil && (info.Size() > 0 || info.IsDir()) {
				s.t.Errorf("%s is left in %s", entry.Name(), dir)
			}
		}
	}
	_ = filepath.WalkDir(filepath.Join(s.dir, ".git", "refs"), func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".lock") {
			s.t.Errorf("%s is left", file)
		}
		return err
	})
}

// tuned is a small repository in which builtin:tune finds something for a
// dozen experiments: kept ones and others, no plateau before the end.
func tuned() map[string]string {
	return map[string]string{
		"app.conf": "width=10\ndepth=9\ndelay=10\n",
		"metric.sh": `#!/bin/sh
. ./app.conf
a=$((width - 40)) b=$((depth - 3)) c=$((delay - 70))
echo "METRIC cost=$((a * a + 20 * b * b + c * c / 2 + 100))"
`,
	}
}

// tunedRun are the arguments of a run on tuned.
func tunedRun() []string {
	return []string{
		"run", "--target", "app.conf", "--metric", "./metric.sh", "--minimize", "--relative",
		"--protect", "metric.sh", "--noise-repeats", "3", "--max-experiments", "12",
	}
}

// tunedResume are the arguments to go on with it.
func tunedResume() []string { return []string{"run", "--resume", "--max-experiments", "12"} }

// undisturbed is the outcome of a run on the files that nobody disturbs.
func undisturbed(t *testing.T, files map[string]string, args []string) outcome {
	t.Helper()
	want := outcomeOf(t, files, args)
	if len(want.verdicts) != 12 {
		t.Fatalf("the undisturbed run has %d experiments, want 12\n%s", len(want.verdicts), strings.Join(want.verdicts, "\n"))
	}
	return want
}

// outcomeOf is the same for a run of any length.
func outcomeOf(t *testing.T, files map[string]string, args []string) outcome {
	t.Helper()
	s := newSite(t, files)
	began := time.Now()
	s.forge(0, args...)
	took := time.Since(began)
	branch := s.branch()
	want := outcome{took: took}
	want.verdicts, want.last = s.verdicts(branch)
	s.checkSound()
	s.checkOutcome(branch, want)
	return want
}
