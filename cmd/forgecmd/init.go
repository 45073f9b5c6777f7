package forgecmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore/fault"
)

// attributeLines are what two branches may both extend, and files whose bytes
// are hashed (gitstore.md R-ATOM-5).
var attributeLines = []string{
	".forge/patterns/*/evidence.jsonl merge=union",
	".forge/runs/*/knowledge-gaps.jsonl merge=union",
	"PURPOSE.md merge=union",
	"**/knowledge/sources/** -text",
}

// initCommand is `forge init`.
func initCommand(env *Env) *cli.Command {
	var f runFlags
	keys := []string{"target", "metric", "metric-name", "direction", "protect", "invariant"}
	return &cli.Command{
		Name:     "init",
		Usage:    "write .forge/config.toml and .gitattributes; asks nothing, changes nothing twice",
		Category: groupStart,
		Description: about{
			Text: "With --target and --metric the configuration holds them, so that `forge trust` and `forge run` are all\n" +
				"that is left to type. A file that exists is never overwritten; missing lines of .gitattributes are added.",
			Exits:   exits{3: "there is a configuration already, and flags that would change it"},
			Example: "forge init --target app.conf --metric ./bench.sh --minimize --protect bench.sh",
		}.String(),
		Flags: initFlags(&f, keys),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			if repo.WorkTree() == "" {
				return fault.New(fault.Usage, "run it in a clone with a work tree", "forge init writes files, and this repository is bare")
			}
			flags, err := givenRunFlags(c)
			if err != nil {
				return err
			}
			// Refused values are refused now, not at the first run.
			if _, err := env.LoadConfig("", config.File{Name: ConfigPath}, flags); err != nil {
				return err
			}
			return env.init(repo.WorkTree(), flags)
		},
	}
}

// initFlags are those flags of a run that init can write down.
func initFlags(f *runFlags, names []string) []cli.Flag {
	var flags []cli.Flag
	for _, flag := range runCommandFlags(f) {
		name := flag.Names()[0]
		for _, wanted := range append(names, "maximize", "minimize") {
			if name == wanted {
				flags = append(flags, flag)
			}
		}
	}
	return flags
}

// written is the document of `forge init --json`.
type written struct {
	Config     string   `json:"config"`     // written, or "" if it was there
	Attributes []string `json:"attributes"` // lines added to .gitattributes
}

func (env *Env) init(tree string, flags given) error {
	var w written
	path := filepath.Join(tree, filepath.FromSlash(ConfigPath))
	for _, name := range []string{".forge", ".gitattributes"} {
		if info, err := os.Lstat(filepath.Join(tree, name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fault.New(fault.Refused, "", "%s is a symbolic link; forge never writes through links", name)
		}
	}
	for key, values := range flags.values {
		if !utf8.ValidString(strings.Join(values, "")) {
			return fault.New(fault.Usage, "a configuration is UTF-8: put it into a script", "the value of %s is not valid UTF-8", flags.spelled[key])
		}
	}
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := writeNew(path, configText(flags)); err != nil {
			return err
		}
		w.Config = ConfigPath
	case err != nil:
		return fmt.Errorf("look at %s: %w", ConfigPath, err)
	case len(flags.values) > 0:
		return fault.New(fault.Refused, "edit it, or leave the flags out", "%s exists; forge init does not change it", ConfigPath)
	}
	if w.Attributes, err = addAttributes(filepath.Join(tree, ".gitattributes")); err != nil {
		return err
	}
	if env.JSON {
		return env.PrintJSON(w)
	}
	env.printInit(w, flags)
	return nil
}

func (env *Env) printInit(w written, flags given) {
	var commit []string
	if w.Config != "" {
		fmt.Fprintf(env.Stdout, "wrote %s\n", w.Config)
		commit = append(commit, w.Config)
	}
	if len(w.Attributes) > 0 {
		fmt.Fprintf(env.Stdout, "added %s to .gitattributes\n", count(len(w.Attributes), "line"))
		commit = append(commit, ".gitattributes")
	}
	if len(commit) == 0 {
		fmt.Fprintf(env.Stdout, "nothing to do: %s and .gitattributes are in place\n", ConfigPath)
		return
	}
	fmt.Fprintf(env.Stdout, "next: git add %s && git commit -m 'set up forge'", strings.Join(commit, " "))
	if len(flags.values["metric.command"]) > 0 {
		fmt.Fprintf(env.Stdout, " && forge trust && forge run")
	}
	fmt.Fprintln(env.Stdout)
}

// configText is a commented configuration with what was given and nothing
// that is equal to a default (config.md R-CFG-6).
func configText(flags given) []byte {
	var b bytes.Buffer
	line := func(name, key, example string, list bool) {
		values, set := flags.values[key]
		switch {
		case set && list:
			quoted := make([]string, len(values))
			for i, v := range values {
				quoted[i] = quoteTOML(v)
			}
			fmt.Fprintf(&b, "%s = [%s]\n", name, strings.Join(quoted, ", "))
		case set:
			fmt.Fprintf(&b, "%s = %s\n", name, quoteTOML(values[0]))
		default:
			fmt.Fprintf(&b, "# %s = %s\n", name, example)
		}
	}
	b.WriteString("# forge's configuration of this repository. What executes here is inert until `forge trust`.\nschema_version = 1\n\n[run]\n")
	line("target_path", "run.target_path", `"src/limits.conf"  # a path or glob from the root; ** crosses directories`, false)
	b.WriteString("# max_experiments = 10\n# time_budget_minutes = 120\n\n[metric]\n")
	line("command", "metric.command", `"./bench.sh"  # prints METRIC name=number, exits 0`, false)
	line("name", "metric.name", `"ns"`, false)
	line("direction", "metric.direction", `"lower_is_better"`, false)
	line("protected_paths", "metric.protected_paths", `["bench.sh", "**/*_test.go"]  # what no candidate may touch`, true)
	line("invariant_command", "metric.invariant_command", `"go test ./..."  # must exit 0 for a candidate to be measured`, false)
	return b.Bytes()
}

// quoteTOML is text as a basic string of TOML, which knows other escapes than
// Go does.
func quoteTOML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// writeNew writes a file that must not exist, and its directory.
func writeNew(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if _, err := file.Write(data); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), file.Close(), os.Remove(path))
	}
	return file.Close()
}

// addAttributes appends the lines that .gitattributes lacks and keeps every
// byte that is there.
func addAttributes(path string) (added []string, err error) {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read .gitattributes: %w", err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(old)) {
		have[strings.TrimSpace(line)] = true
	}
	ending := "\n"
	if bytes.Contains(old, []byte("\r\n")) {
		ending = "\r\n"
	}
	text := bytes.Clone(old)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, ending...)
	}
	added = []string{}
	for _, line := range attributeLines {
		if !have[line] {
			added = append(added, line)
			text = append(append(text, line...), ending...)
		}
	}
	if len(added) == 0 {
		return added, nil
	}
	temporary := path + ".forge-new"
	if err := os.WriteFile(temporary, text, 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("write .gitattributes: %w", err), os.Remove(temporary))
	}
	if err := os.Rename(temporary, path); err != nil {
		return nil, errors.Join(fmt.Errorf("write .gitattributes: %w", err), os.Remove(temporary))
	}
	return added, nil
}
