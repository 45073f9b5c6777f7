package forgecmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

// about is what the help of a command says beside its sentence, its usage and
// its flags. A command carries it as its Description:
//
//	Description: about{Exits: exits{1: "no number"}, Example: "forge loop metric -"}.String(),
//
// so that the help of every command has the same parts (CLI.md).
type about struct {
	Text    string // more than the one sentence, or empty; lines as they are to be printed
	Exits   exits  // what the command's exit codes mean, beside the common ones
	Example string // one line that works; several lines if one cannot show it
}

// exitCodes is the heading that ends an about's text.
const exitCodes = "Exit codes:\n"

// exits says what an exit code means for one command. The common meanings of
// 0, 2, 70 and 130 are filled in.
type exits map[int]string

// String is the text, then the part of the help below the flags.
func (a about) String() string {
	var b strings.Builder
	if a.Text != "" {
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(a.Text))
	}
	all := exits{0: "done", 2: "usage or bad input", 70: "a crash of forge", 130: "interrupted"}
	maps.Copy(all, a.Exits)
	b.WriteString(exitCodes)
	for _, code := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "  %-4d %s\n", code, all[code])
	}
	b.WriteString("\nExample:\n")
	for example := range strings.Lines(strings.TrimSpace(a.Example)) {
		fmt.Fprintf(&b, "  %s", example)
	}
	return b.String()
}

// printHelp prints the help of the last command of path: one sentence, usage,
// text, commands, flags, exit codes, an example.
func printHelp(w io.Writer, path []*cli.Command) {
	command, name := path[len(path)-1], nameOf(path)
	fmt.Fprintf(w, "%s: %s\n\nUsage:\n  %s\n", name, command.Usage, usageOf(command, name))
	text, tail, _ := strings.Cut(command.Description, exitCodes)
	if text = strings.TrimSpace(text); text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
	printCommands(w, command)
	own, common := splitFlags(command)
	printFlags(w, "Flags", own)
	printFlags(w, "Common flags", common)
	fmt.Fprintf(w, "\n%s%s\n", exitCodes, strings.TrimRight(tail, "\n"))
}

// usageOf is the line after "Usage:".
func usageOf(command *cli.Command, name string) string {
	parts := []string{name}
	switch {
	case command.UsageText != "":
		parts = append(parts, command.UsageText)
	case len(command.Subcommands) > 0 && command.ArgsUsage == "":
		parts = append(parts, "COMMAND")
	}
	parts = append(parts, "[flags]")
	if command.ArgsUsage != "" {
		parts = append(parts, command.ArgsUsage)
	}
	return strings.Join(parts, " ")
}

// printCommands lists the commands below command, by group, groups in the
// order in which they first appear and plumbing last.
func printCommands(w io.Writer, command *cli.Command) {
	groups := map[string][]*cli.Command{}
	var order []string
	for _, sub := range command.Subcommands {
		if sub.Hidden {
			continue
		}
		if groups[sub.Category] == nil {
			order = append(order, sub.Category)
		}
		groups[sub.Category] = append(groups[sub.Category], sub)
	}
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, group := range order {
		title := group
		if title == "" {
			title = "Commands"
		}
		fmt.Fprintf(table, "\n%s:\n", title)
		for _, sub := range groups[group] {
			fmt.Fprintf(table, "  %s\t%s\n", sub.Name, sub.Usage)
		}
	}
	table.Flush()
}

// rank orders the groups as CLI.md does.
func rank(group string) int {
	return slices.Index([]string{groupStart, groupImprove, groupHistory, groupCurate, groupLearn, groupHosting, groupPlumbing}, group)
}

// splitFlags separates a command's own visible flags from the common ones.
func splitFlags(command *cli.Command) (own, common []cli.DocGenerationFlag) {
	for _, flag := range command.VisibleFlags() {
		documented, ok := flag.(cli.DocGenerationFlag)
		switch {
		case !ok:
		case commonNames[flag.Names()[0]]:
			common = append(common, documented)
		default:
			own = append(own, documented)
		}
	}
	return own, common
}

// printFlags lists flags with their value's name and their default.
func printFlags(w io.Writer, title string, flags []cli.DocGenerationFlag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, flag := range flags {
		value, usage := valueName(flag)
		var names []string
		for _, name := range flag.Names() {
			if len(name) == 1 {
				names = append(names, "-"+name)
			} else {
				names = append(names, "--"+name)
			}
		}
		head := strings.Join(names, ", ")
		if value != "" {
			head += " " + value
		}
		fmt.Fprintf(table, "  %s\t%s\n", head, usage)
	}
	table.Flush()
}

// valueName takes the name of a flag's value, written in `backquotes`, out of
// its usage text. A switch has none.
func valueName(flag cli.DocGenerationFlag) (value, usage string) {
	usage = flag.GetUsage()
	before, rest, found := strings.Cut(usage, "`")
	if name, after, closed := strings.Cut(rest, "`"); found && closed {
		return name, before + name + after
	}
	if flag.TakesValue() {
		return "VALUE", usage
	}
	return "", usage
}

// helpCommand is `forge help [COMMAND...]`.
func helpCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "print the help of forge or of one command",
		ArgsUsage: "[COMMAND...]",
		Category:  groupStart,
		Description: about{
			Example: "forge help loop decide",
		}.String(),
		Action: func(c *cli.Context) error {
			path := []*cli.Command{env.root()}
			for _, word := range c.Args().Slice() {
				sub := find(path[len(path)-1].Subcommands, word)
				if sub == nil {
					return unknownCommand(path, word)
				}
				path = append(path, sub)
			}
			printHelp(env.Stdout, path)
			return nil
		},
	}
}
