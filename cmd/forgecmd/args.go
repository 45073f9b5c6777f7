package forgecmd

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore/fault"
)

// completionFlag is the library's: shells put it last to ask for candidates.
const completionFlag = "--generate-bash-completion"

// line is a command line taken apart before the library sees it. The library
// stops at the first argument, takes -0.5 for a flag, knows program-wide
// flags only before the command and prints usage errors on stdout; readLine
// and join cure that (STYLE section 4).
type line struct {
	program string
	path    []*cli.Command // from the root to the command named
	names   []string       // the command words as typed
	common  []string       // common flags with their values
	flags   []string       // the command's own flags with their values
	args    []string       // everything else
	dashes  bool           // a "--" stood on the line

	help       bool  // --help was asked for
	completing bool  // a shell asks for candidates; the line is handed on as it is
	unknown    error // the command does not exist
	problem    error // the first unknown flag or missing value
}

// flagsFirst returns args as the library wants them: the command words, the
// common flags, the command's flags, then the arguments, behind "--" where
// one of them could be taken for a flag. It only reorders, and adds or drops
// at most that "--".
func flagsFirst(root *cli.Command, args []string) []string {
	l := readLine(root, args)
	return l.join()
}

// readLine takes args (with the program's name in front) apart.
func readLine(root *cli.Command, args []string) line {
	l := line{program: args[0], path: []*cli.Command{root}}
	words := args[1:]
	if len(words) > 0 && words[len(words)-1] == completionFlag {
		l.completing = true
		words = words[:len(words)-1]
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			l.dashes = true
			l.args = append(l.args, words[i+1:]...)
			i = len(words)
		case looksLikeFlag(word):
			i += l.takeFlag(words[i:])
		default:
			l.takeWord(word)
		}
	}
	l.check()
	return l
}

// command is the deepest command named so far.
func (l *line) command() *cli.Command { return l.path[len(l.path)-1] }

// name is the command as a person types it: "forge loop decide".
func (l *line) name() string { return nameOf(l.path) }

// takeWord files a word that is no flag: a command below the present one, or
// an argument. After the first argument no word is a command.
func (l *line) takeWord(word string) {
	if len(l.args) == 0 {
		if sub := find(l.command().Subcommands, word); sub != nil {
			l.path, l.names = append(l.path, sub), append(l.names, word)
			return
		}
	}
	l.args = append(l.args, word)
}

// takeFlag files the flag words[0] and returns how many words its value took.
func (l *line) takeFlag(words []string) int {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(words[0], "-"), "-"), "=")
	list := &l.flags
	if commonNames[name] {
		list = &l.common
	}
	*list = append(*list, words[0])
	flag := findFlag(l.command().Flags, name)
	switch {
	case flag == nil:
		l.fail("unknown flag %s%s", strings.SplitN(words[0], "=", 2)[0], didYouMean(l.command(), name))
		return 0
	case !takesValue(flag):
		l.help = l.help || isHelp(name, value, hasValue)
		return 0
	case hasValue:
		return 0
	case len(words) == 1:
		l.fail("flag %s wants a value", words[0])
		return 0
	}
	*list = append(*list, words[1])
	return 1
}

// fail remembers the first problem of the line.
func (l *line) fail(format string, args ...any) {
	if l.problem == nil {
		l.problem = fault.New(fault.Usage, seeHelp(l.name()), format, args...)
	}
}

// check finds an argument where a command should stand.
func (l *line) check() {
	command := l.command()
	if len(l.args) == 0 || len(command.Subcommands) == 0 || command.ArgsUsage != "" {
		return
	}
	l.unknown = unknownCommand(l.path, l.args[0])
}

// join puts the line together again.
func (l *line) join() []string {
	out := slices.Concat([]string{l.program}, l.names, l.common, l.flags)
	if l.dashes || slices.ContainsFunc(l.args, func(arg string) bool { return len(arg) > 1 && arg[0] == '-' }) {
		out = append(out, "--")
	}
	out = append(out, l.args...)
	if l.completing {
		out = append(out, completionFlag)
	}
	return out
}

// has reports whether the common switch is on, for errors that are printed
// before the library has parsed the line.
func (l *line) has(name string) bool {
	on := false
	for _, word := range l.common {
		given, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if word[0] == '-' && given == name {
			on = !hasValue || value == "true" || value == "1"
		}
	}
	return on
}

// looksLikeFlag reports whether word is a flag and not an argument: a lone
// dash and a negative number are arguments.
func looksLikeFlag(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	digits := strings.TrimPrefix(word[1:], ".")
	return digits == "" || digits[0] < '0' || digits[0] > '9'
}

// isHelp reports whether a switch asks for help.
func isHelp(name, value string, hasValue bool) bool {
	if name != "help" && name != "h" {
		return false
	}
	on, err := strconv.ParseBool(value)
	return !hasValue || err == nil && on
}

// takesValue reports whether a flag is followed by a value.
func takesValue(flag cli.Flag) bool {
	documented, ok := flag.(cli.DocGenerationFlag)
	return ok && documented.TakesValue()
}

// find returns the command of that name, or nil.
func find(list []*cli.Command, name string) *cli.Command {
	for _, command := range list {
		if command.HasName(name) {
			return command
		}
	}
	return nil
}

// findFlag returns the flag of that name, or nil.
func findFlag(list []cli.Flag, name string) cli.Flag {
	for _, flag := range list {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}

// nameOf is a command as a person types it.
func nameOf(path []*cli.Command) string {
	words := make([]string, len(path))
	for i, command := range path {
		words[i] = command.Name
	}
	return strings.Join(words, " ")
}

// unknownCommand is the error for a word that is no command below path.
func unknownCommand(path []*cli.Command, word string) error {
	command := path[len(path)-1]
	guess := ""
	if near := config.Nearest(word, namesOf(command)); near != "" {
		guess = "; did you mean " + near + "?"
	}
	return fault.New(fault.Usage, seeHelp(nameOf(path)), "unknown command %q%s", word, guess)
}

// didYouMean is the tail of the message about an unknown flag.
func didYouMean(command *cli.Command, name string) string {
	var names []string
	for _, flag := range command.Flags {
		names = append(names, flag.Names()...)
	}
	near := config.Nearest(name, names)
	switch {
	case near == "":
		return ""
	case len(near) == 1:
		return "; did you mean -" + near + "?"
	}
	return "; did you mean --" + near + "?"
}
