package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

func part(name, data string) journal.Part { return journal.Part{Name: name, Data: []byte(data)} }

func read(t *testing.T, parts ...journal.Part) History {
	t.Helper()
	h, err := Read(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// R-FILE-0, R-HIST-2: lines end at LF alone, CR is white space, and every form
// is written back as it was found.
func TestReadForms(t *testing.T) {
	tests := map[string]struct {
		parts   []journal.Part
		records int
		want    string
	}{
		"lines":          {[]journal.Part{part("h.jsonl", "{\"id\":\"a\u2028b\"}\r\n\n{\"id\": 1.50}")}, 2, "{\"id\":\"a\u2028b\"}\n{\"id\":1.50}\n"},
		"segments":       {[]journal.Part{part("0000.jsonl", `{"id":"a"}`), part("0001.jsonl", `{"id":"b"}`)}, 2, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n"},
		"document":       {[]journal.Part{part("history.json", `{"x": 1, "experiments": [{"id": "a"}]}`)}, 1, "{\n  \"x\": 1,\n  \"experiments\": [\n    {\n      \"id\": \"a\"\n    }\n  ]\n}\n"},
		"document by -":  {[]journal.Part{part("-", `{"experiments": [{"id": "a"}]}`)}, 1, "{\n  \"experiments\": [\n    {\n      \"id\": \"a\"\n    }\n  ]\n}\n"},
		"empty document": {[]journal.Part{part("history.json", " \n")}, 0, ""},
		"one line":       {[]journal.Part{part("h.jsonl", `{"id":"a"}`)}, 1, "{\"id\":\"a\"}\n"},
		"nothing":        {nil, 0, ""},
	}
	for name, tt := range tests {
		h, err := Read(tt.parts...)
		if err != nil || len(h.Records) != tt.records {
			t.Errorf("%s: %d records, %v, want %d", name, len(h.Records), err, tt.records)
			continue
		}
		if got, err := h.Encode(); err != nil || string(got) != tt.want {
			t.Errorf("%s: written as %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

// What is malformed is named by file and line.
func TestReadMalformed(t *testing.T) {
	tests := map[string]struct {
		part journal.Part
		want string
	}{
		"half a record": {part("h.jsonl", "{}\n\n{\"id\":"), "h.jsonl:3: malformed JSON: unexpected end of JSON input"},
		"a list":        {part("h.jsonl", "{}\n[]"), "h.jsonl:2: no JSON object"},
		"a document":    {part("a/history.json", "{\n\n,}"), "a/history.json:3: malformed JSON: invalid character ',' looking for beginning of object key string"},
		"no list":       {part("history.json", `{"experiments": {}}`), "history.json: the experiments are no list of JSON objects"},
		"odd list":      {part("history.json", `{"experiments": [1]}`), "history.json: the experiments are no list of JSON objects"},
	}
	for name, tt := range tests {
		_, err := Read(tt.part)
		if fault.KindOf(err) != fault.Usage || err.Error() != tt.want {
			t.Errorf("%s: %v, want a usage fault %q", name, err, tt.want)
		}
	}
}

// R-HIST-3: the archive gets each content once, also without an id, whatever
// the order of its members; reduced records stay as they are; a kill between
// archive and history costs nothing.
func TestCompact(t *testing.T) {
	h := read(t, part("h", `{"decision":"KEEP","delta":0.1}
{"id":"e2","_compacted":true,"mine":1}
{"delta":0.1,"decision":"KEEP"}
{"id":"e4","delta":0.10000000000000000001}
{"id":"e5"}`))
	archive := part("archive", `{"id":"e0"}`)
	c, err := h.Compact(1, archive)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"e0"}` + "\n" + `{"decision":"KEEP","delta":0.1}` + "\n" + `{"delta":0.10000000000000000001,"id":"e4"}` + "\n"
	if string(c.Archive) != want || c.Archived != 2 || c.Compacted != 4 || c.Full != 1 || !c.Changed(h) {
		t.Errorf("compacted %d, full %d, archived %d: %s", c.Compacted, c.Full, c.Archived, c.Archive)
	}
	if got, err := c.History.Records[1].Line(); err != nil || string(got) != `{"_compacted":true,"id":"e2","mine":1}`+"\n" {
		t.Errorf("a reduced record became %s, %v", got, err)
	}
	killed, err := h.Compact(1, journal.Part{Name: "archive", Data: c.Archive})
	if err != nil || killed.Archived != 0 || killed.Archive != nil || !killed.Changed(h) {
		t.Errorf("after a kill: archived %d, %v", killed.Archived, err)
	}
	again, err := c.History.Compact(1, journal.Part{Name: "archive", Data: c.Archive})
	if err != nil || again.Archived != 0 || again.Changed(c.History) {
		t.Errorf("a second call archives %d, %v", again.Archived, err)
	}
	if _, err := h.Compact(1, part("archive", "{}\nx")); fault.KindOf(err) != fault.Usage || !strings.HasPrefix(err.Error(), "archive:2: ") {
		t.Errorf("a malformed archive: %v", err)
	}
}

// R-HIST-5, R-HIST-6: measured outcomes only, missing is null, the first
// maximum, the last KEEP, and a person's word over the verdict's (V17).
func TestViews(t *testing.T) {
	tests := map[string]struct {
		lines     string
		direction verdict.Direction
		want      string // best_delta best_experiment current_best best_score
	}{
		"nothing measured":     {`{"id":"a","decision":"INVALID","delta":9}`, verdict.HigherIsBetter, "null null null null"},
		"missing delta":        {`{"id":"a","decision":"KEEP","composite_score":0.5}`, verdict.HigherIsBetter, `null null "a" 0.5`},
		"zero is a delta":      {`{"id":"a","decision":"NEUTRAL","delta":0}`, verdict.LowerIsBetter, `0 "a" null null`},
		"first maximum":        {"{\"id\":\"a\",\"decision\":\"NEUTRAL\",\"delta\":\"+0.1\"}\n{\"id\":\"b\",\"decision\":\"REVERT\",\"delta\":0.10}", verdict.HigherIsBetter, `0.1 "a" null null`},
		"lower is better":      {"{\"id\":\"a\",\"decision\":\"NEUTRAL\",\"delta\":3}\n{\"id\":\"b\",\"decision\":\"KEEP\",\"delta\":-2}", verdict.LowerIsBetter, `2 "b" "b" null`},
		"turned by forge":      {"{\"id\":\"a\",\"decision\":\"KEEP\",\"delta\":3,\"delta_exact\":\"3\"}\n{\"id\":\"b\",\"decision\":\"KEEP\",\"delta\":-2}", verdict.LowerIsBetter, `3 "a" "b" null`},
		"compared exactly":     {"{\"id\":\"a\",\"decision\":\"KEEP\",\"delta\":0.333333,\"delta_exact\":\"333333/1000000\"}\n{\"id\":\"b\",\"decision\":\"REVERT\",\"delta\":0.333333,\"delta_exact\":\"1/3\"}", verdict.HigherIsBetter, `0.333333 "b" "a" null`},
		"last keep":            {"{\"id\":\"a\",\"decision\":\"KEEP\",\"composite_score\":0.9}\n{\"id\":\"b\",\"decision\":\"KEEP\",\"composite_score\":0.8}\n{\"id\":\"c\",\"decision\":\"REVERT\",\"composite_score\":1}", verdict.HigherIsBetter, `null null "b" 0.8`},
		"kept by a person":     {"{\"id\":\"a\",\"decision\":\"KEEP\"}\n{\"id\":\"b\",\"decision\":\"NEUTRAL\",\"override\":{\"keep\":true}}", verdict.HigherIsBetter, `null null "b" null`},
		"rejected by a person": {"{\"id\":\"a\",\"decision\":\"KEEP\"}\n{\"id\":\"b\",\"decision\":\"KEEP\",\"override\":{\"keep\":false}}", verdict.HigherIsBetter, `null null "a" null`},
	}
	for name, tt := range tests {
		h := read(t, part("h", tt.lines))
		agent, err := h.ForAgent(5, tt.direction)
		if err != nil {
			t.Fatal(err)
		}
		groups, err := h.ByCategory(tt.direction)
		if err != nil {
			t.Fatal(err)
		}
		var unknown journal.Object
		if err := unknown.UnmarshalJSON(groups.Get("unknown")); err != nil {
			t.Fatal(err)
		}
		var stats journal.Object
		if err := stats.Set("s", agent.Stats); err != nil {
			t.Fatal(err)
		}
		if err := stats.UnmarshalJSON(stats.Get("s")); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %s %s %s", unknown.Get("best_delta"), unknown.Get("best_experiment"), stats.Get("current_best"), stats.Get("best_score"))
		if got != tt.want || string(stats.Get("best_delta")) != string(unknown.Get("best_delta")) {
			t.Errorf("%s: %s (best_delta %s), want %s", name, got, stats.Get("best_delta"), tt.want)
		}
	}
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		t.Fatal(errX, errY)
	}
	return string(x) == string(y)
}

// R-SEG-3, section 13: ten thousand records, as one file and as segments, give
// the same views; keep 0 shows none in full.
func TestManyRecords(t *testing.T) {
	var all strings.Builder
	var segments []journal.Part
	for i := range 100 {
		var one strings.Builder
		for n := range 100 {
			fmt.Fprintf(&one, `{"id":"exp-%03d","category":"c%d","decision":"NEUTRAL","delta":0.0%d}`+"\n", i*100+n+1, n%3, n)
		}
		all.WriteString(one.String())
		segments = append(segments, part(journal.HistoryLog().SegmentName(i), one.String()))
	}
	file, folder := read(t, part("h", all.String())), read(t, segments...)
	for _, keep := range []int{0, 5} {
		a, errA := file.ForAgent(keep, verdict.HigherIsBetter)
		b, errB := folder.ForAgent(keep, verdict.HigherIsBetter)
		if errA != nil || errB != nil || !sameJSON(t, a, b) || len(a.Detailed) != keep || len(a.Summary) != 10_000-keep {
			t.Errorf("keep %d: %d in full, %d in brief, %v, %v", keep, len(a.Detailed), len(a.Summary), errA, errB)
		}
	}
	groups, err := folder.ByCategory(verdict.HigherIsBetter)
	if err != nil || !slices.Equal(groups.Keys(), []string{"c0", "c1", "c2"}) {
		t.Errorf("the categories are %v, %v", groups.Keys(), err)
	}
}

// What is read can be written, and is read again as the same; no view panics.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"id\":\"e1\",\"decision\":\"KEEP\",\"delta\":\"+0.1\"}\n{\"_compacted\":true}\n"))
	f.Add([]byte(`{"experiments":[{"id":"e1","delta":1e999}],"x":{"y":[1.50]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(journal.Part{Name: "-", Data: data})
		if err != nil {
			return
		}
		written, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Read(journal.Part{Name: "-", Data: written})
		if err != nil {
			t.Fatalf("%q is not read back: %v", written, err)
		}
		if again, err := back.Encode(); err != nil || string(again) != string(written) {
			t.Errorf("%q is written again as %q, %v", written, again, err)
		}
		if _, err := h.ForAgent(1, verdict.LowerIsBetter); err != nil {
			t.Error(err)
		}
		if _, err := h.ByCategory(verdict.HigherIsBetter); err != nil {
			t.Error(err)
		}
		c, err := h.Compact(1, journal.Part{Name: "archive"})
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.History.Compact(1, journal.Part{Name: "archive", Data: c.Archive})
		if err != nil || again.Archived != 0 || again.Changed(c.History) {
			t.Errorf("compacting twice archives %d more, %v", again.Archived, err)
		}
	})
}
