package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// nobody is a process id that no process has.
const nobody = 1 << 30

// R-REF-9: who takes a run's lock clears away the records of dead processes
// whose lock is gone; a record that says nothing goes when it is old.
func TestLockRunSweepsRecords(t *testing.T) {
	y := newYard(t)
	y.commit("base")
	r := y.open()
	if err := r.makeForgeDir("ref-locks"); err != nil {
		t.Fatal(err)
	}
	record := func(name, text string) string {
		file := filepath.Join(r.lockRecords(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	owner := func(pid int, start string) string {
		return fmt.Sprintf(`{"pid":%d,"start":%q,"host":%q,"ref":"refs/forge/runs/r1/tip"}`+"\n", pid, start, hostName())
	}
	start, _ := processStart(os.Getpid())
	old := record("old-empty", "")
	past := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	stays := map[string]bool{
		record("dead", owner(nobody, "1")): false, old: false,
		record("alive", owner(os.Getpid(), start)): true, record("empty", ""): true,
	}
	release, err := r.LockRun(context.Background(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for file, want := range stays {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("the record %s: %v, stays %v", filepath.Base(file), err, want)
		}
	}
}

// R-LOCK-1: a lock that its holder gives back in a moment is waited for.
func TestLockRunWaitsAMoment(t *testing.T) {
	y := newYard(t)
	y.commit("base")
	release, err := y.open().LockRun(context.Background(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(runLockWait/10, release).Stop()
	again, err := y.open().LockRun(context.Background(), "r1")
	if err != nil {
		t.Fatalf("LockRun of a run that is held for a moment: %v", err)
	}
	again()
}

// R-EXP-4: a removal that was cut short, or an export that was not finished
// when its process was killed, goes with the next sweep.
func TestSweepExportsCutShort(t *testing.T) {
	tests := map[string][]string{ // what is left in the directory: the mark first
		"nothing but the directory": nil,
		"a mark that says nothing":  {""},
		"the mark":                  {"forge-x-cutshort\n"},
		"the mark and some files":   {"forge-x-cutshort\n", "tree/a/b"},
	}
	for name, left := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.commit("base")
			r := y.open()
			dir := filepath.Join(y.vars["TMPDIR"], "forge-x-cutshort")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for i, text := range left {
				if i == 0 {
					putFile(t, filepath.Join(dir, exportMark), text)
				} else {
					putFile(t, filepath.Join(dir, text), "left")
				}
			}
			record := filepath.Join(r.exportsDir(), "forge-x-cutshort.json")
			putFile(t, record, fmt.Sprintf(`{"path":%q,"pid":%d,"start":"1","host":%q,"run":"r1"}`, dir, nobody, hostName()))
			if err := r.SweepExports(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{dir, record} {
				if _, err := os.Lstat(file); err == nil {
					t.Errorf("%s is left", file)
				}
			}
		})
	}
}
