package forgecmd

import (
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
)

// configCommand is `forge config`.
func configCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:        "config",
		Usage:       "show the effective configuration",
		Category:    groupStart,
		Description: about{Example: "forge config list --origin"}.String(),
		Subcommands: []*cli.Command{configListCommand(env)},
	}
}

// listedKey is one key in the document of `forge config list --json`.
type listedKey struct {
	Key       string `json:"key"`
	Value     string `json:"value"`     // as written; "" where it is set nowhere
	Origin    string `json:"origin"`    // file:line, variable, flag or default
	Untrusted bool   `json:"untrusted"` // committed, and inert until forge trust
}

// configListCommand is `forge config list` (config.md R-CFG-6).
func configListCommand(env *Env) *cli.Command {
	var origin bool
	return &cli.Command{
		Name:  "list",
		Usage: "every key with its effective value and where it came from",
		Description: about{
			Text:    "An untrusted value is marked: it is committed and executes nothing until forge trust.",
			Example: "forge config list --origin",
		}.String(),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "origin", Destination: &origin, Usage: "print where each value came from"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			cfg, err := env.repoConfig(c.Context, repo, "", given{})
			if err != nil {
				return err
			}
			listed, err := listKeys(repo, cfg)
			if err != nil {
				return err
			}
			if env.JSON {
				return env.PrintJSON(struct {
					Keys []listedKey `json:"keys"`
				}{listed})
			}
			env.printKeys(listed, origin)
			return nil
		},
	}
}

// listKeys is every key in the order of config.md.
func listKeys(repo *gitstore.Repo, cfg *config.Config) ([]listedKey, error) {
	missing, err := repo.Trusted(cfg.TrustItems())
	if err != nil {
		return nil, err
	}
	inert := map[string]bool{}
	for _, m := range missing {
		inert[m.Key] = cfg.Uses(m.Key)
	}
	var listed []listedKey
	for _, s := range cfg.List() {
		listed = append(listed, listedKey{s.Key, s.Value, s.Origin, inert[s.Key]})
	}
	return listed, nil
}

func (env *Env) printKeys(listed []listedKey, origin bool) {
	table := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, k := range listed {
		fmt.Fprintf(table, "%s\t%s", k.Key, visible(k.Value))
		if origin {
			fmt.Fprintf(table, "\t%s", k.Origin)
		}
		if k.Untrusted {
			fmt.Fprintf(table, "\tuntrusted")
		}
		fmt.Fprintln(table)
	}
	table.Flush()
}
