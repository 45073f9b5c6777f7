package verdict

import (
	"math"
	"math/big"
	"testing"

	"forge/gitstore/fault"
)

// sets of bars that the properties below are held against.
func someBars(t *testing.T) map[string]Bars {
	ratio := func(text string) *big.Rat {
		r, err := ParseRatio(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	return map[string]Bars{
		"default":           {},
		"strict":            {Boundary: Strict},
		"noise floor":       {NoiseFloor: ratio("0.04")},
		"noise floor 2/27":  {NoiseFloor: ratio("2/27")},
		"all 0":             {Improvement: ratio("0"), Regression: ratio("0"), NearMissBand: ratio("0"), Resolution: ratio("0")},
		"wide band":         {NearMissBand: ratio("0.3")},
		"wide band, strict": {NearMissBand: ratio("0.3"), Boundary: Strict, Regression: ratio("0")},
		"impossible":        {Improvement: ratio("1e300")},
	}
}

// R-STAT-3: the integer form agrees with F1 for every whole difference.
func TestFlipsAgreeWithDecide(t *testing.T) {
	for name, bars := range someBars(t) {
		for n := int64(1); n <= 60; n++ {
			f, err := bars.Flips(n, 1)
			if err != nil {
				t.Fatal(err)
			}
			for d := -n; d <= n; d++ {
				base := max(0, -d)
				v, err := Decide(tally(t, base+d, n), tally(t, base, n), bars)
				if err != nil {
					t.Fatal(err)
				}
				if got, near := f.Decide(d); got != v.Decision || near != v.NearMiss {
					t.Fatalf("%s, N %d: Flips %+v decide %d as %s (near miss %t), want %s (%t)", name, n, f, d, got, near, v.Decision, v.NearMiss)
				}
			}
		}
	}
}

// tally is a count.
func tally(t *testing.T, passed, total int64) Score {
	t.Helper()
	s, err := Counts(big.NewRat(passed, 1), big.NewRat(total, 1))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// R-STAT-4: two flips of N are kept for every N from 5 to 60, one flip never
// is, whatever the baseline. Scores as doubles fail in every third case.
func TestTwoFlipRule(t *testing.T) {
	pairs := 0
	for n := int64(5); n <= 60; n++ {
		for passed := int64(0); passed+2 <= n; passed++ {
			pairs++
			two, err := Decide(tally(t, passed+2, n), tally(t, passed, n), Bars{})
			if err != nil || two.Decision != Keep {
				t.Fatalf("%d/%d against %d/%d is %s, %v, want KEEP", passed+2, n, passed, n, two.Decision, err)
			}
			one, err := Decide(tally(t, passed+1, n), tally(t, passed, n), Bars{})
			if err != nil || one.Decision != Neutral {
				t.Fatalf("%d/%d against %d/%d is %s, %v, want NEUTRAL", passed+1, n, passed, n, one.Decision, err)
			}
		}
	}
	if pairs != 1764 {
		t.Errorf("%d pairs, want the 1,764 of R-STAT-4", pairs)
	}
	for n := int64(20); n <= 400; n += 20 { // a loss of exactly 5 points
		v, err := Decide(tally(t, n/2-n/20, n), tally(t, n/2, n), Bars{})
		if err != nil || v.Decision != Revert {
			t.Errorf("-1/20 of %d is %s, %v, want REVERT", n, v.Decision, err)
		}
	}
}

// R-STAT-3: repeats do not make the yardstick finer, weights make it coarser
// or finer with the lightest.
func TestFlipsOverRunsAndWeights(t *testing.T) {
	small := Bars{SmallestWeight: big.NewRat(1, 1), Improvement: new(big.Rat)}
	tests := map[string]struct {
		bars         Bars
		n, runs      int64
		keep, revert int64
	}{
		"one run":                {Bars{}, 27, 1, 2, 2},
		"two runs":               {Bars{}, 27, 2, 4, 3}, // 4/54 = 2/27
		"three runs":             {Bars{}, 112, 3, 7, 17},
		"nothing can be kept":    {Bars{}, 1, 1, 2, 1}, // section 13, 4
		"weights in half points": {small, 16, 1, 2, 1}, // 8 in halves, the lightest 0.5
		"beyond any number":      {Bars{Improvement: power10(300), Regression: power10(300)}, 9, 1, math.MaxInt64, math.MaxInt64},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.bars.Flips(tt.n, tt.runs)
			if err != nil {
				t.Fatal(err)
			}
			if got.Keep != tt.keep || got.Revert != tt.revert {
				t.Errorf("Flips(%d, %d) = K %d, R %d, want %d, %d", tt.n, tt.runs, got.Keep, got.Revert, tt.keep, tt.revert)
			}
		})
	}
	for name, bars := range map[string]Bars{
		"relative": {Relative: true}, "lower is better": {Direction: LowerIsBetter}, "negative": {Improvement: big.NewRat(-1, 2)},
	} {
		if _, err := bars.Flips(9, 1); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: Flips = %v, want a usage fault", name, err)
		}
	}
	for _, n := range [][2]int64{{0, 1}, {9, 0}} {
		if _, err := (Bars{}).Flips(n[0], n[1]); fault.KindOf(err) != fault.Usage {
			t.Errorf("Flips(%d, %d) = %v, want a usage fault", n[0], n[1], err)
		}
	}
}

// R-STAT-6 and section 13, 7: the label is read in the verdict's direction.
func TestConfidenceOf(t *testing.T) {
	tests := map[string]struct {
		decision Decision
		d        []int64
		want     Confidence
	}{
		"four evals, .03":            {Keep, []int64{1, 1, 1, 1}, Weak},
		"five evals, four moved":     {Keep, []int64{1, 1, 1, 1, 0}, Moderate},
		"five moved":                 {Keep, []int64{1, 1, 1, 1, 1}, Strong},
		"NEUTRAL, five moved":        {Neutral, []int64{1, 1, 1, 1, 1}, Weak},
		"REVERT of five worse":       {Revert, []int64{-1, -1, -1, -1, -1}, Strong},
		"REVERT of five better":      {Revert, []int64{1, 1, 1, 1, 1}, Weak},
		"REVERT of four, four evals": {Revert, []int64{-1, -1, -1, -1}, Weak},
		"three of five":              {Keep, []int64{1, 1, 1, 0, 0}, Moderate}, // 1/16
		"two of five":                {Keep, []int64{1, 1, 0, 0, 0}, Weak},     // 1/8
		"SKIP":                       {Skip, nil, Weak},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, evidence, err := ConfidenceOf(tt.decision, tt.d)
			if err != nil || got != tt.want || (evidence == nil) != (tt.decision != Keep && tt.decision != Revert) {
				t.Errorf("ConfidenceOf(%s, %v) = %s by %v, %v, want %s", tt.decision, tt.d, got, evidence, err, tt.want)
			}
		})
	}
	if _, _, err := ConfidenceOf(Keep, []int64{1 << 60}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a difference out of range is %v, want a usage fault", err)
	}
}

func BenchmarkFlips(b *testing.B) {
	for b.Loop() {
		if _, err := (Bars{}).Flips(112, 3); err != nil {
			b.Fatal(err)
		}
	}
}
