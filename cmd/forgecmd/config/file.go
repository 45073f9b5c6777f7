package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"forge/gitstore/fault"
)

// schemaVersion is the newest version of the configuration's form there is.
const schemaVersion = 1

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// fileEntries reads a file into entries, in the order of their names. A file
// that is not present has none.
func fileEntries(file File, from Layer) ([]entry, error) {
	if !file.Present {
		return nil, nil
	}
	if len(file.Data) > maxFile {
		return nil, fault.New(fault.Usage, "", "%s has %d bytes, want at most %d", file.Name, len(file.Data), maxFile)
	}
	if from == FromNamed && strings.HasSuffix(file.Name, ".json") {
		return jsonEntries(file, from)
	}
	return tomlEntries(file, from)
}

// tomlEntries reads a TOML file.
func tomlEntries(file File, from Layer) ([]entry, error) {
	var document map[string]any
	if _, err := toml.Decode(string(file.Data), &document); err != nil {
		parse, ok := errors.AsType[toml.ParseError](err)
		if !ok {
			return nil, fault.New(fault.Usage, "", "%s: %w", file.Name, err)
		}
		reason := parse.Message
		if reason == "" {
			reason = strings.TrimPrefix(parse.Error(), "toml: ")
		}
		return nil, fault.New(fault.Usage, "", "%s:%d: %s", file.Name, parse.Position.Line, reason)
	}
	if err := checkVersion(file, document["schema_version"]); err != nil {
		return nil, err
	}
	delete(document, "schema_version")
	walk := tomlWalk{file: file, from: from}
	if err := walk.table(nil, document); err != nil {
		return nil, err
	}
	return walk.entries, nil
}

// checkVersion refuses a file of a newer forge by name (config.md R-CFG-4).
func checkVersion(file File, raw any) error {
	if raw == nil {
		return nil
	}
	text, ok := scalar(raw)
	var version int64
	if _, err := fmt.Sscanf(text, "%d", &version); !ok || err != nil || fmt.Sprint(version) != text || version < 1 {
		return fault.New(fault.Usage, "", "schema_version is %s in %s, want %d", show(raw), file.Name, schemaVersion)
	}
	if version > schemaVersion {
		return fault.New(fault.Usage, "install a newer forge", "%s has schema_version %d, this forge reads up to %d", file.Name, version, schemaVersion)
	}
	return nil
}

// tomlWalk collects the entries of a TOML document.
type tomlWalk struct {
	file    File
	from    Layer
	entries []entry
	lines   map[string]int // of each path; read when first needed
}

// table visits everything below path.
func (w *tomlWalk) table(path []string, table map[string]any) error {
	for _, name := range sortedKeys(table) {
		if err := w.value(append(slices.Clip(path), name), table[name]); err != nil {
			return err
		}
	}
	return nil
}

// value visits one key or table.
func (w *tomlWalk) value(path []string, raw any) error {
	name := strings.Join(path, ".")
	if findKey(name) != nil || isLater(name) {
		place := w.place(path)
		if err := checkClass(name, w.from, place); err != nil {
			return err
		}
		if raw != "" { // an empty text means the default
			w.entries = append(w.entries, entry{key: name, raw: raw, from: w.from, place: place})
		}
		return nil
	}
	table, isTable := raw.(map[string]any)
	if isTable && slices.Contains(tables(), path[0]) && (len(path) == 1 || hasBelow(path)) {
		return w.table(path, table)
	}
	if isTable && len(path) == 1 {
		return fault.New(fault.Usage, "", "unknown table %q in %s%s", name, w.place(path), didYouMean(Nearest(name, tables())))
	}
	return fault.New(fault.Usage, "", "unknown key %q in %s%s", name, w.place(path), suggest(name))
}

// hasBelow reports whether the table at path may hold keys.
func hasBelow(path []string) bool {
	if path[0] == "models" || path[0] == "prices" {
		return len(path) == 2
	}
	prefix := strings.Join(path, ".") + "."
	return slices.ContainsFunc(allNames(), func(name string) bool { return strings.HasPrefix(name, prefix) })
}

