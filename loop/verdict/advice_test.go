package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// evalScore is an eval of a score file: one letter per assertion and run, p
// passed, f failed; assertions follow each other, each with its runs.
type evalScore struct{ id, outcomes string }

// scoreFileOf writes a score file. weights are by position in the eval, "" for
// 1 everywhere.
func scoreFileOf(t *testing.T, runs int, weights []string, evals ...evalScore) []byte {
	t.Helper()
	file := map[string]any{"runs": runs}
	var list []map[string]any
	passed, total := 0, 0
	for _, e := range evals {
		var assertions []map[string]any
		p := strings.Count(e.outcomes, "p")
		for i, outcome := range e.outcomes {
			a := map[string]any{"id": fmt.Sprint("a", i/runs), "passed": outcome == 'p', "weight": 1}
			if weights != nil {
				a["weight"] = json.Number(weights[i/runs])
			}
			assertions = append(assertions, a)
		}
		list = append(list, map[string]any{"id": e.id, "passed": p, "total": len(e.outcomes), "assertions": assertions})
		passed, total = passed+p, total+len(e.outcomes)
	}
	file["evals"], file["passed"], file["total_assertions"] = list, passed, total
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// advise decides over two score files and returns the advice as JSON.
func advise(t *testing.T, candidate, baseline []byte) (Verdict, string) {
	t.Helper()
	var sides [2]Score
	for i, data := range [][]byte{candidate, baseline} {
		s, err := ReadScoreFile(data)
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = s
	}
	v, err := Decide(sides[0], sides[1], Bars{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := marshal(Advise(sides[0], sides[1], v))
	if err != nil {
		t.Fatal(err)
	}
	return v, string(text)
}

// sixEvals are two sides: two evals better, one worse, three as before.
func sixEvals(t *testing.T, weights []string) (candidate, baseline []byte) {
	return scoreFileOf(t, 1, weights, evalScore{"e1", "pp"}, evalScore{"e2", "pp"}, evalScore{"e3", "fp"}, evalScore{"e4", "pp"}, evalScore{"e5", "fp"}, evalScore{"e6", "pf"}),
		scoreFileOf(t, 1, weights, evalScore{"e1", "fp"}, evalScore{"e2", "ff"}, evalScore{"e3", "pp"}, evalScore{"e4", "pp"}, evalScore{"e5", "fp"}, evalScore{"e6", "fp"})
}

// R-STAT-5: keys and their order, each number by hand. d = 1 2 -1 0 0 0, S 2
// of sizes 1 2 1: 1 of 8 patterns is above, 2 are as high.
func TestAdvise(t *testing.T) {
	candidate, baseline := sixEvals(t, nil)
	v, got := advise(t, candidate, baseline)
	want := `{"K":2,"R":1,"runs_per_side":1,"flips":{"up":4,"down":2,"mcnemar_p":0.34375},` +
		`"evals":{"n":6,"wins":2,"losses":1,"ties":3,"worse":["e3"],"better":["e1","e2"]},` +
		`"mid_p":0.25,"confidence":"weak","interval":{"lo":-0.270375,"hi":0.556089,"design_effect":1.129412,"level":0.95},` +
		`"expected_gain":{"value":0.005792,"tau":0.04}}`
	if v.Decision != Keep || got != want {
		t.Errorf("%s with advice\n%s, want\n%s", v.Decision, got, want)
	}
	v, got = advise(t, baseline, candidate)
	if want := `"mid_p":0.75,"confidence":"weak"`; v.Decision != Revert || !strings.Contains(got, want) || strings.Contains(got, "expected_gain") {
		t.Errorf("the other way %s with advice\n%s, want %s and no gain", v.Decision, got, want)
	}
}

// R-STAT-5, R-STAT-19, F3: what is left out, and when.
func TestAdviseLeavesOut(t *testing.T) {
	candidate, baseline := sixEvals(t, nil)
	edit := func(data []byte, change func(map[string]any)) []byte {
		var file map[string]any
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		change(file)
		edited, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		return edited
	}
	first := func(file map[string]any) map[string]any { return file["evals"].([]any)[0].(map[string]any) }
	judge := func(file map[string]any) {
		file["llm_judge_score"], file["composite_exact"] = 0.5, "0.5"
		file["gate_weights"] = map[string]any{"assertions": 0.65, "judge": 0.35}
	}
	weights := func(file map[string]any) {
		file["passed_weight"], file["total_weight"], file["smallest_weight"] = "3", "6", "0.5"
	}
	const nothing = `{"K":2,"R":1,"runs_per_side":1,"flips":null,"evals":null,"mid_p":null,"confidence":null,"interval":null}`
	tests := map[string]struct {
		change func(map[string]any) // on both sides
		only   func(map[string]any) // on the candidate
		want   string               // within the advice
		not    string
	}{
		"judge":                  {change: judge, want: `{"runs_per_side":1,"flips":{"up":4,`, not: `"K"`},
		"weights":                {change: weights, want: `{"runs_per_side":1,"flips":{"up":4,`, not: `"K"`},
		"no assertions":          {change: func(f map[string]any) { delete(first(f), "assertions") }, want: `"flips":null,"evals":{"n":6,"wins":2`, not: `"interval":{`},
		"no evals":               {change: func(f map[string]any) { delete(f, "evals") }, want: nothing},
		"evals is no list":       {change: func(f map[string]any) { f["evals"] = "many" }, want: nothing},
		"evals of one side":      {only: func(f map[string]any) { delete(f, "evals") }, want: nothing},
		"other evals":            {only: func(f map[string]any) { first(f)["id"] = "e9" }, want: nothing},
		"an eval twice":          {change: func(f map[string]any) { first(f)["id"] = "e2" }, want: nothing},
		"sums that do not fit":   {only: func(f map[string]any) { first(f)["passed"] = 1 }, want: nothing},
		"another assertion":      {only: func(f map[string]any) { first(f)["assertions"].([]any)[0].(map[string]any)["id"] = "x" }, want: `"flips":null`},
		"assertion against eval": {only: func(f map[string]any) { first(f)["assertions"].([]any)[0].(map[string]any)["passed"] = false }, want: `"flips":null`},
		"other weight":           {only: func(f map[string]any) { first(f)["assertions"].([]any)[0].(map[string]any)["weight"] = 2 }, want: `"flips":null`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, b := candidate, baseline
			if tt.change != nil {
				c, b = edit(c, tt.change), edit(b, tt.change)
			}
			if tt.only != nil {
				c = edit(c, tt.only)
			}
			_, got := advise(t, c, b)
			if !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("advice %s, want %s and not %q", got, tt.want, tt.not)
			}
		})
	}
	if a := Advise(Decimal(whole(1)), Decimal(whole(1)), Verdict{}); a != nil {
		t.Errorf("advice on two decimals: %+v", a)
	}
}

// F3: with weights the differences are weighted; those too fine for an exact
// test are counted plainly, and the advice says so.
func TestAdviseWeights(t *testing.T) {
	tests := map[string]struct {
		weights []string
		want    string
		not     string
	}{
		// In halves e1 2, e2 3, e3 -2, e6 2 - 1: 2 of 16 patterns are above 4, 2
		// are 4.
		"halves":    {[]string{"1", "0.5"}, `"mid_p":0.1875,"confidence":"weak","interval"`, "unweighted"},
		"too fine":  {[]string{"1", "0.0000001"}, `"mid_p":0.25,"confidence":"weak","unweighted":true,"interval"`, "nothing"},
		"all alike": {[]string{"3", "3"}, `"mid_p":0.25,"confidence":"weak","interval"`, "unweighted"},
	}
	for name, tt := range tests {
		candidate, baseline := sixEvals(t, tt.weights)
		if _, got := advise(t, candidate, baseline); !strings.Contains(got, tt.want) || strings.Contains(got, tt.not) {
			t.Errorf("%s: advice %s, want %s and not %q", name, got, tt.want, tt.not)
		}
	}
}

// Section 3: with several runs d_i is summed and flips are run j against run j.
func TestAdviseRuns(t *testing.T) {
	candidate := scoreFileOf(t, 2, nil, evalScore{"e1", "pfpp"}, evalScore{"e2", "pp"})
	baseline := scoreFileOf(t, 2, nil, evalScore{"e1", "fpff"}, evalScore{"e2", "pp"})
	_, got := advise(t, candidate, baseline)
	for _, want := range []string{`"K":4,"R":1,"runs_per_side":2,"flips":{"up":3,"down":1,`, `"evals":{"n":2,"wins":1,"losses":0,"ties":1,`} {
		if !strings.Contains(got, want) {
			t.Errorf("advice %s, want %s", got, want)
		}
	}
}

// Section 13, 5: a tiny probability prints, and what prints is in the
// direction of the verdict.
func TestAdviceText(t *testing.T) {
	strong := Strong
	number := func(text string) *json.Number { n := json.Number(text); return &n }
	tests := map[string]struct {
		advice   *Advice
		decision Decision
		want     string
	}{
		"none":              {nil, Keep, ""},
		"no label":          {&Advice{}, Keep, ""},
		"KEEP":              {&Advice{MidP: number("0.039063"), Confidence: &strong}, Keep, "strong (mid-p 0.039)"},
		"tiny":              {&Advice{MidP: number("4.547474e-13"), Confidence: &strong}, Keep, "strong (mid-p 4.5e-13)"},
		"REVERT":            {&Advice{MidP: number("0.984375"), Confidence: &strong}, Revert, "strong (mid-p for worse 0.016)"},
		"REVERT, near to 1": {&Advice{MidP: number("1"), Confidence: &strong}, Revert, "strong (mid-p for worse under 0.000001)"},
		"half":              {&Advice{MidP: number("0.5"), Confidence: &strong}, Neutral, "strong (mid-p 0.5)"},
	}
	for name, tt := range tests {
		if got := tt.advice.Text(tt.decision); got != tt.want {
			t.Errorf("%s: Text = %q, want %q", name, got, tt.want)
		}
	}
	gain := &Advice{Gain: &GainAdvice{Value: "0.02748", Tau: "0.04"}}
	if got, want := gain.GainText("0.04"), "observed +0.0400, expected true gain about +0.03 (assumes effects of about 4 points)"; got != want { // F9
		t.Errorf("GainText = %q, want %q", got, want)
	}
	for _, none := range []*Advice{nil, {}, {Gain: &GainAdvice{Value: "x", Tau: "0.04"}}} {
		if got := none.GainText("0.04"); got != "" {
			t.Errorf("GainText without a gain = %q", got)
		}
	}
	var up, down []evalScore
	for i := range 41 {
		up, down = append(up, evalScore{fmt.Sprint("e", i), "p"}), append(down, evalScore{fmt.Sprint("e", i), "f"})
	}
	if _, got := advise(t, scoreFileOf(t, 1, nil, up...), scoreFileOf(t, 1, nil, down...)); !strings.Contains(got, `"mid_p":2.273737e-13,`) {
		t.Errorf("41 of 41 evals better: %s", got)
	}
}

// Whatever two score files say, the advice encodes, changes nothing, and finds
// the opposite the other way round.
func FuzzAdvise(f *testing.F) {
	f.Add([]byte(`{"passed":1,"total_assertions":2,"evals":[{"id":"e","passed":1,"total":2,"assertions":[{"id":"a","passed":true},{"id":"b","weight":"0.5"}]}]}`),
		[]byte(`{"passed":0,"total_assertions":2,"evals":[{"id":"e","passed":0,"total":2,"assertions":[{"id":"a"},{"id":"b","weight":"0.5"}]}]}`))
	f.Add([]byte(`{"passed":0,"total_assertions":9223372036854775807,"evals":[{"id":"e","total":9223372036854775807}]}`), []byte(`{"passed":1,"total_assertions":1,"evals":[{"id":"e"}]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, errX := ReadScoreFile(a)
		y, errY := ReadScoreFile(b)
		if errX != nil || errY != nil {
			t.Skip()
		}
		there, err := Decide(x, y, Bars{})
		if err != nil {
			t.Skip()
		}
		back, err := Decide(y, x, Bars{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := there.MarshalJSON()
		if err != nil {
			t.Fatalf("advice of %s and %s: %v", a, b, err)
		}
		there.Advice.Text(there.Decision)
		if here, other := there.Advice.Evals, back.Advice.Evals; (here == nil) != (other == nil) || here != nil && (here.Wins != other.Losses || here.Ties != other.Ties) {
			t.Errorf("evals of %s, and back of %+v", text, other)
		}
		if here, other := there.Advice.Flips, back.Advice.Flips; (here == nil) != (other == nil) || here != nil && (here.Up != other.Down || here.Down != other.Up) {
			t.Errorf("flips of %s, and back of %+v", text, other)
		}
	})
}
