//go:build unix

package testscripts

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Of two that resume one run at once, one works and the other is told at once
// who does, with exit 4; the run is as if there had been one (gitstore.md
// R-LOCK-2, R-RUN-6).
func TestRunTwice(t *testing.T) {
	t.Parallel()
	s, g := newGated(t)
	first := s.start(gatedRun()...)
	s.until("the metric hangs", func() bool { return isThere(g.hangs) })
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.wait()
	if err := os.Remove(g.hangs); err != nil {
		t.Fatal(err)
	}

	a, b := s.start(tunedResume()...), s.start(tunedResume()...)
	var loser, holder *started
	select {
	case <-a.done:
		loser, holder = a, b
	case <-b.done:
		loser, holder = b, a
	}
	if code := loser.wait(); code != 4 {
		t.Fatalf("the second forge exits %d, want 4\n%s", code, loser.stderr.String())
	}
	if says := loser.stderr.String(); !strings.Contains(says, "is held by pid "+strconv.Itoa(holder.cmd.Process.Pid)+" ") {
		t.Errorf("the second forge does not name pid %d, which holds the run\n%s", holder.cmd.Process.Pid, says)
	}
	s.until("the metric hangs again", func() bool { return isThere(g.hangs) })
	s.forge(4, tunedResume()...)
	g.open(t)
	if code := holder.wait(); code != 0 {
		t.Fatalf("the forge that holds the run exits %d\n%s", code, holder.stderr.String())
	}
	s.checkOutcome(s.branch(), undisturbed(t, gated(), gatedRun()))
}

// What a person commits on the branch that is checked out is all there after
// a run, and the run is as if nobody had committed (C9).
func TestRunBesideCommits(t *testing.T) {
	t.Parallel()
	s, g := newGated(t)
	base := s.git("rev-parse", "HEAD")
	p := s.start(gatedRun()...)
	s.until("the metric hangs", func() bool { return isThere(g.hangs) })
	const commits = 20
	for i := range commits {
		if i == commits/4 {
			g.open(t) // the others beside a run that goes on
		}
		s.write(map[string]string{fmt.Sprintf("work/%02d.txt", i): "done\n"})
		s.git("add", "work")
		s.git("commit", "-q", "-m", fmt.Sprintf("work %d", i))
	}
	if code := p.wait(); code != 0 {
		t.Fatalf("forge exits %d\n%s", code, p.stderr.String())
	}
	if n := s.git("rev-list", "--count", "--first-parent", base+"..main"); n != strconv.Itoa(commits) {
		t.Errorf("main has %s commits since the run began, want %d", n, commits)
	}
	if status := s.git("status", "--porcelain"); status != "" {
		t.Errorf("git status says\n%s", status)
	}
	s.checkSound()
	s.checkOutcome(s.branch(), undisturbed(t, gated(), gatedRun()))
	s.forge(0, "land")
	s.checkSound()
}

// A run goes on while git packs refs and objects under it (gitstore.md C3,
// C6).
func TestRunBesidePacking(t *testing.T) {
	t.Parallel()
	s := newSite(t, tuned())
	stop := make(chan struct{})
	var packing sync.WaitGroup
	rounds := make([]int, 2)
	for i, commands := range [][][]string{
		{{"pack-refs", "--all", "--prune"}},
		{{"repack", "-adq"}, {"gc", "--quiet"}},
	} {
		packing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, c := range commands {
					if out, err := s.tryGit(c...); err != nil {
						t.Errorf("git %s: %v\n%s", strings.Join(c, " "), err, out)
						return
					}
				}
				rounds[i]++
			}
		})
	}
	p := s.start(tunedRun()...)
	code := p.wait()
	close(stop)
	packing.Wait()
	if code != 0 {
		t.Fatalf("forge exits %d\n%s", code, p.stderr.String())
	}
	t.Logf("packed refs %d and objects %d times", rounds[0], rounds[1])
	if rounds[0] == 0 || rounds[1] == 0 {
		t.Error("nothing was packed meanwhile")
	}
	s.checkSound()
	s.checkOutcome(s.branch(), undisturbed(t, tuned(), tunedRun()))
}

