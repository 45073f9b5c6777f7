package stats

import "math/big"

// The largest sign-flip test: differences that are not 0, and the sum of
// their sizes (statistics.md F3). A set of evals has at most 1,000.
const (
	maxMoved = 1_000
	maxSum   = 1_000_000
	maxSize  = 1_000_000_000_000 // of one difference, common factor included
)

// Flipped is the outcome of the sign-flip test, exact. MidP is evidence for
// "better"; see [Flipped.Worse].
type Flipped struct {
	Net  int64    // the sum of the differences
	P    *big.Rat // one-sided, 0 < P <= 1
	MidP *big.Rat // P with the observed outcome counted half, 0 < MidP < 1
}

// Worse is the evidence for "worse": exactly 1 - MidP.
func (f Flipped) Worse() *big.Rat { return new(big.Rat).Sub(big.NewRat(1, 1), f.MidP) }

// TwoSided is twice the smaller of MidP and Worse, at most 1: the evidence for
// "different" (statistics.md R-STAT-9).
func (f Flipped) TwoSided() *big.Rat {
	smaller, worse := f.MidP, f.Worse()
	if worse.Cmp(smaller) < 0 {
		smaller = worse
	}
	return new(big.Rat).Mul(big.NewRat(2, 1), smaller)
}

// SignFlip asks how many of all ways to give the differences a sign have a sum
// of at least the one observed. The order of d does not matter, nor does a
// common factor; evals that did not move are passed over. Nothing moved: P is
// 1, MidP 1/2.
//
// More than 1,000 differences that are not 0, and differences that add up to
// more than 1,000,000 once their common factor is out, are usage faults.
//
// Source: statistics.md F3.
func SignFlip(d []int64) (Flipped, error) {
	f := Flipped{}
	var sizes []int64
	for _, x := range d {
		f.Net += x
		if x != 0 {
			sizes = append(sizes, max(x, -x))
		}
	}
	factor, total, err := measureSizes(sizes)
	if err != nil {
		return Flipped{}, err
	}
	for i := range sizes {
		sizes[i] /= factor
	}
	// A choice of positive signs that sum to a has the net 2a - total.
	net := f.Net / factor
	least := (net + total) / 2 // whole: net and total have the same parity
	tail, exactly := newSums(sizes).from(least)
	all := new(big.Int).Lsh(big.NewInt(1), uint(len(sizes)))
	f.P = new(big.Rat).SetFrac(tail, all)
	f.MidP = new(big.Rat).SetFrac(exactly, new(big.Int).Lsh(all, 1))
	f.MidP.Sub(f.P, f.MidP)
	return f, nil
}

// measureSizes returns the greatest common factor of sizes, 1 for none, and
// their sum without it.
func measureSizes(sizes []int64) (factor, total int64, err error) {
	if len(sizes) > maxMoved {
		return 0, 0, bad("%d evals moved: the exact test takes at most %d", len(sizes), maxMoved)
	}
	for _, x := range sizes {
		if x < 0 || x > maxSize { // the smallest int64 has no size of its own
			return 0, 0, bad("a difference is larger than the %d an exact test takes", int64(maxSize))
		}
		factor = gcd(factor, x)
	}
	factor = max(factor, 1)
	for _, x := range sizes {
		if total += x / factor; total > maxSum {
			return 0, 0, bad("the differences add up to more than the %d an exact test takes", maxSum)
		}
	}
	return factor, total, nil
}

// gcd is the greatest common divisor of two numbers that are not negative.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// sums tells for each whole number how many subsets of some sizes have that
// sum: one field of a long number per sum, sum 0 in the lowest.
type sums struct {
	fields *big.Int
	width  uint // bits of a field; it holds the number of all subsets and more
}

// newSums adds one size after the other. A field never overflows into the
// next, so adding all of them at once is one shift and one addition: this is
// what makes an exact test of hundreds of evals cheap.
func newSums(sizes []int64) sums {
	s := sums{fields: big.NewInt(1), width: uint(len(sizes)) + 2}
	shifted := new(big.Int)
	for _, x := range sizes {
		shifted.Lsh(s.fields, uint(x)*s.width)
		s.fields.Add(s.fields, shifted)
	}
	return s
}

// from counts the subsets with a sum of at least least, and of exactly that.
// The fields of a number in base 2^width add up to it modulo 2^width - 1, as
// the digits of a decimal number do modulo 9; their sum is below that.
func (s sums) from(least int64) (tail, exactly *big.Int) {
	base := new(big.Int).Lsh(big.NewInt(1), s.width)
	upper := new(big.Int).Rsh(s.fields, uint(max(least, 0))*s.width)
	exactly = new(big.Int).And(upper, new(big.Int).Sub(base, big.NewInt(1)))
	return upper.Mod(upper, base.Sub(base, big.NewInt(1))), exactly
}

// Whole scales weighted differences to the smallest whole numbers with the
// same proportions. ok is false where their sizes add up to more than
// [SignFlip] takes: then unweighted counts are used, and the reader is told.
//
// Source: statistics.md F3.
func Whole(d []*big.Rat) (whole []int64, ok bool) {
	common := big.NewInt(1)
	for _, x := range d {
		factor := new(big.Int).GCD(nil, nil, common, x.Denom())
		common.Mul(common, factor.Quo(x.Denom(), factor))
		if common.BitLen() > 512 {
			return nil, false
		}
	}
	scaled, divisor := make([]*big.Int, len(d)), new(big.Int)
	for i, x := range d {
		scaled[i] = new(big.Int).Mul(x.Num(), new(big.Int).Quo(common, x.Denom()))
		divisor.GCD(nil, nil, divisor, new(big.Int).Abs(scaled[i]))
	}
	whole, total := make([]int64, len(d)), new(big.Int)
	for i, x := range scaled {
		if divisor.Sign() > 0 {
			x.Quo(x, divisor)
		}
		if total.Add(total, new(big.Int).Abs(x)); total.Cmp(big.NewInt(maxSum)) > 0 {
			return nil, false
		}
		whole[i] = x.Int64()
	}
	return whole, true
}
