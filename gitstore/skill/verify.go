package skill

import (
	"bytes"
	"cmp"
	"slices"
)

// Verification is the document of `verify-regions`: names of regions, each
// list sorted and never nil.
type Verification struct {
	OK             bool     `json:"ok"`
	Violated       []string `json:"violated"`
	Removed        []string `json:"removed"`
	Added          []string `json:"added"`
	Duplicated     []string `json:"duplicated"`
	Moved          []string `json:"moved"`
	Malformed      []string `json:"malformed"`
	RegionsPresent []string `json:"regions_present"`
}

// VerifyRegions compares the protected regions of a file before and after a
// change: their content byte for byte, their number, their order, and on which
// side of the surrounding text they lie. Everything outside is free.
//
// Source: loop.md R-REG-1 to R-REG-5; DECISIONS G1.
func VerifyRegions(before, after []byte) Verification {
	c := comparison{
		before: side{data: before, regions: Scan(before)},
		after:  side{data: after, regions: Scan(after)},
	}
	c.names()
	if len(c.result.Malformed)+len(c.result.Added)+len(c.result.Duplicated)+len(c.result.Removed) == 0 {
		c.order()
	}
	c.anchors()
	return c.finish()
}

// side is one of the two files.
type side struct {
	data    []byte
	regions Regions
}

// contents are the contents of the regions of a name, in order.
func (s side) contents(name string) [][]byte {
	var list [][]byte
	for _, r := range s.regions.of(name) {
		list = append(list, s.data[r.Content:r.ContentEnd])
	}
	return list
}

// comparison is one call of [VerifyRegions].
type comparison struct {
	before, after side
	result        Verification
}

// sound lists the names that are well-formed in both files.
func (c *comparison) sound() []string {
	return slices.DeleteFunc(protectedNames(), func(name string) bool {
		return c.before.regions.IsMalformed(name) || c.after.regions.IsMalformed(name)
	})
}

// names compares numbers and contents name by name (R-REG-1, R-REG-2).
func (c *comparison) names() {
	sound := c.sound()
	for _, name := range protectedNames() {
		before, after := c.before.contents(name), c.after.contents(name)
		list := &c.result.Violated
		switch n, m := len(before), len(after); {
		case !slices.Contains(sound, name):
			list = &c.result.Malformed
		case n == 0 && m > 0:
			list = &c.result.Added
		case n < m:
			list = &c.result.Duplicated
		case m < n:
			list = &c.result.Removed
		case slices.EqualFunc(before, after, bytes.Equal):
			continue
		case isPermutation(before, after):
			list = &c.result.Moved
		}
		*list = append(*list, name)
	}
}

// isPermutation reports whether two lists hold the same in any order. It sorts
// them.
func isPermutation(a, b [][]byte) bool {
	slices.SortFunc(a, bytes.Compare)
	slices.SortFunc(b, bytes.Compare)
	return slices.EqualFunc(a, b, bytes.Equal)
}

// order compares the sequence of names (R-REG-3).
func (c *comparison) order() {
	for i, r := range c.before.regions.List {
		if other := c.after.regions.List[i].Name; other != r.Name {
			c.result.Moved = append(c.result.Moved, r.Name, other)
		}
	}
}

// anchors finds regions that were carried across a line of the text around
// them (R-REG-4).
func (c *comparison) anchors() {
	sound := c.sound()
	before, after := c.before.outside(sound), c.after.outside(sound)
	for _, name := range sound {
		old, now := c.before.regions.of(name), c.after.regions.of(name)
		if len(old) != len(now) {
			continue
		}
		for line, from := range before {
			to, both := after[line]
			if both && from >= 0 && to >= 0 && rank(old, from) != rank(now, to) {
				c.result.Moved = append(c.result.Moved, name)
				break
			}
		}
	}
}

// rank is how many of the regions begin before an offset outside of them. The
// i-th region before is the i-th after, so an anchor keeps its side of each
// exactly if its rank stays.
func rank(regions []Region, offset int) int {
	n, _ := slices.BinarySearchFunc(regions, offset, func(r Region, at int) int { return cmp.Compare(r.Start, at) })
	return n
}

// outside lists the lines outside the regions of the sound names, cut at line
// endings and at region borders, with the offset at which each begins; -1 for
// a line that occurs more than once.
func (s side) outside(sound []string) map[string]int {
	found := map[string]int{}
	collect := func(from, to int) {
		for at, line := range lines(s.data[from:to]) {
			if isBlank(line) {
				continue
			}
			text := string(chomp(line))
			if _, again := found[text]; again {
				found[text] = -1
			} else {
				found[text] = from + at
			}
		}
	}
	from := 0
	for _, r := range s.regions.List {
		if slices.Contains(sound, r.Name) {
			collect(from, r.Start)
			from = r.End
		}
	}
	collect(from, len(s.data))
	return found
}

// finish sorts the lists and draws the conclusion (R-REG-5).
func (c *comparison) finish() Verification {
	v := c.result
	v.RegionsPresent = c.after.regions.Names()
	v.OK = true
	for _, list := range []*[]string{&v.Violated, &v.Removed, &v.Added, &v.Duplicated, &v.Moved, &v.Malformed} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		if *list == nil {
			*list = []string{}
		}
		v.OK = v.OK && len(*list) == 0
	}
	return v
}
