package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"forge/loop/stats"
)

// Advice is what stands beside a verdict on two score files: how strong its
// evidence is. It is printed and recorded, and never changes the verdict
// (DECISIONS V10). With a judge it speaks about the assertions only.
//
// It is also the document: numbers are rounded to six digits. What the score
// files do not tell is null.
//
// Source: statistics.md R-STAT-5.
type Advice struct {
	K           *int64         `json:"K,omitempty"` // the integer bars; none with a judge or with weights
	R           *int64         `json:"R,omitempty"`
	RunsPerSide int64          `json:"runs_per_side"`
	Flips       *FlipAdvice    `json:"flips"` // null without the assertions one by one
	Evals       *EvalAdvice    `json:"evals"` // null without the evals one by one
	MidP        *json.Number   `json:"mid_p"` // evidence for better; for worse it is 1 - MidP
	Confidence  *Confidence    `json:"confidence"`
	Unweighted  bool           `json:"unweighted,omitempty"` // the weights are too fine for an exact test, so MidP counts assertions
	Interval    *DeltaInterval `json:"interval"`             // null like Flips
	Gain        *GainAdvice    `json:"expected_gain,omitempty"`
}

// FlipAdvice counts assertions that changed, over all runs.
type FlipAdvice struct {
	Up      int64       `json:"up"`        // fail to pass
	Down    int64       `json:"down"`      // pass to fail
	McNemar json.Number `json:"mcnemar_p"` // one-sided, for display: assertions of one run are not independent
}

// EvalAdvice counts evals that changed, those that got worse first.
type EvalAdvice struct {
	N      int64    `json:"n"`
	Wins   int64    `json:"wins"`
	Losses int64    `json:"losses"`
	Ties   int64    `json:"ties"`
	Worse  []string `json:"worse"` // ids, sorted as in the score files
	Better []string `json:"better"`
}

// DeltaInterval is where the true difference of the pass rates lies, 95 of 100
// times.
type DeltaInterval struct {
	Low          json.Number `json:"lo"`
	High         json.Number `json:"hi"`
	DesignEffect json.Number `json:"design_effect"`
	Level        json.Number `json:"level"`
}

// GainAdvice is the true gain to expect behind an observed one; only of a
// KEEP.
type GainAdvice struct {
	Value json.Number `json:"value"`
	Tau   json.Number `json:"tau"` // the size of effects that is assumed
}

// Text is the label with the evidence in the direction of the verdict, as in
// "moderate (mid-p 0.039)"; "" without a label.
//
// Source: statistics.md R-STAT-6.
func (a *Advice) Text(d Decision) string {
	if a == nil || a.Confidence == nil || a.MidP == nil {
		return ""
	}
	f, err := a.MidP.Float64()
	if err != nil {
		return string(*a.Confidence)
	}
	name := "mid-p"
	if d == Revert {
		f, name = 1-f, "mid-p for worse"
	}
	if f <= 0 { // nearer to 1 than six digits tell
		return fmt.Sprintf("%s (%s under 0.000001)", *a.Confidence, name)
	}
	return fmt.Sprintf("%s (%s %s)", *a.Confidence, name, strconv.FormatFloat(f, 'g', 2, 64))
}

// GainText is the forecast of the true gain behind an observed delta, in one
// line; "" where there is none.
//
// Source: statistics.md F9.
func (a *Advice) GainText(delta json.Number) string {
	if a == nil || a.Gain == nil {
		return ""
	}
	observed, errObserved := ParseNumber(delta.String())
	value, errValue := ParseNumber(a.Gain.Value.String())
	tau, errTau := ParseNumber(a.Gain.Tau.String())
	if errObserved != nil || errValue != nil || errTau != nil {
		return ""
	}
	return fmt.Sprintf("observed %s, expected true gain about %s (assumes effects of about %s points)",
		Fixed(observed, 4, true), Fixed(value, 2, true), Shortest(tau.Mul(tau, big.NewRat(100, 1))))
}

