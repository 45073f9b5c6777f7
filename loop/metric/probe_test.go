package metric

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// TestMeasure runs real commands.
func TestMeasure(t *testing.T) {
	tests := map[string]struct {
		script  string
		kind    string // "" if it gives the value 5
		message string // part of it
	}{
		"a number":              {"echo METRIC x=5; echo METRIC x=9 >&2", "", ""},
		"sees its place":        {`test "$A" = b && test -f here && echo 5`, "", ""},
		"leaves a child behind": {"(sleep 600) & echo METRIC x=5", "", ""}, // field case M13
		"exits":                 {"echo METRIC x=5; printf '\\n\\033[31mno such\\tfile\\033[0m\\nmore\\n' >&2; exit 3", ExitStatus, "status 3: no such file"},
		"exits silently":        {"exit 1", ExitStatus, "exited with status 1"},
		"ended by a signal":     {"echo METRIC x=5; kill -9 $$", ExitStatus, "signal (killed)"},
		"runs on":               {"echo METRIC x=5; exec sleep 600", Deadline, "longer than 2s"},
		"floods":                {"exec yes", OutputBound, "1000 bytes"},
		"almost a marker":       {"echo 'METRIC x: 5'", MetricGrammar, "line 1"},
		"two values":            {"echo METRIC x=5; echo METRIC x=6", MetricValues, "x is 6, and was 5"},
		"nothing":               {"true", NoNumber, "no number"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/here", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			p := Probe{Command: process.Shell(tt.script), Timeout: 2 * time.Second, OutputLimit: 1000, Run: process.Plain}
			m, err := p.Measure(context.Background(), Place{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "A=b"}})
			if tt.kind == "" {
				if err != nil || m.Reading.Value.RatString() != "5" {
					t.Fatalf("Measure = %+v, %v, want 5", m.Reading, err)
				}
				return
			}
			f, ok := errors.AsType[*Failure](err)
			if !ok || f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) || strings.Contains(f.Message, "\n") {
				t.Errorf("Measure = %v, want a failure %s with %q", err, tt.kind, tt.message)
			}
			if fault.KindOf(err) != fault.Failed {
				t.Errorf("Measure = %v of kind %s, want failed", err, fault.KindOf(err))
			}
		})
	}
}

// TestMeasureResult fakes what the command did.
func TestMeasureResult(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("interrupted by a test")
	cancel(reason)
	tests := map[string]struct {
		ctx    context.Context
		result process.Result
		err    error
		kind   string // of the failure; "" for an error that is none, or none at all
	}{
		"left behind": {context.Background(), process.Result{Stdout: []byte("5"), LeftBehind: 2}, nil, ""},
		"no start":    {context.Background(), process.Result{}, errors.New("no such program"), Start},
		"interrupted": {cancelled, process.Result{}, reason, ""},
		"deadline before signal": {
			context.Background(), process.Result{ExitCode: -1, Signal: "terminated", TimedOut: true, Stdout: []byte("5")}, nil, Deadline,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Probe{Command: []string{"metric"}, Run: func(context.Context, process.Command) (process.Result, error) { return tt.result, tt.err }}
			m, err := p.Measure(tt.ctx, Place{})
			f, isFailure := errors.AsType[*Failure](err)
			switch {
			case tt.kind != "" && (!isFailure || f.Kind != tt.kind):
				t.Errorf("Measure = %v, want a failure %s", err, tt.kind)
			case tt.kind == "" && isFailure:
				t.Errorf("Measure = failure %s", f.Kind)
			case tt.err != nil && !errors.Is(err, tt.err):
				t.Errorf("Measure = %v, which lost its cause", err)
			case err == nil && m.Result.LeftBehind != tt.result.LeftBehind:
				t.Errorf("Measure left %d behind, want %d", m.Result.LeftBehind, tt.result.LeftBehind)
			}
		})
	}
}
