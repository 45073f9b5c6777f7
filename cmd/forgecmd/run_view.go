package forgecmd

import (
	"fmt"
	"strings"

	"forge/loop"
	"forge/loop/verdict"
)

// runView shows a run while it goes on: one line per event on stderr, or with
// --json one JSON object per line on stdout (handoff.md section 11).
type runView struct {
	env *Env
}

// event shows one event.
func (v *runView) event(e loop.Event) {
	if v.env.JSON {
		writeLine(v.env.Stdout, e)
		v.env.flush()
		return
	}
	if text := eventText(e); text != "" && !v.env.Quiet {
		fmt.Fprintf(v.env.Stderr, "%s\n", text)
	}
}

// eventText is an event as a line, "" for those a person need not see.
func eventText(e loop.Event) string {
	switch d := e.Data.(type) {
	case loop.RunStarted:
		if d.Resumed {
			return fmt.Sprintf("run %s on %s goes on (branch %s, proposer %s, at most %s)", e.Run, d.Target, d.Branch, d.Proposer, count(d.MaxExperiments, "experiment"))
		}
		return fmt.Sprintf("run %s on %s at %s (branch %s, proposer %s, at most %s); git hooks do not run for its commits",
			e.Run, d.Target, short(d.Base), d.Branch, d.Proposer, count(d.MaxExperiments, "experiment"))
	case loop.MeasureFinished:
		if d.What == "baseline" {
			return fmt.Sprintf("baseline %s, noise floor %s", d.Exact, d.NoiseFloor)
		}
	case loop.Warned:
		return "forge: warning: " + firstOf(d.Message, d.Name)
	case loop.VerdictReached:
		return verdictText(e.Experiment, d)
	}
	return ""
}

func verdictText(experiment string, d loop.VerdictReached) string {
	figure := ""
	if d.Delta != nil {
		if r, err := verdict.ParseRatio(d.DeltaExact); err == nil {
			figure = verdict.Fixed(r, 4, true)
		}
	}
	what := d.Hypothesis
	if d.Reason != "" {
		what = strings.TrimSpace(d.Reason + "  " + what)
	}
	near := ""
	if d.NearMiss {
		near = " [near miss]"
	}
	return fmt.Sprintf("%s %-8s %8s  %s%s", experiment, d.Decision, figure, visible(what), near)
}

// finished prints the result of a run.
func (v *runView) finished(f loop.RunFinished) {
	if v.env.JSON {
		return // the last event of the stream is the result
	}
	out := v.env.Stdout
	run := strings.TrimPrefix(f.Land, "forge land ")
	fmt.Fprintf(out, "run %s ended: %s; %d of %d kept", run, f.Reason, f.Kept, f.Experiments)
	if f.Start != nil && f.End != nil {
		fmt.Fprintf(out, ", %s -> %s", f.Start, f.End)
	}
	fmt.Fprintf(out, "\nbranch: %s at %s\nreport: forge report %s\n", f.Branch, short(f.Tip), run)
	if f.Kept > 0 {
		fmt.Fprintf(out, "land:   %s\n", f.Land)
	}
	fmt.Fprintf(out, "undo:   git branch -D %s\n", f.Branch)
}

// count is a number with its noun: "1 value", "2 values".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func short(hash string) string { return hash[:min(7, len(hash))] }

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// visible neutralises what could move a terminal's cursor in foreign text.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, text)
}
