package skill

import (
	"bytes"
	"unicode/utf8"
)

// Size is how large texts are, for budgets. Sizes add up.
type Size struct {
	Chars     int // code points as they are: CR LF is two
	Lines     int // line feeds, plus one for an unterminated last line
	Protected int // of the chars, those in protected regions and their markers
}

// Measure returns the size of a text; ok is false if it is not UTF-8 and so
// counts nothing (loop.md R-BUDGET-3).
func Measure(data []byte) (size Size, ok bool) {
	if !utf8.Valid(data) {
		return Size{}, false
	}
	size = Size{Chars: utf8.RuneCount(data), Lines: bytes.Count(data, []byte(LF))}
	if n := len(data); n > 0 && data[n-1] != '\n' {
		size.Lines++
	}
	for _, region := range Scan(data).List {
		size.Protected += utf8.RuneCount(data[region.Start:region.End])
	}
	return size, true
}

// Add returns the size of both together.
func (s Size) Add(other Size) Size {
	return Size{Chars: s.Chars + other.Chars, Lines: s.Lines + other.Lines, Protected: s.Protected + other.Protected}
}

// Tokens estimates tokens: the floor of chars / charsPerToken, which is at
// least 1. Over several files it is the floor of the sum, so add sizes first
// (loop.md R-BUDGET-3).
func (s Size) Tokens(charsPerToken int) int { return s.Chars / charsPerToken }

// ProtectedTokens is what the protected regions add to [Size.Tokens].
func (s Size) ProtectedTokens(charsPerToken int) int {
	return s.Tokens(charsPerToken) - (s.Chars-s.Protected)/charsPerToken
}

// SuggestedBudget is a budget with room for what there is: a quarter more,
// rounded up, and at least 2,000 (loop.md R-BUDGET-4).
func SuggestedBudget(tokens int) int { return max(2000, (5*tokens+3)/4) }

// estimateChars is the divisor of the estimate that lists and the curator show.
const estimateChars = 4

// EstimateTokens is the estimate that lists and the curator show: a quarter of
// the code points rounded down, at least 1 (curator.md RC-SKILL-8).
func EstimateTokens(data []byte) int { return max(1, utf8.RuneCount(data)/estimateChars) }
