package history

import (
	"encoding/json"
	"math/big"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// Agent is the history as a proposer gets it: the newest experiments whole,
// the older ones in four members (R-HIST-4).
type Agent struct {
	Detailed []journal.Object `json:"experiments_detailed"`
	Summary  []journal.Object `json:"experiments_summary"`
	Stats    Stats            `json:"stats"`
}

// Stats sums a history up. CurrentBest is the id of the last KEEP and
// BestScore its composite score: the run's tip and not the highest number ever
// seen; null without a KEEP (R-HIST-5).
type Stats struct {
	Total       int             `json:"total"`
	Keeps       int             `json:"keeps"`
	Reverts     int             `json:"reverts"`
	Neutrals    int             `json:"neutrals"`
	BestDelta   *json.Number    `json:"best_delta"`
	CurrentBest json.RawMessage `json:"current_best"`
	BestScore   json.RawMessage `json:"best_score"`
}

// ForAgent is the view with the last keep experiments in full. Compacted
// records have nothing to show in full and stand in the summary as they are.
func (h History) ForAgent(keep int, d verdict.Direction) (Agent, error) {
	older, err := h.older(keep)
	if err != nil {
		return Agent{}, err
	}
	a := Agent{Detailed: []journal.Object{}, Summary: []journal.Object{}}
	for i, r := range h.Records {
		switch {
		case compacted(r):
			a.Summary = append(a.Summary, r)
		case i < older:
			short, err := pick(r, "id", "category", "delta", "decision")
			if err != nil {
				return Agent{}, err
			}
			a.Summary = append(a.Summary, short)
		default:
			a.Detailed = append(a.Detailed, r)
		}
	}
	a.Stats = h.stats(d)
	return a, nil
}

// older is how many records come before the last keep.
func (h History) older(keep int) (int, error) {
	if keep < 0 {
		return 0, fault.New(fault.Usage, "0 keeps none in full", "--keep is %d, want at least 0", keep)
	}
	return max(0, len(h.Records)-keep), nil
}

// pick is a record with these members only, null for those that are missing.
func pick(r journal.Object, keys ...string) (journal.Object, error) {
	var short journal.Object
	for _, key := range keys {
		if err := short.Set(key, r.Get(key)); err != nil {
			return short, err
		}
	}
	return short, nil
}

func (h History) stats(d verdict.Direction) Stats {
	s := Stats{Total: len(h.Records)}
	count := tally{}
	for _, r := range h.Records {
		count.add(r, d)
		if kept(r) {
			s.CurrentBest, s.BestScore = r.Get("id"), r.Get("composite_score")
		}
	}
	s.Keeps, s.Reverts, s.Neutrals, s.BestDelta = count.keeps, count.reverts, count.neutrals, number(count.shown)
	return s
}

// tally counts the measured outcomes of some records and finds the first of
// the largest gains.
type tally struct {
	keeps, reverts, neutrals int
	best, shown              *big.Rat // of the best one: exact, and as it is shown
	bestID                   json.RawMessage
}

func (t *tally) add(r journal.Object, d verdict.Direction) {
	switch decision(r) {
	case verdict.Keep:
		t.keeps++
	case verdict.Revert:
		t.reverts++
	case verdict.Neutral:
		t.neutrals++
	}
	if exact, shown := gain(r, d); exact != nil && (t.best == nil || exact.Cmp(t.best) > 0) {
		t.best, t.shown, t.bestID = exact, shown, r.Get("id")
	}
}

// number is a reading as JSON, null for nil.
func number(r *big.Rat) *json.Number {
	if r == nil {
		return nil
	}
	n := verdict.Number(r)
	return &n
}

// Group is the experiments of one category (R-HIST-6).
type Group struct {
	Experiments    []Entry         `json:"experiments"`
	Total          int             `json:"total"`
	Keeps          int             `json:"keeps"`
	Reverts        int             `json:"reverts"`
	Neutrals       int             `json:"neutrals"`
	BestDelta      *json.Number    `json:"best_delta"`
	BestExperiment json.RawMessage `json:"best_experiment"`

	count tally
}

// Entry is one experiment of a group. Delta is as the record has it.
type Entry struct {
	ID         json.RawMessage `json:"id"`
	Delta      *json.Number    `json:"delta"`
	Decision   json.RawMessage `json:"decision"`
	NearMiss   bool            `json:"near_miss"`
	Hypothesis string          `json:"hypothesis"` // 80 code points
}

// ByCategory is the history by category, in the order in which the categories
// first occur. A record without one is in "unknown".
func (h History) ByCategory(d verdict.Direction) (journal.Object, error) {
	groups := map[string]*Group{}
	var names []string
	for _, r := range h.Records {
		name := r.Text("category")
		if name == "" {
			name = "unknown"
		}
		g := groups[name]
		if g == nil {
			g = &Group{}
			groups[name], names = g, append(names, name)
		}
		g.count.add(r, d)
		g.Experiments = append(g.Experiments, Entry{
			ID: r.Get("id"), Delta: number(delta(r)), Decision: r.Get("decision"),
			NearMiss: r.True("near_miss"), Hypothesis: journal.Cut(r.Text("hypothesis"), hypothesisLength),
		})
	}
	var all journal.Object
	for _, name := range names {
		g := groups[name]
		g.Total, g.Keeps, g.Reverts, g.Neutrals = len(g.Experiments), g.count.keeps, g.count.reverts, g.count.neutrals
		g.BestDelta, g.BestExperiment = number(g.count.shown), g.count.bestID
		if err := all.Set(name, g); err != nil {
			return all, err
		}
	}
	return all, nil
}

// hypothesisLength is how much of a hypothesis a group shows, in code points.
const hypothesisLength = 80
