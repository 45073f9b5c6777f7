package sample

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// percent is a probability as the contract's tables print it.
func percent(p float64) int { return int(math.Round(100 * p)) }

// The table of section 6: false KEEP, power at +5 and +10, MDE80 in points.
func TestPowerTableOfTheContract(t *testing.T) { // F7
	worlds := map[string]Noise{"quiet": Quiet(), "typical": Typical(), "flaky": Flaky()}
	want := map[string]map[int64][4]int{
		"quiet": {
			9: {5, 13, 26, 25}, 14: {10, 25, 47, 18}, 27: {18, 46, 77, 11}, 54: {26, 70, 96, 6},
			112: {22, 83, 100, 5}, 225: {17, 93, 100, 4}, 450: {10, 98, 100, 3},
		},
		"typical": {
			9: {19, 27, 36, 33}, 14: {24, 35, 48, 23}, 27: {30, 48, 66, 15}, 54: {36, 61, 83, 9},
			112: {34, 70, 93, 7}, 225: {30, 79, 98, 5}, 450: {24, 88, 100, 4},
		},
		"flaky": {
			9: {26, 33, 40, 38}, 14: {30, 39, 49, 28}, 27: {35, 49, 62, 18}, 54: {40, 58, 75, 12},
			112: {38, 65, 86, 8}, 225: {35, 72, 94, 6}, 450: {30, 80, 99, 5},
		},
	}
	for name, noise := range worlds {
		for _, n := range tableSizes() {
			at5 := must[Power](t)(PowerOf(n, 1, noise, 0.05, verdict.Bars{}))
			at10 := must[Power](t)(PowerOf(n, 1, noise, 0.10, verdict.Bars{}))
			got := [4]int{percent(at5.FalseKeep), percent(at5.AtDelta), percent(at10.AtDelta), percent(at5.MDE80)}
			if got != want[name][n] {
				t.Errorf("%s, N %d: %v, want %v", name, n, got, want[name][n])
			}
		}
	}
}

// The table of section 6: at most 5 % (10 %) false KEEP and 80 % power.
func TestSampleSizesOfTheContract(t *testing.T) {
	want := map[float64][6]int64{ // quiet, typical, flaky: 5 % and 10 % each
		0.05: {238, 174, 789, 576, 1472, 1073}, 0.10: {60, 44, 198, 144, 368, 269},
		0.15: {27, 20, 88, 64, 164, 120}, 0.20: {15, 11, 50, 36, 92, 68},
	}
	for delta, sizes := range want {
		var got [6]int64
		for i, noise := range []Noise{Quiet(), Typical(), Flaky()} {
			for j, falseKeep := range []float64{0.05, 0.10} {
				size, _, err := SampleSize(noise, delta, falseKeep)
				if err != nil {
					t.Fatal(err)
				}
				got[2*i+j] = size
			}
		}
		if got != sizes {
			t.Errorf("sizes for %+.2f: %v, want %v", delta, got, sizes)
		}
	}
}

// What asks for more noise never gets more power, and more assertions never
// need a larger true gain beyond the step of one flip.
func TestPowerIsMonotone(t *testing.T) {
	for n := int64(1); n <= 600; n++ {
		last := Power{AtDelta: 2}
		for _, rate := range []float64{0, 0.01, 0.1, 0.3, 1} {
			p := must[Power](t)(PowerOf(n, 1, Noise{rate, 1.2}, 0.3, verdict.Bars{}))
			if p.MDE80 < last.MDE80 || p.FalseKeep < last.FalseKeep || p.FalseKeep > p.AtDelta || math.IsNaN(p.AtDelta) {
				t.Fatalf("N %d, flip rate %v: %+v after %+v", n, rate, p, last)
			}
			last = p
		}
	}
}

