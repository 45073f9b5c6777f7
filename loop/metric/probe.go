package metric

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"forge/gitstore/process"
)

// Why a measurement gives no number, the Kind of a [Failure].
const (
	ExitStatus    = "exit_status"    // a non-zero exit, or an end by a signal
	Deadline      = "deadline"       // Probe.Timeout passed
	OutputBound   = "output_bound"   // more than Probe.OutputLimit
	MetricGrammar = "metric_grammar" // a line that starts like a marker and is not one
	MetricValues  = "metric_values"  // two values of one name
	NoNumber      = "no_number"      // nothing readable, or not the name asked for
	Start         = "start"          // the command could not be started
)

// Failure is a measurement that gave no number. Result is what the command
// did, the zero Result if it did not start.
type Failure struct {
	Kind    string
	Message string // one line
	Result  process.Result
	Err     error // the cause, or nil
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the cause: for the kinds of [Read] its fault, with the hint.
func (f *Failure) Unwrap() error { return f.Err }

// Probe is a metric command and how to read it.
type Probe struct {
	Command     []string      // required: program and arguments
	Name        string        // the marker to read; "" for any
	Timeout     time.Duration // 0: none
	OutputLimit int64         // bytes of standard output; 0: the default of process

	// Run starts the command, usually Runner.Run of process. Required.
	Run func(ctx context.Context, c process.Command) (process.Result, error)
}

// Place is where a command runs: a directory and the whole environment.
type Place struct {
	Dir string
	Env []string
}

// Measurement is one reading and what the command did. Result.LeftBehind
// tells how many processes it left, which were ended; the reading counts all
// the same.
type Measurement struct {
	Reading Reading
	Result  process.Result
}

// Measure runs the command once and reads its number. Only standard output is
// read. A command that exits non-zero, is ended by a signal, runs past its
// deadline or prints beyond the bound gives no number, whatever it printed
// (loop.md R-METRIC-7).
//
// The error is a [*Failure] if the measurement failed. If ctx was cancelled
// it is none, because an interrupted command says nothing about its metric.
func (p Probe) Measure(ctx context.Context, at Place) (Measurement, error) {
	result, err := p.Run(ctx, process.Command{
		Argv: p.Command, Dir: at.Dir, Env: at.Env, Timeout: p.Timeout, OutputLimit: p.OutputLimit,
	})
	if err != nil {
		if ctx.Err() != nil {
			return Measurement{}, fmt.Errorf("run metric command: %w", err)
		}
		return Measurement{}, &Failure{Kind: Start, Message: fmt.Sprintf("metric command could not be started: %v", err), Result: result, Err: err}
	}
	if f := p.ended(result); f != nil {
		return Measurement{}, f
	}
	reading, err := Read(result.Stdout, p.Name)
	if err != nil {
		return Measurement{}, &Failure{Kind: kindOf(err), Message: err.Error(), Result: result, Err: err}
	}
	return Measurement{Reading: reading, Result: result}, nil
}

// ended returns the failure of a command that did not end well, or nil.
func (p Probe) ended(r process.Result) *Failure {
	f := &Failure{Result: r, Kind: ExitStatus}
	switch {
	case r.TimedOut:
		f.Kind = Deadline
		f.Message = fmt.Sprintf("metric command ran longer than %s", p.Timeout)
	case r.OutputCut:
		f.Kind = OutputBound
		f.Message = fmt.Sprintf("metric command printed more than the %d bytes allowed", cmp.Or(p.OutputLimit, process.DefaultOutputLimit))
	case r.Signal != "":
		f.Message = fmt.Sprintf("metric command was ended by a signal (%s)%s", r.Signal, firstLine(r.Stderr))
	case r.ExitCode != 0:
		f.Message = fmt.Sprintf("metric command exited with status %d%s", r.ExitCode, firstLine(r.Stderr))
	default:
		return nil
	}
	return f
}

// kindOf sorts an error of Read.
func kindOf(err error) string {
	switch {
	case errors.Is(err, ErrGrammar):
		return MetricGrammar
	case errors.Is(err, ErrValues):
		return MetricValues
	}
	return NoNumber
}

// firstLine returns ": " and the first line of an error output that is not
// blank, without escapes and control characters and at most 200 code points
// long; "" if there is none.
func firstLine(output []byte) string {
	const most = 200
	output = stripEscapes(output)
	for len(output) > 0 {
		var line []byte
		line, output = nextLine(output)
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		text := []rune(strings.Map(printable, string(line)))
		if len(text) > most {
			return ": " + string(text[:most]) + "..."
		}
		return ": " + string(text)
	}
	return ""
}

// printable replaces what could disturb a terminal or a log line.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
