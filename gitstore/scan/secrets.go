package scan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secret is one kind of value that opens something. Its pattern may have a
// group "value"; without one the value is the whole match after its prefix of
// the group "shown".
type secret struct {
	kind    string
	needs   []string // one of them stands in every match, in lower case
	pattern func() *regexp.Regexp
	// counts looks closer at a match: at the value, and at what follows it.
	counts func(m match) bool
}

// match is one occurrence.
type match struct {
	text       string
	from, to   int // of the whole
	value, end int // of the value
}

func (m match) secret() string { return m.text[m.value:m.end] }

// secrets are the kinds, in the order findings are given.
var secrets = []secret{
	{"private_key", []string{"private key"}, lazy(`-----BEGIN(?P<value> [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)`), always},
	{"aws_access_key", []string{"akia", "asia"}, lazy(`(?:AKIA|ASIA)(?P<value>[0-9A-Z]{16})`), alone},
	{"api_key", []string{"sk-", "sk_", "pk-", "pk_", "rk-", "rk_"}, lazy(`(?:sk|pk|rk)[-_](?P<value>[A-Za-z0-9_-]*[A-Za-z0-9])`), func(m match) bool {
		return alone(m) && count(m.secret(), isAlnum) >= 20 && strings.ContainsAny(m.secret(), digits)
	}},
	{"github_token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, lazy(`(?:gh[pousr]_(?P<value>[A-Za-z0-9]{30,})|github_pat_(?P<value>[A-Za-z0-9_]{22,}))`), alone},
	{"slack_token", []string{"xox"}, lazy(`xox[abeoprs]-(?P<value>[A-Za-z0-9-]{10,})`), alone},
	{"bearer_token", []string{"authorization", "bearer"}, lazy(`(?i)(?:authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?|bearer["']?(?:\s*[:=]\s*["']?|\s+))(?P<value>[A-Za-z0-9._~+/-]{20,}=*)`), func(m match) bool {
		return !isAlnum(before(m.text, m.from)) && strings.ContainsAny(m.secret(), digits) && !isPlaceholder(m.secret())
	}},
	{"url_credentials", []string{"://"}, lazy(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"']+:(?P<value>[^\s/@"']+)@`), func(m match) bool { return !isPlaceholder(m.secret()) }},
	{"credential_value", []string{"passwor", "passwd", "pwd", "passphrase", "secret", "key", "token", "credential"}, lazy(`(?i)(?:[A-Za-z0-9]+[_.-])*(?:passwor[dt]|passwd|pwd|passphrase|secret|api[ _-]?key|access[ _-]?key|token|credential)s?(?:[_.-][A-Za-z0-9]+)*["']?\s*(?P<separator>[:=])\s*(?P<quote>["'])?(?P<value>[^\s"']+)`), credential},
}

const digits = "0123456789"

func always(match) bool { return true }

// alone says whether neither neighbour makes the match part of a longer run.
func alone(m match) bool { return !isAlnum(before(m.text, m.from)) && !isAlnum(after(m.text, m.to)) }

func count(s string, want func(rune) bool) (n int) {
	for _, r := range s {
		if want(r) {
			n++
		}
	}
	return n
}

// credential is R-SEC-1: a value behind a name counts unless it is short, a
// placeholder, or the beginning of a sentence.
func credential(m match) bool {
	if isAlnum(before(m.text, m.from)) {
		return false
	}
	value := strings.TrimRight(m.secret(), ".,;:!?)")
	if utf8.RuneCountInString(value) < 8 || isPlaceholder(value) {
		return false
	}
	head := strings.TrimRightFunc(m.text[m.from:m.value], unicode.IsSpace)
	rest := m.text[m.end:]
	next := strings.TrimLeftFunc(rest, unicode.IsSpace)
	isProse := strings.HasSuffix(head, ":") && value == m.secret() && count(value, unicode.IsLetter) == utf8.RuneCountInString(value) &&
		next != rest && unicode.IsLetter(after(next, 0))
	return !isProse
}

var placeholderWhole = lazy(`(?i)^(?:x{3,}|\.{3,}|\*{3,}|your.*|my[-_].*|example.*|placeholder|redacted|changeme|none|null|true|false|string|integer|required|optional)$`)

// isPlaceholder is R-SEC-2.
func isPlaceholder(value string) bool {
	return strings.ContainsAny(value[:1], "<{[$") || placeholderWhole().MatchString(value)
}

// excerptLength is how much of what stands before a value is shown, in code
// points.
const excerptLength = 40

// Secrets returns every value in a text that looks like a secret, by kind and
// then by position. The excerpt ends where the value begins.
//
// Source: knowledge.md, gate 4.
func Secrets(s string) []Finding {
	var findings []Finding
	s = readable(s)
	for _, kind := range possible(s) {
		for _, m := range kind.find(s) {
			findings = append(findings, Finding{Kind: kind.kind, Excerpt: clip(strings.TrimRight(s[m.from:m.value], "\"'"), excerptLength)})
		}
	}
	for i := range findings {
		findings[i].Excerpt += masked
	}
	return findings
}

// masked stands for a value.
const masked = "***"

// Planted returns the kind of the first value in a text that does not stand in
// an earlier one, "" if there is none. What stood there may stay and move.
func Planted(s, earlier string) string {
	had := map[string]bool{}
	for _, v := range values(earlier) {
		had[v.text] = true
	}
	for _, v := range values(s) {
		if !had[v.text] {
			return v.kind
		}
	}
	return ""
}

// value is a secret itself: to be compared, and never to be shown.
type value struct{ kind, text string }

func values(s string) (list []value) {
	s = readable(s)
	for _, kind := range possible(s) {
		for _, m := range kind.find(s) {
			list = append(list, value{kind.kind, m.secret()})
		}
	}
	return list
}

// Scrub replaces every value that looks like a secret. A text without any is
// returned as it is, byte for byte.
func Scrub(s string) string {
	var found []match
	plain := readable(s)
	for _, kind := range possible(plain) {
		found = append(found, kind.find(plain)...)
	}
	if len(found) == 0 {
		return s
	}
	slices.SortFunc(found, func(a, b match) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(b.end, a.end)) })
	var out strings.Builder
	at := 0
	for _, m := range found {
		if m.end <= at {
			continue
		}
		if m.value > at {
			out.WriteString(plain[at:m.value])
		}
		if m.value >= at {
			out.WriteString(masked)
		}
		at = m.end
	}
	out.WriteString(plain[at:])
	return out.String()
}

// possible are the kinds that may stand in a text: looking for a word costs a
// hundredth of a pattern.
func possible(s string) []secret {
	lower := strings.ToLower(s)
	return slices.DeleteFunc(slices.Clone(secrets), func(k secret) bool {
		return !slices.ContainsFunc(k.needs, func(word string) bool { return strings.Contains(lower, word) })
	})
}

// longestRun bounds, in bytes, how far into a run that is none a secret may
// begin; without it a long run would be read again from each of its bytes.
const longestRun = 4096

// find returns the matches of a kind that count, by position.
func (k secret) find(s string) []match {
	re := k.pattern()
	var found []match
	for at := 0; at <= len(s); {
		loc := re.FindStringSubmatchIndex(s[at:])
		if loc == nil {
			break
		}
		m := match{text: s, from: at + loc[0], to: at + loc[1], value: at + loc[0], end: at + loc[1]}
		for i, name := range re.SubexpNames() {
			if name == "value" && loc[2*i] >= 0 {
				m.value, m.end = at+loc[2*i], at+loc[2*i+1]
			}
		}
		if k.counts(m) {
			found = append(found, m)
			at = m.to
			continue
		}
		if at = m.from + 1; m.to-m.from > longestRun { // the rest of it may hold another beginning
			at = m.to
		}
	}
	return found
}
