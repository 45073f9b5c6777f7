package gitstore

import (
	"path"
	"strings"
	"unicode/utf8"

	"forge/gitstore/fault"
)

// CleanTarget returns the text that is the identity of a target in generic
// mode: relative to the root of the repository, with "/", without "./", "//"
// and a trailing "/", and "." for the root. It works on the text alone and
// looks at no file. A text that is empty, absolute or leaves the repository,
// or that holds a control character or invalid UTF-8 (it is written into a
// trailer and into JSON) is a fault of kind Usage.
//
// Source: gitstore.md R-REF-2.
func CleanTarget(pattern string) (string, error) { return cleanPath("target", pattern) }

// cleanPath is [CleanTarget] for anything a person types as a path; what names
// it in errors.
func cleanPath(what, text string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", fault.New(fault.Usage, "name it relative to the root of the repository", "%s %q %s", what, text, why)
	}
	switch {
	case text == "":
		return refuse("is empty")
	case strings.HasPrefix(text, "/"):
		return refuse("is an absolute path")
	case !utf8.ValidString(text):
		return refuse("is not valid UTF-8")
	case strings.ContainsFunc(text, isControl):
		return refuse("holds a control character")
	}
	clean := path.Clean(text)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return refuse("leaves the repository")
	}
	return clean, nil
}

// isControl reports a C0 control character or DEL.
func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// reservedTargets are names below refs/heads/forge/ that are branches of
// their own, or may become one.
var reservedTargets = map[string]bool{"curate": true, "learn": true, "activity": true}

// Slug returns the name of a target in refs and folders, always
// [a-z0-9-]+ with at most one "_" at the end. It is made from the last path
// component that leaves an ASCII letter or digit when its extension and the
// glob characters are out; "root" if there is none. A leading dot starts no
// extension. Two targets may have one slug: it is never an identity.
//
// A skill's path gives its directory name, for every name skill-format.md
// allows.
//
// Source: gitstore.md R-REF-2.
func Slug(target string) string {
	components := strings.Split(target, "/")
	for i := len(components) - 1; i >= 0; i-- {
		slug := slugOf(components[i])
		if reservedTargets[slug] {
			return slug + "_"
		}
		if slug != "" {
			return slug
		}
	}
	return "root"
}

// slugOf returns the slug of one path component, "" if nothing is left.
func slugOf(component string) string {
	if dot := strings.LastIndexByte(component, '.'); dot > 0 {
		component = component[:dot]
	}
	var b strings.Builder
	inRun := false
	for _, r := range strings.ToLower(component) {
		switch {
		case strings.ContainsRune("*?[]{}", r):
			continue
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			b.WriteRune(r)
			inRun = false
		case !inRun:
			b.WriteByte('-')
			inRun = true
		}
	}
	return strings.Trim(b.String(), "-")
}
