package forgecmd

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop"
)

// bisectCommand is `forge bisect` (CLI.md, reading the history).
func bisectCommand(env *Env) *cli.Command {
	var f againFlags
	var run string
	return &cli.Command{
		Name:      "bisect",
		Usage:     "find the kept change of a run that broke an eval",
		ArgsUsage: "EVAL",
		Category:  groupHistory,
		Description: about{
			Text: "Measures the one eval at states the run kept, by binary search, as the run froze how: its runner, its\n" +
				"evals, its seed. An eval passes where all its checks do. EVAL is an id of the run's evals file. Nothing\n" +
				"of the run is written. An eval that breaks, is mended and breaks again is broken by one of these changes.",
			Exits: exits{
				1: "no kept change broke it: it passes at the end, or fails at the base; or a state gave no result",
				3: "a command of the run that is not trusted",
			},
			Example: "forge bisect q4 --run r1-k3fq",
		}.String(),
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "run", Destination: &run, Usage: "`RUN` to look in; default: the only open run, else the newest"},
		}, f.flags()...),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			f.read(c)
			return env.withRun(c.Context, run, f, func(e *loop.Engine, r loop.RunRef, setup loop.Setup) error {
				found, err := e.Bisect(c.Context, loop.BisectRequest{
					Run: r, Setup: setup, Eval: c.Args().First(),
					Begin: func(states, most int, split evals.Split) {
						if split == evals.Test {
							env.Warn("%q is of the test split: what you change after looking at it is measured on it no more", c.Args().First())
						}
						env.say("the base and %s: measuring at most %d of %d", count(states-1, "kept change"), most, states)
					},
					Measured: func(s loop.BisectState) { env.say("%s", s) },
				})
				if err != nil {
					return err
				}
				return env.printBisection(found)
			})
		},
	}
}

// printBisection gives the answer; one that names no change is a negative one.
func (env *Env) printBisection(b loop.Bisection) error {
	if env.JSON {
		if err := env.PrintJSON(b); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(env.Stdout, "%s\nmeasured %d of %s\n", bisectionText(b), b.Measurements, count(b.States, "state"))
		if b.Answer == loop.EvalBroken {
			fmt.Fprintf(env.Stdout, "show: forge show %s/%s\n", b.Run, b.Experiment)
		}
	}
	if b.Answer != loop.EvalBroken {
		return negative{fault.Failed}
	}
	return nil
}

func bisectionText(b loop.Bisection) string {
	switch b.Answer {
	case loop.EvalBroken:
		return fmt.Sprintf("%s broke eval %q\n%s %s", b.Experiment, b.Eval, short(b.Commit), visible(b.Subject))
	case loop.EvalFailsAtBase:
		return fmt.Sprintf("eval %q fails already at the base of run %s: no kept change broke it", b.Eval, b.Run)
	}
	return fmt.Sprintf("eval %q passes with everything run %s kept: nothing broke it", b.Eval, b.Run)
}
