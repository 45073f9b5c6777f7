//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentCommand makes the test binary a forge that runs one long command and
// can be killed: "parent DIR COMMAND".
const parentCommand = "parent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == SuperviseCommand {
		os.Exit(Supervise(os.Stdin))
	}
	if len(os.Args) > 3 && os.Args[1] == parentCommand {
		os.Exit(parent(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// parent runs command twice at once under one Runner, in dir, after writing
// the supervisor's process id there.
func parent(dir, command string) int {
	r := NewRunner(os.Args[0])
	if _, err := r.Run(context.Background(), Command{Argv: []string{"true"}, Dir: dir, Env: testEnv(dir)}); err != nil {
		return 1
	}
	os.WriteFile(filepath.Join(dir, "supervisor"), fmt.Appendln(nil, r.supervisor.pid), 0o600)
	done := make(chan error)
	for range 2 {
		go func() {
			_, err := r.Run(context.Background(), Command{Argv: Shell(command), Dir: dir, Env: testEnv(dir)})
			done <- err
		}()
	}
	<-done
	<-done
	return 0
}

// testEnv is the environment of a child with private folders in dir.
func testEnv(dir string) []string {
	return Environment(map[string]string{
		"PATH":   "/usr/local/bin:/usr/bin:/bin",
		"TMPDIR": filepath.Join(dir, "tmp"),
		"HOME":   filepath.Join(dir, "home"),
	})
}

// shell is a command for the shell in a fresh directory.
func shell(t testing.TB, script string) Command {
	t.Helper()
	dir := t.TempDir()
	return Command{Argv: Shell(script), Dir: dir, Env: testEnv(dir)}
}

// newRunner returns a Runner whose supervisor is this test binary.
func newRunner(t testing.TB) *Runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := NewRunner(self)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// runFunc is Plain or the Run of a Runner: what holds for one holds for both.
type runFunc func(context.Context, Command) (Result, error)

func both(t *testing.T, test func(t *testing.T, run runFunc)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) { t.Parallel(); test(t, Plain) })
	t.Run("runner", func(t *testing.T) { t.Parallel(); test(t, newRunner(t).Run) })
}

// eventually fails the test unless ok turns true in time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !ok(); time.Sleep(poll) {
		if time.Now().After(limit) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// pidIn reads a process id a child wrote to a file; 0 until it is there.
func pidIn(file string) int {
	data, _ := os.ReadFile(file)
	if !bytes.HasSuffix(data, []byte("\n")) {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// describe is all of a result but its duration.
func describe(r Result) string {
	return fmt.Sprintf("exit %d, signal %q, timed out %t, cut %t, left %d, stdout %q, stderr %q",
		r.ExitCode, r.Signal, r.TimedOut, r.OutputCut, r.LeftBehind, r.Stdout, r.Stderr)
}

// gone reports whether a process does nothing any more.
func gone(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// gitstore.md R-PROC-1: a typed result, and exactly the given environment,
// directory and input.
func TestRun(t *testing.T) {
	long := strings.Repeat("x", evidence)
	tests := map[string]struct {
		change func(*Command)
		script string
		want   Result
	}{
		"success":           {script: `echo out; echo err >&2`, want: Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
		"exit status":       {script: `echo partial; exit 7`, want: Result{Stdout: []byte("partial\n"), ExitCode: 7}},
		"status over 127":   {script: `exit 200`, want: Result{ExitCode: 200}},
		"signal":            {script: `kill -9 $$`, want: Result{ExitCode: -1, Signal: "killed"}},
		"no standard input": {script: `cat`, want: Result{}},
		"standard input":    {script: `cat`, change: func(c *Command) { c.Stdin = []byte("given") }, want: Result{Stdout: []byte("given")}},
		"empty input":       {script: `cat`, change: func(c *Command) { c.Stdin = []byte{} }, want: Result{}},
		"input not read":    {script: `true`, change: func(c *Command) { c.Stdin = make([]byte, 1<<20) }, want: Result{}},
		"environment": {script: `env | sed '/^_=/d; /^PWD=/d; /^SHLVL=/d; /^OLDPWD=/d' | sort`,
			change: func(c *Command) { c.Env = []string{"PATH=/usr/bin:/bin", "A=1"} },
			want:   Result{Stdout: []byte("A=1\nPATH=/usr/bin:/bin\n")}},
		"no environment": {script: `echo ${HOME-unset}`,
			change: func(c *Command) { c.Env = nil }, want: Result{Stdout: []byte("unset\n")}},
		"prefix": {script: `exit 3`, change: func(c *Command) { c.Prefix = []string{"env", "-u", "HOME"} }, want: Result{ExitCode: 3}},
		"arguments untouched": {change: func(c *Command) { c.Argv = []string{"printf", "%s|", "a b", "$HOME", "", "-c", "\n'"} },
			want: Result{Stdout: []byte("a b|$HOME||-c|\n'|")}},
		"output at the limit": {script: `printf 12345`, change: func(c *Command) { c.OutputLimit = 5 }, want: Result{Stdout: []byte("12345")}},
		"both ends of standard error": {script: `printf %s "$X" >&2; printf middle >&2; printf %s "$X" >&2`,
			change: func(c *Command) { c.Env = append(c.Env, "X="+long) },
			want:   Result{Stderr: []byte(long + "\n[6 bytes left out]\n" + long)}},
	}
	both(t, func(t *testing.T, run runFunc) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				c := shell(t, tt.script)
				if tt.change != nil {
					tt.change(&c)
				}
				got, err := run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if got.Duration <= 0 {
					t.Errorf("Duration = %s, want more than 0", got.Duration)
				}
				if describe(got) != describe(tt.want) {
					t.Errorf("run(%q) = %s, want %s", c.Argv, describe(got), describe(tt.want))
				}
				if want := tt.want.ExitCode == 0; got.OK() != want {
					t.Errorf("OK() = %t, want %t", got.OK(), want)
				}
			})
		}
	})
}

func TestWorkingDirectory(t *testing.T) {
	both(t, func(t *testing.T, run runFunc) {
		c := shell(t, `pwd -P`)
		want, err := filepath.EvalSymlinks(c.Dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(t.Context(), c)
		if err != nil || string(got.Stdout) != want+"\n" {
			t.Errorf("pwd = %q, %v, want %q", got.Stdout, err, want)
		}
	})
}

func TestCannotStart(t *testing.T) {
	tests := map[string]Command{
		"no program":          {Dir: "/"},
		"empty program":       {Argv: []string{""}, Dir: "/"},
		"no directory":        {Argv: Shell("true")},
		"directory not there": {Argv: Shell("true"), Dir: "/no/such/directory"},
	}
	both(t, func(t *testing.T, run runFunc) {
		for name, c := range tests {
			if _, err := run(t.Context(), c); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

// A bare program is looked up in the PATH it is given, not in forge's.
func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own-tool"), []byte("#!/bin/sh\necho found\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "not-executable"), []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Plain(t.Context(), Command{Argv: []string{"own-tool"}, Dir: "/", Env: []string{"PATH=/bin:" + dir}})
	if err != nil || string(got.Stdout) != "found\n" {
		t.Errorf("own-tool printed %q, %v", got.Stdout, err)
	}
	got, err = Plain(t.Context(), Command{Argv: []string{"./own-tool"}, Dir: dir, Env: []string{}})
	if err != nil || string(got.Stdout) != "found\n" {
		t.Errorf("./own-tool printed %q, %v", got.Stdout, err)
	}
	for _, name := range []string{"not-executable", "no-such-tool"} {
		_, err := Plain(t.Context(), Command{Argv: []string{name}, Dir: "/", Env: []string{"PATH=/bin:" + dir}})
		if !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("Plain(%q): %v, want %v", name, err, exec.ErrNotFound)
		}
	}
	// Behind the gate it is the shell that looks: its status and its words.
	r := newRunner(t)
	for name, want := range map[string]int{"no-such-tool": 127, filepath.Join(dir, "not-executable"): 126} {
		got, err := r.Run(t.Context(), Command{Argv: []string{name}, Dir: "/", Env: []string{"PATH=/bin"}})
		if err != nil || got.ExitCode != want || !bytes.Contains(got.Stderr, []byte(name)) {
			t.Errorf("Run(%q) = %d with %q, %v, want %d", name, got.ExitCode, got.Stderr, err, want)
		}
	}
}

// R-PROC-1: deadline, SIGTERM to the group, and SIGKILL when the grace is over.
func TestTimeout(t *testing.T) {
	tests := map[string]struct {
		script     string
		grace      time.Duration
		want       Result
		atLeast    time.Duration
		lessThan   time.Duration
		leftBehind int
	}{
		"heeds SIGTERM": {script: `sleep 300`, grace: time.Minute,
			want: Result{ExitCode: -1, Signal: "terminated", TimedOut: true}, lessThan: 30 * time.Second},
		"exits 0 on SIGTERM": {script: `trap 'exit 0' TERM; echo ready; sleep 300 & wait`, grace: time.Minute,
			want: Result{Stdout: []byte("ready\n"), ExitCode: -1, TimedOut: true}, lessThan: 30 * time.Second},
		"ignores SIGTERM": {script: `trap '' TERM; echo ready; sleep 300; sleep 300`, grace: 200 * time.Millisecond,
			want: Result{Stdout: []byte("ready\n"), ExitCode: -1, Signal: "killed", TimedOut: true}, atLeast: 700 * time.Millisecond, lessThan: 30 * time.Second},
		"stopped": {script: `kill -STOP $$`, grace: time.Minute,
			want: Result{ExitCode: -1, Signal: "terminated", TimedOut: true}, lessThan: 30 * time.Second},
		"leaves one that ignores SIGTERM": {script: `(trap '' TERM; sleep 300; sleep 300) & echo ready; wait`, grace: 200 * time.Millisecond,
			want: Result{Stdout: []byte("ready\n"), ExitCode: -1, Signal: "terminated", TimedOut: true}, lessThan: 30 * time.Second, leftBehind: 1},
	}
	both(t, func(t *testing.T, run runFunc) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := shell(t, tt.script)
				c.Timeout, c.Grace = 500*time.Millisecond, tt.grace
				began := time.Now()
				got, err := run(t.Context(), c)
				took := time.Since(began)
				if err != nil {
					t.Fatal(err)
				}
				if took < tt.atLeast || took > tt.lessThan {
					t.Errorf("took %s, want %s to %s", took, tt.atLeast, tt.lessThan)
				}
				if (got.LeftBehind > 0) != (tt.leftBehind > 0) {
					t.Errorf("LeftBehind = %d, want %d or more", got.LeftBehind, tt.leftBehind)
				}
				got.LeftBehind = 0
				if describe(got) != describe(tt.want) || got.OK() {
					t.Errorf("run(%q) = %s, OK %t, want %s", tt.script, describe(got), got.OK(), describe(tt.want))
				}
			})
		}
	})
}

