package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"forge/gitstore/fault"
)

// place is where a repository was found.
type place struct {
	start     string // the directory the search began at
	top       string // the directory that holds .git; "" if found otherwise
	gitDir    string
	commonDir string
	named     bool // by GIT_DIR
}

// discover finds the repository dir belongs to, in git's order: GIT_DIR, then
// upwards to a .git directory, a .git file or a bare repository (R-DISC-1).
func discover(dir string, env Env) (place, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return place{}, fmt.Errorf("find repository of %q: %w", dir, err)
	}
	if real, err := filepath.EvalSymlinks(start); err == nil {
		start = real
	}
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return place{}, fault.New(fault.Usage, "name a directory", "%q is not a directory", dir)
	}
	found := place{start: start}
	if named := env.Vars["GIT_DIR"]; named != "" {
		found.gitDir, err = namedGitDir(resolve(start, named))
		found.named = true
	} else {
		found.gitDir, found.top, err = walkUp(start, ceilings(env.Vars["GIT_CEILING_DIRECTORIES"]))
	}
	if err != nil {
		return place{}, err
	}
	if found.gitDir == "" {
		return place{}, fault.New(fault.Usage, "git init, or name the skill repository with -C", "%q is not in a git repository", dir)
	}
	found.commonDir, err = commonDirOf(found.gitDir)
	if named := env.Vars["GIT_COMMON_DIR"]; named != "" {
		found.commonDir = resolve(start, named)
	}
	return found, err
}

// namedGitDir checks the directory, or follows the .git file, that GIT_DIR names.
func namedGitDir(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return followGitFile(path)
	}
	if !isGitDir(path) {
		return "", fault.New(fault.Usage, "unset GIT_DIR, or set it to a repository", "GIT_DIR %q is not a git repository", path)
	}
	return path, nil
}

// walkUp looks for a repository at dir and above it, stopping below a ceiling.
// top is the directory that holds the .git found.
func walkUp(dir string, stop map[string]bool) (gitDir, top string, err error) {
	for {
		dotGit := filepath.Join(dir, ".git")
		switch info, err := os.Stat(dotGit); {
		case err == nil && info.Mode().IsRegular():
			gitDir, err := followGitFile(dotGit)
			return gitDir, dir, err
		case err == nil && isGitDir(dotGit):
			return dotGit, dir, nil
		case isGitDir(dir):
			return dir, "", nil
		}
		parent := filepath.Dir(dir)
		if parent == dir || stop[parent] {
			return "", "", nil
		}
		dir = parent
	}
}

// ceilings reads GIT_CEILING_DIRECTORIES: directories the walk does not enter.
func ceilings(list string) map[string]bool {
	stop := map[string]bool{}
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue
		}
		stop[filepath.Clean(dir)] = true
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			stop[real] = true
		}
	}
	return stop
}

// followGitFile reads a .git file: "gitdir: PATH", relative to the file.
func followGitFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %q: %w", path, err)
	}
	target, ok := strings.CutPrefix(string(data), "gitdir:")
	target = strings.TrimSpace(target)
	if !ok || target == "" {
		return "", fault.New(fault.Usage, "git worktree repair, or clone again", "%q is not a valid .git file", path)
	}
	gitDir := resolve(filepath.Dir(path), target)
	if !isGitDir(gitDir) {
		return "", fault.New(fault.Usage, "git worktree repair, or clone again", "%q names %q, which is not a git repository", path, gitDir)
	}
	return gitDir, nil
}

// isGitDir reports whether path looks like a git directory, by the files git
// itself looks for.
func isGitDir(path string) bool {
	if info, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil || info.IsDir() {
		return false
	}
	common, err := commonDirOf(path)
	return err == nil && isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs"))
}

// commonDirOf follows the file `commondir` of a linked work tree's git
// directory; any other git directory is its own.
func commonDirOf(gitDir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", fmt.Errorf("read commondir: %w", err)
	}
	return resolve(gitDir, strings.TrimSpace(string(data))), nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// resolve returns path, taken relative to dir unless it is absolute.
