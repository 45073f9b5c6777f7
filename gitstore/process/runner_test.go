//go:build unix

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gitstore.md R-PROC-2: kill -9 of forge leaves no child and no supervisor.
func TestKillNine(t *testing.T) {
	scripts := map[string]string{
		"heeds SIGTERM":   `echo $$ >> pids; sleep 300 & sleep 300`,
		"ignores SIGTERM": `trap '' TERM; echo $$ >> pids; sleep 300 & sleep 300; sleep 300`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], parentCommand, dir, script)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			groups := func() []string {
				data, _ := os.ReadFile(filepath.Join(dir, "pids"))
				return strings.Fields(string(data))
			}
			eventually(t, "both commands run", func() bool { return len(groups()) == 2 })
			supervisor := pidIn(filepath.Join(dir, "supervisor"))
			// What a terminal sends to end forge must not end the supervisor.
			for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
				if err := syscall.Kill(supervisor, s); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			eventually(t, "the supervisor is gone", func() bool { return gone(supervisor) })
			for _, group := range groups() {
				out, _ := exec.Command("ps", "-A", "-o", "pgid=,stat=,args=").Output()
				for line := range strings.Lines(string(out)) {
					if f := strings.Fields(line); len(f) > 1 && f[0] == group && !strings.HasPrefix(f[1], "Z") {
						t.Errorf("still there: %s", line)
					}
				}
			}
		})
	}
}

// R-PROC-2: the child waits at a gate. If forge dies before it has registered
// the group, the child ends without having run anything, even while others
// run: nobody else holds the gate's other end.
func TestGate(t *testing.T) {
	held, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	c := shell(t, `touch ran`)
	p, err := start(c, append([]string{"/bin/sh", "-c", gate, "sh"}, c.Argv...), []*os.File{held})
	if err != nil {
		t.Fatal(err)
	}
	other, err := start(c, Shell(`sleep 300`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if isClosed(p.exited) {
		t.Fatal("the child did not wait at the gate")
	}
	open.Close()
	result, err := p.wait(t.Context(), c)
	p.collect(&result)
	if err != nil || result.ExitCode != 125 {
		t.Errorf("the child ended with %d, %v, want 125", result.ExitCode, err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
		t.Error("the command ran")
	}
	other.kill()
	other.close()
}

func TestSupervisorExitsOnClose(t *testing.T) {
	r := newRunner(t)
	if err := r.Close(); err != nil {
		t.Fatalf("Close before the first command: %v", err)
	}
	if _, err := r.Run(t.Context(), shell(t, `true`)); err != nil {
		t.Fatal(err)
	}
	first := r.supervisor.pid
	if _, err := r.Run(t.Context(), shell(t, `true`)); err != nil {
		t.Fatal(err)
	}
	if r.supervisor.pid != first {
		t.Errorf("a second supervisor %d beside %d", r.supervisor.pid, first)
	}
	if sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(first), 0, 0); errno != 0 || int(sid) != first {
		t.Errorf("getsid(%d) = %d, %v, want its own session", first, sid, errno)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !gone(first) {
		t.Errorf("supervisor %d still runs", first)
	}
}

// A supervisor that was killed is replaced, and the new one knows the groups
// that were running.
func TestSupervisorReplaced(t *testing.T) {
	r := newRunner(t)
	long := shell(t, `echo $$ > pid; sleep 300`)
	ended := make(chan Result)
	go func() {
		got, err := r.Run(t.Context(), long)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	eventually(t, "the command runs", func() bool { return pidIn(filepath.Join(long.Dir, "pid")) != 0 })
	first := r.supervisor
	if err := syscall.Kill(first.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.gone
	if got, err := r.Run(t.Context(), shell(t, `echo after`)); err != nil || string(got.Stdout) != "after\n" {
		t.Fatalf("Run = %+v, %v", got, err)
	}
	if r.supervisor == first {
		t.Fatal("no new supervisor")
	}
	// Close while a command runs is no goodbye: the supervisor ends it.
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.Signal != "terminated" {
		t.Errorf("the running command ended with %+v, want the supervisor's SIGTERM", got)
	}
}

// Nothing runs unless the supervisor is there and is one.
func TestNoSupervisor(t *testing.T) {
	for _, self := range []string{"/no/such/forge", "/bin/true", "/bin/echo"} {
		r := NewRunner(self)
		c := shell(t, `touch ran`)
		if _, err := r.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), self) {
			t.Errorf("Run with supervisor %q: %v, want an error that names it", self, err)
		}
		if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
			t.Errorf("the command ran with supervisor %q", self)
		}
	}
}

func TestSupervise(t *testing.T) {
	dir := t.TempDir()
	started := func() *child {
		p, err := start(Command{Argv: Shell(""), Dir: dir}, Shell(`sleep 300`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	tests := map[string]struct {
		lines string // %d is the group
		ends  bool
	}{
		"no goodbye":     {"+%d\n", true},
		"goodbye":        {"+%d\nbye\n", false},
		"group is gone":  {"+%d\n-%d\n", false},
		"other lines":    {"\n+\nx\n+0\n+1\n+-5\n%d\n", false},
		"cut in a line":  {"+%d\n+", true},
		"goodbye is cut": {"+%d\nby", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := started()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], SuperviseCommand)
			cmd.Stdin = r
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			r.Close()
			if _, err := w.WriteString(strings.ReplaceAll(tt.lines, "%d", strconv.Itoa(p.group))); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("supervisor: %v", err)
			}
			if tt.ends {
				select {
				case <-p.exited:
				case <-time.After(10 * time.Second):
					t.Error("the group was not ended")
				}
			} else if isClosed(p.exited) {
				t.Error("the group was ended")
			}
			p.kill()
			p.close()
		})
	}
}
