package evals_test

import (
	"encoding/json"
	"maps"
	"math/big"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"forge/gitstore/evals"
	"forge/gitstore/vectors"
	"forge/loop/verdict"
)

// vector is one call of `forge loop <cmd>` (loop.md section 14).
type vector struct {
	ID, Cmd string
	Args    struct {
		IDs             *[]json.RawMessage
		Evals           json.RawMessage
		Seed            *json.Number
		Val, Test       *string
		Force           bool
		Side            string
		UseComparator   bool `json:"use_comparator"`
		IgnoreUngraded  bool `json:"ignore_ungraded"`
		Decide          map[string]string
		MinEvals        int `json:"min_evals"`
		MinEvalsForTest int `json:"min_evals_for_test"`
	}
	Files  map[string]json.RawMessage
	Evals  json.RawMessage
	Config map[string]any
	Exit   int
	Expect map[string]any
}

// loop.md sections 4 to 6, and the whole way from gradings to a decision.
func TestLoopVectors(t *testing.T) {
	run := map[string]func(*testing.T, vector) (any, error){
		"split-assign": runSplit, "score": runScore, "compare": runCompare, "score-decide": runScoreDecide,
	}
	for _, v := range vectors.Read[vector](t, os.Getenv("FORGE_VECTORS"), "loop.json", slices.Sorted(maps.Keys(run))...) {
		t.Run(v.ID, func(t *testing.T) {
			got, err := run[v.Cmd](t, v)
			vectors.Check(t, got, err, v.Exit, v.Expect)
		})
	}
}

func runSplit(t *testing.T, v vector) (any, error) {
	data := v.Args.Evals
	if v.Args.IDs != nil {
		list := []map[string]json.RawMessage{}
		for _, id := range *v.Args.IDs {
			list = append(list, map[string]json.RawMessage{"id": id})
		}
		var err error
		if data, err = json.Marshal(list); err != nil {
			t.Fatal(err)
		}
	}
	set, err := evals.Read(data)
	if err == nil {
		err = set.CheckIDs()
	}
	if err != nil {
		return nil, err
	}
	rule := evals.SplitRule{
		Seed: "42", Fractions: evals.Fractions{Val: big.NewRat(1, 4), Test: big.NewRat(1, 4)},
		MinEvals: 6, MinEvalsForTest: 12, Force: v.Args.Force,
	}
	if v.Args.Seed != nil {
		rule.Seed = evals.Seed(*v.Args.Seed)
	}
	for text, into := range map[*string]**big.Rat{v.Args.Val: &rule.Fractions.Val, v.Args.Test: &rule.Fractions.Test} {
		if text == nil {
			continue
		}
		if *into, err = verdict.ParseNumber(*text); err != nil {
			return nil, err
		}
	}
	assigned, err := set.Assign(rule)
	if err != nil {
		return nil, err
	}
	written, err := set.WithSplits(assigned)
	if err != nil {
		t.Fatal(err)
	}
	back, err := evals.Read(written)
	if err != nil {
		t.Fatalf("Read of what was written: %v in %s", err, written)
	}
	for _, e := range back.Evals {
		if e.Split != assigned.Assignment[e.ID] {
			t.Errorf("eval %q was written as %q, want %q", e.ID, e.Split, assigned.Assignment[e.ID])
		}
	}
	return assigned, nil
}

func tree(files map[string]json.RawMessage) fstest.MapFS {
	dir := fstest.MapFS{".": {Mode: os.ModeDir | 0o755}}
	for name, data := range files {
		dir[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	return dir
}

// request is the call of a vector; every member of config that score reads.
func request(v vector) (q evals.Request, err error) {
	q = evals.Request{Dir: tree(v.Files), Side: evals.Side(v.Args.Side), Comparator: v.Args.UseComparator || v.Config["use_comparator"] == true}
	q.Means.Judge = q.Comparator
	if v.Args.IgnoreUngraded {
		q.Ungraded = evals.IgnoreUngraded
	}
	if runs, ok := v.Config["runs_per_side"].(json.Number); ok {
		n, err := runs.Int64()
		if err != nil {
			return q, err
		}
		q.Runs = int(n)
	}
	if gate, ok := v.Config["gate_weights"].(map[string]any); ok {
		weights := map[string]*big.Rat{}
		for name, value := range gate {
			if weights[name], err = verdict.ParseNumber(value.(json.Number).String()); err != nil {
				return q, err
			}
		}
		if q.Gate, err = evals.NewGate(weights); err != nil {
			return q, err
		}
	}
	if v.Evals != nil {
		set, err := evals.Read(v.Evals)
		if err != nil {
			return q, err
		}
		q.Evals = &set
	}
	return q, nil
}

func runScore(_ *testing.T, v vector) (any, error) {
	q, err := request(v)
	if err != nil {
		return nil, err
	}
	return q.Score()
}

func runCompare(_ *testing.T, v vector) (any, error) { return evals.Compare(tree(v.Files)) }

func runScoreDecide(t *testing.T, v vector) (any, error) {
	q, err := request(v)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, side := range map[string]evals.Side{"candidate": evals.WithMutation, "baseline": evals.Baseline} {
		q.Side = side
		score, err := q.Score()
		if err != nil {
			return nil, err
		}
		if files[name], err = json.Marshal(score); err != nil {
			t.Fatal(err)
		}
	}
	flag := func(name, key string) string {
		if text, ok := v.Args.Decide[name]; ok {
			return text
		}
		switch value := v.Config[key].(type) {
		case json.Number:
			return value.String()
		case string:
			return value
		}
		return ""
	}
	decide := verdict.Request{
		Candidate: "@candidate", Baseline: "@baseline",
		Improvement:  flag("improvement", "improvement_threshold"),
		Regression:   flag("regression", "regression_threshold"),
		NearMissBand: flag("near_miss_band", "near_miss_band"),
		NoiseFloor:   flag("noise_floor", "noise_floor"),
		Resolution:   flag("resolution", "resolution"),
		Boundary:     flag("boundary", "boundary"),
		ReadFile:     func(name string) ([]byte, error) { return files[name], nil },
	}
	return decide.Decide()
}

// statistics.md section 7.
func TestStatisticsVectors(t *testing.T) {
	type vector struct {
		ID, Kind string
		In       struct {
			Evals       int
			KeyEqual    bool `json:"key_equal"`
			KeptSince   bool `json:"kept_since_measured"`
			RoundsSince int  `json:"rounds_since_measured"`
			MaxAge      int  `json:"max_age"`
		}
		Out struct {
			First            []string
			Baseline, Reason string
		}
	}
	for _, v := range vectors.Read[vector](t, os.Getenv("FORGE_VECTORS"), "statistics.json", "order", "baseline_cache") {
		t.Run(v.ID, func(t *testing.T) {
			if v.Kind == "order" {
				if got := evals.PairOrder(v.In.Evals, evals.FirstLook); !slices.Equal(got, v.Out.First) {
					t.Errorf("PairOrder(%d) = %q, want %q", v.In.Evals, got, v.Out.First)
				}
				return
			}
			cached := evals.CachedBaseline{KeyEqual: v.In.KeyEqual, KeptSince: v.In.KeptSince, Rounds: v.In.RoundsSince, MaxAge: v.In.MaxAge}
			if source, reason := cached.Source(); source != v.Out.Baseline || reason != v.Out.Reason {
				t.Errorf("%+v.Source() = %s, %s, want %s, %s", cached, source, reason, v.Out.Baseline, v.Out.Reason)
			}
		})
	}
}
