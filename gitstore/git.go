package gitstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"forge/gitstore/crash"
	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// errNoGit says that no git binary was found on Env's PATH (R-GIT-1). What
// needs git wraps it in a fault that names the command to type.
var errNoGit = errors.New("no git binary was found on PATH")

// localVars are the variables `git rev-parse --local-env-vars` lists: they tie
// a git process to one repository, index or configuration, and a child that
// inherits them works on the wrong one (R-GIT-2).
var localVars = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT",
	"GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE",
	"GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
	"GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// gitTimeout bounds every short git call.
const gitTimeout = 60 * time.Second

// gitCall is one call of the git binary. The zero value of all but Args means
// "as usual".
type gitCall struct {
	Args  []string // required: after `git`
	Dir   string   // working directory; "" is the work tree, or the git directory of a bare repository
	Bare  bool     // do not name this repository: git finds one by itself, or needs none
	Env   []string // NAME=VALUE added last
	Stdin []byte
	Limit int64 // bytes of output kept; 0 is process's default

	Timeout time.Duration // 0 is gitTimeout
}

// git runs the git binary in this repository (R-GIT-2): cleaned environment,
// LC_ALL=C, no terminal prompt off a terminal, own process group, a deadline.
// A failed exit is not an error here; see [gitFailure].
func (r *Repo) git(ctx context.Context, call gitCall) (process.Result, error) {
	binary, err := r.gitBinary()
	if err != nil {
		return process.Result{}, err
	}
	argv := []string{binary}
	if !call.Bare {
		argv = append(argv, "--git-dir="+r.gitDir)
		if r.workTree != "" {
			argv = append(argv, "--work-tree="+r.workTree)
		}
	}
	dir := call.Dir
	if dir == "" {
		dir = r.gitDir
		if r.workTree != "" {
			dir = r.workTree
		}
	}
	result, err := process.Plain(ctx, process.Command{
		Argv: append(argv, call.Args...), Dir: dir, Env: append(r.gitEnv(), call.Env...),
		Stdin: call.Stdin, OutputLimit: call.Limit, Timeout: cmp.Or(call.Timeout, gitTimeout), Crash: r.env.Crash,
	})
	if err != nil {
		return result, fmt.Errorf("run git %s: %w", call.Args[0], err)
	}
	return result, nil
}

// gitEnv is the environment of a git call: what the process got, without
// git's local variables, in a fixed order.
func (r *Repo) gitEnv() []string {
	vars := cleanVars(r.env.Vars)
	vars["LC_ALL"] = "C"
	if !r.env.Terminal {
		vars["GIT_TERMINAL_PROMPT"] = "0"
	}
	return process.Environment(vars)
}

// cleanVars returns a copy of vars without git's local variables and the
// configuration that rides on them (R-GIT-2).
func cleanVars(vars map[string]string) map[string]string {
	clean := maps.Clone(vars)
	if clean == nil {
		clean = map[string]string{}
	}
	for _, name := range localVars {
		delete(clean, name)
	}
	delete(clean, crash.CrashVariable) // a hook that runs forge has points of its own
	delete(clean, crash.FailVariable)
	maps.DeleteFunc(clean, func(name, _ string) bool {
		return strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
	})
	return clean
}

// gitFailure is the error of a git call that ran and failed: git's own first
// line of standard error, its "fatal: " or "error: " taken off.
func gitFailure(what string, result process.Result) error {
	if result.TimedOut {
		return fmt.Errorf("git %s took more than %s", what, gitTimeout)
	}
	if result.OutputCut {
		return fmt.Errorf("git %s printed more than forge reads", what)
	}
	return fmt.Errorf("git %s: %s", what, firstLine(result.Stderr, result.ExitCode))
}

