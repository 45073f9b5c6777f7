package journal

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// NewRefused is a record of the rejected buffer as it is stored, made of a
// JSON object that a person gave: the members of R-REJ-1 in their order with
// what is missing filled in, then every other member as it was. The hypothesis
// stays whole, the excerpt of the diff is cut (R-REJ-3); stamp is the time if
// the record has none.
//
// A record without an experiment, with a decision that is none or is KEEP, or
// with a member of another type is a usage fault (R-REJ-2).
func NewRefused(data []byte, stamp string) (Object, error) {
	var given Object
	if err := json.Unmarshal(data, &given); err != nil {
		return Object{}, fault.New(fault.Usage, `{"experiment": "exp-004", "decision": "REVERT", ...}`, "the record is no JSON object: %w", err)
	}
	r, err := readRefused(given)
	if err != nil {
		return Object{}, err
	}
	if strings.TrimSpace(r.Experiment) == "" {
		return Object{}, fault.New(fault.Usage, "give the record an experiment", "the record has no experiment")
	}
	decision, err := verdict.ParseDecision(r.Decision)
	if err != nil {
		return Object{}, fault.New(fault.Usage, fault.HintOf(err), "the decision of %s: %w", r.Experiment, err)
	}
	if decision == verdict.Keep {
		return Object{}, fault.New(fault.Usage, "forge loop purpose-append records what was kept", "%s is a KEEP, which was not rejected", r.Experiment)
	}
	if r.Timestamp == "" {
		r.Timestamp = stamp
	}
	return r.stored(given)
}

// stored orders the members of a record.
func (r Refused) stored(given Object) (Object, error) {
	var stored Object
	for _, key := range []string{
		"experiment", "category", "mutation_type", "decision", "near_miss", "hypothesis", "diff_excerpt", "score_before", "score_after", "timestamp",
	} {
		stored.put(key, given.Get(key))
	}
	for _, m := range given.members {
		stored.put(m.key, m.value)
	}
	for key, value := range map[string]any{
		"near_miss": r.NearMiss, "hypothesis": r.Hypothesis, "diff_excerpt": Cut(r.Diff, excerptLength), "timestamp": r.Timestamp,
	} {
		if err := stored.Set(key, value); err != nil {
			return Object{}, err
		}
	}
	return stored, nil
}

// Refused is a record of the rejected buffer as its readers see it. A figure
// is nil unless it is a JSON number, a text is "" unless it is a string.
type Refused struct {
	Run, Experiment        string
	Category, MutationType string
	Decision               string
	NearMiss               bool
	Hypothesis, Diff       string
	Before, After          *big.Rat
	Delta                  *big.Rat
	Timestamp              string
}

// readRefused checks the types of a record's members; null and a missing one
// are the same.
func readRefused(o Object) (Refused, error) {
	var r Refused
	for _, m := range []struct {
		key  string
		into any
	}{
		{"run", &r.Run}, {"experiment", &r.Experiment}, {"category", &r.Category}, {"mutation_type", &r.MutationType}, {"decision", &r.Decision},
		{"near_miss", &r.NearMiss}, {"hypothesis", &r.Hypothesis}, {"diff_excerpt", &r.Diff}, {"timestamp", &r.Timestamp},
	} {
		if json.Unmarshal(o.Get(m.key), m.into) != nil {
			return Refused{}, fault.New(fault.Usage, "texts are strings, near_miss is true or false", "the record's %s is %s", m.key, Cut(string(o.Get(m.key)), 40))
		}
	}
	r.Before, r.After, r.Delta = o.Number("score_before"), o.Number("score_after"), o.Number("delta")
	return r, nil
}

// ReadRefused reads the rejected buffer, oldest first. A line that is no
// record is left out and named in skipped, as FILE:LINE and why (R-REJ-4).
func ReadRefused(parts ...Part) (records []Refused, skipped []string) {
	for _, p := range parts {
		for number, line := range p.Lines() {
			var o Object
			if err := json.Unmarshal(line, &o); err != nil {
				skipped = append(skipped, fmt.Sprintf("%s:%d: no JSON object", p.Name, number))
				continue
			}
			r, err := readRefused(o)
			if err != nil {
				skipped = append(skipped, fmt.Sprintf("%s:%d: %v", p.Name, number, err))
				continue
			}
			records = append(records, r)
		}
	}
	return records, skipped
}

// rejectedHeader says what the list is for.
const rejectedHeader = "Tried before and not kept. Do not repeat what had no effect; prefer failure patterns that are still unsolved.\n"

// FormatRefused renders the last limit records for a prompt; none of them, and
// limit 0, is no text at all. No text of a record can begin a line (R-REJ-4).
func FormatRefused(records []Refused, limit int) (string, error) {
	if limit < 0 {
		return "", fault.New(fault.Usage, "0 shows none", "the limit is %d, want at least 0", limit)
	}
	records = records[max(0, len(records)-limit):]
	if len(records) == 0 {
		return "", nil
	}
	text := rejectedHeader
	for _, r := range records {
		text += "\n" + r.markdown()
	}
	return text, nil
}

func (r Refused) markdown() string {
	orDash := func(text string) string {
		if text = Flatten(text, excerptLength); text == "" {
			return "-"
		}
		return text
	}
	text := "### " + orDash(r.Experiment) + " " + orDash(r.Decision)
	if r.Before != nil && r.After != nil {
		text += fmt.Sprintf(" (score %s to %s)", verdict.Fixed(r.Before, 4, false), verdict.Fixed(r.After, 4, false))
	}
	if r.NearMiss {
		text += " [near_miss]"
	}
	text += "\nCategory: " + orDash(r.Category) + " | Type: " + orDash(r.MutationType) + "\n"
	if hypothesis := Flatten(r.Hypothesis, excerptLength); hypothesis != "" {
		text += "Hypothesis: " + hypothesis + "\n"
	}
	if diff := Flatten(r.Diff, excerptLength); diff != "" {
		text += "Diff: " + diff + "\n"
	}
	return text
}
