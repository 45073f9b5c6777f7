package forgecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// testEnv is an Env with nothing of the process in it.
func testEnv(vars map[string]string, stdin string) (env *Env, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	clock := func() time.Time { return time.Date(2026, 5, 8, 9, 0, 0, 0, time.UTC) }
	return &Env{
		Stdin: strings.NewReader(stdin), Stdout: stdout, Stderr: stderr,
		Getenv: func(name string) string { return vars[name] }, Now: clock, Dir: ".",
		Git: gitstore.Env{Vars: vars, Now: clock},
	}, stdout, stderr
}

// forge runs one command line in this process and returns its exit code.
func forge(t *testing.T, vars map[string]string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	env, out, errs := testEnv(vars, stdin)
	ctx := context.Background()
	err := guarded(env, func() error { return env.run(ctx, append([]string{"forge"}, args...)) })
	return printFailure(ctx, env, err), out.String(), errs.String()
}

// STYLE section 6, pitfall 1: exit 2, nothing on stdout, what to type.
func TestUsageErrors(t *testing.T) {
	tests := map[string]struct{ line, error, hint string }{
		"misspelt flag":       {"version --jsno", "unknown flag --jsno; did you mean --json?", "see forge version --help"},
		"misspelt command":    {"verison", `unknown command "verison"; did you mean version?`, "see forge --help"},
		"misspelt subcommand": {"loop decied", `unknown command "decied"; did you mean decide?`, "see forge loop --help"},
		"missing argument":    {"completion", "forge completion: an argument is missing (0 of at least 1)", "usage: forge completion bash|zsh|fish|powershell"},
		"missing subcommand":  {"loop", "forge loop wants a command after it", "see forge loop --help"},
		"too many arguments":  {"completion bash zsh", `forge completion: 2 arguments of at most 1; the first too many is "zsh"`, "usage: forge completion bash|zsh|fish|powershell"},
		"no argument wanted":  {"version x", `forge version takes no argument, got "x"`, "see forge version --help"},
		"missing value":       {"version -C", "flag -C wants a value", "see forge version --help"},
		"bad switch value":    {"version --json=maybe", `forge version: invalid boolean value "maybe" for -json: parse error`, "see forge version --help"},
		"bad number":          {"loop resolution --assertions x", `forge loop resolution: invalid value "x" for flag -assertions: parse error`, "see forge loop resolution --help"},
		"misspelt help topic": {"help verison", `unknown command "verison"; did you mean version?`, "see forge --help"},
		"misspelt shell":      {"completion basj", `unknown shell "basj"; did you mean bash?`, "one of bash, zsh, fish, powershell"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := forge(t, nil, "", strings.Fields(tt.line)...)
			want := fmt.Sprintf("forge: error: %s\nforge: hint: %s\n", tt.error, tt.hint)
			if code != 2 || stdout != "" || stderr != want {
				t.Errorf("forge %s: exit %d, stdout %q, stderr\n%swant\n%s", tt.line, code, stdout, stderr, want)
			}
			code, stdout, stderr = forge(t, nil, "", append(strings.Fields(tt.line), "--json")...)
			if name == "missing value" || name == "bad switch value" {
				return // there the last word is the value, or says no
			}
			var document struct {
				Error struct{ Kind, Message, Hint string }
			}
			if err := json.Unmarshal([]byte(stderr), &document); err != nil || code != 2 || stdout != "" ||
				document.Error.Kind != "usage" || document.Error.Message != tt.error || document.Error.Hint != tt.hint {
				t.Errorf("forge %s --json: exit %d, stdout %q, stderr %q, %v", tt.line, code, stdout, stderr, err)
			}
		})
	}
}

// H11: with --json an error is one object on stderr, wherever --json stands.
func TestErrorJSON(t *testing.T) {
	for _, line := range []string{"--json nope", "nope --json", "--json=true nope"} {
		code, stdout, stderr := forge(t, nil, "", strings.Fields(line)...)
		want := `{"error":{"kind":"usage","message":"unknown command \"nope\"","hint":"see forge --help"}}` + "\n"
		if code != 2 || stdout != "" || stderr != want {
			t.Errorf("forge %s: exit %d, stdout %q, stderr %q, want %q", line, code, stdout, stderr, want)
		}
	}
}

