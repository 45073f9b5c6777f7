package forgecmd

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forge/gitstore"
	"forge/gitstore/crash"
	"forge/gitstore/fault"
)

// Env is everything a command gets from outside: no command reads the
// process's environment, clock, streams or working directory by itself.
type Env struct {
	Stdin    io.Reader
	Stdout   io.Writer           // results only; buffered, flushed by Main
	Stderr   io.Writer           // everything else
	Getenv   func(string) string // the environment
	Now      func() time.Time    // the program's clock; FORGE_NOW fixes it
	Terminal bool                // standard input and standard output are terminals: it may ask
	Git      gitstore.Env        // the same environment, clock and terminal, as gitstore wants them
	Self     string              // path of forge's own binary, for the supervisor of children

	// The flags every command takes, before or after its name.
	Dir     string // -C, "." without it
	JSON    bool
	Quiet   bool
	Verbose bool
	NoColor bool // --no-color, or NO_COLOR is set
}

// newEnv reads the process once. A FORGE_NOW that is no time is reported by
// run, where errors are printed.
func newEnv(stdout io.Writer) *Env {
	env := &Env{
		Stdin: os.Stdin, Stdout: stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Now: time.Now, Dir: ".",
		Terminal: isTerminal(os.Stdin) && isTerminal(os.Stdout),
		NoColor:  os.Getenv("NO_COLOR") != "",
	}
	if self, err := os.Executable(); err == nil {
		env.Self = self
	}
	env.Git = gitstore.Env{Vars: variables(os.Environ()), Now: env.Now, Terminal: env.Terminal}
	return env
}

// run takes the command line apart, answers what needs no command (help,
// usage errors, completion) and runs the command.
func (env *Env) run(ctx context.Context, args []string) error {
	root := env.root()
	line := readLine(root, args)
	env.JSON, env.Verbose = line.has("json"), line.has("verbose")
	if err := env.setClock(); err != nil {
		return err
	}
	if err := env.setCrash(); err != nil {
		return err
	}
	switch {
	case line.completing:
		return newApp(env, root).RunContext(ctx, args)
	case line.unknown != nil:
		return line.unknown
	case line.help:
		printHelp(env.Stdout, line.path)
		return nil
	case line.problem != nil:
		return line.problem
	}
	return newApp(env, root).RunContext(ctx, line.join())
}

// setClock fixes the program's clock to FORGE_NOW, if that is set
// (config.md section 4).
func (env *Env) setClock() error {
	text := env.Getenv("FORGE_NOW")
	if text == "" {
		return nil
	}
	fixed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fault.New(fault.Usage, "FORGE_NOW=2026-05-08T09:00:00Z",
			"FORGE_NOW is %q, want a time as in RFC 3339", text)
	}
	env.Now = func() time.Time { return fixed }
	env.Git.Now = env.Now
	return nil
}

// setCrash reads the crash points and write failures that tests ask for
// (gitstore.md section 15; config.md section 4).
func (env *Env) setCrash() (err error) {
	env.Git.Crash, err = crash.New(env.Git.Vars, env.Stderr)
	return err
}

// Path returns name as a path the process can open: relative ones start at
// the directory of -C, as with git.
func (env *Env) Path(name string) string {
	if filepath.IsAbs(name) || env.Dir == "" || env.Dir == "." {
		return name
	}
	return filepath.Join(env.Dir, name)
}

// variables turns NAME=VALUE pairs into a map; of a name given twice the
// last one holds.
func variables(pairs []string) map[string]string {
	vars := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// isTerminal reports whether f is a character device other than the null
// device, which is as near to "a person sits there" as the standard library
// goes.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// flush hands on what was printed so far, for output that is a stream.
func (env *Env) flush() {
	if buffered, ok := env.Stdout.(interface{ Flush() error }); ok {
		_ = buffered.Flush() // the writer keeps its error; Main reports it
	}
}
