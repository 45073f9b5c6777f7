package textdiff

import (
	"fmt"
	"strconv"
	"strings"
)

// parser walks over a patch and cuts it into sections, one per file, which
// go-gitdiff then reads. It looks at the names itself, because go-gitdiff cuts
// off the first folder whatever it is called, and at the length of hunks,
// because go-gitdiff takes what is too much for text between the files.
type parser struct {
	lines []string // each with its newline
	at    int      // the current one
}

// line returns the current or a later line without its end; "" behind the
// last.
func (p *parser) line(ahead int) string {
	if p.at+ahead >= len(p.lines) {
		return ""
	}
	return strings.TrimRight(p.lines[p.at+ahead], "\r\n")
}

// errorf is an error about the current line.
func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d of the patch: %w", p.at+1, fmt.Errorf(format, args...))
}

const (
	gitHeader  = "diff --git "
	hunkHeader = "@@ -"
)

// atNames reports whether a "---" and a "+++" line stand here.
func (p *parser) atNames() bool {
	return strings.HasPrefix(p.line(0), "--- ") && strings.HasPrefix(p.line(1), "+++ ")
}

// nextFile goes to the header of the next file, if there is one. Text is
// skipped, but not what must be part of a hunk.
func (p *parser) nextFile(afterHunk bool) (found bool, err error) {
	for ; p.at < len(p.lines); p.at++ {
		line := p.line(0)
		switch {
		case strings.HasPrefix(line, gitHeader), p.atNames():
			return true, nil
		case strings.HasPrefix(line, hunkHeader):
			return false, p.errorf("a hunk without a file header")
		case line == "", line == "--", line == "-- ": // the last begins the signature of a mail
		case afterHunk && strings.Contains(" +-", line[:1]):
			return false, p.errorf("%q follows a hunk that is complete by its header", line)
		default:
			afterHunk = false
		}
	}
	return false, nil
}

// file parses one file; the parser is at its header.
func (p *parser) file() (FilePatch, error) {
	s := section{line: p.at + 1}
	s.text.WriteString(gitHeader + "a/f b/f\n")
	var err error
	if title, ok := strings.CutPrefix(p.line(0), gitHeader); ok {
		s.git, s.title = true, title
		p.at++
		err = p.extended(&s)
	}
	if err == nil && p.atNames() {
		err = p.names(&s)
	}
	for err == nil && strings.HasPrefix(p.line(0), hunkHeader) {
		err = p.hunk(&s)
	}
	if err != nil {
		return FilePatch{}, err
	}
	f, err := s.filePatch()
	if err != nil {
		return FilePatch{}, fmt.Errorf("line %d of the patch: %w", s.line, err)
	}
	return f, nil
}

// extended reads git's header lines that follow "diff --git".
func (p *parser) extended(s *section) error {
	for ; ; p.at++ {
		line := p.line(0)
		var err error
		switch {
		case hasAnyPrefix(line, "old mode ", "new mode ", "new file mode ", "deleted file mode "),
			strings.HasPrefix(line, "index ") && strings.Contains(line, ".."),
			hasAnyPrefix(line, "Binary files ", "Files ") && strings.HasSuffix(line, " differ"):
			s.text.WriteString(line + "\n")
		case hasAnyPrefix(line, "rename from ", "rename old "):
			s.renameFrom, _, err = field(line[len("rename from "):])
		case hasAnyPrefix(line, "rename to ", "rename new "):
			s.renameTo, _, err = field(strings.TrimPrefix(strings.TrimPrefix(line, "rename to "), "rename new "))
		case hasAnyPrefix(line, "index ", "similarity index ", "dissimilarity index "):
		case hasAnyPrefix(line, "copy from ", "copy to "):
			err = fmt.Errorf("copies are not supported; give %q as a new file", line)
		case line == "GIT binary patch":
			err = fmt.Errorf("binary data is not supported")
		default:
			return nil
		}
		if err != nil {
			return p.errorf("%w", err)
		}
	}
}

func hasAnyPrefix(line string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// names reads the "---" and "+++" lines.
func (p *parser) names(s *section) error {
	var err error
	if s.from, s.fromRest, err = field(p.line(0)[len("--- "):]); err != nil {
		return p.errorf("%w", err)
	}
	p.at++
	if s.to, s.toRest, err = field(p.line(0)[len("+++ "):]); err != nil {
		return p.errorf("%w", err)
	}
	p.at++
	if s.from == "" || s.to == "" {
		return p.errorf("a name is missing above")
	}
	if !strings.HasPrefix(p.line(0), hunkHeader) {
		return p.errorf("no hunk follows the names of the file")
	}
	return nil
}

// hunk takes a hunk over into the section, as many lines as its header says.
func (p *parser) hunk(s *section) error {
	header := p.at + 1
	oldLeft, newLeft, err := hunkLength(p.line(0))
	if err != nil {
		return p.errorf("%w", err)
	}
	s.text.WriteString(p.line(0) + "\n")
	s.hunkLines = append(s.hunkLines, header)
	for p.at++; oldLeft > 0 || newLeft > 0 || strings.HasPrefix(p.line(0), `\ `); p.at++ {
		if p.at >= len(p.lines) {
			return p.errorf("the hunk at line %d ends too early", header)
		}
		line := p.lines[p.at]
		switch {
		case line[0] == ' ' || p.line(0) == "":
			oldLeft, newLeft = oldLeft-1, newLeft-1
		case line[0] == '-':
			oldLeft--
		case line[0] == '+':
			newLeft--
		case strings.HasPrefix(line, `\ `):
		default:
			return p.errorf("%q is no line of the hunk at line %d", p.line(0), header)
		}
		if oldLeft < 0 || newLeft < 0 {
			return p.errorf("the hunk at line %d has more lines than its header says", header)
		}
		s.text.WriteString(p.hunkLine())
	}
	return nil
}

// hunkLine returns the current line of a hunk as go-gitdiff wants it. Editors
// take the space off an empty context line. A CR before a missing newline is
// the patch's own if its marker line has one too.
func (p *parser) hunkLine() string {
	line := p.lines[p.at]
	switch {
	case p.line(0) == "":
		return " " + line
	case strings.HasPrefix(p.line(1), `\ `) && strings.HasSuffix(p.lines[p.at+1], "\r\n"):
		return p.line(0) + "\n"
	case line[0] == '\\':
		return noNewline
	}
	return line
}

// hunkLength returns the numbers of lines a hunk header names, of which a
// missing one is 1.
func hunkLength(header string) (oldLines, newLines int, err error) {
	ranges, _, ok := strings.Cut(header[len(hunkHeader):], " @@")
	from, to, both := strings.Cut(ranges, " +")
	if ok && both {
		if oldLines, err = rangeLength(from); err == nil {
			newLines, err = rangeLength(to)
		}
	}
	if !ok || !both || err != nil {
		return 0, 0, fmt.Errorf("%q is no hunk header", header)
	}
	return oldLines, newLines, nil
}

// rangeLength returns the length of "START,LENGTH" or "START".
func rangeLength(text string) (int, error) {
	start, length, ok := strings.Cut(text, ",")
	if _, err := strconv.ParseUint(start, 10, 31); err != nil {
		return 0, err
	}
	if !ok {
		return 1, nil
	}
	n, err := strconv.ParseUint(length, 10, 31)
	return int(n), err
}
