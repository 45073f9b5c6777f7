package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// Tree is a directory of the working copy that is pointed at, for people who
// drive the loop by hand. Paths are relative to it, with slashes. Symbolic
// links are entries and never followed; .git is never entered.
type Tree struct{ Root string }

// onDisk is where a path lies.
func (t Tree) onDisk(name string) string { return filepath.Join(t.Root, filepath.FromSlash(name)) }

// Expand lists the files that a person's path names: what exists is taken
// literally, a directory with everything below it; else it is a glob
// (gitstore.md R-GLOB-1). exists is false if it is neither there nor a glob.
func (t Tree) Expand(name string) (files []string, exists bool, err error) {
	clean, err := gitstore.CleanTarget(name)
	if err != nil {
		return nil, false, err
	}
	info, err := os.Lstat(t.onDisk(clean))
	switch {
	case err == nil && !info.IsDir():
		return []string{clean}, true, nil
	case err == nil:
		err = t.walk(clean, func(file string) { files = append(files, file) })
		return files, true, err
	case !errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(clean, "*?["):
		return nil, false, fault.New(fault.Usage, "", "look at %q: %w", name, err)
	case !strings.ContainsAny(clean, "*?[{"):
		return nil, false, nil
	}
	glob, err := gitstore.ParseGlob(clean)
	if err != nil {
		return nil, false, err
	}
	err = t.walk(literalStart(clean), func(file string) {
		if glob.Match(file) {
			files = append(files, file)
		}
	})
	return files, true, err
}

// literalStart is the part of a pattern before its first component with a
// special character.
func literalStart(pattern string) string {
	start := "."
	for part := range strings.SplitSeq(pattern, "/") {
		if strings.ContainsAny(part, `*?[{\`) {
			return start
		}
		start = path.Join(start, part)
	}
	return path.Dir(start)
}

// walk visits every file and link below a directory, in byte order of the
// names of each directory.
func (t Tree) walk(dir string, visit func(file string)) error {
	entries, err := os.ReadDir(t.onDisk(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read directory %q: %w", dir, err)
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		switch {
		case strings.EqualFold(entry.Name(), ".git"):
		case entry.IsDir():
			if err := t.walk(name, visit); err != nil {
				return err
			}
		default:
			visit(name)
		}
	}
	return nil
}

// Read gives the regular files that names name, each once, and the literal
// ones that do not exist. Links are left out.
func (t Tree) Read(names []string) (files map[string][]byte, missing []string, err error) {
	var all []string
	for _, name := range names {
		list, exists, err := t.Expand(name)
		if err != nil {
			return nil, nil, err
		}
		if !exists {
			missing = append(missing, name)
		}
		all = append(all, list...)
	}
	files, err = t.read(all)
	return files, missing, err
}

// SkillFiles reads the files of a skill that its token budget counts: the
// fixed set and what names add (R-BUDGET-1).
func (t Tree) SkillFiles(names []string) (files map[string][]byte, missing []string, err error) {
	if _, err := os.Lstat(t.onDisk("SKILL.md")); err != nil {
		return nil, nil, fault.New(fault.Usage, "--skill names a directory with a SKILL.md", "%q has no SKILL.md", t.Root)
	}
	var fixed []string
	err = t.walk(".", func(file string) {
		if alwaysBudgeted(file) {
			fixed = append(fixed, file)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	always, err := t.read(fixed)
	if err != nil {
		return nil, nil, err
	}
	if files, missing, err = t.Read(names); err != nil {
		return nil, nil, err
	}
	maps.Copy(files, always)
	maps.DeleteFunc(files, func(file string, _ []byte) bool { return !Budgeted(file) })
	return files, missing, nil
}

func (t Tree) read(list []string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, file := range list {
		info, err := os.Lstat(t.onDisk(file))
		if err != nil {
			return nil, fmt.Errorf("look at %q: %w", file, err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if files[file], err = os.ReadFile(t.onDisk(file)); err != nil {
			return nil, fmt.Errorf("read %q: %w", file, err)
		}
	}
	return files, nil
}
