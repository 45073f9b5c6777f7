package forgecmd

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
)

// auditCommand is `forge audit` (CLI.md, reading the history).
func auditCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "audit",
		Usage:     "recompute every verdict of a run from its committed evidence",
		ArgsUsage: "[RUN]",
		Category:  groupHistory,
		Description: about{
			Text: "Decides again from the readings or counts and the frozen thresholds, takes every median and noise\n" +
				"floor again, writes every line of the logs again from its record, and looks in every commit for\n" +
				"changes that do not follow. Raw outputs are held against their hashes where this clone has them.",
			Exits:   exits{1: "something does not follow; the first line names the first commit"},
			Example: "forge audit r1-k3fq",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			e, r, err := env.openRun(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			audit, err := e.Audit(c.Context, r)
			if err != nil {
				return err
			}
			if env.JSON {
				return env.printAnswer(audit, audit.OK, fault.Failed)
			}
			env.printAudit(audit)
			if !audit.OK {
				return negative{fault.Failed}
			}
			return nil
		},
	}
}

func (env *Env) printAudit(a loop.Audit) {
	out := env.Stdout
	for _, f := range a.Findings {
		what := f.Experiment
		if what == "" {
			what = "-"
		}
		fmt.Fprintf(out, "%s %s: %s\n", gitstore.Hash(f.Commit).Short(), what, visible(f.Message))
	}
	fmt.Fprintf(out, "run %s: %d of %d experiments have a verdict, each recomputed; raw outputs: %d as recorded, %d not in this clone\n",
		a.Run, a.Verdicts, a.Experiments, a.Checked, a.Missing)
	if a.OK {
		fmt.Fprintln(out, "everything follows from what is committed")
	} else {
		fmt.Fprintf(out, "does not follow from what is committed: %d\n", len(a.Findings))
	}
}
