package tune

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// run plays a whole run of one file against a loss that is to be small, with
// the default bars and plateau, and returns a line per experiment and why it
// ended.
func run(t *testing.T, file File, most int, loss func(data []byte) *big.Rat) (log []string, end File, reason string) {
	t.Helper()
	bars := verdict.DefaultBars()
	bars.Direction = verdict.LowerIsBetter
	var tried []Tried
	var decisions []string
	for len(tried) < most {
		p, err := Propose([]File{file}, tried)
		if errors.Is(err, ErrExhausted) {
			return log, file, "exhausted"
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := verdict.Decide(verdict.Decimal(loss(p.Data)), verdict.Decimal(loss(file.Data)), bars)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, fmt.Sprintf("%s: %s %s", p.Hypothesis, v.Decision, verdict.Shortest(v.Delta)))
		tried = append(tried, Tried{p.Hypothesis, string(v.Decision)})
		if v.Decision == verdict.Keep {
			file.Data = p.Data
		}
		decisions = append(decisions, string(v.Decision))
		if plateau, err := verdict.FindPlateau(decisions, 3); err != nil || plateau.Plateau {
			return log, file, "plateau"
		}
	}
	return log, file, "max_experiments"
}

// settings reads name=number lines.
func settings(data []byte) map[string]*big.Rat {
	values := map[string]*big.Rat{}
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), "=")
		if r, err := verdict.ParseNumber(text); err == nil {
			values[name] = r
		}
	}
	return values
}

// square is (x-at)^2 / by.
func square(x *big.Rat, at, by int64) *big.Rat {
	d := new(big.Rat).Sub(x, big.NewRat(at, 1))
	d.Mul(d, d)
	return d.Quo(d, big.NewRat(by, 1))
}

// TestWorkedRun is the table of handoff.md section 5.
func TestWorkedRun(t *testing.T) {
	loss := func(data []byte) *big.Rat {
		s := settings(data)
		speed := square(s["speed"], 37, 100)
		return speed.Add(speed, square(s["size"], 3, 1))
	}
	want := []string{
		"set p.cfg:1 from 10 to 13: KEEP 1.53",
		"set p.cfg:2 from 7 to 9: REVERT -20",
		"set p.cfg:1 from 13 to 19: KEEP 2.52",
		"set p.cfg:1 from 19 to 31: KEEP 2.88",
		"set p.cfg:1 from 31 to 55: REVERT -2.88",
		"set p.cfg:2 from 7 to 5: KEEP 12",
		"set p.cfg:2 from 5 to 1: NEUTRAL 0",
		"set p.cfg:2 from 5 to 3: KEEP 4",
		"set p.cfg:2 from 3 to -1: REVERT -16",
		"set p.cfg:1 from 31 to 7: REVERT -8.64",
		"set p.cfg:1 from 31 to 43: NEUTRAL 0",
	}
	for most, reason := range map[int]string{20: "plateau", 10: "max_experiments"} {
		log, end, ended := run(t, File{"p.cfg", []byte("speed=10\nsize=7\n")}, most, loss)
		if !slices.Equal(log, want[:min(most, len(want))]) || ended != reason {
			t.Errorf("at most %d experiments:\n%s\nended by %s, want\n%s\nby %s", most, strings.Join(log, "\n"), ended, strings.Join(want, "\n"), reason)
		}
		if string(end.Data) != "speed=31\nsize=3\n" {
			t.Errorf("the run ends at %q", end.Data)
		}
	}
}

