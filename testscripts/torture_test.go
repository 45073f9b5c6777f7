//go:build unix

package testscripts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"forge/gitstore/crash"
)

// tortureVariable asks for the large form of the tests that kill forge and
// fill its disk: its value is the number of random kills. `make torture` sets
// it. Without it a sample of the points is taken and few kills are made.
const tortureVariable = "FORGE_TORTURE"

// randomKills is how often a test kills a run at random moments.
func randomKills(t *testing.T) int {
	t.Helper()
	if text := os.Getenv(tortureVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, want the number of kills", tortureVariable, text)
		}
		return n
	}
	if testing.Short() {
		return killsShort
	}
	return kills
}

// sampled is how many crash points of each kind an ordinary test takes.
const sampled = 4

// deed is a command of forge that is done under torture.
type deed struct {
	ready func(t *testing.T) *site // a repository in which it can be done
	args  func(s *site) []string
	again func(s *site) // goes on after a failure, as a person would, to the end
	check func(s *site) // all is as if nothing had been
}

// points are the names of the crash points the deed passes, in order.
func (d deed) points(t *testing.T) []string {
	t.Helper()
	s := d.ready(t)
	s.forgeEnv = []string{crash.CrashVariable + "=trace"}
	p := s.forge(0, d.args(s)...)
	var names []string
	for line := range strings.Lines(p.stderr.String()) {
		if rest, ok := strings.CutPrefix(line, "forge: crash point "); ok {
			_, name, _ := strings.Cut(strings.TrimSpace(rest), " ")
			names = append(names, name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("%d crash points\n%s", len(names), p.stderr.String())
	}
	return names
}

// torture does the deed once for each point that it is given, or for a
// sample, spread over the processors. One point again:
//
//	FORGE_TORTURE=1 go test ./testscripts -run 'TestCrash/run/worker/at_10$'
func torture(t *testing.T, points []int, once func(t *testing.T, n int)) {
	t.Helper()
	if os.Getenv(tortureVariable) == "" {
		newRandom(t).Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		points = points[:min(sampled, len(points))]
	}
	t.Logf("%d points", len(points))
	var next atomic.Int64
	for worker := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
			t.Parallel()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(points) {
					return
				}
				t.Run(fmt.Sprint("at ", points[i]), func(t *testing.T) { once(t, points[i]) })
			}
		})
	}
}

// crashes kills the deed at each of its crash points. What is left is a whole
// repository, and going on brings what an undisturbed deed does, to the hash
// (gitstore.md section 15, K2 and K6).
func (d deed) crashes(t *testing.T) {
	names := d.points(t)
	var all []int
	for n := range names {
		all = append(all, n+1)
	}
	torture(t, all, func(t *testing.T, n int) {
		name := names[n-1]
		s := d.ready(t)
		s.forgeEnv = []string{crash.CrashVariable + "=" + strconv.Itoa(n)}
		p := s.start(d.args(s)...)
		if p.wait(); !p.endedBy(syscall.SIGKILL) {
			t.Fatalf("point %d, %s: forge ended with %s\n%s", n, name, p.cmd.ProcessState, p.stderr.String())
		}
		s.forgeEnv = nil
		s.checkSound()
		d.again(s)
		d.check(s)
		s.checkSound()
		if t.Failed() {
			t.Logf("killed at point %d, %s", n, name)
		}
	})
}

// fails lets the write after each crash point fail as on a full disk. forge
// says so and exits 1, or does without what it could not write; no lock is
// left, and going on brings what an undisturbed deed does (K4).
func (d deed) fails(t *testing.T) {
	names := d.points(t)
	var writes []int
	for n, name := range names {
		if strings.HasPrefix(name, "before ") && !strings.HasPrefix(name, "before child") {
			writes = append(writes, n+1)
		}
	}
	torture(t, writes, func(t *testing.T, n int) {
		name := names[n-1]
		s := d.ready(t)
		s.forgeEnv = []string{crash.FailVariable + "=" + strconv.Itoa(n)}
		p := s.start(d.args(s)...)
		code, says := p.wait(), p.stderr.String()
		s.forgeEnv = nil
		switch {
		case code == 1 && strings.Contains(says, "forge: error: ") && strings.Contains(says, "no space left on device"):
			s.checkNoLocks()
		case code != 0:
			t.Fatalf("point %d, %s: forge exits %d\n%s", n, name, code, says)
		}
		s.checkSound()
		d.again(s)
		d.check(s)
		s.checkSound()
		if t.Failed() {
			t.Logf("the write after point %d, %s, failed: exit %d\n%s", n, name, code, says)
		}
	})
}

