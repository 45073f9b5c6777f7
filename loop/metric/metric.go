// Package metric turns the output of a metric command into one exact number,
// and repeated numbers into a noise floor.
//
// [Read] finds the number: the line "METRIC name=number", or, in an output
// without any such line, the only number or the last one. [Probe] runs the
// command first. [NoiseFloor] takes repeated readings of one unchanged state;
// their median is the baseline of generic mode. [Compare] and [Request] are
// the document of `forge loop metric`.
//
// What cannot be read is an error that names the reason and never a number:
// no value is guessed, and a failed command gives none, whatever it printed.
//
// Source: seed 001, the metric and noise-floor rows of the command reference;
// loop.md sections 3 and 7; statistics.md section 10; DECISIONS M3 and M4.
package metric

import (
	"errors"
	"fmt"
	"math/big"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// Source says where in the output a number was found (loop.md R-METRIC-6).
type Source string

// The sources.
const (
	FromMarker Source = "marker"
	OnlyNumber Source = "only_number"
	LastNumber Source = "last_number"
)

// Warnings of a reading (loop.md R-METRIC-4, R-METRIC-5).
const (
	SeveralNames       = "several_names"        // markers of several names, none asked for: the last one counts
	UnmarkedLastNumber = "unmarked_last_number" // several numbers and no marker
)

// Reading is one number found in an output.
type Reading struct {
	Value    *big.Rat
	Name     string // of the marker; "" without one
	Source   Source
	Warnings []string // codes; never nil
}

// Why an output has no number; the errors of [Read] wrap one of them.
var (
	ErrGrammar  = errors.New("a line starts like a METRIC line and is not one")
	ErrValues   = errors.New("one name has several values")
	ErrNoNumber = errors.New("no readable number")
)

// unreadable is a failure of Read: one line, and the class it belongs to.
func unreadable(class error, hint, format string, args ...any) error {
	return &fault.Error{Kind: fault.Failed, Msg: fmt.Sprintf(format, args...), Hint: hint, Err: class}
}

// Read finds the number in a command's output (loop.md R-METRIC-1 to
// R-METRIC-5). With a name only the marker of that name counts; with "" the
// last marker does, or in an output without markers a plain number.
//
// A line that starts like a marker and is not one, and two values for one
// name, are errors wherever they stand and whatever name was asked for. Every
// error is a failed fault of one line that wraps [ErrGrammar], [ErrValues] or
// [ErrNoNumber]. Read takes time linear in the output, which may hold any
// bytes.
func Read(output []byte, name string) (Reading, error) {
	output = stripEscapes(output)
	markers, err := readMarkers(output)
	if err != nil {
		return Reading{}, err
	}
	if name != "" {
		value, ok := markers.values[name]
		if !ok {
			return Reading{}, unreadable(ErrNoNumber, "print METRIC "+name+"=NUMBER on a line of its own", "no METRIC line of the name %q", cut(name))
		}
		return Reading{Value: value, Name: name, Source: FromMarker, Warnings: []string{}}, nil
	}
	if len(markers.values) == 0 {
		return readPlain(output)
	}
	r := Reading{Value: markers.values[markers.last], Name: markers.last, Source: FromMarker, Warnings: []string{}}
	if len(markers.values) > 1 {
		r.Warnings = append(r.Warnings, SeveralNames)
	}
	return r, nil
}

// Comparison is a reading beside a baseline: the document of `forge loop
// metric` (loop.md R-METRIC-6). It is no verdict.
type Comparison struct {
	Reading          Reading
	Baseline         *big.Rat
	RawDelta         *big.Rat // current - baseline, not oriented
	NormalizedDelta  *big.Rat // positive is better; a fraction of abs(baseline) unless RelativeFallback
	RelativeFallback bool     // abs(baseline) < 1e-9
	ImprovedRaw      bool     // the oriented delta is above 0
	Direction        verdict.Direction
}

// Compare holds a reading against a baseline, exactly.
func Compare(r Reading, baseline *big.Rat, d verdict.Direction) Comparison {
	c := Comparison{Reading: r, Baseline: baseline, Direction: d, RawDelta: new(big.Rat).Sub(r.Value, baseline)}
	c.NormalizedDelta = new(big.Rat).Set(c.RawDelta)
	if d == verdict.LowerIsBetter {
		c.NormalizedDelta.Neg(c.NormalizedDelta)
	}
	c.ImprovedRaw = c.NormalizedDelta.Sign() > 0
	c.NormalizedDelta, c.RelativeFallback = perUnit(c.NormalizedDelta, baseline)
	return c
}

// perUnit divides x by abs(unit), or leaves it and says so where the unit is
// under 1e-9 (DECISIONS V8).
func perUnit(x, unit *big.Rat) (quotient *big.Rat, fallback bool) {
	size := new(big.Rat).Abs(unit)
	if size.Cmp(big.NewRat(1, 1_000_000_000)) < 0 {
		return x, true
	}
	return new(big.Rat).Quo(x, size), false
}

// Request is a call of `forge loop metric` as texts. Empty means not given.
type Request struct {
	Baseline  string // required: a decimal or a count
	Direction string // "": higher is better
	Name      string // "": any marker, or a plain number

	// The command checks the invariants itself, between Check and Compare;
	// they are named here because one of them needs the other.
	InvariantsBefore, InvariantCommand string
}

// Check refuses a call that could not be answered whatever the output is. Its
// errors are usage faults.
func (q Request) Check() error {
	_, _, err := q.parse()
	return err
}

// Compare reads the output and holds it against the baseline.
func (q Request) Compare(output []byte) (Comparison, error) {
	baseline, direction, err := q.parse()
	if err != nil {
		return Comparison{}, err
	}
	r, err := Read(output, q.Name)
	if err != nil {
		return Comparison{}, err
	}
	return Compare(r, baseline, direction), nil
}

// parse reads the texts.
func (q Request) parse() (*big.Rat, verdict.Direction, error) {
	if q.InvariantCommand != "" && q.InvariantsBefore == "" {
		return nil, "", fault.New(fault.Usage, "name the file of forge loop invariants-snapshot with --invariants-before",
			"an invariant command needs the state before")
	}
	if q.Baseline == "" {
		return nil, "", fault.New(fault.Usage, "--baseline VALUE, a decimal or a count P/T", "no baseline given")
	}
	if q.Name != "" && !isName(q.Name) {
		return nil, "", fault.New(fault.Usage, "letters, digits, _ . and -", "%q is not a metric name", cut(q.Name))
	}
	baseline, err := verdict.ParseScore(q.Baseline)
	if err != nil {
		return nil, "", fault.New(fault.Usage, fault.HintOf(err), "baseline: %w", err)
	}
	if q.Direction == "" {
		return baseline.Value(), verdict.HigherIsBetter, nil
	}
	direction, err := verdict.ParseDirection(q.Direction)
	return baseline.Value(), direction, err
}