func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// findWorkTree returns the root of the work tree, or "" and whether the
// repository is bare, by git's rules: GIT_WORK_TREE, core.worktree, a linked
// work tree, core.bare, the directory that holds .git.
func (p place) findWorkTree(config configFile, env Env) (workTree string, bare bool, err error) {
	if named := env.Vars["GIT_WORK_TREE"]; named != "" {
		return resolve(p.start, named), false, nil
	}
	linked := p.gitDir != p.commonDir
	bareValue, bareSet := config.get("core.bare")
	switch worktree, ok := config.get("core.worktree"); {
	case ok && worktree != "" && !linked:
		return resolve(p.gitDir, worktree), false, nil
	case !linked && bareSet && configTrue(bareValue):
		return "", true, nil
	case p.named:
		return p.start, false, nil
	case p.top != "":
		return p.top, false, nil
	case linked:
		return linkedWorkTree(p.gitDir)
	case filepath.Base(p.gitDir) == ".git":
		return filepath.Dir(p.gitDir), false, nil
	}
	return "", true, nil
}

// linkedWorkTree returns the work tree a linked git directory belongs to: its
// file `gitdir` names the .git file there.
func linkedWorkTree(gitDir string) (workTree string, bare bool, err error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
	if err != nil {
		return "", false, fmt.Errorf("find work tree of %q: %w", gitDir, err)
	}
	return filepath.Dir(resolve(gitDir, strings.TrimSpace(string(data)))), false, nil
}

// checkFormat refuses what the repository's own configuration says forge
// cannot read: a format version above 1 and every extension it does not know,
// at format version 0 too (R-DISC-4).
func checkFormat(config configFile) error {
	if text, ok := config.get("core.repositoryformatversion"); ok {
		if version, err := strconv.Atoi(text); err != nil || version < 0 || version > 1 {
			return unknownExtension("repositoryformatversion = " + text)
		}
	}
	for _, v := range config {
		extension, ok := strings.CutPrefix(v.name, "extensions.")
		if !ok {
			continue
		}
		if err := checkExtension(lowerASCII(extension), lowerASCII(v.value)); err != nil {
			return err
		}
	}
	return nil
}

func checkExtension(name, value string) error {
	switch name {
	case "noop", "worktreeconfig", "partialclone", "preciousobjects", "relativeworktrees":
		return nil
	case "objectformat":
		switch value {
		case "sha1":
			return nil
		case "sha256":
			return fault.New(fault.Usage, "", "this repository uses SHA-256 objects, which forge cannot read")
		}
	case "refstorage":
		switch {
		case value == "files":
			return nil
		case strings.HasPrefix(value, "reftable"):
			return fault.New(fault.Usage, "git refs migrate --ref-format=files",
				"this repository keeps its refs in a reftable, which forge cannot read")
		}
	}
	return unknownExtension(name)
}

func unknownExtension(name string) error {
	return fault.New(fault.Usage, "", "this repository needs the git extension %q, which forge does not know", name)
}

// isPartial reports whether objects of the repository may still lie with a
// remote that promised them.
func isPartial(config configFile) bool {
	for _, v := range config {
		if v.name == "extensions.partialclone" {
			return true
		}
		if strings.HasPrefix(v.name, "remote.") && strings.HasSuffix(v.name, ".promisor") && configTrue(v.value) {
			return true
		}
	}
	return false
}

// isSafe reports whether git's safe.directory, as NUL-separated values, names
// one of the directories. An empty value clears the list; "/*" at the end
// stands for everything below.
func isSafe(values string, directories ...string) bool {
	safe := false
	for value := range strings.SplitSeq(strings.TrimSuffix(values, "\x00"), "\x00") {
		if value == "" {
			safe = false
			continue
		}
		below, tree := strings.CutSuffix(value, "/*")
		for _, dir := range directories {
			dir = filepath.ToSlash(dir)
			if dir != "" && (value == "*" || value == dir || tree && strings.HasPrefix(dir, below+"/")) {
				safe = true
			}
		}
	}
	return safe
}
