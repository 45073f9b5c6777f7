package gitstore

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"forge/gitstore/fault"
)

// Bounds of one pattern. Alternatives multiply, so without them a short
// pattern could keep a match busy for minutes.
const (
	maxGlobLength       = 4096
	maxGlobGroups       = 4
	maxGlobAlternatives = 32
)

// Glob is a pattern over slash-separated paths, anchored at the directory its
// owner names: the root of the repository, or of a skill.
//
// "*" and "?" stay in one path component, "**" crosses directories (none as
// well), "[...]" is a class, "{a,b}" are alternatives and a backslash makes
// the next character a plain one. Dot-files match like all others. A pattern whose last
// component is a plain name also matches everything below it. The zero value
// matches nothing.
//
// Source: gitstore.md R-GLOB-1; config.md R-CFG-5.
type Glob struct {
	text  string // as cleaned
	below string // pattern of everything below a match; "" if that is not matched
	all   bool   // "." or "**"
	plain bool   // no special character: compared byte by byte
}

// ParseGlob reads a pattern. White space is part of it; "./", "//" and a
// trailing "/" are dropped. An empty pattern, a malformed one, one that leaves
// its directory and one with more than 4 groups or 32 alternatives is a fault
// of kind Usage.
func ParseGlob(pattern string) (Glob, error) {
	text, err := cleanPath("pattern", pattern)
	if err != nil {
		return Glob{}, err
	}
	if len(text) > maxGlobLength {
		return Glob{}, fault.New(fault.Usage, "", "pattern of %d bytes, at most %d are read", len(text), maxGlobLength)
	}
	groups, alternatives := strings.Count(text, "{"), strings.Count(text, ",")
	if groups > maxGlobGroups || groups > 0 && alternatives > maxGlobAlternatives {
		return Glob{}, fault.New(fault.Usage, "write several patterns",
			"pattern %q has %d groups with %d commas, at most %d with %d are read", pattern, groups, alternatives, maxGlobGroups, maxGlobAlternatives)
	}
	if !doublestar.ValidatePattern(text) {
		return Glob{}, fault.New(fault.Usage, `write \[ for a bracket that is part of a name`, "pattern %q is malformed", pattern)
	}
	g := Glob{text: text, all: text == "." || text == "**", plain: !strings.ContainsAny(text, `*?[]{}\`)}
	if last := text[strings.LastIndexByte(text, '/')+1:]; !hasWildcard(last) {
		g.below = text + "/**"
	}
	return g, nil
}

// LiteralGlob matches path, whatever characters it holds, and everything
// below it: for a name that exists as it is written (loop.md R-SNAP-3). The
// path is taken as it is.
func LiteralGlob(path string) Glob {
	return Glob{text: path, below: path + "/**", all: path == ".", plain: true}
}

// hasWildcard reports whether text holds a special character that no
// backslash makes plain.
func hasWildcard(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*', '?', '[', ']', '{', '}':
			return true
		}
	}
	return false
}

// Match reports whether path, relative to the anchor, is matched. The anchor
// itself is ".".
func (g Glob) Match(path string) bool {
	switch {
	case g.all:
		return true
	case g.text == "" || path == "":
		return false
	case g.plain:
		return path == g.text || strings.HasPrefix(path, g.text) && path[len(g.text)] == '/'
	case doublestar.MatchUnvalidated(g.text, path):
		return true
	}
	return g.below != "" && doublestar.MatchUnvalidated(g.below, path)
}

// coversBelow reports whether everything below the directory is matched for
// certain, so that nobody has to look inside.
func (g Glob) coversBelow(dir string) bool {
	return (g.below != "" || g.all || strings.HasSuffix(g.text, "/**")) && g.Match(dir)
}

// String returns the cleaned pattern.
func (g Glob) String() string { return g.text }

// matchAny reports whether one of the patterns matches path.
func matchAny(globs []Glob, path string) bool {
	for _, g := range globs {
		if g.Match(path) {
			return true
		}
	}
	return false
}
