package forgecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/gitstore/process"
	"forge/loop/guard"
)

// invariantFlags are the flags of the two invariants commands.
type invariantFlags struct {
	scope, root, out, before, named string
}

// invariantsSnapshotCommand is `forge loop invariants-snapshot` (loop.md
// section 11).
func invariantsSnapshotCommand(env *Env) *cli.Command {
	var f invariantFlags
	return &cli.Command{
		Name:      "invariants-snapshot",
		Usage:     "record protected files, the size of the scope and how the metric is taken",
		UsageText: "--scope S --out FILE",
		Description: about{
			Text:    "Paths are relative to the root of the repository, or to --root. A directory counts with all that\nis in it; a link is its target's name and is never followed.",
			Example: "forge loop invariants-snapshot --scope src --protected tests --out before.json",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "scope", Destination: &f.scope, Usage: "`PATH` or glob of what may change"},
			&cli.StringSliceFlag{Name: "protected", Usage: "`PATH` or glob that must not change; repeatable"},
			&cli.StringFlag{Name: "out", Destination: &f.out, Usage: "write the record to `FILE`"},
			&cli.StringFlag{Name: "root", Destination: &f.root, Usage: "`DIR` that paths are relative to; default: the root of the repository"},
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			if f.scope == "" || f.out == "" {
				return fault.New(fault.Usage, "--scope PATH --out FILE", "the scope and where the record goes must be named")
			}
			cfg, err := env.plumbingConfig(f.named, givenFlags(c, map[string]string{"protected": "metric.protected_paths"}))
			if err != nil {
				return err
			}
			tree, err := env.invariantTree(c.Context, f.root)
			if err != nil {
				return err
			}
			taken, err := guard.TakeInvariants(tree, f.scope, cfg.Metric.ProtectedPaths, metricPin(cfg), cfg.Run.MaxScopeFiles)
			if err != nil {
				return err
			}
			for _, w := range taken.Warnings {
				env.Warn("%s", w)
			}
			text, err := document(taken)
			if err != nil {
				return err
			}
			if err := env.writeFile(f.out, text); err != nil {
				return err
			}
			return env.PrintJSON(taken)
		},
	}
}

// invariantsCheckCommand is `forge loop invariants-check` (loop.md section 11).
func invariantsCheckCommand(env *Env) *cli.Command {
	var f invariantFlags
	return &cli.Command{
		Name:      "invariants-check",
		Usage:     "compare protected files, scope and metric with a record, and run the invariant command",
		UsageText: "--before FILE",
		Description: about{
			Text:    "The command runs in the root of the repository with a clean environment, and only if no protected\nfile and nothing about the metric changed.",
			Exits:   exits{3: "something does not hold; the document says what"},
			Example: "forge loop invariants-check --before before.json --command 'make test'",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "before", Destination: &f.before, Usage: "the record `FILE`"},
			&cli.StringFlag{Name: "command", Usage: "`CMD` that must exit 0, run by /bin/sh -c; default: the configured invariant command"},
			&cli.StringFlag{Name: "min-scope-ratio", Usage: "smallest part of the scope that must be left, `R`; default 0.9"},
			&cli.StringFlag{Name: "root", Destination: &f.root, Usage: "`DIR` that paths are relative to; default: the root of the repository"},
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			if f.before == "" {
				return fault.New(fault.Usage, "--before FILE", "no record given")
			}
			check, err := env.invariantsCheck(c, f)
			if err != nil {
				return err
			}
			return env.printAnswer(check, check.OK, fault.Refused)
		},
	}
}

func (env *Env) invariantsCheck(c *cli.Context, f invariantFlags) (guard.InvariantsCheck, error) {
	// The command is pinned as it is configured; --command only runs another.
	cfg, err := env.plumbingConfig(f.named, givenFlags(c, map[string]string{"min-scope-ratio": "run.min_scope_ratio"}))
	if err != nil {
		return guard.InvariantsCheck{}, err
	}
	data, err := env.readInput(f.before, maxInput)
	if err != nil {
		return guard.InvariantsCheck{}, err
	}
	before, err := guard.ReadInvariants(data)
	if err != nil {
		return guard.InvariantsCheck{}, err
	}
	tree, err := env.invariantTree(c.Context, f.root)
	if err != nil {
		return guard.InvariantsCheck{}, err
	}
	command := cfg.Metric.InvariantCommand
	if c.IsSet("command") {
		command = config.Command{Line: c.String("command")}
	} else if cfg.Uses("metric.invariant_command") {
		repo, err := env.openRepo(c.Context)
		if err != nil {
			return guard.InvariantsCheck{}, err
		}
		only := func(key string) bool { return key == "metric.invariant_command" }
		if err := checkTrust(c.Context, env.reader(repo), cfg, only); err != nil {
			return guard.InvariantsCheck{}, err
		}
	}
	var run func() (int, error)
	if !command.IsZero() {
		run = func() (int, error) {
			return env.runInvariant(c.Context, argv(command), tree.Root, cfg.Metric)
		}
	}
	return guard.CheckInvariants(before, tree, metricPin(cfg), cfg.Run.MinScopeRatio, run)
}

// invariantTree is --root, or the working tree of the repository.
func (env *Env) invariantTree(ctx context.Context, root string) (guard.Tree, error) {
	if root != "" {
		return guard.Tree{Root: env.Path(root)}, nil
	}
	repo, err := gitstore.Open(ctx, env.Dir, env.Git)
	if err != nil {
		return guard.Tree{}, fault.New(fault.KindOf(err), "--root DIR outside a repository", "%w", err)
	}
	if repo.WorkTree() == "" {
		return guard.Tree{}, fault.New(fault.Usage, "--root DIR", "a bare repository has no files to look at")
	}
	return guard.Tree{Root: repo.WorkTree()}, nil
}

// metricPin is how the metric is taken, as it is configured.
func metricPin(cfg *config.Config) guard.MetricPin {
	return guard.MetricPin{
		Command: cfg.Metric.Command.String(), Name: cfg.Metric.Name, Direction: string(cfg.Metric.Direction),
		TimeoutSeconds: int(cfg.Metric.Timeout / time.Second), OutputLimit: cfg.Metric.OutputLimit,
		InvariantCommand: cfg.Metric.InvariantCommand.String(),
	}
}

// runInvariant runs the invariant command in a directory of the user's: its
// own process group, no standard input, and -1 once the time is up
// (R-INV-6).
func (env *Env) runInvariant(ctx context.Context, command []string, dir string, m config.Metric) (code int, err error) {
	home, err := os.MkdirTemp(env.temporary(), "forge-invariant-")
	if err != nil {
		return 0, fmt.Errorf("make a home for the invariant command: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	runner := process.NewRunner(env.Self)
	defer func() { err = errors.Join(err, runner.Close()) }()
	result, err := runner.Run(ctx, process.Command{
		Argv: command, Dir: dir, Timeout: m.InvariantTimeout, OutputLimit: m.OutputLimit,
		Env: slices.Concat(env.childEnvironment(), []string{
			"LANG=C.UTF-8", "HOME=" + home, "TMPDIR=" + home, "FORGE_ACTIVE=1", "FORGE_SEAM=invariant",
		}, env.passEnv(m.PassEnv)),
	})
	return result.ExitCode, err
}
