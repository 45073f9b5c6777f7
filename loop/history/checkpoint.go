package history

import (
	"encoding/json"

	"forge/gitstore/fault"
	"forge/loop/journal"
)

// CheckpointVersion is the schema_version of checkpoint.json.
const CheckpointVersion = 2

// Checkpoint says where a run stands (R-CKPT-1). Of a run it is derived from
// the branch; people who drive the loop by hand keep it in checkpoint.json.
type Checkpoint struct {
	LastCompleted       *string         `json:"last_completed_experiment"`
	Index               *int            `json:"experiment_index"`
	Baseline            *json.Number    `json:"current_baseline_score"`
	BestVersion         *string         `json:"best_version"`
	BestScore           *json.Number    `json:"best_score"`
	OnDiskVersion       *string         `json:"on_disk_version"`
	AppliedButUndecided bool            `json:"applied_but_undecided"`
	Coverage            json.RawMessage `json:"coverage_snapshot"` // a CoverageSummary, or {}
	NextCategory        *string         `json:"next_planned_category"`
	Timestamp           string          `json:"timestamp"`
	SchemaVersion       int             `json:"schema_version"`
	Resumable           bool            `json:"resumable"`
}

// ReadCheckpoint reads a checkpoint.json as it is, with what is missing filled
// in and what this forge does not know kept behind it (R-CKPT-2). A newer
// schema is refused by name.
func ReadCheckpoint(p journal.Part) (journal.Object, error) {
	var stored journal.Object
	if err := json.Unmarshal(p.Data, &stored); err != nil {
		return stored, malformed(p, err, "forge loop checkpoint-save writes it anew")
	}
	version := 1 // of seed 001, which wrote none
	if err := json.Unmarshal(stored.Get("schema_version"), &version); err != nil {
		return stored, fault.New(fault.Usage, "", "%s: schema_version is no number", p.Name)
	}
	if version > CheckpointVersion {
		return stored, fault.New(fault.Usage, "install a newer forge", "%s: schema_version %d is newer than this forge, which knows %d", p.Name, version, CheckpointVersion)
	}
	var filled journal.Object
	empty, err := json.Marshal(Checkpoint{Coverage: json.RawMessage("{}"), SchemaVersion: CheckpointVersion, Resumable: true})
	if err != nil {
		return stored, err
	}
	if err := json.Unmarshal(empty, &filled); err != nil {
		return stored, err
	}
	if err := filled.Set("timestamp", nil); err != nil {
		return stored, err
	}
	for _, key := range stored.Keys() {
		if err := filled.Set(key, stored.Get(key)); err != nil {
			return stored, err
		}
	}
	return filled, nil
}

// Differs says in which way a checkpoint.json says otherwise than the run it
// belongs to ("differs in experiment_index"), and "" if it does not. Members it
// lacks, versions and times are not compared: a file names versions as its
// writer did.
func (c Checkpoint) Differs(p journal.Part) (string, error) {
	var stored, derived journal.Object
	if err := json.Unmarshal(p.Data, &stored); err != nil {
		return "is malformed", nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(data, &derived); err != nil {
		return "", err
	}
	for _, key := range []string{"last_completed_experiment", "experiment_index", "current_baseline_score", "applied_but_undecided"} {
		mine, theirs := derived.Get(key), stored.Get(key)
		if string(theirs) == "null" || string(mine) == string(theirs) {
			continue
		}
		if a, b := derived.Number(key), stored.Number(key); a == nil || b == nil || a.Cmp(b) != 0 {
			return "differs in " + key, nil
		}
	}
	return "", nil
}
