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
	split, against string
}

// evalCommand is `forge eval`.
func evalCommand(env *Env) *cli.Command {
	var f evalFlags
	return &cli.Command{
		Name:      "eval",
		Usage:     "measure a skill with its evals; changes nothing",
		ArgsUsage: "SKILL",
		Category:  groupImprove,
		Description: about{
			Text: "Measures what is committed at HEAD. --against HEAD~1 answers \"did my last edit help?\", --against none\n" +
				"the skill against no skill. The test split is left out unless --split test asks for it.",
			Exits:   exits{1: "no eval gave a result", 3: "fewer evals than min_evals"},
			Example: "forge eval csv-totals --against HEAD~1",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "split", Destination: &f.split, Usage: "`S`: train, val, test or all; default train and val"},
			&cli.StringFlag{Name: "against", Destination: &f.against, Usage: "`REV` to compare with, or none for no skill at all"},
			&cli.StringFlag{Name: "runner", Usage: "`WHO` answers the evals: lexical, the default for trigger queries"},
			&cli.IntFlag{Name: "parallel", Usage: "measure `N` evals at once; default 4"},
			&cli.BoolFlag{Name: "force", Destination: &f.force, Usage: "accept fewer evals than min_evals"},
			&cli.BoolFlag{Name: "ignore-ungraded", Destination: &f.ignoreUngraded, Usage: "leave out checks that forge cannot grade, on both sides"},
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			f.skill = c.Args().First()
			return env.eval(c.Context, givenFlags(c, map[string]string{"runner": "runner.kind", "parallel": "run.parallel"}), f)
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
	request, err := env.evalRequest(ctx, repo, cfg, f)
	if err != nil {
		return err
	}
	request.Splits = splits
	engine, closeRunner := env.engine(repo, nil)
	defer func() { err = errors.Join(err, closeRunner()) }()
	evaluation, err := engine.Evaluate(ctx, request)
	if err != nil {
		return err
	}
	if env.JSON {
		return env.PrintJSON(evaluation)
	}
	env.printEvaluation(evaluation)
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

// evalRequest is what the command line asks, with commits resolved.
func (env *Env) evalRequest(ctx context.Context, repo *gitstore.Repo, cfg *config.Config, f evalFlags) (loop.EvalRequest, error) {
	frozen, err := freezeSkill(journal.Run{}, cfg, f.runFlags)
	if err != nil {
		return loop.EvalRequest{}, err
	}
	request := loop.EvalRequest{Skill: f.skill, Split: frozen.Split, Runner: json.RawMessage(frozen.Runner), Parallel: cfg.Run.Parallel}
	head, err := repo.Head(ctx)
	if err != nil {
		return request, err
	}
	if request.Commit = head.Commit; head.Commit == "" {
		return request, fault.New(fault.Usage, "git add -A && git commit", "this repository has no commit yet")
	}
	switch f.against {
	case "":
		return request, nil
	case "none":
		none := gitstore.Hash("")
		request.Against = &none
		return request, nil
	}
	against, err := repo.Resolve(ctx, f.against)
	if err != nil {
		return request, fault.New(fault.Usage, "name a commit, a branch, or none", "--against %q: %w", f.against, err)
	}
	request.Against = &against
	return request, nil
}

// printEvaluation shows the figures, regressions first.
func (env *Env) printEvaluation(v loop.Evaluation) {
	out := env.Stdout
	var splits []string
	for _, s := range v.Splits {
		splits = append(splits, string(s))
	}
	fmt.Fprintf(out, "%s at %s on %s: %s (%s)\n", v.Skill, v.Commit.Short(), strings.Join(splits, " and "), v.Score.Exact, v.Score.Score)
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
	}{{"regressed", v.Regressed}, {"still failing", v.PersistentFail}, {"improved", v.Improved}, {"no result", v.NoResult}} {
		if len(group.ids) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s:\n", group.title)
		for _, id := range group.ids {
			fmt.Fprintf(out, "  %s  %s\n", id, visible(journal.Shorten(prompts[id])))
		}
	}
}
