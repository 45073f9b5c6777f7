package forgecmd

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
)

// The groups of `forge --help`, in the order of CLI.md.
const (
	groupStart    = "Getting going"
	groupImprove  = "Measuring and improving"
	groupHistory  = "Reading the history"
	groupCurate   = "Curating"
	groupLearn    = "Learning"
	groupHosting  = "In git, CI and the editor"
	groupPlumbing = "Plumbing"
)

// commands lists forge's commands in the order of the help. A command is a
// function of env that returns its flags and one action.
func commands(env *Env) []*cli.Command {
	return []*cli.Command{
		demoCommand(env),
		initCommand(env),
		statusCommand(env),
		trustCommand(env),
		configCommand(env),
		versionCommand(env),
		completionCommand(env),
		helpCommand(env),
		evalCommand(env),
		attackCommand(env),
		runCommand(env),
		nextCommand(env),
		submitCommand(env),
		landCommand(env),
		reportCommand(env),
		auditCommand(env),
		bisectCommand(env),
		blameCommand(env),
		logCommand(env),
		replayCommand(env),
		runsCommand(env),
		showCommand(env),
		loopCommand(env),
	}
}

// root returns the whole command tree under one command named forge, wired.
func (env *Env) root() *cli.Command {
	var version bool
	root := &cli.Command{
		Name:        "forge",
		Usage:       "improve agent skills and code by experiment; the repository is the database",
		Description: about{Example: "forge demo"}.String(),
		Subcommands: commands(env),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "version", Destination: &version, Usage: "print forge's version"},
		},
	}
	root.Action = func(*cli.Context) error {
		if version {
			return printVersion(env)
		}
		printHelp(env.Stdout, []*cli.Command{root})
		return nil
	}
	wire(env, root, "forge")
	return root
}

// newApp puts root into the library's application with its traps cured
// (STYLE section 4): no os.Exit, no help or version flag of its own, lists
// never split at commas.
func newApp(env *Env, root *cli.Command) *cli.App {
	return &cli.App{
		Name:                      root.Name,
		Usage:                     root.Usage,
		Commands:                  root.Subcommands,
		Flags:                     root.Flags,
		Action:                    root.Action,
		OnUsageError:              root.OnUsageError,
		Writer:                    env.Stdout,
		ErrWriter:                 env.Stderr,
		HideHelp:                  true,
		HideVersion:               true,
		EnableBashCompletion:      true,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
	}
}

// wire gives a command and all below it what every command has: the common
// flags, usage errors as faults, no help command of the library's, and an
// action for a command that only groups others.
func wire(env *Env, command *cli.Command, name string) {
	command.HideHelp, command.HideHelpCommand = true, true
	command.Flags = append(command.Flags, commonFlags(env)...)
	command.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
		return fault.New(fault.Usage, seeHelp(name), "%s: %w", name, err)
	}
	if command.Action == nil {
		command.Action = func(*cli.Context) error {
			which := ""
			if names := namesOf(command); len(names) <= 5 {
				which = ": " + strings.Join(names, ", ")
			}
			return fault.New(fault.Usage, seeHelp(name), "%s wants a command after it%s", name, which)
		}
	}
	for _, sub := range command.Subcommands {
		wire(env, sub, name+" "+sub.Name)
	}
}

// seeHelp is the hint of a usage error of the command name.
func seeHelp(name string) string { return fmt.Sprintf("see %s --help", name) }

// commonFlags are the flags of every command (CLI.md).
func commonFlags(env *Env) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "C", Value: ".", Destination: &env.Dir, Usage: "work as if started in `DIR`"},
		&cli.BoolFlag{Name: "json", Destination: &env.JSON, Usage: "print one JSON document; errors too, on stderr"},
		&cli.BoolFlag{Name: "quiet", Destination: &env.Quiet, Usage: "print results and errors only"},
		&cli.BoolFlag{Name: "verbose", Destination: &env.Verbose, Usage: "print what forge does, on stderr"},
		&cli.BoolFlag{Name: "no-color", Value: env.NoColor, Destination: &env.NoColor, Usage: "print without colours, as with NO_COLOR"},
		&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "print the help of the command"},
	}
}

// commonNames are the names of commonFlags; they may stand before the command.
var commonNames = map[string]bool{
	"C": true, "json": true, "quiet": true, "verbose": true, "no-color": true, "help": true, "h": true,
}

// namesOf lists the visible commands below command.
func namesOf(command *cli.Command) []string {
	var names []string
	for _, sub := range command.Subcommands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	return names
}

// wantArgs returns nil if a command got between least and most arguments, and
// a usage error that shows the command's usage otherwise.
func wantArgs(c *cli.Context, least, most int) error {
	n := c.NArg()
	if n >= least && n <= most {
		return nil
	}
	name := c.Command.HelpName
	usage := strings.TrimSpace(name + " " + c.Command.ArgsUsage)
	switch {
	case most == 0:
		return fault.New(fault.Usage, seeHelp(name), "%s takes no argument, got %q", name, c.Args().First())
	case n < least:
		return fault.New(fault.Usage, "usage: "+usage, "%s: an argument is missing (%d of at least %d)", name, n, least)
	default:
		return fault.New(fault.Usage, "usage: "+usage, "%s: %d arguments of at most %d; the first too many is %q", name, n, most, c.Args().Get(most))
	}
}
