package skill

import (
	"bytes"
	"cmp"
	"slices"
)

// Names of the protected regions.
const (
	Keep     = "FORGE_KEEP"     // a person's text
	Appendix = "FORGE_APPENDIX" // forge's notes
)

// knowledge names a region that forge marks and does not protect.
const knowledge = "FORGE_KNOWLEDGE"

// protectedNames are the names of protected regions, in byte order.
func protectedNames() []string { return []string{Appendix, Keep} }

func startMarker(name string) string { return "<!-- " + name + "_START -->" }
func endMarker(name string) string   { return "<!-- " + name + "_END -->" }

// Region is one well-formed protected region of a file.
type Region struct {
	Name                string // [Keep] or [Appendix]
	Start, End          int    // byte range, markers included
	Content, ContentEnd int    // byte range between the markers
	FirstLine, LastLine int    // of the markers, from 1
}

// Malformed is one place where the markers of a name do not match.
type Malformed struct {
	Name   string
	Line   int    // from 1
	Reason string // "missing end", "missing start", "reversed" or "nested"
}

// Regions are the protected regions of a file.
type Regions struct {
	List      []Region    // of well-formed names, by position
	Malformed []Malformed // by position; such a name has no region in List
}

// Names returns the names with a well-formed region, sorted.
func (r Regions) Names() []string {
	names := []string{}
	for _, name := range protectedNames() {
		if r.count(name) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// IsMalformed reports whether the markers of a name do not match.
func (r Regions) IsMalformed(name string) bool {
	return slices.ContainsFunc(r.Malformed, func(m Malformed) bool { return m.Name == name })
}

// of returns the regions of a name.
func (r Regions) of(name string) []Region {
	var list []Region
	for _, region := range r.List {
		if region.Name == name {
			list = append(list, region)
		}
	}
	return list
}

func (r Regions) count(name string) int { return len(r.of(name)) }

// marker is one START or END in a file.
type marker struct {
	name     string
	start    bool
	from, to int
	reason   string // why its name is malformed, or ""
}

// pair are the indexes of a START and its END among the markers.
type pair struct{ start, end int }

// Scan finds the protected regions of any file. Markers are literal bytes and
// count wherever they stand, also in a code fence.
//
// A name is malformed if a START has no END or an END no START, if they are
// reversed, or if a region contains any marker of a protected name.
//
// Source: loop.md R-REG-1; DECISIONS G1.
func Scan(data []byte) Regions {
	found := markers(data)
	pairs := match(found)
	for _, p := range pairs {
		for i := p.start + 1; i < p.end; i++ {
			if found[i].name != found[p.start].name {
				found[p.start].reason = "nested"
				found[i].reason = cmp.Or(found[i].reason, "nested")
			}
		}
	}
	starts := lineStarts(data)
	line := func(offset int) int {
		after, _ := slices.BinarySearch(starts, offset+1)
		return after
	}
	var result Regions
	for _, m := range found {
		if m.reason != "" {
			result.Malformed = append(result.Malformed, Malformed{Name: m.name, Line: line(m.from), Reason: m.reason})
		}
	}
	for _, p := range pairs {
		start, end := found[p.start], found[p.end]
		if !result.IsMalformed(start.name) {
			result.List = append(result.List, Region{
				Name: start.name, Start: start.from, End: end.to, Content: start.to, ContentEnd: end.from,
				FirstLine: line(start.from), LastLine: line(end.from),
			})
		}
	}
	return result
}

// lineStarts are the offsets at which the lines of data begin.
func lineStarts(data []byte) []int {
	starts := []int{0}
	for at, text := range lines(data) {
		if endingOf(text) != "" {
			starts = append(starts, at+len(text))
		}
	}
	return starts
}

// match pairs each START with the next END of its name, in the order of the
// STARTs, and notes the markers that are left.
func match(found []marker) []pair {
	var pairs []pair
	open := map[string]int{} // the START that waits for its END
	for i := range found {
		m := &found[i]
		opener, waiting := open[m.name]
		switch {
		case m.start && waiting:
			m.reason = "nested"
		case m.start:
			open[m.name] = i
		case waiting:
			delete(open, m.name)
			pairs = append(pairs, pair{opener, i})
		default:
			m.reason = "missing start"
		}
	}
	for name, i := range open {
		found[i].reason = "missing end"
		for j := range found[:i] {
			if found[j].name == name && found[j].reason == "missing start" {
				found[j].reason = "reversed"
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.start, b.start) })
	return pairs
}

// markers lists the markers of the protected names by position.
func markers(data []byte) []marker {
	var list []marker
	for _, name := range protectedNames() {
		for _, start := range []bool{true, false} {
			literal := []byte(endMarker(name))
			if start {
				literal = []byte(startMarker(name))
			}
			for from := 0; ; {
				i := bytes.Index(data[from:], literal)
				if i < 0 {
					break
				}
				list = append(list, marker{name: name, start: start, from: from + i, to: from + i + len(literal)})
				from += i + len(literal)
			}
		}
	}
	slices.SortFunc(list, func(a, b marker) int { return cmp.Compare(a.from, b.from) })
	return list
}
