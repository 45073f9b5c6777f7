package forgecmd

import (
	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/guard"
)

// budgetFlags are the flags of `forge loop artifact-stats`.
type budgetFlags struct {
	skill, named string
	suggest      bool
}

// budgetCommand is `forge loop artifact-stats` (loop.md section 10).
func budgetCommand(env *Env) *cli.Command {
	var f budgetFlags
	return &cli.Command{
		Name:      "artifact-stats",
		Usage:     "count the code points and estimated tokens of files, and hold them against a budget",
		ArgsUsage: "[PATH...]",
		Description: about{
			Text: "PATH is a file, a directory with everything in it, or a glob. With --skill the skill's SKILL.md,\n" +
				"references/, scripts/ and knowledge/INDEX.md count as well, and PATH is relative to it.",
			Exits:   exits{1: "over budget"},
			Example: "forge loop artifact-stats --skill skills/csv-totals --budget 2400",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "skill", Destination: &f.skill, Usage: "count what belongs to the skill in `DIR`"},
			&cli.IntFlag{Name: "budget", Usage: "`N` tokens at most"},
			&cli.IntFlag{Name: "chars-per-token", Usage: "estimate a token at `N` code points; default 3"},
			&cli.BoolFlag{Name: "suggest-budget", Destination: &f.suggest, Usage: "name a budget with room for what there is"},
			configFlag(&f.named),
		},
		Action: func(c *cli.Context) error {
			stats, err := env.artifactStats(c, f)
			if err != nil {
				return err
			}
			return env.printAnswer(stats, stats.BudgetOK, fault.Failed)
		},
	}
}

func (env *Env) artifactStats(c *cli.Context, f budgetFlags) (guard.Stats, error) {
	cfg, err := env.plumbingConfig(f.named, givenFlags(c, map[string]string{"budget": "run.token_budget", "chars-per-token": "run.chars_per_token"}))
	if err != nil {
		return guard.Stats{}, err
	}
	if f.skill == "" && c.NArg() == 0 {
		return guard.Stats{}, fault.New(fault.Usage, "name files, or --skill DIR", "nothing to count")
	}
	var files map[string][]byte
	var missing []string
	if f.skill != "" {
		files, missing, err = guard.Tree{Root: env.Path(f.skill)}.SkillFiles(c.Args().Slice())
	} else {
		files, missing, err = guard.Tree{Root: env.Path(".")}.Read(c.Args().Slice())
	}
	if err != nil {
		return guard.Stats{}, err
	}
	var budget *int
	if cfg.Run.TokenBudget > 0 {
		budget = &cfg.Run.TokenBudget
	}
	stats, err := guard.MeasureFiles(files, cfg.Run.CharsPerToken, budget)
	if err != nil {
		return guard.Stats{}, err
	}
	stats.Missing = append(stats.Missing, missing...)
	if f.suggest {
		stats.Suggest()
	}
	return stats, nil
}
