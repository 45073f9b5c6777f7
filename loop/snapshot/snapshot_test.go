package snapshot

import (
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// R-SNAP-1: what a version and its run may be called.
func TestRefOf(t *testing.T) {
	tests := map[string]struct {
		run, version string
		want         string // "" is a fault of kind Usage
	}{
		"custom":                {"manual", "pre-exp-001", "refs/forge/runs/manual/pre-exp-001"},
		"of a run":              {"r1-k3fq", "v1", "refs/forge/runs/r1-k3fq/v1"},
		"longest":               {"manual", strings.Repeat("a", 100), "refs/forge/runs/manual/" + strings.Repeat("a", 100)},
		"a digit":               {"manual", "1.2_3-4", "refs/forge/runs/manual/1.2_3-4"},
		"too long":              {"manual", strings.Repeat("a", 101), ""},
		"empty":                 {"manual", "", ""},
		"dot in front":          {"manual", ".a", ""},
		"two dots":              {"manual", "a..b", ""},
		"dot at the end":        {"manual", "a.", ""},
		"lock":                  {"manual", "a.lock", ""},
		"slash":                 {"manual", "a/b", ""},
		"capitals":              {"manual", "Pre", ""},
		"candidate":             {"manual", "exp-001", ""},
		"like one":              {"manual", "exp-a", "refs/forge/runs/manual/exp-a"},
		"tip":                   {"r1", "tip", ""},
		"landing":               {"r1", "landing", ""},
		"malformed run":         {"R1", "v1", ""},
		"run of a pull request": {"r1-land", "v1", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := refOf(tt.run, tt.version)
			if got != tt.want || (err != nil) != (tt.want == "") || err != nil && fault.KindOf(err) != fault.Usage {
				t.Errorf("refOf(%q, %q) = %q, %v, want %q", tt.run, tt.version, got, err, tt.want)
			}
		})
	}
}
