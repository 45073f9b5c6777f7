package attack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"forge/gitstore"
	"forge/gitstore/process"
	"forge/loop"
	"forge/loop/journal"
	"forge/loop/runner"
)

func now() time.Time { return time.Unix(1_700_000_000, 0) }

// files are one commit with a program that has a metric, and a skill.
var files = map[string]string{
	"src/limits.conf": "speed = 10\nsize = 3\n",
	"bench/metric.sh": "echo METRIC score=5\n",
	"skills/sums/SKILL.md": "---\nname: sums\ndescription: Adds up the amounts of a list.\n---\n\n# Sums\n\n" +
		"Print one total per list and name its unit.\n",
	"skills/sums/evals/evals.json": `[
  {"query": "sum up the seven invoices I was sent in the month of March", "should_trigger": true},
  {"query": "what do the amounts in this long list of prices add up to", "should_trigger": true},
  {"query": "please total the hours that were worked by every member of the team", "should_trigger": true},
  {"query": "add the numbers in the second column of the table that I pasted", "should_trigger": true},
  {"query": "translate this short letter to my landlord into simple French words", "should_trigger": false},
  {"query": "write a poem about the river that runs behind our old house", "should_trigger": false},
  {"query": "which of the two trains to the north leaves earlier on a Sunday", "should_trigger": false},
  {"query": "explain in a few words how a heat pump warms a whole house", "should_trigger": false}
]
`,
}

