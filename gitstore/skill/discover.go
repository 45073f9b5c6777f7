package skill

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// DefaultDepth is how many directories below a root a skill may lie
// (`discovery_depth`, skill-format.md R-SF-D-2).
const DefaultDepth = 4

// DefaultRoots are the directories in which skills are looked for when none
// are configured, before the top directory (skill-format.md R-SF-D-2).
func DefaultRoots() []string {
	return []string{"skills", ".claude/skills", ".agents/skills", ".codex/skills", ".opencode/skill", ".opencode/skills", ".pi/skills"}
}

// archiveName is the archive beside a root (skill-format.md R-SF-D-5).
const archiveName = "skills-archive"

// NodeKind is what lies at a path.
type NodeKind int

// The kinds of a [Node].
const (
	File      NodeKind = iota
	Link               // a symbolic link, to a file or to a directory
	Submodule          // another repository
)

// Node is one file, link or submodule of a listing. Directories are known by
// what is in them.
type Node struct {
	Path string // from the root of the repository, with "/"
	Kind NodeKind
}

// Search says where skills are looked for.
type Search struct {
	Roots    []string // nil: [DefaultRoots], else the top directory "."
	Depth    int      // 0: [DefaultDepth]
	Archives []string // further directories that are never walked
}

// Found is a skill of a listing.
type Found struct {
	Path  string // its directory; "." for the top of the repository
	File  string // its SKILL.md, or skill.md
	Root  string // the root it was found below
	Depth int    // directories between them: 1 for a skill directly in the root
}

// Discovery is what a listing holds.
type Discovery struct {
	Roots    []string // that were looked at, in order
	Skills   []Found  // bytewise by path
	Findings []Finding
}

// Discover finds the skills of a listing, in any order of its nodes. Inside a
// skill nothing is looked for: a nested SKILL.md is a resource, with a finding.
// Links and submodules below a root, and the root if it is one, are findings
// too and never followed. Vendored and generated directories and archives are
// not looked into at all.
//
// Source: skill-format.md R-SF-D-1 to R-SF-D-5, R-SF-R-9; curator.md
// RC-SKILL-2; DECISIONS C2.
func Discover(nodes []Node, search Search) Discovery {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Path, b.Path) })
	depth := cmp.Or(search.Depth, DefaultDepth)
	roots := search.Roots
	if roots == nil {
		roots = DefaultRoots()
	}
	d := discoverIn(nodes, roots, depth, search.Archives)
	if search.Roots == nil {
		d.Roots = rootsOf(d.Skills)
	}
	if search.Roots == nil && len(d.Skills) == 0 {
		top := discoverIn(nodes, []string{"."}, depth, search.Archives)
		top.Findings = append(d.Findings, top.Findings...)
		d = top
	}
	slices.SortFunc(d.Skills, func(a, b Found) int { return cmp.Compare(a.Path, b.Path) })
	sortFindings(d.Findings)
	d.Findings = slices.CompactFunc(d.Findings, func(a, b Finding) bool { return a == b })
	return d
}

// rootsOf are the roots that hold the skills, in the order of the skills.
func rootsOf(skills []Found) []string {
	var roots []string
	for _, f := range skills {
		if !slices.Contains(roots, f.Root) {
			roots = append(roots, f.Root)
		}
	}
	return roots
}

// walk is one pass over the nodes of a root.
type walk struct {
	root     string
	depth    int
	archives []string
	skills   map[string]Found // by directory
	result   *Discovery
}

// discoverIn looks into every root. A skill below two roots belongs to the
// first.
func discoverIn(nodes []Node, roots []string, depth int, archives []string) Discovery {
	var d Discovery
	seen := map[string]bool{}
	for _, root := range roots {
		w := walk{root: path.Clean(root), depth: depth, skills: map[string]Found{}, result: &d}
		w.archives = append(slices.Clone(archives), path.Join(path.Dir(w.root), archiveName))
		if w.root == "." {
			w.archives = append(w.archives, archiveName)
		}
		w.visit(nodes)
		for _, f := range w.skills {
			if !seen[f.Path] {
				seen[f.Path] = true
				d.Skills = append(d.Skills, f)
			}
		}
		d.Roots = append(d.Roots, w.root)
	}
	d.sameDirectories()
	return d
}

