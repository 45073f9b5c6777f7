// Package fault is the error that knows what its reader can do about it.
//
// A fault carries a kind, which is also forge's exit code, and a hint, one
// line that says what to type. Raise one only where both are known; wrap with
// fmt.Errorf and %w everywhere else: kind and hint survive wrapping.
//
// Source: DECISIONS H1 and H11; STYLE section 3, snippet 4.
package fault

import (
	"errors"
	"fmt"
)

// Kind sorts failures by what the caller can do about them. Its value is the
// exit code, so an existing kind never changes its number.
type Kind int

// The kinds, DECISIONS H1.
const (
	Failed   Kind = 1 // nothing the caller typed explains it, or the answer is no
	Usage    Kind = 2 // flags, arguments, configuration or input are wrong
	Refused  Kind = 3 // a guard said no; the repository is unchanged
	Conflict Kind = 4 // the repository moved meanwhile; running again may work
	Nothing  Kind = 5 // everything was in order and nothing was written

	Crash       Kind = 70  // forge itself crashed; made only by the recovery at the top
	Interrupted Kind = 130 // a signal cancelled the root context; made only by report
)

// String is the kind's word in JSON errors (loop.md R-OUT-2).
func (k Kind) String() string {
	switch k {
	case Failed:
		return "failed"
	case Usage:
		return "usage"
	case Refused:
		return "refused"
	case Conflict:
		return "conflict"
	case Nothing:
		return "nothing"
	case Crash:
		return "crash"
	case Interrupted:
		return "interrupted"
	}
	return fmt.Sprintf("kind(%d)", int(k))
}

// Error is a failure with a kind and a hint. Msg is lower case without a full
// stop; Hint is a command or a short imperative, or empty. Err, if set, is the
// cause: errors.Is sees it, the message does not repeat it.
type Error struct {
	Kind Kind
	Msg  string
	Hint string
	Err  error
}

// Error returns the message without the hint.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error of that kind with a hint ("" for none) and a formatted
// message. A %w verb keeps its operand as the cause.
func New(kind Kind, hint, format string, args ...any) error {
	formatted := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Msg: formatted.Error(), Hint: hint, Err: errors.Unwrap(formatted)}
}

// KindOf returns the kind of the outermost fault in err's chain, Failed if
// there is none, and 0 for nil.
func KindOf(err error) Kind {
	if err == nil {
		return 0
	}
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Failed
}

// HintOf returns the first hint found on the way from err to its cause, or "".
func HintOf(err error) string {
	for err != nil {
		f, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if f.Hint != "" {
			return f.Hint
		}
		err = f.Err
	}
	return ""
}
