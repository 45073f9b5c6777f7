package forgecmd

import (
	"testing"

	"forge/gitstore/fault"
	"forge/loop/attack"
)

// R-ATT-3: exit 3 names what got through; --strict counts what is not
// contained.
func TestAttackedVerdict(t *testing.T) {
	through := attack.Result{ID: "A12", Name: "same-tree", Outcome: attack.GotThrough}
	open := attack.Result{ID: "A34", Name: "write-outside", Outcome: attack.NotContained}
	stopped := attack.Result{ID: "A01", Name: "climbing-path", Outcome: attack.Refused}
	tests := map[string]struct {
		strict  bool
		results []attack.Result
		want    string // the message, "" for exit 0
	}{
		"all refused":           {results: []attack.Result{stopped}},
		"one got through":       {results: []attack.Result{stopped, through}, want: "1 mutant got through: A12 same-tree"},
		"not contained":         {results: []attack.Result{stopped, open}},
		"not contained, strict": {strict: true, results: []attack.Result{open, through}, want: "2 mutants got through: A34 write-outside, A12 same-tree"},
		"all refused, strict":   {strict: true, results: []attack.Result{stopped}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := attacked{Strict: tt.strict}
			a.add(attackedTarget{Mutants: tt.results})
			a.add(attackedTarget{Mutants: tt.results}) // a second target names none twice
			err := a.verdict(false)
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || err.Error() != tt.want || fault.KindOf(err) != fault.Refused {
				t.Errorf("verdict() = %v (%v), want %q and exit 3", err, fault.KindOf(err), tt.want)
			}
		})
	}
}