// R-PROC-1: output through a bound. A flood ends soon and takes no memory.
func TestFlood(t *testing.T) {
	tests := map[string]string{
		"yes":             `exec yes`,
		"a gigabyte":      `exec head -c 1073741824 /dev/zero`,
		"ignores SIGTERM": `trap '' TERM; yes; yes`,
		"in a grandchild": `yes & wait`,
	}
	run := newRunner(t).Run
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			c := shell(t, script)
			c.OutputLimit, c.Grace, c.Timeout = 1<<20, 200*time.Millisecond, time.Minute
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := run(t.Context(), c)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if !got.OutputCut || got.OK() || got.TimedOut || got.ExitCode != -1 {
				t.Errorf("OutputCut = %t, TimedOut = %t, ExitCode = %d, want a cut and -1", got.OutputCut, got.TimedOut, got.ExitCode)
			}
			if int64(len(got.Stdout)) != c.OutputLimit {
				t.Errorf("%d bytes kept, want %d", len(got.Stdout), c.OutputLimit)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d bytes allocated, want less than 64 MiB", used)
			}
		})
	}
}

// R-PROC-1: the group is ended as well when the child has exited and left
// something behind, and the pipe that holds is no reason to wait.
func TestLeftBehind(t *testing.T) {
	scripts := map[string]string{
		"holds the output":  `sleep 300 & echo $! > pid`,
		"ignores SIGTERM":   `(trap '' TERM; sleep 300; sleep 300) & echo $! > pid`,
		"nothing held open": `sleep 300 >/dev/null 2>&1 & echo $! > pid`,
	}
	both(t, func(t *testing.T, run runFunc) {
		for name, script := range scripts {
			t.Run(name, func(t *testing.T) {
				c := shell(t, script)
				c.Timeout = time.Minute
				got, err := run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if got.LeftBehind == 0 || !got.OK() || got.Duration > 30*time.Second {
					t.Errorf("got %+v, want exit 0 with something left behind", got)
				}
				if pid := pidIn(filepath.Join(c.Dir, "pid")); pid == 0 || !gone(pid) {
					t.Errorf("process %d still runs", pid)
				}
			})
		}
	})
}

