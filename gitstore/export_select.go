package gitstore

import (
	"path"
	"strings"
)

// maxLinkHops bounds the links followed while one is resolved, as Linux does.
const maxLinkHops = 40

// selection picks from a commit's tree what an export holds.
type selection struct {
	all    map[string]Entry
	links  map[Hash]string // targets of symbolic links
	skills map[string]bool // directories with a SKILL.md
	layout bool            // ExportPlan.SkillLayout
}

// verdict is what becomes of one entry of a tree.
type verdict int

const (
	exported verdict = iota
	leftOut          // reported by Skipped
	unspoken         // left out by rule
)

// judge decides about one entry.
func (s selection) judge(entry Entry) verdict {
	link := entry.Mode == ModeLink
	switch {
	case s.hidden(entry.Path, link):
		return unspoken
	case entry.Mode == ModeGitlink, !safePath(entry.Path), link && !s.linkAllowed(entry):
		return leftOut
	}
	return exported
}

// hidden reports what no export holds: .forge at the root, and evals and
// PURPOSE.md directly beside a SKILL.md, of every skill (gitstore.md R-EXP-1,
// DECISIONS G10). dir says that p is a directory or a link, which may stand
// for one.
func (s selection) hidden(p string, dir bool) bool {
	if p == ".forge" || strings.HasPrefix(p, ".forge/") {
		return true
	}
	base := path.Base(p)
	if base == "PURPOSE.md" && s.skills[path.Dir(p)] || base == "evals" && dir && s.skills[path.Dir(p)] {
		return true
	}
	for at := 0; ; {
		i := strings.Index(p[at:], "evals/")
		if i < 0 {
			return false
		}
		at += i
		if (at == 0 || p[at-1] == '/') && s.skills[path.Dir(p[:at]+"evals")] {
			return true
		}
		at += len("evals/")
	}
}

// linkAllowed reports whether a symbolic link is exported: resolved over the
// tree, links on the way followed, its target stays inside and is nothing
// that is hidden. A target that does not exist (a build will make it) is
// allowed (R-EXP-2).
func (s selection) linkAllowed(link Entry) bool {
	target, ok := s.resolve(link)
	if !ok || s.hidden(target, true) {
		return false
	}
	if !s.layout {
		return true
	}
	skill := s.skillOf(link.Path)
	return skill == "." || target == skill || strings.HasPrefix(target, skill+"/")
}

// resolve returns the path a link leads to, "." for the root.
func (s selection) resolve(link Entry) (string, bool) {
	at := path.Dir(link.Path)
	todo := []string{s.links[link.Object]}
	for hops := 0; len(todo) > 0; {
		rest := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if rest == "" || strings.HasPrefix(rest, "/") || strings.ContainsAny(rest, "\x00\\") {
			return "", false
		}
		first, more, found := strings.Cut(rest, "/")
		if more = strings.TrimLeft(more, "/"); found && more != "" {
			todo = append(todo, more)
		}
		switch first {
		case ".":
			continue
		case "..":
			if at == "." {
				return "", false
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, first)
		if e, ok := s.all[next]; ok && e.Mode == ModeLink {
			if hops++; hops > maxLinkHops {
				return "", false
			}
			todo = append(todo, s.links[e.Object])
			continue
		}
		at = next
	}
	return at, true
}

// skillOf returns the innermost skill directory a path lies in; "." if it is
// in none, or the root is one.
func (s selection) skillOf(p string) string {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if s.skills[dir] {
			return dir
		}
	}
	return "."
}

// safePath reports whether a path of a tree can be written below a directory:
// trees are read as they are, and a forged one may hold "..", a .git directory
// that would make the export a repository, or a name that another system
// splits (R-TREE-3).
func safePath(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\x00\\") || isDotGit(part) {
			return false
		}
	}
	return true
}
