package tune

import (
	"math/big"
	"strconv"
	"strings"

	"forge/loop/verdict"
)

// mostDigits is how many digits after the point a number is searched to
// (R-TUNE-3).
const mostDigits = 9

// grid is the values a number can take: the multiples of its unit.
type grid struct {
	whole  bool     // a whole number, which stays one
	digits int      // after the point
	unit   *big.Rat // 1, or 10^-digits
}

// newGrid returns the grid of a number by how it is written (R-TUNE-3). A
// step= with more digits makes the grid of a number with a point finer.
func newGrid(text, stepText string) grid {
	if !strings.ContainsAny(text, ".eE") {
		return grid{whole: true, unit: big.NewRat(1, 1)}
	}
	digits := min(mostDigits, max(digitsAfterPoint(text), digitsAfterPoint(stepText)))
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return grid{digits: digits, unit: new(big.Rat).SetFrac(big.NewInt(1), power)}
}

// digitsAfterPoint is how many digits a number has after its point, written
// out or in full without its exponent, whichever are more: 2 for 1.50, 4 for
// 1e-4.
func digitsAfterPoint(text string) int {
	mantissa, exponentText, _ := strings.Cut(strings.ToLower(text), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	exponent, _ := strconv.Atoi(exponentText) // 0 without one; a number in range has at most 308
	return max(len(fraction), len(fraction)-exponent)
}

// format writes a value of the grid.
func (g grid) format(value *big.Rat) string {
	return verdict.Fixed(value, g.digits, false)
}

// nearest returns the multiple of the unit nearest to x, half away from zero.
func (g grid) nearest(x *big.Rat) *big.Rat {
	units := new(big.Rat).Quo(x, g.unit)
	half := big.NewRat(int64(units.Sign()), 2)
	return g.times(truncate(units.Add(units, half)))
}

// towardsZero returns the multiple of the unit next to x on the side of zero.
func (g grid) towardsZero(x *big.Rat) *big.Rat {
	return g.times(truncate(new(big.Rat).Quo(x, g.unit)))
}

// floor and ceiling return the multiple of the unit next to x below and above
// it.
func (g grid) floor(x *big.Rat) *big.Rat {
	units := new(big.Rat).Quo(x, g.unit)
	return g.times(new(big.Int).Div(units.Num(), units.Denom())) // Euclidean: rounds down
}

func (g grid) ceiling(x *big.Rat) *big.Rat {
	down := g.floor(new(big.Rat).Neg(x))
	return down.Neg(down)
}

// times returns n units.
func (g grid) times(n *big.Int) *big.Rat {
	r := new(big.Rat).SetInt(n)
	return r.Mul(r, g.unit)
}

// truncate drops what is behind the point.
func truncate(x *big.Rat) *big.Int { return new(big.Int).Quo(x.Num(), x.Denom()) }

// startStep is the first step of a value (R-TUNE-3): a quarter of it, at least
// the unit; from zero 1 for whole numbers and 0.1 for others; or what step=
// says.
func (g grid) startStep(value *big.Rat, o options) *big.Rat {
	var step *big.Rat
	switch {
	case o.step != nil:
		step = o.step
	case value.Sign() != 0:
		step = new(big.Rat).Abs(value)
		step.Quo(step, big.NewRat(4, 1))
	case g.whole:
		step = big.NewRat(1, 1)
	default:
		step = big.NewRat(1, 10)
	}
	return larger(g.nearest(step), g.unit)
}

// larger returns the larger of two values.
func larger(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) < 0 {
		return y
	}
	return x
}
