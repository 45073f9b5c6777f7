package gitstore

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"forge/gitstore/process"
)

// deadProcess returns pid and start of a process that has ended.
func deadProcess(t *testing.T) (pid int, start string) {
	t.Helper()
	result, err := process.Plain(t.Context(), process.Command{
		Argv: process.Shell("echo $$"), Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	if err != nil || json.Unmarshal(result.Stdout, &pid) != nil {
		t.Fatalf("sh: %v, %q", err, result.Stdout)
	}
	return pid, "1"
}

// rewrite changes the record of an export.
func rewrite(t *testing.T, e *Export, change func(*exportRecord)) {
	t.Helper()
	text, err := os.ReadFile(e.record)
	if err != nil {
		t.Fatal(err)
	}
	var r exportRecord
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	change(&r)
	if text, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.record, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSweepExports(t *testing.T) { // R-EXP-4, R-EXP-5
	pid, start := deadProcess(t)
	kill := func(r *exportRecord) { r.PID, r.Start = pid, start }
	outside := t.TempDir()
	putFile(t, filepath.Join(outside, "precious"), "p")
	putFile(t, filepath.Join(outside, exportMark), "forge-x-other")
	tests := map[string]struct {
		prepare             func(e *Export)
		dirGone, recordGone bool
	}{
		"alive": {func(*Export) {}, false, false},
		"dead":  {func(e *Export) { rewrite(t, e, kill) }, true, true},
		"dead, read-only leftovers": {func(e *Export) {
			putFile(t, e.Tree+"/ro/x", "x")
			_ = os.Chmod(e.Tree+"/ro", 0o500)
			_ = os.Symlink(outside, e.Tree+"/out")
			rewrite(t, e, kill)
		}, true, true},
		"pid in use again by another program": {func(e *Export) { rewrite(t, e, func(r *exportRecord) { r.Start = "1" }) }, true, true},
		"another host":                        {func(e *Export) { rewrite(t, e, func(r *exportRecord) { kill(r); r.Host = "elsewhere" }) }, false, false},
		"mark gone":                           {func(e *Export) { rewrite(t, e, kill); _ = os.Remove(filepath.Join(e.dir, exportMark)) }, false, true},
		"killed before the mark": {func(e *Export) {
			rewrite(t, e, kill)
			_ = os.RemoveAll(e.dir)
			_ = os.Mkdir(e.dir, 0o700)
		}, true, true},
		"killed before the directory": {func(e *Export) { rewrite(t, e, kill); _ = os.RemoveAll(e.dir) }, true, true},
		"names another directory":     {func(e *Export) { rewrite(t, e, func(r *exportRecord) { kill(r); r.Path = outside }) }, false, true},
		"a link now": {func(e *Export) {
			rewrite(t, e, kill)
			_ = os.RemoveAll(e.dir)
			_ = os.Symlink(outside, e.dir)
		}, false, true},
		"record damaged": {func(e *Export) { _ = os.WriteFile(e.record, []byte("{"), 0o600) }, false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			r := y.open()
			e, err := r.NewExport(t.Context(), ExportPlan{Run: "r1-abcd"})
			if err != nil {
				t.Fatal(err)
			}
			tt.prepare(e)
			if err := r.SweepExports(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := !exists(e.dir); got != tt.dirGone {
				t.Errorf("directory gone: %t, want %t", got, tt.dirGone)
			}
			if got := !exists(e.record); got != tt.recordGone {
				t.Errorf("record gone: %t, want %t", got, tt.recordGone)
			}
			if !exists(filepath.Join(outside, "precious")) {
				t.Fatal("a file outside was removed")
			}
		})
	}
}

// A record that has not its name yet goes with its process: the export was
// not made. A half-written one says nothing, and stays for an hour.
func TestSweepOfUnnamedRecords(t *testing.T) {
	y := newYard(t)
	r := y.open()
	text := func(pid int) string {
		start, _ := processStart(pid)
		return fmt.Sprintf(`{"path":"/x/forge-x-a","pid":%d,"start":%q,"host":%q,"run":"r1"}`, pid, start, hostName())
	}
	for name, tt := range map[string]struct {
		text string
		gone bool
	}{"dead": {text(nobody), true}, "living": {text(os.Getpid()), false}, "half": {text(nobody)[:20], false}} {
		record := filepath.Join(r.exportsDir(), name+".json.new")
		putFile(t, record, tt.text)
		if err := r.SweepExports(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := !exists(record); got != tt.gone {
			t.Errorf("%s: gone: %t, want %t", name, got, tt.gone)
		}
	}
}

func TestSweepOfTwoLivingSides(t *testing.T) { // two exports of one run stay
	y := newYard(t)
	r := y.open()
	a, b := newExport(t, r), newExport(t, r)
	if err := r.SweepExports(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Export{a, b} {
		if !exists(e.Tree) || !exists(e.record) {
			t.Errorf("%s was swept", e.dir)
		}
	}
}

func TestExportRecord(t *testing.T) { // R-EXP-4: modes and content
	y := newYard(t)
	e := newExport(t, y.open())
	text, err := os.ReadFile(e.record)
	if err != nil {
		t.Fatal(err)
	}
	var r exportRecord
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Path != e.dir || r.PID != os.Getpid() || r.Run != "r1-abcd" || r.Host != hostName() || !isRunning(r.PID, r.Start) {
		t.Errorf("record %s", text)
	}
	if info, err := os.Stat(e.record); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the record is %v, %v, want 0600 (R-DISC-5)", info.Mode(), err)
	}
}

func TestExportRemove(t *testing.T) { // R-EXP-5
	y := newYard(t)
	e, err := y.open().NewExport(t.Context(), ExportPlan{})
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, e.Home+"/.cache/x", "x")
	if err := os.Chmod(e.Home+"/.cache", 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time does nothing
		if err := e.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if exists(e.dir) || exists(e.record) {
		t.Error("something is left")
	}

	// Something else under the name stays.
	if e, err = y.open().NewExport(t.Context(), ExportPlan{}); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(e.dir, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := e.Remove(); err == nil || !exists(e.dir) {
		t.Errorf("Remove of a directory forge did not make = %v, want an error", err)
	}
}
