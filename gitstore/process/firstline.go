package process

import (
	"bytes"
	"strings"
)

// firstLineLength bounds what [FirstLine] returns, in code points.
const firstLineLength = 200

// FirstLine is the first line of a child's output that is not blank, for a
// sentence: valid UTF-8, without control characters, cut to 200 code points.
// It is "no message" for output that says nothing.
func FirstLine(output []byte) string {
	for line := range bytes.Lines(output) {
		text := strings.Map(func(r rune) rune {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(string(line), "\uFFFD"))
		if text = strings.Join(strings.Fields(text), " "); text == "" {
			continue
		}
		n := 0
		for i := range text {
			if n++; n > firstLineLength {
				return text[:i] + "..."
			}
		}
		return text
	}
	return "no message"
}
