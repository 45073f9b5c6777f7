package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// tree is a commit's files in memory.
type tree map[string][]byte

func (t tree) ReadFile(_ context.Context, _ gitstore.Hash, file string) ([]byte, error) {
	data, ok := t[file]
	if !ok {
		return nil, fmt.Errorf("%s: %w", file, gitstore.ErrNotFound)
	}
	return data, nil
}

func (t tree) apply(edits []gitstore.Edit) {
	for _, e := range edits {
		t[e.Path] = e.Data
	}
}

func measured(n int, word, delta string) Record {
	return Record{
		Schema: RecordSchema, Run: "r1-aaaa", Experiment: fmt.Sprintf("exp-%03d", n), CostUSD: "0",
		Hypothesis:      Hypothesis{Category: "dir:.", MutationType: "config_change", Text: "set p.cfg:1 from 1 to 2"},
		Mutation:        &Mutation{Diff: "-1\n+2\n", Changes: []Change{{Path: "p.cfg", Line: 1, From: "1", To: "2"}}, Tree: "t", BaseTree: "b"},
		BaselineReading: &StoredSide{Baseline: Baseline{Values: []json.Number{"23.29"}, Median: "23.29", NoiseFloor: "0"}, Source: "stored@start"},
		Reading:         &MeasuredSide{Values: []json.Number{"21.76"}, Median: "21.76", Source: "marker", Warnings: []string{}},
		Decision: Decision{
			Candidate: "9b1c", Baseline: "41fe", BaselineSource: "stored@start", Word: word, Ungraded: []string{}, Evidence: []Evidence{},
			Verdict: json.RawMessage(`{"decision":"` + word + `","near_miss":false,"delta":` + delta + `,"delta_exact":"` + delta + `","threshold":0.02,"threshold_exact":"1/50","binding_threshold":"improvement_threshold","formula":"-(21.76 - 23.29) -> ` + word + `","advisory":null}`),
		},
		Timing: Timing{StartedAt: "2026-09-19T21:04:13Z", DurationS: 2.5},
	}
}

// R-SEG-1: the 100th record is the last of the first segment, the 101st opens
// the next; a full segment is never written again, and what is loaded is what
// was added.
func TestSegments(t *testing.T) {
	files := tree{}
	j := New(Run{Schema: RunSchema, Run: "r1-aaaa", Metric: Metric{Direction: "lower_is_better"}})
	encoded, err := j.Config.Encode()
	if err != nil {
		t.Fatal(err)
	}
	files[ConfigPath("r1-aaaa")] = encoded
	var first []byte
	for n := 1; n <= 101; n++ {
		next, edits, err := j.Add(measured(n, "NEUTRAL", "0"), "tip")
		if err != nil {
			t.Fatal(err)
		}
		files.apply(edits)
		j = next
		if n == 100 {
			first = files[".forge/runs/r1-aaaa/history/0000.jsonl"]
		}
		if n == 101 {
			for _, e := range edits {
				if strings.Contains(e.Path, "/0000.") {
					t.Errorf("record 101 writes %s again", e.Path)
				}
			}
		}
	}
	if got := files[".forge/runs/r1-aaaa/history/0000.jsonl"]; string(got) != string(first) {
		t.Error("the full segment changed")
	}
	if _, ok := files[".forge/runs/r1-aaaa/experiments/01/exp-101/record.json"]; !ok {
		t.Errorf("no record of exp-101 in its folder of a hundred (R-SEG-2)")
	}
	loaded, err := Load(t.Context(), files, "tip", "r1-aaaa")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Lines) != 101 || loaded.history.records != 101 || loaded.rejected.records != 101 || loaded.log.records != 101 {
		t.Errorf("loaded %d lines, %d %d %d records, want 101", len(loaded.Lines), loaded.history.records, loaded.rejected.records, loaded.log.records)
	}
	again, edits, err := loaded.Add(measured(102, "KEEP", "1.53"), "tip")
	if err != nil {
		t.Fatal(err)
	}
	want, wantEdits, err := j.Add(measured(102, "KEEP", "1.53"), "tip")
	if err != nil || again.rejected.records != 101 || want.log.records != again.log.records {
		t.Fatalf("after loading: %v, %d rejected", err, again.rejected.records)
	}
	for i := range edits {
		if edits[i].Path != wantEdits[i].Path || string(edits[i].Data) != string(wantEdits[i].Data) {
			t.Errorf("a loaded journal writes another %s", edits[i].Path)
		}
	}
	table, err := TSV(t.Context(), files, "tip", "r1-aaaa")
	if err != nil || strings.Count(string(table), "\n") != 102 || strings.Count(string(table), "timestamp") != 1 {
		t.Errorf("TSV: %v, %d lines, want 102 with one header (R-SEG-4)", err, strings.Count(string(table), "\n"))
	}
}

