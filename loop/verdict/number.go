package verdict

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"forge/gitstore/fault"
)

const (
	maxNumberLen = 64   // characters of a number given as text (R-NUM-1)
	maxExactLen  = 4096 // characters ParseExact looks at
	minExponent  = -308 // the smallest value is 1e-308 (R-NUM-2)
	maxExponent  = 308  // the largest is 1.797e308
)

// ParseNumber reads a number by the one grammar of loop.md R-NUM-1, exactly:
//
//	[-+]?(digits[.digits*] | .digits)([eE][-+]?digits)?
//
// ASCII digits, at most 64 characters, nothing around it. A value that is not
// zero lies in 1e-308 .. 1.797e308 (R-NUM-2); a longer exponent is refused
// before it is computed. The error is a usage fault.
func ParseNumber(text string) (*big.Rat, error) {
	if len(text) > maxNumberLen {
		return nil, fault.New(fault.Usage, "", "number %s has %d characters of at most %d", quote(text), len(text), maxNumberLen)
	}
	p, ok := splitNumber(text)
	if !ok {
		return nil, fault.New(fault.Usage, "a number is written like 0.5, -3 or 1e-4", "%s is not a number", quote(text))
	}
	r, ok := p.rat()
	if !ok {
		return nil, fault.New(fault.Usage, "", "number %s is out of range: 1e-308 .. 1.797e308", quote(text))
	}
	return r, nil
}

// ParseRatio reads a threshold: a number, or an exact ratio of two as in 3/101
// (loop.md R-NUM-3). The error is a usage fault.
func ParseRatio(text string) (*big.Rat, error) {
	above, below, isRatio := strings.Cut(text, "/")
	p, err := ParseNumber(above)
	if err != nil || !isRatio {
		return p, err
	}
	q, err := ParseNumber(below)
	if err != nil {
		return nil, err
	}
	if q.Sign() <= 0 {
		return nil, fault.New(fault.Usage, "", "ratio %s has no positive denominator", quote(text))
	}
	return p.Quo(p, q), nil
}

// ParseExact reads back what [Exact] and [Shortest] print, also where that is
// longer than the 64 characters a person may type. It is for the exact texts
// of committed files. The error is a usage fault.
func ParseExact(text string) (*big.Rat, error) {
	if r, err := ParseRatio(text); err == nil {
		return r, nil
	}
	above, below, isRatio := strings.Cut(text, "/")
	if len(text) > maxExactLen || !isLongDecimal(above) || (isRatio && !isDigits(below)) {
		return nil, fault.New(fault.Usage, "", "%s is not an exact number", quote(text))
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fault.New(fault.Usage, "", "%s is not an exact number", quote(text))
	}
	return r, nil
}

// isLongDecimal reports whether text is a number of R-NUM-1 but for its
// length.
func isLongDecimal(text string) bool {
	p, ok := splitNumber(text)
	return ok && p.exponent >= -maxExactLen && p.exponent <= maxExactLen
}

// parts is a number taken apart: (-1)^negative * mantissa * 10^exponent.
type parts struct {
	negative bool
	mantissa string // digits without leading zeros, "" for zero
	exponent int    // beyond any range stands for "too large to tell"
}

// splitNumber matches text against the grammar of R-NUM-1.
func splitNumber(text string) (parts, bool) {
	var p parts
	rest := text
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		p.negative = rest[0] == '-'
		rest = rest[1:]
	}
	whole, rest := leadingDigits(rest)
	var fraction string
	if strings.HasPrefix(rest, ".") {
		fraction, rest = leadingDigits(rest[1:])
	}
	if whole == "" && fraction == "" {
		return parts{}, false
	}
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return parts{}, false
		}
		exponent, ok := splitExponent(rest[1:])
		if !ok {
			return parts{}, false
		}
		p.exponent = exponent
	}
	p.exponent -= len(fraction)
	p.mantissa = strings.TrimLeft(whole+fraction, "0")
	return p, true
}

// splitExponent reads [-+]?digits. An exponent of more than six digits is cut
// to a value that no range holds.
func splitExponent(text string) (int, bool) {
	sign := 1
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	if !isDigits(text) {
		return 0, false
	}
	text = strings.TrimLeft(text, "0")
	if len(text) > 6 {
		return sign * 10_000_000, true
	}
	n, _ := strconv.Atoi("0" + text) // at most seven digits
	return sign * n, true
}

// rat returns the exact value, or false if it is not in range.
func (p parts) rat() (*big.Rat, bool) {
	if p.mantissa == "" {
		return new(big.Rat), true
	}
	magnitude := len(p.mantissa) + p.exponent - 1 // of the leading digit
	if magnitude < minExponent || magnitude > maxExponent {
		return nil, false
	}
	digits, _ := new(big.Int).SetString(p.mantissa, 10) // only digits
	r := new(big.Rat).SetInt(digits)
	if p.exponent < 0 {
		r.Quo(r, power10(-p.exponent))
	} else {
		r.Mul(r, power10(p.exponent))
	}
	if magnitude == maxExponent && r.Cmp(new(big.Rat).Mul(big.NewRat(1797, 1), power10(maxExponent-3))) > 0 {
		return nil, false
	}
	if p.negative {
		r.Neg(r)
	}
	return r, true
}