// checkNoLocks demands that no lock file is left that git or forge would wait
// for.
func (s *site) checkNoLocks() {
	s.t.Helper()
	err := filepath.WalkDir(s.commonDir(), func(file string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".lock") && filepath.Dir(file) != filepath.Join(s.commonDir(), "forge") {
			s.t.Errorf("%s is left", file)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// shortRun are the arguments of a run of three experiments on tuned, two of
// them kept, or to go on with it.
func shortRun(more ...string) []string {
	return append([]string{"run", "--run", "r1", "--max-experiments", "3"}, more...)
}

func startShort(*site) []string { return shortRun(tunedRun()[1:11]...) }

// finishShort goes on with the short run, or begins it where nothing was
// written.
func finishShort(s *site) {
	s.t.Helper()
	if s.branch() == "" {
		s.forge(0, startShort(s)...)
		return
	}
	s.forge(0, shortRun("--resume")...)
}

// runDeed is a whole run.
func runDeed(t *testing.T) deed {
	want := outcomeOf(t, tuned(), startShort(nil))
	return deed{
		ready: func(t *testing.T) *site { return newSite(t, tuned()) },
		args:  startShort,
		again: finishShort,
		check: func(s *site) {
			s.gone(nil)
			if s.branch() != "" && !isEmptyDir(s.tmp) { // a child wrote until it was ended
				s.forge(0, shortRun("--resume")...)
			}
			s.checkOutcome(s.branch(), want)
		},
	}
}

func isEmptyDir(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// landDeed is the landing of that run.
func landDeed(t *testing.T) deed {
	template := newSite(t, tuned())
	template.forge(0, startShort(template)...)
	ready := func(t *testing.T) *site { return template.copy(t) }
	whole := ready(t)
	whole.forge(0, "land")
	want := whole.git("rev-parse", "main")
	return deed{
		ready: ready,
		args:  func(*site) []string { return []string{"land"} },
		again: func(s *site) { s.gone(nil); s.forge(0, "land") }, // a git that merges goes on to its end
		check: func(s *site) {
			s.t.Helper()
			if got := s.git("rev-parse", "main"); got != want {
				s.t.Errorf("the landing ends at %s, want %s\n%s", got, want, s.git("log", "--stat", "main"))
			}
			if status := s.git("status", "--porcelain"); status != "" {
				s.t.Errorf("git status says\n%s", status)
			}
		},
	}
}

// copy is another site in the same state.
func (s *site) copy(t *testing.T) *site {
	t.Helper()
	other := newGround(t)
	for from, to := range map[string]string{s.dir: other.dir, s.tmp: other.tmp} {
		if out, err := exec.Command("cp", "-Rp", from+"/.", to).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v\n%s", err, out)
		}
	}
	other.git("update-index", "--refresh", "-q") // inodes are others
	return other
}

// submitDeed answers a brief with a change that is kept.
func submitDeed(t *testing.T) deed {
	var want string
	begin := func(t *testing.T) *site {
		s := newSite(t, tuned())
		p := s.forge(0, append([]string{"next", "--run", "r1", "--json"}, tunedRun()[1:11]...)...)
		work := jsonMember(t, p, "work")
		if err := os.WriteFile(filepath.Join(work, "app.conf"), []byte("width=30\ndepth=9\ndelay=10\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.brief = jsonMember(t, p, "brief_id")
		return s
	}
	answer := func(s *site) []string { return []string{"submit", "--brief", s.brief, "--hypothesis", "wider"} }
	tip := func(s *site) string {
		lines, last := s.verdicts("refs/heads/forge/app/r1")
		return fmt.Sprintln(lines, last)
	}
	whole := begin(t)
	whole.forge(0, answer(whole)...)
	want = tip(whole)
	return deed{
		ready: begin,
		args:  answer,
		again: func(s *site) {
			s.t.Helper()
			p := s.start(answer(s)...)
			if code := p.wait(); code != 0 && code != 4 { // 4: it was answered before the kill
				s.t.Fatalf("forge submit exits %d\n%s", code, p.stderr.String())
			}
		},
		check: func(s *site) {
			s.t.Helper()
			s.gone(nil)
			if got := tip(s); got != want {
				s.t.Errorf("the verdicts are %swant %s", got, want)
			}
		},
	}
}

// jsonMember finds a member of the document a command printed.
func jsonMember(t *testing.T, p *started, name string) string {
	t.Helper()
	for line := range strings.Lines(p.stdout.String()) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), strconv.Quote(name)+": "); ok {
			if value, err := strconv.Unquote(strings.TrimSuffix(rest, ",")); err == nil {
				return value
			}
		}
	}
	t.Fatalf("no %s in\n%s", name, p.stdout.String())
	return ""
}

// A run, a landing and an answer are killed at every crash point.
func TestCrash(t *testing.T) {
	for name, d := range deeds {
		t.Run(name, func(t *testing.T) { t.Parallel(); d(t).crashes(t) })
	}
}

// A run, a landing and an answer meet a full disk at every write.
func TestFailedWrite(t *testing.T) {
	for name, d := range deeds {
		t.Run(name, func(t *testing.T) { t.Parallel(); d(t).fails(t) })
	}
}

var deeds = map[string]func(t *testing.T) deed{"run": runDeed, "land": landDeed, "submit": submitDeed}

// A disk that is really full, at different amounts of room: exit 1 and a
// sentence, nothing lost, and once there is room the same command brings what
// it would have (K4).
func TestFullDisk(t *testing.T) {
	if os.Getenv(tortureVariable) == "" {
		t.Skip("mounts a file system; make torture does")
	}
	want := outcomeOf(t, tuned(), startShort(nil))
	full := 0
	for _, room := range []int{0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256} { // KiB
		t.Run(fmt.Sprint(room, " KiB"), func(t *testing.T) {
			s := newSite(t, tuned())
			s.onTmpfs(4 << 20)
			fill := s.fill(room << 10)
			p := s.start(startShort(s)...)
			code, says := p.wait(), p.stderr.String()
			if code != 0 && (code != 1 || !strings.Contains(says, "forge: error: ") || !strings.Contains(says, "no space left on device")) {
				t.Errorf("forge exits %d\n%s", code, says)
			}
			if code != 0 {
				full++
			}
			s.checkNoLocks()
			s.checkSound()
			if err := os.Remove(fill); err != nil {
				t.Fatal(err)
			}
			finishShort(s)
			s.gone(nil)
			s.checkOutcome(s.branch(), want)
		})
	}
	if full < 3 && !t.Failed() {
		t.Errorf("%d of the runs met a full disk, want more", full)
	}
}

// onTmpfs moves the repository to a file system of that many bytes.
func (s *site) onTmpfs(size int) {
	s.t.Helper()
	disk := filepath.Join(s.t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+strconv.Itoa(size), "forge-test", disk).CombinedOutput(); err != nil {
		s.t.Skipf("no tmpfs can be mounted here: %v: %s", err, out)
	}
	s.t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			s.t.Errorf("umount: %v: %s", err, out)
		}
	})
	dir := filepath.Join(disk, "repo")
	if out, err := exec.Command("cp", "-Rp", s.dir, dir).CombinedOutput(); err != nil {
		s.t.Fatalf("cp: %v\n%s", err, out)
	}
	s.dir = dir
	s.git("update-index", "--refresh", "-q")
}

