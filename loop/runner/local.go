package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// Local runs pairs on this machine. Close it when nothing runs any more.
type Local struct {
	Shelf *Shelf           // required
	Now   func() time.Time // required: the program's clock

	// For [KindCommand].
	Repo    *gitstore.Repo
	Execute func(context.Context, process.Command) (process.Result, error)
	Child   []string // what every child is given of the person's environment: PATH, TZ

	mu    sync.Mutex
	seats []*seat // nobody sits there now
}

var _ Executor = (*Local)(nil)

// Run measures both sides of a pair, the one that starts first.
func (l *Local) Run(ctx context.Context, p Pair) (Result, error) {
	id, err := p.ID()
	if err != nil {
		return Result{}, err
	}
	r := Result{Pair: id}
	measure := l.lexical
	switch p.Runner.Kind {
	case KindLexical:
	case KindCommand:
		where, err := l.take(ctx, p)
		if err != nil {
			return Result{}, err
		}
		defer l.give(where)
		measure = where.measure
	default:
		return Result{}, fault.New(fault.Usage, "--runner lexical, or --runner command:CMD", "the runner %q is not part of this version of forge", p.Runner.Kind)
	}
	order := []int{p.First, 1 - p.First}
	for _, side := range order {
		if p.Skip[side] {
			continue
		}
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		began := l.Now()
		if r.Sides[side], err = measure(ctx, p, side); err != nil {
			return Result{}, fmt.Errorf("measure eval %q: %w", p.Eval.ID, err)
		}
		r.Sides[side].Seconds = l.Now().Sub(began).Seconds()
		if p.Runner.Kind == KindCommand && r.Sides[side].Outcome == OK {
			if err := r.Sides[side].time(); err != nil {
				return Result{}, err
			}
		}
	}
	return r, nil
}

// time keeps what the run took, for the efficiency of a score (loop.md
// R-SCORE-6). What is not known is left out.
func (s *Side) time() error {
	data, err := json.Marshal(struct {
		Tokens  *int64  `json:"total_tokens,omitempty"`
		Seconds float64 `json:"total_duration_seconds"`
	}{s.Tokens, s.Seconds})
	if err != nil {
		return fmt.Errorf("write what a run took: %w", err)
	}
	s.Evidence = append(s.Evidence, Evidence{Name: timingName, Data: append(data, '\n')})
	return nil
}

// timingName is the file a score reads what a run took from.
const timingName = "timing.json"

// lexical answers a query by searching the library of the side (R-LEX-5).
func (l *Local) lexical(ctx context.Context, p Pair, side int) (Side, error) {
	if err := CheckLexical([]evals.Eval{p.Eval}); err != nil {
		return Side{}, err
	}
	threshold, err := strconv.ParseFloat(p.Runner.LexicalThreshold, 64)
	if err != nil {
		return Side{}, fmt.Errorf("read the lexical threshold: %w", err)
	}
	commit, without := p.Commits[side], false
	if commit == "" { // the no-skill side is the library without the target (R-LEX-6)
		commit, without = p.Commits[1-side], true
	}
	library, err := l.Shelf.Library(ctx, commit, p.Skill, without)
	if err != nil {
		return Side{}, err
	}
	answer := library.Search(p.Eval.Prompt, p.Skill, threshold)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return Side{}, fmt.Errorf("encode the answer: %w", err)
	}
	s := Side{Outcome: OK, Evidence: []Evidence{{Name: "answer.json", Data: out.Bytes()}}}
	if answer.Triggered {
		s.Triggered = 1
	}
	for _, check := range p.Eval.Checks {
		s.Verdicts = append(s.Verdicts, verdictOf(check, answer.Triggered == p.Eval.ShouldTrigger))
	}
	return s, nil
}

// CheckLexical refuses evals that are no trigger queries: the lexical runner
// answers nothing else.
func CheckLexical(list []evals.Eval) error {
	i := slices.IndexFunc(list, func(e evals.Eval) bool {
		return slices.ContainsFunc(e.Checks, func(c evals.Check) bool { return c.Kind != evals.Triggered })
	})
	if i < 0 {
		return nil
	}
	return fault.New(fault.Usage, "--runner command:CMD, or write trigger queries", "the lexical runner answers trigger queries only, and eval %q is none", list[i].ID)
}
