package evals

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"forge/gitstore/schema"
)

// maxOutput bounds what is read of one file of the outputs, and of all of
// them together, in bytes.
const maxOutput = 64 << 20

// Output is what one run of an eval left behind.
type Output struct {
	Last       []byte   // the final message; nil if there was none
	Transcript []byte   // nil if the runner gives none
	Files      fs.FS    // the directory of the outputs; nil if there is none
	Tools      []string // tools called with success; nil without a transcript
}

// Result is the outcome of one check.
type Result struct {
	ID       string
	Passed   bool
	Evidence string // one sentence
}

// ErrElsewhere is a check that is not graded by looking at an output: judged,
// command, triggered and unknown ones.
var ErrElsewhere = errors.New("this check is not graded by looking at the output")

// Grade holds a check against an output (skill-format.md R-SF-EV-5). A target
// that does not exist fails the check, not_contains and not_regex too. It
// errs with [ErrElsewhere] for a check that something else must grade, and
// where an output cannot be read.
func (c Check) Grade(o Output) (Result, error) {
	switch c.Kind {
	case Judged, CommandCheck, Triggered, Unknown:
		return Result{}, fmt.Errorf("grade %s check %q: %w", c.Kind, c.ID, ErrElsewhere)
	case ToolUsed:
		return c.gradeTool(o)
	case FileExists, FileContains:
		return c.gradeFiles(o)
	}
	target, found, err := o.target(c.Target)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("grade check %q: %w", c.ID, err)
	case !found:
		return c.result(false, "there is no "+describe(c.Target)), nil
	}
	passed, evidence := c.holds(target)
	return c.result(passed, evidence), nil
}

// result is a result with its evidence.
func (c Check) result(passed bool, evidence string) Result {
	return Result{ID: c.ID, Passed: passed, Evidence: evidence}
}

// describe is a target in a sentence.
func describe(target string) string {
	switch target {
	case LastMessage:
		return "final message"
	case AllOutputs:
		return "output"
	case Transcript:
		return "transcript"
	}
	return strings.TrimPrefix(target, FileTarget)
}

// target reads what a check looks at.
func (o Output) target(name string) (data []byte, found bool, err error) {
	switch name {
	case LastMessage:
		return o.Last, o.Last != nil, nil
	case Transcript:
		return o.Transcript, o.Transcript != nil, nil
	case AllOutputs:
		return o.texts()
	}
	if o.Files == nil {
		return nil, false, nil
	}
	data, err = readLimited(o.Files, strings.TrimPrefix(name, FileTarget), maxOutput)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// texts joins the text files of the outputs in the byte order of their paths.
func (o Output) texts() (data []byte, found bool, err error) {
	names, err := o.regular()
	for _, name := range names {
		if err != nil {
			break
		}
		var text []byte
		if text, err = readLimited(o.Files, name, maxOutput-len(data)); err == nil && utf8.Valid(text) && !bytes.ContainsRune(text, 0) {
			if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
				data = append(data, '\n')
			}
			data, found = append(data, text...), true
		}
	}
	return data, found, err
}

// regular lists the regular files of the outputs; links are no outputs.
func (o Output) regular() (names []string, err error) {
	if o.Files == nil {
		return nil, nil
	}
	err = fs.WalkDir(o.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// errNoFile is something that is no regular file, or a name no file can have.
var errNoFile = errors.New("no regular file")

// readLimited reads a regular file of at most limit bytes. A link at its end
// is none.
func readLimited(files fs.FS, name string, limit int) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("%q: %w", name, errNoFile)
	}
	if info, err := fs.Lstat(files, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q: %w", name, errNoFile)
	}
	return readBounded(files, name, limit)
}

// readBounded reads a file that is known to be regular.
func readBounded(files fs.FS, name string, limit int) ([]byte, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%q has more than %d bytes", name, limit)
	}
	if data == nil {
		data = []byte{}
	}
	return data, err
}

// holds reports whether a target is as the check wants it.
func (c Check) holds(target []byte) (bool, string) {
	text := string(target)
	switch c.Kind {
	case Contains, NotContains, ContainsAny:
		return c.holdsValues(text)
	case Equals:
		got, want := strings.TrimRight(text, "\r\n"), strings.TrimRight(c.Values[0], "\r\n")
		return got == want || c.IgnoreCase && strings.EqualFold(got, want), "it was compared with the whole value"
	case StartsWith:
		got := strings.TrimSpace(text)
		return strings.HasPrefix(c.folded(got), c.folded(c.Values[0])), fmt.Sprintf("it begins with %q", cut(got))
	case Regex, NotRegex:
		match := c.regex.FindStringIndex(text)
		if match == nil {
			return c.Kind == NotRegex, "the pattern is not found"
		}
		return c.Kind == Regex, fmt.Sprintf("the pattern finds %q", cut(text[match[0]:match[1]]))
	case MaxWords:
		n := int64(len(bytes.Fields(target)))
		return n <= c.Limit, fmt.Sprintf("%d words of at most %d", n, c.Limit)
	case MaxBytes:
		n := int64(len(target))
		return n <= c.Limit, fmt.Sprintf("%d bytes of at most %d", n, c.Limit)
	}
	return c.holdsJSON(target)
}

