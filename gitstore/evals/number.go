package evals

import (
	"encoding/json"
	"math/big"
	"strings"
)

// decimal writes a number that is a finite decimal, as weights and their sums
// are, as short as it can be.
func decimal(r *big.Rat) string {
	places, _ := r.FloatPrec()
	return r.FloatString(places)
}

// rounded writes r with at most that many digits after the point, half to
// even on the exact value, as a JSON number (loop.md R-OUT-3, R-OUT-4). r is
// not negative.
func rounded(r *big.Rat, digits int) json.Number {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	num := new(big.Int).Mul(r.Num(), scale)
	whole := halfEven(num, r.Denom())
	text := new(big.Rat).SetFrac(whole, scale).FloatString(digits)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return json.Number(text)
}

// halfEven is num/den as a whole number, half to even; num is not negative.
func halfEven(num, den *big.Int) *big.Int {
	whole, rest := new(big.Int).QuoRem(num, den, new(big.Int))
	switch rest.Lsh(rest, 1).Cmp(den) {
	case 1:
		whole.Add(whole, big.NewInt(1))
	case 0:
		whole.Add(whole, big.NewInt(int64(whole.Bit(0))))
	}
	return whole
}
