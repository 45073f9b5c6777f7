package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ignoreFile is the name of the patterns of untracked files that are nobody's
// concern.
const ignoreFile = ".gitignore"

// ignores tells which untracked files git would ignore, for where git is
// missing: the files .gitignore on the way, the repository's info/exclude and
// the person's own, each over the one before it, the last line that matches
// over earlier ones. Not read are the system's configuration and files that
// the person's includes.
type ignores struct {
	lowest [][]ignoreRule          // of the person, of info/exclude
	dirs   map[string][]ignoreRule // by directory, "" for the root
}

// ignoreRule is one line.
type ignoreRule struct {
	attributeRule      // git's patterns are the same in both kinds of files
	onlyDir       bool // it ends in a slash
	not           bool // it begins with "!"
}

// newIgnores returns what lies outside the work tree.
func (r *Repo) newIgnores(ctx context.Context) (*ignores, error) {
	i := &ignores{dirs: map[string][]ignoreRule{}}
	person, err := r.personIgnores(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{person, filepath.Join(r.commonDir, "info", "exclude")} {
		rules, err := readIgnores(name)
		if err != nil {
			return nil, err
		}
		i.lowest = append(i.lowest, rules)
	}
	return i, nil
}

// personIgnores names the person's file: core.excludesFile of the repository,
// else of the person's own configuration, else the usual place.
func (r *Repo) personIgnores(ctx context.Context) (string, error) {
	config, err := r.askConfig(ctx)
	if err != nil {
		return "", err
	}
	home, xdg := r.env.Vars["HOME"], r.env.Vars["XDG_CONFIG_HOME"]
	if xdg == "" && home != "" {
		xdg = filepath.Join(home, ".config")
	}
	name := config["core.excludesfile"]
	for _, file := range r.personConfigs(home, xdg) {
		if name != "" {
			break
		}
		own, err := readConfig(file)
		if err != nil {
			return "", err
		}
		name, _ = own.get("core.excludesfile")
	}
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(home, below)
	}
	if name == "" && xdg != "" {
		name = filepath.Join(xdg, "git", "ignore")
	}
	return name, nil
}

// personConfigs are the files of the person's configuration, the strongest
// first.
func (r *Repo) personConfigs(home, xdg string) []string {
	if name, set := r.env.Vars["GIT_CONFIG_GLOBAL"]; set {
		return []string{name}
	}
	var files []string
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	if xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	}
	return files
}

// readIgnores reads a file of patterns; one that is not there has none.
func readIgnores(name string) ([]ignoreRule, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil && !isAbsent(err) && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("read what git ignores: %w", err)
	}
	return parseIgnores(string(data)), nil
}

// parseIgnores reads lines of patterns. Malformed ones match nothing, as for
// git.
func parseIgnores(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		pattern, not := strings.CutPrefix(line, "!")
		pattern, onlyDir := strings.CutSuffix(pattern, "/")
		if pattern == "" {
			continue
		}
		if inside, ok := strings.CutSuffix(pattern, "/**"); ok {
			pattern = inside + "/**/*" // what is in the directory, not the directory
		}
		if rule, ok := newAttributeRule(pattern, ""); ok {
			rules = append(rules, ignoreRule{rule, onlyDir, not})
		}
	}
	return rules
}

// add reads the patterns of a directory of the work tree, "" for the root.
func (i *ignores) add(dir, name string) error {
	rules, err := readIgnores(name)
	if len(rules) > 0 {
		i.dirs[dir] = rules
	}
	return err
}

// ignored says whether a path is ignored. No directory above it is: what is
// in an ignored one is never asked for.
func (i *ignores) ignored(p string, isDir bool) bool {
	answer := false
	ask := func(rules []ignoreRule, subject string) {
		for _, rule := range rules {
			if rule.onlyDir && !isDir {
				continue
			}
			if _, hit := match([]attributeRule{rule.attributeRule}, subject); hit {
				answer = !rule.not
			}
		}
	}
	for _, rules := range i.lowest {
		ask(rules, p)
	}
	for dir, rest := "", p; ; {
		ask(i.dirs[dir], rest)
		name, below, deeper := strings.Cut(rest, "/")
		if !deeper {
			return answer
		}
		dir, rest = joinPath(dir, name), below
	}
}
