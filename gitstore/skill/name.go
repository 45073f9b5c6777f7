package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"forge/gitstore/fault"
	"forge/gitstore/text"
)

var strictName = pattern(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)

// CheckName says what is wrong with a name that forge is to write: 1 to 64
// characters, lower-case ASCII letters, digits and single hyphens, none at an
// end. The fault is of kind Usage. Reading is milder.
//
// Source: skill-format.md R-SF-W-3.
func CheckName(name string) error {
	const hint = "use lower-case letters, digits and single hyphens"
	switch n := utf8.RuneCountInString(name); {
	case name == "":
		return fault.New(fault.Usage, hint, "the name is empty")
	case n > MaxName:
		return fault.New(fault.Usage, hint, "the name has %d characters of at most %d", n, MaxName)
	case !strictName().MatchString(name), strings.Contains(name, "--"):
		return fault.New(fault.Usage, hint, "the name %q is not allowed", name)
	}
	return nil
}

// SameName reports whether two names are one name to some file system or
// client: case and normal form do not tell them apart (skill-format.md
// R-SF-D-6).
func SameName(a, b string) bool { return text.Key(a) == text.Key(b) }

// NameMatchesDirectory reports whether a front-matter name equals that of its
// directory, both in NFKC (skill-format.md SF203).
func NameMatchesDirectory(name, directory string) bool {
	return text.NFKC(name) == text.NFKC(directory)
}

// IsPathName reports a name that climbs out of its directory or is no single
// path component: nothing may be built from it (skill-format.md SF204).
func IsPathName(name string) bool {
	return name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") || len(name) > 1 && name[1] == ':'
}

// EncodeName makes a path component or a part of a branch name from any name:
// every byte outside [a-z0-9.-] is percent-encoded, and so is a dot where git
// refuses one or a path would climb: first, last, behind another dot, and in
// front of "lock" at the end. The empty name stays empty.
//
// Source: skill-format.md R-SF-D-6; case S13.
func EncodeName(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
		dot := c == '.' && i > 0 && i < len(name)-1 && name[i-1] != '.' && name[i:] != ".lock"
		if plain || dot {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
