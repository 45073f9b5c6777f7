package textdiff

import (
	"bytes"
	"fmt"
	"strings"
)

// context is the number of unchanged lines around a change (R-DIFF-3).
const context = 3

// noNewline stands in a diff after a line that ends the file without a
// newline.
const noNewline = "\\ No newline at end of file\n"

// Unified returns the change of files, in the order given, as git diff writes
// it: "diff --git" headers, mode lines, three lines of context. Files that did
// not change are left out. Applied with git apply it turns the one side into
// the other, except that a binary change is only named.
//
// Source: loop.md R-DIFF-3.
func Unified(files []File) []byte {
	var out bytes.Buffer
	for _, f := range files {
		if f.retyped() {
			writeFile(&out, File{Path: f.Path, Before: f.Before})
			writeFile(&out, File{Path: f.Path, After: f.After})
			continue
		}
		writeFile(&out, f)
	}
	return out.Bytes()
}

// writeFile writes the diff of one file whose type stays.
func writeFile(out *bytes.Buffer, f File) {
	from, to := f.Before.mode(), f.After.mode()
	same := bytes.Equal(f.Before.data(), f.After.data())
	if same && from == to {
		return
	}
	oldName, newName := writeHeader(out, f)
	switch {
	case same: // an empty file came or went, or the mode changed
	case f.Binary():
		fmt.Fprintf(out, "Binary files %s and %s differ\n", oldName, newName)
	default:
		fmt.Fprintf(out, "--- %s\n+++ %s\n", ended(oldName), ended(newName))
		writeHunks(out, splitLines(f.Before.data()), splitLines(f.After.data()))
	}
}

// writeHeader writes the "diff --git" line and the modes, and returns the
// names of both sides.
func writeHeader(out *bytes.Buffer, f File) (oldName, newName string) {
	from, to := f.Before.mode(), f.After.mode()
	oldName, newName = quote("a/"+f.Path), quote("b/"+f.Path)
	fmt.Fprintf(out, "diff --git %s %s\n", oldName, newName)
	switch {
	case from == "":
		fmt.Fprintf(out, "new file mode %s\n", to)
		oldName = devNull
	case to == "":
		fmt.Fprintf(out, "deleted file mode %s\n", from)
		newName = devNull
	case from != to:
		fmt.Fprintf(out, "old mode %s\nnew mode %s\n", from, to)
	}
	return oldName, newName
}

// ended returns a name for a "---" or "+++" line. As in git, a tab marks the
// end of one with a space in it, which patch(1) would cut there.
func ended(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// writeHunks writes the hunks that turn a into b.
func writeHunks(out *bytes.Buffer, a, b []string) {
	regions := changes(a, b)
	for len(regions) > 0 {
		n := 1
		for n < len(regions) && regions[n].i1-regions[n-1].i2 <= 2*context {
			n++
		}
		writeHunk(out, a, b, regions[:n])
		regions = regions[n:]
	}
}

// writeHunk writes one hunk with the given changes and the lines between and
// around them.
func writeHunk(out *bytes.Buffer, a, b []string, regions []region) {
	first, last := regions[0], regions[len(regions)-1]
	before := min(context, first.i1)
	after := min(context, len(a)-last.i2)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		lineRange(first.i1-before, last.i2+after), lineRange(first.j1-before, last.j2+after))
	at := first.i1 - before
	for _, r := range regions {
		writeLines(out, ' ', a[at:r.i1])
		writeLines(out, '-', a[r.i1:r.i2])
		writeLines(out, '+', b[r.j1:r.j2])
		at = r.i2
	}
	writeLines(out, ' ', a[at:last.i2+after])
}

func writeLines(out *bytes.Buffer, operation byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(operation)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n" + noNewline)
		}
	}
}

// lineRange returns the lines from start up to but without end, both counted
// from 0, as a hunk header counts them.
func lineRange(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

// splitLines returns the lines of data with their newlines.
func splitLines(data []byte) []string {
	lines := strings.SplitAfter(string(data), "\n")
	return lines[:len(lines)-trailingEmpty(lines)]
}

// trailingEmpty is 1 if the last element is the nothing after a final newline.
func trailingEmpty(lines []string) int {
	if lines[len(lines)-1] == "" {
		return 1
	}
	return 0
}
