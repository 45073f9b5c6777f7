package scan

import (
	"regexp"
	"slices"
	"strings"

	"forge/gitstore/text"
)

// phrase is one kind of words that give orders to a reader. Every pattern of a
// kind is tried; bounded ones begin and end at the borders of words.
type phrase struct {
	kind    string
	pattern func() *regexp.Regexp
	bounded bool
	counts  func(s string, from, to int) bool // nil: always
}

// phrases are the kinds, in the order findings are given. Other languages are
// further rows.
var phrases = []phrase{
	{"reversal", lazy(`(?i)(?:ignore|disregard|forget|override|bypass)(?: (?:all|any|every|each|of|the|these|those|your|our|my|and|everything))* (?:previous|prior|preceding|earlier|above|foregoing|existing|former)`), true,
		func(s string, from, to int) bool {
			return isImperative(s, from) || instructionFollows().MatchString(s[to:])
		}},
	{"role_takeover", lazy(`(?i)(?:(?:you are|you['\x{2019}]re) (?:now|no longer)|pretend (?:to be|you are))`), true, nil},
	{"system_prompt", lazy(`(?i)system(?:[ _-]?prompts?| instructions?)`), true, nil},
	{"new_instruction", lazy(`(?i)new instructions?`), true, nil},
	{"execution_request", lazy(`(?i)(?:execute|run)(?: the)? following`), true, func(s string, from, _ int) bool { return isImperative(s, from) }},
	{"marker", lazy(`<!--|-->|FORGE_(?:KEEP|APPENDIX|KNOWLEDGE)_(?:START|END)`), false, nil},
	{"chat_markup", lazy(`(?i)<\|[A-Za-z0-9_]+\|>|</?(?:system|assistant|user|tool|tool_call|function_call)>|\[/?INST\]`), false, nil},
}

// instructionFollows matches what comes after a reversal that names what is to
// be ignored, after at most two further words.
var instructionFollows = lazy(`(?i)^(?: [^ ]+){0,2} (?:instruction|rule|prompt|direction|guideline|directive|message|command|constraint|order|context)s?(?:[^\pL\pN_]|$)`)

// leads are the words after which a verb is an order.
var leads = []string{
	"please", "kindly", "then", "now", "and", "or", "to", "must", "should", "shall", "will", "always", "immediately", "you", "just", "first",
	"next", "also", "simply", "can",
}

// isImperative says whether what begins at from is an order: it opens the
// text, follows a mark, or follows a word that leads to an order.
func isImperative(s string, from int) bool {
	head := strings.TrimRight(s[:from], " ")
	if head == "" || !isWord(before(head, len(head))) {
		return true
	}
	start := strings.LastIndexFunc(head, func(r rune) bool { return !isWord(r) }) + 1
	word := strings.TrimLeftFunc(head[start:], func(r rune) bool { return !isWord(r) })
	return slices.Contains(leads, strings.ToLower(word))
}

// injectionExcerpt is how much of a phrase is shown, in code points.
const injectionExcerpt = 60

// Injections returns the phrases in a text that give orders to its reader, at
// most one of each kind, in the order of the kinds. Narration ("the author
// ignored all earlier sources") is none.
//
// Source: knowledge.md, gate 3.
func Injections(s string) []Finding {
	s = text.Collapse(readable(s))
	var findings []Finding
	for _, p := range phrases {
		if from, to, found := p.find(s); found {
			findings = append(findings, Finding{Kind: p.kind, Excerpt: clip(s[from:to], injectionExcerpt)})
		}
	}
	return findings
}

// find returns the first place of a kind that counts.
func (p phrase) find(s string) (from, to int, found bool) {
	for at := 0; at < len(s); {
		loc := p.pattern().FindStringIndex(s[at:])
		if loc == nil {
			return 0, 0, false
		}
		from, to = at+loc[0], at+loc[1]
		whole := !p.bounded || !isWord(before(s, from)) && !isWord(after(s, to))
		if whole && (p.counts == nil || p.counts(s, from, to)) {
			return from, to, true
		}
		at = from + 1
	}
	return 0, 0, false
}
