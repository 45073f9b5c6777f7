package sample

import (
	"math/big"
	"slices"
)

// History is an eval with its assertions, and how it did in all earlier runs
// on any candidate: Passes of Assertions, both 0 before the first.
type History struct{ Total, Passes, Assertions int64 }

// failures is how many assertions are expected to fail: total * (1 - rate),
// the rate being (passes + 3/4) / (assertions + 1). Exact, because ties are
// decided by the order of the file.
func (h History) failures() *big.Rat {
	seen := big.NewRat(h.Assertions+1, 1)
	failed := new(big.Rat).Add(big.NewRat(h.Assertions-h.Passes, 1), big.NewRat(1, 4))
	failed.Mul(failed, big.NewRat(h.Total, 1))
	return failed.Quo(failed, seen)
}

// FailFirst orders evals so that those with the most expected failures run
// first, which settles most losing candidates early: positions into evals, and
// the expected failures by position. Ties stay in the order of the file.
// Counts that are impossible are usage faults.
//
// Source: statistics.md R-STAT-16.
func FailFirst(evals []History) (order []int, failures []*big.Rat, err error) {
	for i, h := range evals {
		if h.Total < 0 || h.Passes < 0 || h.Passes > h.Assertions {
			return nil, nil, bad("%d passes of %d assertions", h.Passes, h.Assertions)
		}
		order, failures = append(order, i), append(failures, h.failures())
	}
	slices.SortStableFunc(order, func(a, b int) int { return failures[b].Cmp(failures[a]) })
	return order, failures, nil
}
