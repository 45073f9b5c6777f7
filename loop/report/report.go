// Package report makes the morning report: what a person reads first after a
// run that went on overnight.
//
// It is a pure function of a [loop.Summary], which holds nothing but what
// commits say, so `forge report` can make it again at any time and it will be
// the same.
//
// Source: roles.md section 16; seed 001, the report.
package report

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"forge/loop"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// Markdown is the report of a run in generic mode.
func Markdown(s loop.Summary) ([]byte, error) {
	var b strings.Builder
	head(&b, s)
	counts(&b, s)
	chart(&b, s)
	best(&b, s)
	failed(&b, s)
	measurability(&b, s)
	where(&b, s)
	lastLines(&b, s)
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}

// head is sections 1 and 2: what ran, why it stopped, what it gave.
func head(b *strings.Builder, s loop.Summary) {
	reason := string(s.Reason)
	if reason == "" {
		reason = "still open"
	}
	fmt.Fprintf(b, "# Run %s: %s\n\n", s.Run.Run, code(s.Run.Target))
	fmt.Fprintf(b, "Started %s on %s. Stopped: %s. Spent: 0 USD.\n\n", s.Run.StartedAt, short(s.Run.Base), reason)
	fmt.Fprintf(b, "| start | best | gain | experiments | kept | crashes | seconds |\n|--:|--:|--:|--:|--:|--:|--:|\n")
	fmt.Fprintf(b, "| %s | %s | %s | %d | %d | %d | %s |\n\n", s.Run.Baseline.Median, s.Baseline.Median, gain(s),
		len(s.Lines), len(kept(s)), number(s, func(l journal.Line) bool { return l.Crash }), seconds(s))
	if s.Run.Mode == loop.ModeSkill {
		fmt.Fprintf(b, "Measured by %d evals of val (train %d, test %d). Proposer: %s.\n\n", s.Run.Split.Val, s.Run.Split.Train, s.Run.Split.Test, code(loop.ProposerText(s.Run.Proposer)))
		return
	}
	direction := "higher is better"
	if s.Run.Metric.Direction == string(verdict.LowerIsBetter) {
		direction = "lower is better"
	}
	fmt.Fprintf(b, "Metric: %s, %s. Proposer: %s.\n\n", code(loop.CommandText(s.Run.Metric.Command)), direction, code(loop.ProposerText(s.Run.Proposer)))
}

// gain is the improvement from start to end with its sign, as a percentage
// where the run is relative.
func gain(s loop.Summary) string {
	if s.Run.Metric.Relative {
		return verdict.Fixed(new(big.Rat).Mul(s.Gain, big.NewRat(100, 1)), 2, true) + " %"
	}
	return verdict.Fixed(s.Gain, 4, true)
}

// counts is sections 3 and 4: the words, and the bar they were held to.
func counts(b *strings.Builder, s loop.Summary) {
	b.WriteString("## Verdicts\n\n")
	for _, d := range []verdict.Decision{verdict.Keep, verdict.Revert, verdict.Neutral, verdict.Invalid, verdict.Skip, verdict.NoOp, verdict.Deferred} {
		n := number(s, func(l journal.Line) bool { return l.Decision == string(d) })
		fmt.Fprintf(b, "* %s: %d", d, n)
		if d == verdict.Neutral {
			fmt.Fprintf(b, ", of these near misses: %d", number(s, func(l journal.Line) bool { return l.NearMiss }))
		}
		b.WriteByte('\n')
	}
	t := s.Run.Thresholds
	fmt.Fprintf(b, "\nA change was kept from a gain of %s on (binding: %s). Improvement %s, regression %s, near-miss band %s, noise floor %s, resolution %s, border %s.\n\n",
		s.Bar, s.Binding, t.Improvement, t.Regression, t.NearMissBand, s.Baseline.NoiseFloor, resolution(t.Resolution), t.Boundary)
}

// resolution is the configured one, or where it comes from.
func resolution(text string) string {
	if text == "" {
		return "from the counts"
	}
	return text
}

// chartWidth is the length of the longest bar, in characters.
const chartWidth = 40

// chartRows bounds the chart of a long run.
const chartRows = 60

// chart is section 5: the measured value of each experiment as a bar.
func chart(b *strings.Builder, s loop.Summary) {
	type row struct {
		name, word, text string
		value            *big.Rat
	}
	var rows []row
	add := func(name, word, text string) {
		if r, err := verdict.ParseExact(text); err == nil {
			rows = append(rows, row{name, word, text, r})
		}
	}
	add("start", "", s.Run.Baseline.Median)
	for _, l := range s.Lines {
		if l.ScoreAfter != nil {
			add(l.ID, l.Decision, l.ScoreAfter.String())
		}
	}
	if len(rows) < 2 {
		return
	}
	cut := max(0, len(rows)-chartRows)
	shown := rows[cut:]
	low, high := shown[0].value, shown[0].value
	for _, r := range shown {
		if r.value.Cmp(low) < 0 {
			low = r.value
		}
		if r.value.Cmp(high) > 0 {
			high = r.value
		}
	}
	span, _ := new(big.Rat).Sub(high, low).Float64()
	b.WriteString("## Readings\n\n```\n")
	for _, r := range shown {
		length := chartWidth
		if above, _ := new(big.Rat).Sub(r.value, low).Float64(); span > 0 {
			length = 1 + int(above/span*(chartWidth-1)+0.5)
		}
		fmt.Fprintf(b, "%-8s %-8s %-*s %s\n", r.name, r.word, chartWidth, strings.Repeat("#", length), r.text)
	}
	b.WriteString("```\n\n")
	if cut > 0 {
		fmt.Fprintf(b, "The first %d are left out; `forge log %s` has all.\n\n", cut, s.Run.Run)
	}
}

