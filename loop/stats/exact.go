package stats

import "math/big"

// maxFlips is how many discordant pairs [McNemar] takes: the test is exact,
// and its cost grows with the square of them.
const maxFlips = 100_000

// Paired is the outcome of a test of two counts against each other, as exact
// probabilities from 0 to 1.
type Paired struct {
	OneSided *big.Rat // of at least this many for the better
	TwoSided *big.Rat // of a difference at least this large either way
	MidP     *big.Rat // one-sided, the observed outcome counted half
}

// McNemar is the exact test of up assertions that went from fail to pass
// against down that went from pass to fail. It is for display only: the
// assertions of one run are not independent, so it never carries a label.
// Without any flip the probabilities are 1 and the mid-p 1/2.
//
// Negative numbers and more than 100,000 flips are usage faults.
//
// Source: statistics.md F2.
func McNemar(up, down int64) (Paired, error) {
	if up < 0 || down < 0 {
		return Paired{}, bad("%d up, %d down: a number of flips is not negative", up, down)
	}
	n := up + down
	if up > maxFlips || down > maxFlips || n > maxFlips {
		return Paired{}, bad("%d up and %d down are more flips than the %d an exact test takes", up, down, maxFlips)
	}
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	tail, exactly := upperTail(n, up)
	p := new(big.Rat).SetFrac(tail, all)
	mid := new(big.Rat).SetFrac(exactly, new(big.Int).Lsh(all, 1))
	larger, _ := upperTail(n, max(up, down))
	two := new(big.Rat).SetFrac(larger.Lsh(larger, 1), all)
	if one := big.NewRat(1, 1); two.Cmp(one) > 0 {
		two = one
	}
	return Paired{OneSided: p, TwoSided: two, MidP: mid.Sub(p, mid)}, nil
}

// upperTail is the number of ways to take k or more of n, and exactly k.
func upperTail(n, k int64) (tail, exactly *big.Int) {
	tail, exactly = new(big.Int), big.NewInt(1) // of n there is one way to take n
	for i := n; i > k; i-- {
		tail.Add(tail, exactly)
		exactly.Mul(exactly, big.NewInt(i))
		exactly.Quo(exactly, big.NewInt(n-i+1))
	}
	return tail.Add(tail, exactly), exactly
}

// Tally counts the signs of differences: evals that got better, worse, and
// stayed.
func Tally(d []int64) (wins, losses, ties int64) {
	for _, x := range d {
		switch {
		case x > 0:
			wins++
		case x < 0:
			losses++
		default:
			ties++
		}
	}
	return wins, losses, ties
}

// SignTest is [McNemar] of the evals that got better against those that got
// worse; ties are dropped.
//
// Source: statistics.md F2.
func SignTest(d []int64) (Paired, error) {
	wins, losses, _ := Tally(d)
	return McNemar(wins, losses)
}
