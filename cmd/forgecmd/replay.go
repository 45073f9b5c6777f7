package forgecmd

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop"
)

// replayCommand is `forge replay` (CLI.md, reading the history).
func replayCommand(env *Env) *cli.Command {
	var f againFlags
	return &cli.Command{
		Name:      "replay",
		Usage:     "measure a recorded candidate again beside its baseline",
		ArgsUsage: "EXP",
		Category:  groupHistory,
		Description: about{
			Text: "Measures both sides as the run froze how, decides again and shows the recorded figures beside the new\n" +
				"ones. Another verdict is an answer too: exit 0. Nothing of the run is written; guards and the invariant\n" +
				"are not asked again. EXP is exp-003, of the only open or the newest run, or RUN/exp-003.",
			Exits: exits{
				1: "a side gave no number this time",
				3: "a command of the run that is not trusted",
			},
			Example: "forge replay r1-k3fq/exp-003",
		}.String(),
		Flags: f.flags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			run, experiment, number, err := loop.ParseExperiment(c.Args().First())
			if err != nil {
				return err
			}
			f.read(c)
			return env.withRun(c.Context, run, f, func(e *loop.Engine, r loop.RunRef, setup loop.Setup) error {
				replay, err := e.Replay(c.Context, loop.ReplayRequest{
					Run: r, Setup: setup, Experiment: experiment, Number: number,
					Begin: func(work string) { env.say("measuring again: %s", work) },
				})
				if err != nil {
					return err
				}
				return env.printReplay(replay)
			})
		},
	}
}

// printReplay shows both measurements side by side.
func (env *Env) printReplay(v loop.Replay) error {
	for _, name := range v.Warnings {
		env.Warn("%s", loop.WarningText(name))
	}
	if len(v.NoResult) > 0 {
		env.Warn("no result this time, so left out on both sides: %s", visible(strings.Join(v.NoResult, ", ")))
	}
	if env.JSON {
		if err := env.PrintJSON(v); err != nil {
			return err
		}
	} else {
		env.printFigures(v)
	}
	if v.Again.Delta == nil {
		return negative{fault.Failed}
	}
	return nil
}

func (env *Env) printFigures(v loop.Replay) {
	out := env.Stdout
	fmt.Fprintf(out, "%s/%s on %s\n", v.Run, v.Experiment, v.Target)
	row := func(name, recorded, again string) {
		if recorded != "" || again != "" {
			fmt.Fprintf(out, "%-12s %-16s %s\n", name, firstOf(recorded, "-"), firstOf(again, "-"))
		}
	}
	row("", "recorded", "again")
	row("baseline", v.Recorded.Baseline, v.Again.Baseline)
	row("candidate", v.Recorded.Candidate, v.Again.Candidate)
	row("noise floor", v.Recorded.NoiseFloor, v.Again.NoiseFloor)
	row("delta", deltaText(v.Recorded), deltaText(v.Again))
	row("threshold", v.Recorded.Threshold, v.Again.Threshold)
	row("decision", v.Recorded.Decision, v.Again.Decision)
	for _, side := range []struct{ name, reason string }{{"recorded", v.Recorded.Reason}, {"again", v.Again.Reason}} {
		if side.reason != "" {
			fmt.Fprintf(out, "%s: %s\n", side.name, visible(side.reason))
		}
	}
	if v.Same {
		fmt.Fprintf(out, "the verdict is the same: %s\n", v.Again.Decision)
	} else {
		fmt.Fprintf(out, "the verdict would be another: %s instead of %s\n", v.Again.Decision, v.Recorded.Decision)
	}
}

func deltaText(f loop.ReplayFigure) string {
	if f.Delta == nil {
		return ""
	}
	if text := f.Delta.String(); text != "0" && !strings.HasPrefix(text, "-") {
		return "+" + text
	}
	return f.Delta.String()
}