// H1: exit codes are kinds, and they and the hint survive wrapping.
func TestReport(t *testing.T) {
	signalled, cancel := context.WithCancelCause(context.Background())
	cancel(interrupted{os.Interrupt})
	inner, stop := context.WithCancel(context.Background())
	stop()
	resumable := fault.New(fault.Failed, "forge run --resume", "stopped")
	tests := map[string]struct {
		ctx  context.Context
		err  error
		code int
		want string
	}{
		"none":                       {context.Background(), nil, 0, ""},
		"plain":                      {context.Background(), io.ErrUnexpectedEOF, 1, "forge: error: unexpected EOF\n"},
		"wrapped fault":              {context.Background(), fmt.Errorf("land: %w", fault.New(fault.Conflict, "try again", "moved")), 4, "forge: error: land: moved\nforge: hint: try again\n"},
		"refused":                    {context.Background(), fault.New(fault.Refused, "", "no"), 3, "forge: error: no\n"},
		"nothing":                    {context.Background(), fault.New(fault.Nothing, "", "same"), 5, "forge: error: same\n"},
		"interrupted, with a resume": {signalled, fmt.Errorf("measure: %w", resumable), 130, "forge: error: interrupted by interrupt\nforge: hint: forge run --resume\n"},
		"inner deadline":             {context.Background(), inner.Err(), 1, "forge: error: context canceled\n"},
		"answer on stdout":           {context.Background(), negative{fault.Refused}, 3, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			env, _, stderr := testEnv(nil, "")
			if code := printFailure(tt.ctx, env, tt.err); code != tt.code || stderr.String() != tt.want {
				t.Errorf("printFailure(%v) = %d, prints %q, want %d, %q", tt.err, code, stderr, tt.code, tt.want)
			}
		})
	}
}

// R-EXIT-2: a panic is exit 70 and one line; the stack only with --verbose.
func TestCrash(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		env, _, stderr := testEnv(nil, "")
		env.Verbose = verbose
		err := guarded(env, func() error { panic("index out of range") })
		code := printFailure(context.Background(), env, err)
		if code != 70 || !strings.Contains(stderr.String(), "forge: error: forge crashed: index out of range\n") {
			t.Errorf("exit %d, stderr %q", code, stderr)
		}
		if strings.Contains(stderr.String(), "goroutine") != verbose {
			t.Errorf("verbose %t prints %q", verbose, stderr)
		}
	}
}

// CLI.md: the help of every command has one sentence, usage, flags, exit
// codes and one example, and help and --help print the same.
func TestHelpOfEveryCommand(t *testing.T) {
	env, _, _ := testEnv(nil, "")
	var walk func(path []string, command *cli.Command)
	walk = func(path []string, command *cli.Command) {
		name := strings.Join(append([]string{"forge"}, path...), " ")
		code, stdout, stderr := forge(t, nil, "", append(path, "--help")...)
		if code != 0 || stderr != "" {
			t.Errorf("%s --help: exit %d, stderr %q", name, code, stderr)
		}
		_, same, _ := forge(t, nil, "", append([]string{"help"}, path...)...)
		if same != stdout {
			t.Errorf("%s --help and help differ", name)
		}
		for _, part := range []string{name + ": ", "\nUsage:\n  " + name + " ", "Common flags:\n", "\nExit codes:\n  0 ", "\nExample:\n  "} {
			if !strings.Contains(stdout, part) {
				t.Errorf("%s --help does not have %q", name, part)
			}
		}
		if command.Usage == "" || strings.HasSuffix(command.Usage, ".") {
			t.Errorf("%s: sentence %q, want one without a full stop", name, command.Usage)
		}
		for _, sub := range command.Subcommands {
			if len(path) == 0 && sub.Category == "" {
				t.Errorf("%s %s stands in no group of the help", name, sub.Name)
			}
			if !sub.Hidden {
				walk(append(path[:len(path):len(path)], sub.Name), sub)
			}
		}
	}
	walk(nil, env.root())
}

