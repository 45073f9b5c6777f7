package forgecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore/fault"
)

// ConfigPath is where a repository keeps its configuration, from its root.
const ConfigPath = ".forge/config.toml"

// given collects the flags of a command that set a key of the configuration.
type given struct {
	values  map[string][]string
	spelled map[string]string
}

// givenFlags reads the flags of c that were typed. keys maps a flag's name to
// its key: {"improvement": "run.improvement_threshold"}.
func givenFlags(c *cli.Context, keys map[string]string) given {
	g := given{values: map[string][]string{}, spelled: map[string]string{}}
	for flag, key := range keys {
		if !c.IsSet(flag) {
			continue
		}
		g.spelled[key] = "--" + flag
		switch v := c.Value(flag).(type) {
		case cli.StringSlice:
			g.values[key] = v.Value()
		case bool:
			g.values[key] = []string{strconv.FormatBool(v)}
		default:
			g.values[key] = []string{fmt.Sprint(v)}
		}
	}
	return g
}

// Set adds one more value, as if it had been typed as the flag spelled.
func (g given) Set(key, spelled string, values ...string) {
	g.values[key], g.spelled[key] = values, spelled
}

// LoadConfig resolves the configuration: the flags given, the environment,
// the repository's file as the caller read it (or the file named by --config,
// if named is not empty), the person's file and the defaults. It prints no
// warnings; [config.Config.Warnings] has them.
func (env *Env) LoadConfig(named string, repository config.File, flags given) (*config.Config, error) {
	sources := config.Sources{
		Flags: flags.values, Spelled: flags.spelled, Environ: env.Git.Vars,
		Repo: repository, Named: named != "",
	}
	var err error
	if named != "" {
		if sources.Repo, err = readConfig(env.Path(named), named); err != nil {
			return nil, err
		}
		if !sources.Repo.Present {
			return nil, fault.New(fault.Usage, "", "there is no configuration file %q", named)
		}
	}
	if path := env.personConfig(); path != "" {
		if sources.Person, err = readConfig(path, path); err != nil {
			return nil, err
		}
	}
	return config.Load(sources)
}

// personConfig is the path of the person's own file, or "" without a home.
func (env *Env) personConfig() string {
	base := env.Getenv("XDG_CONFIG_HOME")
	if base == "" {
		home := env.Getenv("HOME")
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "forge", "config.toml")
}

// readConfig reads a configuration file; one that does not exist is not
// present and no error.
func readConfig(path, name string) (config.File, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.File{Name: name}, nil
	case err != nil:
		return config.File{}, fault.New(fault.Usage, "", "read configuration %q: %w", name, err)
	}
	return config.File{Name: name, Data: data, Present: true}, nil
}

// plumbingConfig is LoadConfig for `forge loop`, which works outside a
// repository too: the repository's file is that of the work tree around the
// directory of -C, if there is one.
func (env *Env) plumbingConfig(named string, flags given) (*config.Config, error) {
	repository := config.File{}
	if root := workTree(env.Dir); root != "" && named == "" {
		var err error
		if repository, err = readConfig(filepath.Join(root, filepath.FromSlash(ConfigPath)), ConfigPath); err != nil {
			return nil, err
		}
	}
	return env.LoadConfig(named, repository, flags)
}

// workTree returns the nearest directory at or above dir that holds a .git,
// or "".
func workTree(dir string) string {
	at, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		parent := filepath.Dir(at)
		if parent == at {
			return ""
		}
		at = parent
	}
}
