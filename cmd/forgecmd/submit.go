package forgecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/handoff"
	"forge/loop/verdict"
)

// submitFlags are the flags of `forge submit`.
type submitFlags struct {
	brief, hypothesis, proposal, skip, named string
	exitCode                                 bool
	passEnv                                  cli.StringSlice
}

// submitCommand is `forge submit`: a patch in, a verdict back.
func submitCommand(env *Env) *cli.Command {
	var f submitFlags
	return &cli.Command{
		Name:      "submit",
		Usage:     "answer a brief: a patch in, a verdict back",
		UsageText: "--brief ID",
		ArgsUsage: "[PATCH | - | DIR]",
		Category:  groupImprove,
		Description: about{
			Text: "Nothing named: the working copy that forge next wrote. DIR replaces the target. PATCH or - is a unified\n" +
				"diff with paths from the target or from the repository's root.",
			Exits: exits{
				1: "no verdict: the measurement failed",
				3: "a guard refused the change (INVALID)",
				4: "the brief is stale, the run is locked or its branch moved; nothing was written",
				5: "the change changes nothing (NO_OP); with --exit-code everything but KEEP",
			},
			Example: "forge submit --brief 3f6c0a9d2b71e845 --hypothesis 'a larger cache'",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "brief", Destination: &f.brief, Usage: "`ID` of the brief that is answered"},
			&cli.StringFlag{Name: "hypothesis", Destination: &f.hypothesis, Usage: "`TEXT`: why the change should help"},
			&cli.StringFlag{Name: "proposal", Destination: &f.proposal, Usage: "`FILE` with a forge.proposal/1"},
			&cli.StringFlag{Name: "skip", Destination: &f.skip, Usage: "give up on this experiment, with the `REASON`"},
			&cli.BoolFlag{Name: "exit-code", Destination: &f.exitCode, Usage: "exit 0 for KEEP only and 5 for the rest"},
			&cli.StringSliceFlag{Name: "pass-env", Destination: &f.passEnv, Usage: "hand `NAME[=VALUE]` to the metric and the invariant; repeatable"},
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			if f.brief == "" {
				return fault.New(fault.Usage, "forge next prints it", "forge submit wants --brief ID")
			}
			if f.skip != "" && (c.NArg() > 0 || f.hypothesis != "" || f.proposal != "") {
				return fault.New(fault.Usage, "", "--skip goes with nothing else")
			}
			return env.submit(c.Context, c, f)
		},
	}
}

