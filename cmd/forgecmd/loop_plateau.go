package forgecmd

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/loop/verdict"
)

// plateauCommand is `forge loop plateau` (loop.md R-PLATEAU-1 to 3).
func plateauCommand(env *Env) *cli.Command {
	var window int
	return &cli.Command{
		Name:      "plateau",
		Usage:     "tell whether the last experiments of a history kept nothing",
		ArgsUsage: "HISTORY|-",
		Description: about{
			Text:    historyForms + " DEFERRED records do not count.",
			Example: "forge loop plateau .forge/runs/r1-k3fq/history",
		}.String(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "window", Value: 3, Destination: &window, Usage: "experiments in a row, `N`; default 3"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			all, err := env.readHistory(c.Args().First())
			if err != nil {
				return err
			}
			decisions, err := all.Decisions()
			if err != nil {
				return fmt.Errorf("%q: %w", c.Args().First(), err)
			}
			plateau, err := verdict.FindPlateau(decisions, window)
			if err != nil {
				return err
			}
			return env.PrintJSON(plateau)
		},
	}
}