// Two runs on two targets of one repository at once are two runs.
func TestRunTwoTargets(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, target := range []string{"a", "b"} {
		for name, text := range tuned() {
			files[target+"/"+name] = text
		}
	}
	s := newSite(t, files)
	args := func(target string) []string {
		return []string{
			"run", "--run", target, "--target", target + "/app.conf", "--metric", "cd " + target + " && ./metric.sh", "--minimize", "--relative",
			"--protect", target + "/metric.sh", "--noise-repeats", "3", "--max-experiments", "12",
		}
	}
	a, b := s.start(args("a")...), s.start(args("b")...)
	for _, p := range []*started{a, b} {
		if code := p.wait(); code != 0 {
			t.Errorf("forge exits %d\n%s", code, p.stderr.String())
		}
	}
	if t.Failed() {
		return
	}
	s.checkSound()
	alone := newSite(t, files)
	for _, target := range []string{"a", "b"} {
		branch := "refs/heads/forge/app/" + target
		alone.forge(0, args(target)...)
		want := outcome{}
		want.verdicts, want.last = alone.verdicts(branch)
		s.checkOutcome(branch, want)
	}
}

// A lock file that a killed forge left on any ref of a run is no hindrance to
// those who go on with it (R-REF-9).
func TestRunStaleLocks(t *testing.T) {
	t.Parallel()
	s, g := newGated(t)
	p := s.start(gatedRun()...)
	s.until("the metric hangs", func() bool { return isThere(g.hangs) })
	orphans := children(p.cmd.Process.Pid)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait()
	branch := s.branch()
	run := branch[strings.LastIndexByte(branch, '/')+1:]
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for i, ref := range []string{branch, "refs/forge/runs/" + run + "/tip", "refs/forge/runs/" + run + "/exp-002"} {
		lock := filepath.Join(s.dir, ".git", ref+".lock")
		record := fmt.Sprintf(`{"pid":%d,"start":"1","host":%q,"ref":%q}`+"\n", p.cmd.Process.Pid, host, ref)
		for file, text := range map[string]string{
			lock: "", filepath.Join(s.dir, ".git", "forge", "ref-locks", fmt.Sprintf("%d-%016d", p.cmd.Process.Pid, i)): record,
		} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.open(t)
	s.forge(0, tunedResume()...)
	s.gone(orphans)
	s.checkOutcome(branch, undisturbed(t, gated(), gatedRun()))
}

// What a verdict writes does not grow with the run (gitstore.md R-RUN-8,
// section 16, 25): the 120th, which stands in the log's second segment where
// the 21st stands in the first, writes as much within a fifth.
func TestRunGrowth(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		// Each experiment counts up; every third makes the metric better.
		"n.txt":       "0\n",
		"metric.sh":   "read -r n < n.txt\necho $((n / 3))\n",
		"proposer.sh": "n=${FORGE_EXPERIMENT#exp-}\nn=${n#0}\necho ${n#0} > n.txt\n",
	})
	s.forge(0, "run", "--target", "n.txt", "--metric", ". ./metric.sh", "--protect", "*.sh", "--proposer", "command:. ./proposer.sh",
		"--noise-repeats", "3", "--max-experiments", "120")
	branch := s.branch()
	verdicts, _ := s.verdicts(branch)
	if len(verdicts) != 120 || !strings.HasPrefix(verdicts[20], "exp-021 KEEP ") || !strings.HasPrefix(verdicts[119], "exp-120 KEEP ") {
		t.Fatalf("the run gave\n%s", strings.Join(verdicts, "\n"))
	}
	early, late := s.bytesOf(branch, "exp-021"), s.bytesOf(branch, "exp-120")
	t.Logf("the 21st verdict wrote %d bytes, the 120th %d", early, late)
	if late*5 > early*6 {
		t.Errorf("the 120th verdict wrote %d bytes, the 21st %d", late, early)
	}
	s.checkOutcome(branch, outcome{verdicts: verdicts, last: s.git("rev-parse", branch+"^")})
}

// bytesOf is how much the objects of a verdict's commit take on disk that its
// parents do not have.
func (s *site) bytesOf(branch, experiment string) (sum int) {
	s.t.Helper()
	commit := s.git("log", "--first-parent", "--format=%H", "--grep=^Forge-Experiment: "+experiment+"$", branch)
	for line := range strings.Lines(s.git("rev-list", "--objects", commit, "--not", commit+"^@")) {
		info, err := os.Stat(filepath.Join(s.dir, ".git", "objects", line[:2], line[2:40]))
		if err != nil {
			s.t.Fatal(err)
		}
		sum += int(info.Size())
	}
	return sum
}
