package forgecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/handoff"
	"forge/loop/runner"
)

// byHand is the proposer of a run that waits for `forge submit`.
const byHand = "handoff"

// nextFlags are the flags of `forge next` beside those of a run.
type nextFlags struct {
	runFlags
	dir         string
	fresh, peek bool
}

// nextCommand is `forge next`: a brief out.
func nextCommand(env *Env) *cli.Command {
	var f nextFlags
	return &cli.Command{
		Name:      "next",
		ArgsUsage: "[SKILL]",
		Usage:     "give the brief of a run's next experiment: JSON and files for any proposer",
		Category:  groupImprove,
		Description: about{
			Text: "Asked twice it gives the same brief. The folder holds brief.json, brief.md, work/ (a copy to edit) and\n" +
				"evidence/. A target without an open run gets one, with the flags of forge run. Answer with forge submit.",
			Exits: exits{
				1: "the baseline could not be measured",
				3: "uncommitted changes in the target, or a committed command that is not trusted",
				4: "another forge holds this run",
				5: "the run is finished; the document says why",
			},
			Example: "while forge next --run r1-k3fq --json >brief.json; do ./propose.sh; forge submit --brief \"$(jq -r .brief_id brief.json)\"; done",
		}.String(),
		Flags: append(runCommandFlags(&f.runFlags),
			&cli.StringFlag{Name: "run", Destination: &f.name, Usage: "`RUN` to give the brief of, or with --target the name of a new one; default: the only open run, else the newest"},
			&cli.StringFlag{Name: "dir", Destination: &f.dir, Usage: "write the folder to `DIR`"},
			&cli.BoolFlag{Name: "fresh", Destination: &f.fresh, Usage: "make the working copy new"},
			&cli.BoolFlag{Name: "peek", Destination: &f.peek, Usage: "print the brief only: start nothing, write nothing, lock nothing"},
		),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			f.skill = c.Args().First()
			return env.next(c.Context, c, f)
		},
	}
}

func (env *Env) next(ctx context.Context, c *cli.Context, f nextFlags) (err error) {
	if err := loop.CheckPlatform(); err != nil {
		return err
	}
	flags, err := givenRunFlags(c)
	if err != nil {
		return err
	}
	repo, err := env.openRepo(ctx)
	if err != nil {
		return err
	}
	cfg, err := env.repoConfig(ctx, repo, f.named, flags)
	if err != nil {
		return err
	}
	if err := env.chooseMode(ctx, repo, cfg, &f.runFlags); err != nil {
		return err
	}
	engine, closeRunner := env.engine(repo, env.quietEvents())
	defer func() { err = errors.Join(err, closeRunner()) }()
	r, err := env.nextRun(ctx, engine, cfg, f, len(flags.values["run.target_path"]) > 0 || f.skill != "")
	if err != nil {
		return err
	}
	if f.peek {
		return env.peek(ctx, engine, r, cfg)
	}
	if r != nil && !r.Open() {
		return env.printOver(ctx, engine, *r)
	}
	session, err := env.handSession(ctx, engine, cfg, f, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	done, err := session.EndIfDue(ctx)
	if err != nil {
		return err
	}
	if done != nil {
		return env.sayOver(handoff.Over{Schema: handoff.BriefSchema, Run: session.Run(), Finished: *done})
	}
	dir := f.dir
	if dir == "" {
		if dir, err = session.Folder(env.temporary(), os.Getuid()); err != nil {
			return err
		}
	} else {
		dir = env.Path(dir)
	}
	if err := engine.SweepFolders(ctx, env.temporary(), os.Getuid()); err != nil {
		return err
	}
	brief, err := session.HandOver(ctx, dir, f.fresh)
	if err != nil {
		return err
	}
	return env.printBrief(brief)
}

// nextRun is the run to give a brief of, nil if one is to be started
// (R-NEXT-1).
func (env *Env) nextRun(ctx context.Context, e *loop.Engine, cfg *config.Config, f nextFlags, targetTyped bool) (*loop.RunRef, error) {
	runs, err := e.Runs(ctx)
	if err != nil {
		return nil, err
	}
	if f.name != "" {
		known := slices.ContainsFunc(runs, func(r loop.RunRef) bool { return r.Name == f.name })
		if targetTyped && !known {
			return nil, nil // the name of the run to start
		}
		r, err := e.FindRun(ctx, f.name)
		return &r, err
	}
	if !targetTyped {
		if len(runs) == 0 {
			return nil, nil
		}
		r, err := env.findRun(ctx, e, "")
		return &r, err
	}
	target, err := gitstore.CleanTarget(cfg.Run.TargetPath)
	if err != nil {
		return nil, err
	}
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].Open() && runs[i].Config.Target == target {
			return &runs[i], nil
		}
	}
	return nil, nil
}

