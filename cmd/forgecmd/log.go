package forgecmd

import (
	"fmt"
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
			if tsv && env.JSON {
				return fault.New(fault.Usage, "leave one of them out", "--tsv and --json are two formats")
			}
			e, r, err := env.openRun(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			if tsv {
				table, err := journal.TSV(c.Context, e.Repo, r.Tip, r.Name)
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
