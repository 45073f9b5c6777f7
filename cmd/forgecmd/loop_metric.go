package forgecmd

import (
	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/metric"
	"forge/loop/verdict"
)

// metricCommand is `forge loop metric` (loop.md section 7).
func metricCommand(env *Env) *cli.Command {
	var baseline, named string
	return &cli.Command{
		Name:      "metric",
		Usage:     "find the number in a metric's output and compare it with a baseline",
		ArgsUsage: "OUTPUT|-",
		UsageText: "--baseline V",
		Description: about{
			Text: "The number stands alone on a line as METRIC name=number. Without any such line the output\n" +
				"must hold exactly one number, or the last one of the last line counts, with a warning.",
			Exits:   exits{1: "no readable measurement"},
			Example: "echo 'METRIC ns=118' | forge loop metric - --baseline 120 --direction lower_is_better",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "baseline", Destination: &baseline, Usage: "value `V` to compare with"},
			&cli.StringFlag{Name: "direction", Usage: "`D`: higher_is_better or lower_is_better; default higher_is_better"},
			&cli.StringFlag{Name: "name", Usage: "take the marker `NAME` and nothing else"},
			configFlag(&named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if baseline == "" {
				return fault.New(fault.Usage, "--baseline V", "no baseline given")
			}
			against, err := verdict.ParseScore(baseline)
			if err != nil {
				return fault.New(fault.Usage, fault.HintOf(err), "baseline: %w", err)
			}
			cfg, err := env.plumbingConfig(named, givenFlags(c, map[string]string{"direction": "metric.direction", "name": "metric.name"}))
			if err != nil {
				return err
			}
			output, err := env.readInput(c.Args().First(), cfg.Metric.OutputLimit)
			if err != nil {
				return err
			}
			reading, err := metric.Read(output, cfg.Metric.Name)
			if err != nil {
				return err
			}
			return env.PrintJSON(metric.Compare(reading, against.Value(), cfg.Metric.Direction))
		},
	}
}
