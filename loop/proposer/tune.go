// Package proposer holds who may mutate without a person: the built-in number
// search and any program behind the command seam.
//
// A proposer answers a brief with one mutation. It keeps nothing that the next
// brief does not tell it again, so a run that was killed goes on with the same
// proposals.
//
// Source: handoff.md sections 3 to 5.
package proposer

import (
	"context"
	"errors"
	"fmt"

	"forge/gitstore"
	"forge/loop/handoff"
	"forge/loop/tune"
)

// Tune proposes one change of one number per experiment (builtin:tune). The
// zero value is ready; what it remembers is the bytes of files by hash.
type Tune struct {
	cache map[string]cached
}

type cached struct {
	sha256 string
	data   []byte
}

// Propose answers a brief in generic mode.
func (t *Tune) Propose(ctx context.Context, task handoff.Task) (handoff.Proposal, error) {
	files, err := t.read(ctx, task)
	if err != nil {
		return handoff.Proposal{}, err
	}
	tried := make([]tune.Tried, len(task.Brief.Tried))
	for i, past := range task.Brief.Tried {
		tried[i] = tune.Tried{Hypothesis: past.Hypothesis, Decision: past.Decision}
	}
	for {
		p, err := tune.Propose(files, tried)
		if errors.Is(err, tune.ErrExhausted) {
			return handoff.Proposal{}, handoff.ErrExhausted
		}
		if err != nil {
			return handoff.Proposal{}, err
		}
		edits := []gitstore.Edit{gitstore.Put(p.Path, p.Data)}
		repeats, err := task.Repeats(ctx, edits)
		if err != nil {
			return handoff.Proposal{}, err
		}
		if !repeats {
			return handoff.Proposal{Hypothesis: p.Hypothesis, Category: p.Category, MutationType: p.MutationType, Edits: edits}, nil
		}
		// Another run tried it from here. To this search it is a move that failed:
		// the run begins where that one began and would be refused the move.
		tried = append(tried, tune.Tried{Hypothesis: p.Hypothesis})
	}
}

// read gives the scope's files; only what changed since the last brief is read
// again.
func (t *Tune) read(ctx context.Context, task handoff.Task) ([]tune.File, error) {
	if t.cache == nil {
		t.cache = map[string]cached{}
	}
	hashes := map[string]string{}
	for _, f := range task.Brief.Target.Files {
		hashes[task.FromRoot(f.Path)] = f.SHA256
	}
	files := make([]tune.File, 0, len(task.Scope))
	for _, path := range task.Scope {
		have, known := t.cache[path]
		if !known || have.sha256 != hashes[path] {
			data, err := task.Read(ctx, path)
			if err != nil {
				return nil, fmt.Errorf("read %q of the scope: %w", path, err)
			}
			have = cached{sha256: hashes[path], data: data}
			t.cache[path] = have
		}
		files = append(files, tune.File{Path: path, Data: have.data})
	}
	return files, nil
}
