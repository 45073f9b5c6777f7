package handoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// ProposalSchema names the document a proposer may answer with.
const ProposalSchema = "forge.proposal/1"

// maxHypothesis is the longest hypothesis, in code points (R-SUB-7).
const maxHypothesis = 2000

// Proposal is one mutation with the reason for it. Patch, a unified diff with
// paths relative to the target, says what changes; without one Edits does, by
// paths from the root of the repository. Neither is a change of nothing.
type Proposal struct {
	Hypothesis   string
	Category     string
	MutationType string
	Patch        []byte
	Edits        []gitstore.Edit
}

// document is forge.proposal/1 as it is written.
type document struct {
	Schema           string          `json:"schema"`
	Hypothesis       string          `json:"hypothesis"`
	Category         string          `json:"category"`
	MutationType     string          `json:"mutation_type"`
	Section          string          `json:"section"`
	Generalizability json.RawMessage `json:"generalizability"`
	BuildsOnNearMiss json.RawMessage `json:"builds_on_near_miss"`
	BuildsOnPattern  json.RawMessage `json:"builds_on_pattern"`
	Risk             json.RawMessage `json:"risk"`
	Confidence       json.RawMessage `json:"confidence"`
	Patch            string          `json:"patch"`
}

// ParseProposal reads forge.proposal/1. Hypothesis is required; a missing
// category is "unknown". Unknown members and anything behind the object are
// refused (fault Usage).
func ParseProposal(data []byte) (Proposal, error) {
	var doc document
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		return Proposal{}, fault.New(fault.Usage, "", "read proposal: %w", err)
	}
	if decoder.More() {
		return Proposal{}, fault.New(fault.Usage, "", "read proposal: text follows the JSON object")
	}
	if doc.Schema != ProposalSchema {
		return Proposal{}, fault.New(fault.Usage, "", "the proposal's schema is %q, want %q", doc.Schema, ProposalSchema)
	}
	p := Proposal{Hypothesis: Clean(doc.Hypothesis), Category: Clean(doc.Category), MutationType: Clean(doc.MutationType), Patch: []byte(doc.Patch)}
	return p, p.Check()
}

// Check refuses a proposal without a hypothesis or with one that is too long.
func (p Proposal) Check() error {
	if p.Hypothesis == "" {
		return errors.New("the proposal has no hypothesis")
	}
	if n := utf8.RuneCountInString(p.Hypothesis); n > maxHypothesis {
		return fault.New(fault.Usage, "", "the hypothesis has %d code points of at most %d", n, maxHypothesis)
	}
	return nil
}

// Clean makes foreign words storable in a message and a record alike: invalid
// UTF-8 is replaced, control characters become spaces, runs of white space one
// space. So what is read back from a commit is what was stored.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
