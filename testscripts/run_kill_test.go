//go:build unix

package testscripts

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kills is how often TestRunKill kills a run, and killsShort with -short;
// see tortureVariable.
const (
	kills      = 50
	killsShort = 12
)

// newRandom returns random numbers and says how to get them again.
func newRandom(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A run that is killed at any instant and resumed at once, again and again,
// gives the verdicts of one that nobody disturbed, leaves a whole repository
// behind each time, and no child (gitstore.md section 15, K2; R-REF-9,
// R-PROC-2; roles.md R-RES-1).
func TestRunKill(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	want := undisturbed(t, tuned(), tunedRun())
	left := randomKills(t)
	s := newSite(t, tuned())
	runs, early := 0, 0
	for left > 0 {
		args, began := tunedResume(), time.Now()
		whole := s.branch() == ""
		if whole {
			args = tunedRun() // nothing was written: starting again is right
			early++
		}
		p := s.start(args...)
		after := time.Duration(random.Int64N(int64(want.took) / 3))
		var orphans []living
		select {
		case <-p.done:
			if whole { // the machine was busier when it was measured
				want.took = min(want.took, time.Since(began))
			}
		case <-time.After(after):
			orphans = children(p.cmd.Process.Pid)
		}
		_ = p.cmd.Process.Kill() // it may just have ended
		code := p.wait()
		s.checkSound()
		if p.endedBy(syscall.SIGKILL) {
			left--
			if left%2 == 0 {
				s.gone(orphans)
			} // else the next one starts while they may still run
			continue
		}
		if code != 0 {
			t.Fatalf("forge %s exits %d, %d kills before the last\n%s", strings.Join(args, " "), code, left, p.stderr.String())
		}
		s.gone(orphans)
		s.checkOutcome(s.branch(), want)
		s = newSite(t, tuned())
		runs++
	}
	if s.branch() != "" {
		p := s.forge(0, tunedResume()...)
		s.gone(children(p.cmd.Process.Pid))
		s.checkOutcome(s.branch(), want)
		s.checkSound()
	}
	t.Logf("%d runs ended, %d starts", runs+1, early)
}

// gated is tuned with a metric that hangs, as often as there is a file GATE,
// once the configuration is no longer the first one. It says so with the file
// HANGS, and with the file TOLD when it is asked to end, which it does not
// do.
func gated() map[string]string {
	files := tuned()
	files["metric.sh"] = strings.Replace(files["metric.sh"], ". ./app.conf\n", `. ./app.conf
if [ $width$depth$delay != 10910 ] && [ -e "$GATE" ]; then
	exec 2>/dev/null # a shell whose words nobody reads any more ends
	trap 'echo > "$TOLD"' TERM
	echo > "$HANGS"
	while [ -e "$GATE" ]; do sleep 0.01; echo > "$TMPDIR/$((n += 1))"; done
fi
`, 1)
	return files
}

// gate is the file that makes the metric of a gated site hang, with those
// that tell of it.
type gate struct{ file, hangs, told string }

// newGated makes a gated site with its gate shut.
func newGated(t *testing.T) (*site, gate) {
	t.Helper()
	s := newSite(t, gated())
	dir := t.TempDir()
	g := gate{filepath.Join(dir, "gate"), filepath.Join(dir, "hangs"), filepath.Join(dir, "told")}
	s.env = append(s.env, "GATE="+g.file, "HANGS="+g.hangs, "TOLD="+g.told)
	if err := os.WriteFile(g.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return s, g
}

// gatedRun are the arguments of a run on a gated site.
func gatedRun() []string {
	return append(tunedRun(), "--pass-env", "GATE", "--pass-env", "HANGS", "--pass-env", "TOLD")
}

// open lets the metric go on.
func (g gate) open(t *testing.T) {
	t.Helper()
	if err := os.Remove(g.file); err != nil {
		t.Fatal(err)
	}
}

// Children of a killed forge end although they hang, write and do not hear
// SIGTERM (R-PROC-2), and who goes on meanwhile is not in their way.
func TestRunKillEndsChildren(t *testing.T) {
	t.Parallel()
	s, g := newGated(t)
	p := s.start(gatedRun()...)
	s.until("the metric hangs", func() bool { return isThere(g.hangs) })
	orphans := children(p.cmd.Process.Pid)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if err := os.Remove(g.hangs); err != nil {
		t.Fatal(err)
	}
	next := s.start(tunedResume()...)
	s.until("the metric of the next one hangs", func() bool { return isThere(g.hangs) })
	s.until("the children are asked to end", func() bool { return isThere(g.told) })
	s.until("the children have ended", func() bool { // nobody opened the gate: they did not end by themselves
		return len(processes(func(p living) bool { return isOneOf(p, orphans) })) == 0
	})
	g.open(t)
	if code := next.wait(); code != 0 {
		t.Fatalf("forge exits %d\n%s", code, next.stderr.String())
	}
	s.gone(orphans)
	s.forge(0, tunedResume()...) // sweeps what the children wrote into until they ended
	s.checkOutcome(s.branch(), undisturbed(t, gated(), gatedRun()))
	s.checkSound()
}

// A run that a signal ends at any instant exits 130, says how to go on,
// leaves no child and its tip ref where its branch is, and goes on as if
// nothing had been (R-PROC-4, R-RUN-10).
func TestRunSignal(t *testing.T) {
	t.Parallel()
	want := undisturbed(t, tuned(), tunedRun())
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			random := newRandom(t)
			s := newSite(t, tuned())
			for left := rounds; left > 0; {
				args := tunedResume()
				if s.branch() == "" {
					args = tunedRun()
				}
				p := s.start(args...)
				sent := p.signalAfter(time.Duration(random.Int64N(int64(want.took)/3)), signal)
				code := p.wait()
				s.gone(nil)
				branch := s.branch()
				switch {
				case code == 130:
					s.checkStopped(p, branch)
					left--
				case sent && p.endedBy(signal) && p.stderr.Len() == 0:
					// It came before forge listened, which is before anything else.
				case code == 0:
					s.checkOutcome(branch, want)
					s = newSite(t, tuned())
				default:
					t.Fatalf("forge %s exits %d\n%s", strings.Join(args, " "), code, p.stderr.String())
				}
			}
			if s.branch() != "" {
				s.forge(0, tunedResume()...)
				s.checkOutcome(s.branch(), want)
			}
		})
	}
}