func TestPowerTable(t *testing.T) { // section 6: the nearest row and its neighbours
	tests := map[int64]struct {
		rows    []int64
		nearest int64
	}{
		1: {[]int64{9, 14}, 9}, 11: {[]int64{9, 14}, 9}, 12: {[]int64{9, 14, 27}, 14}, 30: {[]int64{14, 27, 54}, 27},
		225: {[]int64{112, 225, 450}, 225}, 10_000: {[]int64{225, 450}, 450},
	}
	for n, tt := range tests {
		var sizes []int64
		nearest := int64(0)
		for _, row := range must[[]PowerRow](t)(PowerTable(n, Typical(), verdict.Bars{})) {
			sizes = append(sizes, row.N)
			if row.Nearest {
				nearest = row.N
			}
			if p := must[Power](t)(PowerOf(row.N, 1, Typical(), 0.05, verdict.Bars{})); row.At5 != p.AtDelta || row.MDE80 != p.MDE80 || row.FalseKeep != p.FalseKeep || row.At10 <= row.At5 {
				t.Errorf("row %+v, want %+v", row, p)
			}
		}
		if !slices.Equal(sizes, tt.rows) || nearest != tt.nearest {
			t.Errorf("PowerTable(%d) = rows %v, nearest %d, want %v, %d", n, sizes, nearest, tt.rows, tt.nearest)
		}
	}
}

func TestNoiseOf(t *testing.T) { // F7: the flip rate measured, the design effect of the nearest world
	for rate, want := range map[float64]float64{0: 1.2, 0.14: 1.2, 0.16: 1.45, 0.27: 1.45, 0.29: 1.75, 1: 1.75} {
		if got := NoiseOf(rate); got != (Noise{rate, want}) {
			t.Errorf("NoiseOf(%v) = %+v, want a design effect of %v", rate, got, want)
		}
	}
}

// Section 13, 9 and 16: nothing flips, nothing can be kept, strict boundary.
func TestForecastEdges(t *testing.T) {
	totals := []int64{4, 5, 3, 6, 4, 5}
	silent := must[Forecast](t)(ForecastOf([][]int64{make([]int64, 6)}, totals, 0, verdict.Bars{}))
	if want := (Forecast{N: 27, Keep: 2, MDE80: 1.5 / 27}); silent != want {
		t.Errorf("nothing flipped: %+v, want %+v", silent, want)
	}
	cancelled := must[Forecast](t)(ForecastOf([][]int64{make([]int64, 6)}, totals, 4, verdict.Bars{}))
	if cancelled.FalseKeep != 0 || cancelled.FlipRate != 4.0/27 {
		t.Errorf("flips that cancel within their evals: %+v", cancelled)
	}
	hopeless := must[Forecast](t)(ForecastOf([][]int64{{1}}, []int64{1}, 1, verdict.Bars{}))
	if hopeless.Keep != 2 || math.Abs(hopeless.FalseKeep-0.0668072) > 1e-6 {
		t.Errorf("one assertion: %+v", hopeless)
	}
	inclusive := must[Forecast](t)(ForecastOf([][]int64{{1, -1, 0, 2, 0, -1}}, totals, 7, verdict.Bars{}))
	strict := must[Forecast](t)(ForecastOf([][]int64{{1, -1, 0, 2, 0, -1}}, totals, 7, verdict.Bars{Boundary: verdict.Strict}))
	if strict.Keep != 3 || math.Abs(strict.MDE80-inclusive.MDE80-1.0/27) > 1e-12 || strict.FalseKeep >= inclusive.FalseKeep {
		t.Errorf("strict %+v, inclusive %+v: one flip more", strict, inclusive)
	}
}

func TestLoudest(t *testing.T) { // section 5: at most five, by id
	ids := []string{"g", "f", "e", "d", "c", "b", "a"}
	got := Loudest(ids, [][]int64{{1, -2, 0, 1, 1, 1, 1}, {0, 0, 0, 0, -1, 0, 1}})
	if want := []string{"a", "b", "c", "d", "f"}; !slices.Equal(got, want) {
		t.Errorf("Loudest = %v, want %v", got, want)
	}
	if got := Loudest(ids[:2], [][]int64{{0, 0}}); len(got) != 0 || got == nil {
		t.Errorf("Loudest of nothing = %v", got)
	}
}

