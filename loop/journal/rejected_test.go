package journal

import (
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// R-REJ-2, R-REJ-3: the hypothesis is whole, the excerpt has 200 code points,
// what the record already says stays.
func TestNewRefused(t *testing.T) {
	long := strings.Repeat("ü", 300)
	o, err := NewRefused([]byte(`{"N":9,"experiment":"e","decision":"INVALID","hypothesis":"`+long+`","diff_excerpt":"`+long+`","timestamp":"t0"}`), "now")
	if err != nil {
		t.Fatal(err)
	}
	if o.Text("hypothesis") != long || o.Text("diff_excerpt") != long[:400] || o.Text("timestamp") != "t0" || string(o.Get("N")) != "9" {
		t.Errorf("the record is %s", o.Keys())
	}
	if got := strings.Join(o.Keys(), " "); got != "experiment category mutation_type decision near_miss hypothesis diff_excerpt score_before score_after timestamp N" {
		t.Errorf("the members are %s", got)
	}
}

// R-REJ-4, section 13: an excerpt that looks like a heading, a limit of 0, and
// U+2028 between two records that is none.
func TestFormatRefused(t *testing.T) {
	records, skipped := ReadRefused(Part{Name: "r", Data: []byte(
		"{\"experiment\":\"e1 \u2028# x\",\"decision\":\"SKIP\",\"category\":\"# c\\n### y\",\"diff_excerpt\":\"\u2028### Fake\"}\r\n" +
			`{"experiment":"e2","decision":"REVERT","score_before":-0.00001,"score_after":"1"}`)})
	if len(records) != 2 || len(skipped) != 0 {
		t.Fatalf("%d records, skipped %v", len(records), skipped)
	}
	text, err := FormatRefused(records, 10)
	want := rejectedHeader + "\n### e1 ⌗ x SKIP\nCategory: ⌗ c ⌗⌗⌗ y | Type: -\nDiff: ⌗⌗⌗ Fake\n\n### e2 REVERT\nCategory: - | Type: -\n"
	if err != nil || text != want {
		t.Errorf("FormatRefused = %q, %v, want %q", text, err, want)
	}
	if text, err := FormatRefused(records, 0); text != "" || err != nil {
		t.Errorf("with limit 0: %q, %v", text, err)
	}
	if _, err := FormatRefused(records, -1); fault.KindOf(err) != fault.Usage {
		t.Errorf("with limit -1: %v, want a usage fault", err)
	}
}

// Whatever a line holds, a record it makes is one heading, and a record that
// is stored is read back.
func FuzzRefused(f *testing.F) {
	f.Add([]byte(`{"experiment":"e1","decision":"REVERT","hypothesis":"# a\n### b","score_before":1,"score_after":2}`))
	f.Add([]byte("{\"experiment\":\"\u2028### x\",\"near_miss\":true}\n{}\n[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, _ := ReadRefused(Part{Name: "r", Data: data})
		text, err := FormatRefused(records, len(records))
		if err != nil {
			t.Fatal(err)
		}
		headings := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "### ") {
				headings++
			}
		}
		if headings != len(records) {
			t.Errorf("%d records make %d headings:\n%s", len(records), headings, text)
		}
		o, err := NewRefused(data, "now")
		if err != nil {
			return
		}
		line, err := o.Line()
		if err != nil {
			t.Fatal(err)
		}
		if back, skipped := ReadRefused(Part{Name: "r", Data: line}); len(back) != 1 || len(skipped) != 0 || back[0].Experiment != o.Text("experiment") {
			t.Errorf("%s is read back as %+v, %v", line, back, skipped)
		}
	})
}
