package forgecmd

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// splitCommand is `forge loop split-assign` (loop.md section 4).
func splitCommand(env *Env) *cli.Command {
	var named, val, test string
	var force, dry bool
	return &cli.Command{
		Name:      "split-assign",
		Usage:     "divide evals into train, val and test by a hash of their ids",
		ArgsUsage: "EVALS|-",
		Description: about{
			Text: "The split of an eval follows from the seed and its id alone and is written into the file; one that\n" +
				"the file states already stays. Nothing else in the file changes. From standard input only with --dry-run.",
			Exits:   exits{3: "fewer evals than min_evals"},
			Example: "forge loop split-assign skills/pdf/evals/evals.json --dry-run",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "seed", Usage: "`S` goes into the hash: a number or a text; default 42"},
			&cli.StringFlag{Name: "val", Destination: &val, Usage: "fraction `F` of the evals for val; default 0.25"},
			&cli.StringFlag{Name: "test", Destination: &test, Usage: "fraction `F` of the evals for test; default 0.25"},
			&cli.BoolFlag{Name: "force", Destination: &force, Usage: "split fewer evals than min_evals, too"},
			&cli.BoolFlag{Name: "dry-run", Destination: &dry, Usage: "print the splits, write nothing"},
			configFlag(&named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			name := c.Args().First()
			if name == "-" && !dry {
				return fault.New(fault.Usage, "--dry-run, or name a file", "evals from standard input cannot be written back")
			}
			cfg, err := env.plumbingConfig(named, givenFlags(c, map[string]string{"seed": "run.split_seed"}))
			if err != nil {
				return err
			}
			rule, err := splitRule(cfg, map[string]string{"val": val, "test": test})
			if err != nil {
				return err
			}
			rule.Force = force
			return env.splitAssign(name, rule, dry)
		},
	}
}

// splitRule is the rule of a configuration, with the fractions typed as flags.
func splitRule(cfg *config.Config, typed map[string]string) (evals.SplitRule, error) {
	rule := evals.SplitRule{
		Seed: cfg.Run.SplitSeed, Fractions: cfg.Run.SplitRatio,
		MinEvals: cfg.Run.MinEvals, MinEvalsForTest: cfg.Run.MinEvalsForTest,
	}
	if rule.MinEvalsForTest < rule.MinEvals {
		return rule, fault.New(fault.Usage, "", "run.min_evals_for_test is %d (%s), want at least min_evals, %d",
			rule.MinEvalsForTest, cfg.Origin("run.min_evals_for_test"), rule.MinEvals)
	}
	for flag, into := range map[string]**big.Rat{"val": &rule.Fractions.Val, "test": &rule.Fractions.Test} {
		if typed[flag] == "" {
			continue
		}
		fraction, err := verdict.ParseNumber(typed[flag])
		if err != nil {
			return rule, fault.New(fault.Usage, fault.HintOf(err), "--%s: %w", flag, err)
		}
		*into = fraction
	}
	return rule, nil
}

// splitAssign splits a file of evals, writes it unless dry, and prints the
// assignment.
func (env *Env) splitAssign(name string, rule evals.SplitRule, dry bool) error {
	set, err := env.readEvals(name)
	if err != nil {
		return err
	}
	if err := set.CheckIDs(); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	assigned, err := set.Assign(rule)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if !dry {
		written, err := set.WithSplits(assigned)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		if err := env.writeFile(name, written); err != nil {
			return err
		}
		assigned.Written = true
	}
	for _, code := range assigned.Warnings {
		env.Warn("%s: %s", name, splitWarnings[code])
	}
	return env.PrintJSON(assigned)
}

// splitWarnings are the codes of loop.md R-SPLIT-7 as sentences.
var splitWarnings = map[string]string{
	"test_empty":    "test_empty: no eval fell into the test split",
	"small_test":    "small_test: the test split has one or two evals",
	"small_val":     "small_val: the val split has fewer than three evals",
	"few_evals":     "few_evals: there are fewer evals than min_evals",
	"no_test":       "no_test: there is no test split, so nothing is held out",
	"train_empty":   "train_empty: no eval is left for train",
	"class_missing": "class_missing: a split lacks queries that should trigger, or such that should not",
	"one_class":     "one_class: all queries should trigger, or none",
}

// readEvals reads a file of evals and prints its oddities as warnings.
func (env *Env) readEvals(name string) (evals.Set, error) {
	data, err := env.readInput(name, maxInput)
	if err != nil {
		return evals.Set{}, fault.New(fault.Usage, fault.HintOf(err), "%w", err)
	}
	set, err := evals.Read(data)
	if err != nil {
		return evals.Set{}, fmt.Errorf("%q: %w", name, err)
	}
	for _, w := range set.Warnings {
		env.Warn("%q: line %d: %s", name, w.Line, w.Text)
	}
	return set, nil
}

// writeFile writes a file by a temporary one beside it that takes its place;
// a file that exists keeps its mode, and one behind a link is the one written
// (loop.md R-FILE-1).
func (env *Env) writeFile(name string, data []byte) error {
	path := env.Path(name)
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		path = behind
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %q: %w", name, err), os.Remove(file.Name()))
	}
	return nil
}
