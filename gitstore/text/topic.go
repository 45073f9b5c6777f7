package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Topic is what a skill is about, as clustering sees it.
type Topic struct {
	Name        Set // tokens of the front-matter name
	Description Set // tokens of the description without its cross references
}

// NewTopic returns the topic of a skill. The others are the names of the other
// live skills (curator.md RC-CLUST-2).
func NewTopic(name, description string, others []string) Topic {
	return Topic{Name: TokenSet(name), Description: TokenSet(WithoutCrossReferences(description, others))}
}

// Likeness is what two topics have in common.
type Likeness struct {
	Name, Description Fraction
}

// Compare measures the overlap of two topics (curator.md RC-CLUST-4).
func Compare(a, b Topic) Likeness {
	return Likeness{Name: Overlap(a.Name, b.Name), Description: Overlap(a.Description, b.Description)}
}

// minShared is how many tokens each measure needs of its own.
const minShared = 2

// Linked reports whether two skills may be one: at least two shared tokens and
// an overlap of 0.6 in the name, or of 0.7 in the description (curator.md
// RC-CLUST-4).
func (l Likeness) Linked() bool {
	return l.Name.Shared >= minShared && l.Name.AtLeast(6, 10) ||
		l.Description.Shared >= minShared && l.Description.AtLeast(7, 10)
}

// A sentence that says where the skill ends, or where another one begins.
var (
	boundary = pattern(`(?i)\bnot\s+(?:(?:meant|intended|suitable|made)\s+)?for\b|\bnot\s+when\b|\b(?:do\s+not|don['’]t|never)\s+use\b`)
	instead  = pattern(`(?i)\binstead\b`)
	verb     = pattern(`(?i)\b(?:use|see|try|prefer)\b`)
	pointer  = pattern("(?i)\\b(?:use|see|try|prefer)\\s+(?:the\\s+)?[\"'`“‘]?")
)

// pattern compiles a regular expression when it is first needed: every command
// would pay for it at its start otherwise.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// WithoutCrossReferences leaves out the sentences that say what a skill is not
// for or send the reader to another of the live skills. The rest keeps its
// order.
//
// Source: curator.md RC-CLUST-3; DECISIONS C12.
func WithoutCrossReferences(description string, others []string) string {
	var kept strings.Builder
	for _, sentence := range sentences(description) {
		if !boundary().MatchString(sentence) && !pointsAway(sentence, others) {
			kept.WriteString(sentence)
		}
	}
	return kept.String()
}

// sentences cuts s behind `.`, `!`, `?` and `;` before white space or the end,
// behind their full-width forms, and behind newlines.
func sentences(s string) []string {
	var list []string
	start := 0
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[end:])
		switch {
		case strings.ContainsRune("。．｡！？；\n\r", r), strings.ContainsRune(".!?;", r) && (end == len(s) || IsSpace(next)):
			list = append(list, s[start:end])
			start = end
		}
	}
	return append(list, s[start:])
}

// pointsAway reports whether the sentence sends the reader elsewhere: to
// something instead, or to one of the names, written exactly.
func pointsAway(sentence string, names []string) bool {
	if !verb().MatchString(sentence) {
		return false
	}
	if instead().MatchString(sentence) {
		return true
	}
	for _, at := range pointer().FindAllStringIndex(sentence, -1) {
		for _, name := range names {
			rest, found := strings.CutPrefix(sentence[at[1]:], name)
			next, _ := utf8.DecodeRuneInString(rest)
			if found && name != "" && (rest == "" || next != '-' && next != '_' && !unicode.In(next, unicode.L, unicode.N)) {
				return true
			}
		}
	}
	return false
}