func TestEnvironmentMoved(t *testing.T) { // R-STAT-9
	tests := map[string]struct {
		d     []int64
		moved bool
	}{
		"five of five down":   {[]int64{-1, -1, -1, -1, -1}, true}, // 2/64
		"five of five up":     {[]int64{1, 2, 1, 3, 1}, true},
		"four of four":        {[]int64{1, 1, 1, 1}, false}, // 2/32 is above .05
		"both ways":           {[]int64{3, -3, 2, -2, 1}, false},
		"nothing":             {[]int64{0, 0, 0}, false},
		"six, one other way":  {[]int64{2, 2, 2, 2, 2, -1}, true},
		"five, one other way": {[]int64{2, 2, 2, 2, -2}, false},
	}
	for name, tt := range tests {
		moved, p, err := EnvironmentMoved(tt.d)
		if err != nil || moved != tt.moved {
			t.Errorf("%s: EnvironmentMoved = %t, p %v, %v, want %t", name, moved, p, err, tt.moved)
		}
	}
	if _, _, err := EnvironmentMoved([]int64{1 << 60}); fault.KindOf(err) != fault.Usage {
		t.Errorf("out of range: %v, want a usage fault", err)
	}
}

// R-STAT-13 and section 13, 12: pooled over the distinct N, never a third pair.
func TestPool(t *testing.T) {
	twoMore := Pair{22, 20}
	first := must[Pooled](t)(Pool(27, verdict.Bars{}, twoMore))
	both := must[Pooled](t)(Pool(27, verdict.Bars{}, twoMore, Pair{21, 20}))
	if first.Decision != verdict.Keep || both.Decision != verdict.Neutral || both.D != 3 || both.N != 54 {
		t.Errorf("+2 is %+v, then +1 is %+v: 3/54 is below 2/27", first, both)
	}
	if _, err := Pool(27, verdict.Bars{}, twoMore, twoMore, twoMore); fault.KindOf(err) != fault.Usage {
		t.Errorf("a third pair is %v, want a usage fault", err)
	}
	for _, pairs := range [][]Pair{nil, {{28, 0}}, {{0, -1}}} {
		if _, err := Pool(27, verdict.Bars{}, pairs...); fault.KindOf(err) != fault.Usage {
			t.Errorf("Pool(%v) = %v, want a usage fault", pairs, err)
		}
	}
	for mode, want := range map[SecondLook][3]bool{LookOff: {}, LookKeep: {true, false, false}, LookBoth: {true, true, false}} {
		got := [3]bool{mode.Wanted(verdict.Keep, false), mode.Wanted(verdict.Neutral, true), mode.Wanted(verdict.Revert, false)}
		if got != want {
			t.Errorf("%s wants a second pair after KEEP, near miss, REVERT: %v, want %v", mode, got, want)
		}
	}
	if _, err := ParseSecondLook("always"); fault.KindOf(err) != fault.Usage {
		t.Errorf("ParseSecondLook(always) = %v, want a usage fault", err)
	}
}

// R-STAT-18 and section 13, 15: exactly two touches per run.
func TestAllowTouch(t *testing.T) {
	done := []Touch{{"r1", TouchBaseline, "a"}, {"r2", TouchBaseline, "a"}, {"r2", TouchFinal, "a"}}
	tests := []struct {
		run, name string
		ok        bool
	}{
		{"r1", TouchFinal, true}, {"r1", TouchBaseline, false}, {"r2", TouchFinal, false}, {"r2", TouchBaseline, false},
		{"r3", TouchBaseline, true}, {"r1", "again", false}, {"r1", "", false},
	}
	for _, tt := range tests {
		if err := AllowTouch(tt.run, tt.name, done); (err == nil) != tt.ok || err != nil && fault.KindOf(err) != fault.Refused {
			t.Errorf("AllowTouch(%q, %q) = %v, want allowed %t", tt.run, tt.name, err, tt.ok)
		}
	}
	// The same touch under another hash is another set: it counts from 0.
	if count, often := CountTouches("b", done); count != 0 || often {
		t.Errorf("touches of a changed set: %d, %t", count, often)
	}
}

