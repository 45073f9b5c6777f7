package text

import "strings"

// WindowWords is how many words a window has (DECISIONS K3).
const WindowWords = 8

// Windows returns every run of [WindowWords] of the words, each joined by
// single spaces. Fewer words have none (knowledge.md R-LEAK-2).
func Windows(words []string) Set {
	var all []string
	for i := 0; i+WindowWords <= len(words); i++ {
		all = append(all, strings.Join(words[i:i+WindowWords], " "))
	}
	return NewSet(all)
}

// minQueryWords is how many words a query needs to be a window of its own.
const minQueryWords = 3

// QueryWindows returns the windows of a trigger query, which is short: those
// of [Windows] for [WindowWords] words and more, the query as a whole for 3 to
// 7, none for fewer (skill-format.md R-SF-TR-5).
func QueryWindows(words []string) Set {
	if len(words) >= minQueryWords && len(words) < WindowWords {
		return Set{strings.Join(words, " ")}
	}
	return Windows(words)
}

// Holds reports whether a window stands in a text, at word boundaries. Both
// are normalised, as by [Normalise].
func Holds(normalised, window string) bool {
	return strings.Contains(" "+normalised+" ", " "+window+" ")
}
