package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"forge/gitstore/process"
)

// bigRepository is 1,000 skills of 10 files each with 1,000 commits on main,
// packed.
func bigRepository(b *testing.B) *sandbox {
	b.Helper()
	s := newSandbox(b)
	s.git("init", "-q", "-b", "main")
	var in bytes.Buffer
	commit := func(n int) {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 2\nc\n", 1767323045+n)
	}
	file := func(skill, n, version int) {
		text := fmt.Sprintf("skill %d, file %d, version %d\n", skill, n, version)
		fmt.Fprintf(&in, "M 100644 inline skills/skill-%04d/file-%d.md\ndata %d\n%s\n", skill, n, len(text), text)
	}
	commit(0)
	for skill := range 1000 {
		for n := range 10 {
			file(skill, n, 0)
		}
	}
	for n := 1; n < 1000; n++ {
		commit(n)
		file(n, n%10, n)
	}
	result, err := process.Plain(context.Background(), process.Command{
		Argv: []string{"git", "fast-import", "--quiet"}, Dir: s.dir, Env: process.Environment(s.vars), Stdin: in.Bytes(), Timeout: 5 * time.Minute,
	})
	if err != nil || !result.OK() {
		b.Fatalf("git fast-import: %v %s", err, result.Stderr)
	}
	return s
}

// BenchmarkCommitOneOf10000 is one commit of one file among 10,000: targets
// 15 ms with a fresh handle, 6 ms with a used one (gitstore.md section 15).
func BenchmarkCommitOneOf10000(b *testing.B) {
	s := bigRepository(b)
	head := s.rev("HEAD")
	next := func(r *Repo, tip Hash, i int) Hash {
		c := Change{Ref: "refs/heads/forge/x/r1", Base: tip, Edits: []Edit{Put("skills/skill-0500/file-3.md", fmt.Append(nil, b.Name(), i))}}
		if tip == "" {
			c.From, c.Parents = head, []Hash{head}
		}
		return commit(b, r, c)
	}
	tip := next(s.open(), "", 0)
	i := 0
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			i++
			tip = next(s.open(), tip, i)
		}
	})
	b.Run("warm", func(b *testing.B) {
		r := s.open()
		i++
		tip = next(r, tip, i)
		for b.Loop() {
			i++
			tip = next(r, tip, i)
		}
	})
}

// BenchmarkDiffTrees compares trees one and a hundred commits apart: targets
// 20 and 60 ms with a fresh handle (gitstore.md section 15).
func BenchmarkDiffTrees(b *testing.B) {
	s := bigRepository(b)
	for _, distance := range []int{1, 100} {
		from, to := s.rev(fmt.Sprintf("HEAD~%d", distance)), s.rev("HEAD")
		diff := func(b *testing.B, r *Repo) {
			found, err := r.DiffTrees(context.Background(), from, to)
			if err != nil || len(found) != distance {
				b.Fatalf("DiffTrees() = %d files, %v", len(found), err)
			}
		}
		b.Run(fmt.Sprintf("%d/cold", distance), func(b *testing.B) {
			for b.Loop() {
				diff(b, s.open())
			}
		})
		b.Run(fmt.Sprintf("%d/warm", distance), func(b *testing.B) {
			r := s.open()
			for b.Loop() {
				diff(b, r)
			}
		})
	}
}