// R-TSV-2, R-TSV-3: nine columns, text folded and cut, numbers only where
// something was measured.
func TestTSVLine(t *testing.T) {
	kept := measured(1, "KEEP", "1.53")
	kept.Hypothesis.Text = "a\ttab and\na newline " + strings.Repeat("x", 100)
	skipped := Record{Run: "r", Experiment: "exp-002", Decision: Decision{Word: "SKIP", Reason: "proposer_failed"}, Timing: Timing{StartedAt: "2026-09-19T21:04:13Z"}}
	tests := map[string]struct {
		record Record
		want   string
	}{
		"measured": {kept, "2026-09-19T21:04:13Z\texp-001\ta tab and a newline " + strings.Repeat("x", 60) + "\t23.2900\t21.7600\t+1.5300\tKEEP\tdir:.\t2\n"},
		"skipped":  {skipped, "2026-09-19T21:04:13Z\texp-002\t\t-\t-\t-\tSKIP\t\t0\n"},
	}
	for name, tt := range tests {
		row, err := rowOf(tt.record, "lower_is_better")
		if got := string(row.Line()); err != nil || got != tt.want {
			t.Errorf("%s: rowOf = %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

// R-REC-2: what is read back is what was written, for measured outcomes and
// for the others.
func TestRecordRoundTrip(t *testing.T) {
	invalid := Record{
		Schema: RecordSchema, Run: "r", Experiment: "exp-001", CostUSD: "0", Guard: &Guard{Name: "scope", Message: "m", Paths: []string{"x"}},
		Decision: Decision{Baseline: "41fe", Word: "INVALID", Reason: "scope: m", Crash: true, Ungraded: []string{}, Evidence: []Evidence{{Path: "a", SHA256: "b"}}},
	}
	for name, r := range map[string]Record{"kept": measured(1, "KEEP", "1.53"), "refused": invalid} {
		data, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRecord(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Encode()
		if name == "kept" {
			facts, ok := back.Decision.Facts()
			if !ok || facts.DeltaExact != "1.53" || back.Decision.Word != "KEEP" || back.Decision.Candidate != "9b1c" {
				t.Errorf("%s: read back %+v, %v", name, facts, back.Decision)
			}
		}
		if err != nil || string(again) != string(data) {
			t.Errorf("%s: %v\n%s\nbecame\n%s", name, err, data, again)
		}
	}
}

// A newer schema is refused by name (STYLE section 6, pitfall 8).
func TestNewerSchema(t *testing.T) {
	for name, decode := range map[string]func() error{
		"run":    func() error { _, err := DecodeRun([]byte(`{"schema":"forge.run/2"}`)); return err },
		"record": func() error { _, err := DecodeRecord([]byte(`{"schema":"forge.record/9"}`)); return err },
	} {
		err := decode()
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "newer than this forge") {
			t.Errorf("%s: %v, want a usage fault that names the schema", name, err)
		}
	}
}

// Every path of a run lies below its own folder.
func TestPaths(t *testing.T) {
	files := tree{}
	_, edits, err := New(Run{Run: "r1-aaaa"}).Add(measured(1, "REVERT", "-1"), "tip")
	if err != nil {
		t.Fatal(err)
	}
	files.apply(edits)
	for name := range maps.Keys(files) {
		if !strings.HasPrefix(name, Dir("r1-aaaa")+"/") || path.Clean(name) != name {
			t.Errorf("%s lies outside the run's folder", name)
		}
	}
	if len(files) != 4 {
		t.Errorf("a REVERT writes %d files, want record, log, history and rejected", len(files))
	}
}

// Reading never panics, and what it accepts it can write.
func FuzzDecodeRecord(f *testing.F) {
	data, err := measured(1, "KEEP", "1.53").Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":"forge.record/1","decision":{"decision":"SKIP","reason":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeRecord(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(lineOf(Record{Run: r.Run, Decision: Decision{Word: r.Decision.Word}}, "p")); err != nil {
			t.Errorf("a line of a record that was read has no form: %v", err)
		}
	})
}