// power10 returns 10 to the n, n >= 0.
func power10(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

// leadingDigits cuts the ASCII digits off the front of text.
func leadingDigits(text string) (digits, rest string) {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return text[:n], text[n:]
}

// isDigits reports whether text is one ASCII digit or more.
func isDigits(text string) bool {
	digits, rest := leadingDigits(text)
	return digits != "" && rest == ""
}

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// quote is %q of a text a person gave, cut so that an error stays one line of
// bearable length.
func quote(text string) string {
	if len(text) > maxNumberLen {
		return fmt.Sprintf("%q...", text[:maxNumberLen])
	}
	return strconv.Quote(text)
}

// Exact returns r as a reduced ratio without "/1" (loop.md R-OUT-3).
func Exact(r *big.Rat) string { return r.RatString() }

// Shortest returns the shortest decimal that reads back as r, or [Exact] where
// no decimal does. Values under 1e-6 and from 1e21 on have an exponent.
func Shortest(r *big.Rat) string {
	digits, exponent, ok := decimal(r)
	if !ok {
		return Exact(r)
	}
	sign := ""
	if r.Sign() < 0 {
		sign = "-"
	}
	point := len(digits) + exponent // digits before the decimal point
	switch {
	case digits == "":
		return "0"
	case point < -5 || point > 21:
		mantissa := digits[:1]
		if len(digits) > 1 {
			mantissa += "." + digits[1:]
		}
		return fmt.Sprintf("%s%se%d", sign, mantissa, point-1)
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits))
	}
	return sign + digits[:point] + "." + digits[point:]
}

// decimal returns the digits of abs(r) without leading or trailing zeros, and
// the power of ten of the last one; false if r is no finite decimal.
func decimal(r *big.Rat) (digits string, exponent int, ok bool) {
	den := r.Denom()
	twos := int(den.TrailingZeroBits())
	odd := new(big.Int).Rsh(den, uint(twos))
	fives, five, remainder := 0, big.NewInt(5), new(big.Int)
	for odd.BitLen() > 1 {
		if odd.QuoRem(odd, five, remainder); remainder.Sign() != 0 {
			return "", 0, false
		}
		fives++
	}
	places := max(twos, fives)
	scaled := new(big.Rat).Mul(r, power10(places))
	all := new(big.Int).Abs(scaled.Num()).String()
	digits = strings.TrimRight(all, "0")
	return digits, len(all) - len(digits) - places, true
}

// Number returns a reading as a JSON number: the shortest decimal that reads
// back the same (loop.md R-OUT-3), or, for a value that no decimal holds, the
// nearest double's.
func Number(r *big.Rat) json.Number {
	if _, _, ok := decimal(r); ok {
		return json.Number(Shortest(r))
	}
	f, _ := r.Float64()
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// Rounded returns r with at most that many digits after the point, half to
// even on the exact value, as a JSON number without trailing zeros and never
// as minus zero (loop.md R-OUT-3, R-OUT-4).
func Rounded(r *big.Rat, digits int) json.Number {
	text := fixed(round(r, digits), digits)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if r.Sign() < 0 && text != "0" {
		text = "-" + text
	}
	return json.Number(text)
}

// Fixed returns r with exactly that many digits after the point, half to even
// on the exact value, for text: zero has no minus, and a value that rounds to
// zero keeps its sign (loop.md R-OUT-4). With sign a plus is written too.
func Fixed(r *big.Rat, digits int, sign bool) string {
	text := fixed(round(r, digits), digits)
	switch {
	case r.Sign() < 0:
		return "-" + text
	case sign:
		return "+" + text
	}
	return text
}

// round returns abs(r) * 10^digits as a whole number, half to even.
func round(r *big.Rat, digits int) *big.Int {
	scaled := new(big.Rat).Mul(new(big.Rat).Abs(r), power10(digits))
	whole, rest := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	switch rest.Lsh(rest, 1).Cmp(scaled.Denom()) {
	case 1:
		whole.Add(whole, big.NewInt(1))
	case 0:
		whole.Add(whole, big.NewInt(int64(whole.Bit(0))))
	}
	return whole
}

// fixed writes n / 10^digits.
func fixed(n *big.Int, digits int) string {
	if digits == 0 {
		return n.String()
	}
	text := n.String()
	if len(text) <= digits {
		text = strings.Repeat("0", digits+1-len(text)) + text
	}
	return text[:len(text)-digits] + "." + text[len(text)-digits:]
}
