package attack

import (
	"bytes"
	"context"
	"math/big"
	"path"
	"slices"

	"forge/gitstore"
	"forge/loop"
)

// shrinking is a scope that can lose more than it may.
type shrinking struct {
	*loop.Rehearsal
	files []string // a candidate may change, the largest first
	gone  int      // so many files missing are too many
}

// shrink is the target, or, where that has too few files a candidate may
// change or no name for a new one, the private copy's own directory in its
// place. ok is false if there is no scope that can lose too much.
func (st *stage) shrink(ctx context.Context) (s shrinking, ok bool, err error) {
	if s, ok = shrinkingOf(st.target); ok || st.target.Rules().MinScopeRatio.Sign() == 0 {
		return s, ok, nil
	}
	setup := st.suite.Setup
	setup.Frozen.Target = addedDir + "/**"
	own, err := st.rehearse(ctx, setup)
	if err != nil {
		return s, false, err
	}
	s, ok = shrinkingOf(own)
	return s, ok, nil
}

// unshrinkable is the ending where no scope can be made too small.
func (st *stage) unshrinkable() ending {
	if st.target.Rules().MinScopeRatio.Sign() == 0 {
		return ending{inapplicable: "min_scope_ratio is 0"}
	}
	return ending{inapplicable: nothingToChange}
}

// shrinkingOf says how a scope can be made too small.
func shrinkingOf(r *loop.Rehearsal) (shrinking, bool) {
	rules := r.Rules()
	all := int64(len(rules.Start))
	s := shrinking{Rehearsal: r, files: r.Files()}
	slices.SortStableFunc(s.files, func(a, b string) int { return int(min(1, max(-1, r.Size(b)-r.Size(a)))) })
	// The fewest files whose loss leaves less than the least share.
	for s.gone = 1; int64(s.gone) <= all && big.NewRat(all-int64(s.gone), all).Cmp(rules.MinScopeRatio) >= 0; s.gone++ {
	}
	if s.gone > len(s.files) || int64(s.gone) > all || !s.hollow() {
		return s, false
	}
	for _, file := range s.files[:s.gone] {
		if !r.May(swapped(file)) {
			return s, false
		}
	}
	return s, true
}

// hollow says whether the bytes of the files are more than the scope may lose.
func (s shrinking) hollow() bool {
	var total, mine int64
	for _, size := range s.Rules().Start {
		total += size.Bytes
	}
	for _, file := range s.files {
		mine += s.Size(file)
	}
	return total > 0 && big.NewRat(total-mine, total).Cmp(s.Rules().MinScopeRatio) < 0
}

// swapped is the name under which a file comes back.
func swapped(file string) string { return path.Join(path.Dir(file), newFile+"-"+path.Base(file)) }

func deleteScope(ctx context.Context, st *stage) (ending, error) {
	s, ok, err := st.shrink(ctx)
	if err != nil || !ok {
		return st.unshrinkable(), err
	}
	var list []gitstore.Edit
	for _, file := range s.files[:s.gone] {
		list = append(list, gitstore.Remove(file))
	}
	return edits(ctx, s.Rehearsal, list...)
}

func hollowFiles(ctx context.Context, st *stage) (ending, error) {
	s, ok, err := st.shrink(ctx)
	if err != nil || !ok {
		return st.unshrinkable(), err
	}
	var list []gitstore.Edit
	for _, file := range s.files {
		list = append(list, gitstore.Put(file, []byte{}))
	}
	return edits(ctx, s.Rehearsal, list...)
}

func swappedFiles(ctx context.Context, st *stage) (ending, error) {
	s, ok, err := st.shrink(ctx)
	if err != nil || !ok {
		return st.unshrinkable(), err
	}
	var list []gitstore.Edit
	for _, file := range s.files[:s.gone] {
		data, err := s.Read(ctx, file)
		if err != nil {
			return ending{}, err
		}
		list = append(list, gitstore.Remove(file), gitstore.Put(swapped(file), bytes.Clone(data)))
	}
	return edits(ctx, s.Rehearsal, list...)
}
