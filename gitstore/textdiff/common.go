package textdiff

import "bytes"

// Lines splits a text after each LF; the last line may have none. An empty
// text has no line.
func Lines(data []byte) [][]byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		return lines[:len(lines)-1]
	}
	return lines
}

// Common tells for each line of after, counted from 0, which line of before it
// is: -1 where it is none. It pairs the lines that the hunks of [Unified] leave
// alone.
func Common(before, after []byte) []int {
	a, b := splitLines(before), splitLines(after)
	same := make([]int, len(b))
	i, j := 0, 0
	for _, r := range append(changes(a, b), region{len(a), len(a), len(b), len(b)}) {
		for ; j < r.j1; i, j = i+1, j+1 {
			same[j] = i
		}
		for ; j < r.j2; j++ {
			same[j] = -1
		}
		i = r.i2
	}
	return same
}
