package verdict

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// Score is one measured side, exact: a decimal, a count, or a score file. A
// missing measurement has no Score; the zero value is refused by [Decide].
type Score struct {
	value         *big.Rat
	passed, total *big.Rat   // of a count, in weights where there are weights; nil for a decimal
	file          *scoreFile // nil unless it was read from one
}

// Decimal returns a plain number as a score.
func Decimal(r *big.Rat) Score { return Score{value: r} }

// Counts returns passed of total as a score. It is a usage fault unless total
// > 0 and 0 <= passed <= total (loop.md R-NUM-3).
func Counts(passed, total *big.Rat) (Score, error) {
	if total.Sign() <= 0 || passed.Sign() < 0 || passed.Cmp(total) > 0 {
		return Score{}, fault.New(fault.Usage, "a count is PASSED/TOTAL with 0 <= PASSED <= TOTAL and TOTAL above 0",
			"%s is not a count", quote(Shortest(passed)+"/"+Shortest(total)))
	}
	return Score{value: new(big.Rat).Quo(passed, total), passed: passed, total: total}, nil
}

// ParseScore reads a decimal or a count P/T, which may be weighted as in
// 5.5/8 (loop.md R-NUM-1, R-NUM-3). The error is a usage fault.
func ParseScore(text string) (Score, error) {
	above, below, isCount := strings.Cut(text, "/")
	p, err := ParseNumber(above)
	if err != nil {
		return Score{}, err
	}
	if !isCount {
		return Decimal(p), nil
	}
	t, err := ParseNumber(below)
	if err != nil {
		return Score{}, err
	}
	return Counts(p, t)
}

// Value returns the exact value that is compared; nil for the zero Score.
func (s Score) Value() *big.Rat { return s.value }

// String returns the score as it is written in a formula: a count unreduced,
// a decimal as short as it can be.
func (s Score) String() string {
	switch {
	case s.value == nil:
		return "none"
	case s.counted():
		return ratio(s.passed, s.total)
	}
	return Shortest(s.value)
}

// counted reports whether the score is a count, which is compared exactly. A
// score file with a judge is a decimal that carries counts (DECISIONS V20).
func (s Score) counted() bool { return s.passed != nil && !s.judged() }

// judged reports whether the score is a file whose judge weighs.
func (s Score) judged() bool { return s.file != nil && s.file.judge != nil }

// ratio writes p/t without reducing it.
func ratio(p, t *big.Rat) string { return Shortest(p) + "/" + Shortest(t) }

// scoreFile is what decide needs of a score file (loop.md section 5).
type scoreFile struct {
	assertions     int64    // total_assertions, pooled over the runs
	passed         int64    // of them
	smallest       *big.Rat // smallest_weight, nil without weights
	totalWeight    *big.Rat // total_weight, nil without weights
	runs           int64    // runs per side
	resolution     *big.Rat // exact
	gate           [2]*big.Rat
	judge          *big.Rat // llm_judge_score, nil unless the judge weighs
	evals          string   // evals_sha256, "" if null
	ungraded       []string
	passRatio      string // passed over total, unreduced, in weights where there are weights
	compositeExact *big.Rat
	list           json.RawMessage // evals, read only for the advice
}

// scoreMembers is the form of a score file, as far as it is read here.
// json.Number also takes a number in quotes: the weights are exact texts.
type scoreMembers struct {
	CompositeExact  *string         `json:"composite_exact"`
	JudgeScore      *json.Number    `json:"llm_judge_score"`
	GateWeights     *gateWeights    `json:"gate_weights"`
	Runs            *int64          `json:"runs"`
	Passed          *int64          `json:"passed"`
	TotalAssertions *int64          `json:"total_assertions"`
	PassedWeight    *json.Number    `json:"passed_weight"`
	TotalWeight     *json.Number    `json:"total_weight"`
	SmallestWeight  *json.Number    `json:"smallest_weight"`
	ResolutionExact *string         `json:"resolution_exact"`
	Ungraded        []string        `json:"ungraded"`
	Evals           json.RawMessage `json:"evals"`
	EvalsSHA256     *string         `json:"evals_sha256"`
}

// gateWeights is what each part of the composite weighs.
type gateWeights struct {
	Assertions json.Number `json:"assertions"`
	Judge      json.Number `json:"judge"`
}

