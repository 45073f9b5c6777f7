package metric

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func number(t testing.TB, text string) *big.Rat {
	t.Helper()
	r, err := verdict.ParseNumber(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRead covers the grammar beyond the vectors; the field cases M01, M03,
// M04 and M07 are among them.
func TestRead(t *testing.T) {
	tests := map[string]struct {
		output, name string
		want         string // value name source [warnings], or the class of the error
	}{
		"M01 scientific":            {"Score=-7.539458549707136e-05\nMETRIC score=-7.539458549707136e-05\nMETRIC big=4.2E8\n", "score", "-0.00007539458549707136 score marker []"},
		"M01 big":                   {"METRIC score=1\nMETRIC big=4.2E8\n", "big", "420000000 big marker []"},
		"M03 no number":             {"METRIC score=\nMETRIC latency=0\n", "latency", "grammar line 1"},
		"M04 NaN":                   {"METRIC score=NaN\nMETRIC c=-0\n", "c", "grammar line 1"},
		"M04 minus zero":            {"METRIC c=-0\nchange: NaN%\n", "c", "0 c marker []"},
		"M07 several values":        {"usage: print \"METRIC score=<n>\"\nMETRIC score=0.10\n  METRIC score=0.99\nMETRIC score=0.42\n", "score", "values line 3"},
		"several names":             {"METRIC a=1\nMETRIC b=2", "", "2 b marker [several_names]"}, // R-METRIC-4
		"last of several":           {"METRIC a=1\nMETRIC b=2\nMETRIC a=1", "", "1 a marker [several_names]"},
		"name not there":            {"METRIC a=1\n7", "b", "number"},
		"broken marker, other name": {"METRIC a=1\nMETRIC b=fast", "a", "grammar line 2"}, // R-METRIC-3
		"lines of every kind":       {"a\rb\r\nc\nMETRIC", "", "grammar line 4"},
		"marker with tabs":          {"\tMETRIC\tx\t=\t5\t", "", "5 x marker []"},
		"form feed is no blank":     {"METRIC x=5\f", "", "grammar line 1"},
		"non-ASCII after METRIC":    {"METRICé 5", "", "grammar line 1"},
		"lower case":                {"metric x=5", "", "5  only_number []"},
		"65 digits":                 {"METRIC x=" + strings.Repeat("1", 65), "", "grammar line 1"},
		"invalid UTF-8":             {"\xff\xfe METRIC\nMETRIC x=5\n\xc3", "", "5 x marker []"}, // R-METRIC-7

		"colour":                {"\x1b[1;32mMETRIC\x1b[0m x=5", "", "5 x marker []"}, // R-METRIC-1
		"title, BEL":            {"\x1b]0;METRIC x=9\aMETRIC x=5", "", "5 x marker []"},
		"title, ST":             {"\x1b]0;1 2 3\x1b\\METRIC x=5", "", "5 x marker []"},
		"title without an end":  {"\x1b]0;METRIC x=9 \nMETRIC x=5", "", "5 x marker []"},
		"title to a CR":         {"\x1b]0;9\rMETRIC x=5", "", "5 x marker []"},
		"escape in a title":     {"\x1b]0;\x1b[1m\aMETRIC x=5", "", "5 x marker []"},
		"charset":               {"\x1b(BMETRIC x=5", "", "5 x marker []"},
		"escape at the end":     {"METRIC x=5\n\x1b", "", "5 x marker []"},
		"escape inside a value": {"METRIC x=5\x1b[0K0", "", "50 x marker []"},

		"unit":                  {"took 12.5ms", "", "12.5  only_number []"}, // R-METRIC-5
		"exponent and unit":     {"1e5ms", "", "100000  only_number []"},
		"micro sign":            {"took 12µs", "", "12  only_number []"},
		"full stops":            {"91...", "", "91  only_number []"},
		"comma in front":        {",5.", "", "5  only_number []"},
		"version is text":       {"v1.2.3 took 5", "", "5  only_number []"},
		"words with digits":     {"utf8 exp-001 _4 is 5", "", "5  only_number []"},
		"error in line":         {"Error in line 42", "", "42  only_number []"},
		"URL with a port":       {"see http://localhost:8080 for more", "", "8080  only_number []"},
		"blank lines at end":    {"1\n2\n \t\n\n", "", "2  last_number [unmarked_last_number]"},
		"two on one line":       {"1 2", "", "2  last_number [unmarked_last_number]"},
		"inf before":            {"inf\n3", "", "3  last_number [unmarked_last_number]"},
		"last line without":     {"1 2\nend", "", "number"},
		"only one, not last":    {"score 5\nend", "", "5  only_number []"},
		"percent apart":         {"97 %", "", "number"},
		"percent after a stop":  {"97.%", "", "number"},
		"nan alone":             {"-NaN", "", "number"},
		"infinity as a word":    {"to infinity and beyond 5", "", "5  last_number [unmarked_last_number]"},
		"date":                  {"2026-09-19", "", "number"},
		"hexadecimal":           {"0x10", "", "number"},
		"underscore":            {"1_000", "", "number"},
		"range":                 {"5-6", "", "number"},
		"ratio beside a number": {"3/4 0.75", "", "0.75  last_number [unmarked_last_number]"},
		"empty":                 {"", "", "number"},
		"only escapes":          {"\x1b[31m\x1b[0m", "", "number"},
		"too many digits":       {strings.Repeat("1", 65), "", "number"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := describe(Read([]byte(tt.output), tt.name)); !strings.HasPrefix(got, tt.want) {
				t.Errorf("Read(%q, %q) = %s, want %s", tt.output, tt.name, got, tt.want)
			}
		})
	}
}

// describe is a reading or the class of its error with the message.
func describe(r Reading, err error) string {
	switch {
	case errors.Is(err, ErrGrammar):
		return "grammar " + err.Error()
	case errors.Is(err, ErrValues):
		return "values " + err.Error()
	case errors.Is(err, ErrNoNumber):
		return "number " + err.Error()
	case err != nil:
		return "unsorted " + err.Error()
	}
	return verdict.Shortest(r.Value) + " " + r.Name + " " + string(r.Source) + " [" + strings.Join(r.Warnings, " ") + "]"
}

func TestRequestRefuses(t *testing.T) {
	tests := map[string]Request{
		"no baseline":               {},
		"baseline":                  {Baseline: "fast"},
		"direction":                 {Baseline: "1", Direction: "up"},
		"name":                      {Baseline: "1", Name: "a b"},
		"invariants without before": {Baseline: "1", InvariantCommand: "true"},
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) {
			if err := q.Check(); fault.KindOf(err) != fault.Usage {
				t.Errorf("Check = %v, want a usage fault", err)
			}
			if _, err := q.Compare([]byte("5")); fault.KindOf(err) != fault.Usage {
				t.Errorf("Compare = %v, want a usage fault", err)
			}
		})
	}
}