func TestWarnings(t *testing.T) { // R-STAT-10
	tests := map[string]struct {
		facts Facts
		want  []string
	}{
		"nothing known":       {Facts{}, nil},
		"plenty":              {Facts{Evals: 25, Assertions: 112, Forecast: &Forecast{FalseKeep: 0.25, FlipRate: 0.30}, Touches: 5}, nil},
		"one eval":            {Facts{Evals: 1, Assertions: 14}, []string{ValSingle, ValSmall}},
		"four evals":          {Facts{Evals: 4, Assertions: 14}, []string{ValSmall}},
		"one assertion":       {Facts{Evals: 1, Assertions: 1}, []string{ValSingle, ValSmall, KeepsNothing, ResolutionCoarse}},
		"N under 14":          {Facts{Evals: 5, Assertions: 13}, []string{ResolutionCoarse}},
		"strict, N of two":    {Facts{Evals: 5, Assertions: 2, Bars: verdict.Bars{Boundary: verdict.Strict}}, []string{KeepsNothing, ResolutionCoarse}},
		"noisy":               {Facts{Evals: 6, Assertions: 27, Forecast: &Forecast{FalseKeep: 0.29, FlipRate: 0.37}, Loudest: []string{"e1", "e2"}}, []string{FalseKeepHigh, FlakyAssertions}},
		"left out":            {Facts{Evals: 6, Assertions: 27, Ungraded: []string{"e1/a2"}}, []string{UngradedIgnored}},
		"worn test set":       {Facts{Evals: 6, Assertions: 27, Touches: 6}, []string{TestTouchedOften}},
		"no test split":       {Facts{Evals: 6, Assertions: 27, NoTest: true}, []string{TestEmpty}},
		"no test, no val yet": {Facts{NoTest: true}, nil},
	}
	for name, tt := range tests {
		var names []string
		for _, w := range must[[]Warning](t)(Warnings(tt.facts)) {
			names = append(names, w.Name)
			if w.Text == "" || strings.Contains(w.Text, "%!") {
				t.Errorf("%s: text of %s is %q", name, w.Name, w.Text)
			}
		}
		if !slices.Equal(names, tt.want) {
			t.Errorf("%s: warnings %v, want %v", name, names, tt.want)
		}
	}
	if _, err := Warnings(Facts{Assertions: 1, Bars: verdict.Bars{Relative: true}}); fault.KindOf(err) != fault.Usage {
		t.Errorf("relative bars: %v, want a usage fault", err)
	}
}

