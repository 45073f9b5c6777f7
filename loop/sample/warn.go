package sample

import (
	"fmt"
	"math/big"
	"strings"

	"forge/loop/verdict"
)

// The names of the warnings, which never change (statistics.md R-STAT-10).
const (
	ValSingle        = "val_single"
	ValSmall         = "val_small"
	KeepsNothing     = "keeps_nothing"
	FalseKeepHigh    = "false_keep_high"
	FlakyAssertions  = "flaky"
	ResolutionCoarse = "resolution_coarse"
	UngradedIgnored  = "ungraded_ignored"
	TestTouchedOften = "test_touched_often"
	TestEmpty        = "test_empty"
)

// Warning is something a reader of a verdict should know. It stops nothing.
type Warning struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Facts is what is known about the evals of a run. What is not known stays
// zero and warns of nothing.
type Facts struct {
	Evals      int64        // in val
	Assertions int64        // in val, the gradable ones
	Bars       verdict.Bars // the run's
	Forecast   *Forecast    // of the A/A pair; nil without one
	Loudest    []string     // evals that differed most in it
	Ungraded   []string     // assertions left out on both sides
	NoTest     bool         // no test split
	Cached     bool         // the baseline is cached
	Touches    int          // of this test set, over all history
}

// Warnings lists what applies, in the order of the constants. Bars without an
// integer form are a usage fault.
//
// Source: statistics.md R-STAT-10; DECISIONS M11.
func Warnings(f Facts) ([]Warning, error) {
	bar, resolution := verdict.Flips{}, new(big.Rat)
	if f.Assertions > 0 {
		var err error
		if bar, err = f.Bars.Flips(f.Assertions, 1); err != nil {
			return nil, err
		}
		resolution = big.NewRat(2, f.Assertions)
	}
	list := []Warning{}
	for _, w := range []struct {
		name string
		on   bool
		text func() string
	}{
		{ValSingle, f.Evals == 1, func() string { return "val holds one eval, which decides everything; add evals" }},
		{ValSmall, f.Evals > 0 && f.Evals < 5, f.small},
		{KeepsNothing, bar.Keep > f.Assertions, f.keepsNothing},
		{FalseKeepHigh, f.Forecast != nil && f.Forecast.FalseKeep > 0.25, f.falseKeep},
		{FlakyAssertions, f.Forecast != nil && f.Forecast.FlipRate > 0.30, f.flaky},
		{ResolutionCoarse, resolution.Cmp(big.NewRat(15, 100)) > 0, f.coarse},
		{UngradedIgnored, len(f.Ungraded) > 0, f.ungraded},
		{TestTouchedOften, f.Touches >= touchedOften, f.touched},
		{TestEmpty, f.NoTest && f.Evals > 0, f.noTest},
	} {
		if w.on {
			list = append(list, Warning{w.name, w.text()})
		}
	}
	return list, nil
}

func (f Facts) small() string {
	return fmt.Sprintf("val holds %s: no single verdict can be statistically strong, the best p is 1/%d; add evals", count(f.Evals, "eval"), int64(1)<<f.Evals)
}

func (f Facts) keepsNothing() string {
	return fmt.Sprintf("with %s no change can ever be kept; add assertions", count(f.Assertions, "assertion"))
}

func (f Facts) falseKeep() string {
	return fmt.Sprintf("expect about %.0f of 10 changes that do nothing to be kept; a second look halves that", 10*f.Forecast.FalseKeep)
}

func (f Facts) flaky() string {
	text := fmt.Sprintf("%.0f %% of the assertions differ between two runs of the same skill; make them reliable first", 100*f.Forecast.FlipRate)
	if len(f.Loudest) > 0 {
		text += ": " + strings.Join(f.Loudest, ", ")
	}
	return text
}

// coarse names the smallest N that is not coarse: 2/N is at most 0.15.
func (f Facts) coarse() string {
	return fmt.Sprintf("with %s two flips move the score by %.2f; from 14 assertions on they move it by less than 0.15", count(f.Assertions, "assertion"), 2/float64(f.Assertions))
}

func (f Facts) ungraded() string {
	return fmt.Sprintf("%s left out on both sides: %s; %d are left", count(int64(len(f.Ungraded)), "assertion"), strings.Join(f.Ungraded, ", "), f.Assertions)
}

func (f Facts) touched() string {
	return fmt.Sprintf("this test set has been looked at %d times, and its number drifts towards one it was chosen by; add fresh test evals", f.Touches)
}

func (f Facts) noTest() string {
	return fmt.Sprintf("there is no test split: expect the reported gain to be optimistic by about %.1f points (in simulations)", ValBias(f.Evals, f.Cached))
}

// ValBias is by how many points the gain on val is too good after a run that
// kept something, because the winner was chosen on it: the value simulated for
// the nearest number of evals.
//
// Source: statistics.md R-STAT-14.
func ValBias(evals int64, cached bool) float64 {
	bias := []struct {
		evals  int64
		points float64
	}{{6, 6.7}, {12, 4.5}, {25, 2.8}, {50, 1.7}, {100, 1.1}}
	if cached {
		bias = bias[:3] // simulated up to 25 evals
		bias[0].points, bias[1].points, bias[2].points = 13.7, 9.0, 5.7
	}
	nearest := bias[0]
	for _, b := range bias {
		if abs(b.evals-evals) < abs(nearest.evals-evals) {
			nearest = b
		}
	}
	return nearest.points
}

// count is "1 eval", "2 evals".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
