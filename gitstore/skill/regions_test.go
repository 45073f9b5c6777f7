package skill

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// markup expands K< K> A< A> to the markers of a short notation.
var markup = strings.NewReplacer("K<", startMarker(Keep), "K>", endMarker(Keep), "A<", startMarker(Appendix), "A>", endMarker(Appendix))

func TestScan(t *testing.T) { // R-REG-1
	tests := map[string]struct {
		in        string
		regions   []string
		malformed []string
	}{
		"none":              {"text", nil, nil},
		"one":               {"a\nK<x\nK>", []string{"FORGE_KEEP 2-3 \"x\\n\""}, nil},
		"two of a name":     {"K<xK>K<yK>", []string{"FORGE_KEEP 1-1 \"x\"", "FORGE_KEEP 1-1 \"y\""}, nil},
		"two names":         {"A<xA>\nK<yK>", []string{"FORGE_APPENDIX 1-1 \"x\"", "FORGE_KEEP 2-2 \"y\""}, nil},
		"in a code fence":   {"```\nK<xK>\n```", []string{"FORGE_KEEP 2-2 \"x\""}, nil},
		"knowledge":         {"<!-- FORGE_KNOWLEDGE_START -->", nil, nil},
		"other spaces":      {"<!--FORGE_KEEP_START-->", nil, nil},
		"open":              {"\nK<x", nil, []string{"FORGE_KEEP 2 missing end"}},
		"end only":          {"x\rK>", nil, []string{"FORGE_KEEP 2 missing start"}},
		"reversed":          {"K>x\nK<", nil, []string{"FORGE_KEEP 1 reversed", "FORGE_KEEP 2 missing end"}},
		"nested in itself":  {"K<\nK<xK>", nil, []string{"FORGE_KEEP 2 nested"}},
		"nested":            {"K<A<A>K>", nil, []string{"FORGE_KEEP 1 nested", "FORGE_APPENDIX 1 nested", "FORGE_APPENDIX 1 nested"}},
		"interleaved":       {"K<A<K>A>", nil, []string{"FORGE_KEEP 1 nested", "FORGE_APPENDIX 1 nested", "FORGE_KEEP 1 nested"}},
		"end of another":    {"K<A>K>", nil, []string{"FORGE_KEEP 1 nested", "FORGE_APPENDIX 1 missing start"}},
		"one bad, one good": {"K<xK>A<", []string{"FORGE_KEEP 1-1 \"x\""}, []string{"FORGE_APPENDIX 1 missing end"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data := []byte(markup.Replace(tt.in))
			got := Scan(data)
			var regions, malformed []string
			for _, r := range got.List {
				regions = append(regions, fmt.Sprintf("%s %d-%d %q", r.Name, r.FirstLine, r.LastLine, data[r.Content:r.ContentEnd]))
			}
			for _, m := range got.Malformed {
				malformed = append(malformed, fmt.Sprintf("%s %d %s", m.Name, m.Line, m.Reason))
			}
			if !slices.Equal(regions, tt.regions) || !slices.Equal(malformed, tt.malformed) {
				t.Errorf("Scan(%q) = %q, %q; want %q, %q", tt.in, regions, malformed, tt.regions, tt.malformed)
			}
		})
	}
}

func TestVerifyRegions(t *testing.T) { // beside the vectors
	tests := map[string]struct{ before, after, want string }{
		"order and violation":      {"K<aK>A<bA>", "A<bA>K<cK>", "violated FORGE_KEEP moved FORGE_APPENDIX FORGE_KEEP"}, // R-REG-3
		"byte order mark":          {"\ufeffa\nK<xK>\nb", "a\nK<xK>\nb", ""},                                            // R-REG-5
		"endings outside":          {"a\nK<xK>\nb\n", "a\r\nK<xK>\r\nb\r", ""},
		"malformed hides the rest": {"K<xK>A<", "A<", "malformed FORGE_APPENDIX removed FORGE_KEEP"},
		"anchor on the line":       {"one K<xK> two\n", "K<xK>one \n two\n", "moved FORGE_KEEP"}, // R-REG-4: lines are cut at borders
		"anchors that repeat":      {"a\na\nK<xK>\n", "a\nK<xK>\na\n", ""},
		"a bad name is text":       {"A<\nK<xK>\n", "K<xK>\nA<\n", "malformed FORGE_APPENDIX moved FORGE_KEEP"},
		"the second of two":        {"K<xK>\na\nK<yK>\nb\n", "K<xK>\na\nb\nK<yK>\n", "moved FORGE_KEEP"},
		"an anchor was violated":   {"a\nK<xK>\n", "K<yK>\na\n", "violated FORGE_KEEP moved FORGE_KEEP"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := VerifyRegions([]byte(markup.Replace(tt.before)), []byte(markup.Replace(tt.after)))
			var words []string
			for _, list := range []struct {
				name  string
				names []string
			}{{"violated", v.Violated}, {"malformed", v.Malformed}, {"removed", v.Removed}, {"added", v.Added}, {"duplicated", v.Duplicated}, {"moved", v.Moved}} {
				if len(list.names) > 0 {
					words = append(append(words, list.name), list.names...)
				}
			}
			if got := strings.Join(words, " "); got != tt.want || v.OK != (tt.want == "") {
				t.Errorf("VerifyRegions(%q, %q) = %s, ok %t; want %s", tt.before, tt.after, got, v.OK, tt.want)
			}
		})
	}
}

