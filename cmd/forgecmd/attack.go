package forgecmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/attack"
	"forge/loop/journal"
)

// attackFlags are the flags of `forge attack`.
type attackFlags struct {
	target       string // SKILL or RUN, as typed
	only, config string
	strict       bool
}

// attackCommand is `forge attack` (handoff.md section 9).
func attackCommand(env *Env) *cli.Command {
	var f attackFlags
	return &cli.Command{
		Name:      "attack",
		Usage:     "play cheats against this configuration and say which guard stops each",
		ArgsUsage: "[SKILL|RUN]",
		Category:  groupImprove,
		Description: about{
			Text: "Each mutant is a change, or a program in place of the metric or the runner, that would win by cheating.\n" +
				"They are played on a private copy of what is committed, a run's on its tip; without an argument on the\n" +
				"configured target, or on every skill that has evals. Nothing of yours is written.\n\n" +
				"One line per mutant: refused, with the guard that stopped it; not contained, where only a sandbox would;\n" +
				"not applicable, and why; GOT THROUGH. The metric runs a few times, a runner never: the mutant takes its place.",
			Exits: exits{
				3: "a mutant got through, or a committed command is not trusted",
			},
			Example: "forge attack csv-totals",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "only", Destination: &f.only, Usage: "play one mutant, by `NAME` or id"},
			&cli.BoolFlag{Name: "strict", Destination: &f.strict, Usage: "count what is not contained as got through"},
			configFlag(&f.config),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			f.target = c.Args().First()
			return env.attack(c.Context, f)
		},
	}
}

// attacked is the document of `forge attack --json`.
type attacked struct {
	Targets    []attackedTarget `json:"targets"`
	Strict     bool             `json:"strict"`
	GotThrough []string         `json:"got_through"` // ids, each once; with strict also of what is not contained
}

// attackedTarget is one configuration of it.
type attackedTarget struct {
	Target  string          `json:"target"`
	Mode    string          `json:"mode"`
	Run     *string         `json:"run"` // null: what a new run would freeze
	Commit  gitstore.Hash   `json:"commit"`
	Mutants []attack.Result `json:"mutants"`
}

// victim is a configuration to attack.
type victim struct {
	attack.Suite
	run *string
}

func (env *Env) attack(ctx context.Context, f attackFlags) error {
	if err := loop.CheckPlatform(); err != nil {
		return err
	}
	mutants, err := pickMutants(f.only)
	if err != nil {
		return err
	}
	repo, err := env.openRepo(ctx)
	if err != nil {
		return err
	}
	if err := repo.SweepExports(ctx); err != nil && ctx.Err() == nil { // of an attack that was killed
		env.Warn("%v", err)
	}
	victims, err := env.victims(ctx, repo, f)
	if err != nil {
		return err
	}
	document := attacked{Targets: []attackedTarget{}, Strict: f.strict, GotThrough: []string{}}
	for _, v := range victims {
		target, err := env.play(ctx, v, mutants, len(victims) > 1)
		if err != nil {
			return err
		}
		document.add(target)
	}
	if env.JSON {
		if err := env.PrintJSON(document); err != nil {
			return err
		}
	}
	return document.verdict(env.JSON)
}

// play attacks one configuration and prints each line as it comes.
func (env *Env) play(ctx context.Context, v victim, mutants []attack.Mutant, named bool) (attackedTarget, error) {
	frozen := v.Setup.Frozen
	target := attackedTarget{Target: frozen.Target, Mode: loop.ModeGeneric, Run: v.run, Commit: v.Commit, Mutants: []attack.Result{}}
	if frozen.Mode != "" {
		target.Mode = frozen.Mode
	}
	if named {
		env.say("%s:", visible(target.Target))
	}
	counts := map[attack.Outcome]int{}
	err := v.Run(ctx, mutants, func(r attack.Result) {
		target.Mutants = append(target.Mutants, r)
		counts[r.Outcome]++
		if !env.JSON {
			fmt.Fprintln(env.Stdout, r.Line())
			env.flush()
		}
	})
	if err == nil {
		env.say("%s: %d refused, %d not contained, %d not applicable, %d got through", visible(target.Target),
			counts[attack.Refused], counts[attack.NotContained], counts[attack.NotApplicable], counts[attack.GotThrough])
	}
	return target, err
}

// add takes the results of one configuration.
func (a *attacked) add(t attackedTarget) {
	a.Targets = append(a.Targets, t)
	for _, r := range t.Mutants {
		through := r.Outcome == attack.GotThrough || a.Strict && r.Outcome == attack.NotContained
		if id := r.ID + " " + r.Name; through && !slices.Contains(a.GotThrough, id) {
			a.GotThrough = append(a.GotThrough, id)
		}
	}
}

// verdict is the error of a suite in which a mutant got through
// (handoff.md R-ATT-3).
func (a attacked) verdict(printed bool) error {
	switch {
	case len(a.GotThrough) == 0:
		return nil
	case printed:
		return negative{fault.Refused}
	}
	return fault.New(fault.Refused, "forge attack --only NAME --json shows what was said of one", "%s got through: %s",
		count(len(a.GotThrough), "mutant"), strings.Join(a.GotThrough, ", "))
}