// repository makes a repository of files with the git binary.
func repository(t *testing.T) (*gitstore.Repo, gitstore.Hash) {
	t.Helper()
	dir, vars := t.TempDir(), map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "TMPDIR": t.TempDir(), "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "base"}} {
		result, err := process.Plain(t.Context(), process.Command{
			Argv: append([]string{"git"}, args...), Dir: dir, Env: process.Environment(vars), Timeout: time.Minute,
		})
		if err != nil || !result.OK() {
			t.Fatalf("git %s: %v %s", args[0], err, result.Stderr)
		}
	}
	repo, err := gitstore.Open(t.Context(), dir, gitstore.Env{Vars: vars, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return repo, head.Commit
}

// frozen is a configuration of each mode.
func frozen(mode string) journal.Run {
	run := journal.Run{
		Target: "src/limits.conf",
		Metric: journal.Metric{Command: []string{"sh", "bench/metric.sh"}, TimeoutSeconds: 60, OutputLimitMiB: 16, Direction: "higher_is_better"},
		Guards: journal.Guards{
			ProtectedPaths: []string{"bench"}, MinScopeRatio: "0.9", MaxScopeFiles: 100,
			InvariantCommand: []string{"true"}, InvariantTimeoutSeconds: 60,
		},
	}
	if mode == loop.ModeSkill {
		run.Mode, run.Target, run.Metric = mode, "skills/sums", journal.Metric{Direction: "higher_is_better"}
		run.Guards = journal.Guards{MinScopeRatio: "0.9", MaxScopeFiles: 100, CharsPerToken: 3}
		run.Split = &journal.Split{Seed: "1", Ratio: "0.5/0.25/0.25", MinEvals: 1, MinForTest: 4, Force: true}
		run.Runner = []byte(`{"kind": "lexical", "lexical_threshold": "0.1"}`)
	}
	return run
}

func suite(t *testing.T, mode string) Suite {
	repo, commit := repository(t)
	return Suite{
		Repo: repo, Commit: commit, Setup: loop.Setup{Frozen: frozen(mode)},
		Drift: func() error { return errors.New("it is frozen") },
		Engine: func(scratch *gitstore.Repo) (*loop.Engine, func() error) {
			shelf := &runner.Shelf{Repo: scratch}
			child := []string{"PATH=" + os.Getenv("PATH")}
			local := &runner.Local{Shelf: shelf, Now: now, Repo: scratch, Execute: process.Plain, Child: child}
			return &loop.Engine{Repo: scratch, Now: now, Execute: process.Plain, Executor: local, Shelf: shelf, Child: child}, local.Close
		},
	}
}

// pick leaves the mutants of some ids; none are all that are no program which
// outlives its group: what Plain runs, nobody adopts.
func pick(ids ...string) []Mutant {
	return slices.DeleteFunc(Mutants(), func(m Mutant) bool {
		if len(ids) == 0 {
			return m.ID == "A36"
		}
		return !slices.Contains(ids, m.ID)
	})
}

func play(t *testing.T, s Suite, mutants []Mutant) []Result {
	t.Helper()
	var results []Result
	if err := s.Run(context.Background(), mutants, func(r Result) { results = append(results, r) }); err != nil {
		t.Fatal(err)
	}
	return results
}

// R-ATT-2: with all guards on, each mutant is stopped by the guard of its row.
func TestEachByItsOwn(t *testing.T) {
	for mode, refused := range map[string]int{loop.ModeGeneric: 23, loop.ModeSkill: 14} {
		t.Run(mode, func(t *testing.T) {
			count := 0
			for _, r := range play(t, suite(t, mode), pick()) {
				switch {
				case r.Outcome == Refused && r.StoppedBy == r.Guard:
					count++
				case r.Outcome == Refused || r.Outcome == GotThrough:
					t.Errorf("%s: %s", r.Line(), r.Detail)
				}
			}
			if count != refused {
				t.Errorf("%d mutants were stopped by their own guard, want %d", count, refused)
			}
		})
	}
}

// R-ATT-2: with its guard off, the first mutant of each guard gets through.
// That of scope_ratio cannot: a scope with too few files has lost too many of
// those of the start, with their bytes.
func TestGuardOff(t *testing.T) {
	tests := map[string]struct {
		mode, id  string
		stoppedBy string // "" for none
	}{
		"link":             {mode: loop.ModeGeneric, id: "A02"},
		"reserved":         {mode: loop.ModeGeneric, id: "A03"},
		"scope":            {mode: loop.ModeGeneric, id: "A05"},
		"protected":        {mode: loop.ModeGeneric, id: "A06"},
		"regions":          {mode: loop.ModeSkill, id: "A09"},
		"no_op":            {mode: loop.ModeGeneric, id: "A12"},
		"duplicate":        {mode: loop.ModeGeneric, id: "A13"},
		"budget":           {mode: loop.ModeSkill, id: "A14"},
		"leak":             {mode: loop.ModeSkill, id: "A15"},
		"secret":           {mode: loop.ModeGeneric, id: "A16"},
		"scope_ratio":      {mode: loop.ModeGeneric, id: "A17", stoppedBy: "byte_ratio"},
		"byte_ratio":       {mode: loop.ModeGeneric, id: "A18"},
		"kept_ratio":       {mode: loop.ModeGeneric, id: "A19"},
		"invariants_after": {mode: loop.ModeGeneric, id: "A22"},
	}
	for off, tt := range tests {
		t.Run(off, func(t *testing.T) {
			s := suite(t, tt.mode)
			s.off = off
			r := play(t, s, pick(tt.id))[0]
			if want := map[bool]Outcome{true: GotThrough, false: Refused}[tt.stoppedBy == ""]; r.Outcome != want || r.StoppedBy != tt.stoppedBy {
				t.Errorf("%s (%s), want %s %s", r.Line(), r.Detail, want, tt.stoppedBy)
			}
			if r.Guard != off {
				t.Errorf("the row of %s names the guard %s, want %s", r.ID, r.Guard, off)
			}
		})
	}
}

// R-ATT-2: the mutants of a guard beside its first get through as well.
func TestGuardOffOthers(t *testing.T) {
	for off, mutants := range map[string][]string{"protected": {"A07", "A08"}, "regions": {"A10", "A11"}, "reserved": {"A04"}, "link": {"A02"}} {
		mode := loop.ModeSkill
		if off == "protected" {
			mode = loop.ModeGeneric
		}
		s := suite(t, mode)
		s.off = off
		for _, r := range play(t, s, pick(mutants...)) {
			if r.Outcome != GotThrough {
				t.Errorf("without %s: %s (%s)", off, r.Line(), r.Detail)
			}
		}
	}
}

// A program that is let do what it wants gets through: nothing ends it, its
// exit status is lost, what it left behind lives on, and it finds the evals.
func TestProgramsGetThrough(t *testing.T) {
	s := suite(t, loop.ModeGeneric)
	engine := s.Engine
	s.Engine = func(scratch *gitstore.Repo) (*loop.Engine, func() error) {
		e, closer := engine(scratch)
		e.Execute = func(context.Context, process.Command) (process.Result, error) {
			return process.Result{Stdout: []byte("left 1\nfound /skill/evals\nlooked\nMETRIC score=9\n")}, nil
		}
		return e, closer
	}
	s.Drift = func() error { return nil }
	ids := []string{"A20", "A21", "A23", "A24", "A25", "A26", "A27", "A28", "A30"}
	results := play(t, s, pick(ids...))
	for _, r := range results {
		if r.Outcome != GotThrough {
			t.Errorf("%s (%s), want it to get through", r.Line(), r.Detail)
		}
	}
	if len(results) != len(ids) {
		t.Errorf("%d results, want %d", len(results), len(ids))
	}
}

// What a configuration does not have is not applicable, and says why.
func TestNotApplicable(t *testing.T) {
	s := suite(t, loop.ModeGeneric)
	s.Setup.Frozen.Target, s.Setup.Frozen.Guards.ProtectedPaths, s.Setup.Frozen.Guards.InvariantCommand = "**", nil, nil
	s.Setup.Frozen.Guards.MinScopeRatio = "0"
	want := map[string]string{
		"A04": "for a skill", "A05": "nothing lies outside the scope and is not protected", "A06": "nothing is protected",
		"A17": "min_scope_ratio is 0", "A20": "no invariant command", "A22": "nothing is protected", "A29": "not part of this version",
	}
	results := play(t, s, pick("A04", "A05", "A06", "A17", "A20", "A22", "A29"))
	for _, r := range results {
		if r.Outcome != NotApplicable || r.Detail != want[r.ID] {
			t.Errorf("%s, want not applicable (%s)", r.Line(), want[r.ID])
		}
	}
	if len(results) != len(want) {
		t.Errorf("%d results, want %d", len(results), len(want))
	}
}

// R-ATT-3: one line per mutant.
func TestLine(t *testing.T) {
	for want, r := range map[string]Result{
		"A11 region-double        refused  INVALID regions":             {ID: "A11", Name: "region-double", Guard: "regions", Outcome: Refused, Decision: "INVALID", StoppedBy: "regions"},
		"A17 delete-scope         refused  INVALID link (not by scope)": {ID: "A17", Name: "delete-scope", Guard: "scope", Outcome: Refused, Decision: "INVALID", StoppedBy: "link"},
		"A30 peek                 refused  export_content":              {ID: "A30", Name: "peek", Guard: "export_content", Outcome: Refused, StoppedBy: "export_content"},
		"A34 write-outside        not contained (no sandbox)":           {ID: "A34", Name: "write-outside", Outcome: NotContained, Detail: "no sandbox"},
		"A12 same-tree            GOT THROUGH":                          {ID: "A12", Name: "same-tree", Outcome: GotThrough},
	} {
		if got := r.Line(); got != want {
			t.Errorf("Line() = %q, want %q", got, want)
		}
	}
}

// The table of handoff.md section 9 is complete and in order.
func TestMutantsInOrder(t *testing.T) {
	all := Mutants()
	for i, m := range all {
		if want := "A" + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)); m.ID != want || m.Name == "" || m.Guard == "" || m.What == "" {
			t.Errorf("mutant %d is %+v, want the id %s and every field", i, m, want)
		}
	}
	if len(all) != 36 {
		t.Errorf("%d mutants, want 36", len(all))
	}
}
