package forgecmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"forge/gitstore/evals"
)

// scoreFlags are the flags of `forge loop score`.
type scoreFlags struct {
	side, evals, named, out string
	ignore                  bool
}

// scoreCommand is `forge loop score` (loop.md section 5).
func scoreCommand(env *Env) *cli.Command {
	var f scoreFlags
	return &cli.Command{
		Name:      "score",
		Usage:     "add up the gradings of one side into a score file",
		ArgsUsage: "DIR",
		Description: about{
			Text: "Reads every grading.json below DIR with a folder named like the side above it. With --evals each\n" +
				"assertion of the file must have its result. Missing data is an error and never a score.",
			Example: "forge loop score workspace --side with_mutation --evals evals/evals.json --out candidate.json",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "side", Destination: &f.side, Usage: "`SIDE`: with_mutation or baseline; default: both, mixed"},
			&cli.StringFlag{Name: "evals", Destination: &f.evals, Usage: "hold the gradings against the evals of `FILE`, with its weights"},
			&cli.BoolFlag{Name: "ignore-ungraded", Destination: &f.ignore, Usage: "leave out, on both sides, what nothing can grade"},
			&cli.BoolFlag{Name: "use-comparator", Usage: "weigh the judge's rubric of DIR/comparison.json"},
			configFlag(&f.named),
			&cli.StringFlag{Name: "out", Destination: &f.out, Usage: "write the score to `FILE` as well"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			request, err := env.scoreRequest(c, f)
			if err != nil {
				return err
			}
			score, err := request.Score()
			if err != nil {
				return fmt.Errorf("%q: %w", c.Args().First(), err)
			}
			if f.out != "" {
				text, err := document(score)
				if err != nil {
					return err
				}
				if err := env.writeFile(f.out, text); err != nil {
					return err
				}
			}
			if request.Side == "" {
				env.Warn("mixed_sides: no side is given, so both are added up")
			}
			return env.PrintJSON(score)
		},
	}
}

// scoreRequest is the request of the flags and the configuration.
func (env *Env) scoreRequest(c *cli.Context, f scoreFlags) (evals.Request, error) {
	var q evals.Request
	var err error
	if c.IsSet("side") {
		if q.Side, err = evals.ParseSide(f.side); err != nil {
			return q, err
		}
	}
	cfg, err := env.plumbingConfig(f.named, givenFlags(c, map[string]string{"use-comparator": "run.use_comparator"}))
	if err != nil {
		return q, err
	}
	q.Dir = os.DirFS(env.Path(c.Args().First()))
	q.Comparator, q.Gate, q.Runs = cfg.Run.UseComparator, cfg.Run.GateWeights, cfg.Run.RunsPerSide
	q.Means = evals.Means{Judge: q.Comparator || cfg.NamesModel("scorer"), Transcript: true}
	if f.ignore {
		q.Ungraded = evals.IgnoreUngraded
	}
	if c.IsSet("evals") {
		set, err := env.readEvals(f.evals)
		if err != nil {
			return q, err
		}
		q.Evals = &set
	}
	return q, nil
}

// document is a value as it is printed, for a file that holds the same.
func document(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return text.Bytes(), nil
}
