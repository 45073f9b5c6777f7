package gitstore

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"forge/gitstore/fault"
)

// A directory in a shared place is used only if it is the user's alone.
func TestPrivateDir(t *testing.T) {
	base := t.TempDir()
	own := filepath.Join(base, "own")
	for range 2 {
		if err := PrivateDir(own); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("made with mode %v, %v", info.Mode(), err)
	}
	open, link, file := filepath.Join(base, "open"), filepath.Join(base, "link"), filepath.Join(base, "file")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o770); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(base, "foreign")
	if err := PrivateDir(foreign); err != nil {
		t.Fatal(err)
	}
	refused := []string{open, link, file}
	if os.Geteuid() == 0 {
		if err := os.Chown(foreign, 12345, -1); err != nil {
			t.Fatal(err)
		}
		refused = append(refused, foreign)
	}
	for _, dir := range refused {
		if err := PrivateDir(dir); fault.KindOf(err) != fault.Refused {
			t.Errorf("PrivateDir(%s) = %v, want it refused", filepath.Base(dir), err)
		}
	}
	if err := PrivateDir(filepath.Join(base, "no", "such")); err == nil {
		t.Error("a directory without a parent was made")
	}
}
