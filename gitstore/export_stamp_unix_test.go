//go:build linux || darwin

package gitstore

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// lstat sees what os.Lstat sees.
func TestLstat(t *testing.T) {
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "file"), "content")
	putFile(t, filepath.Join(dir, "exec"), "x")
	for name, mode := range map[string]os.FileMode{"exec": 0o755 | os.ModeSetuid | os.ModeSetgid, "file": 0o600, ".": 0o755 | os.ModeSticky} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "file"), filepath.Join(dir, "exec"), filepath.Join(dir, "link"), filepath.Join(dir, "fifo"), dir, os.DevNull} {
		info, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := lstat(name); err != nil || got != diskStampOf(info) {
			t.Errorf("lstat(%q) = %+v, %v, want %+v", name, got, err, diskStampOf(info))
		}
	}
	if _, err := lstat(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
		t.Errorf("lstat(missing) = %v", err)
	}
}
