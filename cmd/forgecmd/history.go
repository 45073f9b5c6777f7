package forgecmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/journal"
)

// logDocument is what `forge log --json` prints.
type logDocument struct {
	Run         string     `json:"run"`
	Target      string     `json:"target"`
	Branch      string     `json:"branch"` // "" when only the run's tip is left
	Experiments []logEntry `json:"experiments"`
}

// logEntry is one experiment of it.
type logEntry struct {
	Experiment string `json:"experiment"`
	Decision   string `json:"decision"`
	Delta      string `json:"delta"`    // oriented, 6 digits; "" where nothing was measured
	Baseline   string `json:"baseline"` // what the delta was taken from; "" likewise
	Commit     string `json:"commit"`
	Candidate  string `json:"candidate"` // "" where there is none
	Subject    string `json:"subject"`
	Time       string `json:"time"`
}

// logCommand is `forge log`.
func logCommand(env *Env) *cli.Command {
	var tsv bool
	return &cli.Command{
		Name:      "log",
		Usage:     "one line per experiment of a run, from its commits",
		ArgsUsage: "[RUN]",
		Category:  groupHistory,
		Description: about{
			Text:    "RUN left out: the only open run, else the newest. The same with git alone:\n  git log --first-parent --grep='^Forge-Experiment:' --format='%s %(trailers:key=Forge-Decision,valueonly,separator=)' BASE..BRANCH",
			Example: "forge log --tsv",
		}.String(),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "tsv", Destination: &tsv, Usage: "print the nine columns of the experiment log"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			e := env.reader(repo)
			r, err := env.findRun(c.Context, e, c.Args().First())
			if err != nil {
				return err
			}
			if tsv {
				table, err := journal.TSV(c.Context, repo, r.Tip, r.Name)
				fmt.Fprintf(env.Stdout, "%s", table)
				return err
			}
			experiments, err := e.Experiments(c.Context, r)
			if err != nil {
				return err
			}
			return env.printLog(r, experiments)
		},
	}
}

func (env *Env) printLog(r loop.RunRef, experiments []gitstore.CommitInfo) error {
	if !env.JSON {
		for _, x := range experiments {
			fmt.Fprintf(env.Stdout, "%s %s\n", x.Hash.Short(), visible(x.Subject))
		}
		return nil
	}
	entries := make([]logEntry, len(experiments))
	for i, x := range experiments {
		entries[i] = logEntry{
			Experiment: x.Trailer("Forge-Experiment"), Decision: x.Trailer("Forge-Decision"), Delta: x.Trailer("Forge-Delta"),
			Baseline: x.Trailer("Forge-Baseline"), Commit: string(x.Hash), Candidate: x.Trailer("Forge-Candidate"),
			Subject: x.Subject, Time: x.Committer.When.UTC().Format("2006-01-02T15:04:05Z"),
		}
	}
	return env.PrintJSON(logDocument{r.Name, r.Config.Target, strings.TrimPrefix(r.Branch, "refs/heads/"), entries})
}

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
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			r, err := env.findRun(c.Context, env.reader(repo), name)
			if err != nil {
				return err
			}
			record, err := journal.ReadRecord(c.Context, repo, r.Tip, r.Name, n, experiment)
			if errors.Is(err, gitstore.ErrNotFound) {
				return fault.New(fault.Usage, "forge log "+r.Name+" lists them", "run %s has no %s", r.Name, experiment)
			}
			if err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(record)
			}
			env.printRecord(r, record)
			return nil
		},
	}
}

// printRecord explains one experiment to a person.
func (env *Env) printRecord(r loop.RunRef, rec journal.Record) {
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
		fmt.Fprintf(out, "commit:     %s at refs/forge/runs/%s/%s\n", short(rec.Decision.Candidate), rec.Run, rec.Experiment)
	}
	printEvidence(out, rec.Decision.Evidence)
	if rec.Mutation != nil && rec.Mutation.Diff != "" {
		fmt.Fprintf(out, "\n%s", visibleLines(rec.Mutation.Diff))
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

// reportDocument is what `forge report --json` prints.
type reportDocument struct {
	Run      string `json:"run"`
	Markdown string `json:"markdown"`
}

// reportCommand is `forge report`.
func reportCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "the morning report of a run, made from its commits",
		ArgsUsage: "[RUN]",
		Category:  groupImprove,
		Description: about{
			Text:    "RUN left out: the only open run, else the newest. With --json the report's text is one member.",
			Example: "forge report r1-k3fq",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			e := env.reader(repo)
			r, err := env.findRun(c.Context, e, c.Args().First())
			if err != nil {
				return err
			}
			summary, err := e.Summarise(c.Context, r)
			if err != nil {
				return err
			}
			text, err := e.Report(summary)
			if err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(reportDocument{r.Name, string(text)})
			}
			fmt.Fprintf(env.Stdout, "%s", text)
			return nil
		},
	}
}