// handSession opens the run, or starts one as forge run would.
func (env *Env) handSession(ctx context.Context, e *loop.Engine, cfg *config.Config, f nextFlags, r *loop.RunRef) (*loop.Session, error) {
	if err := env.clearAway(ctx, e); err != nil {
		return nil, err
	}
	env.warnRefspecs(ctx, e.Repo)
	if r != nil {
		return env.resume(ctx, e, cfg, f.runFlags, *r)
	}
	setup, err := env.setup(ctx, e, cfg, f.runFlags)
	if err != nil {
		return nil, err
	}
	if !cfg.IsSet("run.proposer") {
		setup.Frozen.Proposer.Kind = byHand
	}
	return env.begin(ctx, e, setup)
}

// peek prints what `forge next` would, with work null.
func (env *Env) peek(ctx context.Context, e *loop.Engine, r *loop.RunRef, cfg *config.Config) error {
	if r == nil {
		return fault.New(fault.Usage, "forge next starts one", "there is no open run to look at")
	}
	if !r.Open() {
		return env.printOver(ctx, e, *r)
	}
	setup := loop.Setup{Limits: limitsOf(cfg), RejectedLimit: cfg.Run.RejectedLimit}
	if specOf(r.Config).Kind == runner.KindCommand { // it may have to say what fails on train
		var err error
		if setup, err = env.setupOf(ctx, e, cfg, *r); err != nil {
			return err
		}
	}
	session, err := e.Look(ctx, *r, setup)
	if err != nil {
		return err
	}
	brief, err := session.Next(ctx)
	if err != nil {
		return err
	}
	return env.printBrief(brief)
}

// printOver says that a run is finished, exit 5.
func (env *Env) printOver(ctx context.Context, e *loop.Engine, r loop.RunRef) error {
	over, err := e.Over(ctx, r)
	if err != nil {
		return err
	}
	return env.sayOver(over)
}

// sayOver prints the document of a finished run, which is the answer itself
// whatever --json says, and exits with 5 (R-NEXT-5).
func (env *Env) sayOver(over handoff.Over) error {
	if err := env.PrintJSON(over); err != nil {
		return err
	}
	return negative{fault.Nothing}
}

func (env *Env) printBrief(brief handoff.Brief) error {
	if !env.JSON {
		fmt.Fprintf(env.Stdout, "%s", brief.Markdown())
		return nil
	}
	encoded, err := brief.Encode()
	fmt.Fprintf(env.Stdout, "%s", encoded)
	return err
}

// temporary is the system's temporary directory as the environment names it.
func (env *Env) temporary() string {
	if dir := env.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	return os.TempDir()
}

// quietEvents shows what a hand-off measures on stderr; the documents alone
// stand on stdout.
func (env *Env) quietEvents() func(loop.Event) {
	view := &runView{env: env}
	return func(e loop.Event) {
		started, ok := e.Data.(loop.RunStarted)
		if env.JSON || ok && started.Resumed {
			return
		}
		view.event(e)
	}
}
