package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Event is one line of a run's progress stream (handoff.md section 11). Its
// data never holds a prompt, a key or the text of a val or test eval.
type Event struct {
	Name       string // event
	Seq        int    // from 1
	At         string // UTC
	Run        string
	Experiment string // "" outside an experiment
	Data       any    // one of the structs below
}

// The data of the events of handoff.md section 11.
type (
	// RunStarted is the data of run_started.
	RunStarted struct {
		Target         string  `json:"target"`
		Mode           string  `json:"mode"`
		Branch         string  `json:"branch"`
		Base           string  `json:"base"`
		Proposer       string  `json:"proposer"`
		Runner         *string `json:"runner"`
		MaxExperiments int     `json:"max_experiments"`
		MaxUSD         *string `json:"max_usd"`
		Resumed        bool    `json:"resumed"`
	}
	// MeasureStarted is the data of measure_started.
	MeasureStarted struct {
		What string `json:"what"`
		Runs int    `json:"runs"`
	}
	// PairStarted is the data of pair_started: the pair's place in the order of
	// starting, from 1, and the side that runs first. Which eval it is is not
	// said.
	PairStarted struct {
		Index int    `json:"index"`
		Of    int    `json:"of"`
		Order string `json:"order"`
	}
	// PairFinished is the data of pair_finished. Outcome is the first that is not
	// ok; without a result the counts are 0.
	PairFinished struct {
		Index           int     `json:"index"`
		Of              int     `json:"of"`
		Order           string  `json:"order"`
		Outcome         string  `json:"outcome"`
		PassedBase      int     `json:"passed_base"`
		PassedCandidate int     `json:"passed_candidate"`
		Total           int     `json:"total"`
		Seconds         float64 `json:"seconds"`
		CostUSD         string  `json:"cost_usd"`
	}
	// MeasureFinished is the data of measure_finished.
	MeasureFinished struct {
		What       string      `json:"what"`
		Score      json.Number `json:"score"`
		Exact      string      `json:"exact"`
		NoiseFloor string      `json:"noise_floor,omitempty"`
		Seconds    float64     `json:"seconds"`
		CostUSD    string      `json:"cost_usd"`
	}
	// ExperimentStarted is the data of experiment_started.
	ExperimentStarted struct {
		N       int    `json:"n"`
		BriefID string `json:"brief_id"`
		Phase   string `json:"phase"`
	}
	// ProposalMade is the data of proposal.
	ProposalMade struct {
		Hypothesis   string   `json:"hypothesis"`
		Category     string   `json:"category"`
		MutationType string   `json:"mutation_type"`
		Fallbacks    []string `json:"fallbacks"`
	}
	// CandidateMade is the data of candidate.
	CandidateMade struct {
		Commit       string `json:"commit"`
		Files        int    `json:"files"`
		LinesAdded   int    `json:"lines_added"`
		LinesRemoved int    `json:"lines_removed"`
	}
	// GuardRefused is the data of guard.
	GuardRefused struct {
		Guard   string `json:"guard"`
		Message string `json:"message"`
	}
	// VerdictReached is the data of verdict.
	VerdictReached struct {
		Decision   string       `json:"decision"`
		NearMiss   bool         `json:"near_miss"`
		Delta      *json.Number `json:"delta"`
		DeltaExact string       `json:"delta_exact"`
		Threshold  string       `json:"threshold"`
		Binding    string       `json:"binding"`
		Confidence *string      `json:"confidence"`
		Commit     string       `json:"commit"`
		Override   *string      `json:"override"`
		Hypothesis string       `json:"hypothesis"`
		Reason     string       `json:"reason"`
	}
	// Warned is the data of warning.
	Warned struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	}
	// Failed is the data of error, the last line of a run that an error ended.
	Failed struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	}
	// RunFinished is the data of run_finished, the last line of any other run.
	RunFinished struct {
		Reason      Reason       `json:"reason"`
		Kept        int          `json:"kept"`
		Start       *json.Number `json:"start"`
		End         *json.Number `json:"end"`
		Delta       *json.Number `json:"delta"`
		Experiments int          `json:"experiments"`
		SpentUSD    string       `json:"spent_usd"`
		Branch      string       `json:"branch"`
		Tip         string       `json:"tip"`
		Report      string       `json:"report"`
		Land        string       `json:"land"`
		Exit        int          `json:"exit"`
	}
)

// MarshalJSON writes the fields every line has, then those of the event.
func (e Event) MarshalJSON() ([]byte, error) {
	head := struct {
		Event      string  `json:"event"`
		Seq        int     `json:"seq"`
		At         string  `json:"at"`
		Run        string  `json:"run"`
		Experiment *string `json:"experiment"`
	}{Event: e.Name, Seq: e.Seq, At: e.At, Run: e.Run}
	if e.Experiment != "" {
		head.Experiment = &e.Experiment
	}
	front, err := plainJSON(head)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Name, err)
	}
	back, err := plainJSON(e.Data)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Name, err)
	}
	if len(back) <= 2 || back[0] != '{' {
		return front, nil
	}
	return append(append(front[:len(front)-1], ','), back[1:]...), nil
}

// plainJSON is a value on one line without the escapes that only HTML needs.
func plainJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
