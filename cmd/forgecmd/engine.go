package forgecmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"forge/cmd/forgecmd/config"
	"forge/gitstore"
	"forge/gitstore/process"
	"forge/loop"
	morning "forge/loop/report"
	"forge/loop/runner"
)

// openRepo opens the repository of -C and prints what it warns about.
func (env *Env) openRepo(ctx context.Context) (*gitstore.Repo, error) {
	repo, err := gitstore.Open(ctx, env.Dir, env.Git)
	if err != nil {
		return nil, err
	}
	for _, w := range repo.Warnings() {
		env.Warn("%s", w)
	}
	return repo, nil
}

// repoConfig reads the configuration that holds in a repository: the file in
// its work tree, or that of HEAD where there is none (config.md R-CFG-1).
func (env *Env) repoConfig(ctx context.Context, repo *gitstore.Repo, named string, flags given) (*config.Config, error) {
	file, err := env.repoConfigFile(ctx, repo)
	if err != nil {
		return nil, err
	}
	cfg, err := env.LoadConfig(named, file, flags)
	if err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		env.Warn("%s", w)
	}
	return cfg, nil
}

func (env *Env) repoConfigFile(ctx context.Context, repo *gitstore.Repo) (config.File, error) {
	if tree := repo.WorkTree(); tree != "" {
		return readConfig(filepath.Join(tree, filepath.FromSlash(ConfigPath)), ConfigPath)
	}
	head, err := repo.Head(ctx)
	if err != nil || head.Commit == "" {
		return config.File{}, err
	}
	data, err := repo.ReadFile(ctx, head.Commit, ConfigPath)
	if errors.Is(err, gitstore.ErrNotFound) {
		return config.File{Name: ConfigPath}, nil
	}
	return config.File{Name: ConfigPath, Data: data, Present: err == nil}, err
}

// engine wires the loop to this process. The closer removes the places where
// evals ran and ends the supervisor of their children.
func (env *Env) engine(repo *gitstore.Repo, events func(loop.Event)) (*loop.Engine, func() error) {
	children := process.NewRunner(env.Self)
	children.Crash = env.Git.Crash
	shelf := &runner.Shelf{Repo: repo}
	local := &runner.Local{Shelf: shelf, Now: env.Now, Repo: repo, Execute: children.Run, Child: env.childEnvironment()}

	return &loop.Engine{
		Repo: repo, Now: env.Now, Execute: children.Run, Executor: local, Shelf: shelf, Report: morning.Markdown, Version: thisBuild().Version, Events: events,
		Child: env.childEnvironment(),
	}, func() error { return errors.Join(local.Close(), children.Close()) }
}

// clearAway brings up what a killed forge left behind: every command that
// works on a run begins with it. A child of the killed one may still write
// into its export; then a later sweep takes that.
func (env *Env) clearAway(ctx context.Context, e *loop.Engine) error {
	if err := e.SyncTips(ctx); err != nil {
		return err
	}
	if err := e.Repo.SweepExports(ctx); err != nil && ctx.Err() == nil {
		env.Warn("%v", err)
	}
	return nil
}

// warnRefspecs says which fetch refspecs would let git delete the refs of runs
// (handoff.md section 10, repo.refspec; DECISIONS T5).
func (env *Env) warnRefspecs(ctx context.Context, repo *gitstore.Repo) {
	bad, err := repo.BadRefspecs(ctx)
	if err != nil && ctx.Err() == nil {
		env.Warn("%v", err)
	}
	for _, b := range bad {
		env.Warn("the fetch refspec %q of %q: %s; %s", b.Refspec, b.Remote, b.Warning(), b.Hint)
	}
}

// reader is an engine for commands that only read.
func (env *Env) reader(repo *gitstore.Repo) *loop.Engine {
	return &loop.Engine{Repo: repo, Now: env.Now, Report: morning.Markdown}
}

// childEnvironment is what every child gets of the person's environment, and
// nothing else (handoff.md R-SEAM-3).
func (env *Env) childEnvironment() []string {
	zone := env.Getenv("TZ")
	if zone == "" {
		zone = "UTC"
	}
	return []string{"PATH=" + env.Getenv("PATH"), "TZ=" + zone}
}

// passEnv resolves NAME and NAME=VALUE: a bare name takes the value of forge's
// own environment and is left out when it is not set there.
func (env *Env) passEnv(entries []string) []string {
	var out []string
	for _, entry := range entries {
		if strings.Contains(entry, "=") {
			out = append(out, entry)
		} else if value, set := env.Git.Vars[entry]; set {
			out = append(out, entry+"="+value)
		}
	}
	return out
}

// namesOfEnv are the names of pass-env entries, sorted, each once: what is
// frozen with a run.
func namesOfEnv(entries []string) []string {
	names := []string{}
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// openRun opens the repository and finds RUN for a command that only reads or
// moves branches.
func (env *Env) openRun(ctx context.Context, name string) (*loop.Engine, loop.RunRef, error) {
	repo, err := env.openRepo(ctx)
	if err != nil {
		return nil, loop.RunRef{}, err
	}
	e := env.reader(repo)
	r, err := env.findRun(ctx, e, name)
	return e, r, err
}

// findRun is RUN of a command line.
func (env *Env) findRun(ctx context.Context, e *loop.Engine, name string) (loop.RunRef, error) {
	r, err := e.FindRun(ctx, name)
	if err == nil && name == "" && !env.JSON && !env.Quiet {
		fmt.Fprintf(env.Stderr, "run %s on %s\n", r.Name, r.Config.Target)
	}
	return r, err
}
