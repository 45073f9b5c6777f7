package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"forge/loop/verdict"
)

// Line is one experiment in the history (R-HIST-1). Tree and BaseTree stand
// beside the contract's fields so that a duplicate is found without opening a
// record. Fields are in alphabetical order, as they are stored.
type Line struct {
	BaseTree         string          `json:"base_tree,omitempty"`
	BaselineSource   string          `json:"baseline_source,omitempty"`
	BindingThreshold string          `json:"binding_threshold,omitempty"`
	Category         string          `json:"category"`
	Changes          []Change        `json:"changes"`
	CompositeScore   *json.Number    `json:"composite_score"`
	Confidence       *string         `json:"confidence"`
	CostUSD          string          `json:"cost_usd"`
	Counts           json.RawMessage `json:"counts"`
	Crash            bool            `json:"crash"`
	Decision         string          `json:"decision"`
	Delta            *json.Number    `json:"delta"`
	DeltaExact       string          `json:"delta_exact,omitempty"`
	DurationS        float64         `json:"duration_s"`
	Guard            string          `json:"guard,omitempty"`
	Hypothesis       string          `json:"hypothesis"`
	ID               string          `json:"id"`
	MutationType     string          `json:"mutation_type"`
	NearMiss         bool            `json:"near_miss"`
	Override         *struct{}       `json:"override"`
	Parent           string          `json:"parent"`
	Reason           string          `json:"reason,omitempty"`
	Run              string          `json:"run"`
	ScoreAfter       *json.Number    `json:"score_after"`
	ScoreBefore      *json.Number    `json:"score_before"`
	Section          string          `json:"section,omitempty"`
	Threshold        *json.Number    `json:"threshold"`
	Timestamp        string          `json:"timestamp"`
	Tree             string          `json:"tree,omitempty"`
	Version          *string         `json:"version"`
}

// rejected is one line of the rejected buffer (R-REJ-1).
type rejected struct {
	Candidate    *string      `json:"candidate"`
	Category     string       `json:"category"`
	Confidence   *string      `json:"confidence"`
	Decision     string       `json:"decision"`
	Delta        *json.Number `json:"delta"`
	DiffExcerpt  string       `json:"diff_excerpt"`
	Experiment   string       `json:"experiment"`
	Hypothesis   string       `json:"hypothesis"`
	MutationType string       `json:"mutation_type"`
	N            *int         `json:"N"`
	NearMiss     bool         `json:"near_miss"`
	Run          string       `json:"run"`
	ScoreAfter   *json.Number `json:"score_after"`
	ScoreBefore  *json.Number `json:"score_before"`
	Timestamp    string       `json:"timestamp"`
}

// excerptLength is how much of a diff the rejected buffer shows, in code
// points (R-REJ-3).
const excerptLength = 200

// withheld stands for the diff of a leak: who proposes reads the rejected
// buffer, and must not learn the evals from it (R-REC-3).
const withheld = "[withheld: leak]"

// lineOf is the history line of a record; parent is the run tip before it.
func lineOf(r Record, parent string) Line {
	l := Line{
		Category: r.Hypothesis.Category, Changes: []Change{}, CostUSD: r.CostUSD, Crash: r.Decision.Crash,
		BaselineSource: r.Decision.BaselineSource, Decision: r.Decision.Word, DurationS: r.Timing.DurationS,
		Hypothesis: r.Hypothesis.Text, ID: r.Experiment, MutationType: r.Hypothesis.MutationType,
		Parent: parent, Reason: r.Decision.Reason, Run: r.Run, Timestamp: r.Timing.StartedAt,
	}
	if r.Decision.Candidate != "" {
		l.Version = &r.Decision.Candidate
	}
	if r.Guard != nil {
		l.Guard = r.Guard.Name
	}
	if r.Mutation != nil {
		l.Changes, l.Tree, l.BaseTree = r.Mutation.Changes, r.Mutation.Tree, r.Mutation.BaseTree
	}
	if facts, measured := r.Decision.Facts(); measured {
		l.NearMiss, l.Delta, l.DeltaExact = facts.NearMiss, &facts.Delta, facts.DeltaExact
		l.Threshold, l.BindingThreshold = &facts.Threshold, facts.BindingThreshold
		if before, after, ok := r.Figures(); ok {
			l.ScoreBefore, l.ScoreAfter = number(before), number(after)
		}
		l.CompositeScore, l.Counts, l.Confidence = l.ScoreAfter, facts.Counts, facts.Confidence()
	}
	return l
}

func rejectedOf(r Record, l Line) rejected {
	excerpt := ""
	switch {
	case r.Mutation == nil:
	case r.Guard != nil && r.Guard.Name == "leak":
		excerpt = withheld
	default:
		excerpt = Cut(r.Mutation.Diff, excerptLength)
	}
	facts, _ := r.Decision.Facts()
	return rejected{
		N: facts.Assertions(), Confidence: l.Confidence,
		Candidate: l.Version, Category: l.Category, Decision: l.Decision, Delta: l.Delta, DiffExcerpt: excerpt,
		Experiment: l.ID, Hypothesis: l.Hypothesis, MutationType: l.MutationType, NearMiss: l.NearMiss, Run: l.Run,
		ScoreAfter: l.ScoreAfter, ScoreBefore: l.ScoreBefore, Timestamp: l.Timestamp,
	}
}

// jsonLine is a value as one line of JSON, text unescaped.
func jsonLine(record any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(record); err != nil {
		return nil, fmt.Errorf("encode a line of JSON: %w", err)
	}
	return out.Bytes(), nil
}

// number is exact decimal text as a JSON number, nil where it is none.
func number(text string) *json.Number {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	n := verdict.Number(r)
	return &n
}

// Fold makes foreign text one line: invalid UTF-8 is replaced, and runs of
// white space and control characters become one space.
func Fold(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// Flatten makes foreign text a piece of one line of Markdown, n code points
// long at most: folded, and without a sign that could begin a heading
// (R-REJ-4).
func Flatten(text string, n int) string {
	return Cut(strings.ReplaceAll(Fold(text), "#", "\u2317"), n)
}

// Cut keeps the first n code points.
func Cut(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Shorten makes a piece of foreign text fit into a line of the history: valid,
// on one line, 80 code points.
func Shorten(text string) string { return Cut(Fold(text), summaryLength) }

// Number is the number at the end of an experiment's name; ok is false where
// there is none.
func Number(experiment string) (n int, ok bool) {
	digits := len(experiment)
	for digits > 0 && experiment[digits-1] >= '0' && experiment[digits-1] <= '9' {
		digits--
	}
	n, err := strconv.Atoi(experiment[digits:])
	return n, err == nil
}