// pickMutants are the mutants to play; "" are all.
func pickMutants(only string) ([]attack.Mutant, error) {
	all := attack.Mutants()
	if only == "" {
		return all, nil
	}
	var names []string
	for _, m := range all {
		if m.Name == only || strings.EqualFold(m.ID, only) {
			return []attack.Mutant{m}, nil
		}
		names = append(names, m.Name)
	}
	guess := ""
	if near := config.Nearest(only, names); near != "" {
		guess = "; did you mean " + near + "?"
	}
	return nil, fault.New(fault.Usage, "forge attack lists them", "there is no mutant %q%s", only, guess)
}

// victims are the configurations to attack, with their commands trusted.
func (env *Env) victims(ctx context.Context, repo *gitstore.Repo, f attackFlags) ([]victim, error) {
	cfg, err := env.repoConfig(ctx, repo, f.config, given{})
	if err != nil {
		return nil, err
	}
	e := env.reader(repo)
	e.Version = thisBuild().Version
	if f.target != "" {
		runs, err := e.Runs(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if r.Name == f.target {
				v, err := env.victimRun(ctx, e, cfg, r)
				return []victim{v}, err
			}
		}
	}
	names := []string{f.target}
	if f.target == "" && cfg.Run.TargetPath == "" {
		head, err := repo.Head(ctx)
		if err != nil {
			return nil, err
		}
		if head.Commit != "" {
			if names, err = e.SkillsWithEvals(ctx, head.Commit); err != nil {
				return nil, err
			}
		}
		if len(names) == 0 {
			return nil, fault.New(fault.Usage, "name a skill or a run, or set [run] target_path in "+ConfigPath, "nothing is configured to attack")
		}
	}
	var list []victim
	for _, name := range names {
		v, err := env.victimSkill(ctx, e, f.config, name)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// victimSkill is what a new run on a skill, or on the configured target where
// none is named, would be.
func (env *Env) victimSkill(ctx context.Context, e *loop.Engine, named, name string) (v victim, err error) {
	cfg, err := env.repoConfig(ctx, e.Repo, named, given{}) // anew: choosing a mode changes it
	if err != nil {
		return v, err
	}
	// Too few evals and checks that cannot be graded are no matter here:
	// nothing is measured.
	f := runFlags{named: named, skill: name, force: true, ignoreUngraded: true}
	if err := env.chooseMode(ctx, e.Repo, cfg, &f); err != nil {
		return v, err
	}
	setup, err := env.setup(ctx, e, cfg, f)
	if err != nil {
		return v, err
	}
	head, err := e.Repo.Head(ctx)
	if err != nil {
		return v, err
	}
	if head.Commit == "" {
		return v, fault.New(fault.Usage, "git add -A && git commit", "this repository has no commit yet")
	}
	return victim{env.suite(ctx, e.Repo, head.Commit, setup, f), nil}, nil
}

// victimRun is a run as it froze itself, on its tip.
func (env *Env) victimRun(ctx context.Context, e *loop.Engine, cfg *config.Config, r loop.RunRef) (victim, error) {
	setup, err := env.setupOf(ctx, e, cfg, r)
	if err != nil {
		return victim{}, err
	}
	setup.Frozen = r.Config
	if setup.Frozen.Split != nil {
		split := *setup.Frozen.Split
		split.Force = true
		setup.Frozen.Split = &split
	}
	return victim{env.suite(ctx, e.Repo, r.Tip, setup, runFlags{skillMode: r.Config.Mode == loop.ModeSkill}), &r.Name}, nil
}

// suite plays mutants on one commit.
func (env *Env) suite(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, setup loop.Setup, f runFlags) attack.Suite {
	return attack.Suite{
		Repo: repo, Commit: commit, Setup: setup,
		Engine: func(scratch *gitstore.Repo) (*loop.Engine, func() error) { return env.engine(scratch, nil) },
		Drift:  func() error { return env.drift(ctx, repo, setup.Frozen, f) },
	}
}

// drift asks to go on with a run after its configuration was made to let
// everything through (A21).
func (env *Env) drift(ctx context.Context, repo *gitstore.Repo, run journal.Run, f runFlags) error {
	flags := given{values: map[string][]string{}, spelled: map[string]string{}}
	loose := "0"
	if run.Guards.MinScopeRatio == loose {
		loose = "1"
	}
	flags.Set("run.min_scope_ratio", "the changed file", loose)
	cfg, err := env.repoConfig(ctx, repo, "", flags)
	if err != nil {
		return err
	}
	for _, c := range changedInputs(run, cfg, f) {
		if c.key == "run.min_scope_ratio" {
			return frozenError(cmp.Or(run.Run, "r1"), c) // a new run has no name yet
		}
	}
	return nil
}