// Advise returns the statistics of a verdict; nil unless both sides were score
// files. Score files whose evals do not fit each other give none of what needs
// them: a verdict is never refused over its advice.
//
// Source: statistics.md R-STAT-5, sections 3 and 8.
func Advise(candidate, baseline Score, v Verdict) *Advice {
	if candidate.file == nil || baseline.file == nil {
		return nil
	}
	a := &Advice{RunsPerSide: candidate.file.runs}
	a.setBars(candidate.file, v)
	pairs, ok := pairsOf(candidate.file, baseline.file)
	if !ok {
		return a
	}
	a.setEvals(v.Decision, pairs)
	a.setFlips(pairs)
	if v.Decision == Keep {
		a.setGain(v.Delta, pairs)
	}
	return a
}

// setBars gives K and R, which count assertions: with a judge or with weights
// no number of them is a bar.
func (a *Advice) setBars(f *scoreFile, v Verdict) {
	if f.judge != nil || f.smallest != nil || f.assertions%f.runs != 0 {
		return
	}
	bars := Bars{
		Improvement: v.Improvement, Regression: v.Regression, NearMissBand: v.NearMissBand, NoiseFloor: v.NoiseFloor,
		Resolution: v.Resolution, Boundary: v.Boundary, Direction: v.Direction, Relative: v.Relative,
	}
	if flips, err := bars.Flips(f.assertions/f.runs, f.runs); err == nil {
		a.K, a.R = &flips.Keep, &flips.Revert
	}
}

// setEvals counts the evals and labels the verdict.
func (a *Advice) setEvals(d Decision, pairs []evalPair) {
	e := &EvalAdvice{N: int64(len(pairs)), Worse: []string{}, Better: []string{}}
	counted, weighted, weighs := make([]int64, len(pairs)), make([]*big.Rat, len(pairs)), false
	for i, p := range pairs {
		counted[i], weighted[i] = p.d, p.weighted
		weighs = weighs || p.weighs
		switch {
		case p.d < 0:
			e.Worse = append(e.Worse, p.id)
		case p.d > 0:
			e.Better = append(e.Better, p.id)
		}
	}
	e.Wins, e.Losses, e.Ties = stats.Tally(counted)
	a.Evals = e
	differences := counted
	if weighs {
		whole, ok := stats.Whole(weighted)
		if a.Unweighted = !ok; ok {
			differences = whole
		}
	}
	test, err := stats.SignFlip(differences)
	if err != nil {
		return // more evals than an exact test takes
	}
	label, _ := labelOf(d, len(pairs), test)
	midP := probability(test.MidP)
	a.MidP, a.Confidence = &midP, &label
}

// setFlips counts the assertions that changed, and gives the interval that
// rests on them.
func (a *Advice) setFlips(pairs []evalPair) {
	var up, down int64
	var changes []stats.Change
	for _, p := range pairs {
		if !p.listed {
			return
		}
		up, down = up+p.up, down+p.down
		changes = append(changes, stats.Change{D: p.d, Total: p.total})
	}
	if test, err := stats.McNemar(up, down); err == nil {
		a.Flips = &FlipAdvice{Up: up, Down: down, McNemar: probability(test.OneSided)}
	}
	if i, err := stats.DeltaInterval(changes, up, down); err == nil {
		a.Interval = &DeltaInterval{roundedFloat(i.Low), roundedFloat(i.High), roundedFloat(i.DesignEffect), roundedFloat(stats.Level)}
	}
}

// setGain forecasts the true gain.
func (a *Advice) setGain(delta *big.Rat, pairs []evalPair) {
	var changes []stats.Change
	for _, p := range pairs {
		changes = append(changes, stats.Change{D: p.d, Total: p.total})
	}
	variance, _ := stats.ClusterVariance(changes).Float64()
	observed, _ := delta.Float64()
	if gain, err := stats.Shrink(observed, math.Sqrt(variance), stats.GainPrior); err == nil {
		a.Gain = &GainAdvice{roundedFloat(gain.Expected), roundedFloat(stats.GainPrior)}
	}
}

// probability is a probability for a document. One that would be rounded to 0
// keeps its first digits: nothing that can happen is printed as impossible.
func probability(r *big.Rat) json.Number {
	n := Rounded(r, digits)
	if f, _ := r.Float64(); n == "0" && f > 0 {
		return json.Number(strconv.FormatFloat(f, 'e', digits, 64))
	}
	return n
}

func roundedFloat(f float64) json.Number { return Rounded(new(big.Rat).SetFloat64(f), digits) }