func TestAppendNotes(t *testing.T) { // beside the vectors
	notice := appendixNotice
	tests := map[string]struct {
		in    string
		notes []string
		max   int
		want  string
	}{
		"empty file":            {"", []string{"x"}, 15, "A<\n" + notice + "\n- x\nA>\n"}, // R-APX-7
		"only a mark":           {"\ufeff", []string{"x"}, 15, "\ufeffA<\n" + notice + "\n- x\nA>\n"},
		"last line is blank":    {"a\n \t", []string{"x"}, 15, "a\n \t\nA<\n" + notice + "\n- x\nA>\n"},
		"lone CR":               {"a\rb", []string{"x"}, 15, "a\rb\r\rA<\r" + notice + "\r- x\rA>\r"}, // R-APX-6
		"ending of START":       {"a\nA<\r\nA>\n", []string{"x"}, 15, "a\nA<\r\n- x\r\nA>\n"},
		"ending of the file":    {"a\r\nA<A>", []string{"x"}, 15, "a\r\nA<\r\n- x\r\nA>"},
		"END behind a note":     {"A<\n- aA>\n", []string{"x", "A"}, 15, "A<\n- a\n- x\nA>\n"},
		"tab continues":         {"A<\n- a\n\tb\n\n  c\nA>\n", []string{"a b", "x"}, 2, "A<\n- a\n\tb\n\n  c\n- x\nA>\n"}, // R-APX-3
		"cap 1":                 {"A<\n- a\n- b\nA>", []string{"c", "d"}, 1, "A<\n- d\nA>"},                               // R-APX-5
		"over the cap already":  {"A<\n- a\n- b\nA>", []string{"A"}, 1, "A<\n- a\n- b\nA>"},
		"duplicate of a new":    {"A<\nA>", []string{"Do it.", "do  IT_-"}, 15, "A<\n- Do it.\nA>"}, // R-APX-4
		"marker behind folding": {"A<\nA>", []string{"<!--  FORGE_KEEP_END\n-->"}, 15, "A<\n- <!\u2011\u2011 FORGE_KEEP_END -->\nA>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in, want := markup.Replace(tt.in), markup.Replace(tt.want)
			got, err := AppendNotes([]byte(in), tt.notes, tt.max)
			if err != nil || string(got.Data) != want {
				t.Fatalf("AppendNotes(%q, %q) = %q, %v; want %q", in, tt.notes, got.Data, err, want)
			}
			again, err := AppendNotes(got.Data, tt.notes[len(tt.notes)-1:], tt.max)
			if err != nil || !bytes.Equal(again.Data, got.Data) {
				t.Errorf("the last note once more gives %q, %v; want no change", again.Data, err)
			}
		})
	}
}

func TestReadNotes(t *testing.T) {
	for in, want := range map[string]int{`["a","b"]`: 2, `{"appendix_notes":["a"]}`: 1, `[]`: 0, `{"appendix_notes":[]}`: 0} {
		if got, err := ReadNotes([]byte(in)); err != nil || len(got) != want {
			t.Errorf("ReadNotes(%s) = %q, %v; want %d notes", in, got, err, want)
		}
	}
	for _, in := range []string{``, `null`, `{}`, `"a"`, `[1]`, `{"appendix_notes":"a"}`, `["a"] x`} {
		if got, err := ReadNotes([]byte(in)); fault.KindOf(err) != fault.Usage {
			t.Errorf("ReadNotes(%s) = %q, %v; want usage", in, got, err)
		}
	}
}

