package history

import (
	"encoding/json"
	"testing"

	"forge/gitstore/fault"
)

// R-CKPT-2: a file is stale where it says otherwise; what it lacks, and how it
// names versions, is not compared.
func TestDiffers(t *testing.T) {
	last, index, baseline := "exp-003", 3, json.Number("0.5")
	c := Checkpoint{LastCompleted: &last, Index: &index, Baseline: &baseline, Coverage: json.RawMessage("{}")}
	tests := map[string]string{
		`{}`: "",
		`{"last_completed_experiment":"exp-003","experiment_index":3.0,"current_baseline_score":0.50,"best_version":"v2","timestamp":"t"}`: "",
		`{"last_completed_experiment":"exp-002"}`: "differs in last_completed_experiment",
		`{"experiment_index":4}`:                  "differs in experiment_index",
		`{"current_baseline_score":"0.5"}`:        "differs in current_baseline_score",
		`{"applied_but_undecided":true}`:          "differs in applied_but_undecided",
		`{"last_completed_experiment":`:           "is malformed",
	}
	for file, want := range tests {
		if got, err := c.Differs(part("f", file)); err != nil || got != want {
			t.Errorf("Differs(%s) = %q, %v, want %q", file, got, err, want)
		}
	}
}

// R-CKPT-2: missing fields are filled in, unknown ones stay, a newer version
// is refused by name.
func TestReadCheckpoint(t *testing.T) {
	o, err := ReadCheckpoint(part("f", `{"mine":1.50,"experiment_index":7}`))
	if err != nil || string(o.Get("mine")) != "1.50" || string(o.Get("experiment_index")) != "7" || string(o.Get("coverage_snapshot")) != "{}" || len(o.Keys()) != 13 {
		t.Errorf("ReadCheckpoint = %v, %v", o.Keys(), err)
	}
	for _, file := range []string{`{"schema_version":3}`, `{"schema_version":"two"}`, `[]`, ``} {
		if _, err := ReadCheckpoint(part("f", file)); fault.KindOf(err) != fault.Usage {
			t.Errorf("ReadCheckpoint(%s) = %v, want a usage fault", file, err)
		}
	}
}
