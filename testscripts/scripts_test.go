// Package testscripts runs forge the way a person does: each .txtar file is a
// story of commands with what they print, run against the real binary in a
// directory of its own. Names are <command>_<scenario>.txtar.
//
// The scripts are hermetic: author, committer, dates, clock, time zone, home
// and git's configuration are fixed, so two runs give the same commit hashes.
// `go test ./testscripts -update` rewrites what `cmp` compares.
//
// Source: STYLE section 3, snippet 10.
package testscripts

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"forge/cmd/forgecmd"
)

var update = flag.Bool("update", false, "rewrite the files that scripts compare output with")

// TestMain makes forge and the fakes commands of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"forge":     func() { os.Exit(forgecmd.Main()) },
		"metric":    func() { os.Exit(metric(os.Args[1:])) },
		"fakeagent": func() { os.Exit(fakeagent(os.Args[1:])) },
		"hang":      func() { os.Exit(hang(os.Args[1:])) },
	})
}

// hermetic is the environment every script starts with, beside HOME.
func hermetic() map[string]string {
	const date = "2026-05-08T09:00:00Z"
	return map[string]string{
		"GIT_AUTHOR_NAME":     "Test Author",
		"GIT_AUTHOR_EMAIL":    "author@example.com",
		"GIT_AUTHOR_DATE":     date,
		"GIT_COMMITTER_NAME":  "Test Author",
		"GIT_COMMITTER_EMAIL": "author@example.com",
		"GIT_COMMITTER_DATE":  date,
		"GIT_CONFIG_NOSYSTEM": "1",
		"TZ":                  "UTC",
		"LC_ALL":              "C",
		"FORGE_NOW":           date,
	}
}

// gitConfig is the scripts' whole git configuration. Automatic maintenance
// would go on in the background while the next line of the script runs.
const gitConfig = "[gc]\n\tauto = 0\n"

// prepare gives a script its environment. Home, the git configuration and
// temporary files lie in .tmp, where they are in nobody's way; nothing of the
// caller's environment but PATH is inherited.
func prepare(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, ".tmp", "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	config := filepath.Join(e.WorkDir, ".tmp", "gitconfig")
	if err := os.WriteFile(config, []byte(gitConfig), 0o600); err != nil {
		return err
	}
	e.Values[intactKey{}] = new(string)
	e.Setenv("HOME", home)
	e.Setenv("GIT_CONFIG_GLOBAL", config)
	for name, value := range hermetic() {
		e.Setenv(name, value)
	}
	return nil
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: ".", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: prepare, Cmds: commands(),
	})
}

// A glob that finds nothing passes: the scripts are really there, and each
// is named after a command.
func TestScriptNames(t *testing.T) {
	scripts, err := filepath.Glob("*.txtar")
	if err != nil || len(scripts) < 5 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, name := range scripts {
		if !strings.Contains(name, "_") || strings.ToLower(name) != name {
			t.Errorf("script %s, want <command>_<scenario>.txtar", name)
		}
	}
}

// metric prints "METRIC score=N" where N stands in the file args[0]. Without
// the file it fails, as a real metric does when the code is broken.
func metric(args []string) int {
	if len(args) != 1 {
		return usage("metric FILE")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("METRIC score=%s\n", strings.TrimSpace(string(data)))
	return 0
}

// fakeagent is a proposer: it prints the file args[0]/exp-NNN of its
// experiment, a patch or a proposal, and has nothing more to give (exit 10)
// where there is none.
func fakeagent(args []string) int {
	if len(args) != 1 {
		return usage("fakeagent DIR")
	}
	file, err := os.Open(filepath.Join(args[0], os.Getenv("FORGE_EXPERIMENT")))
	if os.IsNotExist(err) {
		return 10
	}
	if err == nil {
		defer file.Close()
		_, err = io.Copy(os.Stdout, file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hang creates the file args[0] and waits until it is told to end: a child
// that is running when a signal comes.
func hang(args []string) int {
	if len(args) != 1 {
		return usage("hang FILE")
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	if err := os.WriteFile(args[0], nil, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-told
	return 1
}

func usage(line string) int {
	fmt.Fprintln(os.Stderr, "usage: "+line)
	return 2
}
