package skill

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// keyLine is a key at column 1 and its value.
var keyLine = pattern(`^([A-Za-z0-9_][A-Za-z0-9_.-]*|"[^"]*"|'[^']*')[ \t]*:(?:[ \t]+(.*))?$`)

// unparsable says why the front matter is no YAML and where: an unquoted `: `,
// a tab as indentation, or the line the library names (skill-format.md
// R-SF-R-4).
func (r *reader) unparsable(err error) {
	line, reason := explain(err)
	front, start := r.doc.FrontMatter, len(r.doc.head)
	if at, key := colonInValue(front); at >= 0 && strings.Contains(reason, "mapping values are not allowed") {
		r.add("SF107", Error, start+at, key, "put the value in quotes", "An unquoted `: ` in `%s`; pi and strict readers skip the skill. Quote the value.", key)
		return
	}
	if at := tabIndent(front); at >= 0 && strings.Contains(reason, "cannot start any token") {
		number, _ := position(r.data, start+at)
		r.add("SF115", Error, start+at, "", "indent with spaces", "A tab indents YAML on line %d.", number)
		return
	}
	r.add("SF106", Error, start+locate(front, line, reason), "", "", "The front matter is not valid YAML: %s.", reason)
}

// locate is the offset of an error: of the very character where the reason
// tells, else of the value on that line, else of its first character.
func locate(front []byte, line int, reason string) int {
	if alias := unknownAnchor().FindStringSubmatch(reason); alias != nil {
		return max(0, bytes.Index(front, []byte("*"+alias[1])))
	}
	if strings.Contains(reason, "control characters") {
		return max(0, bytes.IndexFunc(front, func(r rune) bool { return needsEscape(r) && r != '\t' && r != '\r' }))
	}
	at := nodeOffset(front, line, 1)
	text := front[at : at+lineLength(front[at:])]
	if match := keyLine().FindSubmatchIndex(chomp(text)); match != nil && match[4] >= 0 && match[4] < match[5] {
		return at + match[4]
	}
	return at + len(text) - len(bytes.TrimLeft(text, " \t"))
}

// unknownAnchor is the library's complaint about an alias.
var unknownAnchor = pattern(`^unknown anchor '([^']*)'`)

// colonInValue finds the first `: ` inside a plain value, on the line of its
// key or on one that continues it.
func colonInValue(front []byte) (at int, key string) {
	open := false // the value of key is plain and may go on
	for offset, line := range lines(front) {
		text, begin := chomp(line), 0
		if match := keyLine().FindSubmatchIndex(text); match != nil {
			key, open = strings.Trim(string(text[match[2]:match[3]]), `"'`), false
			if begin = match[4]; begin >= 0 && begin < len(text) {
				open = !strings.ContainsRune(indicators, rune(text[begin]))
			}
		} else if len(text) > 0 && text[0] != ' ' && text[0] != '\t' {
			open = false
		}
		if !open {
			continue
		}
		value := text[begin:]
		if comment := bytes.Index(value, []byte(" #")); comment >= 0 {
			value = value[:comment]
		}
		if i := valueColon(value); i >= 0 {
			return offset + begin + i, key
		}
	}
	return -1, ""
}

// valueColon is the offset of a colon that ends the text or stands before a
// blank, or -1.
func valueColon(text []byte) int {
	for i, c := range text {
		if c == ':' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t') {
			return i
		}
	}
	return -1
}

// tabIndent is the offset of the first tab in an indentation, or -1.
func tabIndent(front []byte) int {
	for offset, line := range lines(front) {
		blanks := len(line) - len(bytes.TrimLeft(line, " \t"))
		if tab := bytes.IndexByte(line[:blanks], '\t'); tab >= 0 && !isBlank(line) {
			return offset + tab
		}
	}
	return -1
}

// fallback reads name, description and the switch of a front matter that is no
// YAML line by line: for display and identity (skill-format.md R-SF-R-4). The
// first line of a key counts, with the indented lines behind it.
func (r *reader) fallback() {
	values := map[string]string{}
	key := ""
	for _, line := range lines(r.doc.FrontMatter) {
		text := string(chomp(line))
		match := keyLine().FindStringSubmatch(text)
		switch {
		case match != nil:
			key = match[1]
			if _, seen := values[key]; seen {
				key = ""
				break
			}
			values[key] = strings.TrimSpace(match[2])
		case key != "" && (strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t")):
			values[key] = strings.TrimSpace(blockHeader().ReplaceAllString(values[key], "") + " " + strings.TrimSpace(text))
		case !isBlank(line):
			key = ""
		}
	}
	r.doc.Name, r.doc.Description = unquoted(values["name"]), unquoted(values["description"])
	r.doc.DisableModelInvocation = strings.EqualFold(values["disable-model-invocation"], "true")
}

// blockHeader begins a block scalar.
var blockHeader = pattern(`^[|>][0-9+-]{0,2}$`)

// unquoted takes a pair of quotes off a value that is shown only. What is not
// UTF-8 is not shown (skill-format.md R-SF-R-7).
func unquoted(value string) string {
	if !utf8.ValidString(value) {
		return ""
	}
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[0] == value[n-1] {
		value = value[1 : n-1]
	}
	return strings.TrimSpace(blockHeader().ReplaceAllString(value, ""))
}
