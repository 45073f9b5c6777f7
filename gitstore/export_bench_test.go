package gitstore

import (
	"fmt"
	"path/filepath"
	"testing"
)

// exportYard has n skills of that many files, and two commits that differ in
// one file.
func exportYard(b *testing.B, skills, files int) (r *Repo, one, two Hash) {
	b.Helper()
	y := newYard(b)
	for s := range skills {
		for f := range files {
			name := "SKILL.md"
			if f > 0 {
				name = fmt.Sprintf("references/r%02d.md", f)
			}
			putFile(b, filepath.Join(y.dir, fmt.Sprintf("skills/s%04d", s), name), fmt.Sprintf("skill %d, file %d\n", s, f))
		}
	}
	one = y.commit("one")
	y.write("skills/s0007/SKILL.md", "changed\n")
	two = y.commit("two")
	y.git("repack", "-adq")
	return y.open(), one, two
}

// benchmarkRewrite measures a later Set whose tree differs in one file
// (gitstore.md section 15).
func benchmarkRewrite(b *testing.B, skills, files int) {
	r, one, two := exportYard(b, skills, files)
	e := newExport(b, r)
	set(b, e, one)
	set(b, e, two)
	commits := []Hash{one, two}
	for i := 0; b.Loop(); i++ {
		set(b, e, commits[i%2])
	}
}

func BenchmarkExportRewriteSmall(b *testing.B)      { benchmarkRewrite(b, 50, 10) }
func BenchmarkExportRewrite10000(b *testing.B)      { benchmarkRewrite(b, 1000, 10) }
func BenchmarkExportRewrite2000Skills(b *testing.B) { benchmarkRewrite(b, 2000, 1) }

// BenchmarkExportFirst10000 measures the first Set of 10,000 files.
func BenchmarkExportFirst10000(b *testing.B) {
	r, one, _ := exportYard(b, 1000, 10)
	for b.Loop() {
		set(b, newExport(b, r), one)
	}
}
