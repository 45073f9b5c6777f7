package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// configFile is one git configuration file as it stands, includes not
// followed: its values in file order. Only what decides how a repository is
// laid out is read from it (R-DISC-4); what a person configures is asked of
// git ([Repo.askConfig]).
type configFile []configValue

// configValue is one assignment. Name is section.key or
// section.subsection.key, section and key in lower case.
type configValue struct{ name, value string }

// last returns the effective value of each name.
func (f configFile) last() gitConfig {
	config := gitConfig{}
	for _, v := range f {
		config[v.name] = v.value
	}
	return config
}

// get returns the last value of a name and whether there is one.
func (f configFile) get(name string) (string, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].name == name {
			return f[i].value, true
		}
	}
	return "", false
}

// readConfig reads a configuration file; a missing one is empty.
func readConfig(path string) (configFile, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read git configuration: %w", err)
	}
	config, err := parseConfig(string(data))
	if err != nil {
		return nil, fmt.Errorf("read git configuration %q: %w", path, err)
	}
	return config, nil
}

// parseConfig reads git's configuration syntax: sections with and without a
// quoted subsection, keys without a value (true), quotes, escapes, comments
// and continued lines.
func parseConfig(text string) (configFile, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	var (
		config  configFile
		section string
	)
	for text != "" {
		text = strings.TrimLeft(text, " \t")
		var err error
		switch {
		case text == "":
			return config, nil
		case text[0] == '\n':
			text = text[1:]
		case text[0] == '#' || text[0] == ';':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '[':
			section, text, err = parseSection(text[1:])
		default:
			var v configValue
			v, text, err = parseAssignment(section, text)
			config = append(config, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return config, nil
}

// parseSection reads what follows "[" and returns the prefix of the section's
// names and the text after "]".
func parseSection(text string) (prefix, rest string, err error) {
	end := strings.IndexAny(text, "]\" \t\n")
	if end <= 0 {
		return "", "", errors.New("section without a name")
	}
	name := lowerASCII(text[:end]) // "a.b", the old form of a subsection, is folded whole
	text = strings.TrimLeft(text[end:], " \t")
	if strings.HasPrefix(text, "]") {
		return name + ".", text[1:], nil
	}
	if !strings.HasPrefix(text, `"`) {
		return "", "", fmt.Errorf("section %q is not closed", name)
	}
	var subsection strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return "", "", fmt.Errorf("section %q is not closed", name)
		case c == '"':
			if !strings.HasPrefix(text[i+1:], "]") {
				return "", "", fmt.Errorf("section %q is not closed", name)
			}
			return name + "." + subsection.String() + ".", text[i+2:], nil
		case c == '\\' && i+1 < len(text):
			i++
			subsection.WriteByte(text[i])
		default:
			subsection.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("section %q is not closed", name)
}

// parseAssignment reads KEY or KEY = VALUE and returns the text after the line.
func parseAssignment(section, text string) (configValue, string, error) {
	end := 0
	for end < len(text) && (isAlnum(text[end]) || text[end] == '-') {
		end++
	}
	if end == 0 || section == "" {
		return configValue{}, "", errors.New("neither a section nor a key")
	}
	name := section + lowerASCII(text[:end])
	text = strings.TrimLeft(text[end:], " \t")
	if !strings.HasPrefix(text, "=") {
		rest := strings.TrimLeft(text, " \t")
		if rest != "" && rest[0] != '\n' && rest[0] != '#' && rest[0] != ';' {
			return configValue{}, "", fmt.Errorf("key %q without =", name)
		}
		_, rest, _ = strings.Cut(rest, "\n")
		return configValue{name, "true"}, rest, nil
	}
	value, rest, err := parseValue(strings.TrimLeft(text[1:], " \t"))
	if err != nil {
		return configValue{}, "", fmt.Errorf("key %q: %w", name, err)
	}
	return configValue{name, value}, rest, nil
}

// parseValue reads a value up to the end of its line: white space outside
// quotes at the end goes, a backslash continues the line or escapes.
func parseValue(text string) (value, rest string, err error) {
	var b strings.Builder
	kept, quoted := 0, false // kept: length without trailing white space
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n' && quoted:
			return "", "", errors.New("quote not closed")
		case c == '\n':
			return b.String()[:kept], text[i+1:], nil
		case (c == '#' || c == ';') && !quoted:
			_, rest, _ = strings.Cut(text[i:], "\n")
			return b.String()[:kept], rest, nil
		case c == '"':
			quoted = !quoted
			kept = b.Len()
		case c == '\\':
			i++
			escaped, ok := unescape(text, i)
			if !ok {
				return "", "", errors.New("unknown escape")
			}
			b.WriteString(escaped)
			kept = b.Len()
		default:
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' {
				kept = b.Len()
			}
		}
	}
	if quoted {
		return "", "", errors.New("quote not closed")
	}
	return b.String()[:kept], "", nil
}

// unescape returns what a backslash before text[i] stands for.
func unescape(text string, i int) (string, bool) {
	if i >= len(text) {
		return "", true // a backslash at the very end continues nothing
	}
	switch text[i] {
	case '\n':
		return "", true
	case '"', '\\':
		return text[i : i+1], true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'b':
		return "\b", true
	}
	return "", false
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// configTrue reports git's reading of a boolean value.
func configTrue(value string) bool {
	switch lowerASCII(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}
