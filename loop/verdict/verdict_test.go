package verdict

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func score(t testing.TB, text string) Score {
	t.Helper()
	s, err := ParseScore(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rat(t testing.TB, text string) *big.Rat {
	t.Helper()
	r, err := ParseRatio(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDecideOnEveryBar puts a delta exactly on each bar, under it and above
// it, at both boundaries (loop.md R-DEC-2, section 13; DECISIONS V1 to V5).
func TestDecideOnEveryBar(t *testing.T) {
	tests := map[string]struct {
		q        Request
		want     Decision
		nearMiss bool
	}{
		"improvement":                 {Request{Candidate: "0.52", Baseline: "0.5"}, Keep, false},
		"improvement strict":          {Request{Candidate: "0.52", Baseline: "0.5", Boundary: "strict"}, Neutral, true},
		"under improvement":           {Request{Candidate: "0.5199", Baseline: "0.5"}, Neutral, true},
		"resolution":                  {Request{Candidate: "7/9", Baseline: "5/9"}, Keep, false}, // R-STAT-2
		"resolution strict":           {Request{Candidate: "7/9", Baseline: "5/9", Boundary: "strict"}, Neutral, true},
		"regression":                  {Request{Candidate: "14/20", Baseline: "15/20"}, Revert, false}, // 1/20 is exactly 0.05
		"regression strict":           {Request{Candidate: "14/20", Baseline: "15/20", Boundary: "strict"}, Neutral, false},
		"noise floor":                 {Request{Candidate: "112", Baseline: "110", NoiseFloor: "2"}, Neutral, true},
		"above the noise floor":       {Request{Candidate: "112.001", Baseline: "110", NoiseFloor: "2"}, Keep, false},
		"noise floor is improvement":  {Request{Candidate: "0.52", Baseline: "0.5", NoiseFloor: "0.02"}, Neutral, true},
		"near-miss edge":              {Request{Candidate: "0.5", Baseline: "0.5"}, Neutral, false}, // V5
		"wide band below zero":        {Request{Candidate: "0.47", Baseline: "0.5", NearMissBand: "0.1"}, Neutral, true},
		"tie at improvement 0":        {Request{Candidate: "0.5", Baseline: "0.5", Improvement: "0"}, Neutral, true}, // V3
		"tie at regression 0":         {Request{Candidate: "0.5", Baseline: "0.5", Regression: "0"}, Neutral, false}, // V3
		"loss at regression 0":        {Request{Candidate: "2.9", Baseline: "3", Regression: "0"}, Revert, false},
		"epsilon at regression 0":     {Request{Candidate: "2.9999999995", Baseline: "3", Regression: "0"}, Neutral, false}, // R-DEC-2
		"epsilon at the noise floor":  {Request{Candidate: "112.0000000005", Baseline: "110", NoiseFloor: "2"}, Neutral, true},
		"relative, negative baseline": {Request{Candidate: "-0.9", Baseline: "-1", Relative: true}, Keep, false}, // V8
		"relative, zero baseline":     {Request{Candidate: "0", Baseline: "0", Relative: true}, Neutral, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.q.Decide()
			if err != nil {
				t.Fatal(err)
			}
			if got.Decision != tt.want || got.NearMiss != tt.nearMiss {
				t.Errorf("Decide(%q, %q) = %s near miss %t by %s, want %s near miss %t",
					tt.q.Candidate, tt.q.Baseline, got.Decision, got.NearMiss, got.Formula, tt.want, tt.nearMiss)
			}
		})
	}
}

// TestFlips pins the seed author's rounding fault: two flips are kept and one
// is not, for every N from 5 to 60; from 101 on two are not (R-STAT-4, the
// table of consequences in loop.md section 2).
func TestFlips(t *testing.T) {
	for n := int64(5); n <= 101; n++ {
		for base := int64(0); base+2 <= n; base++ {
			for flips, want := range map[int64]Decision{0: Neutral, 1: Neutral, 2: Keep} {
				if n > 100 {
					want = Neutral
				}
				c, errC := Counts(whole(base+flips), whole(n))
				b, errB := Counts(whole(base), whole(n))
				if errC != nil || errB != nil {
					t.Fatal(errC, errB)
				}
				got, err := Decide(c, b, DefaultBars())
				if err != nil {
					t.Fatal(err)
				}
				if got.Decision != want {
					t.Fatalf("%d flips from %d of %d are %s, want %s", flips, base, n, got.Decision, want)
				}
			}
		}
	}
}

// judged is a score file with a judge, as `forge loop score` writes it.
func judged(passed, total int64, judge string) []byte {
	rate := new(big.Rat).Mul(big.NewRat(65, 100), big.NewRat(passed, total))
	j, _ := new(big.Rat).SetString(judge)
	composite := rate.Add(rate, j.Mul(j, big.NewRat(35, 100)))
	return fmt.Appendf(nil, `{"composite_score":0.1,"composite_exact":%q,"llm_judge_score":%s,"gate_weights":{"assertions":0.65,"judge":0.35},
		"passed":%d,"total_assertions":%d,"resolution":0.9,"ungraded":[],"evals_sha256":null}`, composite.RatString(), judge, passed, total)
}

// TestJudge is R-STAT-19 and DECISIONS V20: one flip with an equal judge is
// NEUTRAL for every N, and the rounded members are never read.
func TestJudge(t *testing.T) {
	decideFiles := func(c, b []byte) Verdict {
		t.Helper()
		candidate, errC := ReadScoreFile(c)
		baseline, errB := ReadScoreFile(b)
		if errC != nil || errB != nil {
			t.Fatal(errC, errB)
		}
		v, err := Decide(candidate, baseline, Bars{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for n := int64(5); n <= 60; n++ {
		v := decideFiles(judged(n, n, "0.6"), judged(n-1, n, "0.6"))
		if v.Decision != Neutral {
			t.Errorf("one flip of %d with an equal judge is %s by %s", n, v.Decision, v.Formula)
		}
	}
	v := decideFiles(judged(14, 20, "0.7"), judged(12, 20, "0.6"))
	if v.Decision != Keep || Exact(v.Threshold) != "1/10" || v.Counts.Candidate != "14/20" || Exact(v.Judge.Candidate) != "7/10" {
		t.Errorf("two flips of 20 and a judge point: %s %s", v.Decision, v.Formula)
	}
	if v := decideFiles(judged(12, 20, "0.4"), judged(12, 20, "0.6")); v.Decision != Revert {
		t.Errorf("two judge points down are %s by %s", v.Decision, v.Formula)
	}
}

// TestScoreFiles pairs score files that differ in one member each (R-DEC-4).
func TestScoreFiles(t *testing.T) {
	plain := func(extra string) string {
		return `{"composite_exact":"6/9","gate_weights":{"assertions":1.0,"judge":0},"llm_judge_score":null,"passed":6,"total_assertions":9` + extra + `}`
	}
	const weights = `,"passed_weight":"5.5","total_weight":"8","smallest_weight":"0.5"`
	tests := map[string]struct {
		candidate, baseline string
		want                string // part of the error, or decision and resolution
	}{
		"equal":                    {plain(""), plain(""), "NEUTRAL 2/9"},
		"null hash":                {plain(`,"evals_sha256":null`), plain(""), "NEUTRAL 2/9"},
		"weights":                  {plain(weights), plain(weights), "NEUTRAL 1/8"},
		"three runs":               {plain(`,"runs":3`), plain(`,"runs":3`), "NEUTRAL 2/3"}, // R-SCORE-10
		"resolution from the file": {plain(`,"resolution_exact":"1/4"`), plain(`,"resolution_exact":"1/4"`), "NEUTRAL 1/4"},
		"beside a decimal":         {plain(""), "0.6", "NEUTRAL 2/9"},
		"beside a count":           {plain(""), "4/9", "KEEP 2/9"},
		"other total":              {plain(""), "4/8", "different totals"},
		"other runs":               {plain(`,"runs":3`), plain(""), "differ in runs"},
		"other evals":              {plain(`,"evals_sha256":"aa"`), plain(`,"evals_sha256":"bb"`), "differ in evals_sha256"},
		"one hash":                 {plain(`,"evals_sha256":"aa"`), plain(""), "differ in evals_sha256"},
		"other ungraded":           {plain(`,"ungraded":["e/a"]`), plain(`,"ungraded":[]`), "differ in ungraded"},
		"one weighted":             {plain(weights), plain(""), "differ in total_weight"},
		"smallest weight":          {plain(weights), plain(strings.Replace(weights, "0.5", "0.25", 1)), "differ in smallest_weight"},
		"one judged":               {string(judged(6, 9, "0.6")), plain(""), "differ in llm_judge_score"},
		"judge beside a count":     {string(judged(6, 9, "0.6")), "4/9", "beside a count"},
		"judge without a value":    {strings.Replace(string(judged(6, 9, "0.6")), `"llm_judge_score":0.6,`, "", 1), "0.5", "are missing"},
		"no counts":                {`{"composite_exact":"6/9"}`, "0.5", "are missing"},
		"half a weight":            {plain(`,"total_weight":"8"`), "0.5", "must stand together"},
		"weight 0":                 {plain(strings.Replace(weights, "0.5", "0", 1)), "0.5", "not above 0"},
		"no runs":                  {plain(`,"runs":0`), "0.5", "not 1 or more"},
		"resolution 0":             {plain(`,"resolution_exact":"0"`), "0.5", "not above 0"},
		"fraction of an assertion": {strings.Replace(plain(""), `"passed":6`, `"passed":6.5`, 1), "0.5", "malformed"},
		"more than all":            {strings.Replace(plain(""), `"passed":6`, `"passed":60`, 1), "0.5", "not a count"},
		"no JSON":                  {"{", "0.5", "malformed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := Request{ReadFile: func(path string) ([]byte, error) {
				return []byte(map[string]string{"c": tt.candidate, "b": tt.baseline}[path]), nil
			}}
			q.Candidate, q.Baseline = "@c", tt.baseline
			if strings.HasPrefix(tt.baseline, "{") {
				q.Baseline = "@b"
			}
			v, err := q.Decide()
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) || fault.KindOf(err) != fault.Usage {
					t.Errorf("Decide = %v of kind %s, want %q as usage", err, fault.KindOf(err), tt.want)
				}
				return
			}
			if got := string(v.Decision) + " " + Exact(v.Resolution); got != tt.want {
				t.Errorf("Decide = %s by %s, want %s", got, v.Formula, tt.want)
			}
		})
	}
}

// TestRefused is step 1 of loop.md section 2 and R-DEC-1.
func TestRefused(t *testing.T) {
	tests := map[string]Request{
		"no candidate":               {Baseline: "1"},
		"no number":                  {Candidate: "x", Baseline: "1"},
		"negative band":              {Candidate: "1", Baseline: "1", NearMissBand: "-0.1"},
		"negative ratio":             {Candidate: "1", Baseline: "1", NoiseFloor: "-3/101"},
		"ratio over zero":            {Candidate: "1", Baseline: "1", NoiseFloor: "3/0"},
		"direction":                  {Candidate: "1", Baseline: "1", Direction: "up"},
		"boundary":                   {Candidate: "1", Baseline: "1", Boundary: "loose"},
		"smallest weight 0":          {Candidate: "1/2", Baseline: "1/2", SmallestWeight: "0"},
		"smallest weight, decimal":   {Candidate: "1/2", Baseline: "0.5", SmallestWeight: "1"},
		"totals differ":              {Candidate: "1/2", Baseline: "1/3"},
		"file that cannot be opened": {Candidate: "@x", Baseline: "1", ReadFile: func(string) ([]byte, error) { return nil, fmt.Errorf("gone") }},
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) {
			if v, err := q.Decide(); fault.KindOf(err) != fault.Usage {
				t.Errorf("Decide = %s, %v, want a usage fault", v.Decision, err)
			}
		})
	}
	if _, err := Decide(Score{}, Decimal(whole(1)), Bars{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("Decide of no measurement = %v, want a usage fault", err)
	}
}

