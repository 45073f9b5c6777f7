package gitstore

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// unionPatterns are the files that two branches may both extend, beside every
// PURPOSE.md. `forge init` gives them merge=union in .gitattributes, but forge
// never rests on that (gitstore.md R-ATOM-5, R-MERGE-2).
var unionPatterns = []string{".forge/patterns/*/evidence.jsonl", ".forge/runs/*/knowledge-gaps.jsonl"}

// isUnion reports whether a file is merged as a union.
func isUnion(p string) bool {
	if path.Base(p) == purposeFile {
		return true
	}
	return slices.ContainsFunc(unionPatterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, p) // the patterns are well formed
		return matched
	})
}

// purposeFile is what every skill says about its own experiments
// (loop.md section 9).
const purposeFile = "PURPOSE.md"

// mergeUnion merges the records of an append-only file: those of ours, without
// the ones theirs removed from the base, then those theirs added, an exact
// duplicate once, order kept. A record is a line; of a PURPOSE.md it is an
// entry with its heading, because lines are alike in many entries. The result
// ends with a newline.
func mergeUnion(p string, three Sides) []byte {
	split, between := splitLines, ""
	if path.Base(p) == purposeFile {
		split, between = splitEntries, "\n"
	}
	base, theirs := split(three.Base), split(three.Theirs)
	var kept []string
	have := map[string]bool{}
	for _, record := range split(three.Ours) {
		if slices.Contains(base, record) && !slices.Contains(theirs, record) {
			continue // theirs took it out
		}
		kept = append(kept, record)
		have[record] = true
	}
	for _, record := range theirs {
		if !have[record] && !slices.Contains(base, record) {
			kept = append(kept, record)
			have[record] = true
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []byte(strings.Join(kept, "\n"+between) + "\n")
}

// splitLines returns the lines of a file without their ends.
func splitLines(data []byte) []string {
	text := strings.TrimSuffix(string(data), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// splitEntries returns what stands before the first heading of the second
// level, and then each with what belongs to it, without white space at its
// end.
func splitEntries(data []byte) []string {
	var entries []string
	var entry []byte
	finish := func() {
		if text := bytes.TrimRight(entry, " \t\r\n"); len(text) > 0 {
			entries = append(entries, string(text))
		}
		entry = nil
	}
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte("## ")) {
			finish()
		}
		entry = append(entry, line...)
	}
	finish()
	return entries
}