// fill takes all room of the repository's file system but that many bytes, in
// a file that it returns.
func (s *site) fill(room int) string {
	s.t.Helper()
	name := filepath.Join(filepath.Dir(s.dir), "fill")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &disk); err != nil {
		s.t.Fatal(err)
	}
	free := int(disk.Bavail) * int(disk.Bsize)
	if err := os.WriteFile(name, make([]byte, max(0, free-room)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// git fetch --prune with the mapping of T5, or into a mirror beside it, takes
// no ref of forge's away (gitstore.md R-RUN-7, pitfall 29).
func TestFetchPrune(t *testing.T) {
	t.Parallel()
	remote := newSite(t, tuned())
	remote.git("update-ref", "refs/forge/activity", "HEAD")
	s := newSite(t, tuned())
	s.forge(0, startShort(s)...)
	s.git("remote", "add", "origin", remote.dir)
	s.git("config", "--add", "remote.origin.fetch", "+refs/forge/*:refs/forge-remote/origin/*")
	s.git("config", "--add", "remote.origin.fetch", "+refs/*:refs/mirror/*")
	own := func() string { return s.git("for-each-ref", "refs/forge", "refs/heads/forge") }
	before := own()
	s.git("fetch", "-q", "--prune", "origin")
	remote.git("update-ref", "-d", "refs/forge/activity")
	s.git("fetch", "-q", "--prune", "origin")
	if now := own(); now != before || strings.Count(now, "\n") < 3 {
		t.Errorf("after git fetch --prune there are\n%s\nbefore there were\n%s", now, before)
	}
	if left := s.git("for-each-ref", "refs/forge-remote", "refs/mirror/forge"); left != "" {
		t.Errorf("what the remote dropped is still here\n%s", left)
	}
	s.forge(0, "land")
}
