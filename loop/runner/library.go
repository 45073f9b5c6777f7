package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"forge/gitstore"
	"forge/gitstore/skill"
	"forge/loop/lexical"
)

// Shelf reads the skills of commits. It remembers every SKILL.md by its object,
// so that the next commit costs what differs. It is safe for concurrent use.
type Shelf struct {
	Repo   *gitstore.Repo // required
	Search skill.Search   // the zero value looks in the default roots

	mu        sync.Mutex
	read      map[gitstore.Hash]skill.Document
	libraries map[string]*lexical.Library // by state and target
	listed    map[gitstore.Hash][]Listed  // by commit
}

// Listed is a skill of a commit that a client could list.
type Listed struct {
	lexical.Document
	object gitstore.Hash
}

// List reads the skills of a commit that a client could list, by path: name
// and description readable, not hidden from models (R-LEX-1).
func (s *Shelf) List(ctx context.Context, commit gitstore.Hash) ([]Listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list(ctx, commit)
}

func (s *Shelf) list(ctx context.Context, commit gitstore.Hash) ([]Listed, error) {
	if known, ok := s.listed[commit]; ok {
		return known, nil
	}
	found, objects, err := Discover(ctx, s.Repo, commit, s.Search)
	if err != nil {
		return nil, err
	}
	var listed []Listed
	for _, f := range found.Skills {
		d, err := s.document(ctx, objects[f.File])
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", f.File, err)
		}
		if d.Name != "" && d.Description != "" && !d.DisableModelInvocation {
			listed = append(listed, Listed{lexical.Document{Path: f.Path, Name: d.Name, Description: d.Description}, objects[f.File]})
		}
	}
	if s.listed == nil || len(s.listed) > 8 { // both sides and a few more
		s.listed = map[gitstore.Hash][]Listed{}
	}
	s.listed[commit] = listed
	return listed, nil
}

// document parses a SKILL.md once.
func (s *Shelf) document(ctx context.Context, object gitstore.Hash) (skill.Document, error) {
	if d, ok := s.read[object]; ok {
		return d, nil
	}
	data, err := s.Repo.Blob(ctx, object)
	if err != nil {
		return skill.Document{}, err
	}
	d, _ := skill.Parse(data) // what can be read is used; lint says what is wrong
	if s.read == nil {
		s.read = map[gitstore.Hash]skill.Document{}
	}
	s.read[object] = d
	return d, nil
}

// Discover finds the skills of a commit, and the objects of its files.
func Discover(ctx context.Context, repo *gitstore.Repo, commit gitstore.Hash, search skill.Search) (skill.Discovery, map[string]gitstore.Hash, error) {
	var nodes []skill.Node
	objects := map[string]gitstore.Hash{}
	err := repo.Walk(ctx, commit, "", func(e gitstore.Entry) error {
		kind := skill.File
		switch e.Mode {
		case gitstore.ModeLink:
			kind = skill.Link
		case gitstore.ModeGitlink:
			kind = skill.Submodule
		}
		nodes = append(nodes, skill.Node{Path: e.Path, Kind: kind})
		objects[e.Path] = e.Object
		return nil
	})
	if err != nil {
		return skill.Discovery{}, nil, fmt.Errorf("list the skills of %s: %w", commit.Short(), err)
	}
	return skill.Discover(nodes, search), objects, nil
}

// Library is the index of a commit's skills as a query of that target sees it:
// the same SKILL.md under the same name in two roots is one document, the
// target's path wins; without is the library without the target.
func (s *Shelf) Library(ctx context.Context, commit gitstore.Hash, target string, without bool) (*lexical.Library, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %v %s", commit, without, target)
	if l, ok := s.libraries[key]; ok {
		return l, nil
	}
	listed, err := s.list(ctx, commit)
	if err != nil {
		return nil, err
	}
	documents := Once(listed, target)
	if without {
		documents = slices.DeleteFunc(documents, func(d lexical.Document) bool { return d.Path == target })
	}
	if s.libraries == nil || len(s.libraries) > 8 {
		s.libraries = map[string]*lexical.Library{}
	}
	s.libraries[key] = lexical.NewLibrary(documents)
	return s.libraries[key], nil
}

// Once keeps one document of every name with the same bytes: the target's,
// else the first by path (R-LEX-1).
func Once(listed []Listed, target string) []lexical.Document {
	type key struct {
		object gitstore.Hash
		name   string
	}
	kept := map[key]int{}
	var documents []lexical.Document
	for _, l := range listed {
		k := key{l.object, l.Name}
		i, known := kept[k]
		switch {
		case !known:
			kept[k] = len(documents)
			documents = append(documents, l.Document)
		case l.Path == target:
			documents[i] = l.Document
		}
	}
	return documents
}
