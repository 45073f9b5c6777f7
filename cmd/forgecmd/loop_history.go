package forgecmd

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/history"
	"forge/loop/journal"
)

// historyForms says what a HISTORY is.
const historyForms = "HISTORY is a file of one JSON record per line, a folder of such segments, or a history.json\n" +
	`of the form {"experiments": [...]}.`

// readHistory reads a HISTORY (loop.md R-SEG-3, R-HIST-2).
func (env *Env) readHistory(name string) (history.History, error) {
	parts, err := env.readLog(name, journal.HistoryLog())
	if err != nil {
		return history.History{}, err
	}
	return history.Read(parts...)
}

// keepFlag is --keep of the history's commands.
func keepFlag(keep *int) cli.Flag {
	return &cli.IntFlag{Name: "keep", Value: 5, Destination: keep, Usage: "the last `N` stay in full; default 5"}
}

// compactCommand is `forge loop compact` (loop.md R-HIST-3).
func compactCommand(env *Env) *cli.Command {
	var keep int
	return &cli.Command{
		Name:      "compact",
		Usage:     "reduce the older records of a history, and archive them in full",
		ArgsUsage: "FILE",
		Description: about{
			Text: "FILE is a file of one JSON record per line, or a history.json. The archive is history.archive.jsonl beside\n" +
				"it. A second call changes nothing. The folders of a run are never compacted.",
			Exits:   writerExits(),
			Example: "forge loop compact history.jsonl --keep 8",
		}.String(),
		Flags: []cli.Flag{keepFlag(&keep)},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			name := c.Args().First()
			switch {
			case env.isFolder(name):
				return fault.New(fault.Usage, "give a single file", "%q is a folder of segments, which are never rewritten", name)
			case name == "-":
				return fault.New(fault.Usage, "give a file", "a history from standard input cannot be written back")
			}
			var done history.Compaction
			err := env.alone(c.Context, name, func() (err error) {
				done, err = env.compact(name, keep)
				return err
			})
			if err != nil {
				return err
			}
			return env.PrintJSON(done)
		},
	}
}

// compact writes the archive first: what a kill leaves behind is a record in
// both places, which the next call archives no second time.
func (env *Env) compact(name string, keep int) (history.Compaction, error) {
	before, err := env.readHistory(name)
	if err != nil {
		return history.Compaction{}, err
	}
	archive, err := env.readOptional(filepath.Join(filepath.Dir(name), "history.archive.jsonl"))
	if err != nil {
		return history.Compaction{}, err
	}
	done, err := before.Compact(keep, archive)
	if err != nil {
		return done, err
	}
	if done.Archive != nil {
		if err := env.writeFile(archive.Name, done.Archive); err != nil {
			return done, err
		}
	}
	if !done.Changed(before) {
		return done, nil
	}
	data, err := done.History.Encode()
	if err != nil {
		return done, err
	}
	return done, env.writeFile(name, data)
}

// agentHistoryCommand is `forge loop agent-history` (loop.md R-HIST-4,
// R-HIST-5).
func agentHistoryCommand(env *Env) *cli.Command {
	var keep int
	var named string
	return &cli.Command{
		Name:      "agent-history",
		Usage:     "print a history as a proposer needs it: the newest in full, the rest in brief",
		ArgsUsage: "HISTORY|-",
		Description: about{
			Text:    historyForms,
			Example: "forge loop agent-history history.jsonl --keep 3",
		}.String(),
		Flags: []cli.Flag{keepFlag(&keep), directionFlag(), configFlag(&named)},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			direction, err := env.direction(c, named)
			if err != nil {
				return err
			}
			all, err := env.readHistory(c.Args().First())
			if err != nil {
				return err
			}
			view, err := all.ForAgent(keep, direction)
			if err != nil {
				return err
			}
			return env.PrintJSON(view)
		},
	}
}

// groupHistoryCommand is `forge loop group-history` (loop.md R-HIST-6).
func groupHistoryCommand(env *Env) *cli.Command {
	var named string
	return &cli.Command{
		Name:      "group-history",
		Usage:     "print a history by category, with the best experiment of each",
		ArgsUsage: "HISTORY|-",
		Description: about{
			Text:    historyForms,
			Example: "forge loop group-history .forge/runs/r1-k3fq/history",
		}.String(),
		Flags: []cli.Flag{directionFlag(), configFlag(&named)},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			direction, err := env.direction(c, named)
			if err != nil {
				return err
			}
			all, err := env.readHistory(c.Args().First())
			if err != nil {
				return err
			}
			groups, err := all.ByCategory(direction)
			if err != nil {
				return err
			}
			return env.PrintJSON(groups)
		},
	}
}
