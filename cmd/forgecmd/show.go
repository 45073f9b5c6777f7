package forgecmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// showCommand is `forge show`.
func showCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "explain one experiment: hypothesis, diff, readings, verdict, evidence",
		ArgsUsage: "EXP",
		Category:  groupHistory,
		Description: about{
			Text:    "EXP is exp-003, of the only open or the newest run, or RUN/exp-003. Rejected ones are explained too.",
			Example: "forge show exp-003",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			name, experiment, n, err := loop.ParseExperiment(c.Args().First())
			if err != nil {
				return err
			}
			e, r, err := env.openRun(c.Context, name)
			if err != nil {
				return err
			}
			record, err := journal.ReadRecord(c.Context, e.Repo, r.Tip, r.Name, n, experiment)
			if errors.Is(err, gitstore.ErrNotFound) {
				return fault.New(fault.Usage, "forge log "+r.Name+" lists them", "run %s has no %s", r.Name, experiment)
			}
			if err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(record)
			}
			candidate := "refs/forge/runs/" + r.Name + "/" + experiment
			if at, err := e.Repo.Ref(c.Context, candidate); err != nil || at == "" {
				candidate = "" // tidied away; a kept one is part of the run all the same
			}
			env.printRecord(r, record, candidate)
			return nil
		},
	}
}

// printRecord explains one experiment to a person; candidate is its ref, "" if
// it has none.
func (env *Env) printRecord(r loop.RunRef, rec journal.Record, candidate string) {
	out := env.Stdout
	fmt.Fprintf(out, "%s/%s: %s", rec.Run, rec.Experiment, rec.Decision.Word)
	facts, measured := rec.Decision.Facts()
	if measured && facts.NearMiss {
		fmt.Fprintf(out, " (near miss)")
	}
	fmt.Fprintf(out, "\ntarget:     %s\n", r.Config.Target)
	if rec.Hypothesis.Text != "" {
		fmt.Fprintf(out, "hypothesis: %s (%s, %s)\n", visible(rec.Hypothesis.Text), visible(rec.Hypothesis.Category), visible(rec.Hypothesis.MutationType))
	}
	if before, after, ok := rec.Figures(); ok && measured {
		fmt.Fprintf(out, "baseline:   %s%s\n", before, readingsText(rec.BaselineReading))
		fmt.Fprintf(out, "candidate:  %s%s\n", after, candidateText(rec.Reading))
		fmt.Fprintf(out, "formula:    %s\n", facts.Formula)
		if rec.Reading == nil {
			fmt.Fprintf(out, "evals:      %s\n", loop.EvalsText(rec))
			printConfidence(out, rec.Decision)
		}
	}
	if rec.Guard != nil {
		fmt.Fprintf(out, "guard:      %s: %s\n", rec.Guard.Name, visible(rec.Guard.Message))
	} else if rec.Decision.Reason != "" {
		fmt.Fprintf(out, "reason:     %s\n", visible(rec.Decision.Reason))
	}
	if rec.Rebaseline != nil {
		fmt.Fprintf(out, "measured again after the KEEP: %s, noise floor %s, readings %v\n", rec.Rebaseline.Median, rec.Rebaseline.NoiseFloor, rec.Rebaseline.Values)
	}
	if rec.Decision.Candidate != "" {
		fmt.Fprintf(out, "commit:     %s", short(rec.Decision.Candidate))
		if candidate != "" {
			fmt.Fprintf(out, " at %s", candidate)
		}
		fmt.Fprintln(out)
	}
	printEvidence(out, rec.Decision.Evidence)
	if rec.Mutation != nil && rec.Mutation.Diff != "" {
		fmt.Fprintf(out, "\n%s", visibleLines(rec.Mutation.Diff))
	}
}

// printConfidence says how strong the evidence of a verdict is and what gain to
// expect behind it; older records do not know (statistics.md section 3).
func printConfidence(out io.Writer, d journal.Decision) {
	var document verdict.Document
	if json.Unmarshal(d.Verdict, &document) != nil {
		return
	}
	if text := document.Advisory.Text(document.Decision); text != "" {
		fmt.Fprintf(out, "confidence: %s; advisory\n", text)
	}
	if text := document.Advisory.GainText(document.Delta); text != "" {
		fmt.Fprintf(out, "gain:       %s\n", text)
	}
}

// readingsText is where a stored baseline comes from; "" in skill mode, where
// both sides are measured each time.
func readingsText(side *journal.StoredSide) string {
	if side == nil {
		return " on val"
	}
	return fmt.Sprintf(" (%s, noise floor %s, readings %v)", side.Source, side.NoiseFloor, side.Values)
}

func candidateText(side *journal.MeasuredSide) string {
	if side == nil {
		return " on val"
	}
	return fmt.Sprintf(" (readings %v)", side.Values)
}

// evidenceShown is how many raw outputs show lists one by one.
const evidenceShown = 8

func printEvidence(out io.Writer, evidence []journal.Evidence) {
	for _, e := range evidence[:min(len(evidence), evidenceShown)] {
		fmt.Fprintf(out, "evidence:   %s  sha256 %s\n", e.Path, short(e.SHA256))
	}
	if more := len(evidence) - evidenceShown; more > 0 {
		fmt.Fprintf(out, "evidence:   and %d more; --json lists all\n", more)
	}
}

// visibleLines is visible for text of several lines.
func visibleLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		body := strings.TrimRight(line, "\r\n") // a CR before the line's end moves nothing
		lines[i] = visible(body) + line[len(body):]
	}
	return strings.Join(lines, "")
}
