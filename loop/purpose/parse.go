package purpose

import (
	"bytes"
	"strings"
	"time"
)

// dash separates the parts of a heading and a text from what stands before it.
const dash = " — "

// Entry is one kept change as the file has it. Texts are trimmed, and "" where
// the file has none.
type Entry struct {
	Experiment, Category, MutationType, Date string

	Hypothesis string
	Section    string
	Score      string // 0.7200 → 0.7900 (+0.0700)
	Pattern    string
	Knowledge  string
	Run        string
	Rejected   []string // lines of the list without their "- "
}

// Parse reads the entries, oldest first. Anything can stand in such a file: a
// heading that is none of an entry ends the one before it, and what follows is
// left out (R-PURPOSE-6). Of a field that occurs twice the first counts.
func Parse(data []byte) []Entry {
	var entries []Entry
	var open *Entry // the last of entries, while its lines go on
	list := false
	for raw := range bytes.SplitSeq(data, []byte("\n")) {
		line := strings.TrimSpace(strings.ToValidUTF8(string(raw), "\uFFFD"))
		item, isItem := strings.CutPrefix(line, "- ")
		switch {
		case isHeading(string(raw)):
			open, list = nil, false
			if entry, ok := parseHeading(line); ok {
				entries = append(entries, entry)
				open = &entries[len(entries)-1]
			}
		case open == nil, line == "":
		case isListLabel(line):
			list = true
		case list && isItem:
			open.Rejected = append(open.Rejected, strings.TrimSpace(item))
		default:
			list = false
			open.take(line)
		}
	}
	return entries
}

// isHeading says whether a line is a heading of Markdown.
func isHeading(line string) bool {
	text := strings.TrimLeft(line, "#")
	level := len(line) - len(text)
	return level >= 1 && level <= 6 && (strings.TrimSpace(text) == "" || text[0] == ' ' || text[0] == '\t')
}

// parseHeading reads "## EXP — CATEGORY — TYPE — DATE".
func parseHeading(line string) (Entry, bool) {
	text, ok := strings.CutPrefix(line, "## ")
	parts := strings.Split(text, dash)
	if !ok || len(parts) != 4 {
		return Entry{}, false
	}
	for i := range parts {
		if parts[i] = strings.TrimSpace(parts[i]); parts[i] == "" {
			return Entry{}, false
		}
	}
	if _, err := time.Parse(time.DateOnly, parts[3]); err != nil {
		return Entry{}, false
	}
	return Entry{Experiment: parts[0], Category: parts[1], MutationType: parts[2], Date: parts[3]}, true
}

// isListLabel knows the line above the rejected attempts, also in the seed's
// words (R-PURPOSE-7).
func isListLabel(line string) bool {
	return line == listLabel || line == "Vorher verworfen in derselben Kategorie:"
}

// take reads "**Label:** text".
func (e *Entry) take(line string) {
	label, text, ok := strings.Cut(strings.TrimPrefix(line, "**"), ":**")
	if !ok || !strings.HasPrefix(line, "**") {
		return
	}
	var into *string
	switch label {
	case "Hypothesis", "Hypothese":
		into = &e.Hypothesis
	case "Section", "Abschnitt":
		into = &e.Section
	case "Score":
		into = &e.Score
	case "Pattern":
		into = &e.Pattern
	case "Knowledge":
		into = &e.Knowledge
	case "Run":
		into = &e.Run
	default:
		return
	}
	if *into == "" {
		*into = strings.TrimSpace(text)
	}
}
