package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"forge/gitstore/fault"
	"forge/gitstore/text"
)

// appendixNotice is the first line of a region that forge makes.
const appendixNotice = "<!-- Managed by forge: notes from the loop. The mutator does not touch this block. -->"

// Appended is the document of `appendix-append`, and the file.
type Appended struct {
	Data []byte `json:"-"` // the file; equal to what was given when nothing was added

	Added            []string `json:"added"`
	SkippedDuplicate []string `json:"skipped_duplicate"`
	DroppedOldest    []string `json:"dropped_oldest"`
	Truncated        bool     `json:"truncated"`
	Total            int      `json:"total"`
	MaxNotes         int      `json:"max_notes"`
}

// ReadNotes decodes a list of texts, or an object that holds it as
// "appendix_notes". Anything else is a fault of kind Usage.
func ReadNotes(data []byte) ([]string, error) {
	var notes []string
	if err := json.Unmarshal(data, &notes); err == nil && notes != nil {
		return notes, nil
	}
	var object struct {
		Notes []string `json:"appendix_notes"`
	}
	err := json.Unmarshal(data, &object)
	if err == nil && object.Notes == nil {
		err = errors.New("no list of texts")
	}
	if err != nil {
		return nil, fault.New(fault.Usage, `give ["note"] or {"appendix_notes": ["note"]}`, "read the notes: %w", err)
	}
	return object.Notes, nil
}

// AppendNotes adds notes to the appendix of a file and makes the region if
// there is none. Duplicates are skipped, beyond maxNotes the oldest notes go.
// No byte outside the region changes, and no line in it that is no note.
//
// maxNotes below 1 is a fault of kind Usage; malformed protected regions and
// more than one appendix are of kind Refused.
//
// Source: loop.md R-APX-1 to R-APX-7; DECISIONS G3.
func AppendNotes(data []byte, notes []string, maxNotes int) (Appended, error) {
	if maxNotes < 1 {
		return Appended{}, fault.New(fault.Usage, "allow at least one note", "max-notes is %d", maxNotes)
	}
	regions := Scan(data)
	if err := checkAppendix(regions); err != nil {
		return Appended{}, err
	}
	a := appendix{data: data, maxNotes: maxNotes}
	if list := regions.of(Appendix); len(list) == 1 {
		a.region = &list[0]
		a.read()
	}
	a.add(notes)
	result := a.result
	result.Data = data
	if len(result.Added) == 0 {
		return result, nil
	}
	result.Data = a.write()
	if err := checkAppendix(Scan(result.Data)); err != nil {
		return Appended{}, err
	}
	return result, nil
}

// checkAppendix refuses a file whose markers leave no doubt-free place for
// notes (R-APX-1).
func checkAppendix(regions Regions) error {
	if len(regions.Malformed) > 0 {
		m := regions.Malformed[0]
		return fault.New(fault.Refused, "repair the markers", "the protected region %s is malformed at line %d: %s", m.Name, m.Line, m.Reason)
	}
	if n := regions.count(Appendix); n > 1 {
		return fault.New(fault.Refused, "keep one of them", "the file has %d appendix regions, want at most 1", n)
	}
	return nil
}

// note is one entry of the appendix.
type note struct {
	text     string
	from, to int // bytes in the file; 0 for a new one
}

// appendix is one call of [AppendNotes].
type appendix struct {
	data     []byte
	region   *Region // nil if there is none yet
	maxNotes int
	existing []note
	fresh    []string // new notes that stay
	dropped  []note   // existing notes that go
	result   Appended
}

// read finds the existing notes (R-APX-3). What stands on the line of the
// START marker begins no line and is no note.
func (a *appendix) read() {
	content := a.data[a.region.Content:a.region.ContentEnd]
	open := false // the line before belongs to a note
	for at, line := range lines(content) {
		from, to := a.region.Content+at, a.region.Content+at+len(line)
		continues := len(line) > 0 && (line[0] == '\t' || bytes.HasPrefix(line, []byte("  "))) && !isBlank(line)
		switch {
		case at == 0:
		case bytes.HasPrefix(line, []byte("- ")):
			a.existing = append(a.existing, note{from: from, to: to})
			open = true
			continue
		case open && continues:
			a.existing[len(a.existing)-1].to = to
			continue
		}
		open = false
	}
	for i := range a.existing {
		n := &a.existing[i]
		n.text = text.Collapse(string(a.data[n.from+len("- ") : n.to]))
	}
}

