package forgecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"forge/gitstore/fault"
)

// printFailure prints err the way every command does and returns the exit code.
// Only the root context knows whether a signal came: a cancelled context
// further down is an ordinary error. A command that can be resumed returns
// its error with the hint that says how; the hint survives the interrupt.
//
// Source: DECISIONS H1, H11, H12; loop.md R-OUT-2.
func printFailure(ctx context.Context, env *Env, err error) int {
	if err == nil {
		return 0
	}
	kind, hint := fault.KindOf(err), fault.HintOf(err)
	if sig, ok := errors.AsType[interrupted](context.Cause(ctx)); ok {
		kind, err = fault.Interrupted, sig
	}
	if answered, ok := errors.AsType[negative](err); ok {
		return int(answered.kind)
	}
	if env.JSON {
		writeErrorJSON(env.Stderr, kind, err.Error(), hint)
		return int(kind)
	}
	fmt.Fprintf(env.Stderr, "forge: error: %v\n", err)
	if hint != "" {
		fmt.Fprintf(env.Stderr, "forge: hint: %s\n", hint)
	}
	return int(kind)
}

// writeErrorJSON prints {"error":{"kind","message","hint"}} on one line.
func writeErrorJSON(w io.Writer, kind fault.Kind, message, hint string) {
	type body struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	}
	writeLine(w, struct {
		Error body `json:"error"`
	}{body{kind.String(), message, hint}})
}

// negative is the error of a command whose answer is already on stdout and
// whose exit code is not 0 (loop.md R-OUT-2). report prints nothing for it.
type negative struct{ kind fault.Kind }

// Error is never printed.
func (n negative) Error() string { return "the answer is on standard output" }

// printAnswer prints a document that is the answer itself whatever it says,
// and gives the exit code for one that says no (loop.md R-OUT-2).
func (env *Env) printAnswer(document any, ok bool, otherwise fault.Kind) error {
	if err := env.PrintJSON(document); err != nil || ok {
		return err
	}
	return negative{otherwise}
}

// Warn prints one warning on stderr, as a "forge: warning:" line or, with
// --json, as {"warning":{"message"}} on one line. --quiet silences it.
func (env *Env) Warn(format string, args ...any) {
	if env.Quiet {
		return
	}
	message := fmt.Sprintf(format, args...)
	if !env.JSON {
		fmt.Fprintf(env.Stderr, "forge: warning: %s\n", message)
		return
	}
	type body struct {
		Message string `json:"message"`
	}
	writeLine(env.Stderr, struct {
		Warning body `json:"warning"`
	}{body{message}})
}

// PrintJSON prints value as one document on stdout: two-space indent, text
// unescaped, a final newline (loop.md R-OUT-1).
func (env *Env) PrintJSON(value any) error {
	encoder := json.NewEncoder(env.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return nil
}

// writeLine prints value as one line of JSON, text unescaped. The values it
// is given always encode.
func writeLine(w io.Writer, value any) {
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err == nil {
		io.WriteString(w, line.String())
	}
}
