package gitstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// statePath is the curator's state, one per repository (curator.md
// RC-STATE-1).
const statePath = ".forge/curator/state.json"

// MergeState merges two states of the curator key by key, whatever lines git
// would see: a key that one side changed takes that side. At the top level
// first_seen_at_iso is the earlier, other times are the later one, disabled is
// true if a side says so, and lists are sets. Of the maps at the top level the
// same holds for each entry.
//
// conflicts names, as "skills/skills/x", what both sides changed differently;
// the result has ours there. The text is the canonical one: sorted, an entry
// on each line. What is no JSON object is an error.
//
// Source: curator.md RC-STATE-3, RC-STATE-10; DECISIONS C25.
func MergeState(three Sides) (merged []byte, conflicts []string, err error) {
	var states [3]map[string]any
	for i, text := range [][]byte{three.Base, three.Ours, three.Theirs} {
		if i == 0 && text == nil {
			continue
		}
		if states[i], err = decodeObject(text); err != nil {
			return nil, nil, fmt.Errorf("merge %s: %w", statePath, err)
		}
	}
	result := map[string]any{}
	for _, key := range allKeys(states[:]...) {
		value, clashes := mergeTop(key, pick(states[0], key), pick(states[1], key), pick(states[2], key))
		for _, clash := range clashes {
			conflicts = append(conflicts, strings.TrimSuffix(key+"/"+clash, "/"))
		}
		if value.there {
			result[key] = value.value
		}
	}
	merged, err = encodeState(result)
	return merged, conflicts, err
}

// held is the value of a key, or none.
type held struct {
	there bool
	value any
	text  string // compact, for comparison
}

func pick(object map[string]any, key string) held {
	value, there := object[key]
	if !there {
		return held{}
	}
	return held{true, value, compact(value)}
}

func (h held) equal(other held) bool { return h.there == other.there && h.text == other.text }

// either returns the side that alone changed a value, or the value both have.
func either(base, ours, theirs held) (held, bool) {
	switch {
	case theirs.equal(base), ours.equal(theirs):
		return ours, true
	case ours.equal(base):
		return theirs, true
	}
	return ours, false
}

// mergeTop merges one key of the top level. clashes are the entries below it
// that both sides changed, "" for the key itself.
func mergeTop(key string, base, ours, theirs held) (result held, clashes []string) {
	if result, decided := either(base, ours, theirs); decided {
		return result, nil
	}
	mine, isObject := ours.value.(map[string]any)
	other, bothObjects := theirs.value.(map[string]any)
	if isObject && bothObjects {
		before, _ := base.value.(map[string]any)
		entries := map[string]any{}
		for _, name := range allKeys(before, mine, other) {
			entry, decided := either(pick(before, name), pick(mine, name), pick(other, name))
			if !decided {
				clashes = append(clashes, name)
			}
			if entry.there {
				entries[name] = entry.value
			}
		}
		return held{there: true, value: entries}, clashes
	}
	if list, ok := mergeSets(base, ours, theirs); ok {
		return held{there: true, value: list}, nil
	}
	if result, ok := mergeScalar(key, ours, theirs); ok {
		return result, nil
	}
	return ours, []string{""}
}

// mergeScalar merges what two sides may set without a quarrel.
func mergeScalar(key string, ours, theirs held) (held, bool) {
	if key == "disabled" {
		if theirs.value == true {
			return theirs, true
		}
		return ours, true
	}
	mine, isText := ours.value.(string)
	other, bothText := theirs.value.(string)
	if !strings.HasSuffix(key, "_at_iso") || !isText || !bothText {
		return held{}, false
	}
	if earlier := key == "first_seen_at_iso"; earlier == (other < mine) {
		return theirs, true
	}
	return ours, true
}

// mergeSets merges two lists as sets against that of the base: nothing a side
// added is lost, nothing a side removed stays. The result is sorted by text.
func mergeSets(base, ours, theirs held) ([]any, bool) {
	mine, isList := ours.value.([]any)
	other, bothLists := theirs.value.([]any)
	if !isList || !bothLists {
		return nil, false
	}
	before, _ := base.value.([]any)
	count, values := map[string]int{}, map[string]any{}
	for bit, list := range [][]any{before, mine, other} {
		for _, value := range list {
			text := compact(value)
			count[text] |= 1 << bit
			values[text] = value
		}
	}
	result := []any{}
	for _, text := range slices.Sorted(maps.Keys(values)) {
		switch in := count[text]; in {
		case 0b001, 0b011, 0b101: // a side removed it
		default:
			result = append(result, values[text])
		}
	}
	return result, true
}

// allKeys returns the keys of all objects, sorted, each once.
func allKeys(objects ...map[string]any) []string {
	keys := map[string]bool{}
	for _, object := range objects {
		for key := range object {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// decodeObject reads one JSON object, numbers as they are written.
func decodeObject(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("null is no object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return object, nil
}

// compact is a JSON value on one line, keys sorted, no HTML escaping.
func compact(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "" // what was decoded can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// encodeState is the canonical text of a state: top-level keys sorted, each on
// a line, and each entry of a map or list on a line of its own
// (curator.md RC-STATE-3).
func encodeState(state map[string]any) ([]byte, error) {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(state)) {
		var entries []string
		open, end := "", ""
		switch value := state[key].(type) {
		case map[string]any:
			open, end = "{", "}"
			for _, name := range slices.Sorted(maps.Keys(value)) {
				entries = append(entries, "    "+compact(name)+": "+compact(value[name]))
			}
		case []any:
			open, end = "[", "]"
			for _, element := range value {
				entries = append(entries, "    "+compact(element))
			}
			slices.Sort(entries)
		default:
			open = compact(value)
		}
		body := ""
		if len(entries) > 0 {
			body = "\n" + strings.Join(entries, ",\n") + "\n  "
		}
		lines = append(lines, "  "+compact(key)+": "+open+body+end)
	}
	if len(lines) == 0 {
		return []byte("{}\n"), nil
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n"), nil
}
