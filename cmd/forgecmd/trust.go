package forgecmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
)

// trustCommand is `forge trust`.
func trustCommand(env *Env) *cli.Command {
	var print bool
	return &cli.Command{
		Name:     "trust",
		Usage:    "show what this repository's configuration would execute, and remember your yes",
		Category: groupStart,
		Description: about{
			Text: "What a repository commits can execute nothing until you have said yes to these exact values; a value\n" +
				"that changes is asked about again. What a trusted command goes on to run, such as a script of the\n" +
				"repository, is not covered. In CI set FORGE_TRUST to what --print gives.",
			Exits:   exits{1: "you said no; nothing was stored"},
			Example: "FORGE_TRUST=$(forge trust --print) forge run",
		}.String(),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "print", Destination: &print, Usage: "print the one value for FORGE_TRUST and store nothing"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			if print && env.JSON {
				return fault.New(fault.Usage, "leave one of them out; the document of --json has the value as hash", "--print and --json are two formats")
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			cfg, err := env.repoConfig(c.Context, repo, "", given{})
			if err != nil {
				return err
			}
			if print {
				items, err := committedItems(c.Context, env.reader(repo), cfg)
				if err != nil {
					return err
				}
				fmt.Fprintf(env.Stdout, "%s\n", gitstore.TrustHash(items))
				return nil
			}
			return env.askTrust(c.Context, repo, cfg)
		},
	}
}

// trusted is the document of `forge trust --json`.
type trusted struct {
	Items []trustedItem `json:"items"`
	Hash  string        `json:"hash"` // for FORGE_TRUST
}

type trustedItem struct {
	Key   string `json:"key"`
	Kind  string `json:"kind"`
	Value string `json:"value"`
	Place string `json:"place"` // file:line, or the run
}

// askTrust shows every value with its place and stores them after a yes.
func (env *Env) askTrust(ctx context.Context, repo *gitstore.Repo, cfg *config.Config) error {
	items, places, err := env.trustItems(ctx, repo, cfg)
	if err != nil {
		return err
	}
	if env.JSON {
		committed, err := committedItems(ctx, env.reader(repo), cfg)
		if err != nil {
			return err
		}
		document := trusted{Items: []trustedItem{}, Hash: gitstore.TrustHash(committed)}
		for i, item := range items {
			document.Items = append(document.Items, trustedItem{item.Key, item.Kind, item.Value, places[i]})
		}
		return env.PrintJSON(document)
	}
	if len(items) == 0 {
		fmt.Fprintf(env.Stdout, "nothing to trust: the committed configuration executes nothing\n")
		return nil
	}
	for i, item := range items {
		fmt.Fprintf(env.Stdout, "%s (%s, %s)\n", item.Key, item.Kind, places[i])
		for line := range strings.SplitSeq(item.Value, "\n") {
			fmt.Fprintf(env.Stdout, "  %s\n", visible(line))
		}
	}
	if !env.Terminal {
		return fault.New(fault.Usage, "forge trust --print", "forge trust asks on a terminal only; nothing was stored")
	}
	if !env.askYes("Trust these values?") {
		return fault.New(fault.Failed, "", "nothing was stored")
	}
	if err := repo.Trust(ctx, items); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "trusted %s in this clone\n", count(len(items), "value"))
	return nil
}

// trustItems are the configuration's values and those of open runs that this
// clone did not begin, with the place of each.
func (env *Env) trustItems(ctx context.Context, repo *gitstore.Repo, cfg *config.Config) (items []gitstore.TrustItem, places []string, err error) {
	engine := env.reader(repo)
	committed, err := committedItems(ctx, engine, cfg)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range committed {
		place, isEvals := strings.CutPrefix(item.Key, "evals:")
		if !isEvals {
			place = cfg.Origin(item.Key)
		}
		items, places = append(items, item), append(places, place)
	}
	runs, err := engine.Runs(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range runs {
		if r.Branch == "" || r.Ended == loop.Superseded {
			continue
		}
		frozen, err := frozenItems(ctx, engine, r.Config)
		if err != nil {
			return nil, nil, err
		}
		missing, err := repo.Trusted(frozen)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range missing {
			items, places = append(items, m.TrustItem), append(places, "run "+r.Name)
		}
	}
	return items, places, nil
}
