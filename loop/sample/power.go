package sample

import (
	"math"
	"slices"

	"forge/loop/verdict"
)

// Noise is how much two measurements of the same skill differ.
type Noise struct {
	FlipRate     float64 // assertions that differ, from 0 to 1
	DesignEffect float64 // by how much assertions of one eval moving together raise the variance, at least 1
}

// Quiet, Typical and Flaky are the three worlds of the simulations. Typical is
// assumed before anything is measured.
//
// Source: statistics.md section 6 (F7).
func Quiet() Noise { return Noise{0.08, 1.2} }

// Typical is the world that is assumed before anything is measured.
func Typical() Noise { return Noise{0.22, 1.45} }

// Flaky is the world of unreliable assertions.
func Flaky() Noise { return Noise{0.34, 1.75} }

// NoiseOf is a measured flip rate with the design effect of the world nearest
// to it, the quieter one in a tie.
//
// Source: statistics.md F7.
func NoiseOf(flipRate float64) Noise {
	nearest := Quiet()
	for _, w := range []Noise{Typical(), Flaky()} {
		if math.Abs(w.FlipRate-flipRate) < math.Abs(nearest.FlipRate-flipRate) {
			nearest = w
		}
	}
	return Noise{flipRate, nearest.DesignEffect}
}

// check refuses noise that cannot be.
func (n Noise) check() error {
	if !(n.FlipRate >= 0 && n.FlipRate <= 1) || !(n.DesignEffect >= 1) || math.IsInf(n.DesignEffect, 0) {
		return bad("a flip rate of %v with a design effect of %v", n.FlipRate, n.DesignEffect)
	}
	return nil
}

// variance is that of the delta of one assertion: twice half the flip rate.
func (n Noise) variance() float64 { return n.FlipRate * n.DesignEffect }

// Power is how well a set of assertions tells a gain from none.
type Power struct {
	Keep      int64   // K over all runs of a side
	SD        float64 // of the delta
	FalseKeep float64 // probability that a change which does nothing is kept
	AtDelta   float64 // probability that a true gain of the size asked for is kept
	MDE80     float64 // the smallest gain that is kept with 80 % probability
}

// PowerOf forecasts for n assertions on runs runs per side and a true gain of
// delta. It is within about three points of simulation on changes that do
// nothing. Impossible noise and bars without an integer form are usage faults.
//
// Source: statistics.md F7.
func PowerOf(n, runs int64, noise Noise, delta float64, bars verdict.Bars) (Power, error) {
	if err := noise.check(); err != nil {
		return Power{}, err
	}
	bar, err := bars.Flips(n, runs)
	if err != nil {
		return Power{}, err
	}
	all := float64(n) * float64(runs)
	edge := (float64(bar.Keep) - 0.5) / all
	p := Power{Keep: bar.Keep, SD: math.Sqrt(noise.variance() / all)}
	p.FalseKeep, p.AtDelta = chanceAbove(edge, 0, p.SD), chanceAbove(edge, delta, p.SD)
	p.MDE80 = edge + quantile(power)*p.SD
	return p, nil
}

// PowerRow is one line of the power table.
type PowerRow struct {
	N         int64
	Nearest   bool    // to the N that was asked about
	FalseKeep float64 // on a change that does nothing
	At5, At10 float64 // probability to keep a true gain of 5 and of 10 points
	MDE80     float64
}

// tableSizes are the assertions of the rows: about 2 to 100 evals.
func tableSizes() []int64 { return []int64{9, 14, 27, 54, 112, 225, 450} }

// PowerTable is the row nearest to n assertions, marked, and its neighbours,
// for one run per side. The errors are those of [PowerOf].
//
// Source: statistics.md section 6; DECISIONS M11.
func PowerTable(n int64, noise Noise, bars verdict.Bars) ([]PowerRow, error) {
	sizes := tableSizes()
	nearest := 0
	for i, size := range sizes {
		if abs(size-n) < abs(sizes[nearest]-n) {
			nearest = i
		}
	}
	var rows []PowerRow
	for i := max(0, nearest-1); i <= min(len(sizes)-1, nearest+1); i++ {
		at5, err := PowerOf(sizes[i], 1, noise, 0.05, bars)
		if err != nil {
			return nil, err
		}
		at10, err := PowerOf(sizes[i], 1, noise, 0.10, bars)
		if err != nil {
			return nil, err
		}
		rows = append(rows, PowerRow{sizes[i], i == nearest, at5.FalseKeep, at5.AtDelta, at10.AtDelta, at5.MDE80})
	}
	return slices.Clip(rows), nil
}

func abs(n int64) int64 { return max(n, -n) }

// SampleSize is how many assertions times runs per side are needed for a true
// gain of delta to be kept with 80 % probability while a change that does
// nothing is kept with at most falseKeep. exact is the same before it is
// rounded up. Impossible noise, a delta that is not above 0 and a probability
// outside 0 to 0.5 are usage faults.
//
// Source: statistics.md section 6.
func SampleSize(noise Noise, delta, falseKeep float64) (size int64, exact float64, err error) {
	if err := noise.check(); err != nil {
		return 0, 0, err
	}
	if !(delta > 0) || math.IsInf(delta, 0) || !(falseKeep > 0 && falseKeep < 0.5) {
		return 0, 0, bad("a gain of %v and a false KEEP of %v: both are above 0, the second below 0.5", delta, falseKeep)
	}
	ratio := (quantile(1-falseKeep) + quantile(power)) / delta
	exact = noise.variance() * ratio * ratio
	if exact >= math.MaxInt64 {
		return 0, 0, bad("a gain of %v is too small to be found with any number of assertions", delta)
	}
	return int64(math.Ceil(exact)), exact, nil
}
