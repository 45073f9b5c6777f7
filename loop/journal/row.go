package journal

import (
	"fmt"
	"math/big"
	"strings"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// tsvHeader is the first line of the experiment log and of every segment of it
// (R-TSV-1).
const tsvHeader = "timestamp\texperiment\thypothesis_summary\tmetric_before\tmetric_after\tdelta\tdecision\tcategory\tduration_s\n"

// summaryLength is how much of a hypothesis the log shows, in code points.
const summaryLength = 80

// Experiment is what one row of the experiment log is made of. Before and
// After are both nil for what was not measured; Duration is in seconds, nil is
// none.
type Experiment struct {
	Timestamp     string // as stored: 2006-01-02T15:04:05Z
	Name          string
	Hypothesis    string
	Before, After *big.Rat
	Direction     verdict.Direction
	Decision      verdict.Decision
	Category      string
	Duration      *big.Rat
}

// Row is the nine columns as they stand in the file.
type Row struct {
	Timestamp    string `json:"timestamp"`
	Experiment   string `json:"experiment"`
	Summary      string `json:"hypothesis_summary"`
	MetricBefore string `json:"metric_before"`
	MetricAfter  string `json:"metric_after"`
	Delta        string `json:"delta"`
	Decision     string `json:"decision"`
	Category     string `json:"category"`
	DurationS    string `json:"duration_s"`
}

// Row writes an experiment as a row: text folded, figures with four digits,
// "-" for what was not measured. delta is after - before and positive is
// better. A measured decision needs both figures and any other has both or
// none; everything else is a usage fault (R-TSV-2, R-TSV-3).
func (x Experiment) Row() (Row, error) {
	switch {
	case (x.Before == nil) != (x.After == nil):
		return Row{}, fault.New(fault.Usage, "give both figures or none", "one of the two figures before and after is missing")
	case x.Before == nil && x.Decision.Measured():
		return Row{}, fault.New(fault.Usage, "give both figures", "a %s was measured, and the figures before and after are missing", x.Decision)
	case x.Duration != nil && x.Duration.Sign() < 0:
		return Row{}, fault.New(fault.Usage, "", "the duration is %s s, want at least 0", verdict.Shortest(x.Duration))
	}
	row := Row{
		Timestamp: x.Timestamp, Experiment: Fold(x.Name), Summary: Cut(Fold(x.Hypothesis), summaryLength),
		MetricBefore: "-", MetricAfter: "-", Delta: "-", Decision: string(x.Decision), Category: Fold(x.Category), DurationS: "0",
	}
	if x.Before != nil {
		row.MetricBefore, row.MetricAfter = verdict.Fixed(x.Before, 4, false), verdict.Fixed(x.After, 4, false)
		row.Delta = verdict.Fixed(Gain(x.Before, x.After, x.Direction), 4, true)
	}
	if x.Duration != nil {
		row.DurationS = verdict.Fixed(x.Duration, 0, false)
	}
	return row, nil
}

// Line is the row as it is stored.
func (r Row) Line() []byte {
	fields := []string{r.Timestamp, r.Experiment, r.Summary, r.MetricBefore, r.MetricAfter, r.Delta, r.Decision, r.Category, r.DurationS}
	return []byte(strings.Join(fields, "\t") + "\n")
}

// Gain is after - before, turned so that positive is better.
func Gain(before, after *big.Rat, d verdict.Direction) *big.Rat {
	return Orient(new(big.Rat).Sub(after, before), d)
}

// Orient turns a difference of readings so that positive is better.
func Orient(delta *big.Rat, d verdict.Direction) *big.Rat {
	if d == verdict.LowerIsBetter {
		return new(big.Rat).Neg(delta)
	}
	return delta
}

// rowOf is the row of a record, the same that `forge loop tsv-append` makes of
// its figures (R-SEG-4).
func rowOf(r Record, direction string) (Row, error) {
	x := Experiment{
		Timestamp: r.Timing.StartedAt, Name: r.Experiment, Hypothesis: r.Hypothesis.Text, Direction: verdict.Direction(direction),
		Decision: verdict.Decision(r.Decision.Word), Category: r.Hypothesis.Category,
		Duration: new(big.Rat).SetFloat64(r.Timing.DurationS),
	}
	if _, measured := r.Decision.Facts(); !measured {
		return x.Row()
	}
	before, after, _ := r.Figures()
	var err error
	if x.Before, err = verdict.ParseExact(before); err != nil {
		return Row{}, fmt.Errorf("read the baseline's figure of %s: %w", r.Experiment, err)
	}
	if x.After, err = verdict.ParseExact(after); err != nil {
		return Row{}, fmt.Errorf("read the candidate's figure of %s: %w", r.Experiment, err)
	}
	return x.Row()
}