func TestWarningTexts(t *testing.T) {
	facts := Facts{
		Evals: 3, Assertions: 9, Forecast: &Forecast{FalseKeep: 0.29, FlipRate: 0.37}, Loudest: []string{"e1", "e2"},
		Ungraded: []string{"e1/a2"}, NoTest: true, Touches: 7,
	}
	var got []string
	for _, w := range must[[]Warning](t)(Warnings(facts)) {
		got = append(got, w.Text)
	}
	want := []string{
		"val holds 3 evals: no single verdict can be statistically strong, the best p is 1/8; add evals",
		"expect about 3 of 10 changes that do nothing to be kept; a second look halves that",
		"37 % of the assertions differ between two runs of the same skill; make them reliable first: e1, e2",
		"with 9 assertions two flips move the score by 0.22; from 14 assertions on they move it by less than 0.15",
		"1 assertion left out on both sides: e1/a2; 9 are left",
		"this test set has been looked at 7 times, and its number drifts towards one it was chosen by; add fresh test evals",
		"there is no test split: expect the reported gain to be optimistic by about 6.7 points (in simulations)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("texts\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestValBias(t *testing.T) { // R-STAT-14
	for evals, want := range map[int64][2]float64{1: {6.7, 13.7}, 12: {4.5, 9.0}, 30: {2.8, 5.7}, 1000: {1.1, 5.7}} {
		if got := [2]float64{ValBias(evals, false), ValBias(evals, true)}; got != want {
			t.Errorf("ValBias(%d) = %v, want %v", evals, got, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	none := verdict.Bars{}
	tests := map[string]func() error{
		"forecast without pair":       func() error { _, err := ForecastOf(nil, []int64{1}, 0, none); return err },
		"forecast without eval":       func() error { _, err := ForecastOf([][]int64{{}}, nil, 0, none); return err },
		"pair of another set":         func() error { _, err := ForecastOf([][]int64{{1}}, []int64{1, 1}, 1, none); return err },
		"difference out of the eval":  func() error { _, err := ForecastOf([][]int64{{2}}, []int64{1}, 2, none); return err },
		"fewer flips than difference": func() error { _, err := ForecastOf([][]int64{{2}}, []int64{3}, 1, none); return err },
		"more flips than assertions":  func() error { _, err := ForecastOf([][]int64{{2}}, []int64{3}, 4, none); return err },
		"empty eval":                  func() error { _, err := ForecastOf([][]int64{{0}}, []int64{0}, 0, none); return err },
		"relative forecast": func() error {
			_, err := ForecastOf([][]int64{{0}}, []int64{1}, 0, verdict.Bars{Relative: true})
			return err
		},
		"power of nothing":     func() error { _, err := PowerOf(0, 1, Typical(), 0.1, none); return err },
		"flip rate above 1":    func() error { _, err := PowerOf(9, 1, Noise{1.1, 1.2}, 0.1, none); return err },
		"no number":            func() error { _, err := PowerOf(9, 1, Noise{math.NaN(), 1.2}, 0.1, none); return err },
		"design effect":        func() error { _, err := PowerTable(9, Noise{0.1, 0.5}, none); return err },
		"size for no gain":     func() error { _, _, err := SampleSize(Typical(), 0, 0.05); return err },
		"size for every KEEP":  func() error { _, _, err := SampleSize(Typical(), 0.1, 0.5); return err },
		"size for a tiny gain": func() error { _, _, err := SampleSize(Typical(), 1e-12, 0.05); return err },
		"size of odd noise":    func() error { _, _, err := SampleSize(Noise{-1, 1}, 0.1, 0.05); return err },
	}
	for name, run := range tests {
		if err := run(); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage fault", name, err)
		}
	}
}

// Pitfall 18: with a judge the resolution of two flips reaches the verdict, so
// one flip alone never keeps, at any N up to 100.
func TestOneFlipWithJudgeNeverKeeps(t *testing.T) {
	for n := int64(1); n <= 100; n++ {
		gain := new(big.Rat).Mul(big.NewRat(65, 100), big.NewRat(1, n))
		bars := verdict.Bars{Resolution: big.NewRat(2, n)}
		v, err := verdict.Decide(verdict.Decimal(gain), verdict.Decimal(new(big.Rat)), bars)
		if err != nil || v.Decision == verdict.Keep {
			t.Fatalf("N %d: one flip is %s, %v", n, v.Decision, err)
		}
	}
}

func BenchmarkPowerTable(b *testing.B) {
	for b.Loop() {
		if _, err := PowerTable(112, Typical(), verdict.Bars{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkForecast(b *testing.B) {
	for _, n := range []int{25, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d, totals := make([]int64, n), slices.Repeat([]int64{5}, n)
			for i := range d {
				d[i] = int64(i%3) - 1
			}
			for b.Loop() {
				if _, err := ForecastOf([][]int64{d}, totals, int64(n), verdict.Bars{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
