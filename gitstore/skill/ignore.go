package skill

import (
	"path"
	"slices"
	"strings"
)

// neverWalked are directories in which no skill is looked for (skill-format.md
// R-SF-D-3).
var neverWalked = []string{".git", "node_modules", "vendor", "dist", "__pycache__", ".venv", ".forge"}

// workspaceSuffix ends the name of a directory that tools leave beside a skill.
const workspaceSuffix = "-workspace"

// Skips reports a directory, by its own name, in which no skill is looked for.
// A listing need not hold what is in one.
//
// Source: skill-format.md R-SF-D-3.
func Skips(directory string) bool {
	return slices.Contains(neverWalked, directory) || strings.HasSuffix(directory, workspaceSuffix)
}

// Ignored reports a path inside a skill that counts in no hash, diff, package
// or budget as long as git does not track it. What is committed counts, unless
// [IgnoredAlways] says so too.
//
// Source: skill-format.md section 9.
func Ignored(file string) bool {
	if IgnoredAlways(file) {
		return true
	}
	components := strings.Split(file, "/")
	for _, name := range components {
		if name == ".git" || name == "node_modules" || name == "__pycache__" {
			return true
		}
	}
	for _, directory := range components[:len(components)-1] {
		if strings.HasSuffix(directory, workspaceSuffix) {
			return true
		}
	}
	name := path.Base(file)
	return name == ".DS_Store" || strings.HasSuffix(name, ".pyc") || strings.HasSuffix(name, ".swp")
}

// IgnoredAlways reports a path inside a skill that counts nowhere, committed
// or not: results of evals and forge's own files.
//
// Source: skill-format.md section 9, R-SF-PE-2.
func IgnoredAlways(file string) bool {
	return strings.HasPrefix(file, "evals/results/") || strings.HasPrefix(file, ".forge/")
}
