package forgecmd

import (
	"math/big"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// begun is the document of `forge loop tsv-init`.
type begun struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
}

// tsvInitCommand is `forge loop tsv-init` (loop.md R-TSV-1).
func tsvInitCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "tsv-init",
		Usage:     "begin an experiment log: a table with one line per experiment",
		ArgsUsage: "FILE",
		Description: about{
			Text:    "FILE is one file, or a folder of segments. A log that is there already is left alone.",
			Exits:   writerExits(),
			Example: "forge loop tsv-init experiment-log.tsv",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			log := journal.ExperimentLog()
			var result begun
			err := env.alone(c.Context, c.Args().First(), func() error {
				part, err := env.newest(c.Args().First(), log)
				if err != nil {
					return err
				}
				result.Path = part.Name
				if len(part.Data) > 0 {
					return log.Check(part)
				}
				header, err := log.Append(part, nil)
				if err != nil {
					return err
				}
				result.Created = true
				return env.writeFile(part.Name, header)
			})
			if err != nil {
				return err
			}
			return env.PrintJSON(result)
		},
	}
}

// appendedRow is the document of `forge loop tsv-append`.
type appendedRow struct {
	Path string `json:"path"`
	journal.Row
}

// tsvFlags are the flags of `forge loop tsv-append`.
type tsvFlags struct {
	experiment, hypothesis, before, after, decision, category, duration, named string
}

// tsvAppendCommand is `forge loop tsv-append` (loop.md R-TSV-2, R-TSV-3).
func tsvAppendCommand(env *Env) *cli.Command {
	var f tsvFlags
	return &cli.Command{
		Name:      "tsv-append",
		Usage:     "add one experiment to an experiment log",
		ArgsUsage: "FILE",
		Description: about{
			Text: "FILE is one file, or a folder of segments; a missing one is begun. The delta is after - before, turned so\n" +
				"that positive is better. KEEP, REVERT and NEUTRAL need both figures, other decisions may have none.",
			Exits:   writerExits(),
			Example: "forge loop tsv-append experiment-log.tsv --experiment exp-001 --hypothesis 'add an example' --before 4/9 --after 6/9 --decision KEEP --category examples",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "experiment", Destination: &f.experiment, Usage: "name `EXP` of the experiment"},
			&cli.StringFlag{Name: "hypothesis", Destination: &f.hypothesis, Usage: "`TEXT`: what was tried; the table shows 80 characters"},
			&cli.StringFlag{Name: "before", Destination: &f.before, Usage: "figure `V` of the baseline: a decimal, or a count like 4/9"},
			&cli.StringFlag{Name: "after", Destination: &f.after, Usage: "figure `V` of the candidate"},
			&cli.StringFlag{Name: "decision", Destination: &f.decision, Usage: "`D`: KEEP, REVERT, NEUTRAL, SKIP, NO_OP, INVALID or DEFERRED"},
			&cli.StringFlag{Name: "category", Destination: &f.category, Usage: "`CATEGORY` of the change"},
			&cli.StringFlag{Name: "duration", Value: "0", Destination: &f.duration, Usage: "seconds `S` it took; default 0"},
			directionFlag(),
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if err := wantFlags(c, "experiment", "hypothesis", "decision", "category"); err != nil {
				return err
			}
			row, err := env.rowOf(c, f)
			if err != nil {
				return err
			}
			path, err := env.appendLog(c.Context, c.Args().First(), journal.ExperimentLog(), row.Line())
			if err != nil {
				return err
			}
			return env.PrintJSON(appendedRow{path, row})
		},
	}
}

// rowOf is the row of the flags.
func (env *Env) rowOf(c *cli.Context, f tsvFlags) (journal.Row, error) {
	x := journal.Experiment{Timestamp: env.stamp(), Name: f.experiment, Hypothesis: f.hypothesis, Category: f.category}
	var err error
	if x.Decision, err = verdict.ParseDecision(f.decision); err != nil {
		return journal.Row{}, err
	}
	if x.Before, x.After, err = figures(c, f.before, f.after); err != nil {
		return journal.Row{}, err
	}
	if x.Duration, err = verdict.ParseNumber(f.duration); err != nil {
		return journal.Row{}, inFlag("duration", err)
	}
	if x.Direction, err = env.direction(c, f.named); err != nil {
		return journal.Row{}, err
	}
	return x.Row()
}

// figures reads --before and --after; one that was not typed is nil.
func figures(c *cli.Context, before, after string) (b, a *big.Rat, err error) {
	if b, err = figure(c, "before", before); err != nil {
		return nil, nil, err
	}
	a, err = figure(c, "after", after)
	return b, a, err
}

// figure reads a flag that holds a measured value: a decimal or a count
// (loop.md R-NUM-3).
func figure(c *cli.Context, flag, text string) (*big.Rat, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	score, err := verdict.ParseScore(text)
	if err != nil {
		return nil, inFlag(flag, err)
	}
	return score.Value(), nil
}

// difference reads a flag that holds a delta: a decimal, a count or a ratio as
// decide prints it.
func difference(c *cli.Context, flag, text string) (*big.Rat, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	delta, err := journal.ParseFigure(text)
	if err != nil {
		return nil, inFlag(flag, err)
	}
	return delta, nil
}

// inFlag says which flag an error is about.
func inFlag(flag string, err error) error {
	return fault.New(fault.KindOf(err), fault.HintOf(err), "--%s: %w", flag, err)
}

// wantFlags refuses a command line that lacks one of these flags.
func wantFlags(c *cli.Context, names ...string) error {
	for _, name := range names {
		if !c.IsSet(name) {
			return fault.New(fault.Usage, seeHelp(c.Command.HelpName), "%s: --%s is missing", c.Command.HelpName, name)
		}
	}
	return nil
}
