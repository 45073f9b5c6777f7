package gitstore

import (
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// maxComponent is the longest name of one file or directory, in bytes, that
// common file systems hold.
const maxComponent = 255

// checkPath refuses a path forge must not write, so that every system can
// check the commit out and no path leaves the work tree or enters .git
// (R-TREE-3).
func checkPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if why := refusedName(part); why != "" {
			return fault.New(fault.Refused, "choose another name", "path %q %s", path, why)
		}
	}
	return nil
}

// refusedName says why a path component must not be written, or "".
func refusedName(name string) string {
	switch {
	case name == "":
		return "has an empty component"
	case name == "." || name == "..":
		return "has a component " + name
	case len(name) > maxComponent:
		return "has a component of more than 255 bytes"
	case isDotGit(name):
		return "spells .git"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "has a component that ends in a dot or a space"
	case isDevice(name):
		return "has a component that is a device name on Windows"
	}
	for i := range len(name) {
		if c := name[i]; c < ' ' || strings.IndexByte(`\<>:"|?*`, c) >= 0 {
			return "has a character that Windows cannot hold"
		}
	}
	return ""
}

// isDotGit reports any spelling of .git that some file system takes for it:
// letter case, trailing dots and spaces, the short name git~1, code points
// that HFS+ ignores.
func isDotGit(name string) bool {
	visible := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	visible, _, _ = strings.Cut(visible, ":") // .git::$INDEX_ALLOCATION
	visible = strings.TrimRight(visible, ". ")
	return strings.EqualFold(visible, ".git") || strings.EqualFold(visible, "git~1")
}

// isDevice reports a name that Windows takes for a device, with any extension.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(lowerASCII(name), ".")
	base = strings.TrimRight(base, " ")
	if slices.Contains([]string{"aux", "con", "nul", "prn", "conin$", "conout$"}, base) {
		return true
	}
	number, isPort := strings.CutPrefix(base, "com")
	if !isPort {
		number, isPort = strings.CutPrefix(base, "lpt")
	}
	switch number {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
		return isPort
	}
	return false
}
