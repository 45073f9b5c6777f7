// Package vectors reads expected results for tests: the committed files under
// testdata and those of a further folder, which FORGE_VECTORS names.
// Nothing but tests imports it.
//
// Source: loop.md section 14; statistics.md section 14.
package vectors

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"forge/gitstore/fault"
)

// tolerance is how far two numbers may lie apart (loop.md section 14).
const tolerance = 1e-9

// Read decodes, of the committed file of that name and of the one in folder
// (if that is not ""), those vectors whose cmd, kind or op is one of the given ones, numbers as
// text. A file without any fails the test.
func Read[V any](t *testing.T, folder, name string, cmds ...string) []V {
	t.Helper()
	list := readFile[V](t, filepath.Join("testdata", name), cmds)
	if folder != "" {
		list = append(list, readFile[V](t, filepath.Join(folder, name), cmds)...)
	}
	return list
}

func readFile[V any](t *testing.T, path string, cmds []string) []V {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("decode %s: %v", path, err)
	}
	var list []V
	for _, raw := range file.Vectors {
		var one struct{ Cmd, Kind, Op string }
		if err := json.Unmarshal(raw, &one); err != nil {
			t.Fatalf("decode %s: %v", raw, err)
		}
		if !slices.Contains(cmds, one.Cmd+one.Kind+one.Op) {
			continue
		}
		var v V
		if err := decode(raw, &v); err != nil {
			t.Fatalf("decode %s: %v", raw, err)
		}
		list = append(list, v)
	}
	if len(list) == 0 {
		t.Fatalf("%s holds no vector of %q", path, cmds)
	}
	return list
}

func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// Check compares an outcome with a vector's exit code and, when there is no
// error, the document with the keys that the vector names.
func Check(t *testing.T, document any, err error, exit int, expect map[string]any) {
	t.Helper()
	if got := int(fault.KindOf(err)); got != exit {
		t.Fatalf("exit = %d (%v), want %d", got, err, exit)
	}
	if err == nil {
		CheckDocument(t, document, expect)
	}
}

// CheckDocument compares what document encodes to with the keys of expect.
func CheckDocument(t *testing.T, document any, expect map[string]any) {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := decode(data, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range expect {
		if value, there := got[key]; !there || !same(value, want) {
			t.Errorf("%s = %v, want %v in %s", key, value, want, data)
		}
	}
}

// same compares decoded JSON: numbers within the tolerance, everything else
// exactly.
func same(got, want any) bool {
	switch want := want.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		if !ok {
			return false
		}
		x, errX := g.Float64()
		y, errY := want.Float64()
		return errX == nil && errY == nil && math.Abs(x-y) <= tolerance
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, want, same)
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for k := range want {
			if value, there := g[k]; !there || !same(value, want[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

// Text returns a flag's or configuration's value as text, "" for null.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	panic("a vector holds a value of another type")
}

// Flag gives the flag's value, else the configuration's (DECISIONS V7).
func Flag(args, config map[string]any, flag, key string) string {
	if value, ok := args[flag]; ok {
		return Text(value)
	}
	return Text(config[key])
}
