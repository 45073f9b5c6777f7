package forgecmd

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop/snapshot"
)

// snapshotFlags are those all three commands on snapshots have.
type snapshotFlags struct {
	version, run string
	dir          string // the seed's --snapshot-dir
}

func (f *snapshotFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "version", Destination: &f.version, Usage: "`VERSION` of the state, such as pre-exp-001"},
		&cli.StringFlag{Name: "run", Destination: &f.run, Value: snapshot.ManualRun, Usage: "`RUN` the version belongs to"},
		&cli.StringFlag{Name: "snapshot-dir", Destination: &f.dir, Hidden: true},
	}
}

// check refuses what a call lacks, and the directory of seed 001.
func (f *snapshotFlags) check(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	if c.IsSet("snapshot-dir") {
		return fault.New(fault.Usage, "leave --snapshot-dir out; name the run with --run", "snapshots are commits, there is no directory")
	}
	if f.version == "" {
		return fault.New(fault.Usage, "--version pre-exp-001", "which version is not said")
	}
	return nil
}

// snapshotCommand is `forge loop snapshot` (loop.md section 8).
func snapshotCommand(env *Env) *cli.Command {
	var f snapshotFlags
	var target string
	var ignored bool
	return &cli.Command{
		Name:  "snapshot",
		Usage: "keep the state of files as a commit of its own; HEAD and index stay as they are",
		Description: about{
			Text: "The commit has no parent and holds these files alone, so the same state has the same tree id.\n" +
				"A version is never overwritten by another state.",
			Example: "forge loop snapshot --target src/limits.conf --version pre-exp-001",
		}.String(),
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "target", Destination: &target, Usage: "files to keep: a path or `GLOB` from the repository's root"},
			&cli.BoolFlag{Name: "include-ignored", Destination: &ignored, Usage: "keep files that git ignores, too"},
		}, f.flags()...),
		Action: func(c *cli.Context) error {
			if err := f.check(c); err != nil {
				return err
			}
			if target == "" {
				return fault.New(fault.Usage, "--target PATH|GLOB", "what to keep is not said")
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			scope, err := repo.NewScope(target, ignored)
			if err != nil {
				return err
			}
			taken, err := snapshot.Take(c.Context, repo, f.run, f.version, scope)
			if err != nil {
				return err
			}
			if taken.FileCount == 0 {
				env.Warn("empty_scope: --target %q matches no file", target)
			}
			return env.PrintJSON(taken)
		},
	}
}

// diffCommand is `forge loop diff`.
func diffCommand(env *Env) *cli.Command {
	var f snapshotFlags
	var out string
	return &cli.Command{
		Name:  "diff",
		Usage: "compare the files of a snapshot with what they are now; by tree ids, so nothing is overlooked",
		Description: about{
			Example: "forge loop diff --version pre-exp-001 --out change.patch",
		}.String(),
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "out", Destination: &out, Usage: "write a diff that git apply takes to `FILE`"},
		}, f.flags()...),
		Action: func(c *cli.Context) error {
			stored, err := env.findSnapshot(c, &f)
			if err != nil {
				return err
			}
			difference, text, err := stored.Diff(c.Context)
			if err != nil {
				return err
			}
			if out != "" {
				if err := env.writeFile(out, text); err != nil {
					return err
				}
				difference.DiffPath = &out
			}
			return env.PrintJSON(difference)
		},
	}
}

// findSnapshot is the snapshot that flags name.
func (env *Env) findSnapshot(c *cli.Context, f *snapshotFlags) (snapshot.Stored, error) {
	if err := f.check(c); err != nil {
		return snapshot.Stored{}, err
	}
	repo, err := env.openRepo(c.Context)
	if err != nil {
		return snapshot.Stored{}, err
	}
	return snapshot.Find(c.Context, repo, f.run, f.version)
}

// revertCommand is `forge loop revert`.
func revertCommand(env *Env) *cli.Command {
	var f snapshotFlags
	var yes, dry, force bool
	return &cli.Command{
		Name:  "revert",
		Usage: "make the files of a snapshot what they were; says first what would go, and asks",
		Description: about{
			Text: "Each path that would be overwritten, deleted or created is listed on standard error, and marked where\n" +
				"no commit that HEAD reaches holds the bytes that go. Nothing outside the snapshot's scope is touched.",
			Exits:   exits{1: "you said no; nothing was changed", 3: "something that is not the snapshot's stands in the way; nothing was changed", 4: "a file changed meanwhile"},
			Example: "forge loop revert --version pre-exp-001 --dry-run",
		}.String(),
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "yes", Destination: &yes, Usage: "do not ask"},
			&cli.BoolFlag{Name: "dry-run", Destination: &dry, Usage: "print what would be done, write nothing"},
			&cli.BoolFlag{Name: "force", Destination: &force, Usage: "delete ignored files that stand in the way, never another repository"},
		}, f.flags()...),
		Action: func(c *cli.Context) error {
			stored, err := env.findSnapshot(c, &f)
			if err != nil {
				return err
			}
			drop := gitstore.KeepIgnored
			if force {
				drop = gitstore.DropIgnored
			}
			plan, err := stored.PlanRevert(c.Context, drop)
			if err != nil {
				return err
			}
			if dry {
				return env.PrintJSON(plan.Document())
			}
			return env.revert(c.Context, plan, yes)
		},
	}
}

// revert shows the plan, asks unless yes was said, and carries it out.
func (env *Env) revert(ctx context.Context, plan snapshot.Plan, yes bool) error {
	for _, step := range plan.Steps {
		mark := ""
		if step.Uncommitted {
			mark = " (not in any commit)"
		}
		fmt.Fprintf(env.Stderr, "%s %s%s\n", step.Word, visible(step.Path), mark)
	}
	if len(plan.Steps) > 0 && !yes {
		if !env.Terminal {
			return fault.New(fault.Usage, "--yes", "forge loop revert asks on a terminal only; nothing was changed")
		}
		fmt.Fprintf(env.Stderr, "Go on? [y/N] ")
		answer, _ := bufio.NewReader(env.Stdin).ReadString('\n') // end of input is a no
		if said := strings.ToLower(strings.TrimSpace(answer)); said != "y" && said != "yes" {
			return fault.New(fault.Failed, "", "nothing was changed")
		}
	}
	done, err := plan.Act(ctx)
	if err != nil {
		return err
	}
	return env.PrintJSON(done)
}