func TestComparisonDocument(t *testing.T) { // R-METRIC-6
	c, err := Request{Baseline: "4", Direction: "lower_is_better"}.Compare([]byte("METRIC a.b-c=5.10\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.MarshalJSON()
	want := `{"current_value":5.1,"baseline_value":4,"raw_delta":1.1,"normalized_delta":-0.275,"relative_fallback":false,"improved_raw":false,` +
		`"direction":"lower_is_better","name":"a.b-c","source":"marker","warnings":[]}`
	if err != nil || string(got) != want {
		t.Errorf("document %s, %v, want %s", got, err, want)
	}
}

// fuzzLimit keeps a fuzzed output small enough to be looked at twice.
const fuzzLimit = 1 << 16

// FuzzRead: it never panics, what it reads is in range, what it refuses is a
// failed fault of one line, and colour around an output changes nothing.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"METRIC x=5\n", "METRIC x=1e999", "\x1b[1mMETRIC\x1b[0m x=5", "12:30 5% 1,234.5", "10 files\r7 errors\r\n", "nan inf 3", "\x1b]0;t\aMETRIC a=1\nMETRIC a=2",
	} {
		f.Add([]byte(seed), "")
		f.Add([]byte(seed), "x")
	}
	f.Fuzz(func(t *testing.T, output []byte, name string) {
		if len(output) > fuzzLimit {
			return
		}
		before := slices.Clone(output)
		r, err := Read(output, name)
		if !bytes.Equal(before, output) {
			t.Error("Read changed the output")
		}
		if err != nil {
			if fault.KindOf(err) != fault.Failed || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("Read = %q of kind %s", err, fault.KindOf(err))
			}
			return
		}
		if back, err := verdict.ParseExact(verdict.Shortest(r.Value)); err != nil || back.Cmp(r.Value) != 0 {
			t.Errorf("Read = %s, which does not read back: %v", verdict.Shortest(r.Value), err)
		}
		if name != "" && r.Name != name {
			t.Errorf("Read of %q gave %q", name, r.Name)
		}
		coloured := slices.Concat([]byte("\x1b[1m"), output, []byte("\n\x1b[0m"))
		again, err := Read(coloured, name)
		if err != nil || again.Value.Cmp(r.Value) != 0 {
			t.Errorf("with colour Read = %v, %v", again, err)
		}
	})
}

// BenchmarkRead reads 10 MB, as a metric command that logs a lot prints.
func BenchmarkRead(b *testing.B) {
	outputs := map[string]string{
		"log":      "2026-09-19 12:30:05 INFO worker-17: batch 4711 took 12.5ms (97%), loss 0.1234\n",
		"colour":   "\x1b[32mINFO\x1b[0m worker-17: batch 4711 took \x1b[1m12.5ms\x1b[0m\r",
		"markers":  "METRIC loss=0.123456789\n",
		"one line": "12345,",
	}
	for name, line := range outputs {
		output := []byte(strings.Repeat(line, 10_000_000/len(line)) + "\nMETRIC loss=0.123456789\n")
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(output)))
			for b.Loop() {
				if _, err := Read(output, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
		plain := bytes.TrimSuffix(output, []byte("METRIC loss=0.123456789\n"))
		b.Run(name+" without a marker", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			for b.Loop() {
				_, _ = Read(plain, "") // most of these end in an error
			}
		})
	}
}