// CLI.md: -C and --json work before and after the command, at every depth.
func TestCommonFlagsAnywhere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/h.jsonl", []byte(`{"decision":"KEEP"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, want, _ := forge(t, nil, "", "loop", "plateau", "h.jsonl", "-C", dir)
	if !strings.Contains(want, `"KEEP"`) {
		t.Fatalf("the plain form prints %q", want)
	}
	for _, line := range [][]string{
		{"-C", dir, "loop", "plateau", "h.jsonl"},
		{"-C=" + dir, "loop", "plateau", "h.jsonl"},
		{"loop", "-C", dir, "plateau", "h.jsonl"},
		{"loop", "plateau", "-C", dir, "h.jsonl"},
		{"loop", "plateau", "h.jsonl", "-C=" + dir},
	} {
		if code, got, stderr := forge(t, nil, "", line...); got != want {
			t.Errorf("forge %s: exit %d, %q, %q", strings.Join(line, " "), code, got, stderr)
		}
	}
}

// FORGE_NOW is the clock; what is no time is exit 2 in every command.
func TestClock(t *testing.T) {
	env, _, _ := testEnv(map[string]string{"FORGE_NOW": "2026-05-08T11:00:00+02:00"}, "")
	if err := env.setClock(); err != nil || !env.Now().Equal(env.Git.Now()) || env.Now().UTC().Hour() != 9 {
		t.Errorf("now %s and %s, %v", env.Now(), env.Git.Now(), err)
	}
	code, stdout, stderr := forge(t, map[string]string{"FORGE_NOW": "yesterday"}, "", "version")
	if code != 2 || stdout != "" || !strings.Contains(stderr, `FORGE_NOW is "yesterday"`) {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestVersion(t *testing.T) {
	tests := map[string]struct {
		build build
		want  string
	}{
		"release":      {build{Version: "1.2.3", Commit: strings.Repeat("0123abcdef", 4), Date: "2026-05-08T09:00:00Z"}, "forge 1.2.3 (0123abc, 2026-05-08T09:00:00Z)"},
		"dirty":        {build{Version: "dev", Commit: strings.Repeat("0123abcdef", 4) + "-dirty"}, "forge dev (0123abc-dirty)"},
		"nothing":      {build{Version: "dev"}, "forge dev"},
		"short commit": {build{Version: "1", Commit: "0123abc"}, "forge 1 (0123abc)"},
	}
	for name, tt := range tests {
		if got := tt.build.String(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	_, line, _ := forge(t, nil, "", "--version")
	_, same, _ := forge(t, nil, "", "version")
	if line != same || !strings.HasPrefix(line, "forge ") {
		t.Errorf("--version prints %q, version %q", line, same)
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "complete -o bashdefault", "zsh": "compdef _forge forge", "fish": "complete -c forge", "powershell": "Register-ArgumentCompleter",
	} {
		code, stdout, stderr := forge(t, nil, "", "completion", shell)
		if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("completion %s: exit %d, stderr %q, no %q in %q", shell, code, stderr, want, stdout)
		}
	}
}

// A warning is a line, one object with --json, and nothing with --quiet.
func TestWarn(t *testing.T) {
	for name, tt := range map[string]struct {
		json, quiet bool
		want        string
	}{
		"text":  {false, false, "forge: warning: 3 <left>\n"},
		"json":  {true, false, `{"warning":{"message":"3 <left>"}}` + "\n"},
		"quiet": {false, true, ""},
	} {
		env, _, stderr := testEnv(nil, "")
		env.JSON, env.Quiet = tt.json, tt.quiet
		env.Warn("%d <left>", 3)
		if stderr.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, stderr, tt.want)
		}
	}
}