// R-PROC-4: a cancelled context ends the group, and its cause is in the error.
func TestCancel(t *testing.T) {
	cause := errors.New("the cause")
	both(t, func(t *testing.T, run runFunc) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := shell(t, `echo $$ > pid; sleep 300 & wait`)
		go func() {
			for pidIn(filepath.Join(c.Dir, "pid")) == 0 && t.Context().Err() == nil {
				time.Sleep(poll)
			}
			cancel(cause)
		}()
		_, err := run(ctx, c)
		if !errors.Is(err, cause) {
			t.Errorf("run: %v, want %v", err, cause)
		}
		if group := pidIn(filepath.Join(c.Dir, "pid")); members(group) != 0 {
			t.Errorf("group %d still has members", group)
		}
		c.Argv = Shell(`touch ran`)
		if _, err := run(ctx, c); !errors.Is(err, cause) {
			t.Errorf("run when cancelled already: %v, want %v", err, cause)
		}
		if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
			t.Error("a child was started for a cancelled context")
		}
	})
}

func TestParallel(t *testing.T) {
	both(t, func(t *testing.T, run runFunc) {
		done := make(chan error)
		for i := range 16 {
			c := shell(t, fmt.Sprintf(`echo %d; exit %d`, i, i))
			go func() {
				got, err := run(t.Context(), c)
				if err == nil && (string(got.Stdout) != fmt.Sprintln(i) || got.ExitCode != i || got.LeftBehind != 0) {
					err = fmt.Errorf("run %d = %+v", i, got)
				}
				done <- err
			}()
		}
		for range 16 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDetach(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pid")
	if err := Detach(Shell(`echo $$ > pid; echo lost; exec sleep 300`), dir, testEnv(dir)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program runs", func() bool { return pidIn(file) != 0 })
	pid := pidIn(file)
	if pgid, err := syscall.Getpgid(pid); err != nil || pgid != pid {
		t.Errorf("Getpgid(%d) = %d, %v, want a group of its own", pid, pgid, err)
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	eventually(t, "it is reaped", func() bool { return !groupExists(pid) })
	if err := Detach([]string{"no-such-tool"}, dir, testEnv(dir)); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("Detach: %v, want %v", err, exec.ErrNotFound)
	}
}

func TestEnvironment(t *testing.T) {
	got := Environment(map[string]string{"B": "2", "A": "x=y", "C": ""})
	if fmt.Sprint(got) != "[A=x=y B=2 C=]" {
		t.Errorf("Environment = %q", got)
	}
	if Environment(nil) == nil {
		t.Error("Environment(nil) = nil")
	}
}

func BenchmarkPlain(b *testing.B) {
	c := Command{Argv: []string{"/bin/true"}, Dir: "/", Env: []string{}}
	for b.Loop() {
		if _, err := Plain(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	r := newRunner(b)
	c := Command{Argv: []string{"/bin/true"}, Dir: "/", Env: testEnv(b.TempDir())}
	for b.Loop() {
		if _, err := r.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
