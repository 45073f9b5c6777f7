package metric

import (
	"math"
	"math/big"
	"testing"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// TestT95 holds the quantiles against the distribution they invert: for a
// whole number of degrees of freedom the central mass has a closed form.
func TestT95(t *testing.T) { // statistics.md F8
	for degrees := 2; degrees <= 9; degrees++ {
		if got := centralMass(t95(degrees), degrees); math.Abs(got-0.9) > 1e-13 {
			t.Errorf("mass between -t95(%d) and it = %v, want 0.9", degrees, got)
		}
	}
	checking := []float64{2.91998558, 2.35336343, 2.13184679, 2.01504837, 1.94318028, 1.89457861, 1.85954804, 1.83311293}
	for i, want := range checking {
		if got := t95(i + 2); math.Abs(got-want) > 5e-9 {
			t.Errorf("t95(%d) = %v, want %v", i+2, got, want)
		}
	}
}

// centralMass is P(|T| <= t) for Student's T (Abramowitz and Stegun 26.7.3,
// 26.7.4).
func centralMass(t float64, degrees int) float64 {
	n := float64(degrees)
	angle := math.Atan(t / math.Sqrt(n))
	cos2 := math.Cos(angle) * math.Cos(angle)
	odd := degrees % 2
	term, sum := 1.0, 1.0
	if odd == 1 {
		term, sum = math.Cos(angle), math.Cos(angle)
	}
	for k := 2 + odd; k < degrees-1; k += 2 {
		term *= cos2 * float64(k-1) / float64(k)
		sum += term
	}
	if odd == 1 {
		return 2 / math.Pi * (angle + math.Sin(angle)*sum)
	}
	return math.Sin(angle) * sum
}

func TestNoiseFloor(t *testing.T) { // R-NOISE-1, R-STAT-17
	f, err := ParseFloor([]string{"104", "98", "102", "100"}, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.MarshalJSON()
	want := `{"runs":4,"values":[104,98,102,100],"median":101,"min":98,"max":104,"spread":6,"relative":true,"relative_fallback":false,` +
		`"noise_floor":0.059406,"noise_floor_exact":"6/101","t95_bound":6.793575,"warnings":["few_repeats"]}`
	if err != nil || string(got) != want {
		t.Errorf("document %s, %v, want %s", got, err, want)
	}

	same := number(t, "0.1")
	f, err = NoiseFloor([]*big.Rat{same, same, same, same, same}, false)
	if err != nil || f.T95Bound != 0 || len(f.Warnings) != 1 || f.Warnings[0] != Deterministic {
		t.Errorf("five equal readings: bound %v, warnings %v, %v", f.T95Bound, f.Warnings, err)
	}

	f, err = ParseFloor([]string{"1.797e308", "-1.797e308", "0"}, false)
	if err != nil || math.IsInf(f.T95Bound, 0) {
		t.Errorf("the largest readings: bound %v, %v", f.T95Bound, err)
	}
	if back, err := verdict.ParseExact(verdict.Exact(f.NoiseFloor)); err != nil || back.Cmp(f.NoiseFloor) != 0 {
		t.Errorf("the exact floor reads back as %v, %v", back, err)
	}
}

func TestNoiseFloorRefuses(t *testing.T) {
	eleven := make([]string, 11)
	for i := range eleven {
		eleven[i] = "1"
	}
	for name, values := range map[string][]string{"none": nil, "two": {"1", "2"}, "eleven": eleven, "no number": {"1", "NaN", "2"}} {
		if _, err := ParseFloor(values, false); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage fault", name, err)
		}
	}
}

func TestMedian(t *testing.T) {
	values := []*big.Rat{number(t, "3"), number(t, "1"), number(t, "2"), number(t, "10")}
	if got := Median(values); got.RatString() != "5/2" {
		t.Errorf("Median = %s, want 5/2", got.RatString())
	}
	if got := Median(values[:3]); got.RatString() != "2" {
		t.Errorf("Median = %s, want 2", got.RatString())
	}
	if values[0].RatString() != "3" {
		t.Error("Median sorted its argument")
	}
	if got := Median(nil); got != nil {
		t.Errorf("Median(nil) = %s, want nil", got.RatString())
	}
}
