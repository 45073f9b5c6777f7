package forgecmd

import (
	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/loop/verdict"
)

// barKeys maps the flags of `forge loop decide` to the keys they set.
func barKeys() map[string]string {
	return map[string]string{
		"improvement":    "run.improvement_threshold",
		"regression":     "run.regression_threshold",
		"near-miss-band": "run.near_miss_band",
		"noise-floor":    "run.noise_floor",
		"resolution":     "run.resolution",
		"boundary":       "run.boundary",
		"direction":      "metric.direction",
		"relative":       "run.relative",
	}
}

// decideCommand is `forge loop decide` (loop.md section 2).
func decideCommand(env *Env) *cli.Command {
	var candidate, baseline, named, weight string
	return &cli.Command{
		Name:      "decide",
		Usage:     "hold a candidate's score against its baseline: KEEP, REVERT or NEUTRAL",
		UsageText: "--candidate V --baseline V",
		Description: about{
			Text: "V is a decimal, a count like 6/9, or @FILE, a score file. Counts are compared exactly,\n" +
				"decimals within 1e-9. A threshold is a decimal or a ratio like 3/101.",
			Example: "forge loop decide --candidate 7/9 --baseline 5/9",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "candidate", Destination: &candidate, Usage: "score `V` of the candidate"},
			&cli.StringFlag{Name: "baseline", Destination: &baseline, Usage: "score `V` it is compared with"},
			configFlag(&named),
			&cli.StringFlag{Name: "improvement", Usage: "smallest gain to keep, `V`; default 0.02"},
			&cli.StringFlag{Name: "regression", Usage: "smallest loss to revert, `V`; default 0.05"},
			&cli.StringFlag{Name: "near-miss-band", Usage: "width `V` below the bar that is a near miss; default 0.02"},
			&cli.StringFlag{Name: "noise-floor", Usage: "measured spread `V` a gain must exceed; default 0"},
			&cli.StringFlag{Name: "resolution", Usage: "smallest difference `V` the evals can show; default: computed from counts"},
			&cli.StringFlag{Name: "smallest-weight", Destination: &weight, Usage: "smallest weight `W` of an assertion, with counts; default 1"},
			&cli.StringFlag{Name: "boundary", Usage: "`B`: inclusive or strict; default inclusive"},
			&cli.StringFlag{Name: "direction", Usage: "`D`: higher_is_better or lower_is_better; default higher_is_better"},
			&cli.BoolFlag{Name: "relative", Usage: "divide the difference by the baseline"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			cfg, err := env.plumbingConfig(named, givenFlags(c, barKeys()))
			if err != nil {
				return err
			}
			request := requestOf(cfg)
			request.Candidate, request.Baseline, request.SmallestWeight = candidate, baseline, weight
			request.ReadFile = func(name string) ([]byte, error) { return env.readInput(name, maxInput) }
			decided, err := request.Decide()
			if err != nil {
				return err
			}
			return env.PrintJSON(decided)
		},
	}
}

// requestOf is the request of a configuration, without its two sides.
func requestOf(cfg *config.Config) verdict.Request {
	return verdict.Request{
		Improvement:  cfg.Value("run.improvement_threshold"),
		Regression:   cfg.Value("run.regression_threshold"),
		NearMissBand: cfg.Value("run.near_miss_band"),
		NoiseFloor:   cfg.Value("run.noise_floor"),
		Resolution:   cfg.Value("run.resolution"),
		Boundary:     cfg.Value("run.boundary"),
		Direction:    cfg.Value("metric.direction"),
		Relative:     cfg.Run.Relative,
	}
}