// ReadScoreFile reads the document of `forge loop score`. Without a judge its
// counts are the value; with one its composite_exact is, and the counts and
// the resolution come along (DECISIONS V20). The rounded members
// composite_score and resolution are never read (loop.md R-DEC-4), unknown
// ones are passed over. The error is a usage fault.
func ReadScoreFile(data []byte) (Score, error) {
	var m scoreMembers
	if err := json.Unmarshal(data, &m); err != nil {
		return Score{}, fault.New(fault.Usage, "a score file is what forge loop score --out writes", "score file is malformed: %w", err)
	}
	f := &scoreFile{runs: 1, ungraded: m.Ungraded, list: m.Evals}
	s := Score{file: f}
	for _, read := range []func(*scoreMembers, *Score) error{readCounts, readWeights, readRuns, readJudge, readResolution} {
		if err := read(&m, &s); err != nil {
			return Score{}, err
		}
	}
	if m.EvalsSHA256 != nil {
		f.evals = *m.EvalsSHA256
	}
	f.passRatio = ratio(s.passed, s.total)
	if s.value = f.compositeExact; !s.judged() {
		s.value = new(big.Rat).Quo(s.passed, s.total)
	}
	return s, nil
}

// badMember is the fault of a score file whose member is wrong.
func badMember(name, why string) error {
	return fault.New(fault.Usage, "", "score file: %s %s", name, why)
}

// readCounts takes passed and total_assertions.
func readCounts(m *scoreMembers, s *Score) error {
	if m.Passed == nil || m.TotalAssertions == nil {
		return badMember("passed and total_assertions", "are missing")
	}
	s.file.passed, s.file.assertions = *m.Passed, *m.TotalAssertions
	counts, err := Counts(new(big.Rat).SetInt64(*m.Passed), new(big.Rat).SetInt64(*m.TotalAssertions))
	if err != nil {
		return err
	}
	s.passed, s.total = counts.passed, counts.total
	return nil
}

// readWeights takes the three weights, which stand together or not at all, in
// place of the counts (loop.md R-SCORE-4).
func readWeights(m *scoreMembers, s *Score) error {
	given := []*json.Number{m.PassedWeight, m.TotalWeight, m.SmallestWeight}
	if !slices.ContainsFunc(given, func(n *json.Number) bool { return n != nil }) {
		return nil
	}
	weights := make([]*big.Rat, len(given))
	for i, n := range given {
		if n == nil {
			return badMember("passed_weight, total_weight and smallest_weight", "must stand together")
		}
		w, err := ParseNumber(n.String())
		if err != nil {
			return err
		}
		weights[i] = w
	}
	counts, err := Counts(weights[0], weights[1])
	if err != nil {
		return err
	}
	if weights[2].Sign() <= 0 {
		return badMember("smallest_weight", "is not above 0")
	}
	s.passed, s.total = counts.passed, counts.total
	s.file.totalWeight, s.file.smallest = weights[1], weights[2]
	return nil
}

// readRuns takes the runs per side (loop.md R-SCORE-10).
func readRuns(m *scoreMembers, s *Score) error {
	if m.Runs == nil {
		return nil
	}
	if *m.Runs < 1 {
		return badMember("runs", "is not 1 or more")
	}
	s.file.runs = *m.Runs
	return nil
}

// readJudge takes the weights of the gate and, where the judge weighs, its
// score and the composite.
func readJudge(m *scoreMembers, s *Score) error {
	s.file.gate = [2]*big.Rat{big.NewRat(1, 1), new(big.Rat)}
	if m.GateWeights == nil {
		return nil
	}
	for i, n := range []json.Number{m.GateWeights.Assertions, m.GateWeights.Judge} {
		s.file.gate[i] = new(big.Rat)
		if n == "" {
			continue
		}
		w, err := ParseNumber(n.String())
		if err != nil {
			return err
		}
		if w.Sign() < 0 {
			return badMember("gate_weights", "are negative")
		}
		s.file.gate[i] = w
	}
	if s.file.gate[1].Sign() == 0 {
		return nil
	}
	if m.JudgeScore == nil || m.CompositeExact == nil {
		return badMember("llm_judge_score and composite_exact", "are missing beside a judge that weighs")
	}
	var err error
	if s.file.judge, err = ParseNumber(m.JudgeScore.String()); err != nil {
		return err
	}
	s.file.compositeExact, err = ParseExact(*m.CompositeExact)
	return err
}

// readResolution takes resolution_exact, or computes it where it is missing.
func readResolution(m *scoreMembers, s *Score) error {
	if m.ResolutionExact == nil {
		s.file.resolution = twoFlips(s.file.smallest, s.file.runs, s.total)
		return nil
	}
	r, err := ParseExact(*m.ResolutionExact)
	if err != nil {
		return err
	}
	if r.Sign() <= 0 {
		return badMember("resolution_exact", "is not above 0")
	}
	s.file.resolution = r
	return nil
}

// twoFlips is 2 x smallest weight x runs / total: what two flips of the
// lightest assertion move, over the distinct assertions (loop.md R-DEC-1). A
// nil weight is 1.
func twoFlips(smallest *big.Rat, runs int64, total *big.Rat) *big.Rat {
	r := new(big.Rat).SetInt64(runs)
	r.Mul(r, big.NewRat(2, 1))
	if smallest != nil {
		r.Mul(r, smallest)
	}
	return r.Quo(r, total)
}
