package forgecmd

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// reportDocument is what `forge report --json` prints.
type reportDocument struct {
	Run      string `json:"run"`
	Markdown string `json:"markdown"`
}

// reportCommand is `forge report`.
func reportCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "the morning report of a run, made from its commits",
		ArgsUsage: "[RUN]",
		Category:  groupImprove,
		Description: about{
			Text:    "RUN left out: the only open run, else the newest. With --json the report's text is one member.",
			Example: "forge report r1-k3fq",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			e, r, err := env.openRun(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			summary, err := e.Summarise(c.Context, r)
			if err != nil {
				return err
			}
			text, err := e.Report(summary)
			if err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(reportDocument{r.Name, string(text)})
			}
			fmt.Fprintf(env.Stdout, "%s", text)
			return nil
		},
	}
}
