package skill

import (
	"bytes"
)

var (
	codeFence    = pattern("^(?:```+|~~~+)[ \t]*(?i:ya?ml)?[ \t]*$")
	nameLine     = pattern(`^[ \t]*(?:name|description)[ \t]*:`)
	pointerLine  = pattern(`^(?:\.{0,2}/)?[^\s:<>|]+(?:/[^\s:<>|]+)+$|^[^\s/:<>|]+\.md$`)
	commentStart = []byte("<!--")
)

// notFrontMatter says what stands where the front matter should: the four
// distinct messages of skill-format.md section 4, and SF114.
func (r *reader) notFrontMatter(start int) {
	rest := r.data[start:]
	first := rest[:lineLength(rest)]
	switch {
	case len(first) == len(rest) && pointerLine().Match(chomp(first)):
		r.add("SF105", Error, start, "", "check the repository out where links work, or put the file there", "This looks like a symbolic link checked out as text (target `%s`).", shown(first))
		r.lock("the file is a symbolic link checked out as text")
	case isFence(bytes.TrimLeft(first, " \t")):
		r.add("SF114", Error, start, "", "remove the blanks before `---`", "The front matter is indented; it must start at column 1.")
	default:
		r.misplaced(start, first)
	}
}

// preamble is how many lines may stand before misplaced metadata.
const preamble = 10

// misplaced looks for metadata a little further down.
func (r *reader) misplaced(start int, first []byte) {
	before := "" // what stands before it
	opened := -1 // offset of the fence above the line that is looked at
	seen := 0
	for at, line := range lines(r.data[start:]) {
		fence := isFence(line) || codeFence().Match(chomp(line))
		switch {
		case opened >= 0 && nameLine().Match(line):
			r.displaced(start+opened, before)
			return
		case opened >= 0 && (isBlank(line) || bytes.HasPrefix(line, []byte("#"))):
			continue // still above the first key
		case fence && opened < 0:
			opened = at
			continue
		}
		opened = -1
		before = preceding(before, line)
		if seen++; seen > preamble {
			break
		}
	}
	r.add("SF101", Error, start, "", "begin the file with `---`, name and description", "No front matter: the file starts with `%s`; Codex, opencode and pi will skip this skill.", shown(first))
}

// displaced reports metadata that is fenced at that offset.
func (r *reader) displaced(at int, before string) {
	if isFence(r.data[at : at+lineLength(r.data[at:])]) {
		r.add("SF103", Error, at, "", "move the front matter to the top", "The front matter is not the first thing in the file (%s before it).", before)
		return
	}
	r.add("SF104", Error, at, "", "put the metadata between two `---` lines at the top", "The metadata is inside a code fence, not in front matter.")
}

// preceding names what stands before misplaced metadata, one line further.
func preceding(before string, line []byte) string {
	switch {
	case before == "text", before == "a comment":
		return before
	case bytes.HasPrefix(line, commentStart):
		return "a comment"
	case isBlank(line):
		return "a blank line"
	}
	return "text"
}