// cut shortens a text for evidence.
func cut(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// folded is text in the case the check compares in.
func (c Check) folded(text string) string {
	if c.IgnoreCase {
		return strings.ToLower(text)
	}
	return text
}

// holdsValues looks for the values of contains, contains_any, not_contains.
func (c Check) holdsValues(text string) (bool, string) {
	text = c.folded(text)
	var found, missing []string
	for _, value := range c.Values {
		if strings.Contains(text, c.folded(value)) {
			found = append(found, value)
		} else {
			missing = append(missing, value)
		}
	}
	var passed bool
	switch c.Kind {
	case Contains:
		passed = len(missing) == 0
	case ContainsAny:
		passed = len(found) > 0
	default:
		passed = len(found) == 0
	}
	if len(missing) == 0 || c.Kind != Contains && len(found) > 0 {
		return passed, fmt.Sprintf("%q is found", cut(found[0]))
	}
	return passed, fmt.Sprintf("%q is not found", cut(missing[0]))
}

// holdsJSON checks json_path and json_schema.
func (c Check) holdsJSON(target []byte) (bool, string) {
	document, err := schema.Parse(target, schema.Limits{Size: maxOutput, Depth: 1000})
	if err != nil {
		return false, "it is no JSON: " + err.Error()
	}
	if c.Kind == JSONSchema {
		if c.schema == nil {
			return false, "its schema was not loaded"
		}
		if err := c.schema.Validate(document.Root); err != nil {
			return false, err.Error()
		}
		return true, "it fits the schema"
	}
	steps, err := parseJSONPath(c.Path)
	if err != nil {
		return false, err.Error()
	}
	results := steps.find(document.Root)
	if c.want == nil {
		return (len(results) > 0) == c.exists, fmt.Sprintf("%s gives %d values", c.Path, len(results))
	}
	for _, node := range results {
		if equalJSON(node, c.want) {
			return true, c.Path + " gives the value"
		}
	}
	return false, fmt.Sprintf("%s gives %d values, none of them the one wanted", c.Path, len(results))
}

// gradeTool checks tool_used.
func (c Check) gradeTool(o Output) (Result, error) {
	if o.Tools == nil {
		return c.result(false, "there is no transcript"), nil
	}
	used := slices.Contains(o.Tools, c.Tool)
	if used {
		return c.result(!c.Negate, fmt.Sprintf("%s was called", c.Tool)), nil
	}
	return c.result(c.Negate, fmt.Sprintf("%s was not called", c.Tool)), nil
}

// gradeFiles checks file_exists and file_contains.
func (c Check) gradeFiles(o Output) (Result, error) {
	names, err := o.regular()
	if err != nil {
		return Result{}, fmt.Errorf("grade check %q: %w", c.ID, err)
	}
	exists := false
	for _, name := range names {
		if !matchGlob(c.Path, name) {
			continue
		}
		exists = true
		if c.Kind == FileExists {
			return c.result(true, name+" is there"), nil
		}
		data, err := readLimited(o.Files, name, maxOutput)
		if err != nil {
			return Result{}, fmt.Errorf("grade check %q: %w", c.ID, err)
		}
		one := c
		one.Kind = Contains
		if passed, _ := one.holdsValues(string(data)); passed {
			return c.result(true, name+" holds it"), nil
		}
	}
	if exists {
		return c.result(false, c.Path+" does not hold it"), nil
	}
	return c.result(false, "there is no "+c.Path), nil
}

// validGlob reports whether a pattern is a glob.
func validGlob(pattern string) bool {
	for part := range strings.SplitSeq(pattern, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return false
		}
	}
	return true
}

// matchGlob holds a path against a glob: * and ? stay inside a name, **
// stands for any number of directories.
func matchGlob(pattern, name string) bool {
	if pattern == name {
		return true
	}
	return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// matchParts is matchGlob on names. It keeps the set of places the pattern
// can have reached, so that many ** cost no more than their number.
func matchParts(pattern, name []string) bool {
	reached := make([]bool, len(name)+1)
	reached[0] = true
	for _, part := range pattern {
		next := make([]bool, len(name)+1)
		for i, here := range reached {
			switch {
			case part == "**":
				next[i] = here || i > 0 && next[i-1]
			case here && i < len(name):
				if ok, err := path.Match(part, name[i]); ok && err == nil {
					next[i+1] = true
				}
			}
		}
		reached = next
	}
	return reached[len(name)]
}
