package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// Object is a JSON object that keeps what it does not know: members stay in
// their order and with their bytes, so that a record written by another
// version, or by a person, survives being read and written (R-HIST-1). Of two
// members of one name the last counts.
type Object struct{ members []member }

type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("no JSON object")

// UnmarshalJSON reads an object; anything else is an error.
func (o *Object) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errNoObject
	}
	o.members = nil
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		o.put(key.(string), value) // in an object every other token is a key
	}
	return nil
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := jsonLine(m.key)
		if err != nil {
			return nil, err
		}
		out.Write(bytes.TrimSpace(key))
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (o *Object) put(key string, value json.RawMessage) {
	for i := range o.members {
		if o.members[i].key == key {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, member{key, value})
}

// Set gives a member a value, in its place or at the end. The error is that of
// a value without a form in JSON.
func (o *Object) Set(key string, value any) error {
	data, err := jsonLine(value)
	if err != nil {
		return err
	}
	o.put(key, bytes.TrimSpace(data))
	return nil
}

// Keys are the names of the members in their order.
func (o Object) Keys() []string {
	keys := make([]string, len(o.members))
	for i, m := range o.members {
		keys[i] = m.key
	}
	return keys
}

// Get is a member's value as it was written; null stands for one that is
// missing.
func (o Object) Get(key string) json.RawMessage {
	for _, m := range o.members {
		if m.key == key {
			return m.value
		}
	}
	return json.RawMessage("null")
}

// Text is a member that is a string, and "" for any other.
func (o Object) Text(key string) string {
	var text string
	if json.Unmarshal(o.Get(key), &text) != nil {
		return ""
	}
	return text
}

// True says whether a member is true.
func (o Object) True(key string) bool { return string(o.Get(key)) == "true" }

// Number is a member that is a JSON number, exactly; nil for any other, and
// for one that no measurement has (1e999).
func (o Object) Number(key string) *big.Rat {
	text := string(o.Get(key))
	if strings.HasPrefix(text, `"`) {
		return nil
	}
	r, err := ParseFigure(text)
	if err != nil {
		return nil
	}
	return r
}

// ParseFigure reads a figure that forge or a person wrote down: a number of
// R-NUM-1 of any length or a ratio of two, in the range of R-NUM-2. The error
// is a usage fault.
func ParseFigure(text string) (*big.Rat, error) {
	r, err := verdict.ParseExact(text)
	if err != nil {
		return nil, err
	}
	if f, _ := r.Float64(); math.IsInf(f, 0) || f == 0 && r.Sign() != 0 {
		return nil, fault.New(fault.Usage, "", "number %q is out of range: 1e-308 .. 1.797e308", Cut(text, 64))
	}
	return r, nil
}

// sorted is the object with its members in the order of their names, as the
// lines of a log are stored.
func (o Object) sorted() Object {
	members := slices.Clone(o.members)
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return Object{members}
}

// Line is the object as one line of a log, members sorted.
func (o Object) Line() ([]byte, error) { return jsonLine(o.sorted()) }
