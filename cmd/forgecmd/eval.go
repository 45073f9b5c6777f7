package forgecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/journal"
)

// evalFlags are the flags of `forge eval`.
type evalFlags struct {
	runFlags
	split, against, export string
}

// evalCommand is `forge eval`.
func evalCommand(env *Env) *cli.Command {
	var f evalFlags
	return &cli.Command{
		Name:      "eval",
		Usage:     "measure a skill with its evals; changes nothing",
		ArgsUsage: "[SKILL]",
		Category:  groupImprove,
		Description: about{
			Text: "Measures what is committed at HEAD; without SKILL every skill that has evals. --against HEAD~1 answers\n" +
				"\"did my last edit help?\", --against WORKTREE measures uncommitted edits of the skill against HEAD, and\n" +
				"--against none the skill against no skill. The test split is left out unless --split test asks for it.\n" +
				"A command that answers the evals works in a private copy of the skill, without its evals.",
			Exits:   exits{1: "no eval gave a result", 3: "fewer evals than min_evals, or a committed command that is not trusted"},
			Example: "forge eval csv-totals --against HEAD~1",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "split", Destination: &f.split, Usage: "`S`: train, val, test or all; default train and val"},
			&cli.StringFlag{Name: "against", Destination: &f.against, Usage: "`REV` to compare with, WORKTREE for uncommitted edits, or none for no skill at all"},
			&cli.IntFlag{Name: "runs", Usage: "run each eval `N` times on each side, 1 to 20; evals whose runs disagree are named"},
			&cli.StringFlag{Name: "export", Destination: &f.export, Usage: "write every run to `DIR`, empty or new, as the skill-creator tools lay it out"},
			&cli.StringFlag{Name: "runner", Usage: "`WHO` answers the evals: command:CMD, or lexical, the default, for trigger queries"},
			&cli.StringSliceFlag{Name: "pass-env", Usage: "hand `NAME[=VALUE]` to the runner; repeatable"},
			&cli.IntFlag{Name: "parallel", Usage: "measure `N` evals at once; default 4"},
			&cli.BoolFlag{Name: "force", Destination: &f.force, Usage: "accept fewer evals than min_evals"},
			&cli.BoolFlag{Name: "ignore-ungraded", Destination: &f.ignoreUngraded, Usage: "leave out checks that forge cannot grade, on both sides"},
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			f.skill = c.Args().First()
			flags := givenFlags(c, map[string]string{
				"runner": "runner.kind", "parallel": "run.parallel", "pass-env": "runner.pass_env", "runs": "run.runs_per_side",
			})
			flags.runnerFlag()
			if runs, ok := flags.values["run.runs_per_side"]; ok {
				flags.Set("run.trigger_runs", "--runs", runs...)
			}
			return env.eval(c.Context, flags, f)
		},
	}
}

func (env *Env) eval(ctx context.Context, flags given, f evalFlags) (err error) {
	splits, err := splitsOf(f.split)
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
	engine, closeRunner := env.engine(repo, nil)
	defer func() { err = errors.Join(err, closeRunner()) }()
	if err := repo.SweepExports(ctx); err != nil && ctx.Err() == nil { // of an evaluation that was killed
		env.Warn("%v", err)
	}
	request, err := env.evalRequest(ctx, engine, cfg, f)
	if err != nil {
		return err
	}
	request.Splits = splits
	if len(flags.values["run.runs_per_side"]) > 0 { // asked for in so many words, also of a runner that always says the same
		if request.Runner, err = withRuns(request.Runner, cfg.Run.RunsPerSide); err != nil {
			return err
		}
	}
	if f.skill == "" {
		return env.evalAll(ctx, engine, request)
	}
	evaluation, err := engine.Evaluate(ctx, request)
	env.warnEvaluation(evaluation)
	if err != nil {
		return err
	}
	if env.JSON {
		return env.PrintJSON(evaluation)
	}
	env.printEvaluation(evaluation)
	if request.Export != "" {
		fmt.Fprintf(env.Stdout, "exported to %s\n", f.export)
	}
	return nil
}

// withRuns is a runner that answers each eval several times.
func withRuns(encoded json.RawMessage, runs int) (json.RawMessage, error) {
	spec := specOf(journal.Run{Runner: encoded})
	spec.RunsPerSide, spec.TriggerRuns = runs, runs
	return json.Marshal(spec)
}

// evaluations is the document of `forge eval --json` without SKILL.
type evaluations struct {
	Skills []loop.Evaluation `json:"skills"`
	Failed []failedSkill     `json:"failed"`
}