// TestFormula spells out R-DEC-3.
func TestFormula(t *testing.T) {
	const bars = "threshold max(improvement 0.0200, noise_floor 0, resolution 0) = 0.0200 [improvement_threshold]; "
	tests := map[string]struct {
		q    Request
		want string
	}{
		"decimal":         {Request{Candidate: "0.84", Baseline: "0.78"}, "0.84 - 0.78 = +0.0600; " + bars + "+0.0600 >= 0.0200 -> KEEP"},
		"lower":           {Request{Candidate: "21.76", Baseline: "23.29", Direction: "lower_is_better"}, "-(21.76 - 23.29) = +1.5300; " + bars + "+1.5300 >= 0.0200 -> KEEP"},
		"lower, relative": {Request{Candidate: "100", Baseline: "120", Direction: "lower_is_better", Relative: true}, "-(100 - 120) / abs(120) = +0.1667; " + bars + "+0.1667 >= 0.0200 -> KEEP"},
		"counts": {Request{Candidate: "6/9", Baseline: "4/9"},
			"6/9 - 4/9 = 2/9 = +0.2222; threshold max(improvement 0.0200, noise_floor 0, resolution 2/9) = 2/9 [resolution]; 2/9 >= 2/9 -> KEEP"},
		"counts, loss": {Request{Candidate: "4/9", Baseline: "5/9"},
			"4/9 - 5/9 = -1/9 = -0.1111; threshold max(improvement 0.0200, noise_floor 0, resolution 2/9) = 2/9 [resolution]; -0.1111 <= -0.0500 -> REVERT"},
		"near miss":         {Request{Candidate: "0.81", Baseline: "0.8"}, "0.81 - 0.8 = +0.0100; " + bars + "+0.0100 < 0.0200 -> NEUTRAL (near_miss)"},
		"just under":        {Request{Candidate: "0.0199999", Baseline: "0"}, "0.0199999 - 0 = +0.0200; " + bars + "+0.0199999 < 0.0200 -> NEUTRAL (near_miss)"},
		"within epsilon":    {Request{Candidate: "0.0199999995", Baseline: "0"}, "0.0199999995 - 0 = +0.0200; " + bars + "+0.0200 >= 0.0200 -> KEEP"},
		"tie":               {Request{Candidate: "0.5", Baseline: "0.5"}, "0.5 - 0.5 = +0.0000; " + bars + "+0.0000 = 0 -> NEUTRAL"},
		"small loss":        {Request{Candidate: "0.49", Baseline: "0.5"}, "0.49 - 0.5 = -0.0100; " + bars + "-0.0100 > -0.0500 -> NEUTRAL"},
		"strict":            {Request{Candidate: "0.52", Baseline: "0.5", Boundary: "strict"}, "0.52 - 0.5 = +0.0200; " + bars + "+0.0200 <= 0.0200 -> NEUTRAL (near_miss)"},
		"negative baseline": {Request{Candidate: "-1.5", Baseline: "-1", Direction: "lower_is_better", Relative: true}, "-(-1.5 - (-1)) / abs(-1) = +0.5000; " + bars + "+0.5000 >= 0.0200 -> KEEP"},
		"fallback":          {Request{Candidate: "3", Baseline: "0", Relative: true}, "3 - 0 = +3.0000; " + bars + "+3.0000 >= 0.0200 -> KEEP (relative fallback)"},
		"noise floor as a ratio": {Request{Candidate: "104", Baseline: "101", Relative: true, NoiseFloor: "3/101"},
			"(104 - 101) / abs(101) = +0.0297; threshold max(improvement 0.0200, noise_floor 3/101, resolution 0) = 3/101 [noise_floor]; 3/101 <= 3/101 -> NEUTRAL (near_miss)"},
		"noise floor that ties": {Request{Candidate: "0.52", Baseline: "0.5", NoiseFloor: "0.02"},
			"0.52 - 0.5 = +0.0200; threshold max(improvement 0.0200, noise_floor 0.0200, resolution 0) = 0.0200 [improvement_threshold]; +0.0200 <= 0.0200 -> NEUTRAL (near_miss)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := tt.q.Decide()
			if err != nil {
				t.Fatal(err)
			}
			if v.Formula != tt.want {
				t.Errorf("formula\n%s, want\n%s", v.Formula, tt.want)
			}
		})
	}
}