// add sorts out duplicates and what is over the cap (R-APX-2, R-APX-4,
// R-APX-5).
func (a *appendix) add(notes []string) {
	a.result = Appended{Added: []string{}, SkippedDuplicate: []string{}, DroppedOldest: []string{}, MaxNotes: a.maxNotes}
	seen := map[string]bool{}
	for _, n := range a.existing {
		seen[canonical(n.text)] = true
	}
	for _, raw := range notes {
		n := defuse(text.Collapse(raw))
		switch form := canonical(n); {
		case n == "":
		case seen[form]:
			a.result.SkippedDuplicate = append(a.result.SkippedDuplicate, n)
		default:
			seen[form] = true
			a.result.Added = append(a.result.Added, n)
		}
	}
	a.fresh = a.result.Added
	a.result.Total = len(a.existing) + len(a.fresh)
	if len(a.fresh) == 0 {
		return
	}
	over := max(0, a.result.Total-a.maxNotes)
	old := min(over, len(a.existing))
	a.dropped = a.existing[:old]
	for _, n := range a.dropped {
		a.result.DroppedOldest = append(a.result.DroppedOldest, n.text)
	}
	a.result.DroppedOldest = append(a.result.DroppedOldest, a.fresh[:over-old]...)
	a.fresh = a.fresh[over-old:]
	a.result.Truncated = over > 0
	a.result.Total -= over
}

// canonical is what two notes share if they are one (R-APX-4).
func canonical(note string) string {
	return strings.TrimRight(strings.ToLower(text.Collapse(note)), " .;:,_-")
}

// defuse takes their meaning from the markers in a note (R-APX-2).
func defuse(note string) string {
	for _, name := range append(protectedNames(), knowledge) {
		for _, literal := range []string{startMarker(name), endMarker(name)} {
			note = strings.ReplaceAll(note, literal, strings.Replace(literal, "<!--", "<!\u2011\u2011", 1))
		}
	}
	return note
}

// write returns the file with the new notes.
func (a *appendix) write() []byte {
	ending := a.ending()
	if a.region == nil {
		return a.create(ending)
	}
	var out []byte
	from := 0
	for _, n := range a.dropped {
		out = append(out, a.data[from:n.from]...)
		from = n.to
	}
	out = append(out, a.data[from:a.region.ContentEnd]...)
	if c := out[len(out)-1]; c != '\n' && c != '\r' {
		out = append(out, ending...)
	}
	out = a.appendNotes(out, ending)
	return append(out, a.data[a.region.ContentEnd:]...)
}

// create puts the region behind the file (R-APX-7).
func (a *appendix) create(ending string) []byte {
	out := slices.Clone(a.data)
	if body := bytes.TrimPrefix(out, []byte(bom)); len(body) > 0 {
		var last []byte
		for _, line := range lines(body) {
			last = line
		}
		if endingOf(last) == "" {
			out = append(out, ending...)
		}
		if !isBlank(last) {
			out = append(out, ending...)
		}
	}
	out = append(out, startMarker(Appendix)+ending+appendixNotice+ending...)
	out = a.appendNotes(out, ending)
	return append(out, endMarker(Appendix)+ending...)
}

func (a *appendix) appendNotes(out []byte, ending string) []byte {
	for _, n := range a.fresh {
		out = append(out, "- "+n+ending...)
	}
	return out
}

// ending is the line ending of new lines (R-APX-6).
func (a *appendix) ending() string {
	if a.region != nil {
		rest := a.data[a.region.Start:]
		if ending := endingOf(rest[:lineLength(rest)]); ending != "" {
			return ending
		}
	}
	if ending := endingOf(a.data[:lineLength(a.data)]); ending != "" {
		return ending
	}
	return LF
}
