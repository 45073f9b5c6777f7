package verdict

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func TestParseNumber(t *testing.T) { // R-NUM-1, R-NUM-2
	good := map[string]string{
		".5": "1/2", "5.": "5", "+4": "4", "1e3": "1000", "-1.5E-3": "-3/2000", "007": "7", "-0": "0", "0e999999999": "0",
		"1e-308": "1/1" + strings.Repeat("0", 308), "1.797e308": "1797" + strings.Repeat("0", 305), "0.00e-99999": "0",
	}
	for text, want := range good {
		got, err := ParseNumber(text)
		if err != nil || got.RatString() != want {
			t.Errorf("ParseNumber(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
	bad := []string{
		"", "+", ".", "e3", "1e", "1e+", "1,000", "1_000", "5%", "0x10", "NaN", "inf", "True", "0,5", " 1", "1 ", "--5", "1.2.3", "٣", "1/2",
		"1e1000000", "1e309", "1.798e308", "9.9e-309", "1e-99999999999999999999", strings.Repeat("1", 65),
	}
	for _, text := range bad {
		if got, err := ParseNumber(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("ParseNumber(%q) = %v, %v, want a usage fault", text, got, err)
		}
	}
}

func TestParseScore(t *testing.T) { // R-NUM-3
	for text, want := range map[string]string{"6/9": "6/9", "5.5/8": "5.5/8", "0.84": "0.84", "0/1": "0/1", "1e-7": "1e-7"} {
		if got, err := ParseScore(text); err != nil || got.String() != want {
			t.Errorf("ParseScore(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"10/9", "0/0", "-1/9", "1/-9", "/9", "6/", "6/9/1", "6/ 9"} {
		if got, err := ParseScore(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("ParseScore(%q) = %s, %v, want a usage fault", text, got, err)
		}
	}
}

func TestPrint(t *testing.T) { // R-OUT-3, R-OUT-4
	tests := map[string]struct{ exact, shortest, number, rounded, text string }{
		"0":               {"0", "0", "0", "0", "+0.0000"},
		"3/101":           {"3/101", "3/101", "0.0297029702970297", "0.029703", "+0.0297"},
		"-1/3":            {"-1/3", "-1/3", "-0.3333333333333333", "-0.333333", "-0.3333"},
		"2":               {"2", "2", "2", "2", "+2.0000"},
		"21.76":           {"544/25", "21.76", "21.76", "21.76", "+21.7600"},
		"-0.00001":        {"-1/100000", "-0.00001", "-0.00001", "-0.00001", "-0.0000"},
		"-0.0000001":      {"-1/10000000", "-1e-7", "-1e-7", "0", "-0.0000"},
		"0.0000005":       {"1/2000000", "5e-7", "5e-7", "0", "+0.0000"},                  // half to even: down
		"0.0000015":       {"3/2000000", "0.0000015", "0.0000015", "0.000002", "+0.0000"}, // half to even: up
		"0.00005":         {"1/20000", "0.00005", "0.00005", "0.00005", "+0.0000"},
		"0.00015":         {"3/20000", "0.00015", "0.00015", "0.00015", "+0.0002"},
		"-7.539e-05":      {"-7539/100000000", "-0.00007539", "-0.00007539", "-0.000075", "-0.0001"},
		"120000":          {"120000", "120000", "120000", "120000", "+120000.0000"},
		"1e20":            {"1" + strings.Repeat("0", 20), "1" + strings.Repeat("0", 20), "1" + strings.Repeat("0", 20), "1" + strings.Repeat("0", 20), "+1" + strings.Repeat("0", 20) + ".0000"},
		"1.25e22":         {"125" + strings.Repeat("0", 20), "1.25e22", "1.25e22", "125" + strings.Repeat("0", 20), "+125" + strings.Repeat("0", 20) + ".0000"},
		"0.9999996":       {"2499999/2500000", "0.9999996", "0.9999996", "1", "+1.0000"},
		"112.00000000050": {"224000000001/2000000000", "112.0000000005", "112.0000000005", "112", "+112.0000"},
	}
	for text, want := range tests {
		r := rat(t, text)
		got := struct{ exact, shortest, number, rounded, text string }{
			Exact(r), Shortest(r), Number(r).String(), Rounded(r, 6).String(), Fixed(r, 4, true),
		}
		if got != want {
			t.Errorf("%s prints as %+v, want %+v", text, got, want)
		}
		for _, printed := range []string{got.exact, got.shortest} {
			if back, err := ParseExact(printed); err != nil || back.Cmp(r) != 0 {
				t.Errorf("ParseExact(%q) = %v, %v, want %s", printed, back, err, text)
			}
		}
	}
	if got := Fixed(rat(t, "2.5"), 0, false); got != "2" {
		t.Errorf("Fixed(2.5, 0) = %s, want 2", got)
	}
}

func TestParseExactRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "1/0", "1/x", "1/2/3", "0x10", "1_0/3", strings.Repeat("9", maxExactLen+1), "1e9999999"} {
		if got, err := ParseExact(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("ParseExact(%q) = %v, %v, want a usage fault", text, got, err)
		}
	}
}

// grammar is R-NUM-1 as it is written there.
var grammar = regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// FuzzParseNumber: what is read matches the grammar, is in range, and prints
// as something that reads back the same; what matches and is short enough is
// refused for its range only.
func FuzzParseNumber(f *testing.F) {
	for _, seed := range []string{"0.5", "-3", "1e-4", ".5", "5.", "1e309", "0x10", "1e", "-0", "1e-308"} {
		f.Add(seed)
	}
	smallest, largest := big.NewRat(1, 1), big.NewRat(1797, 1)
	smallest.Quo(smallest, power10(308))
	largest.Mul(largest, power10(305))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseNumber(text)
		matches := grammar.MatchString(text) && len(text) <= 64
		if err != nil {
			if matches && !strings.Contains(err.Error(), "out of range") {
				t.Errorf("ParseNumber(%q) = %v", text, err)
			}
			return
		}
		size := new(big.Rat).Abs(r)
		if !matches || (r.Sign() != 0 && (size.Cmp(smallest) < 0 || size.Cmp(largest) > 0)) {
			t.Errorf("ParseNumber(%q) = %s", text, r.RatString())
		}
		if back, err := ParseExact(Shortest(r)); err != nil || back.Cmp(r) != 0 {
			t.Errorf("ParseExact(Shortest(%q)) = %v, %v", text, back, err)
		}
		if rounded := Rounded(r, 6).String(); strings.HasPrefix(rounded, "-0") && !strings.Contains(rounded, ".") {
			t.Errorf("Rounded(%q) = %s", text, rounded)
		}
	})
}
