package gitstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// web makes n commits, each with up to two earlier ones as its parents; of
// three that follow one another two have the same date.
func web(y *yard, random *rand.Rand, n int) []Hash {
	y.t.Helper()
	tree := y.git("write-tree")
	var made []Hash
	for i := range n {
		args := []string{"commit-tree", "-m", fmt.Sprint(i), tree}
		for range random.IntN(3) {
			if i > 0 {
				if parent := string(made[max(0, i-1-random.IntN(6))]); !slices.Contains(args, parent) {
					args = append(args, "-p", parent)
				}
			}
		}
		y.vars["GIT_COMMITTER_DATE"] = fmt.Sprintf("%d +0000", 1700000000+i-i%3/2)
		made = append(made, Hash(y.git(args...)))
	}
	return made
}

// Missing and MergeBases answer as git does, in histories that were merged
// crosswise.
func TestBetween(t *testing.T) {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	y := newYard(t)
	made := web(y, random, 40)
	r := y.open()
	pick := func() Hash { return made[random.IntN(len(made))] }
	for range 40 {
		from, have := []Hash{pick(), pick()}, []Hash{pick(), pick()}
		missing, err := r.Missing(ctx, from, have)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range missing {
			got = append(got, string(c.Hash))
		}
		want := strings.Fields(y.git("rev-list", string(from[0]), string(from[1]), "^"+string(have[0]), "^"+string(have[1])))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("Missing(%v, %v) = %v, want %v", from, have, got, want)
		}

		a, b := pick(), pick()
		bases, err := r.MergeBases(ctx, a, b)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := y.try("merge-base", "--all", string(a), string(b))
		want, got = strings.Fields(out), nil
		for _, base := range bases {
			got = append(got, string(base))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("MergeBases(%s, %s) = %v, want %v", a, b, got, want)
		}
	}
}

// What a shallow clone does not have is not called missing, nor unrelated;
// what ends above the boundary is answered (gitstore.md section 2).
func TestBetweenShallow(t *testing.T) {
	ctx := context.Background()
	y := newYard(t)
	y.commit("one")
	two := y.commit("two")
	three := y.commit("three")
	y.write(".git/shallow", string(two)+"\n")
	r := y.open()
	if missing, err := r.Missing(ctx, []Hash{three}, []Hash{two}); err != nil || len(missing) != 1 {
		t.Errorf("Missing above the boundary = %v, %v", missing, err)
	}
	if _, err := r.Missing(ctx, []Hash{three}, nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("Missing beyond the boundary: %v, want a fault of kind usage", err)
	}
	other := Hash(y.git("commit-tree", "-m", "other", y.git("write-tree")))
	if _, err := r.MergeBases(ctx, three, other); fault.KindOf(err) != fault.Usage {
		t.Errorf("MergeBases beyond the boundary: %v, want a fault of kind usage", err)
	}
}
