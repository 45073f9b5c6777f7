package forgecmd

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/gitstore/process"
	"forge/loop"
	"forge/loop/journal"
)

//go:embed demo
var demoFiles embed.FS

// demoCommand is `forge demo`: the whole loop on a small real repository, with
// no key and no network.
func demoCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "demo",
		Usage:     "make a small repository and run the whole loop on it; no key, no network",
		ArgsUsage: "[DIR]",
		Category:  groupStart,
		Description: about{
			Text:    "DIR must not exist or be empty; left out, a new temporary directory is made. It stays, to look around in.",
			Example: "forge demo",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			dir, err := env.demoDir(c.Args().First())
			if err != nil {
				return err
			}
			return env.demo(c.Context, dir)
		},
	}
}

// demoDir is the directory the demo is made in.
func (env *Env) demoDir(named string) (string, error) {
	if named == "" {
		return os.MkdirTemp(env.Getenv("TMPDIR"), "forge-demo-")
	}
	dir := env.Path(named)
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, os.MkdirAll(dir, 0o755)
	case err != nil:
		return "", fault.New(fault.Usage, "", "use %q for the demo: %w", named, err)
	case len(entries) > 0:
		return "", fault.New(fault.Usage, "name a directory that does not exist", "%q is not empty", named)
	}
	return dir, nil
}

// demoSetting is one flag of the demo's `forge run`.
type demoSetting struct {
	flag, key string
	values    []string
}

// demoSettings are the flags of the run with a metric.
var demoSettings = []demoSetting{
	{"--target", "run.target_path", []string{"cache.conf"}},
	{"--metric", "metric.command", []string{"./metric.sh"}},
	{"--minimize", "metric.direction", []string{"lower_is_better"}},
	{"--protect", "metric.protected_paths", []string{"*.sh", "simulate.awk"}},
	{"--invariant", "metric.invariant_command", []string{"./check.sh"}},
}

// demo makes the repository, runs the loop and shows what came out.
func (env *Env) demo(ctx context.Context, dir string) error {
	git := demoGit{env: env, dir: dir}
	if err := git.make(ctx); err != nil {
		return fmt.Errorf("make the demo repository: %w", err)
	}
	inner := *env
	inner.Dir = dir
	inner.Git.Vars = maps.Clone(env.Git.Vars)
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"} {
		delete(inner.Git.Vars, name) // as inside a hook: the demo has its own
	}
	env.say("a repository with a program that has a metric, and skills with evals: %s", dir)
	generic, base, err := inner.demoRun(ctx, demoSettings, runFlags{})
	if err != nil {
		return err
	}
	env.say("\nand a skill, measured by queries that should find it or not:")
	skill, _, err := inner.demoRun(ctx, nil, runFlags{skill: "csv-totals"})
	if err != nil || env.JSON {
		return err
	}
	for _, shown := range []struct {
		run   loop.RunFinished
		paths string
	}{{generic, "cache.conf"}, {skill, "skills"}} {
		if err := env.demoShow(ctx, git, shown.run, base, shown.paths); err != nil {
			return err
		}
	}
	run := strings.TrimPrefix(generic.Land, "forge land ")
	fmt.Fprintf(env.Stdout, `
report: %s on branch %s
look around:
  cd %s
  forge report %s
  forge show %s/exp-002
  forge land %s
`, journal.ReportPath(run), generic.Branch, dir, run, run, run)
	return nil
}

// demoShow prints a run's log and what it changed, with the commands that
// show it.
func (env *Env) demoShow(ctx context.Context, git demoGit, run loop.RunFinished, base, paths string) error {
	for _, command := range [][]string{
		{"log", "--first-parent", "--oneline", base + ".." + run.Branch},
		{"diff", base, run.Branch, "--", paths},
	} {
		shown, err := git.run(ctx, command...)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "\n$ git %s\n%s", strings.Join(command, " "), shown)
	}
	return nil
}

// say prints a line about what goes on, unless that is unwanted.
func (env *Env) say(format string, args ...any) {
	if !env.JSON && !env.Quiet {
		fmt.Fprintf(env.Stderr, format+"\n", args...)
	}
}

// demoRun is `forge run` on the demo's repository.
func (env *Env) demoRun(ctx context.Context, settings []demoSetting, f runFlags) (finished loop.RunFinished, base string, err error) {
	flags := given{values: map[string][]string{}, spelled: map[string]string{}}
	for _, s := range settings {
		flags.Set(s.key, s.flag, s.values...)
	}
	repo, err := env.openRepo(ctx)
	if err != nil {
		return finished, "", err
	}
	cfg, err := env.repoConfig(ctx, repo, "", flags)
	if err != nil {
		return finished, "", err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return finished, "", err
	}
	if err := env.chooseMode(ctx, repo, cfg, &f); err != nil {
		return finished, "", err
	}
	finished, err = env.runSession(ctx, repo, cfg, f)
	return finished, head.Commit.Short(), err
}

// demoGit runs git in the demo's directory.
type demoGit struct {
	env *Env
	dir string
}

// make writes the demo's files and commits them.
func (g demoGit) make(ctx context.Context) error {
	files, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return err
	}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		file := filepath.Join(g.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, data, mode)
	})
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "forge demo"},
		{"config", "user.email", "demo@example.com"},
		{"config", "commit.gpgsign", "false"},
		{"add", "."},
		{"commit", "-q", "--no-verify", "-m", "a cache that wants better numbers"},
	} {
		if _, err := g.run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// run is one git command in the demo's directory.
func (g demoGit) run(ctx context.Context, args ...string) ([]byte, error) {
	vars := maps.Clone(g.env.Git.Vars)
	maps.DeleteFunc(vars, func(name, _ string) bool {
		return strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_AUTHOR_") && !strings.HasPrefix(name, "GIT_COMMITTER_") && !strings.HasPrefix(name, "GIT_CONFIG")
	})
	result, err := process.Plain(ctx, process.Command{
		Argv: append([]string{"git"}, args...), Dir: g.dir, Env: process.Environment(vars), Timeout: time.Minute,
	})
	if err != nil {
		return nil, fault.New(fault.Failed, "install git", "run git %s: %w", args[0], err)
	}
	if !result.OK() {
		return nil, fmt.Errorf("git %s exits %d: %s", args[0], result.ExitCode, strings.TrimSpace(string(result.Stderr)))
	}
	return result.Stdout, nil
}
