package tune

import (
	"math/big"
	"strings"

	"forge/loop/verdict"
)

// parameter is a number that is searched, and where its search stands
// (R-TUNE-4).
type parameter struct {
	literal   literal
	grid      grid
	low, high *big.Rat // bounds, on the grid; nil for none

	current   *big.Rat
	firstStep *big.Rat
	step      *big.Rat
	direction int             // 1 or -1: tried first
	failed    map[int]bool    // directions that failed at current with this step
	seen      map[string]bool // values that are not tried again, as exact texts
	tries     int
	keptAt    int // number of the experiment if the last try was kept, else 0

	move          *big.Rat // the next value, nil if exhausted
	moveDirection int
}

// attempt is a hypothesis of R-TUNE-7 read back.
type attempt struct {
	name     string // path:line, or path:line#n
	from, to string
	old, new *big.Rat
}

// parseHypothesis reads "set NAME from OLD to NEW", or reports that it has
// another form.
func parseHypothesis(text string) (attempt, bool) {
	rest, ok := strings.CutPrefix(text, "set ")
	if !ok {
		return attempt{}, false
	}
	var a attempt
	if rest, a.to, ok = cutLast(rest, " to "); !ok {
		return attempt{}, false
	}
	if a.name, a.from, ok = cutLast(rest, " from "); !ok {
		return attempt{}, false
	}
	var err error
	if a.old, err = verdict.ParseNumber(a.from); err != nil {
		return attempt{}, false
	}
	a.new, err = verdict.ParseNumber(a.to)
	return a, err == nil
}

// cutLast splits text at the last separator.
func cutLast(text, separator string) (before, after string, ok bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return "", "", false
	}
	return text[:at], text[at+len(separator):], true
}

// replay returns the parameters of the literals, in order, after everything
// that was tried.
//
// The files hold the values of the run tip, so a number that was tried starts
// from the OLD of its first hypothesis. Where the history does not lead to the
// value that the file holds, somebody else changed it: the search of that
// number begins anew from there.
func replay(literals []literal, tried []Tried) []*parameter {
	parameters := make([]*parameter, len(literals))
	byName := make(map[string]*parameter, len(literals))
	for i, l := range literals {
		parameters[i] = &parameter{literal: l}
		byName[l.name()] = parameters[i]
	}
	attempts := make([]attempt, len(tried))
	for i, t := range tried {
		a, ok := parseHypothesis(t.Hypothesis)
		p := byName[a.name]
		if !ok || p == nil {
			continue
		}
		attempts[i] = a
		if p.current == nil {
			p.begin(a.from, a.old)
		}
	}
	for _, p := range parameters {
		if p.current == nil {
			p.begin(p.literal.text, p.literal.value)
		}
	}
	for i, a := range attempts {
		p := byName[a.name]
		if p == nil {
			continue
		}
		kept := tried[i].Decision == string(verdict.Keep)
		p.apply(a, kept)
		if !kept {
			continue
		}
		p.keptAt = i + 1
		for _, other := range parameters {
			if other != p && other.move == nil {
				other.reopen()
			}
		}
	}
	for _, p := range parameters {
		if p.current.Cmp(p.literal.value) != 0 {
			p.begin(p.literal.text, p.literal.value)
		}
	}
	return parameters
}

// begin starts the search at a value as it is written. What counts tries is
// left alone.
func (p *parameter) begin(text string, value *big.Rat) {
	o := p.literal.options
	p.grid = newGrid(text, o.stepText)
	p.low, p.high = nil, nil
	if o.min != nil {
		p.low = p.grid.ceiling(o.min)
	}
	if o.max != nil {
		p.high = p.grid.floor(o.max)
	}
	if !p.literal.signable && (p.low == nil || p.low.Sign() < 0) {
		p.low = new(big.Rat) // a minus written there would not be read as one
	}
	p.current = value
	p.firstStep = p.grid.startStep(value, o)
	p.step, p.direction = p.firstStep, 1
	p.failed = map[int]bool{}
	p.seen = map[string]bool{value.RatString(): true}
	p.keptAt = 0
	p.settle()
}

// apply takes one try into account (R-TUNE-4).
func (p *parameter) apply(a attempt, kept bool) {
	if a.old.Cmp(p.current) != 0 {
		p.begin(a.from, a.old)
	}
	direction := p.moveDirection
	if p.move == nil || p.move.Cmp(a.new) != 0 { // not a move of this search
		change := new(big.Rat).Sub(a.new, a.old)
		direction = max(-1, min(change.Sign(), 1))
		if kept {
			p.step = larger(p.grid.nearest(change.Abs(change)), p.grid.unit)
		}
	}
	p.tries++
	p.keptAt = 0
	p.seen[a.new.RatString()] = true
	if kept {
		p.current = a.new
		p.step = new(big.Rat).Add(p.step, p.step)
		p.failed = map[int]bool{}
		if direction != 0 {
			p.direction = direction
		}
	} else {
		p.failed[direction] = true
	}
	p.settle()
}

// reopen gives an exhausted parameter another chance after another one was
// kept, with a quarter of its first step.
func (p *parameter) reopen() {
	quarter := new(big.Rat).Quo(p.firstStep, big.NewRat(4, 1))
	p.step = larger(p.grid.towardsZero(quarter), p.grid.unit)
	p.failed = map[int]bool{}
	p.seen = map[string]bool{p.current.RatString(): true}
	p.settle()
}

// settle finds the next move (R-TUNE-5): current plus or minus the step, in
// the direction of the parameter, else in the other. A value that was seen is
// passed over as failed; once both directions failed the step is halved, and
// below the unit the parameter is exhausted.
func (p *parameter) settle() {
	p.move, p.moveDirection = nil, 0
	for p.step.Cmp(p.grid.unit) >= 0 {
		for _, direction := range []int{p.direction, -p.direction} {
			if p.failed[direction] {
				continue
			}
			if value := p.at(direction); value != nil && !p.seen[value.RatString()] {
				p.move, p.moveDirection = value, direction
				return
			}
			p.failed[direction] = true
		}
		p.step = p.grid.towardsZero(new(big.Rat).Quo(p.step, big.NewRat(2, 1)))
		p.failed = map[int]bool{}
	}
}

// at returns the value one step away, clipped to the bounds; nil if it could
// not be read back as a number.
func (p *parameter) at(direction int) *big.Rat {
	value := new(big.Rat).SetInt64(int64(direction))
	value.Mul(value, p.step)
	value = p.grid.nearest(value.Add(value, p.current))
	if p.low != nil && value.Cmp(p.low) < 0 {
		value = p.low
	}
	if p.high != nil && value.Cmp(p.high) > 0 {
		value = p.high
	}
	if p.low != nil && value.Cmp(p.low) < 0 { // no value of the grid lies between the bounds
		return nil
	}
	if _, err := verdict.ParseNumber(p.grid.format(value)); err != nil {
		return nil
	}
	return value
}
