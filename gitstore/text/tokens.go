package text

import (
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// stopWords carry no topic (curator.md RC-CLUST-1).
var stopWords = sync.OnceValue(func() Set {
	return NewSet(strings.Fields(`
	a about above after all also an and any are as at be been before being below between both but by can could d did do does doing done each either else etc
	every for from get gets give given had has have how i if in into is it its just let ll m may might more most must my no nor not of off on once one only
	or other our out over own per re s same shall she should skill skills so some such t than that the their them then there these they this those through to
	too under until up upon us use used user uses using ve very via was we were what when where which while who whom whose why will with within without would
	you your`))
})

// Tokens returns the tokens of s in order, with repeats: runs of letters,
// marks and digits of its folded form, without stop words and without
// stemming. A run in Han, Hiragana, Katakana or Hangul becomes its overlapping
// pairs of characters; a single such character stays itself.
//
// Source: curator.md RC-CLUST-1; handoff.md R-LEX-2.
func Tokens(s string) []string {
	var tokens []string
	for _, run := range strings.FieldsFunc(Fold(s), func(r rune) bool { return !isTokenRune(r) }) {
		for _, part := range scriptParts(run) {
			tokens = append(tokens, part.tokens()...)
		}
	}
	return tokens
}

// TokenSet returns the different tokens of s.
func TokenSet(s string) Set { return NewSet(Tokens(s)) }

// isTokenRune reports letters, marks and digits. Numbers that are written as
// letters, like the ideographic zero, count as such.
func isTokenRune(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl) }

// isUnspaced reports the scripts that are read in pairs, with their
// prolonged-sound and iteration marks, some of which belong to no script.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー' || r >= '〱' && r <= '〵'
}

// part is a piece of a run in one kind of script, cut into characters with
// the marks that follow them.
type part struct {
	unspaced   bool
	characters []string
}

// scriptParts cuts a run where the kind of its script changes.
func scriptParts(run string) []part {
	var parts []part
	for character := range characters(run) {
		first, _ := utf8.DecodeRuneInString(character)
		unspaced := isUnspaced(first) && !unicode.Is(unicode.M, first)
		if last := len(parts) - 1; last >= 0 && parts[last].unspaced == unspaced {
			parts[last].characters = append(parts[last].characters, character)
		} else {
			parts = append(parts, part{unspaced, []string{character}})
		}
	}
	return parts
}

// characters yields the letters and digits of a run, each with the marks
// behind it.
func characters(run string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i, r := range run {
			if i == start || unicode.Is(unicode.M, r) {
				continue
			}
			if !yield(run[start:i]) {
				return
			}
			start = i
		}
		yield(run[start:])
	}
}

// tokens returns the part's tokens without stop words.
func (p part) tokens() []string {
	if p.unspaced && len(p.characters) > 1 {
		var pairs []string
		for i := 1; i < len(p.characters); i++ {
			pairs = append(pairs, p.characters[i-1]+p.characters[i])
		}
		return pairs
	}
	word := strings.Join(p.characters, "")
	if stopWords().Has(word) {
		return nil
	}
	return []string{word}
}