// visit notes the skills first, outer ones before what is nested in them, and
// then looks at everything else.
func (w *walk) visit(nodes []Node) {
	var inside []Node
	for _, n := range nodes {
		if n.Kind != File && within(w.root, n.Path) {
			w.special(n)
		} else if below, ok := w.below(n); ok {
			inside = append(inside, Node{Path: below, Kind: n.Kind})
		}
	}
	slices.SortStableFunc(inside, func(a, b Node) int {
		return cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/"))
	})
	for _, n := range inside {
		if n.Kind == File {
			w.file(n.Path)
		}
	}
	for _, n := range inside {
		w.other(n)
	}
}

// within reports whether inner is outer or lies below it.
func within(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}

// below returns a node's path from the root, if it lies below it and in no
// directory that is not walked.
func (w *walk) below(n Node) (string, bool) {
	for _, archive := range w.archives {
		if within(n.Path, path.Clean(archive)) {
			return "", false
		}
	}
	rest := n.Path
	if w.root != "." {
		var ok bool
		if rest, ok = strings.CutPrefix(n.Path, w.root+"/"); !ok {
			return "", false
		}
	}
	directories := strings.Split(rest, "/")
	if n.Kind == File {
		directories = directories[:len(directories)-1]
	}
	return rest, !slices.ContainsFunc(directories, Skips)
}

// file notes the skill whose SKILL.md this is.
func (w *walk) file(rest string) {
	directory, name := path.Split(rest)
	directory = strings.TrimSuffix(directory, "/")
	depth := 0
	if directory != "" {
		depth = strings.Count(directory, "/") + 1
	}
	if name != FileName && name != LowerFileName || depth > w.depth || w.outer(directory) != "" {
		return
	}
	full := path.Join(w.root, rest)
	f := Found{Path: path.Join(w.root, directory), File: full, Root: w.root, Depth: depth}
	_, both := w.skills[directory] // SKILL.md sorts before skill.md
	switch {
	case both:
		w.add("SF802", Error, full, "remove one of them", "Both `%s` and `%s` exist.", FileName, LowerFileName)
		return
	case name == LowerFileName:
		w.add("SF801", Warning, full, "rename it", "The file is called `%s`; forge reads it, but no client does: they load only `%s`.", LowerFileName, FileName)
	}
	w.skills[directory] = f
}

// outer is the skill that a directory of the root lies inside of, "" for none.
func (w *walk) outer(directory string) string {
	for at := directory; at != ""; {
		up := strings.TrimSuffix(path.Dir(at), "/")
		if up == "." {
			up = ""
		}
		if f, ok := w.skills[up]; ok {
			return f.Path
		}
		at = up
	}
	return ""
}

// other looks at a node that is no skill's own file.
func (w *walk) other(n Node) {
	full := path.Join(w.root, n.Path)
	switch n.Kind {
	case Link, Submodule:
		w.special(Node{Path: full, Kind: n.Kind})
	case File:
		directory, name := path.Split(n.Path)
		outer := w.outer(strings.TrimSuffix(directory, "/"))
		if (name == FileName || name == LowerFileName) && outer != "" {
			w.add("SF804", Warning, full, "", "A SKILL.md inside the skill `%s`: clients that search recursively load it as a skill of its own.", outer)
		}
	}
}

// special reports what is not followed. A skill file that is a link hides the
// skill from forge and shows clients what forge cannot vouch for.
func (w *walk) special(n Node) {
	switch name := path.Base(n.Path); {
	case n.Kind == Submodule:
		w.add("SF710", Warning, n.Path, "", "`%s` is a submodule and is not searched.", n.Path)
	case name == FileName || name == LowerFileName:
		w.add("SF710", Error, n.Path, "put the file itself there", "`%s` is a symbolic link and is not followed.", n.Path)
	default:
		w.add("SF710", Warning, n.Path, "put the files themselves there", "`%s` is a symbolic link and is not followed.", n.Path)
	}
}

// add records a finding about a whole file.
func (w *walk) add(rule string, severity Severity, file, hint, format string, args ...any) {
	w.result.Findings = append(w.result.Findings, Finding{Rule: rule, Severity: severity, Path: file, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// sameDirectories reports skills whose directories are one to some file
// system.
func (d *Discovery) sameDirectories() {
	var list []Identity
	for _, f := range d.Skills {
		list = append(list, Identity{Name: f.Path, Path: f.Path})
	}
	for _, c := range Collisions(list) {
		d.Findings = append(d.Findings, c.Finding())
	}
}
