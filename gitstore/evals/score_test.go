package evals

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// dir makes files of pairs of path and content.
func dir(pairs ...string) fstest.MapFS {
	files := fstest.MapFS{".": {Mode: fs.ModeDir | 0o755}}
	for i := 0; i+1 < len(pairs); i += 2 {
		files[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return files
}

// grading is a grading.json with counts only.
func grading(passed, total int) string {
	return fmt.Sprintf(`{"summary": {"passed": %d, "total": %d}}`, passed, total)
}

// R-SCORE-1: side and eval of a path.
func TestSides(t *testing.T) {
	for path, want := range map[string]string{
		"runs/e0/with_mutation/grading.json":                   "e0 with_mutation",
		"runs/e0/with_mutation/outputs/grading.json":           "e0 with_mutation",
		"runs/baseline/with_mutation/grading.json":             "baseline with_mutation",
		"runs/with_mutation/baseline/run-1/grading.json":       "with_mutation baseline",
		"a/b/baseline/grading.json":                            "a/b baseline",
		"baseline/grading.json":                                "eval baseline",
		"runs/baseline/grading.json":                           "eval baseline",
		"runs/runs/baseline/grading.json":                      "runs baseline",
		"runs/e0/other/grading.json":                           " ",
		"runs/e0/baseline/x/baseline/grading.json":             "e0/baseline/x baseline",
		"grading.json":                                         " ",
		"runs/e0/baseline_2/grading.json":                      " ",
		"runs/e/with_mutation/run-1/outputs/deep/grading.json": "e with_mutation",
	} {
		side := sideOf(path)
		eval := ""
		if side != "" {
			eval = evalOf(path, side)
		}
		if got := eval + " " + string(side); got != want {
			t.Errorf("%s belongs to %q, want %q", path, got, want)
		}
	}
}

// What is refused: R-SCORE-2 to R-SCORE-10, M2.
func TestScoreRefuses(t *testing.T) {
	const file = "runs/e/with_mutation/grading.json"
	set := read(t, `[{"id": "e", "prompt": "p", "assertions": [{"id": "a", "kind": "contains", "value": "x"}, {"id": "b", "text": "says y"}]}, {"id": "f", "assertions": ["z"]}]`)
	judge := Means{Judge: true}
	list := func(entries string) string {
		return `{"summary": {"passed": 1, "total": 2}, "assertions": [` + entries + "]}"
	}
	tests := map[string]struct {
		request Request
		want    string
	}{
		"nothing":            {Request{Dir: dir(), Side: WithMutation}, "there is no grading.json of the side with_mutation"},
		"missing directory":  {Request{Dir: os.DirFS("testdata/none"), Side: WithMutation}, "read the directory"},
		"malformed":          {Request{Dir: dir(file, "{"), Side: WithMutation}, `"` + file + `" is malformed: line 1`},
		"no summary":         {Request{Dir: dir(file, `{"assertions": [{"id": "a", "passed": true}]}`)}, "has no summary, so there is no score"},
		"a list":             {Request{Dir: dir(file, `[]`)}, "has no summary"},
		"text counts":        {Request{Dir: dir(file, `{"summary": {"passed": "1", "total": "2"}}`)}, "has no whole numbers"},
		"fraction":           {Request{Dir: dir(file, `{"summary": {"passed": 1.5, "total": 2}}`)}, "has no whole numbers"},
		"no total":           {Request{Dir: dir(file, `{"summary": {"passed": 1}}`)}, "has no whole numbers"},
		"total 0":            {Request{Dir: dir(file, grading(0, 0))}, "has a summary.total of 0"},
		"too many passed":    {Request{Dir: dir(file, grading(3, 2))}, "3 passed of 2"},
		"negative":           {Request{Dir: dir(file, grading(-1, 2))}, "want numbers of at least 0"},
		"absurd":             {Request{Dir: dir(file, grading(1, 2_000_000_000))}, "of at most"},
		"list says other":    {Request{Dir: dir(file, list(`{"id": "a", "passed": true}, {"id": "b", "passed": true}`))}, "the summary says 1 of 2, its list 2 of 2"},
		"maybe":              {Request{Dir: dir(file, list(`{"id": "a", "result": "maybe"}, {"id": "b", "passed": true}`))}, `assertion "a": result is "maybe"`},
		"passed is a text":   {Request{Dir: dir(file, list(`{"id": "a", "passed": "true"}, {"id": "b", "passed": true}`))}, `assertion "a": passed is "true"`},
		"no outcome":         {Request{Dir: dir(file, list(`{"id": "a"}`))}, "says neither passed nor result"},
		"one good, one not":  {Request{Dir: dir(file, grading(1, 1), "runs/f/with_mutation/grading.json", "{}")}, "has no summary"},
		"runs":               {Request{Dir: dir(file, grading(1, 3)), Runs: 2}, "3 results, which is no multiple of 2 runs"},
		"comparator, mixed":  {Request{Dir: dir(file, grading(1, 2)), Comparator: true}, "no side is given"},
		"no comparison":      {Request{Dir: dir(file, grading(1, 2)), Side: WithMutation, Comparator: true}, `read "comparison.json"`},
		"one-sided rubric":   {Request{Dir: dir(file, grading(1, 2), "comparison.json", `{"rubric": {"with_mutation": {"overall_score": 5}}}`), Side: WithMutation, Comparator: true}, "rubric.baseline.overall_score"},
		"text in the rubric": {Request{Dir: dir(file, grading(1, 2), "comparison.json", `{"rubric": {"with_mutation": {"overall_score": "5"}, "baseline": {"overall_score": 5}}}`), Side: WithMutation, Comparator: true}, "rubric.with_mutation.overall_score"},
		"judge without":      {Request{Dir: dir(file, grading(1, 2)), Side: WithMutation, Gate: Gate{big.NewRat(1, 2), big.NewRat(1, 2)}}, "there is no judge's value"},
		"timing":             {Request{Dir: dir(file, grading(1, 2), "runs/e/with_mutation/timing.json", `{"total_tokens": -1}`)}, "total_tokens is -1"},

		"unknown eval":       {Request{Dir: dir("runs/g/with_mutation/grading.json", grading(1, 2)), Evals: &set, Means: judge}, `has no eval "g"`},
		"no list":            {Request{Dir: dir(file, grading(1, 2)), Evals: &set, Means: judge}, "has no list of assertions"},
		"unknown id":         {Request{Dir: dir(file, list(`{"id": "a", "passed": true}, {"id": "q", "passed": false}`)), Evals: &set, Means: judge}, `has no assertion "q"`},
		"missing id":         {Request{Dir: dir(file, `{"summary": {"passed": 1, "total": 1}, "assertions": [{"id": "a", "passed": true}]}`), Evals: &set, Means: judge}, `the assertion "b" has 0 results in its gradings, want 1`},
		"twice":              {Request{Dir: dir(file, list(`{"id": "a", "passed": true}, {"id": "a", "passed": false}`)), Evals: &set, Means: judge}, `"a" is there twice`},
		"two gradings":       {Request{Dir: dir(file, list(`{"id": "a", "passed": true}, {"id": "b", "passed": false}`), "runs/e/with_mutation/x/grading.json", list(`{"id": "a", "passed": true}, {"id": "b", "passed": false}`)), Evals: &set, Means: judge}, `"a" has 2 results`},
		"null":               {Request{Dir: dir(file, `{"summary": {"passed": 1, "total": 1}, "assertions": [{"id": "a", "passed": true}, {"id": "b", "passed": null}]}`), Evals: &set, Means: judge}, `"b" can be graded and is not`},
		"summary, with file": {Request{Dir: dir(file, list(`{"id": "a", "passed": true}, {"id": "b", "passed": true}`)), Evals: &set, Means: judge}, "the summary says 1 of 2"},
		"ungraded":           {Request{Dir: dir(file, grading(1, 2)), Evals: &set}, "e/b (it needs a judge), f/f#1 (it needs a judge)"},
		"nothing left":       {Request{Dir: dir("runs/f/with_mutation/grading.json", `{"assertions": [{"id": "f#1", "passed": null}]}`), Evals: &set, Ungraded: IgnoreUngraded}, "nothing to measure"},
		"list and evals":     {Request{Dir: dir("grading_results.json", "["+grading(1, 2)+"]"), Evals: &set, Means: judge}, "does not say which eval"},
		"results, no list":   {Request{Dir: dir("grading_results.json", "{}")}, "want a list of gradings"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.request.Score()
			wantUsage(t, fmt.Sprintf("Score (%+v)", got), err, tt.want)
		})
	}
}

// R-SCORE-8: the weights of the gate.
func TestNewGate(t *testing.T) {
	r := func(text string) *big.Rat { v, _ := new(big.Rat).SetString(text); return v }
	for name, weights := range map[string]map[string]*big.Rat{
		"sum": {"assertions": r("0.8"), "judge": r("0.3")}, "negative": {"assertions": r("1.1"), "judge": r("-0.1")},
		"efficiency": {"assertions": r("1"), "efficiency": r("0.1")}, "other": {"assertions": r("1"), "style": r("0")}, "alone": {"judge": r("0.5")},
	} {
		if _, err := NewGate(weights); err == nil {
			t.Errorf("%s: NewGate accepts %v", name, weights)
		}
	}
	if g, err := NewGate(map[string]*big.Rat{"judge": r("0.9999995"), "efficiency": r("0")}); err != nil || g.Assertions.Sign() != 0 {
		t.Errorf("NewGate = %+v, %v", g, err)
	}
	if g, err := NewGate(nil); err != nil || !g.IsZero() {
		t.Errorf("NewGate(nil) = %+v, %v", g, err)
	}
}

// R-SCORE-4, 9, 10: two runs, weights, one assertion ungraded, one eval with
// nothing left; entries by text and by result.
func TestScoreWithEvals(t *testing.T) {
	set := read(t, `{"evals": [{"id": "e", "assertions": [{"id": "b", "kind": "contains", "value": "x", "weight": 0.5}, {"id": "a", "text": "judged"}, {"text": "tool", "kind": "max_words", "value": 3}]},
	 {"id": "f", "assertions": ["judged too"]}, {"id": "unmeasured", "assertions": [{"kind": "contains", "value": "x", "weight": 0.1}]}]}`)
	files := dir(
		"runs/e/with_mutation/run-1/grading.json", `{"summary": {"passed": 1, "total": 2}, "expectations": [{"text": "tool", "result": "fail"}, {"id": "a", "passed": null}, {"id": "b", "passed": true}]}`,
		"runs/e/with_mutation/run-2/grading.json", `{"summary": {"passed": 2, "total": 2}, "assertion_results": [{"id": "b", "result": "passed"}, {"text": "tool", "passed": true}]}`,
		"runs/f/with_mutation/run-1/grading.json", `{"summary": {"passed": 0, "total": 0}, "assertions": [{"id": "f#1", "passed": null}]}`,
		"runs/e/baseline/grading.json", `garbage of the other side`,
	)
	q := Request{Dir: files, Side: WithMutation, Evals: &set, Ungraded: IgnoreUngraded, Runs: 2}
	s, err := q.Score()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	hash, _ := set.Hash()
	want := `{"composite_score":0.666667,"composite_exact":"2/3","assertion_pass_rate":0.666667,"llm_judge_score":null,"gate_weights":{"assertions":1,"judge":0},` +
		`"side":"with_mutation","runs":2,"passed":3,"total_assertions":4,"passed_weight":"2","total_weight":"3","smallest_weight":"0.5","resolution":0.666667,"resolution_exact":"2/3",` +
		`"ungraded":["e/a","f/f#1"],"evals":[{"id":"e","passed":3,"total":4,"assertions":[{"id":"b","passed":true,"weight":0.5},{"id":"b","passed":true,"weight":0.5},` +
		`{"id":"e#3","passed":false,"weight":1},{"id":"e#3","passed":true,"weight":1}]}],"evals_sha256":"` + hash + `",` +
		`"details":{"efficiency_score":null,"total_tokens":0,"total_duration_seconds":0,"timing_files_found":0,"grading_files_found":3},"warnings":[]}`
	if err != nil || string(got) != want {
		t.Errorf("Score is\n%s, want\n%s", got, want)
	}
}

// R-SCORE-2: without a side both are mixed, and a list stands in for files.
func TestScoreWithoutSide(t *testing.T) {
	s, err := Request{Dir: dir("grading_results.json", "["+grading(1, 2)+","+grading(2, 3)+"]", "runs/e/baseline/grading.json", "{}")}.Score()
	if err != nil || s.CompositeExact != "3/5" || s.Evals != nil || s.Side != nil || s.Details.GradingsFound != 2 || !slices.Equal(s.Warnings, []string{"mixed_sides"}) {
		t.Errorf("Score of the list = %+v, %v", s, err)
	}
	s, err = Request{Dir: dir("runs/e/baseline/grading.json", grading(1, 2), "runs/e/with_mutation/grading.json", grading(2, 2))}.Score()
	if err != nil || s.CompositeExact != "3/4" || len(s.Evals) != 1 || !slices.Equal(s.Warnings, []string{"mixed_sides"}) {
		t.Errorf("Score of both sides = %+v, %v", s, err)
	}
}

// R-SCORE-6: each part where it is present, never below 0.
func TestEfficiency(t *testing.T) {
	s, err := Request{Side: Baseline, Dir: dir("e/baseline/grading.json", grading(1, 2), "e/baseline/timing.json", `{"total_tokens": 250000}`,
		"f/baseline/timing.json", `{"total_tokens": null, "total_duration_seconds": 30.25, "duration_ms": 3}`, "e/with_mutation/timing.json", "broken")}.Score()
	if err != nil || s.Details.Efficiency == nil || *s.Details.Efficiency != "0.449583" || s.Details.TotalTokens != "250000" || s.Details.TotalSeconds != "30.2" || s.Details.TimingFiles != 2 {
		t.Errorf("Details = %+v, %v", s.Details, err)
	}
}

// A link is not followed.
func TestGradingLink(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/e/baseline", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/x.json", []byte(grading(1, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../x.json", root+"/e/baseline/grading.json"); err != nil {
		t.Skip("no symbolic links here")
	}
	_, err := ReadGradings(os.DirFS(root), "")
	wantUsage(t, "ReadGradings", err, "is a link")
}

// R-CMP-1, R-CMP-3 and the text form.
func TestCompare(t *testing.T) {
	c, err := Compare(dir())
	if err != nil || c.TotalPairs != 0 || c.Unpaired == nil || c.Text() != "0 pairs: 0 regressed, 0 persistent fail, 0 improved, 0 stable success; net +0\n" {
		t.Errorf("Compare of nothing = %+v, %v, %s", c, err, c.Text())
	}
	c, err = Compare(dir("e/baseline/grading.json", grading(1, 1), "e/with_mutation/grading.json", grading(0, 1),
		"f/baseline/run-1/grading.json", grading(1, 1), "f/baseline/run-2/grading.json", grading(0, 0), "f/with_mutation/grading.json", grading(1, 1),
		"g/baseline/grading.json", `{"summary": {"passed": "1", "total": 1}}`))
	want := "1 pair: 1 regressed, 0 persistent fail, 0 improved, 0 stable success; net -1\n\nRegressed:\n  e\n\nUnpaired:\n  g\n\nNo data:\n  f\n"
	if err != nil || c.Text() != want {
		t.Errorf("Compare = %s, %v, want %s", c.Text(), err, want)
	}
	_, err = Compare(os.DirFS("testdata/none"))
	wantUsage(t, "Compare of no directory", err, "read the directory")
	_, err = Compare(dir("e/baseline/grading.json", grading(2, 1)))
	wantUsage(t, "Compare", err, "2 passed of 1")
}

// R-SF-WS-0: the engine's own file reads back.
func TestEncodeGrading(t *testing.T) {
	yes, no := true, false
	text, err := EncodeGrading([]Verdict{{ID: "a", Passed: &yes}, {ID: "b", Passed: &no}, {ID: "c"}})
	want := `{"summary":{"passed":1,"total":2},"assertions":[{"id":"a","passed":true},{"id":"b","passed":false},{"id":"c","passed":null}]}` + "\n"
	if err != nil || string(text) != want {
		t.Fatalf("EncodeGrading = %s, %v", text, err)
	}
	if s, err := (Request{Dir: dir("e/baseline/grading.json", want), Side: Baseline}).Score(); err != nil || s.CompositeExact != "1/2" {
		t.Errorf("Score = %+v, %v", s, err)
	}
}

// FuzzGradings: sums do not depend on the order of the gradings, and nothing
// that is no score comes out.
func FuzzGradings(f *testing.F) {
	f.Add(uint64(1), []byte{3, 1, 4, 1, 5, 9, 2, 6})
	f.Fuzz(func(t *testing.T, seed uint64, counts []byte) {
		var list []Grading
		for i := 0; i+1 < len(counts); i += 2 {
			total := int64(counts[i]%7) + 1
			g := Grading{Eval: fmt.Sprint(counts[i+1] % 4), Side: Baseline, Passed: int64(counts[i+1]) % (total + 1), Total: total}
			if counts[i]&8 > 0 {
				g.Side = WithMutation
			}
			if counts[i] == 255 {
				g.Passed, g.Total, g.NoCounts = 0, 0, "has no summary"
			}
			list = append(list, g)
		}
		first := CompareGradings(list)
		shuffled := slices.Clone(list)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if second := CompareGradings(shuffled); fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("CompareGradings = %+v, shuffled %+v", first, second)
		}
		q := Request{Runs: 1}
		sum, err := q.sum(list)
		again, errAgain := q.sum(shuffled)
		if (err == nil) != (errAgain == nil) || err == nil && fmt.Sprint(sum.evals()) != fmt.Sprint(again.evals()) {
			t.Errorf("sum = %+v, %v, shuffled %+v, %v", sum, err, again, errAgain)
		}
	})
}

// FuzzReadGrading: no grading makes it panic, and a score lies in 0 to 1.
func FuzzReadGrading(f *testing.F) {
	f.Add([]byte(grading(1, 2)))
	f.Add([]byte(`{"summary": {"passed": 1, "total": 1}, "assertions": [{"text": "x", "result": "pass"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		q := Request{Dir: dir("e/baseline/grading.json", string(data)), Side: Baseline}
		s, err := q.Score()
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Score of %q = %v", data, err)
			}
			return
		}
		if rate, err := s.PassRate.Float64(); err != nil || rate < 0 || rate > 1 {
			t.Errorf("Score of %q = %s", data, s.PassRate)
		}
	})
}

// BenchmarkScore500: reading the gradings of 500 evals from a disk and holding
// them against the evals file.
func BenchmarkScore500(b *testing.B) {
	set := read(b, bigSet(500))
	root := b.TempDir()
	for i := range 500 {
		side := fmt.Sprintf("%s/runs/eval-%03d/with_mutation", root, i)
		if err := os.MkdirAll(side, 0o755); err != nil {
			b.Fatal(err)
		}
		text := `{"summary": {"passed": 4, "total": 6}, "assertions": [{"id": "a", "passed": true}, {"id": "b", "passed": true},
		 {"id": "c", "passed": false}, {"id": "d", "passed": true}, {"id": "e", "passed": true}, {"id": "f", "passed": false}]}`
		if err := os.WriteFile(side+"/grading.json", []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	q := Request{Dir: os.DirFS(root), Side: WithMutation, Evals: &set, Runs: 1}
	gradings, err := ReadGradings(q.Dir, q.Side)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("with files", func(b *testing.B) {
		for b.Loop() {
			if _, err := q.Score(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("without files", func(b *testing.B) {
		for b.Loop() {
			if _, err := q.sum(gradings); err != nil {
				b.Fatal(err)
			}
		}
	})
}