func firstLine(stderr []byte, exitCode int) string {
	for line := range bytes.Lines(stderr) {
		text := strings.TrimSpace(string(line))
		text = strings.TrimPrefix(strings.TrimPrefix(text, "fatal: "), "error: ")
		if text != "" && !strings.HasPrefix(text, "hint:") && !strings.HasPrefix(text, "warning:") {
			return text
		}
	}
	return fmt.Sprintf("exit status %d", exitCode)
}

// needGit turns errNoGit into a fault that says what could not be done.
func needGit(err error, what string) error {
	if !errors.Is(err, errNoGit) {
		return err
	}
	return fault.New(fault.Refused, "install git, or put it on PATH", "%s needs git: %w", what, errNoGit)
}

// gitTool is what is asked of the git binary at most once per Repo, and only
// when something needs it (R-GIT-1).
type gitTool struct {
	findOnce sync.Once
	path     string
	findErr  error

	configMu sync.Mutex
	config   gitConfig // nil until asked

	versionOnce sync.Once
	major       int
	minor       int
	versionErr  error
}

// gitBinary returns the path of the git binary on Env's PATH, or errNoGit.
func (r *Repo) gitBinary() (string, error) {
	r.tool.findOnce.Do(func() {
		r.tool.path, r.tool.findErr = findProgram("git", r.env.Vars["PATH"])
	})
	return r.tool.path, r.tool.findErr
}

// gitVersion returns major and minor number of the git binary. It is asked
// once per Repo.
func (r *Repo) gitVersion(ctx context.Context) (major, minor int, err error) {
	r.tool.versionOnce.Do(func() {
		result, err := r.git(ctx, gitCall{Args: []string{"version"}, Bare: true})
		if err == nil && !result.OK() {
			err = gitFailure("version", result)
		}
		if err == nil {
			_, err = fmt.Sscanf(string(result.Stdout), "git version %d.%d", &r.tool.major, &r.tool.minor)
		}
		r.tool.versionErr = err
	})
	return r.tool.major, r.tool.minor, r.tool.versionErr
}

// findProgram looks for an executable file on a PATH. Empty entries, which
// mean the working directory, are skipped: a repository must not supply git.
func findProgram(name, path string) (string, error) {
	suffixes := []string{""}
	if runtime.GOOS == "windows" {
		suffixes = []string{".exe"}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, suffix := range suffixes {
			file := filepath.Join(dir, name+suffix)
			info, err := os.Stat(file)
			if err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || runtime.GOOS == "windows") {
				return file, nil
			}
		}
	}
	return "", errNoGit
}

// gitConfig is git's own view of the configuration, includes and all: the
// last value of each name, names with section and key in lower case.
type gitConfig map[string]string

// bool reports git's reading of a boolean.
func (c gitConfig) bool(name string) bool {
	value, ok := c[name]
	return ok && configTrue(value)
}

// askConfig returns git's configuration, asked once per Repo. Without git it
// is the repository's own file alone (R-COM-5).
func (r *Repo) askConfig(ctx context.Context) (gitConfig, error) {
	r.tool.configMu.Lock()
	defer r.tool.configMu.Unlock()
	if r.tool.config != nil {
		return r.tool.config, nil
	}
	result, err := r.git(ctx, gitCall{Args: []string{"config", "--list", "-z", "--includes"}})
	if errors.Is(err, errNoGit) {
		r.tool.config = r.config.last()
		return r.tool.config, nil
	}
	if err != nil {
		return nil, err
	}
	if !result.OK() {
		return nil, gitFailure("config", result)
	}
	r.tool.config = parseConfigList(result.Stdout)
	return r.tool.config, nil
}

// parseConfigList reads the output of `git config --list -z`: NAME LF VALUE
// NUL, or NAME NUL for a name without a value, which means true.
func parseConfigList(output []byte) gitConfig {
	config := gitConfig{}
	for record := range bytes.SplitSeq(output, []byte{0}) {
		if len(record) == 0 {
			continue
		}
		name, value, found := strings.Cut(string(record), "\n")
		if !found {
			value = "true"
		}
		config[name] = value
	}
	return config
}
