package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// attributesFile is the name of git's attributes in a tree.
const attributesFile = ".gitattributes"

// attributes answers the one question forge has about git's attributes: is a
// path behind a filter. git is not asked: before version 2.40 it reads the
// checked-out files only, and a start of it takes longer than a commit.
//
// Files are read as git does: a deeper one over a shallower one, the
// repository's info/attributes over all, the last line that says something
// over earlier ones. Not read is the system's file.
type attributes struct {
	lowest  []attributeRule            // of the person
	dirs    map[string][]attributeRule // by directory, "" for the root
	highest []attributeRule            // of info/attributes
	macros  map[string]string          // what a macro says about filter
}

// attributeRule is a line that says something about filter.
type attributeRule struct {
	pattern string // of doublestar
	whole   bool   // matched against the path below the file's directory, not the name alone
	filter  string // "" takes a filter away
}

// newAttributes returns attributes that hold what lies outside any tree.
func (r *Repo) newAttributes(ctx context.Context) (*attributes, error) {
	a := &attributes{dirs: map[string][]attributeRule{}, macros: map[string]string{}}
	name, err := r.personAttributes(ctx)
	if err != nil {
		return nil, err
	}
	for _, file := range []struct {
		name string
		to   *[]attributeRule
	}{{name, &a.lowest}, {filepath.Join(r.commonDir, "info", "attributes"), &a.highest}} {
		if file.name == "" {
			continue
		}
		data, err := os.ReadFile(file.name)
		if err != nil && !isAbsent(err) && !errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("read git's attributes: %w", err)
		}
		*file.to = a.parse(data, true)
	}
	return a, nil
}

// personAttributes names the attributes file of the person, as git finds it.
func (r *Repo) personAttributes(ctx context.Context) (string, error) {
	config, err := r.askConfig(ctx)
	if err != nil {
		return "", err
	}
	home := r.env.Vars["HOME"]
	if name := config["core.attributesfile"]; name != "" {
		if below, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, below)
		}
		if !filepath.IsAbs(name) {
			return "", nil
		}
		return name, nil
	}
	if dir := r.env.Vars["XDG_CONFIG_HOME"]; dir != "" {
		return filepath.Join(dir, "git", "attributes"), nil
	}
	if home == "" {
		return "", nil
	}
	return filepath.Join(home, ".config", "git", "attributes"), nil
}

// add reads the attributes file of a directory of the tree, "" for the root.
// Only that may define macros.
func (a *attributes) add(dir string, data []byte) { a.dirs[dir] = a.parse(data, dir == "") }

// filter returns the filter a path is behind, or "".
func (a *attributes) filter(p string) string {
	filter, _ := match(a.lowest, p)
	dir := ""
	for rest := p; ; {
		if found, said := match(a.dirs[dir], strings.TrimPrefix(p, dir+"/")); said {
			filter = found
		}
		name, below, deeper := strings.Cut(rest, "/")
		if !deeper {
			break
		}
		dir, rest = joinPath(dir, name), below
	}
	if found, said := match(a.highest, p); said {
		filter = found
	}
	return filter
}

// match returns what the last matching rule says, and whether there is one.
func match(rules []attributeRule, p string) (string, bool) {
	for _, rule := range slices.Backward(rules) {
		subject := p
		if !rule.whole {
			subject = path.Base(p)
		}
		if doublestar.MatchUnvalidated(rule.pattern, subject) {
			return rule.filter, true
		}
	}
	return "", false
}

// parse returns the lines of an attributes file that say something about
// filter. Malformed ones say nothing, as for git.
func (a *attributes) parse(data []byte, macros bool) []attributeRule {
	if !bytes.Contains(data, []byte("filter")) && len(a.macros) == 0 {
		return nil
	}
	var rules []attributeRule
	for line := range strings.Lines(string(data)) {
		pattern, words := splitAttributes(line)
		filter, said := "", false
		for word := range strings.FieldsSeq(words) {
			if value, known := a.value(word); known {
				filter, said = value, true
			}
		}
		macro, isMacro := strings.CutPrefix(pattern, "[attr]")
		switch {
		case !said || pattern == "" || strings.HasPrefix(pattern, "!"):
		case isMacro && macros:
			a.macros[macro] = filter
		case isMacro:
		default:
			if rule, ok := newAttributeRule(pattern, filter); ok {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// splitAttributes takes a line apart; a pattern may be quoted as in C.
func splitAttributes(line string) (pattern, words string) {
	line = strings.Trim(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return "", ""
	}
	if line[0] == '"' {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			if text, err := strconv.Unquote(quoted); err == nil {
				return text, line[len(quoted):]
			}
		}
	}
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], line[end:]
}

// value returns what one word of a line says about filter.
func (a *attributes) value(word string) (filter string, said bool) {
	switch name, value, set := strings.Cut(word, "="); {
	case name == "filter" && set, word == "filter":
		return value, true // "filter" without a value names no driver
	case word == "-filter", word == "!filter":
		return "", true
	}
	filter, said = a.macros[word]
	return filter, said
}

// newAttributeRule translates a pattern of git. One that ends in a slash
// matches directories, which have no content.
func newAttributeRule(pattern, filter string) (attributeRule, bool) {
	if strings.HasSuffix(pattern, "/") {
		return attributeRule{}, false
	}
	whole := strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	pattern = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(pattern) // alternatives are not git's
	return attributeRule{pattern, whole, filter}, doublestar.ValidatePattern(pattern)
}