// TestProposal pins every member (R-TUNE-7, loop.md section 12).
func TestProposal(t *testing.T) {
	got, err := Propose([]File{{"src/deep/p.cfg", []byte("a = b\r\nspeed = 10 # fast\r\n")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Data) != "a = b\r\nspeed = 13 # fast\r\n" {
		t.Errorf("data %q", got.Data)
	}
	got.Data = nil
	want := Proposal{
		Path: "src/deep/p.cfg", Line: 2, Old: "10", New: "13",
		Hypothesis: "set src/deep/p.cfg:2 from 10 to 13", Category: "dir:src", MutationType: "config_change",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("proposal %+v, want %+v", got, want)
	}
	if p, err := Propose([]File{{"p.cfg", []byte("x=1")}}, nil); err != nil || p.Category != "dir:." {
		t.Errorf("category at the root %q, %v, want dir:.", p.Category, err)
	}
}

// TestLiterals covers R-TUNE-1 and R-TUNE-2; pitfall 8 of handoff.md.
func TestLiterals(t *testing.T) {
	tests := map[string]struct {
		data string
		want string // the numbers in order, as they stand
	}{
		"forms":                   {"a=0.05 b=-3 c=1e-4 d=.5 e=2.5E+3", "0.05 -3 1e-4 .5 2.5E+3"},
		"none":                    {"v1.2.3 v1 0x1F 1.2.3 utf8 $5 5$ _7 7_ 2026.09.19 x.5 5. é5 5é", ""},
		"a date":                  {"at 2026-09-19", "2026 09 19"},
		"unit, unmarked":          {"t=30s p=5%", "5"},
		"unit, marked":            {"t=30s m=64MB p=5% x=0x1F u=3µs e=1e3ms # forge:tune", "30 64 5 3 1e3"},
		"minus of its own":        {"f(-1) [-2] {-3, -4} x: -5 y=  -6 z<-7 >-8", "-1 -2 -3 -4 -5 -6 -7 -8"},
		"minus at the start":      {"-9\n  -10\n", "-9 -10"},
		"minus of somebody else":  {"a -3 b-4 5-6 - -7", "3 4 5 6 7"},
		"comments":                {"# 1\n // 2\n-- 3\n; 4\n* 5\n/* 6\n<!-- 7\n\t#8\nx=9 # 10\n", "9 10"},
		"comment, marked":         {"# 1 forge:tune\n", "1"},
		"quotes":                  {`a="1" b='2' c="x\"3" d=4 e='5`, "4 5"},
		"quotes, marked":          {`a="1" # forge:tune`, "1"},
		"marker":                  {"a=1\nb=2 # forge:tune\nc=3\n", "2"},
		"options are none":        {"b=2 # forge:tune min=1 max=50 step=4 since 7\n", "2 7"},
		"marker in front":         {"/* forge:tune min=1 max=5*/ b=2;\n", "2"},
		"block":                   {"a=1\n# forge:tune begin max=9\nb=2\nc=3 d=4\n# forge:tune end 8\ne=5\n", "2 3 4"},
		"two blocks":              {"forge:tune begin\n1\nforge:tune end\n2\nforge:tune begin\n3\nforge:tune end", "1 3"},
		"word that holds it":      {"xforge:tune 1\nforge:tuned 2\nforge:tune-up 3\n", "1 2 3"},
		"too many digits":         {"a=" + strings.Repeat("1", 65) + " b=1", "1"},
		"out of range":            {"a=1e999 b=1", "1"},
		"no final newline, CR LF": {"a=1\r\nb=2\r", "1 2"},
		"binary":                  {"a=1\x00", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			literals, err := scan([]File{{"f", []byte(tt.data)}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range literals {
				got = append(got, l.text)
				if tt.data[l.start:l.end] != l.text {
					t.Errorf("%s stands at %q", l.text, tt.data[l.start:l.end])
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("numbers of %q = %q, want %q", tt.data, strings.Join(got, " "), tt.want)
			}
		})
	}
}

func TestScope(t *testing.T) { // R-TUNE-1
	many := []byte(strings.Repeat("x=1\n", 200))
	literals, err := scan([]File{{"a", many}, {"b", many}})
	if err != nil || len(literals) != 64 || literals[63].name() != "a:64" {
		t.Errorf("200 unmarked numbers: %d, %v, want the first 64", len(literals), err)
	}
	marked := []byte("# forge:tune begin\n" + string(many) + "# forge:tune end\n")
	literals, err = scan([]File{{"a", many}, {"b", marked}})
	if err != nil || len(literals) != 200 || literals[0].name() != "b:2" {
		t.Errorf("200 marked numbers: %d, %v, want all of them and no others", len(literals), err)
	}
	long := append(bytes.Repeat([]byte("x"), 1<<20), "\ny=1"...)
	literals, err = scan([]File{{"a", long}})
	if err != nil || len(literals) != 0 {
		t.Errorf("a file over 1 MiB: %d numbers, %v", len(literals), err)
	}
	p, err := Propose([]File{{"z", []byte("x=8 y=9")}, {"a", []byte("x=4 y=40")}}, []Tried{{"set a:1 from 4 to 5", "REVERT"}})
	if err != nil || p.Hypothesis != "set a:1#2 from 40 to 50" {
		t.Errorf("second number of the first file by path: %q, %v", p.Hypothesis, err)
	}
}

func TestRefused(t *testing.T) {
	tests := map[string]string{
		"unclosed":      "forge:tune begin\n1\n",
		"nested":        "forge:tune begin\nforge:tune begin\nforge:tune end\nforge:tune end\n",
		"not opened":    "1\nforge:tune end\n",
		"no number":     "x=1 forge:tune min=a\n",
		"unit of a min": "x=1 forge:tune min=5%x\n x=1 forge:tune max=5ms",
		"step 0":        "x=1 forge:tune step=0\n",
		"min above max": "x=1 forge:tune min=2 max=1\n",
		"nothing":       "x\n",
		"all in quotes": `"1"`,
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Propose([]File{{"f", []byte(data)}}, nil)
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("Propose(%q) = %+v, %v, want a usage fault", data, p, err)
			}
		})
	}
	if _, err := Propose(nil, nil); !errors.Is(err, ErrNoNumber) { // R-TUNE-8
		t.Errorf("no files: %v, want ErrNoNumber", err)
	}
}

// TestFirstMove covers R-TUNE-3: kind, unit, first step, bounds.
func TestFirstMove(t *testing.T) {
	tests := map[string]struct{ data, want string }{
		"whole":              {"x=10", "13"}, // 2.5 is rounded away from zero
		"whole, small":       {"x=1", "2"},
		"whole, zero":        {"x=0", "1"},
		"negative":           {"x=-10", "-7"},
		"two digits":         {"x=1.50", "1.88"}, // 0.375 is rounded away from zero
		"one digit":          {"x=0.5", "0.6"},
		"zero":               {"x=0.00", "0.10"},
		"zero, one digit":    {"x=0.0", "0.1"},
		"exponent":           {"x=1e-4", "0.0002"},
		"exponent and point": {"x=1.5e-4", "0.00019"}, // 0.0000375 to five digits
		"large exponent":     {"x=1e3", "1250"},
		"point first":        {"x=.5", "0.6"},
		"ten digits":         {"x=0.1234567891", "0.154320986"}, // searched to nine
		"step":               {"x=10 forge:tune step=4", "14"},
		"finer step":         {"x=1.0 forge:tune step=0.25", "1.25"},
		"step of a whole":    {"x=10 forge:tune step=0.4", "11"},
		"max":                {"x=10 forge:tune max=12", "12"},
		"max between":        {"x=10 forge:tune max=12.9", "12"},
		"at max":             {"x=10 forge:tune max=10", "7"},
		"beyond max":         {"x=10 forge:tune max=4", "4"},
		"options of a block": {"forge:tune begin max=11 step=5\nx=10\nforge:tune end", "11"},
		"line over block":    {"forge:tune begin max=11 step=5\nx=10 forge:tune max=90\nforge:tune end", "15"},
		"unit stays":         {"t=30s forge:tune", "38"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Propose([]File{{"f", []byte(tt.data)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if p.New != tt.want {
				t.Errorf("Propose(%q) sets %s, want %s", tt.data, p.New, tt.want)
			}
		})
	}
}

// TestExhausted searches one number to its unit: every value is tried at most
// once (R-TUNE-5).
func TestExhausted(t *testing.T) {
	tests := map[string]struct {
		data string
		want []string
	}{
		"whole":            {"x=8", []string{"10", "6", "9", "7"}},
		"bounds":           {"x=8 forge:tune min=7 max=9", []string{"9", "7"}},
		"no room":          {"x=8 forge:tune min=8 max=8", nil},
		"nothing between":  {"x=8 forge:tune min=8.2 max=8.8", nil},
		"no minus allowed": {"x 1", []string{"2", "0"}},
		"minus allowed":    {"x=1 y=1", []string{"2", "2", "0", "0"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var tried []Tried
			var got []string
			for {
				p, err := Propose([]File{{"f", []byte(tt.data)}}, tried)
				if errors.Is(err, ErrExhausted) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, p.New)
				tried = append(tried, Tried{p.Hypothesis, "SKIP"})
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("values tried for %q = %v, want %v", tt.data, got, tt.want)
			}
		})
	}
}

// TestReplay covers what a history can hold (R-TUNE-4 to R-TUNE-7).
func TestReplay(t *testing.T) {
	tests := map[string]struct {
		data  string
		tried []Tried
		want  string
	}{
		"other forms are passed over": {
			"x=8", []Tried{{"make it faster", "KEEP"}, {"set f:1 from 8 to fast", "KEEP"}, {"set f:9 from 1 to 2", "KEEP"}, {"", "KEEP"}}, "set f:1 from 8 to 10",
		},
		"a KEEP doubles": {"x=10", []Tried{{"set f:1 from 8 to 10", "KEEP"}}, "set f:1 from 10 to 14"},
		"another KEEP opens an exhausted one": { // y=1: 2 and 0 failed; reopened with step 1, 2 may be tried again
			"x=10 y=1",
			[]Tried{
				{"set f:1#2 from 1 to 2", "NEUTRAL"}, {"set f:1#2 from 1 to 0", "INVALID"},
				{"set f:1 from 8 to 10", "KEEP"}, {"set f:1 from 10 to 14", "REVERT"}, {"set f:1 from 10 to 6", "REVERT"},
			},
			"set f:1#2 from 1 to 2",
		},
		"kept last first": {
			"x=10\ny=10\n", []Tried{{"set f:1 from 8 to 10", "KEEP"}, {"set f:2 from 8 to 10", "KEEP"}}, "set f:2 from 10 to 14",
		},
		"somebody else changed it": { // by hand to 100
			"x=100", []Tried{{"set f:1 from 8 to 10", "REVERT"}}, "set f:1 from 100 to 125",
		},
		"changed in between": {
			"x=100", []Tried{{"set f:1 from 8 to 10", "REVERT"}, {"set f:1 from 100 to 125", "REVERT"}}, "set f:1 from 100 to 75",
		},
		"a move of somebody else is kept": { // from 8 to 40: its step counts
			"x=40", []Tried{{"set f:1 from 8 to 40", "KEEP"}}, "set f:1 from 40 to 104",
		},
		"written another way": {"x=0.0002", []Tried{{"set f:1 from 1e-4 to 0.0002", "KEEP"}}, "set f:1 from 0.0002 to 0.0004"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Propose([]File{{"f", []byte(tt.data)}}, tt.tried)
			if err != nil {
				t.Fatal(err)
			}
			if p.Hypothesis != tt.want {
				t.Errorf("Propose = %q, want %q", p.Hypothesis, tt.want)
			}
		})
	}
}

// FuzzPropose: a proposal is the same twice, changes one number and no other,
// and the changed file reads back as the changed number, also after the next
// moves.
func FuzzPropose(f *testing.F) {
	f.Add([]byte("speed=10\nsize=7\n"), uint16(0b0101100101))
	f.Add([]byte("t=30s # forge:tune min=1 max=1e2 step=.5\n"), uint16(3))
	f.Add([]byte("forge:tune begin\na -3 .5 1e-4 $5\nforge:tune end"), uint16(0xffff))
	f.Add([]byte("x 1\n-2 \"3\" 'it\n"), uint16(0xf0f0))
	f.Fuzz(func(t *testing.T, data []byte, decisions uint16) {
		if len(data) > 1<<12 {
			return
		}
		file := File{"f", data}
		var tried []Tried
		for ; decisions != 0; decisions >>= 1 {
			p, err := Propose([]File{file}, tried)
			again, errAgain := Propose([]File{file}, slices.Clone(tried))
			if fmt.Sprint(p, err) != fmt.Sprint(again, errAgain) {
				t.Fatalf("Propose = %+v, %v, and then %+v, %v", p, err, again, errAgain)
			}
			if errors.Is(err, ErrExhausted) {
				return
			}
			if err != nil {
				if fault.KindOf(err) != fault.Usage {
					t.Errorf("Propose = %v of kind %s", err, fault.KindOf(err))
				}
				return
			}
			checkChange(t, file, p)
			decision := verdict.Revert
			if decisions&1 == 1 {
				decision, file.Data = verdict.Keep, p.Data
			}
			tried = append(tried, Tried{p.Hypothesis, string(decision)})
		}
	})
}

// checkChange compares the numbers before and after a proposal.
func checkChange(t *testing.T, file File, p Proposal) {
	t.Helper()
	before, errBefore := scan([]File{file})
	after, errAfter := scan([]File{{file.Path, p.Data}})
	if errBefore != nil || errAfter != nil || len(before) != len(after) {
		t.Fatalf("%q: %d numbers, %v; with %q %d, %v", file.Data, len(before), errBefore, p.Hypothesis, len(after), errAfter)
	}
	changed := 0
	for i := range before {
		if before[i].value.Cmp(after[i].value) == 0 {
			continue
		}
		changed++
		if want := "set " + before[i].name() + " from " + p.Old + " to " + p.New; p.Hypothesis != want || after[i].text != p.New {
			t.Errorf("%q in %q changed %s to %s", p.Hypothesis, file.Data, before[i].text, after[i].text)
		}
	}
	if changed != 1 {
		t.Errorf("%q in %q changed %d numbers", p.Hypothesis, file.Data, changed)
	}
}

func BenchmarkPropose(b *testing.B) {
	file := File{"f", []byte(strings.Repeat("x=10 y=20\n", 32))}
	var tried []Tried
	for range 1000 {
		p, err := Propose([]File{file}, tried)
		if err != nil {
			break
		}
		tried = append(tried, Tried{p.Hypothesis, "NEUTRAL"})
	}
	for b.Loop() {
		if _, err := Propose([]File{file}, tried); err != nil && !errors.Is(err, ErrExhausted) {
			b.Fatal(err)
		}
	}
}
