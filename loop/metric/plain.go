package metric

import (
	"bytes"
	"math/big"
	"strings"

	"forge/loop/verdict"
)

// item is a piece of an output that is a number or looks like one.
type item struct {
	text    string
	percent bool // a percent sign ends or follows it
}

// readPlain finds the number of an output without markers (loop.md
// R-METRIC-5): the only item, or the last item of the last line that is not
// blank.
func readPlain(output []byte) (Reading, error) {
	const hint = "print METRIC name=number on a line of its own"
	var (
		count       int
		last        item // of the output
		lastOfLine  item // of the last line that is not blank
		lineHasItem bool
	)
	for len(output) > 0 {
		var line []byte
		line, output = nextLine(output)
		if len(bytes.Trim(line, " \t\v\f")) == 0 {
			continue
		}
		found, n := lastItem(line)
		if lastOfLine, lineHasItem = found, n > 0; lineHasItem {
			last = found
		}
		count += n
	}
	switch {
	case count == 0:
		return Reading{}, unreadable(ErrNoNumber, hint, "the output holds no number")
	case count > 1 && !lineHasItem:
		return Reading{}, unreadable(ErrNoNumber, hint, "the output holds %d numbers, none of them on its last line", count)
	case count > 1:
		last = lastOfLine
	}
	value, ok := last.number()
	if !ok {
		return Reading{}, unreadable(ErrNoNumber, hint, "%q is not a readable number", cut(last.text))
	}
	if count == 1 {
		return Reading{Value: value, Source: OnlyNumber, Warnings: []string{}}, nil
	}
	return Reading{Value: value, Source: LastNumber, Warnings: []string{UnmarkedLastNumber}}, nil
}

// lastItem returns the last item of a line and how many there are.
func lastItem(line []byte) (last item, count int) {
	for i := 0; i < len(line); {
		if !inRun(line, i) {
			i++
			continue
		}
		start := i
		for i < len(line) && inRun(line, i) {
			i++
		}
		run := bytes.TrimRight(bytes.TrimLeft(line[start:i], ","), ".,")
		if !isItem(run) {
			continue
		}
		count++
		last = item{string(run), run[len(run)-1] == '%' || bytes.HasPrefix(trimBlanks(line[i:]), []byte("%"))}
	}
	return last, count
}

// inRun reports whether the byte at i belongs to a run: [A-Za-z0-9_.,+%-], and
// a colon or slash between two digits.
func inRun(line []byte, i int) bool {
	switch c := line[i]; c {
	case '_', '.', ',', '+', '%', '-':
		return true
	case ':', '/':
		return i > 0 && i+1 < len(line) && isDigit(line[i-1]) && isDigit(line[i+1])
	default:
		return isLetter(c) || isDigit(c)
	}
}

// isItem reports whether a run counts: it is not a number in words, or it
// holds a digit and does not begin with a letter or an underscore.
func isItem(run []byte) bool {
	if len(run) == 0 {
		return false
	}
	if isNotFinite(run) {
		return true
	}
	return !isLetter(run[0]) && run[0] != '_' && bytes.ContainsAny(run, "0123456789")
}

// isNotFinite reports nan, inf and infinity, in any case, with or without
// sign.
func isNotFinite(run []byte) bool {
	if len(run) > len("+infinity") {
		return false
	}
	if run[0] == '+' || run[0] == '-' {
		run = run[1:]
	}
	switch strings.ToLower(string(run)) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// number reads an item: a number, or one followed by letters only (12.5ms).
func (i item) number() (*big.Rat, bool) {
	if i.percent {
		return nil, false
	}
	value, err := verdict.ParseNumber(i.text)
	if err == nil {
		return value, true
	}
	number := strings.TrimRightFunc(i.text, func(r rune) bool { return r < 0x80 && isLetter(byte(r)) })
	if number == i.text {
		return nil, false
	}
	value, err = verdict.ParseNumber(number)
	return value, err == nil
}
