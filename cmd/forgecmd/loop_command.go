package forgecmd

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
)

// maxInput bounds a score file or a history given to `forge loop`, in bytes.
const maxInput = 64 << 20

// loopCommand is `forge loop`: seed 001's subcommands, for people who drive
// the loop with an agent of their own. Each prints one JSON document; files
// are read where -C says.
//
// Source: loop.md.
func loopCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:     "loop",
		Usage:    "run one step of the loop by hand: JSON in, JSON out",
		Category: groupPlumbing,
		Description: about{
			Example: "forge loop decide --candidate 7/9 --baseline 5/9",
		}.String(),
		Subcommands: []*cli.Command{
			decideCommand(env),
			plateauCommand(env),
			resolutionCommand(env),
			noiseFloorCommand(env),
			metricCommand(env),
			splitCommand(env),
			scoreCommand(env),
			compareCommand(env),
			snapshotCommand(env),
			diffCommand(env),
			revertCommand(env),
			checkpointSaveCommand(env),
			checkpointInfoCommand(env),
			regionsCommand(env),
			appendixCommand(env),
			budgetCommand(env),
			invariantsSnapshotCommand(env),
			invariantsCheckCommand(env),
			tsvInitCommand(env),
			tsvAppendCommand(env),
			coverageInitCommand(env),
			coverageUpdateCommand(env),
			compactCommand(env),
			agentHistoryCommand(env),
			groupHistoryCommand(env),
			rejectedAppendCommand(env),
			rejectedFormatCommand(env),
			purposeAppendCommand(env),
			purposeFormatCommand(env),
		},
	}
}

// configFlag is --config of the plumbing (loop.md R-CONF-1).
func configFlag(named *string) cli.Flag {
	return &cli.StringFlag{
		Name: "config", Destination: named,
		Usage: "read `FILE` instead of the repository's .forge/config.toml: TOML, or flat JSON by its extension",
	}
}

// readInput reads the file of that name, or standard input for "-", up to
// limit bytes. A file that cannot be read is bad input; more than limit is a
// failure that says so.
func (env *Env) readInput(name string, limit int64) ([]byte, error) {
	reader := env.Stdin
	if name != "-" {
		file, err := os.Open(env.Path(name))
		if err != nil {
			return nil, fault.New(fault.Usage, "", "read %q: %w", name, err)
		}
		defer file.Close()
		reader = file
	}
	data, err := io.ReadAll(io.LimitReader(reader, limit+1))
	switch {
	case err != nil && name == "-":
		return nil, fmt.Errorf("read standard input: %w", err)
	case err != nil:
		return nil, fault.New(fault.Usage, "", "read %q: %w", name, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%q has more than %d MiB", name, limit>>20)
	}
	return data, nil
}
