package gitstore

import (
	"context"
	"path"
	"slices"
	"strings"
)

// exportDir is a directory of the export that holds something of the tree.
type exportDir struct {
	names   map[string]bool // of the files and links directly in it
	subdirs int             // exportDirs directly in it

	stamp   diskStamp // as the last Set left it
	quiet   bool      // stamp counts: the last Set left nothing in it but what the tree holds
	present bool      // it is there, a real directory
	touched bool      // this Set looked into it or changed it
}

func newExportDir() *exportDir { return &exportDir{names: map[string]bool{}} }

// diskFile is a file or link of the export as Set left it.
type diskFile struct {
	entry   Entry // what was written; zero if nothing is there that counts
	stamp   diskStamp
	pass    uint64 // the last Set that found or wrote it so
	pointer bool   // of git LFS
}

// load makes the bookkeeping that of the commit's tree: what differs between
// it and the one known is judged anew, everything if a link changed or a skill
// came or went.
func (e *Export) load(ctx context.Context, commit Hash) error {
	tree, err := e.repo.TreeOf(ctx, commit)
	if err != nil {
		return err
	}
	differences, err := e.repo.DiffTrees(ctx, e.tree, tree)
	if err != nil {
		return err
	}
	everything := e.stale
	e.stale = true
	var changed []string
	for _, d := range differences {
		delete(e.all, d.Path)
		if d.After.Mode != 0 {
			e.all[d.Path] = Entry{Path: d.Path, Mode: d.After.Mode, Object: d.After.Object}
		}
		changed = append(changed, d.Path)
		newSkill := path.Base(d.Path) == "SKILL.md" && (d.Before.Mode == 0 || d.After.Mode == 0)
		everything = everything || newSkill || d.Before.Mode == ModeLink || d.After.Mode == ModeLink
	}
	e.tree = tree
	if everything {
		if err := e.readLinks(ctx); err != nil {
			return err
		}
		e.findSkills()
		for p := range e.all {
			changed = append(changed, p)
		}
	}
	e.judge(changed)
	e.stale = false
	return nil
}

// readLinks reads the targets of the tree's symbolic links.
func (e *Export) readLinks(ctx context.Context) error {
	for _, entry := range e.all {
		if entry.Mode != ModeLink {
			continue
		}
		if _, known := e.links[entry.Object]; known {
			continue
		}
		target, err := e.repo.Blob(ctx, entry.Object)
		if err != nil {
			return named(err, entry.Path)
		}
		e.links[entry.Object] = string(target)
	}
	return nil
}

// findSkills notes the directories with a SKILL.md.
func (e *Export) findSkills() {
	clear(e.skills)
	for p := range e.all {
		if path.Base(p) == "SKILL.md" {
			e.skills[path.Dir(p)] = true
		}
	}
}

// judge decides anew about these paths.
func (e *Export) judge(paths []string) {
	s := selection{all: e.all, links: e.links, skills: e.skills, layout: e.plan.SkillLayout}
	for _, p := range paths {
		entry, exists := e.all[p]
		v := unspoken
		if exists && e.plan.covers(p) {
			v = s.judge(entry)
		}
		delete(e.skipped, p)
		switch v {
		case exported:
			e.add(entry)
			continue
		case leftOut:
			e.skipped[p] = true
		}
		e.drop(p)
	}
}

// add makes an entry one of the export.
func (e *Export) add(entry Entry) {
	e.want[entry.Path] = entry
	e.addDir(path.Dir(entry.Path)).names[path.Base(entry.Path)] = true
}

func (e *Export) addDir(p string) *exportDir {
	if d := e.dirs[p]; d != nil {
		return d
	}
	d := newExportDir()
	e.dirs[p] = d
	e.levels = nil
	e.addDir(path.Dir(p)).subdirs++
	return d
}

// drop takes a path out of the export, with the directories it leaves empty.
func (e *Export) drop(p string) {
	if _, wanted := e.want[p]; !wanted {
		return
	}
	delete(e.want, p)
	if e.onDisk[p] != nil {
		delete(e.onDisk, p)
		e.former = append(e.former, p)
	}
	delete(e.dirs[path.Dir(p)].names, path.Base(p))
	for at := path.Dir(p); at != "." && len(e.dirs[at].names) == 0 && e.dirs[at].subdirs == 0; at = path.Dir(at) {
		delete(e.dirs, at)
		e.levels = nil
		e.dirs[path.Dir(at)].subdirs--
		e.dirs[path.Dir(at)].quiet = false // the directory itself has to go
	}
}

// byDepth returns the directories level by level, parents before children.
func (e *Export) byDepth() [][]string {
	if e.levels != nil {
		return e.levels
	}
	levels := [][]string{{"."}}
	for p := range e.dirs {
		if p == "." {
			continue
		}
		depth := strings.Count(p, "/") + 1
		for len(levels) <= depth {
			levels = append(levels, nil)
		}
		levels[depth] = append(levels[depth], p)
	}
	for _, level := range levels {
		slices.Sort(level)
	}
	e.levels = levels
	return levels
}
