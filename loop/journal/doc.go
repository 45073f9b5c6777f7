// Package journal is what a run commits about itself: the frozen
// configuration, one record per experiment, and the three logs that are kept
// in segments of a hundred lines.
//
// It turns values into files and files into values; it commits nothing. A
// [Journal] is the state of a run at one tip, and [Journal.Add] answers with
// the edits that the next verdict's commit carries, so that a commit writes as
// many bytes at the ten-thousandth experiment as at the tenth.
//
// Every path, field and unit is fixed in gitstore/FORMAT.md.
//
// Source: loop.md section 12; ARCHITECTURE section 2; DECISIONS K13.
package journal

import (
	"fmt"
	"path"
)

// Dir is the folder of a run in the repository.
func Dir(run string) string { return path.Join(".forge", "runs", run) }

// ConfigPath is where the frozen configuration stands.
func ConfigPath(run string) string { return path.Join(Dir(run), "config.json") }

// ReportPath is where the morning report stands after the run's end.
func ReportPath(run string) string { return path.Join(Dir(run), "report.md") }

// RecordPath is where experiment n (from 1) is recorded, in folders of a
// hundred (R-SEG-2).
func RecordPath(run string, n int, experiment string) string {
	return path.Join(Dir(run), "experiments", fmt.Sprintf("%02d", n/100), experiment, "record.json")
}
