package forgecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
)

// landCommand is `forge land`.
func landCommand(env *Env) *cli.Command {
	var as, onto, patches string
	return &cli.Command{
		Name:      "land",
		Usage:     "bring what a run kept to your branch; never stashes, never resets",
		ArgsUsage: "[RUN]",
		Category:  groupImprove,
		Description: about{
			Text: "--as kept: one commit per kept change, with its figures. --as squash: all of them in one commit.\n" +
				"--as full: the run's own branch, merged with what you committed meanwhile.\n" +
				"A branch that is checked out is moved by git merge --ff-only, so work in progress stays or git refuses.\n" +
				"What you changed in the same files meanwhile is merged; the result is then not the one that was measured.\n" +
				"--patch DIR writes the same commits for git am and moves no branch.",
			Exits: exits{
				1: "what you changed meanwhile conflicts, or git refused for another reason, which is printed; nothing moved",
				3: "local changes are in the way, or a merge or rebase is under way; nothing moved",
				4: "the branch moved while forge landed; nothing moved",
			},
			Example: "forge land r1-k3fq",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "as", Value: "kept", Destination: &as, Usage: "`FORM`: kept, squash or full"},
			&cli.StringFlag{Name: "onto", Destination: &onto, Usage: "`BRANCH` to move; default: the one the run began on"},
			&cli.StringFlag{Name: "patch", Destination: &patches, Usage: "write mail patches into the new or empty `DIR` instead"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			form, err := loop.ParseLandAs(as)
			if err != nil {
				return err
			}
			if c.IsSet("patch") {
				if err := checkEmptyDir(env.Path(patches), patches); err != nil {
					return err
				}
			}
			e, r, err := env.openRun(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			landed, err := e.Land(c.Context, loop.LandRequest{Run: r, As: form, Onto: onto, Mails: c.IsSet("patch")})
			if err != nil {
				return err
			}
			if landed.Patches, err = env.writeMails(patches, landed.Mails); err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(landed)
			}
			if len(landed.Patches) > 0 {
				env.printPatches(landed)
				return nil
			}
			env.printLanded(landed)
			return nil
		},
	}
}

// checkEmptyDir refuses a directory that holds something: a patch of an
// earlier landing among the new ones would be applied with them.
func checkEmptyDir(path, typed string) error {
	if typed == "" {
		return fault.New(fault.Usage, "--patch DIR", "--patch wants the name of a directory")
	}
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.Usage, "name another directory", "--patch %q: %w", typed, err)
	case len(entries) > 0:
		return fault.New(fault.Usage, "name a new directory", "--patch %q is not empty", typed)
	}
	return nil
}

// writeMails writes patches into a directory and returns their paths.
func (env *Env) writeMails(dir string, mails []gitstore.Mail) ([]string, error) {
	paths := []string{}
	if len(mails) == 0 {
		return paths, nil
	}
	if err := os.MkdirAll(env.Path(dir), 0o777); err != nil {
		return nil, fmt.Errorf("make the directory for patches: %w", err)
	}
	for _, mail := range mails {
		path := filepath.Join(dir, mail.Name)
		if err := env.Git.Crash.WriteFile("patch", env.Path(path), mail.Data, 0o666); err != nil {
			return nil, fmt.Errorf("write a patch: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// printPatches says what was written instead of landing.
func (env *Env) printPatches(l loop.Landed) {
	for _, path := range l.Patches {
		fmt.Fprintf(env.Stdout, "%s\n", visible(path))
	}
	fmt.Fprintf(env.Stdout, "wrote %s of run %s for %s at %s; no branch was moved\n", count(len(l.Patches), "patch file"), l.Run, l.Branch, l.Old.Short())
	fmt.Fprintf(env.Stdout, "apply: git am %s\n", filepath.Join(visible(filepath.Dir(l.Patches[0])), "*.patch"))
	env.printTouched(l)
}

func (env *Env) printLanded(l loop.Landed) {
	out := env.Stdout
	if len(l.Commits) == 0 {
		fmt.Fprintf(out, "nothing to land: %s has all that run %s kept\n", l.Branch, l.Run)
		return
	}
	var last loop.LandedCommit // the newest kept change
	printed := gitstore.Hash("")
	for _, c := range l.Commits {
		if c.Commit != printed { // a squash holds several
			fmt.Fprintf(out, "%s %s\n", c.Commit.Short(), visible(c.Subject))
		}
		if printed = c.Commit; c.Experiment != "" {
			last = c
		}
	}
	fmt.Fprintf(out, "landed %d of run %s on %s: %s..%s\n", l.Kept(), l.Run, l.Branch, l.Old.Short(), l.New.Short())
	env.printTouched(l)
	if l.Worktree != "" {
		fmt.Fprintf(out, "undo: git reset --keep %s\n", l.Old.Short())
	} else {
		fmt.Fprintf(out, "undo: git branch -f %s %s\n", l.Branch, l.Old.Short())
	}
	if l.As == loop.LandKept && l.Worktree != "" && last.Commit != "" {
		fmt.Fprintf(out, "undo one: git revert %s\n", last.Commit.Short())
		if l.Kept() > 1 {
			fmt.Fprintf(out, "revert the newest first; an older one may conflict: resolve, then git revert --continue, or git revert --abort\n")
		}
	}
}

// printTouched says that nobody has measured what landed, and how to.
func (env *Env) printTouched(l loop.Landed) {
	switch {
	case !l.Touched:
	case l.Target == "":
		fmt.Fprintf(env.Stdout, "%s had changed the target meanwhile: the result was not measured again\n", l.Branch)
	default:
		fmt.Fprintf(env.Stdout, "%s had changed the target meanwhile: the result was not measured again\nmeasure: forge eval %s --against %s\n",
			l.Branch, l.Target, l.Old.Short())
	}
}
