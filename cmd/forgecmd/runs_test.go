package forgecmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
)

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "0d": 0, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute,
	} {
		if got, err := parseAge(text); err != nil || got != want {
			t.Errorf("parseAge(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "30", "-1h", "-3d", "1.5d", "99999999d", "soon"} {
		if got, err := parseAge(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("parseAge(%q) = %s, %v, want a fault of kind usage", text, got, err)
		}
	}
}

// R-TIDY-2: a person is asked on a terminal, and only a yes is a yes; where
// nobody can answer it is a usage error.
func TestConfirm(t *testing.T) {
	tests := map[string]struct {
		env    Env
		answer string
		want   fault.Kind
	}{
		"yes":            {Env{Terminal: true}, "y\n", 0},
		"a long yes":     {Env{Terminal: true}, "YES\n", 0},
		"no":             {Env{Terminal: true}, "n\n", fault.Failed},
		"only enter":     {Env{Terminal: true}, "\n", fault.Failed},
		"end of input":   {Env{Terminal: true}, "", fault.Failed},
		"off a terminal": {Env{}, "y\n", fault.Usage},
		"JSON":           {Env{Terminal: true, JSON: true}, "y\n", fault.Usage},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			tt.env.Stdin, tt.env.Stdout = strings.NewReader(tt.answer), &out
			err := tt.env.confirm("Remove this?", "nothing was removed")
			if tt.want == 0 && err != nil || tt.want != 0 && fault.KindOf(err) != tt.want {
				t.Errorf("confirm after %q: %v, want kind %v", tt.answer, err, tt.want)
			}
			if asked := out.String() == "Remove this? [y/N] "; asked != (tt.want != fault.Usage) {
				t.Errorf("confirm printed %q", out.String())
			}
		})
	}
}