func TestSizes(t *testing.T) { // R-BUDGET-3, R-BUDGET-4, RC-SKILL-8
	if size, ok := Measure([]byte("ä\r\nb")); !ok || size != (Size{Chars: 4, Lines: 2}) {
		t.Errorf("Measure = %+v, %t", size, ok)
	}
	if _, ok := Measure([]byte("\xff")); ok {
		t.Error("Measure counts what is not UTF-8")
	}
	for tokens, want := range map[int]int{0: 2000, 1600: 2000, 1601: 2002, 10000: 12500} {
		if got := SuggestedBudget(tokens); got != want {
			t.Errorf("SuggestedBudget(%d) = %d, want %d", tokens, got, want)
		}
	}
	for text, want := range map[string]int{"": 1, "abc": 1, "ääääääää": 2} {
		if got := EstimateTokens([]byte(text)); got != want {
			t.Errorf("EstimateTokens(%q) = %d, want %d", text, got, want)
		}
	}
}

// The regions of a file lie one behind the other, begin and end with their
// markers, and a file never differs from itself unless it is malformed.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"K<xK>\nA<yA>", "K<A<K>A>", "K>K<", "a\r\nK<K<xK>\rb", "A<A>A<"} {
		f.Add(s, "K<xK>")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := []byte(markup.Replace(before)), []byte(markup.Replace(after))
		end := 0
		for _, r := range Scan(a).List {
			if r.Start < end || !bytes.HasPrefix(a[r.Start:], []byte(startMarker(r.Name))) || !bytes.HasSuffix(a[:r.End], []byte(endMarker(r.Name))) || r.FirstLine > r.LastLine {
				t.Errorf("region %+v of %q", r, a)
			}
			end = r.End
		}
		if v := VerifyRegions(a, a); v.OK != (len(v.Malformed) == 0) {
			t.Errorf("%q against itself: %+v", a, v)
		}
		if there, back := VerifyRegions(a, b), VerifyRegions(b, a); there.OK != back.OK {
			t.Errorf("%q to %q is %t, back %t", a, b, there.OK, back.OK)
		}
	})
}

// Notes change nothing outside the appendix, and a second time nothing at all.
func FuzzAppendNotes(f *testing.F) {
	f.Add("# S\r\nK<xK>\r\n", "note", 3)
	f.Add("A<\n- a\n  b\nprose\n- c A>tail", "K< new", 1)
	f.Add("\ufeff", "- x", 2)
	f.Fuzz(func(t *testing.T, in, note string, most int) {
		data := []byte(markup.Replace(in))
		got, err := AppendNotes(data, []string{note}, most)
		if err != nil {
			return
		}
		region := Scan(data).of(Appendix)
		switch {
		case len(region) == 0 && !bytes.HasPrefix(got.Data, data):
			t.Errorf("AppendNotes(%q, %q) = %q: the file is no prefix", data, note, got.Data)
		case len(region) == 1 && (!bytes.HasPrefix(got.Data, data[:region[0].Content]) || !bytes.HasSuffix(got.Data, data[region[0].ContentEnd:])):
			t.Errorf("AppendNotes(%q, %q) = %q: bytes outside differ", data, note, got.Data)
		}
		if v := VerifyRegions(data, got.Data); len(v.Malformed) > 0 || slices.Contains(v.Violated, Keep) || slices.Contains(v.Moved, Keep) {
			t.Errorf("AppendNotes(%q, %q) = %q: %+v", data, note, got.Data, v)
		}
		if got.Total > most && len(got.Added) > 0 {
			t.Errorf("%d notes of at most %d", got.Total, most)
		}
		again, err := AppendNotes(got.Data, []string{note}, most)
		if err != nil || !bytes.Equal(again.Data, got.Data) {
			t.Errorf("AppendNotes(%q, %q) twice = %q, %v", data, note, again.Data, err)
		}
	})
}

func BenchmarkVerifyRegions(b *testing.B) {
	data := []byte(markup.Replace(strings.Repeat("a line of text\nK<kept\nK>\n", 2000)))
	for b.Loop() {
		if v := VerifyRegions(data, data); !v.OK {
			b.Fatal(v)
		}
	}
}
