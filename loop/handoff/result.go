package handoff

import "encoding/json"

// ResultSchema names the document that answers a submission.
const ResultSchema = "forge.result/1"

// Result is the document forge.result/1. Wins, losses and ties are numbers and
// never ids: a proposer must not learn which eval of the val split moved.
type Result struct {
	Schema          string       `json:"schema"`
	Run             string       `json:"run"`
	Experiment      string       `json:"experiment"`
	BriefID         string       `json:"brief_id"`
	Decision        string       `json:"decision"`
	NearMiss        bool         `json:"near_miss"`
	Guard           *string      `json:"guard"`
	Reason          *string      `json:"reason"`
	Crash           bool         `json:"crash"`
	Delta           *json.Number `json:"delta"`
	DeltaExact      *string      `json:"delta_exact"`
	Baseline        *Point       `json:"baseline"`
	Candidate       *Point       `json:"candidate"`
	Threshold       *string      `json:"threshold"`
	Binding         *string      `json:"binding"`
	Formula         *string      `json:"formula"`
	Confidence      *string      `json:"confidence"`
	MidP            *json.Number `json:"mid_p"`
	Wins            int          `json:"wins"`
	Losses          int          `json:"losses"`
	Ties            int          `json:"ties"`
	Commit          string       `json:"commit"`
	CandidateRef    *string      `json:"candidate_ref"`
	CandidateCommit *string      `json:"candidate_commit"`
	EvalsRun        int          `json:"evals_run"`
	DurationS       float64      `json:"duration_s"`
	CostUSD         string       `json:"cost_usd"`
	Warnings        []string     `json:"warnings"`
	Next            string       `json:"next"`
	Finished        *Finished    `json:"finished"`
}

// Finished says that a run is over (R-NEXT-5). Report is a path in the run's
// tip.
type Finished struct {
	Reason string `json:"reason"`
	Report string `json:"report"`
	Kept   int    `json:"kept"`
	Land   string `json:"land"`
}

// Over is what `forge next` prints for a finished run, in place of a brief.
type Over struct {
	Schema   string   `json:"schema"`
	Run      string   `json:"run"`
	Finished Finished `json:"finished"`
}