func (env *Env) submit(ctx context.Context, c *cli.Context, f submitFlags) (err error) {
	if err := loop.CheckPlatform(); err != nil {
		return err
	}
	repo, err := env.openRepo(ctx)
	if err != nil {
		return err
	}
	flags := givenFlags(c, map[string]string{"pass-env": "metric.pass_env"})
	flags.passEnvToAll()
	cfg, err := env.repoConfig(ctx, repo, f.named, flags)
	if err != nil {
		return err
	}
	engine, closeRunner := env.engine(repo, env.quietEvents())
	defer func() { err = errors.Join(err, closeRunner()) }()
	r, err := engine.FindBrief(ctx, f.brief)
	if err != nil {
		return err
	}
	if err := env.clearAway(ctx, engine); err != nil {
		return err
	}
	session, err := env.resume(ctx, engine, cfg, runFlags{}, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if now := session.BriefID(); now != f.brief {
		return fault.New(fault.Conflict, "the brief of run "+r.Name+" is now "+now, "brief %s is stale: the run went on since", f.brief)
	}
	result, err := env.answer(ctx, session, c.Args().First(), f)
	if err != nil {
		return err
	}
	return env.printResult(result, f.exitCode)
}

// answer hands in what the command line names.
func (env *Env) answer(ctx context.Context, s *loop.Session, what string, f submitFlags) (handoff.Result, error) {
	if f.skip != "" {
		return s.Decline(ctx, f.skip)
	}
	proposal := handoff.Proposal{Hypothesis: handoff.Clean(f.hypothesis), Category: "unknown"}
	dir := ""
	if what == "" { // what lies in the brief's own folder
		var err error
		if dir, err = s.Folder(env.temporary(), os.Getuid()); err != nil {
			return handoff.Result{}, err
		}
	}
	named, err := env.readProposal(f.proposal, what, dir)
	if err != nil {
		return handoff.Result{}, err
	}
	if named != nil {
		proposal = *named
	}
	if proposal.Hypothesis == "" {
		proposal.Hypothesis = "change handed in with forge submit"
	}
	if err := env.readChange(ctx, s, what, filepath.Join(dir, "work"), &proposal); err != nil {
		return handoff.Result{}, err
	}
	if err := proposal.Check(); err != nil {
		return handoff.Result{}, fault.New(fault.Usage, "--hypothesis TEXT", "%w", err)
	}
	return s.Answer(ctx, proposal)
}

// readProposal reads --proposal, or the proposal.json beside the directory
// that is handed in (R-SUB-7).
func (env *Env) readProposal(file, what, folder string) (*handoff.Proposal, error) {
	if file == "" {
		beside := filepath.Join(folder, "proposal.json")
		if what != "" {
			beside = filepath.Join(filepath.Dir(filepath.Clean(env.Path(what))), "proposal.json")
			if info, err := os.Stat(env.Path(what)); what == "-" || err != nil || !info.IsDir() {
				return nil, nil
			}
		}
		if _, err := os.Stat(beside); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		file = beside
	}
	data, err := env.readInput(file, handoff.MaxPatchBytes*2)
	if err != nil {
		return nil, err
	}
	p, err := handoff.ParseProposal(data)
	if err != nil {
		return nil, fault.New(fault.Usage, "", "%q: %w", file, err)
	}
	return &p, nil
}

// readChange fills in what is changed: a patch, a directory, or the working
// copy of forge next.
func (env *Env) readChange(ctx context.Context, s *loop.Session, what, work string, p *handoff.Proposal) error {
	if len(p.Patch) > 0 {
		if what != "" {
			return fault.New(fault.Usage, "", "the proposal holds a patch, and %q is given as well", what)
		}
		return nil
	}
	dir := work
	if what != "" && what != "-" {
		info, err := os.Stat(env.Path(what))
		if err != nil {
			return fault.New(fault.Usage, "", "read %q: %w", what, err)
		}
		if dir = env.Path(what); !info.IsDir() {
			dir = ""
		}
	}
	if what != "-" && dir != "" {
		edits, err := s.WorkEdits(ctx, dir)
		p.Edits = edits
		return err
	}
	patch, err := env.readInput(what, handoff.MaxPatchBytes)
	if err != nil {
		return fault.New(fault.Usage, "", "%w", err)
	}
	if len(patch) == 0 {
		return fault.New(fault.Usage, "--skip REASON gives up on the experiment", "the patch is empty")
	}
	p.Patch = patch
	return nil
}

// printResult prints the verdict and gives the exit code of handoff.md
// section 2.
func (env *Env) printResult(r handoff.Result, exitCode bool) error {
	if env.JSON {
		if err := env.PrintJSON(r); err != nil {
			return err
		}
	} else {
		for _, w := range r.Warnings {
			env.Warn("%s", w)
		}
		fmt.Fprintf(env.Stdout, "%s/%s %s", r.Run, r.Experiment, r.Decision)
		if r.Formula != nil {
			fmt.Fprintf(env.Stdout, "  %s", *r.Formula)
		}
		if r.Reason != nil {
			fmt.Fprintf(env.Stdout, "  %s", visible(*r.Reason))
		}
		fmt.Fprintf(env.Stdout, "\ncommit: %s\n", short(r.Commit))
		if r.Finished != nil {
			fmt.Fprintf(env.Stdout, "run %s ended: %s; %d kept\n", r.Run, r.Finished.Reason, r.Finished.Kept)
		} else {
			fmt.Fprintf(env.Stdout, "next:   %s\n", r.Next)
		}
	}
	kind := exitOfDecision(verdict.Decision(r.Decision), r.Crash, exitCode)
	if kind == 0 {
		return nil
	}
	return negative{kind}
}

// exitOfDecision is what a verdict makes forge submit exit with; 0 for none.
func exitOfDecision(d verdict.Decision, crash, exitCode bool) fault.Kind {
	switch {
	case d == verdict.Keep:
		return 0
	case d == verdict.Invalid:
		return fault.Refused
	case d == verdict.NoOp:
		return fault.Nothing
	case d == verdict.Skip && crash:
		return fault.Failed
	case exitCode:
		return fault.Nothing
	}
	return 0
}
