package evals

import (
	"slices"
	"strings"

	"forge/gitstore/text"
)

// Windows are pieces of evals that no skill may hold: whoever copies them
// answers the evals instead of getting better. The zero value holds none.
type Windows struct {
	whole map[string]bool // of [text.WindowWords] words
	short []string        // of fewer: queries as a whole
}

// Windows returns the windows of the evals that pick names: of a query those
// of its text; of a task those of its prompt and of what its checks say, one
// after the other, so that a window may span two of them.
//
// Source: knowledge.md R-LEAK-2; skill-format.md R-SF-TR-5.
func (s *Set) Windows(pick func(id string) bool) Windows {
	w := Windows{whole: map[string]bool{}}
	for _, e := range s.Evals {
		if !pick(e.ID) {
			continue
		}
		for _, window := range e.windows() {
			if strings.Count(window, " ")+1 < text.WindowWords {
				w.short = append(w.short, window)
			} else {
				w.whole[window] = true
			}
		}
	}
	slices.Sort(w.short)
	w.short = slices.Compact(w.short)
	return w
}

func (e *Eval) windows() text.Set {
	if slices.ContainsFunc(e.Checks, func(c Check) bool { return c.Kind == Triggered }) {
		return text.QueryWindows(text.Words(e.Prompt))
	}
	all := []string{e.Prompt, e.Expected}
	for _, c := range e.Checks {
		all = append(all, c.Text, c.Expected)
		all = append(all, c.Values...)
	}
	return text.Windows(text.Words(strings.Join(all, " ")))
}

// In returns the windows that stand in a text, in byte order. The text is
// compared as words: case, punctuation and white space do not count.
func (w Windows) In(data []byte) []string {
	words := text.Words(string(data))
	var found []string
	for _, window := range text.Windows(words) {
		if w.whole[window] {
			found = append(found, window)
		}
	}
	if len(w.short) > 0 {
		normalised := strings.Join(words, " ")
		for _, window := range w.short {
			if text.Holds(normalised, window) {
				found = append(found, window)
			}
		}
	}
	slices.Sort(found)
	return found
}
