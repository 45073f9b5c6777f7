package sample

import "forge/gitstore/fault"

// The two touches of a run. `forge eval` and `forge ci` write their own.
const (
	TouchBaseline = "baseline"
	TouchFinal    = "final"
)

// Touch is one measurement of a test split, however many runs it took.
type Touch struct {
	Run  string // the run, or the id of the event that recorded it
	Name string // baseline, final, or what measured it
	Set  string // SHA-256 of the test set
}

// touchedOften is the number of touches from which a test set is worn
// (DECISIONS M7).
const touchedOften = 6

// CountTouches counts how often a test set was looked at, over everything that
// is found in branches, tips and events: the same touch found twice counts
// once, another set does not count. often is true from six on.
//
// Source: statistics.md R-STAT-18; DECISIONS M7.
func CountTouches(set string, found []Touch) (count int, often bool) {
	distinct := map[Touch]bool{}
	for _, t := range found {
		if t.Set == set {
			distinct[t] = true
		}
	}
	return len(distinct), len(distinct) >= touchedOften
}

// AllowTouch refuses a touch that a run has had already, one that is neither
// baseline nor final, and with them any third one: the test split of a run is
// looked at exactly twice, also after a resume and whatever is forced. done
// may hold touches of other runs.
//
// Source: statistics.md R-STAT-18; DECISIONS M7.
func AllowTouch(run, name string, done []Touch) error {
	if name != TouchBaseline && name != TouchFinal {
		return fault.New(fault.Refused, "", "%q is no touch of the test split: a run has one at its baseline and one at its end", name)
	}
	for _, t := range done {
		if t.Run == run && t.Name == name {
			return fault.New(fault.Refused, "the number is in the report of the run", "run %s has measured the test split for %s already", run, name)
		}
	}
	return nil
}
