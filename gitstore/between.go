package gitstore

import (
	"container/heap"
	"context"
)

// Missing returns the commits that can be reached from one of from and from
// none of have, a commit before its parents, as `git rev-list from --not have`
// finds them. Where a clock went backwards it may return a few too many.
//
// A shallow boundary ends a history without a word only where have was met
// before it; else that is a fault of kind Usage.
func (r *Repo) Missing(ctx context.Context, from, have []Hash) ([]CommitInfo, error) {
	p, err := r.newPainter(ctx, from, have)
	if err != nil {
		return nil, err
	}
	if err := p.paint(ctx, func(flags paint) bool { return flags&right == 0 }); err != nil {
		return nil, err
	}
	var missing []CommitInfo
	for _, c := range p.order {
		if p.seen[c.Hash]&right != 0 {
			continue
		}
		if p.shallow[c.Hash] && len(c.Parents) > 0 {
			return nil, shallowEnd(len(p.order))
		}
		missing = append(missing, c)
	}
	return missing, nil
}

// MergeBases returns the best common ancestors of two commits: none if their
// histories have nothing in common, several if they were merged crosswise. If
// a shallow boundary hides the answer, that is a fault of kind Usage.
func (r *Repo) MergeBases(ctx context.Context, a, b Hash) ([]Hash, error) {
	p, err := r.newPainter(ctx, []Hash{a}, []Hash{b})
	if err != nil {
		return nil, err
	}
	if err := p.paint(ctx, func(flags paint) bool { return flags&stale == 0 }); err != nil {
		return nil, err
	}
	var bases []Hash
	hidden := false
	for _, c := range p.order {
		flags := p.seen[c.Hash]
		if flags&stale == 0 && flags&(left|right) == left|right {
			bases = append(bases, c.Hash)
		}
		hidden = hidden || p.shallow[c.Hash] && len(c.Parents) > 0
	}
	if len(bases) == 0 && hidden {
		return nil, shallowEnd(len(p.order))
	}
	return bases, nil
}

// paint says from which side a commit was reached, and whether it lies behind
// one that both sides reach.
type paint uint8

const (
	left paint = 1 << iota
	right
	stale
)

// painter walks the histories of two sides at once, newest first, as git does
// to find what they share.
type painter struct {
	repo    *Repo
	shallow map[Hash]bool
	seen    map[Hash]paint
	waiting map[Hash]bool // in queue
	queue   []CommitInfo  // a heap
	order   []CommitInfo  // as they were first taken from it
	taken   map[Hash]bool
}

func (r *Repo) newPainter(ctx context.Context, a, b []Hash) (*painter, error) {
	shallow, err := r.shallow()
	if err != nil {
		return nil, err
	}
	p := &painter{repo: r, shallow: shallow, seen: map[Hash]paint{}, waiting: map[Hash]bool{}, taken: map[Hash]bool{}}
	for _, id := range a {
		if err := p.reach(ctx, id, left); err != nil {
			return nil, err
		}
	}
	for _, id := range b {
		if err := p.reach(ctx, id, right); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// reach paints a commit and puts it in the queue if that is new to it.
func (p *painter) reach(ctx context.Context, id Hash, with paint) error {
	before, known := p.seen[id]
	p.seen[id] = before | with
	if known && before|with == before || p.waiting[id] {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	c, err := p.repo.ReadCommit(ctx, id)
	if err != nil {
		return err
	}
	p.waiting[id] = true
	heap.Push(p, c)
	return nil
}

// paint goes on while the queue holds a commit of interest.
func (p *painter) paint(ctx context.Context, interesting func(paint) bool) error {
	for p.holds(interesting) {
		c := heap.Pop(p).(CommitInfo)
		delete(p.waiting, c.Hash)
		if !p.taken[c.Hash] {
			p.taken[c.Hash] = true
			p.order = append(p.order, c)
		}
		if p.shallow[c.Hash] {
			continue
		}
		with := p.seen[c.Hash]
		if with&(left|right) == left|right {
			with |= stale
		}
		for _, parent := range c.Parents {
			if err := p.reach(ctx, parent, with); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds says whether a commit in the queue is of interest. The newest ones
// stand in front, so that the answer is mostly found at once.
func (p *painter) holds(interesting func(paint) bool) bool {
	for _, c := range p.queue {
		if interesting(p.seen[c.Hash]) {
			return true
		}
	}
	return false
}

// Len implements [heap.Interface], as do the four below.
func (p *painter) Len() int { return len(p.queue) }

// Less puts the newest first. Of two at the same second the right side goes
// first, so that what it has is known before it is called missing.
func (p *painter) Less(i, j int) bool {
	a, b := p.queue[i], p.queue[j]
	if !a.Committer.When.Equal(b.Committer.When) {
		return a.Committer.When.After(b.Committer.When)
	}
	return p.seen[a.Hash]&right > p.seen[b.Hash]&right
}

// Swap swaps two entries.
func (p *painter) Swap(i, j int) { p.queue[i], p.queue[j] = p.queue[j], p.queue[i] }

// Push adds an entry at the end.
func (p *painter) Push(x any) { p.queue = append(p.queue, x.(CommitInfo)) }

// Pop takes the last entry.
func (p *painter) Pop() any {
	last := len(p.queue) - 1
	c := p.queue[last]
	p.queue = p.queue[:last]
	return c
}
