//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package forgecmd

import "testing"

// R-FILE-1: a folder is one writer's at a time, and leaves nothing behind.
func TestLockFolder(t *testing.T) {
	dir := t.TempDir()
	release, free, err := lockFolder(dir)
	if err != nil || !free {
		t.Fatalf("the first lock: free %t, %v", free, err)
	}
	if _, free, err := lockFolder(dir); err != nil || free {
		t.Errorf("while it is held: free %t, %v", free, err)
	}
	release()
	again, free, err := lockFolder(dir)
	if err != nil || !free {
		t.Fatalf("after its release: free %t, %v", free, err)
	}
	again()
	if _, _, err := lockFolder(dir + "/missing"); err == nil {
		t.Error("a missing folder is locked")
	}
}
