package history

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// R-COV-3: three measured experiments and the exact best gain below 1/100; what
// was not measured never saturates, and a later hit resolves it.
func TestSaturation(t *testing.T) {
	tests := map[string]struct {
		outcomes string // decision and gain, one after the other
		want     bool
	}{
		"two measured":            {"NEUTRAL 0 NEUTRAL 0", false},
		"three measured":          {"NEUTRAL 0 NEUTRAL 0 REVERT -1", true},
		"just below, not rounded": {"NEUTRAL 0.00999999999 NEUTRAL 0 NEUTRAL 0", true},
		"exactly one hundredth":   {"NEUTRAL 0.01 NEUTRAL 0 NEUTRAL 0", false},
		"unmeasured do not count": {"NEUTRAL 0 NEUTRAL 0 SKIP 0 INVALID 0 NO_OP 0 DEFERRED 0", false},
		"a later hit":             {"NEUTRAL 0 NEUTRAL 0 NEUTRAL 0 KEEP 0.5", false},
	}
	for name, tt := range tests {
		c, err := NewCoverage([]string{"w", "x", "w"})
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(tt.outcomes)
		for i := 0; i < len(words); i += 2 {
			gain, _ := new(big.Rat).SetString(words[i+1])
			if err := c.Update(Outcome{Category: "w", Experiment: "e", Decision: verdict.Decision(words[i]), Gain: gain}); err != nil {
				t.Fatal(err)
			}
		}
		if s := c.Summary(); (s.Saturated == 1) != tt.want || s.Total != 2 || s.Touched != 1 {
			t.Errorf("%s: %+v, want saturated %t", name, s, tt.want)
		}
	}
}

// R-COV-1: one digit, half to even; the text form has none.
func TestCoveragePercent(t *testing.T) {
	for touched, want := range map[int]string{0: "0 Coverage: 0% (0/16)\n", 1: "6.2 Coverage: 6% (1/16)\n", 3: "18.8 Coverage: 19% (3/16)\n", 16: "100 Coverage: 100% (16/16)\n"} {
		c, err := NewCoverage(strings.Split("abcdefghijklmnop", ""))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split("abcdefghijklmnop", "")[:touched] {
			if err := c.Update(Outcome{Category: name, Experiment: "e", Decision: verdict.Skip}); err != nil {
				t.Fatal(err)
			}
		}
		if s := c.Summary(); s.Percent.String()+" "+s.Text() != want {
			t.Errorf("%d of 16: %s %s, want %s", touched, s.Percent, s.Text(), want)
		}
	}
	if s := (Coverage{}).Summary(); s.Text() != "Coverage: 0% (0/0)\n" {
		t.Errorf("an empty matrix: %s", s.Text())
	}
}

// What is read is what was written, computed anew; what is no matrix is a
// usage fault.
func FuzzReadCoverage(f *testing.F) {
	f.Add([]byte(`{"categories":{"w":{"experiments_total":3,"experiments_neutral":3,"best_delta_exact":"1/1000","mine":1}},"note":"x"}`))
	f.Add([]byte(`{"categories":{"w":{"best_delta":"+0.0400"},"x":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCoverage(journal.Part{Name: "c", Data: data})
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%v is no usage fault", err)
			}
			return
		}
		once, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadCoverage(journal.Part{Name: "c", Data: once})
		if err != nil {
			t.Fatalf("%s is not read back: %v", once, err)
		}
		if twice, err := json.Marshal(back); err != nil || string(twice) != string(once) {
			t.Errorf("%s is written again as %s, %v", once, twice, err)
		}
	})
}
