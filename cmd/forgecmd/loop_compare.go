package forgecmd

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"forge/gitstore/evals"
)

// compareCommand is `forge loop compare` (loop.md section 6).
func compareCommand(env *Env) *cli.Command {
	var text bool
	return &cli.Command{
		Name:      "compare",
		Usage:     "set the gradings of both sides side by side, regressions first",
		ArgsUsage: "DIR",
		Description: about{
			Text:    "An eval passes a side if all its assertions do. A directory without gradings is a report of zeros.",
			Example: "forge loop compare workspace --text",
		}.String(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "text", Destination: &text, Usage: "print a form for people"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			name := c.Args().First()
			compared, err := evals.Compare(os.DirFS(env.Path(name)))
			if err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
			if text && !env.JSON {
				_, err := io.WriteString(env.Stdout, compared.Text())
				return err
			}
			return env.PrintJSON(compared)
		},
	}
}