// best is section 6: the three largest gains.
func best(b *strings.Builder, s loop.Summary) {
	b.WriteString("## What helped\n\n")
	gains := kept(s)
	if len(gains) == 0 {
		b.WriteString("Nothing was kept.\n\n")
		return
	}
	slices.SortStableFunc(gains, func(x, y journal.Line) int { return delta(y).Cmp(delta(x)) })
	for _, l := range gains[:min(3, len(gains))] {
		fmt.Fprintf(b, "* %s %s: %s\n", l.ID, verdict.Fixed(delta(l), 4, true), plain(l.Hypothesis))
	}
	b.WriteByte('\n')
}

// failedRows bounds the list of what did not help.
const failedRows = 20

// failed is section 7.
func failed(b *strings.Builder, s loop.Summary) {
	rest := slices.DeleteFunc(slices.Clone(s.Lines), func(l journal.Line) bool { return l.Decision == string(verdict.Keep) })
	if len(rest) == 0 {
		return
	}
	b.WriteString("## What did not\n\n")
	for _, l := range rest[max(0, len(rest)-failedRows):] {
		what := plain(l.Hypothesis)
		if l.Reason != "" {
			what = strings.TrimPrefix(what+" ("+plain(l.Reason)+")", " ")
		}
		figure := ""
		if l.DeltaExact != "" {
			figure = " " + verdict.Fixed(delta(l), 4, true)
		}
		fmt.Fprintf(b, "* %s %s%s: %s\n", l.ID, l.Decision, figure, what)
	}
	if more := len(rest) - failedRows; more > 0 {
		fmt.Fprintf(b, "* and %d before these\n", more)
	}
	b.WriteByte('\n')
}

// measurability is section 12, and what was found wanting at the start.
func measurability(b *strings.Builder, s loop.Summary) {
	if s.Run.Mode == loop.ModeSkill {
		fmt.Fprintf(b, "## How well this can be measured\n\nTwo flips of the assertions of val are the resolution: a gain below %s is not kept. The test split was not looked at; `forge eval %s --split test --against %s` does.\n",
			s.Bar, s.Run.Target, short(s.Run.Base))
		warnings(b, s)
		return
	}
	fmt.Fprintf(b, "## How well this can be measured\n\nThe unchanged state was read %d times; the readings spread %s. A gain below %s is not kept.\n",
		len(s.Run.Baseline.Values), s.Run.Baseline.NoiseFloor, s.Bar)
	warnings(b, s)
}

// warnings are what was found wanting at the start.
func warnings(b *strings.Builder, s loop.Summary) {
	for _, w := range s.Run.Doctor.Warnings {
		fmt.Fprintf(b, "* %s\n", loop.WarningText(w))
	}
	b.WriteByte('\n')
}

// where is section 16: how to take what was kept.
func where(b *strings.Builder, s loop.Summary) {
	b.WriteString("## Where the best state is\n\n")
	if len(kept(s)) == 0 {
		fmt.Fprintf(b, "Where it was: nothing was kept. Every candidate is at `refs/forge/runs/%s/`; `forge show %s/exp-001` explains one.\n\n", s.Run.Run, s.Run.Run)
		return
	}
	fmt.Fprintf(b, "On branch `%s`. `forge land %s` brings %s to %s, one commit each; `forge show %s/%s` explains one.\n\n",
		s.Branch, s.Run.Run, changes(len(kept(s))), baseBranch(s), s.Run.Run, kept(s)[0].ID)
}

func changes(n int) string {
	if n == 1 {
		return "1 kept change"
	}
	return fmt.Sprintf("%d kept changes", n)
}

func baseBranch(s loop.Summary) string {
	if s.Run.BaseBranch == "" {
		return "the branch of `--onto`"
	}
	return "`" + s.Run.BaseBranch + "`"
}

// lastLines is section 17.
func lastLines(b *strings.Builder, s loop.Summary) {
	if len(s.Lines) == 0 {
		return
	}
	b.WriteString("## The last experiments\n\n```\n")
	for _, l := range s.Lines[max(0, len(s.Lines)-5):] {
		figure := "-"
		if l.DeltaExact != "" {
			figure = verdict.Fixed(delta(l), 4, true)
		}
		fmt.Fprintf(b, "%s %-8s %8s  %s\n", l.ID, l.Decision, figure, plain(l.Hypothesis))
	}
	b.WriteString("```\n")
}

func kept(s loop.Summary) []journal.Line {
	return slices.DeleteFunc(slices.Clone(s.Lines), func(l journal.Line) bool { return l.Decision != string(verdict.Keep) })
}

func number(s loop.Summary, has func(journal.Line) bool) (n int) {
	for _, l := range s.Lines {
		if has(l) {
			n++
		}
	}
	return n
}

func seconds(s loop.Summary) string {
	sum := new(big.Rat)
	for _, l := range s.Lines {
		sum.Add(sum, new(big.Rat).SetFloat64(l.DurationS))
	}
	return verdict.Fixed(sum, 0, false)
}

func delta(l journal.Line) *big.Rat {
	if r, err := verdict.ParseExact(l.DeltaExact); err == nil {
		return r
	}
	return new(big.Rat)
}

// plain makes foreign text safe in a list: one line, no heading, no fence, no
// HTML.
func plain(text string) string {
	return strings.NewReplacer("`", "'", "<", "&lt;", "#", "\u2317").Replace(journal.Shorten(text))
}

func code(text string) string { return "`" + strings.ReplaceAll(journal.Shorten(text), "`", "'") + "`" }

func short(hash string) string { return hash[:min(7, len(hash))] }
