// Package scan finds in foreign text what must not come further: values that
// look like secrets, and phrases that try to give orders to whoever reads
// them.
//
// Detectors look at values and shapes, never at single words: a text about
// passwords is fine. Findings show where something stands and never the value.
// Patterns compile on first use.
//
// Source: knowledge.md, gates 3 and 4 (R-SEC-1 to R-SEC-3); DECISIONS G7, H7.
package scan

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"forge/gitstore/text"
)

// Finding is one place of a text. Excerpt is what may be shown of it.
type Finding struct {
	Kind    string `json:"kind"`
	Excerpt string `json:"excerpt"`
}

// readable is a text as the gates read it: compatibility forms unified and
// format characters, such as zero-width ones, taken out (R-NORM-6).
func readable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text.NFKC(s))
}

// lazy compiles an expression on first use: every start of forge would pay for
// it otherwise.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// clip keeps the first n code points.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// before and after are the characters around a place, utf8.RuneError at the
// ends of the text.
func before(s string, at int) rune {
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	return r
}

func after(s string, at int) rune {
	r, _ := utf8.DecodeRuneInString(s[at:])
	return r
}

// isAlnum reports ASCII letters and digits, the only neighbours that make a
// secret part of something else (R-NORM-7).
func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// isWord reports the characters of words (R-NORM-2).
func isWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r))
}
