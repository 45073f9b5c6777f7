package forgecmd

import (
	"bytes"
	"io"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/loop/history"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// coverageInitCommand is `forge loop coverage-init` (loop.md R-COV-1).
func coverageInitCommand(env *Env) *cli.Command {
	var text bool
	return &cli.Command{
		Name:      "coverage-init",
		Usage:     "begin the matrix of categories that were tried",
		ArgsUsage: "FILE [CATEGORY...]",
		Description: about{
			Text: "Without a category it has nine: " + strings.Join(history.DefaultCategories(), ", ") + ".\n" +
				"A matrix that is there already keeps its counts and gets the categories named that it lacks.",
			Exits:   writerExits(),
			Example: "forge loop coverage-init coverage-matrix.json --categories workflow,examples",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "categories", Usage: "`NAMES` of categories, with commas between them or the flag repeated"},
			&cli.BoolFlag{Name: "text", Destination: &text, Usage: "print one line for people"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, math.MaxInt); err != nil {
				return err
			}
			var names []string
			for _, list := range c.StringSlice("categories") {
				names = append(names, strings.Split(list, ",")...)
			}
			names = append(names, c.Args().Tail()...)
			return env.changeCoverage(c, text, func(p journal.Part) (history.Coverage, error) {
				if len(p.Data) > 0 {
					matrix, err := history.ReadCoverage(p)
					if err != nil {
						return matrix, err
					}
					return matrix, matrix.Add(names...)
				}
				if len(names) == 0 {
					names = history.DefaultCategories()
				}
				return history.NewCoverage(names)
			})
		},
	}
}

// coverageUpdateCommand is `forge loop coverage-update` (loop.md R-COV-2,
// R-COV-3).
func coverageUpdateCommand(env *Env) *cli.Command {
	var o history.Outcome
	var decision, delta, named string
	var text bool
	return &cli.Command{
		Name:      "coverage-update",
		Usage:     "count one experiment in the matrix of categories",
		ArgsUsage: "FILE",
		Description: about{
			Text: "Prints the matrix. The delta is after - before as it was measured: with lower_is_better it is turned.\n" +
				"A category is saturated after three measured experiments without a gain of 0.01.",
			Exits:   writerExits(),
			Example: "forge loop coverage-update coverage-matrix.json --category workflow --experiment exp-003 --decision NEUTRAL --delta 0.004 --text",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "category", Destination: &o.Category, Usage: "`CATEGORY` of the change; an unknown one is added"},
			&cli.StringFlag{Name: "experiment", Destination: &o.Experiment, Usage: "name `EXP` of the experiment"},
			&cli.StringFlag{Name: "decision", Destination: &decision, Usage: "`D`: KEEP, REVERT, NEUTRAL, SKIP, NO_OP, INVALID or DEFERRED"},
			&cli.StringFlag{Name: "delta", Destination: &delta, Usage: "difference `V`; what was not measured needs none"},
			directionFlag(),
			configFlag(&named),
			&cli.BoolFlag{Name: "text", Destination: &text, Usage: "print one line for people"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if err := wantFlags(c, "category", "experiment", "decision"); err != nil {
				return err
			}
			direction, err := env.direction(c, named)
			if err != nil {
				return err
			}
			if o.Decision, err = verdict.ParseDecision(decision); err != nil {
				return err
			}
			if o.Gain, err = difference(c, "delta", delta); err != nil {
				return err
			}
			if o.Gain != nil {
				o.Gain = journal.Orient(o.Gain, direction)
			}
			return env.changeCoverage(c, text, func(p journal.Part) (history.Coverage, error) {
				matrix, err := history.ReadCoverage(p)
				if err != nil {
					return matrix, err
				}
				return matrix, matrix.Update(o)
			})
		},
	}
}

// changeCoverage writes and prints what change makes of the matrix in the
// first argument.
func (env *Env) changeCoverage(c *cli.Context, text bool, change func(journal.Part) (history.Coverage, error)) error {
	name := c.Args().First()
	var matrix history.Coverage
	err := env.alone(c.Context, name, func() error {
		read := env.readOptional
		if c.Command.Name == "coverage-update" {
			read = env.readPart
		}
		part, err := read(name)
		if err != nil {
			return err
		}
		if matrix, err = change(part); err != nil {
			return err
		}
		data, err := document(matrix)
		if err != nil || bytes.Equal(data, part.Data) {
			return err
		}
		return env.writeFile(name, data)
	})
	if err != nil {
		return err
	}
	if text && !env.JSON {
		_, err := io.WriteString(env.Stdout, matrix.Summary().Text())
		return err
	}
	return env.PrintJSON(matrix)
}
