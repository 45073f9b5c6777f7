package forgecmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// sampleTree is a command tree with every kind of flag and two depths.
func sampleTree() *cli.Command {
	env := &Env{}
	root := &cli.Command{Name: "forge", Subcommands: []*cli.Command{
		{
			Name: "run", ArgsUsage: "[SKILL]",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "target"},
				&cli.BoolFlag{Name: "force"},
				&cli.StringSliceFlag{Name: "protect"},
			},
		},
		{Name: "loop", Subcommands: []*cli.Command{
			{Name: "noise-floor", ArgsUsage: "VALUE...", Flags: []cli.Flag{&cli.BoolFlag{Name: "relative"}}},
			{Name: "decide", Flags: []cli.Flag{&cli.StringFlag{Name: "candidate"}}},
		}},
	}}
	wire(env, root, "forge")
	return root
}

// STYLE section 4: every flag rule has a row.
func TestFlagsFirst(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"common flag before the command":       {"-C dir run x", "run -C dir x"},
		"common flag with =":                   {"-C=dir run x", "run -C=dir x"},
		"common flag between the commands":     {"loop --json noise-floor 1", "loop noise-floor --json 1"},
		"common flag after both":               {"loop noise-floor 1 --json", "loop noise-floor --json 1"},
		"common flags at every depth":          {"--json loop -C dir noise-floor --quiet 1", "loop noise-floor --json -C dir --quiet 1"},
		"switch last":                          {"run x --force", "run --force x"},
		"value flag last":                      {"run x --target a/b", "run --target a/b x"},
		"= form":                               {"run x --target=a/b", "run --target=a/b x"},
		"switch takes no value":                {"run --force x", "run --force x"},
		"repeated flag keeps its order":        {"run --protect a x --protect b", "run --protect a --protect b x"},
		"value that looks like a flag":         {"run --target --force x", "run --target --force x"},
		"unknown flag":                         {"run x --bogus y", "run --bogus x y"}, // whether y is its value nobody knows
		"lone dash":                            {"run - --force", "run --force -"},
		"after double dash":                    {"run x -- --force -C", "run -- x --force -C"},
		"double dash and nothing":              {"run --", "run --"},
		"value missing":                        {"run x --target", "run --target x"},
		"no command":                           {"--json", "--json"},
		"no arguments":                         {"", ""},
		"unknown command":                      {"rnu x --json", "--json rnu x"},
		"negative numbers":                     {"loop noise-floor -1 -.5 -2e-9", "loop noise-floor -- -1 -.5 -2e-9"},
		"negative number and switch":           {"loop noise-floor -1 --relative 2", "loop noise-floor --relative -- -1 2"},
		"negative number as a flag's value":    {"loop decide --candidate -2e-9 --json", "loop decide --json --candidate -2e-9"},
		"negative number as a value after =":   {"loop decide --candidate=-2e-9", "loop decide --candidate=-2e-9"},
		"single dash spelling":                 {"run x -target t -force", "run -target t -force x"},
		"command's name as an argument":        {"run run loop", "run run loop"},
		"command's name as a value":            {"-C run run x", "run -C run x"},
		"completion stays last":                {"run --fo --generate-bash-completion", "run --fo --generate-bash-completion"},
		"three dashes are an unknown flag":     {"run ---x", "run ---x"},
		"empty arguments":                      {"run  x", "run  x"},
		"flag of a command before the command": {"--force run x", "run --force x"}, // and refused by readLine
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			args := strings.Split("forge "+tt.in, " ")
			want := strings.Split("forge "+tt.want, " ")
			if tt.in == "" {
				args, want = args[:1], want[:1]
			}
			if got := flagsFirst(sampleTree(), args); !slices.Equal(got, want) {
				t.Errorf("flagsFirst(%q) = %q, want %q", args, got, want)
			}
		})
	}
}

// What readLine finds wrong, and what it does not.
func TestReadLine(t *testing.T) {
	tests := map[string]struct {
		in, problem, unknown string
		help                 bool
	}{
		"good":                    {in: "run x --force"},
		"unknown flag":            {in: "run x --focre", problem: "unknown flag --focre; did you mean --force?"},
		"unknown flag with value": {in: "run --targe=x", problem: "unknown flag --targe; did you mean --target?"},
		"unknown flag, far":       {in: "run --zzz", problem: "unknown flag --zzz"},
		"value missing":           {in: "run x --target", problem: "flag --target wants a value"},
		"common value missing":    {in: "run x -C", problem: "flag -C wants a value"},
		"unknown command":         {in: "rnu x", unknown: `unknown command "rnu"; did you mean run?`},
		"unknown subcommand":      {in: "loop decid", unknown: `unknown command "decid"; did you mean decide?`},
		"no guess":                {in: "zzz", unknown: `unknown command "zzz"`},
		"help":                    {in: "run x --help", help: true},
		"short help":              {in: "loop -h", help: true},
		"help as a value":         {in: "run --target --help"},
		"help after double dash":  {in: "run -- --help"},
		"no help":                 {in: "run --help=false"},
		"flag at the wrong depth": {in: "--force run", problem: "unknown flag --force"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := readLine(sampleTree(), strings.Split("forge "+tt.in, " "))
			if got := message(l.problem); got != tt.problem {
				t.Errorf("problem %q, want %q", got, tt.problem)
			}
			if got := message(l.unknown); got != tt.unknown {
				t.Errorf("unknown %q, want %q", got, tt.unknown)
			}
			if l.help != tt.help {
				t.Errorf("help %t, want %t", l.help, tt.help)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// flagsFirst only reorders: its output is a permutation of its input, a "--"
// aside, and doing it twice changes nothing.
func FuzzFlagsFirst(f *testing.F) {
	for _, seed := range []string{
		"run x --force", "-C dir loop noise-floor -1 -2", "run -- --x", "run --target", "--json --", "loop decide --candidate -1 --bogus", "run --generate-bash-completion", "- -",
	} {
		f.Add(strings.ReplaceAll(seed, " ", "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := sampleTree()
		args := append([]string{"forge"}, strings.Split(text, "\n")...)
		got := flagsFirst(root, args)
		if a, b := without(args), without(got); !slices.Equal(a, b) {
			t.Errorf("flagsFirst(%q) = %q is no permutation", args, got)
		}
		l := readLine(root, args)
		if l.problem != nil || l.unknown != nil {
			return
		}
		if again := flagsFirst(root, got); !slices.Equal(again, got) {
			t.Errorf("flagsFirst(%q) = %q, and once more %q", args, got, again)
		}
	})
}

// without sorts args and leaves one "--" out, if there is one.
func without(args []string) []string {
	sorted := slices.Sorted(slices.Values(args))
	if i := slices.Index(sorted, "--"); i >= 0 {
		sorted = slices.Delete(sorted, i, i+1)
	}
	return sorted
}
