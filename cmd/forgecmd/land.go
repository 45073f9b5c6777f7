package forgecmd

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/loop"
)

// landCommand is `forge land`.
func landCommand(env *Env) *cli.Command {
	var as, onto string
	return &cli.Command{
		Name:      "land",
		Usage:     "bring what a run kept to your branch; never stashes, never resets",
		ArgsUsage: "[RUN]",
		Category:  groupImprove,
		Description: about{
			Text: "--as kept: one commit per kept change, with its figures. --as full: the run's own branch, by fast-forward.\n" +
				"A branch that is checked out is moved by git merge --ff-only, so work in progress stays or git refuses.",
			Exits: exits{
				1: "git refused for another reason, which is printed",
				3: "local changes are in the way, or a merge or rebase is under way; nothing moved",
				4: "the branch moved or changed the target since the run; nothing moved",
			},
			Example: "forge land r1-k3fq",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "as", Value: "kept", Destination: &as, Usage: "`FORM`: kept or full"},
			&cli.StringFlag{Name: "onto", Destination: &onto, Usage: "`BRANCH` to move; default: the one the run began on"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			form, err := loop.ParseLandAs(as)
			if err != nil {
				return err
			}
			e, r, err := env.openRun(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			landed, err := e.Land(c.Context, r, form, onto)
			if err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(landed)
			}
			env.printLanded(landed)
			return nil
		},
	}
}

func (env *Env) printLanded(l loop.Landed) {
	out := env.Stdout
	if len(l.Commits) == 0 {
		fmt.Fprintf(out, "nothing to land: %s has all that run %s kept\n", l.Branch, l.Run)
		return
	}
	for _, k := range l.Commits {
		fmt.Fprintf(out, "%s %s\n", k.Commit.Short(), visible(k.Subject))
	}
	fmt.Fprintf(out, "landed %d of run %s on %s: %s..%s\n", len(l.Commits), l.Run, l.Branch, l.Old.Short(), l.New.Short())
	if l.Worktree != "" {
		fmt.Fprintf(out, "undo: git reset --keep %s\n", l.Old.Short())
	} else {
		fmt.Fprintf(out, "undo: git branch -f %s %s\n", l.Branch, l.Old.Short())
	}
	if l.As == loop.LandKept && l.Worktree != "" {
		fmt.Fprintf(out, "undo one: git revert %s\n", l.Commits[len(l.Commits)-1].Commit.Short())
		if len(l.Commits) > 1 {
			fmt.Fprintf(out, "revert the newest first; an older one may conflict: resolve, then git revert --continue, or git revert --abort\n")
		}
	}
}
