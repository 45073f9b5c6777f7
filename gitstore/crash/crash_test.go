package crash

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"forge/gitstore/fault"
)

func newPoints(t *testing.T, pairs ...string) (*Points, *bytes.Buffer) {
	t.Helper()
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	var stderr bytes.Buffer
	p, err := New(vars, &stderr)
	if err != nil {
		t.Fatal(err)
	}
	return p, &stderr
}

// Without the variables nothing is counted, and every method can be called.
func TestOff(t *testing.T) {
	p, _ := newPoints(t)
	if p != nil || p.On() {
		t.Fatalf("New() = %v, want nil", p)
	}
	p.Pass("x")
	var out bytes.Buffer
	if w := p.Writer(&out); w != &out {
		t.Error("a nil Points wraps the writer")
	}
	name := filepath.Join(t.TempDir(), "f")
	if err := p.WriteFile("file", name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Symlink("f", name+"2"); err != nil {
		t.Fatal(err)
	}
}

func TestMalformedVariables(t *testing.T) {
	for name, vars := range map[string]map[string]string{
		"word":             {CrashVariable: "soon"},
		"nought":           {CrashVariable: "0"},
		"negative":         {FailVariable: "-1"},
		"trace is a crash": {FailVariable: "trace"},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := New(vars, nil); fault.KindOf(err) != fault.Usage || p != nil {
				t.Errorf("New(%v) = %v, %v, want a fault of kind usage", vars, p, err)
			}
		})
	}
}

// gitstore.md section 15: one line for each point, on standard error.
func TestTrace(t *testing.T) {
	p, stderr := newPoints(t, CrashVariable, "trace")
	p.Pass("before ref")
	p.Pass("after ref")
	want := "forge: crash point 1 before ref\nforge: crash point 2 after ref\n"
	if got := stderr.String(); got != want {
		t.Errorf("trace is %q, want %q", got, want)
	}
}

// The write after the chosen point stops half way; every other one succeeds.
func TestFailedWrite(t *testing.T) {
	p, _ := newPoints(t, FailVariable, "2")
	dir := t.TempDir()
	write := func(name string) error {
		return p.WriteFile("file", filepath.Join(dir, name), []byte("content"), 0o600)
	}
	if err := write("a"); err != nil { // points 1 and 2; the second arms
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n, err := p.Writer(file).Write([]byte("content"))
	broken, isPath := errors.AsType[*fs.PathError](err)
	if n != 3 || !errors.Is(err, syscall.ENOSPC) || !isPath || broken.Path != file.Name() {
		t.Errorf("the failing Write = %d, %v, want half of the bytes and no space left on %q", n, err, file.Name())
	}
	if n, err := p.Writer(file).Write([]byte("rest")); n != 4 || err != nil {
		t.Errorf("the next Write = %d, %v, want success", n, err)
	}
	if err := write("c"); err != nil {
		t.Errorf("a later file: %v", err)
	}
}

// A point that no write follows fails nothing.
func TestPointWithoutWrite(t *testing.T) {
	p, _ := newPoints(t, FailVariable, "1")
	p.Pass("before rename")
	p.Pass("after rename")
	var out bytes.Buffer
	if _, err := p.Writer(&out).Write([]byte("x")); err != nil {
		t.Error(err)
	}
}

// WriteFile leaves nothing half-written.
func TestWriteFileFails(t *testing.T) {
	p, _ := newPoints(t, FailVariable, "1")
	name := filepath.Join(t.TempDir(), "f")
	if err := p.WriteFile("file", name, []byte("content"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("WriteFile() = %v, want no space left", err)
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a file is left: %v", err)
	}
}

// TestKilledProcess is no test by itself: [TestKill] starts it.
func TestKilledProcess(t *testing.T) {
	at, dir, found := strings.Cut(os.Getenv("CRASH_TEST"), "|")
	if !found {
		t.Skip("started by TestKill")
	}
	p, _ := newPoints(t, CrashVariable, at)
	defer os.WriteFile(filepath.Join(dir, "deferred"), nil, 0o600)
	if err := p.WriteFile("file", filepath.Join(dir, "f"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The process dies at its n-th point and runs nothing deferred.
func TestKill(t *testing.T) {
	for at, want := range map[int]string{1: "", 2: "f", 3: "deferred f"} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
		cmd.Env = append(os.Environ(), "CRASH_TEST="+strconv.Itoa(at)+"|"+dir)
		err := cmd.Run()
		if killed := err != nil; killed != (at < 3) {
			t.Errorf("%d: the process ended with %v", at, err)
		}
		entries, _ := os.ReadDir(dir)
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%d: there is %q, want %q", at, got, want)
		}
	}
}

func BenchmarkPassOff(b *testing.B) {
	var p *Points
	for b.Loop() {
		p.Pass("point")
	}
}
