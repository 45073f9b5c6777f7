// Package text is the one way in which forge compares texts that people
// wrote: normal forms, words, tokens, word windows and the overlap of sets.
//
// Three questions have three answers and must not be mixed up. [Key] asks
// whether two names are one. [Words] is what gates, windows and coverage
// compare. [Tokens] is what clustering and search compare: it knows stop words
// and scripts that are written without spaces.
//
// Everything here is pure and deterministic, takes any string, and treats
// bytes that are not UTF-8 as U+FFFD does.
//
// Source: curator.md RC-CLUST-1 to RC-CLUST-4; knowledge.md section 2;
// skill-format.md R-SF-D-6 and R-SF-TR-5; handoff.md R-LEX-2.
package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NFC returns s in Unicode normalisation form C.
func NFC(s string) string { return norm.NFC.String(s) }

// NFKC returns s in Unicode normalisation form KC: full-width letters become
// ordinary ones, ligatures come apart.
func NFKC(s string) string { return norm.NFKC.String(s) }

// Fold returns s in NFKC with full case folding: sharp s becomes ss, a final
// sigma becomes a sigma (knowledge.md R-NORM-1). Punctuation and white space
// stay. What is folded folds to itself.
func Fold(s string) string {
	folded := foldCase(norm.NFKC.String(s))
	// Folding can leave marks that belong together in another order, as with
	// an iota subscript under an accent.
	for range 2 {
		if norm.NFKC.IsNormalString(folded) {
			return folded
		}
		folded = foldCase(norm.NFKC.String(folded))
	}
	return folded
}

// foldCase is full case folding. Cherokee folds to its capitals, which the
// library swaps with the small letters instead.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0xab70 && r <= 0xabbf:
			return r - 0xab70 + 0x13a0
		case r >= 0x13f8 && r <= 0x13fd:
			return r - 8
		}
		return r
	}, cases.Fold().String(s))
}

// Key returns what two names share if they are one name to some file system
// or client: NFC with full case folding (skill-format.md R-SF-D-6).
func Key(name string) string {
	key := name
	for range 2 { // a second time for what the first one put together
		key = norm.NFC.String(foldCase(norm.NFC.String(key)))
	}
	return key
}

// IsSpace reports white space: unicode.IsSpace and U+001C to U+001F
// (knowledge.md R-NORM-3).
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Collapse puts a single space for every run of white space and none at the
// ends (knowledge.md R-NORM-3).
func Collapse(s string) string { return strings.Join(strings.FieldsFunc(s, IsSpace), " ") }

// Normalise returns the words of s with single spaces between them: folded as
// [Fold] does, everything that is no word character gone (knowledge.md
// R-NORM-1).
func Normalise(s string) string { return strings.Join(Words(s), " ") }

// Words returns the words of s in order: runs of letters, numbers and
// underscores of its folded form. Combining marks, hyphens, dots and
// apostrophes split (knowledge.md R-NORM-2).
func Words(s string) []string {
	return strings.FieldsFunc(Fold(s), func(r rune) bool {
		return r != '_' && !unicode.In(r, unicode.L, unicode.N)
	})
}
