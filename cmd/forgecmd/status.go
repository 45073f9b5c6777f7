package forgecmd

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"forge/loop"
	"forge/loop/verdict"
)

// statusDocument is what `forge status --json` prints.
type statusDocument struct {
	Runs []runState `json:"runs"` // newest first
}

// runState is one run of it.
type runState struct {
	Run         string `json:"run"`
	Target      string `json:"target"`
	State       string `json:"state"`  // open, landed, finished, or gone (only its tip is left)
	Reason      string `json:"reason"` // why it ended, "" while it is open
	Branch      string `json:"branch"`
	Tip         string `json:"tip"`
	Experiments int    `json:"experiments"`
	Kept        int    `json:"kept"`
	Last        string `json:"last"` // the newest decision, "" before the first
	Start       string `json:"start"`
	Next        string `json:"next"` // what to type
}

// statusCommand is `forge status`.
func statusCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:     "status",
		Usage:    "the runs of this repository, and what to do next",
		Category: groupStart,
		Description: about{
			Example: "forge status",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			states, err := runStates(c.Context, env.reader(repo))
			if err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(statusDocument{states})
			}
			env.printStatus(states)
			return nil
		},
	}
}

// runStates describes every run, newest first.
func runStates(ctx context.Context, e *loop.Engine) ([]runState, error) {
	runs, err := e.Runs(ctx)
	if err != nil {
		return nil, err
	}
	states := make([]runState, 0, len(runs))
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		experiments, err := e.Experiments(ctx, r)
		if err != nil {
			return nil, err
		}
		s := runState{
			Run: r.Name, Target: r.Config.Target, Reason: string(r.Ended), Branch: strings.TrimPrefix(r.Branch, "refs/heads/"),
			Tip: string(r.Tip), Experiments: len(experiments), Start: r.Config.Baseline.Median,
		}
		for _, x := range experiments {
			s.Last = x.Trailer("Forge-Decision")
			if s.Last == string(verdict.Keep) {
				s.Kept++
			}
		}
		landed := false
		if s.Kept > 0 && !r.Open() {
			if landed, err = e.HasLanded(ctx, r); err != nil {
				return nil, err
			}
		}
		s.State, s.Next = stateOf(r, s.Kept, landed)
		states = append(states, s)
	}
	return states, nil
}

// stateOf is a run's state in a word, and what to type next.
func stateOf(r loop.RunRef, kept int, landed bool) (state, next string) {
	switch {
	case r.Open():
		return "open", "forge run --resume --run " + r.Name
	case landed:
		return "landed", "forge report " + r.Name
	case r.Branch == "" && kept > 0:
		return "gone", "forge land " + r.Name
	case r.Branch == "":
		return "gone", "forge report " + r.Name
	case kept > 0:
		return "finished", "forge land " + r.Name
	}
	return "finished", "forge report " + r.Name
}

func (env *Env) printStatus(states []runState) {
	if len(states) == 0 {
		fmt.Fprintf(env.Stdout, "no run yet; forge run --target GLOB --metric CMD --protect PATH starts one\n")
		return
	}
	table := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range states {
		state := s.State
		if s.Reason != "" {
			state += " (" + s.Reason + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d of %d kept\t%s\n", s.Run, s.Target, state, s.Kept, s.Experiments, s.Next)
	}
	table.Flush()
}
