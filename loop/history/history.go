package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// History is the records of a run, oldest first, and the form they came in:
// one record per line, or seed 001's one document (R-HIST-2).
type History struct {
	Records []journal.Object

	document *journal.Object // around the records; nil for JSON Lines
}

// experiments is the member of a history.json that holds the records.
const experiments = "experiments"

// Read reads a history: one file, or the segments of a folder in order. A file
// whose name ends in .json, or that is one object with a list of experiments,
// is a history.json. What is malformed is a usage fault that names file and
// line.
func Read(parts ...journal.Part) (History, error) {
	var h History
	for _, p := range parts {
		if document, ok, err := readDocument(p); err != nil {
			return History{}, err
		} else if ok {
			return document, nil
		}
		for number, line := range p.Lines() {
			var record journal.Object
			if err := json.Unmarshal(line, &record); err != nil {
				return History{}, fault.New(fault.Usage, "one JSON object per line", "%s:%d: %s", p.Name, number, reason(err))
			}
			h.Records = append(h.Records, record)
		}
	}
	return h, nil
}

// readDocument reads a history.json; ok is false for a file that is none.
func readDocument(p journal.Part) (h History, ok bool, err error) {
	named := strings.HasSuffix(p.Name, ".json") && len(bytes.TrimSpace(p.Data)) > 0
	var document journal.Object
	if err := json.Unmarshal(p.Data, &document); err != nil {
		if named {
			err = malformed(p, err, "a history.json is one object with a list of experiments")
			return History{}, false, err
		}
		return History{}, false, nil
	}
	h.document = &document
	raw := document.Get(experiments)
	if !named && (len(raw) == 0 || raw[0] != '[') {
		return History{}, false, nil
	}
	if err := json.Unmarshal(raw, &h.Records); err != nil {
		return History{}, false, fault.New(fault.Usage, "", "%s: the experiments are no list of JSON objects", p.Name)
	}
	return h, true, nil
}

// malformed is the fault of a part that is no JSON, with its line.
func malformed(p journal.Part, err error, hint string) error {
	line := 1
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line += bytes.Count(p.Data[:min(int(syntax.Offset), len(p.Data))], []byte("\n"))
	}
	return fault.New(fault.Usage, hint, "%s:%d: %s", p.Name, line, reason(err))
}

// reason is an error of the JSON decoder in the words of this program.
func reason(err error) string {
	if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
		return "malformed JSON: " + err.Error()
	}
	return err.Error()
}

// Encode writes the history in the form it was read in.
func (h History) Encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if h.document != nil {
		document := *h.document
		if err := document.Set(experiments, h.Records); err != nil {
			return nil, err
		}
		encoder.SetIndent("", "  ")
		err := encoder.Encode(document)
		return out.Bytes(), err
	}
	for _, record := range h.Records {
		if err := encoder.Encode(record); err != nil {
			return nil, fmt.Errorf("encode a record: %w", err)
		}
	}
	return out.Bytes(), nil
}

// Decisions are the decisions of the records, "" where there is none. One that
// is no text is a usage fault.
func (h History) Decisions() ([]string, error) {
	decisions := make([]string, len(h.Records))
	for i, r := range h.Records {
		raw := r.Get("decision")
		if json.Unmarshal(raw, &decisions[i]) != nil {
			return nil, fault.New(fault.Usage, "", "the decision of record %d is %.40s, which is no text", i+1, raw)
		}
	}
	return decisions, nil
}

// compacted says whether a record was reduced by [History.Compact].
func compacted(r journal.Object) bool { return r.True("_compacted") }

// delta is a record's difference as it stands there: a number, or the text of
// one ("+0.06"). A missing or unreadable one is nil, never 0 (R-HIST-6).
func delta(r journal.Object) *big.Rat {
	if n := r.Number("delta"); n != nil {
		return n
	}
	n, err := journal.ParseFigure(r.Text("delta"))
	if err != nil {
		return nil
	}
	return n
}

// gain is the delta of a measured outcome, positive is better, exactly and as
// it is shown; nil for any other. Where forge itself decided, delta_exact
// stands beside a rounded delta, and both are turned already (R-TSV-3); any
// other delta is after - before.
func gain(r journal.Object, d verdict.Direction) (exact, shown *big.Rat) {
	shown = delta(r)
	if shown == nil || !decision(r).Measured() {
		return nil, nil
	}
	text := r.Text("delta_exact")
	if text == "" {
		shown = journal.Orient(shown, d)
		return shown, shown
	}
	exact, err := journal.ParseFigure(text)
	if err != nil {
		return shown, shown
	}
	return exact, shown
}

func decision(r journal.Object) verdict.Decision { return verdict.Decision(r.Text("decision")) }

// kept says whether the tip of the run moved to a record: by its verdict, or
// because a person decided otherwise (DECISIONS V17).
func kept(r journal.Object) bool {
	var override struct{ Keep *bool }
	if json.Unmarshal(r.Get("override"), &override) == nil && override.Keep != nil {
		return *override.Keep
	}
	return decision(r) == verdict.Keep
}
