package forgecmd

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
)

// blameCommand is `forge blame` (CLI.md, reading the history).
func blameCommand(env *Env) *cli.Command {
	var run string
	return &cli.Command{
		Name:      "blame",
		Usage:     "each line of a file: which experiment put it there and what it measured",
		ArgsUsage: "FILE",
		Category:  groupHistory,
		Description: about{
			Text: "Reads what is committed at HEAD, and lines that no experiment wrote are those of their own commits.\n" +
				"With --run it reads the run's tip, landed or not; what stood there before the run is its base's.\n" +
				"The columns: commit, experiment, delta, number and text of the line.",
			Example: "forge blame skills/csv-totals/SKILL.md",
		}.String(),
		Flags: []cli.Flag{&cli.StringFlag{Name: "run", Destination: &run, Usage: "read the file at the tip of `RUN`"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			return env.blame(c.Context, c.Args().First(), run)
		},
	}
}

func (env *Env) blame(ctx context.Context, file, run string) error {
	repo, err := env.openRepo(ctx)
	if err != nil {
		return err
	}
	e := env.reader(repo)
	request := loop.BlameRequest{Files: env.pathsOf(repo, file)}
	if run != "" {
		r, err := e.FindRun(ctx, run)
		if err != nil {
			return err
		}
		request.Run, request.Commit = &r, r.Tip
	} else {
		head, err := repo.Head(ctx)
		if err != nil {
			return err
		}
		if request.Commit = head.Commit; head.Commit == "" {
			return fault.New(fault.Usage, "git add -A && git commit", "this repository has no commit yet")
		}
	}
	blame, err := e.Blame(ctx, request)
	if err != nil {
		return err
	}
	if blame.Shallow {
		env.Warn("the history ends at a shallow boundary, and lines from before it are shown as of there; git fetch --unshallow")
	}
	if env.JSON {
		return env.PrintJSON(blame)
	}
	env.printBlame(blame)
	return nil
}

// pathsOf are the paths from the root that a typed file may mean: as git takes
// it, from the directory of the call, then from the root.
func (env *Env) pathsOf(repo *gitstore.Repo, file string) []string {
	var paths []string
	if full, err := filepath.Abs(env.Path(file)); err == nil && repo.WorkTree() != "" {
		if below, err := filepath.Rel(repo.WorkTree(), full); err == nil && filepath.IsLocal(below) {
			paths = append(paths, filepath.ToSlash(below))
		}
	}
	return append(paths, path.Clean(filepath.ToSlash(file)))
}

// printBlame shows the lines with the columns as wide as they need to be.
func (env *Env) printBlame(b loop.Blame) {
	who := make([]string, len(b.Lines))
	wideWho, wideDelta := 1, 1
	for i, l := range b.Lines {
		who[i] = blamed(l)
		wideWho, wideDelta = max(wideWho, len(who[i])), max(wideDelta, len(l.Delta))
	}
	wideLine := len(fmt.Sprint(len(b.Lines)))
	for i, l := range b.Lines {
		delta := l.Delta
		if delta == "" {
			delta = "-"
		}
		line := fmt.Sprintf("%s  %-*s  %*s  %*d  %s", short(l.Commit), wideWho, visible(who[i]), wideDelta, visible(delta), wideLine, l.Line, visible(l.Text))
		fmt.Fprintln(env.Stdout, strings.TrimRight(line, " "))
	}
}

// blamed names who put a line there: an experiment, a run's notes, or nobody
// of forge's.
func blamed(l loop.BlameLine) string {
	switch {
	case l.Run == "":
		return "-"
	case len(l.Experiments) == 0:
		return l.Run
	}
	return l.Run + "/" + strings.Join(l.Experiments, ",")
}
