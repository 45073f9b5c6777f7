package textdiff

import (
	"cmp"
	"slices"
	"sort"

	"github.com/pmezard/go-difflib/difflib"
)

// difflibArea bounds what go-difflib compares at once, as the product of both
// numbers of lines: its time grows with it, and more in bad cases.
const difflibArea = 1 << 20

// region says that the lines i1 to i2 of the old text became the lines j1 to
// j2 of the new one, without the ends; one of the two may be empty.
type region struct{ i1, i2, j1, j2 int }

// changes returns the regions in which a and b differ, in order, with at least
// one common line between any two.
func changes(a, b []string) []region {
	return appendChanges(nil, a, b, 0, 0)
}

// appendChanges appends the regions of a and b, which begin at lines i and j
// of the whole texts. Common lines at both ends are cut off first, and texts
// that are large even so are cut at lines that are unique in both.
func appendChanges(to []region, a, b []string, i, j int) []region {
	head := commonPrefix(a, b)
	a, b, i, j = a[head:], b[head:], i+head, j+head
	tail := commonSuffix(a, b)
	a, b = a[:len(a)-tail], b[:len(b)-tail]

	switch {
	case len(a) == 0 && len(b) == 0:
		return to
	case len(a) == 0 || len(b) == 0:
		return append(to, region{i, i + len(a), j, j + len(b)})
	case len(a)*len(b) <= difflibArea:
		for _, c := range difflib.NewMatcher(a, b).GetOpCodes() {
			if c.Tag != 'e' {
				to = append(to, region{i + c.I1, i + c.I2, j + c.J1, j + c.J2})
			}
		}
		return to
	}
	anchors := uniqueCommon(a, b)
	if len(anchors) == 0 {
		return append(to, region{i, i + len(a), j, j + len(b)})
	}
	anchors = append(anchors, pair{len(a), len(b)})
	var from pair
	for _, p := range anchors {
		to = appendChanges(to, a[from.i:p.i], b[from.j:p.j], i+from.i, j+from.j)
		from = pair{p.i + 1, p.j + 1}
	}
	return to
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// pair is a line of the old text and the equal line of the new one.
type pair struct{ i, j int }

// uniqueCommon returns lines that occur once in a and once in b: the longest
// list of them that is in the same order in both.
func uniqueCommon(a, b []string) []pair {
	inB := uniqueLines(b)
	inA := uniqueLines(a)
	var pairs []pair
	for i, line := range a {
		if j, ok := inB[line]; ok && j >= 0 && inA[line] >= 0 {
			pairs = append(pairs, pair{i, j})
		}
	}
	return increasing(pairs)
}

// uniqueLines maps a line to its index, or to -1 if there are several.
func uniqueLines(lines []string) map[string]int {
	at := make(map[string]int, len(lines))
	for i, line := range lines {
		if _, twice := at[line]; twice {
			i = -1
		}
		at[line] = i
	}
	return at
}

// increasing returns the longest part of pairs, which are sorted by i, in
// which j increases as well.
func increasing(pairs []pair) []pair {
	var ends []int                    // ends[n] is the pair with the smallest j that ends a list of n+1
	before := make([]int, len(pairs)) // the pair before this one in its list
	for n, p := range pairs {
		k := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]].j >= p.j })
		before[n] = -1
		if k > 0 {
			before[n] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, n)
		} else {
			ends[k] = n
		}
	}
	if len(ends) == 0 {
		return nil
	}
	longest := make([]pair, 0, len(ends))
	for n := ends[len(ends)-1]; n >= 0; n = before[n] {
		longest = append(longest, pairs[n])
	}
	slices.SortFunc(longest, func(x, y pair) int { return cmp.Compare(x.i, y.i) })
	return longest
}
