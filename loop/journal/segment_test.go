package journal

import (
	"fmt"
	"strings"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// R-SEG-1, R-SEG-3: a folder's segments by their numbers, four digits or more;
// other files are no segments.
func TestSegmentNames(t *testing.T) {
	names := []string{"0010.jsonl", "0002.jsonl", "10000.jsonl", "2.jsonl", "00003.jsonl", "-001.jsonl", "0001.tsv", "notes.jsonl", "0004.jsonl.bak", ".0005.jsonl"}
	if got := fmt.Sprint(HistoryLog().Segments(names)); got != "[2 10 10000]" {
		t.Errorf("Segments = %s, want [2 10 10000]", got)
	}
	for n, want := range map[int]bool{99: false, 100: true, 101: true} {
		if got := RejectedLog().Full([]byte(strings.Repeat("{}\n\n", n))); got != want {
			t.Errorf("a segment of %d records is full: %t", n, got)
		}
		if got := ExperimentLog().Full([]byte(tsvHeader + strings.Repeat("x\n", n))); got != want {
			t.Errorf("a table of %d rows is full: %t", n, got)
		}
	}
}

// R-TSV-1, R-TSV-2: the header comes first, lines end in LF, and a file with
// another first line is no log.
func TestAppend(t *testing.T) {
	tests := map[string]struct {
		log        Log
		file, want string
	}{
		"new table":         {ExperimentLog(), "", tsvHeader + "x\n"},
		"only a header":     {ExperimentLog(), tsvHeader, tsvHeader + "x\n"},
		"header without LF": {ExperimentLog(), strings.TrimSuffix(tsvHeader, "\n"), tsvHeader + "x\n"},
		"CR LF":             {ExperimentLog(), strings.TrimSuffix(tsvHeader, "\n") + "\r\n", strings.TrimSuffix(tsvHeader, "\n") + "\r\nx\n"},
		"half a header":     {ExperimentLog(), "timestamp\texperiment\n", ""},
		"another table":     {ExperimentLog(), "a\tb\n", ""},
		"blank first line":  {ExperimentLog(), "\n" + tsvHeader, ""},
		"new records":       {RejectedLog(), "", "x\n"},
		"torn last line":    {RejectedLog(), "{}\n{", "{}\n{\nx\n"},
	}
	for name, tt := range tests {
		got, err := tt.log.Append(Part{Name: "f", Data: []byte(tt.file)}, []byte("x\n"))
		if tt.want == "" && fault.KindOf(err) == fault.Usage {
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: Append = %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

// R-TSV-2, R-TSV-3 and R-OUT-4.
func TestRow(t *testing.T) {
	figure := func(text string) Experiment {
		x := Experiment{Decision: verdict.Neutral}
		before, after, _ := strings.Cut(text, " ")
		if before != "" {
			x.Before, _ = verdict.ParseNumber(before)
		}
		if after != "" {
			x.After, _ = verdict.ParseNumber(after)
		}
		return x
	}
	lower := figure("1 1")
	lower.Direction = verdict.LowerIsBetter
	unmeasured := Experiment{Decision: verdict.Deferred}
	tests := map[string]struct {
		x    Experiment
		want string // the delta; "" is a usage fault
	}{
		"zero has no minus":         {lower, "+0.0000"},
		"a tiny loss keeps its own": {figure("1 0.99999"), "-0.0000"},
		"half to even":              {figure("0 0.00005"), "+0.0000"},
		"not measured":              {unmeasured, "-"},
		"measured without figures":  {figure(""), ""},
		"one figure":                {figure("1"), ""},
		"a figure too few":          {Experiment{Decision: verdict.Skip, After: figure("1 1").After}, ""},
		"negative duration":         {Experiment{Decision: verdict.Skip, Duration: figure("-1 1").Before}, ""},
	}
	for name, tt := range tests {
		row, err := tt.x.Row()
		if tt.want == "" {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%s: %v, want a usage fault", name, err)
			}
			continue
		}
		if err != nil || row.Delta != tt.want {
			t.Errorf("%s: delta %q, %v, want %q", name, row.Delta, err, tt.want)
		}
	}
}

// Section 13: a tab, a newline, U+2028 or an escape sequence in a hypothesis
// never leaves its column.
func TestRowStaysOneLine(t *testing.T) {
	x := Experiment{Name: "a\tb", Hypothesis: "tab\there\u2028line\r\nnext\x1b[31m red\x00 \u0085end \xff", Category: " c\n", Decision: verdict.Skip}
	row, err := x.Row()
	if err != nil {
		t.Fatal(err)
	}
	line := string(row.Line())
	if strings.Count(line, "\t") != 8 || strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\x1b\x00\r\u2028\u0085") {
		t.Errorf("the line is %q", line)
	}
	if want := "tab here line next [31m red end \uFFFD"; row.Summary != want {
		t.Errorf("the summary is %q, want %q", row.Summary, want)
	}
}

// R-HIST-1: an object keeps unknown members, their order and the digits of
// their numbers.
func TestObject(t *testing.T) {
	var o Object
	const text = `{"b":1.50,"a":{"z":1e400,"y":"<&>"},"ü":"\u2028","b":2.00}`
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := o.Set("c", "<&> ü"); err != nil {
		t.Fatal(err)
	}
	got, err := jsonLine(o)
	if want := `{"b":2.00,"a":{"z":1e400,"y":"<&>"},"ü":"\u2028","c":"<&> ü"}` + "\n"; err != nil || string(got) != want {
		t.Errorf("the object is written as %s, %v, want %s", got, err, want)
	}
	line, err := o.Line()
	if want := `{"a":{"z":1e400,"y":"<&>"},"b":2.00,"c":"<&> ü","ü":"\u2028"}` + "\n"; err != nil || string(line) != want {
		t.Errorf("its line is %s, %v, want %s", line, err, want)
	}
	for _, other := range []string{"[]", "null", "1", `"{}"`} {
		if err := new(Object).UnmarshalJSON([]byte(other)); err == nil {
			t.Errorf("%s is read as an object", other)
		}
	}
}

// R-NUM-2, R-HIST-6: only a JSON number that a measurement could have is one.
func TestObjectNumber(t *testing.T) {
	tests := map[string]string{
		`0.10`: "1/10", `-2e-9`: "-1/500000000", `0`: "0", `-0`: "0", `"0.1"`: "", `null`: "", `true`: "", `[1]`: "", `1e999`: "", `1e-999`: "",
		`1e1000000`: "", `0.` + strings.Repeat("3", 100): "3" + strings.Repeat("3", 99) + "/1" + strings.Repeat("0", 100),
	}
	for text, want := range tests {
		var o Object
		if err := o.UnmarshalJSON([]byte(`{"n":` + text + `}`)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if n := o.Number("n"); n != nil {
			got = n.RatString()
		}
		if got != want {
			t.Errorf("Number(%s) = %q, want %q", text, got, want)
		}
	}
}
