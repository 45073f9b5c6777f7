package process

import (
	"context"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// gitstore.md R-PROC-2: a grandchild that left the group is found while forge
// lives.
func TestOrphans(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
	tests := map[string]struct {
		script string
		want   int
	}{
		"own session":               {`setsid sh -c 'echo $$ > pid; exec sleep 300' & while ! [ -s pid ]; do :; done`, 1},
		"own session with a child":  {`setsid sh -c 'sleep 300 & echo $! > pid; sleep 300; sleep 300' & while ! [ -s pid ]; do :; done`, 3},
		"without TMPDIR, with HOME": {`TMPDIR=/x setsid sh -c 'echo $$ > pid; exec sleep 300' & while ! [ -s pid ]; do :; done`, 1},
		"ignores SIGTERM":           {`setsid sh -c 'trap "" TERM; echo $$ > pid; sleep 300; :' & while ! [ -s pid ]; do :; done`, 2},
		"own session, died already": {`setsid sh -c 'echo $$ > pid' & wait`, 0},
	}
	r := newRunner(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, tt.script)
			c.Timeout = time.Minute
			got, err := r.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			// The middle shell may be between two sleeps of its script.
			if got.LeftBehind < min(1, tt.want) || got.LeftBehind > tt.want || !got.OK() {
				t.Errorf("got %+v, want exit 0 and %d left behind", got, tt.want)
			}
			if pid := pidIn(filepath.Join(c.Dir, "pid")); pid == 0 || !gone(pid) {
				t.Errorf("process %d still runs", pid)
			}
		})
	}
}

// Several commands run at once: each is charged with its own orphans only.
func TestOrphansOfOthers(t *testing.T) {
	r := newRunner(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := shell(t, `setsid sh -c 'echo $$ > pid; exec sleep 300' & exec sleep 300`)
	left := make(chan int)
	go func() {
		got, _ := r.Run(ctx, first)
		left <- got.LeftBehind
	}()
	eventually(t, "the first command runs", func() bool { return pidIn(filepath.Join(first.Dir, "pid")) != 0 })
	orphan := pidIn(filepath.Join(first.Dir, "pid"))

	same := first // the same folders, at once: the last to end is charged
	same.Argv = Shell(`true`)
	for _, c := range []Command{shell(t, `true`), same} {
		if got, err := r.Run(t.Context(), c); err != nil || got.LeftBehind != 0 {
			t.Errorf("another command = %+v, %v, want nothing left behind", got, err)
		}
		if gone(orphan) {
			t.Fatal("the orphan of a running command was ended")
		}
	}
	cancel()
	if got := <-left; got != 1 || !gone(orphan) {
		t.Errorf("LeftBehind = %d, orphan gone: %t, want 1 and gone", got, gone(orphan))
	}
}

// Children that others started are neither ended nor reaped.
func TestUnrelatedChildren(t *testing.T) {
	r := newRunner(t)
	unrelated := func(script string, attr *syscall.SysProcAttr) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	dead, deadGroup, alive := unrelated(`exit 3`, nil), unrelated(`exit 4`, ownGroup()), unrelated(`exec sleep 300`, ownGroup())
	isZombie := func(pid int) bool { s, ok := readStat(pid); return ok && s.zombie }
	eventually(t, "both are zombies", func() bool { return isZombie(dead.Process.Pid) && isZombie(deadGroup.Process.Pid) })
	if got, err := r.Run(t.Context(), shell(t, `true`)); err != nil || got.LeftBehind != 0 {
		t.Fatalf("Run = %+v, %v", got, err)
	}
	dead.Wait()
	deadGroup.Wait()
	if dead.ProcessState.ExitCode() != 3 || deadGroup.ProcessState.ExitCode() != 4 {
		t.Errorf("exit status %d and %d, want 3 and 4", dead.ProcessState.ExitCode(), deadGroup.ProcessState.ExitCode())
	}
	if gone(alive.Process.Pid) {
		t.Error("an unrelated child was ended")
	}
	alive.Process.Kill()
	alive.Wait()
}

// Adopted processes that died unseen do not pile up as zombies.
func TestZombiesAreReaped(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	c := shell(t, `setsid sh -c 'echo $$ > pid'; setsid sh -c '(sleep 0.01; exit 0) & echo $! > pid'; sleep 0.1`)
	if _, err := r.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	zombie := pidIn(filepath.Join(c.Dir, "pid"))
	eventually(t, "the zombie is reaped", func() bool {
		if _, err := r.Run(t.Context(), shell(t, `sleep 0.1`)); err != nil {
			t.Fatal(err)
		}
		_, there := readStat(zombie)
		return !there
	})
}

func TestMarks(t *testing.T) {
	tests := map[string]struct {
		env  []string
		want int
	}{
		"private":        {[]string{"TMPDIR=/tmp/x/tmp", "HOME=/tmp/x/home"}, 2},
		"home of a user": {[]string{"TMPDIR=/tmp/x/tmp", "HOME=/home/u"}, 1},
		"shared":         {[]string{"TMPDIR=/tmp", "HOME=/root"}, 0},
		"also shared":    {[]string{"TMPDIR=/var/tmp/", "HOME=/root"}, 0},
		"relative":       {[]string{"TMPDIR=x/tmp"}, 0},
		"none":           {nil, 0},
	}
	for name, tt := range tests {
		if got := marks(tt.env); len(got) != tt.want {
			t.Errorf("%s: marks(%q) = %q, want %d", name, tt.env, got, tt.want)
		}
	}
}