// failedSkill is a skill that could not be measured.
type failedSkill struct {
	Skill   string `json:"skill"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// evalAll measures every skill that has evals. One that cannot be measured does
// not keep the others from it; the exit code is that of the first such.
func (env *Env) evalAll(ctx context.Context, e *loop.Engine, request loop.EvalRequest) error {
	skills, err := e.SkillsWithEvals(ctx, request.Commit)
	if err != nil {
		return err
	}
	if len(skills) == 0 {
		return fault.New(fault.Usage, "write evals/evals.json beside a SKILL.md and commit it", "no skill of this repository has evals")
	}
	all := evaluations{Skills: []loop.Evaluation{}, Failed: []failedSkill{}}
	var first fault.Kind
	for _, dir := range skills {
		request.Skill = dir
		evaluation, err := e.Evaluate(ctx, request)
		if ctx.Err() != nil {
			return err
		}
		env.warnEvaluation(evaluation)
		if err != nil {
			all.Failed = append(all.Failed, failedSkill{dir, fault.KindOf(err).String(), err.Error()})
			env.Warn("%s: %v", dir, err)
			if first == 0 {
				first = fault.KindOf(err)
			}
			continue
		}
		all.Skills = append(all.Skills, evaluation)
		if !env.JSON {
			env.printEvaluation(evaluation)
		}
	}
	if env.JSON {
		if err := env.PrintJSON(all); err != nil {
			return err
		}
	}
	if first != 0 {
		return fault.New(first, "forge eval SKILL shows one", "%d of %s could not be measured", len(all.Failed), count(len(skills), "skill"))
	}
	return nil
}

// splitsOf reads --split; nil is train and val.
func splitsOf(text string) ([]evals.Split, error) {
	switch text {
	case "":
		return nil, nil
	case "all":
		return []evals.Split{evals.Train, evals.Val, evals.Test}, nil
	case "train", "val", "test":
		return []evals.Split{evals.Split(text)}, nil
	}
	return nil, fault.New(fault.Usage, "train, val, test or all", "--split %q is not known", text)
}

// evalRequest is what the command line asks, with commits resolved and what the
// runner executes trusted.
func (env *Env) evalRequest(ctx context.Context, e *loop.Engine, cfg *config.Config, f evalFlags) (loop.EvalRequest, error) {
	if f.export != "" && f.skill == "" {
		return loop.EvalRequest{}, fault.New(fault.Usage, "forge eval SKILL --export DIR", "--export writes one skill, and none is named")
	}
	if len(cfg.Run.Sandbox.Prefix) > 0 {
		return loop.EvalRequest{}, noSandbox()
	}
	if err := checkTrust(ctx, e, cfg, usedByEval(cfg)); err != nil {
		return loop.EvalRequest{}, err
	}
	frozen, err := freezeSkill(journal.Run{}, cfg, f.runFlags)
	if err != nil {
		return loop.EvalRequest{}, err
	}
	spec := specOf(frozen)
	request := loop.EvalRequest{
		Skill: f.skill, Split: frozen.Split, Runner: frozen.Runner, Parallel: cfg.Run.Parallel, PassEnv: env.passEnv(cfg.Runner.PassEnv),
	}
	if f.export != "" {
		request.Export = env.Path(f.export)
	}
	request.Allow = func(ctx context.Context, commit gitstore.Hash, dir string) error {
		items, err := evalItems(ctx, e, spec.Kind, commit, dir)
		if err != nil {
			return err
		}
		return checkTrust(ctx, e, cfg, func(string) bool { return false }, items...)
	}
	head, err := e.Repo.Head(ctx)
	if err != nil {
		return request, err
	}
	if request.Commit = head.Commit; head.Commit == "" {
		return request, fault.New(fault.Usage, "git add -A && git commit", "this repository has no commit yet")
	}
	return request, env.readAgainst(ctx, e, f.against, &request)
}

// readAgainst resolves --against.
func (env *Env) readAgainst(ctx context.Context, e *loop.Engine, text string, request *loop.EvalRequest) error {
	switch text {
	case "":
		return nil
	case "none":
		none := gitstore.Hash("")
		request.Against = &none
		return nil
	case "WORKTREE":
		request.Worktree = true
		return nil
	}
	against, err := e.Repo.Resolve(ctx, text)
	if err != nil {
		return fault.New(fault.Usage, "name a commit, a branch, WORKTREE or none", "--against %q: %w", text, err)
	}
	request.Against = &against
	return nil
}

// warnEvaluation prints what a person should know beside the figures.
func (env *Env) warnEvaluation(v loop.Evaluation) {
	for _, name := range v.Warnings {
		env.Warn("%s", loop.WarningText(name))
	}
	for _, m := range v.Missing {
		env.Warn("%s: eval %q gave no result (%s): %s", v.Skill, m.ID, m.Outcome, visible(m.Reason))
	}
}

// printEvaluation shows the figures, regressions first.
func (env *Env) printEvaluation(v loop.Evaluation) {
	out := env.Stdout
	var splits []string
	for _, s := range v.Splits {
		splits = append(splits, string(s))
	}
	place := v.Commit.Short()
	if v.Worktree {
		place = "WORKTREE"
	}
	runs := ""
	if v.Runs > 1 {
		runs = fmt.Sprintf(", %d runs each", v.Runs)
	}
	fmt.Fprintf(out, "%s at %s on %s: %s (%s)%s\n", v.Skill, place, strings.Join(splits, " and "), v.Score.Exact, v.Score.Score, runs)
	if v.Baseline != nil {
		name := "no skill"
		if *v.Against != "" {
			name = v.Against.Short()
		}
		fmt.Fprintf(out, "against %s: %s (%s), difference %s\n", name, v.Baseline.Exact, v.Baseline.Score, *v.Delta)
	}
	prompts := map[string]string{}
	for _, e := range v.Evals {
		prompts[e.ID] = e.Prompt
	}
	for _, group := range []struct {
		title string
		ids   []string
	}{{"regressed", v.Regressed}, {"still failing", v.PersistentFail}, {"improved", v.Improved}, {"flaky", v.Flaky}, {"no result", v.NoResult}} {
		if len(group.ids) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s:\n", group.title)
		for _, id := range group.ids {
			line := "  " + id + "  " + visible(journal.Shorten(prompts[id]))
			fmt.Fprintf(out, "%s\n", strings.TrimRight(line, " "))
		}
	}
}
