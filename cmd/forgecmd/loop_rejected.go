package forgecmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/journal"
)

// rejectedAppendCommand is `forge loop rejected-append` (loop.md R-REJ-1 to
// R-REJ-3).
func rejectedAppendCommand(env *Env) *cli.Command {
	var from string
	return &cli.Command{
		Name:      "rejected-append",
		Usage:     "record what was not kept, for the next prompt",
		ArgsUsage: "FILE",
		Description: about{
			Text: "FILE is one file, or a folder of segments; what is missing of its path is made. The record is a JSON object\n" +
				"with experiment and decision, and as a rule category, mutation_type, near_miss, hypothesis, diff_excerpt,\n" +
				"score_before and score_after. Members that forge does not know are kept.",
			Exits:   writerExits(),
			Example: `echo '{"experiment": "exp-004", "decision": "REVERT", "category": "workflow"}' | forge loop rejected-append rejected.jsonl --from-json -`,
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from-json", Destination: &from, Usage: "read the record from `FILE`, or from standard input for -"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if err := wantFlags(c, "from-json"); err != nil {
				return err
			}
			given, err := env.readPart(from)
			if err != nil {
				return err
			}
			record, err := journal.NewRefused(given.Data, env.stamp())
			if err != nil {
				return fault.New(fault.KindOf(err), fault.HintOf(err), "%s: %w", given.Name, err)
			}
			line, err := record.Line()
			if err != nil {
				return err
			}
			name := c.Args().First()
			if err := os.MkdirAll(filepath.Dir(filepath.Clean(env.Path(name))), 0o777); err != nil {
				return fmt.Errorf("make the folder of %q: %w", name, err)
			}
			if _, err := env.appendLog(c.Context, name, journal.RejectedLog(), line); err != nil {
				return err
			}
			return env.PrintJSON(record)
		},
	}
}

// rejectedFormatCommand is `forge loop rejected-format` (loop.md R-REJ-4).
func rejectedFormatCommand(env *Env) *cli.Command {
	var named string
	return &cli.Command{
		Name:      "rejected-format",
		Usage:     "print the last rejected experiments as Markdown for a prompt",
		ArgsUsage: "FILE",
		Description: about{
			Text: "FILE is one file, or a folder of segments. Without a record, and with --limit 0, nothing is printed.\n" +
				"No text of a record can begin a line.",
			Example: "forge loop rejected-format rejected.jsonl --limit 5",
		}.String(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Usage: "the last `N` records; default 10, or rejected_limit"},
			configFlag(&named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			cfg, err := env.plumbingConfig(named, givenFlags(c, map[string]string{"limit": "run.rejected_limit"}))
			if err != nil {
				return err
			}
			records, err := env.readRejected(c.Args().First())
			if err != nil {
				return err
			}
			text, err := journal.FormatRefused(records, cfg.Run.RejectedLimit)
			if err != nil {
				return err
			}
			return env.printMarkdown(text)
		},
	}
}

// readRejected reads the rejected buffer; before the first rejection there is
// none. Lines that are no record are warnings.
func (env *Env) readRejected(name string) ([]journal.Refused, error) {
	parts, err := env.readLog(name, journal.RejectedLog())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records, skipped := journal.ReadRefused(parts...)
	for _, line := range skipped {
		env.Warn("%s; the line is left out", line)
	}
	return records, nil
}

// printMarkdown prints a text for a prompt, with --json as {"text"} (loop.md
// R-OUT-1).
func (env *Env) printMarkdown(text string) error {
	if env.JSON {
		return env.PrintJSON(struct {
			Text string `json:"text"`
		}{text})
	}
	_, err := io.WriteString(env.Stdout, text)
	return err
}
