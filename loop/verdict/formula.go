package verdict

import (
	"fmt"
	"math/big"
	"strings"
)

// formula states in one line what was computed (loop.md R-DEC-3, DECISIONS
// V9): the subtraction, the sign flip and the division, the three inputs of
// the threshold, the comparison that decided, and the outcome.
func (v *Verdict) formula(candidate, baseline Score, within tolerance) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = ", v.subtraction(candidate, baseline))
	if candidate.counted() && baseline.counted() {
		fmt.Fprintf(&b, "%s = ", Exact(v.Delta))
	}
	fmt.Fprintf(&b, "%s; threshold max(improvement %s, noise_floor %s, resolution %s) = %s [%s]; %s -> %s",
		Fixed(v.Delta, 4, true), barText(v.Improvement), barText(v.NoiseFloor), barText(v.Resolution),
		barText(v.Threshold), v.Binding, v.comparison(within), v.Decision)
	if v.NearMiss {
		b.WriteString(" (near_miss)")
	}
	if v.RelativeFallback {
		b.WriteString(" (relative fallback)")
	}
	return b.String()
}

// subtraction writes how the delta came about.
func (v *Verdict) subtraction(candidate, baseline Score) string {
	base := baseline.String()
	if baseline.value.Sign() < 0 {
		base = "(" + base + ")"
	}
	text := candidate.String() + " - " + base
	divided := v.Relative && !v.RelativeFallback
	switch {
	case v.Direction == LowerIsBetter:
		text = "-(" + text + ")"
	case divided:
		text = "(" + text + ")"
	}
	if divided {
		text += " / abs(" + baseline.String() + ")"
	}
	return text
}

// comparison writes the comparison that decided, with its real operator.
func (v *Verdict) comparison(within tolerance) string {
	zero := new(big.Rat)
	floor := new(big.Rat).Neg(v.Regression)
	switch {
	case v.Decision == Keep && v.strictThreshold():
		return v.compare(">", v.Threshold)
	case v.Decision == Keep:
		return v.compare(">=", v.Threshold)
	case v.Decision == Revert && (v.Boundary == Strict || v.Regression.Sign() == 0):
		return v.compare("<", floor)
	case v.Decision == Revert:
		return v.compare("<=", floor)
	case within.above(v.Delta, zero):
		b := v.deciding(within)
		if b.boundary == Strict {
			return v.compare("<=", b.value)
		}
		return v.compare("<", b.value)
	case within.above(zero, v.Delta) && v.Boundary == Strict:
		return v.compare(">=", floor)
	case within.above(zero, v.Delta):
		return v.compare(">", floor)
	}
	return v.compare("=", zero)
}

// strictThreshold reports whether a KEEP had to be above the threshold, not
// only on it: at a strict boundary, where the noise floor is the threshold,
// and where the threshold is 0.
func (v *Verdict) strictThreshold() bool {
	return v.Boundary == Strict || v.Threshold.Sign() == 0 || v.NoiseFloor.Cmp(v.Threshold) == 0
}

// deciding returns the bar that a gain missed, the binding one if it is among
// those missed.
func (v *Verdict) deciding(within tolerance) bar {
	missed := v.missed(within)
	for _, b := range missed {
		if b.name == v.Binding {
			return b
		}
	}
	return missed[0]
}

// compare writes "delta op bound" with numbers for which that is true: the
// delta with four digits where it can, else in full. What holds only because
// of the epsilon says so.
func (v *Verdict) compare(op string, bound *big.Rat) string {
	limit := barText(bound)
	if _, _, finite := decimal(bound); finite {
		rounded, _ := new(big.Rat).SetString(Fixed(v.Delta, 4, false))
		if holds(rounded, op, bound) {
			return Fixed(v.Delta, 4, true) + " " + op + " " + limit
		}
	}
	text := Shortest(v.Delta) + " " + op + " " + limit
	if v.Delta.Sign() > 0 && !strings.Contains(limit, "/") {
		text = "+" + text
	}
	if !holds(v.Delta, op, bound) {
		text += " (within 1e-9)"
	}
	return text
}

// holds reports whether "x op y" is true, exactly.
func holds(x *big.Rat, op string, y *big.Rat) bool {
	c := x.Cmp(y)
	switch op {
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	}
	return c == 0
}

// barText writes a bar exactly: 0, four digits where these are exact, else the
// decimal or the ratio in full.
func barText(r *big.Rat) string {
	if r.Sign() == 0 {
		return "0"
	}
	if new(big.Rat).Mul(r, power10(4)).IsInt() {
		return Fixed(r, 4, false)
	}
	return Shortest(r)
}
