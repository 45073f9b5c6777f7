package gitstore

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"forge/gitstore/fault"
)

// Trailer is one line of the last paragraph of a commit message.
type Trailer struct {
	Key   string // Forge-...
	Value string // one line
}

// maxSubject is the longest first line of a message, in bytes (R-COM-1).
const maxSubject = 72

// trailerPrefix is what every key that forge reads or writes begins with.
const trailerPrefix = "Forge-"

// trailerOrder is the fixed order of trailers (R-COM-3). Keys that are not in
// it follow in the order they came.
var trailerOrder = []string{
	"Forge-Run", "Forge-Experiment", "Forge-Decision", "Forge-Delta", "Forge-Baseline", "Forge-Candidate",
	"Forge-Action", "Forge-Skill", "Forge-Event", "Forge-Cost-USD", "Forge-Model", "Forge-Reason", "Forge-Override",
}

// buildMessage makes a commit message: subject of at most 72 bytes, body,
// trailers as a paragraph of their own, one newline at the end (R-COM-1).
//
// Control characters but newline and tab are dropped and a NUL is refused. A
// line of the body that looks like one of forge's trailers is indented, so
// that it is neither read as one nor found by `git log --grep='^Forge-'`
// (R-COM-2).
func buildMessage(subject, body string, trailers []Trailer) (string, error) {
	if strings.ContainsRune(subject+body, 0) {
		return "", fault.New(fault.Refused, "", "a commit message must not hold a NUL")
	}
	subject = cut(oneLine(subject), maxSubject)
	if subject == "" {
		return "", fault.New(fault.Usage, "", "a commit message needs a subject")
	}
	block, err := trailerBlock(trailers)
	if err != nil {
		return "", err
	}
	message := subject + "\n"
	for _, paragraph := range []string{cleanBody(body), block} {
		if paragraph != "" {
			message += "\n" + paragraph + "\n"
		}
	}
	return message, nil
}

// cleanText drops control characters but newline and tab, and what is not
// UTF-8.
func cleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// oneLine is cleanText without line breaks and without white space around it.
func oneLine(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(cleanText(text), "\n", " "))
}

// cut shortens text to a number of bytes without breaking a character.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return strings.TrimSpace(text[:size])
}

// cleanBody makes the paragraphs between subject and trailers: no blank lines
// around them, no white space at the end of a line, no look-alike trailers.
func cleanBody(body string) string {
	lines := strings.Split(cleanText(body), "\n")
	for i, line := range lines {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if hasFoldPrefix(line, trailerPrefix) {
			line = "  " + line
		}
		lines[i] = line
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// hasFoldPrefix is strings.HasPrefix for ASCII letters of any case: git reads
// the keys of trailers so.
func hasFoldPrefix(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// trailerBlock is the paragraph of trailers, in order, without those that
// have no value.
func trailerBlock(trailers []Trailer) (string, error) {
	sorted := make([]Trailer, 0, len(trailers))
	for _, t := range trailers {
		if !isTrailerKey(t.Key) {
			return "", fmt.Errorf("trailer key %q is none of forge's", t.Key)
		}
		if strings.ContainsRune(t.Value, 0) {
			return "", fault.New(fault.Refused, "", "the trailer %s must not hold a NUL", t.Key)
		}
		if value := oneLine(t.Value); value != "" {
			sorted = append(sorted, Trailer{t.Key, value})
		}
	}
	rank := func(t Trailer) int {
		if i := slices.Index(trailerOrder, t.Key); i >= 0 {
			return i
		}
		return len(trailerOrder)
	}
	slices.SortStableFunc(sorted, func(a, b Trailer) int { return rank(a) - rank(b) })
	var block strings.Builder
	for _, t := range sorted {
		fmt.Fprintf(&block, "%s: %s\n", t.Key, t.Value)
	}
	return strings.TrimSuffix(block.String(), "\n"), nil
}

func isTrailerKey(key string) bool {
	return len(key) > len(trailerPrefix) && strings.HasPrefix(key, trailerPrefix) && tokenLength(key) == len(key)
}

// tokenLength is the number of bytes at the beginning of line that can be the
// key of a trailer.
func tokenLength(line string) int {
	n := 0
	for n < len(line) && (isAlnum(line[n]) || line[n] == '-') {
		n++
	}
	return n
}

// parseMessage splits a commit message, forge's or not, into the subject, as
// git shows it, the body and forge's trailers. Trailers are read from the
// last paragraph only, if every line of it is one, and only those whose key
// starts with Forge- (R-COM-2); what else that paragraph holds stays in the
// body.
func parseMessage(message string) (subject, body string, trailers []Trailer) {
	lines := strings.Split(strings.ReplaceAll(message, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	lines = trimBlank(lines)
	end := slices.Index(lines, "")
	if end < 0 {
		return strings.Join(lines, " "), "", nil
	}
	subject = strings.Join(lines[:end], " ")
	lines = trimBlank(lines[end:])
	last := 0
	for i, line := range lines {
		if line == "" {
			last = i + 1
		}
	}
	rest, trailers := splitTrailers(lines[last:])
	body = strings.Join(trimBlank(append(lines[:last:last], rest...)), "\n")
	return subject, body, trailers
}

// trimBlank drops empty lines at both ends.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// splitTrailers takes forge's trailers out of a paragraph, if all of its
// lines are trailers.
func splitTrailers(paragraph []string) (rest []string, trailers []Trailer) {
	for _, line := range paragraph {
		if n := tokenLength(line); (n == 0 || n == len(line) || line[n] != ':') && !strings.HasPrefix(line, "(cherry picked from commit ") {
			return paragraph, nil
		}
	}
	for _, line := range paragraph {
		key, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); isTrailerKey(key) && value != "" {
			trailers = append(trailers, Trailer{key, value})
		} else {
			rest = append(rest, line)
		}
	}
	return rest, trailers
}
