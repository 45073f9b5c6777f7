package config

import "strings"

// Nearest returns the candidate a person most likely meant by name: the one
// within an edit distance of 2, or the only one that begins with name. It
// returns "" if there is none, and never guesses at words that share less
// than half of their letters (config.md R-CFG-3).
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", 3
	var longer []string
	for _, candidate := range candidates {
		if d := distance(name, candidate); d > 0 && d < bestDistance && 2*d < max(len(name), len(candidate)) {
			best, bestDistance = candidate, d
		}
		if len(name) >= 3 && strings.HasPrefix(candidate, name) {
			longer = append(longer, candidate)
		}
	}
	if best == "" && len(longer) == 1 {
		return longer[0]
	}
	return best
}

// distance is the number of bytes to insert, delete, replace or swap with
// their neighbour that turns a into b (optimal string alignment).
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3 // far enough for every caller
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := rows[i%3], rows[(i-1)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
