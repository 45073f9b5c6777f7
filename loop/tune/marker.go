package tune

import (
	"bytes"
	"math/big"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// keyword begins a marker, in whatever comment the language has.
const keyword = "forge:tune"

// options is what may stand behind a marker; nil where it says nothing.
type options struct {
	min, max, step *big.Rat
	stepText       string // of step
}

// over returns o with what it leaves open taken from the options of the block
// around it.
func (o options) over(block options) options {
	if o.min == nil {
		o.min = block.min
	}
	if o.max == nil {
		o.max = block.max
	}
	if o.step == nil {
		o.step, o.stepText = block.step, block.stepText
	}
	return o
}

// marker is one marker of a line and where it stands in it, options included:
// the numbers in there are no parameters.
type marker struct {
	start, end int
	word       string // "begin", "end", or "" for the line itself
	options    options
}

// findMarkers returns the markers of a line. A malformed option is a usage
// fault that names file and line.
func findMarkers(line []byte, path string, number int) ([]marker, error) {
	var markers []marker
	for from := 0; ; {
		at := bytes.Index(line[from:], []byte(keyword))
		if at < 0 {
			return markers, nil
		}
		m := marker{start: from + at, end: from + at + len(keyword)}
		from = m.end
		if !m.standsAlone(line) {
			continue
		}
		if err := m.read(line); err != nil {
			return nil, fault.New(fault.Usage, "forge:tune [begin|end] [min=N] [max=N] [step=N]", "%s:%d: %w", path, number, err)
		}
		from = m.end
		markers = append(markers, m)
	}
}

// standsAlone reports whether the keyword is not part of a longer word.
func (m *marker) standsAlone(line []byte) bool {
	before := m.start == 0 || !isWord(line[m.start-1])
	after := m.end == len(line) || !isWord(line[m.end]) && line[m.end] != '-'
	return before && after
}

// read takes the word and the options behind the keyword.
func (m *marker) read(line []byte) error {
	for _, word := range []string{"begin", "end"} {
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(line[m.end:], " \t"), []byte(word))
		if ok && (len(rest) == 0 || !isWord(rest[0])) && len(rest)+len(word) < len(line)-m.end {
			m.word, m.end = word, len(line)-len(rest)
			break
		}
	}
	for {
		rest := bytes.TrimLeft(line[m.end:], " \t")
		name, value, ok := cutOption(rest)
		if !ok || len(rest) == len(line)-m.end {
			break
		}
		n, err := verdict.ParseNumber(value)
		if err != nil {
			return fault.New(fault.Usage, "", "%s of forge:tune: %w", name, err)
		}
		m.options.set(name, value, n)
		m.end = len(line) - len(rest) + len(name) + 1 + len(value)
	}
	return m.options.check()
}

// cutOption splits name=value off the front of a text.
func cutOption(text []byte) (name, value string, ok bool) {
	for _, name := range []string{"min", "max", "step"} {
		rest, ok := bytes.CutPrefix(text, []byte(name+"="))
		if !ok {
			continue
		}
		n := 0
		for n < len(rest) && (isWord(rest[n]) || bytes.IndexByte([]byte("+-."), rest[n]) >= 0) {
			n++
		}
		return name, string(rest[:n]), true
	}
	return "", "", false
}

// set stores one option.
func (o *options) set(name, text string, n *big.Rat) {
	switch name {
	case "min":
		o.min = n
	case "max":
		o.max = n
	case "step":
		o.step, o.stepText = n, text
	}
}

// check refuses options that leave no move.
func (o options) check() error {
	if o.step != nil && o.step.Sign() <= 0 {
		return fault.New(fault.Usage, "", "step of forge:tune is not above 0")
	}
	if o.min != nil && o.max != nil && o.min.Cmp(o.max) > 0 {
		return fault.New(fault.Usage, "", "min of forge:tune is above max")
	}
	return nil
}

// isWord reports an ASCII letter, a digit or an underscore.
func isWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || isDigit(c) || c == '_'
}

// isDigit reports an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
