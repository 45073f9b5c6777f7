package skill

import (
	"fmt"
	"slices"
	"strings"

	"forge/gitstore/text"
)

// Identity is a skill as people name it, and as forge does.
type Identity struct {
	Name string // front-matter name
	Path string // directory
}

// Collision are skills whose names are equal, or equal but for case and
// normal form.
type Collision struct {
	Names []string // as they are written, sorted, without repeats
	Paths []string // sorted
}

// Collisions returns the names that more than one skill claims, in the order
// of their first paths. Skills without a name claim none.
//
// Source: skill-format.md SF205, SF206; curator.md RC-SKILL-6; DECISIONS C2.
func Collisions(skills []Identity) []Collision {
	byKey := map[string]*Collision{}
	for _, s := range skills {
		if s.Name == "" {
			continue
		}
		key := text.Key(s.Name)
		if byKey[key] == nil {
			byKey[key] = &Collision{}
		}
		byKey[key].Names = append(byKey[key].Names, s.Name)
		byKey[key].Paths = append(byKey[key].Paths, s.Path)
	}
	var list []Collision
	for _, c := range byKey {
		if len(c.Paths) > 1 {
			slices.Sort(c.Names)
			c.Names = slices.Compact(c.Names)
			slices.Sort(c.Paths)
			list = append(list, *c)
		}
	}
	slices.SortFunc(list, func(a, b Collision) int { return slices.Compare(a.Paths, b.Paths) })
	return list
}

// Finding is the collision as one finding, which names all paths.
func (c Collision) Finding() Finding {
	f := Finding{Rule: "SF205", Severity: Error, Path: c.Paths[0], Hint: "rename one of them, or name the skill by its path"}
	if len(c.Names) == 1 {
		f.Message = fmt.Sprintf("The name `%s` is used by %s.", c.Names[0], quotedList(c.Paths))
		return f
	}
	f.Rule = "SF206"
	f.Message = fmt.Sprintf("The names %s are equal after case folding or Unicode normalisation (%s).", quotedList(c.Names), quotedList(c.Paths))
	return f
}

// quotedList is `a`, `b` and `c`.
func quotedList(list []string) string {
	quoted := make([]string, len(list))
	for i, item := range list {
		quoted[i] = "`" + item + "`"
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " and " + quoted[len(quoted)-1]
}