// TestDocument pins keys and their order (loop.md section 2).
func TestDocument(t *testing.T) {
	v, err := Request{Candidate: "5.5/8", Baseline: "5/8", SmallestWeight: "0.5"}.Decide()
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"decision":"NEUTRAL","near_miss":false,"delta":0.0625,"delta_exact":"1/16","threshold":0.125,"threshold_exact":"1/8",` +
		`"improvement_threshold":0.02,"regression_threshold":0.05,"near_miss_band":0.02,"noise_floor":0,"resolution":0.125,` +
		`"binding_threshold":"resolution","boundary":"inclusive","direction":"higher_is_better","relative":false,"relative_fallback":false,` +
		`"counts":{"N":8,"D":0.5,"candidate":"5.5/8","baseline":"5/8"},"judge":null,` +
		`"formula":"5.5/8 - 5/8 = 1/16 = +0.0625; threshold max(improvement 0.0200, noise_floor 0, resolution 0.1250) = 0.1250 [resolution]; +0.0625 < 0.1250 -> NEUTRAL",` +
		`"advisory":null}`
	if string(got) != want {
		t.Errorf("document\n%s, want\n%s", got, want)
	}
	var back Document
	if err := json.Unmarshal(got, &back); err != nil || back.DeltaExact != "1/16" {
		t.Errorf("reading the document back: %v, %+v", err, back)
	}
}

func TestParseDecision(t *testing.T) {
	measured := map[Decision]bool{Keep: true, Revert: true, Neutral: true, Skip: false, NoOp: false, Invalid: false, Deferred: false}
	for want, isMeasured := range measured {
		got, err := ParseDecision(string(want))
		if err != nil || got != want || got.Measured() != isMeasured {
			t.Errorf("ParseDecision(%q) = %q, %v, measured %t", want, got, err, got.Measured())
		}
	}
	for _, text := range []string{"", "keep", "CRASH", "KEEP "} { // R-DEC-0
		if _, err := ParseDecision(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("ParseDecision(%q) = %v, want a usage fault", text, err)
		}
	}
}

func TestPlateauMissingDecision(t *testing.T) { // R-PLATEAU-1
	p, err := FindPlateau([]string{"KEEP", "", "REVERT"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.MarshalJSON()
	want := `{"plateau":true,"window":2,"last_decisions":[null,"REVERT"],"deferred_skipped":0,"reason":"none of the last 2 decisions is KEEP"}`
	if err != nil || string(got) != want {
		t.Errorf("plateau = %s, %v, want %s", got, err, want)
	}
	if _, err := FindPlateau([]string{"KEPT"}, 2); fault.KindOf(err) != fault.Usage {
		t.Errorf("an unknown decision is %v, want a usage fault", err)
	}
}

// formulaComparison finds what decided.
var formulaComparison = regexp.MustCompile(`; (\S+) (<=|>=|<|>|=) (\S+)( \(within 1e-9\))? -> ([A-Z]+)`)

// checkFormula holds a formula against the verdict it explains: the operator
// must be true of the numbers it stands between (DECISIONS V9).
func checkFormula(t *testing.T, v Verdict) {
	t.Helper()
	m := formulaComparison.FindStringSubmatch(v.Formula)
	if m == nil || m[5] != string(v.Decision) {
		t.Fatalf("formula %q of %s", v.Formula, v.Decision)
	}
	x, okX := new(big.Rat).SetString(m[1])
	y, okY := new(big.Rat).SetString(m[3])
	if !okX || !okY || (m[4] == "" && !holds(x, m[2], y)) {
		t.Errorf("formula %q: %s %s %s is not true", v.Formula, m[1], m[2], m[3])
	}
}

// FuzzDecide: a candidate and its baseline are never both kept over each
// other, a tie is neutral, and the formula says what is true.
func FuzzDecide(f *testing.F) {
	f.Add("7/9", "5/9", "0.02", "0", false, false)
	f.Add("0.0199999995", "0", "0.02", "0.0199999999", true, false)
	f.Add("104", "101", "0.02", "3/101", false, true)
	f.Add("-2e-9", "1e-9", "0", "0", true, true)
	f.Fuzz(func(t *testing.T, a, b, improvement, noise string, strict, relative bool) {
		q := Request{Candidate: a, Baseline: b, Improvement: improvement, NoiseFloor: noise, Relative: relative}
		if strict {
			q.Boundary = string(Strict)
		}
		if strings.HasPrefix(a, "@") || strings.HasPrefix(b, "@") {
			return
		}
		there, err := q.Decide()
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("Decide(%q, %q) = %v of kind %s", a, b, err, fault.KindOf(err))
			}
			return
		}
		q.Candidate, q.Baseline = b, a
		back, err := q.Decide()
		if err != nil {
			t.Fatalf("Decide(%q, %q) works, and back it is %v", a, b, err)
		}
		if there.Decision == Keep && back.Decision == Keep {
			t.Errorf("Decide keeps %q over %q and back", a, b)
		}
		if a == b && there.Decision != Neutral {
			t.Errorf("a tie of %q is %s", a, there.Decision)
		}
		checkFormula(t, there)
		checkFormula(t, back)
		if data, err := json.Marshal(there); err != nil || strings.Contains(string(data), ":-0,") {
			t.Errorf("document %s, %v", data, err)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	candidate, baseline, bars := score(b, "26/50"), score(b, "24/50"), DefaultBars()
	for b.Loop() {
		if _, err := Decide(candidate, baseline, bars); err != nil {
			b.Fatal(err)
		}
	}
}
