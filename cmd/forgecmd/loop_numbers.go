package forgecmd

import (
	"math/big"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/metric"
	"forge/loop/verdict"
)

// resolutionCommand is `forge loop resolution` (loop.md R-RES-1).
func resolutionCommand(env *Env) *cli.Command {
	var assertions, flips int
	return &cli.Command{
		Name:      "resolution",
		Usage:     "print the smallest difference a number of assertions can show",
		UsageText: "--assertions N",
		Description: about{
			Example: "forge loop resolution --assertions 9",
		}.String(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "assertions", Destination: &assertions, Usage: "number `N` of assertions, 1 or more"},
			&cli.IntFlag{Name: "flips", Value: 2, Destination: &flips, Usage: "assertions that must change, `N`; default 2"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			if !c.IsSet("assertions") {
				return fault.New(fault.Usage, "--assertions N", "no number of assertions given")
			}
			resolution, err := verdict.Resolution(assertions, flips)
			if err != nil {
				return err
			}
			return env.PrintJSON(resolution)
		},
	}
}

// noiseFloorCommand is `forge loop noise-floor` (loop.md R-NOISE-1).
func noiseFloorCommand(env *Env) *cli.Command {
	var named string
	return &cli.Command{
		Name:      "noise-floor",
		Usage:     "print the spread of 3 to 10 readings of one unchanged state",
		ArgsUsage: "VALUE...",
		Description: about{
			Example: "forge loop noise-floor 101 103 100 104 102",
		}.String(),
		Flags: []cli.Flag{
			configFlag(&named),
			&cli.BoolFlag{Name: "relative", Usage: "divide the spread by the median"},
		},
		Action: func(c *cli.Context) error {
			cfg, err := env.plumbingConfig(named, givenFlags(c, map[string]string{"relative": "run.relative"}))
			if err != nil {
				return err
			}
			values := make([]*big.Rat, c.NArg())
			for i, text := range c.Args().Slice() {
				if values[i], err = verdict.ParseNumber(text); err != nil {
					return err
				}
			}
			floor, err := metric.NoiseFloor(values, cfg.Run.Relative)
			if err != nil {
				return err
			}
			return env.PrintJSON(floor)
		},
	}
}
