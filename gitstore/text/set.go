package text

import (
	"slices"
)

// Set holds different texts in byte order. Make one with [NewSet].
type Set []string

// NewSet returns the set of all.
func NewSet(all []string) Set {
	set := slices.Clone(all)
	slices.Sort(set)
	return slices.Compact(set)
}

// Has reports whether s holds member.
func (s Set) Has(member string) bool {
	_, found := slices.BinarySearch(s, member)
	return found
}

// Shared returns the members of both sets.
func Shared(a, b Set) Set {
	var both Set
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both = append(both, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return both
}

// Fraction is how much two sets have in common, as the two counts it comes
// from. A fraction of an empty set has Of 0 and counts as 0.
type Fraction struct {
	Shared int // members that both sets hold
	Of     int // members it is measured against
}

// AtLeast reports whether the fraction is at least num/den, by integers alone.
// den is positive.
func (f Fraction) AtLeast(num, den int) bool {
	if f.Of == 0 {
		return num <= 0
	}
	return den*f.Shared >= num*f.Of
}

// Overlap measures what a and b share against the smaller of them (curator.md
// RC-CLUST-4).
func Overlap(a, b Set) Fraction {
	return Fraction{Shared: len(Shared(a, b)), Of: min(len(a), len(b))}
}

// Jaccard measures what a and b share against what they hold together
// (knowledge.md R-DUP-3).
func Jaccard(a, b Set) Fraction {
	shared := len(Shared(a, b))
	return Fraction{Shared: shared, Of: len(a) + len(b) - shared}
}
