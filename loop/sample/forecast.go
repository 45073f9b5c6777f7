package sample

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"forge/loop/stats"
	"forge/loop/verdict"
)

// Forecast is what measuring the unchanged skill twice foretells about the
// verdicts to come.
type Forecast struct {
	N        int64   // assertions
	Keep     int64   // K: how many flips keep; above N nothing can be kept
	SD       float64 // of the delta of a change that does nothing
	FlipRate float64 // assertions that differ between two such runs, from 0 to 1

	// FalseKeep is the probability that a change which does nothing is kept. It
	// is 0 if nothing flipped, which says little: a flip rate below about 3/N
	// goes unseen.
	FalseKeep float64
	MDE80     float64 // the smallest gain that is kept with 80 % probability

	// Two noise floors that could be set, in the unit of the delta: one and
	// 1.645 standard deviations.
	Floor, FloorWide float64
}

// ForecastOf forecasts from pairs of measurements of the same skill: per pair
// the difference of each eval, totals being the assertions of the evals, and
// flips the assertions that differ, summed over the pairs. Of several pairs
// the squares are averaged.
//
// No pair, no eval, and differences or flips that do not fit are usage faults;
// so are bars that have no integer form.
//
// Source: statistics.md F6, R-STAT-8; DECISIONS M5.
func ForecastOf(pairs [][]int64, totals []int64, flips int64, bars verdict.Bars) (Forecast, error) {
	n, err := assertions(totals)
	if err != nil {
		return Forecast{}, err
	}
	squares, moved := new(big.Int), int64(0)
	for _, d := range pairs {
		if len(d) != len(totals) {
			return Forecast{}, bad("%d differences of %d evals", len(d), len(totals))
		}
		for i, x := range d {
			if max(x, -x) > totals[i] {
				return Forecast{}, bad("a difference of %d in an eval of %d assertions", x, totals[i])
			}
			moved += max(x, -x)
			squares.Add(squares, new(big.Int).Mul(big.NewInt(x), big.NewInt(x)))
		}
	}
	if len(pairs) == 0 || flips < moved || flips > n*int64(len(pairs)) {
		return Forecast{}, bad("%d flips in %d pairs of %d assertions, whose differences are %d", flips, len(pairs), n, moved)
	}
	bar, err := bars.Flips(n, 1)
	if err != nil {
		return Forecast{}, err
	}
	mean, _ := new(big.Rat).SetFrac(squares, big.NewInt(int64(len(pairs)))).Float64()
	f := Forecast{N: n, Keep: bar.Keep, SD: math.Sqrt(mean) / float64(n), FlipRate: float64(flips) / float64(n*int64(len(pairs)))}
	f.FalseKeep = chanceAbove(float64(bar.Keep)-0.5, 0, math.Sqrt(mean))
	f.MDE80 = (float64(bar.Keep)-0.5)/float64(n) + quantile(power)*f.SD
	f.Floor, f.FloorWide = f.SD, quantile(0.95)*f.SD
	return f, nil
}

// assertions is the sum of what the evals of a split hold.
func assertions(totals []int64) (int64, error) {
	var n int64
	for _, m := range totals {
		if m < 1 {
			return 0, bad("an eval of %d assertions", m)
		}
		n += m
	}
	if n == 0 {
		return 0, bad("no eval was measured")
	}
	return n, nil
}

// maxLoud is how many evals [Loudest] names (statistics.md section 5).
const maxLoud = 5

// Loudest names the evals that differed most between measurements of the same
// skill, at most five, by id. differences are those of [ForecastOf], one list
// per pair, in the order of ids.
//
// Source: statistics.md section 5.
func Loudest(ids []string, pairs [][]int64) []string {
	type loud struct {
		id   string
		size int64
	}
	var list []loud
	for i, id := range ids {
		l := loud{id: id}
		for _, d := range pairs {
			l.size += max(d[i], -d[i])
		}
		if l.size > 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b loud) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.id, b.id)) })
	names := []string{}
	for _, l := range list[:min(len(list), maxLoud)] {
		names = append(names, l.id)
	}
	slices.Sort(names)
	return names
}

// EnvironmentMoved reports whether two measurements of the same skill differ
// more than chance explains: a two-sided sign-flip p of at most .05, exactly.
// p is returned too. The error is that of [stats.SignFlip].
//
// Source: statistics.md R-STAT-9.
func EnvironmentMoved(differences []int64) (moved bool, p *big.Rat, err error) {
	test, err := stats.SignFlip(differences)
	if err != nil {
		return false, nil, err
	}
	p = test.TwoSided()
	return p.Cmp(big.NewRat(5, 100)) <= 0, p, nil
}
