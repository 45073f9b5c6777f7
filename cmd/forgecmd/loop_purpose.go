package forgecmd

import (
	"time"

	"github.com/urfave/cli/v2"

	"forge/loop/purpose"
)

// purposeFlags are the flags of `forge loop purpose-append`.
type purposeFlags struct {
	change                         purpose.Change
	before, after, delta, rejected string
	named                          string
}

// recorded is the document of `forge loop purpose-append` for a new entry.
type recorded struct {
	Appended     bool     `json:"appended"`
	Experiment   string   `json:"experiment"`
	Category     string   `json:"category"`
	Predecessors []string `json:"predecessors"` // names of the rejected experiments listed with it
	Path         string   `json:"path"`
}

// notRecorded is the document for one that was there (loop.md R-PURPOSE-3).
type notRecorded struct {
	Appended   bool   `json:"appended"`
	Reason     string `json:"reason"`
	Experiment string `json:"experiment"`
}

// purposeAppendCommand is `forge loop purpose-append` (loop.md R-PURPOSE-1 to
// R-PURPOSE-5).
func purposeAppendCommand(env *Env) *cli.Command {
	var f purposeFlags
	x := &f.change
	return &cli.Command{
		Name:      "purpose-append",
		Usage:     "record in a skill's PURPOSE.md why a kept change is there",
		ArgsUsage: "FILE",
		Description: about{
			Text: "Each run and experiment is recorded once; a second call changes nothing. With --rejected the entry lists the\n" +
				"rejected experiments of its category since the last entry of that category. The score stands there if both\n" +
				"figures are given.",
			Exits:   writerExits(),
			Example: "forge loop purpose-append skills/pdf/PURPOSE.md --experiment exp-005 --category examples --mutation-type example_add --hypothesis 'Add a worked example' --before 0.72 --after 0.79 --rejected rejected.jsonl",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "experiment", Destination: &x.Experiment, Usage: "name `EXP` of the experiment"},
			&cli.StringFlag{Name: "category", Destination: &x.Category, Usage: "`CATEGORY` of the change"},
			&cli.StringFlag{Name: "mutation-type", Destination: &x.MutationType, Usage: "kind `TYPE` of the change, as example_add"},
			&cli.StringFlag{Name: "hypothesis", Destination: &x.Hypothesis, Usage: "`TEXT`: why it should help"},
			&cli.StringFlag{Name: "section", Destination: &x.Section, Usage: "heading `TEXT` of what was changed"},
			&cli.StringFlag{Name: "before", Destination: &f.before, Usage: "figure `V` of the baseline: a decimal, or a count like 4/9"},
			&cli.StringFlag{Name: "after", Destination: &f.after, Usage: "figure `V` of the kept change"},
			&cli.StringFlag{Name: "delta", Destination: &f.delta, Usage: "gain `V`, positive is better; default: after - before, turned by the direction"},
			directionFlag(),
			&cli.StringFlag{Name: "run", Destination: &x.Run, Usage: "`RUN` the experiment belongs to"},
			&cli.StringFlag{Name: "rejected", Destination: &f.rejected, Usage: "look for rejected experiments in `FILE`, or in a folder of segments"},
			&cli.StringSliceFlag{Name: "knowledge", Usage: "`ID` of a claim the change rests on; may be repeated"},
			&cli.StringFlag{Name: "pattern", Destination: &x.Pattern, Usage: "`ID` of the pattern it follows"},
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if err := wantFlags(c, "experiment", "category", "mutation-type", "hypothesis"); err != nil {
				return err
			}
			if err := env.fillChange(c, &f); err != nil {
				return err
			}
			return env.appendPurpose(c, f.change)
		},
	}
}

// fillChange reads the flags that are no plain text.
func (env *Env) fillChange(c *cli.Context, f *purposeFlags) (err error) {
	x := &f.change
	x.Knowledge, x.Date = c.StringSlice("knowledge"), env.Now().UTC().Format(time.DateOnly)
	if x.Before, x.After, err = figures(c, f.before, f.after); err != nil {
		return err
	}
	if x.Delta, err = difference(c, "delta", f.delta); err != nil {
		return err
	}
	if x.Direction, err = env.direction(c, f.named); err != nil {
		return err
	}
	if f.rejected != "" {
		x.Rejected, err = env.readRejected(f.rejected)
	}
	return err
}

// appendPurpose writes the entry and prints what was done.
func (env *Env) appendPurpose(c *cli.Context, change purpose.Change) error {
	name := c.Args().First()
	var done purpose.Appended
	err := env.alone(c.Context, name, func() error {
		file, err := env.readOptional(name)
		if err != nil {
			return err
		}
		if done, err = purpose.Append(file.Data, change); err != nil || done.Data == nil {
			return err
		}
		return env.writeFile(name, done.Data)
	})
	switch {
	case err != nil:
		return err
	case done.Data == nil:
		return env.PrintJSON(notRecorded{Reason: "already recorded", Experiment: done.Experiment})
	}
	return env.PrintJSON(recorded{true, done.Experiment, done.Category, done.Predecessors, name})
}

// purposeFormatCommand is `forge loop purpose-format` (loop.md R-PURPOSE-6).
func purposeFormatCommand(env *Env) *cli.Command {
	var limit int
	return &cli.Command{
		Name:      "purpose-format",
		Usage:     "print an inherited PURPOSE.md as Markdown for a prompt",
		ArgsUsage: "FILE",
		Description: about{
			Text: "What earlier runs on the skill kept and rejected, marked as weaker evidence. Without a file or an entry,\n" +
				"and with --limit 0, nothing is printed. No text of the file can begin a line.",
			Example: "forge loop purpose-format skills/pdf/PURPOSE.md",
		}.String(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Value: 10, Destination: &limit, Usage: "the last `N` of each list; default 10"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			file, err := env.readOptional(c.Args().First())
			if err != nil {
				return err
			}
			text, err := purpose.Format(file.Data, limit)
			if err != nil {
				return err
			}
			return env.printMarkdown(text)
		},
	}
}
