package skill

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"forge/gitstore/fault"
)

// Draft is a skill that forge writes itself.
type Draft struct {
	Name          string // required; equal to the name of its directory
	Description   string // required; one line
	License       string
	Compatibility string
	AllowedTools  string            // names separated by spaces
	Metadata      map[string]string // written in the byte order of its keys
	Body          string            // any line endings
}

// Bytes returns the SKILL.md of the draft in the one form that every known
// reader accepts. A field that breaks the format is a fault of kind Usage. The
// file is read again before it is returned; a difference is an error of forge
// itself and nothing is returned.
//
// Source: skill-format.md R-SF-W-1 to R-SF-W-6.
func (d Draft) Bytes() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("---\n")
	for _, line := range d.scalars() {
		if line.value != "" || line.required {
			fmt.Fprintf(&b, "%s: %s\n", line.key, scalarText(line.value))
		}
	}
	if len(d.Metadata) > 0 {
		b.WriteString("metadata:\n")
		for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
			fmt.Fprintf(&b, "  %s: %s\n", scalarText(key), scalarText(d.Metadata[key]))
		}
	}
	b.WriteString("---\n")
	if body := strings.Trim(ToEnding(d.Body, LF), LF); body != "" {
		b.WriteString("\n" + body + "\n")
	}
	data := []byte(b.String())
	if err := d.readBack(data); err != nil {
		return nil, err
	}
	return data, nil
}

// draftLine is one scalar of the front matter.
type draftLine struct {
	key, value string
	required   bool
}

// scalars are the scalar keys in their order (skill-format.md R-SF-W-2).
func (d Draft) scalars() []draftLine {
	return []draftLine{
		{"name", d.Name, true},
		{"description", d.Description, true},
		{"license", d.License, false},
		{"compatibility", d.Compatibility, false},
		{"allowed-tools", d.AllowedTools, false},
	}
}

// entries are the keys and values of the metadata, as lines to check.
func (d Draft) entries() []draftLine {
	var list []draftLine
	for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
		list = append(list, draftLine{"metadata key", key, true}, draftLine{"metadata " + key, d.Metadata[key], false})
	}
	return list
}

// maxKey bounds a metadata key, in characters: YAML readers give up on long
// ones.
const maxKey = 128

// checkLine holds one text of the front matter against what every reader
// takes.
func checkLine(line draftLine) error {
	value := line.value
	switch {
	case !utf8.ValidString(value), strings.ContainsFunc(value, needsEscape), strings.Contains(value, "\n"):
		return fault.New(fault.Usage, "write one line of text", "%s holds a line break, a control character or invalid UTF-8", line.key)
	case strings.Contains(value, "---"):
		return fault.New(fault.Usage, "write it without three hyphens in a row", "%s holds `---`, where one reader ends the front matter", line.key)
	case strings.TrimSpace(value) != value:
		return fault.New(fault.Usage, "trim it", "%s begins or ends with a blank", line.key)
	case line.key == "metadata key" && (value == "" || utf8.RuneCountInString(value) > maxKey):
		return fault.New(fault.Usage, "choose another key", "%s has %d characters, want 1 to %d", line.key, utf8.RuneCountInString(value), maxKey)
	}
	return nil
}

// check holds the draft against the format.
func (d Draft) check() error {
	if err := CheckName(d.Name); err != nil {
		return err
	}
	for _, line := range append(d.scalars(), d.entries()...) {
		if err := checkLine(line); err != nil {
			return err
		}
	}
	if !utf8.ValidString(d.Body) || strings.HasPrefix(d.Body, bom) {
		return fault.New(fault.Usage, "write UTF-8 without a byte order mark", "the body is not plain UTF-8")
	}
	if n := utf8.RuneCountInString(d.Compatibility); n > MaxCompatibility {
		return fault.New(fault.Usage, "shorten it", "compatibility has %d characters of at most %d", n, MaxCompatibility)
	}
	return CheckDescription(d.Description)
}

// CheckDescription says what is wrong with a description that forge is to
// write: 1 to 1,024 characters on one line, no angle brackets, no placeholder.
// The fault is of kind Usage.
//
// Source: skill-format.md R-SF-W-4.
func CheckDescription(description string) error {
	trimmed := strings.TrimSpace(description)
	switch n := utf8.RuneCountInString(trimmed); {
	case n == 0:
		return fault.New(fault.Usage, "say what the skill does and when to use it", "the description is empty")
	case n > MaxDescription:
		return fault.New(fault.Usage, "shorten it", "the description has %d characters of at most %d", n, MaxDescription)
	case strings.ContainsAny(trimmed, "\r\n"):
		return fault.New(fault.Usage, "write it on one line", "the description has more than one line")
	case strings.ContainsAny(trimmed, "<>"):
		return fault.New(fault.Usage, "write it without angle brackets", "the description holds `<` or `>`")
	case strings.HasPrefix(strings.ToUpper(trimmed), "[TODO:"):
		return fault.New(fault.Usage, "write the description", "the description is a placeholder")
	}
	return nil
}

// readBack compares the file with the draft (skill-format.md R-SF-W-6).
func (d Draft) readBack(data []byte) error {
	doc, err := Parse(data)
	if err != nil {
		return fmt.Errorf("read back the skill %q: %w", d.Name, err)
	}
	if len(doc.Findings) > 0 {
		return fmt.Errorf("read back the skill %q: %w", d.Name, doc.Findings[0])
	}
	for _, line := range d.scalars() {
		f, _ := doc.Field(line.key)
		if f.Value != line.value {
			return fmt.Errorf("read back the skill %q: %s became %q", d.Name, line.key, f.Value)
		}
	}
	metadata, _ := doc.Field("metadata")
	for key, want := range d.Metadata {
		if got, ok := metadata.Text(key); !ok || got != want {
			return fmt.Errorf("read back the skill %q: metadata %s became %q", d.Name, key, got)
		}
	}
	if len(metadata.Children) != len(d.Metadata) {
		return fmt.Errorf("read back the skill %q: metadata has %d entries of %d", d.Name, len(metadata.Children), len(d.Metadata))
	}
	return nil
}