// checkClass refuses a key of class P in a repository (config.md R-CFG-8).
func checkClass(name string, from Layer, place string) error {
	if from != FromRepository || class(name) != trustPerson {
		return nil
	}
	return fault.New(fault.Usage, "set it in your own file, ~/.config/forge/config.toml",
		"%q in %s: a repository cannot set it", name, place)
}

// place is file:line of the key or table at path. A key inside an inline table
// is found at the line of its table; without any line it is the file alone.
func (w *tomlWalk) place(path []string) string {
	if w.lines == nil {
		w.lines = tomlLines(w.file.Data)
	}
	for n := len(path); n > 0; n-- {
		if line := w.lines[pathKey(path[:n])]; line > 0 {
			return fmt.Sprintf("%s:%d", w.file.Name, line)
		}
	}
	return w.file.Name
}

// pathKey makes a path a key of a map.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// tomlLines finds the line of every key and table. The decoder does not tell,
// so this reads headers and the names before "=" line by line.
func tomlLines(data []byte) map[string]int {
	lines := map[string]int{}
	var header []string
	closing := "" // of the multi-line text we are in
	for i, text := range strings.Split(string(data), "\n") {
		text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
		if closing != "" {
			if strings.Contains(text, closing) {
				closing = ""
			}
			continue
		}
		name, value, found := strings.Cut(text, "=")
		switch {
		case strings.HasPrefix(text, "#"):
		case strings.HasPrefix(text, "[") && !found:
			header = keyPath(strings.Trim(strings.SplitN(text, "]", 2)[0], "[] \t"))
			lines[pathKey(header)] = i + 1
		case found:
			lines[pathKey(slices.Concat(header, keyPath(name)))] = i + 1
		}
		for _, quotes := range []string{`"""`, "'''"} {
			if strings.Count(value, quotes) == 1 {
				closing = quotes
			}
		}
	}
	return lines
}

// keyPath splits a dotted TOML key, quoted parts kept whole.
func keyPath(text string) []string {
	var path []string
	var part strings.Builder
	quote := rune(0)
	for _, r := range strings.TrimSpace(text) {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			part.WriteRune(r)
		case r == '"' || r == '\'':
			quote = r
		case r == '.':
			path = append(path, part.String())
			part.Reset()
		case r != ' ' && r != '\t':
			part.WriteRune(r)
		}
	}
	return append(path, part.String())
}

// jsonEntries reads a flat JSON object with seed 001's names (loop.md
// R-CONF-1). null is absent.
func jsonEntries(file File, from Layer) ([]entry, error) {
	bad := func(offset int64, format string, args ...any) error {
		line := 1 + bytes.Count(file.Data[:min(int(offset), len(file.Data))], []byte("\n"))
		return fault.New(fault.Usage, "", "%s:%d: %s", file.Name, line, fmt.Sprintf(format, args...))
	}
	byFlat := map[string]string{}
	for _, name := range allNames() {
		if flat := flatName(name); flat != "" {
			byFlat[flat] = name
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(file.Data, []byte("\ufeff"))))
	decoder.UseNumber()
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, bad(decoder.InputOffset(), "want a JSON object")
	}
	var list []entry
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		flat, ok := token.(string)
		if err != nil || !ok {
			return nil, bad(decoder.InputOffset(), "invalid JSON")
		}
		at := decoder.InputOffset()
		var raw any
		if err := decoder.Decode(&raw); err != nil {
			return nil, bad(decoder.InputOffset(), "invalid JSON: %v", err)
		}
		if seen[flat] {
			return nil, bad(at, "%q is there twice", flat)
		}
		seen[flat] = true
		if flat == "schema_version" {
			if err := checkVersion(file, raw); err != nil {
				return nil, err
			}
			continue
		}
		name, known := byFlat[flat]
		if !known {
			return nil, bad(at, "unknown key %q%s", flat, didYouMean(Nearest(flat, sortedKeys(byFlat))))
		}
		if raw != nil && raw != "" {
			line := 1 + bytes.Count(file.Data[:min(int(at), len(file.Data))], []byte("\n"))
			list = append(list, entry{key: name, raw: raw, from: from, place: fmt.Sprintf("%s:%d", file.Name, line)})
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, bad(decoder.InputOffset(), "invalid JSON: %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, bad(decoder.InputOffset(), "there is something after the JSON object")
	}
	return list, nil
}

// sortedKeys are the keys of a map in byte order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
