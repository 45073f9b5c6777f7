package forgecmd

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop"
)

// againFlags are the flags of the commands that measure states of a run again.
type againFlags struct {
	named string // --config
	given given
}

// againKeys maps them to the keys they set.
var againKeys = map[string]string{"pass-env": "metric.pass_env", "parallel": "run.parallel"}

func (f *againFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "pass-env", Usage: "the value of what the run hands to its children by name, `NAME[=VALUE]`; repeatable"},
		&cli.IntFlag{Name: "parallel", Usage: "measure `N` evals at once; default 4"},
		configFlag(&f.named),
	}
}

// read takes the flags from the command line.
func (f *againFlags) read(c *cli.Context) {
	f.given = givenFlags(c, againKeys)
	f.given.passEnvToAll()
}

// withRun opens a run whose commands this clone trusts, for an action that
// measures states of it and writes nothing.
func (env *Env) withRun(ctx context.Context, name string, f againFlags, action func(*loop.Engine, loop.RunRef, loop.Setup) error) (err error) {
	if err := loop.CheckPlatform(); err != nil {
		return err
	}
	repo, err := env.openRepo(ctx)
	if err != nil {
		return err
	}
	cfg, err := env.repoConfig(ctx, repo, f.named, f.given)
	if err != nil {
		return err
	}
	if len(cfg.Run.Sandbox.Prefix) > 0 {
		return noSandbox()
	}
	e, closeRunner := env.engine(repo, nil)
	defer func() { err = errors.Join(err, closeRunner()) }()
	if err := repo.SweepExports(ctx); err != nil && ctx.Err() == nil { // of a measurement that was killed
		env.Warn("%v", err)
	}
	r, err := env.findRun(ctx, e, name)
	if err != nil {
		return err
	}
	if err := env.checkFrozenTrust(ctx, e, r.Config, cfg); err != nil {
		return err
	}
	// The proposer is not asked, so what it was handed is not either.
	setup := loop.Setup{Parallel: cfg.Run.Parallel}
	setup.PassEnv, err = env.frozenPassEnv(r.Name, r.Config.PassEnv, cfg.Metric.PassEnv)
	if err == nil {
		setup.RunnerPassEnv, err = env.frozenPassEnv(r.Name, specOf(r.Config).PassEnv, cfg.Runner.PassEnv)
	}
	if err != nil {
		return fault.New(fault.KindOf(err), "say it with --pass-env NAME=VALUE", "%w", err)
	}
	return action(e, r, setup)
}
