package textdiff

import "bytes"

// maxDistance bounds the search for the shortest edit script: its time grows
// with the square of the distance. Beyond it the hunks of [Unified] are
// counted, which need not be the fewest.
const maxDistance = 10_000

// Stat counts the added and removed lines of a change as
// git diff --numstat --no-renames does, by the shortest edit script; a binary
// file counts as 0 and 0. The hunks of [Unified] are made to be read and can
// show a few lines more of either.
//
// Source: loop.md R-DIFF-2.
func Stat(files []File) (added, removed int) {
	for _, f := range files {
		if f.Binary() || bytes.Equal(f.Before.data(), f.After.data()) {
			continue
		}
		plus, minus := statLines(splitLines(f.Before.data()), splitLines(f.After.data()))
		added, removed = added+plus, removed+minus
	}
	return added, removed
}

// statLines counts the lines to add to a and to remove from it to get b.
func statLines(a, b []string) (added, removed int) {
	x, y := numbered(a, b)
	if d, ok := distance(x, y); ok {
		// Lines without a counterpart were left out of x and y.
		common := (len(x) + len(y) - d) / 2
		return len(b) - common, len(a) - common
	}
	for _, r := range changes(a, b) {
		added, removed = added+r.j2-r.j1, removed+r.i2-r.i1
	}
	return added, removed
}

// numbered returns the lines of a and b that occur in both, as numbers that
// are equal where the lines are.
func numbered(a, b []string) (x, y []int) {
	number := make(map[string]int, len(a))
	for _, line := range a {
		if _, ok := number[line]; !ok {
			number[line] = len(number)
		}
	}
	inB := make(map[int]bool, len(b))
	for _, line := range b {
		if n, ok := number[line]; ok {
			inB[n] = true
			y = append(y, n)
		}
	}
	for _, line := range a {
		if n := number[line]; inB[n] {
			x = append(x, n)
		}
	}
	return x, y
}

// distance returns the least number of insertions and deletions that turn x
// into y, or false if it is more than maxDistance. Source: Myers, "An O(ND)
// Difference Algorithm and Its Variations", section 2.
func distance(x, y []int) (d int, ok bool) {
	limit := min(len(x)+len(y), maxDistance)
	reach := make([]int, 2*limit+3) // reach[k+limit+1]: how far in x the best path on diagonal k got
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			at := k + limit + 1
			i := reach[at-1] + 1
			if k == -d || k != d && reach[at-1] < reach[at+1] {
				i = reach[at+1]
			}
			for i < len(x) && i-k < len(y) && x[i] == y[i-k] {
				i++
			}
			reach[at] = i
			if i >= len(x) && i-k >= len(y) {
				return d, true
			}
		}
	}
	return 0, false
}
