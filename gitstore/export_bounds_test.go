package gitstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file over the bound on objects that are read is exported all the same: it
// is only copied.
func TestExportLargeFile(t *testing.T) {
	y := newYard(t)
	y.write("big.bin", strings.Repeat("0123456789abcdef", maxObject/16)+"x")
	big := y.commit("big")
	e := newExport(t, y.open())
	set(t, e, big)
	info, err := os.Stat(filepath.Join(e.Tree, "big.bin"))
	if err != nil || info.Size() != maxObject+1 {
		t.Errorf("big.bin: %v, %v, want %d bytes", info, err, maxObject+1)
	}
}