// checkStopped demands of a forge that a signal ended what it has to leave.
func (s *site) checkStopped(p *started, branch string) {
	s.t.Helper()
	s.checkSound()
	s.checkNothingLeft()
	if !strings.Contains(p.stderr.String(), "forge: error: interrupted by ") {
		s.t.Errorf("forge was interrupted and says\n%s", p.stderr.String())
	}
	if branch == "" {
		return // the run had not begun
	}
	s.checkTip(branch)
	if hint := "\nforge: hint: forge run --resume"; !strings.Contains(p.stderr.String(), hint) {
		s.t.Errorf("forge was interrupted and says\n%swant %s", p.stderr.String(), hint)
	}
}

// A second signal while forge winds down kills it at once, and the supervisor
// ends the children (R-PROC-4).
func TestRunSecondSignal(t *testing.T) {
	t.Parallel()
	s, g := newGated(t)
	p := s.start(gatedRun()...)
	s.until("the metric hangs", func() bool { return isThere(g.hangs) })
	orphans := children(p.cmd.Process.Pid)
	p.signalAfter(0, syscall.SIGTERM)
	s.until("the metric is asked to end", func() bool { return isThere(g.told) })
	p.signalAfter(0, syscall.SIGTERM)
	p.wait()
	if !p.endedBy(syscall.SIGTERM) {
		t.Errorf("forge ended with %s, want it killed by the second SIGTERM\n%s", p.cmd.ProcessState, p.stderr.String())
	}
	s.gone(orphans)
	g.open(t)
	s.forge(0, tunedResume()...)
	s.checkOutcome(s.branch(), undisturbed(t, gated(), gatedRun()))
}

// A forge that was started with SIGHUP ignored, as nohup does, does not hear
// it (R-PROC-4).
func TestRunNohup(t *testing.T) {
	t.Parallel()
	s := newSite(t, tuned())
	p := s.startProgram(append([]string{"/bin/sh", "-c", `trap "" HUP; exec forge "$@"`, "sh"}, tunedRun()...)...)
	s.until("the run has begun", func() bool { return s.branch() != "" })
	for isRunning := true; isRunning; {
		isRunning = p.signalAfter(5*time.Millisecond, syscall.SIGHUP)
	}
	if code := p.wait(); code != 0 {
		t.Fatalf("forge exits %d\n%s", code, p.stderr.String())
	}
	s.checkOutcome(s.branch(), undisturbed(t, tuned(), tunedRun()))
}

// A landing that is killed at any instant has moved the branch or not, and
// landing again brings the rest: each kept change once (R-LAND-7).
func TestLandKill(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	whole := newSite(t, tuned())
	whole.forge(0, tunedRun()...)
	began := time.Now()
	whole.forge(0, "land")
	took := time.Since(began)
	want, landed := whole.verdicts("main")

	s := newSite(t, tuned())
	s.forge(0, tunedRun()...)
	for range 10 {
		base := s.git("rev-parse", "HEAD")
		p := s.start("land")
		killed := p.signalAfter(time.Duration(random.Int64N(int64(took))), syscall.SIGKILL)
		if code := p.wait(); !killed && code != 0 {
			t.Fatalf("forge land exits %d\n%s", code, p.stderr.String())
		}
		s.gone(nil) // a git that merges goes on to its end
		s.checkSound()
		if status := s.git("status", "--porcelain"); status != "" {
			t.Fatalf("after a kill git status says\n%s", status)
		}
		if s.git("rev-parse", "HEAD") == base {
			continue
		}
		if got, last := s.verdicts("main"); last != landed {
			t.Fatalf("a killed landing brought\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		s.git("reset", "-q", "--hard", "HEAD~"+strconv.Itoa(len(want))) // once more
	}
	s.forge(0, "land")
	if _, last := s.verdicts("main"); last != landed {
		t.Errorf("the landing ends at %s, want %s", last, landed)
	}
}
