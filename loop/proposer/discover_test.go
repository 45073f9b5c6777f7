package proposer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"forge/gitstore"
	"forge/gitstore/skill"
	"forge/loop/handoff"
)

// ask gives discover a skill, its train queries and two competitors; elsewhere
// are texts that another run's attempts on this state hold.
func ask(t *testing.T, file string, elsewhere []string, tried []handoff.Tried, train ...handoff.Query) (description string, p handoff.Proposal, err error) {
	t.Helper()
	task := handoff.Task{Train: train, Scope: []string{"skills/x/SKILL.md"}}
	task.Brief.Target.Path = "skills/x"
	task.Brief.Tried = tried
	task.Brief.Library = []handoff.Skill{{Path: "skills/pdf", Name: "pdf-forms", Description: "Fills in PDF forms."}, {Path: "skills/clean", Name: "csv-clean", Description: "Removes broken rows."}}
	task.Repeats = func(_ context.Context, edits []gitstore.Edit) (bool, error) {
		return slices.ContainsFunc(elsewhere, func(d string) bool { return strings.Contains(string(edits[0].Data), d) }), nil
	}
	task.Read = func(context.Context, string) ([]byte, error) { return []byte(file), nil }
	if p, err = (Discover{}).Propose(t.Context(), task); err != nil {
		return "", p, err
	}
	d, parseErr := skill.Parse(p.Edits[0].Data)
	if parseErr != nil {
		t.Fatalf("the proposal is no skill any more: %v\n%s", parseErr, p.Edits[0].Data)
	}
	return d.Description, p, nil
}

func file(description string) string {
	return "---\nname: totals\ndescription: " + description + "\n---\n\n# Body\n"
}

func yes(text string) handoff.Query { return handoff.Query{Text: text, ShouldTrigger: true} }
func no(text string) handoff.Query  { return handoff.Query{Text: text} }

// R-DISC-1 to R-DISC-6; handoff.md pitfall 9.
func TestDiscover(t *testing.T) {
	tests := map[string]struct {
		description string
		train       []handoff.Query
		want        string // the whole description, "" for exhausted
	}{
		"a word is added":           {"Adds up columns.", []handoff.Query{yes("revenue")}, "Adds up columns. Use when the task involves revenue."},
		"a full stop is added":      {"Adds up columns", []handoff.Query{yes("revenue")}, "Adds up columns. Use when the task involves revenue."},
		"the own clause is grown":   {"Sums. Use when the task involves quarterly or revenue.", []handoff.Query{yes("quarterly revenue"), yes("invoices overdue")}, "Sums. Use when the task involves quarterly, revenue, invoices or overdue."},
		"in double quotes":          {`"Adds up: columns."`, []handoff.Query{yes("revenue")}, "Adds up: columns. Use when the task involves revenue."},
		"folded":                    {">-\n  Adds up\n  columns.", []handoff.Query{yes("revenue")}, "Adds up columns. Use when the task involves revenue."},
		"another script":            {"Adds up columns.", []handoff.Query{yes("合計")}, "Adds up columns. Use when the task involves 合計."},
		"all right already":         {"Adds up columns.", []handoff.Query{yes("columns"), no("weather")}, ""},
		"digits are no words":       {"Adds up columns.", []handoff.Query{yes("2026")}, ""},
		"a person's own sentence":   {"Adds up. Use when the task involves Big Sums.", []handoff.Query{yes("revenue")}, "Adds up. Use when the task involves Big Sums. Use when the task involves revenue."},
		"a false trigger goes away": {"Adds up columns. Use when the task involves weather.", []handoff.Query{no("weather"), yes("columns")}, "Adds up columns."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, p, err := ask(t, file(tt.description), nil, nil, tt.train...)
			if tt.want == "" {
				if !errors.Is(err, handoff.ErrExhausted) {
					t.Fatalf("Propose = %q, %v, want exhausted", got, err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("Propose = %q, %v, want %q", got, err, tt.want)
			}
			if p.Category != "content_quality" || p.MutationType != "instruction_edit" || !strings.HasPrefix(p.Hypothesis, "say when: ") {
				t.Errorf("proposal %+v", p)
			}
			if !strings.HasSuffix(string(p.Edits[0].Data), "---\n\n# Body\n") {
				t.Errorf("the body changed:\n%s", p.Edits[0].Data)
			}
		})
	}
}

// R-DISC-5: what was tried on this baseline is not proposed again; after a
// KEEP it may be.
func TestDiscoverTried(t *testing.T) {
	_, first, err := ask(t, file("Adds up columns."), nil, nil, yes("revenue please"), yes("invoices please"))
	if err != nil {
		t.Fatal(err)
	}
	tried := []handoff.Tried{{Hypothesis: first.Hypothesis, Decision: "NEUTRAL"}}
	_, second, err := ask(t, file("Adds up columns."), nil, tried, yes("revenue please"), yes("invoices please"))
	if err != nil || second.Hypothesis == first.Hypothesis {
		t.Errorf("tried %q, then proposed %q, %v", first.Hypothesis, second.Hypothesis, err)
	}
	tried = append(tried, handoff.Tried{Hypothesis: "say when: other", Decision: "KEEP"})
	_, third, err := ask(t, file("Adds up columns."), nil, tried, yes("revenue please"), yes("invoices please"))
	if err != nil || third.Hypothesis != first.Hypothesis {
		t.Errorf("after a KEEP: proposed %q, %v, want %q again", third.Hypothesis, err, first.Hypothesis)
	}
}

// R-PROP-3, K12: what another run made of this very state is passed over, not
// proposed and refused.
func TestDiscoverElsewhere(t *testing.T) {
	_, first, err := ask(t, file("Adds up columns."), nil, nil, yes("revenue please"), yes("invoices please"))
	if err != nil {
		t.Fatal(err)
	}
	made := string(first.Edits[0].Data)
	_, second, err := ask(t, file("Adds up columns."), []string{made}, nil, yes("revenue please"), yes("invoices please"))
	if err != nil || second.Hypothesis == first.Hypothesis {
		t.Errorf("another run tried %q, this one proposed %q, %v", first.Hypothesis, second.Hypothesis, err)
	}
	if _, last, err := ask(t, file("Adds up columns."), []string{"Adds up"}, nil, yes("revenue please")); !errors.Is(err, handoff.ErrExhausted) {
		t.Errorf("with nothing new to try: proposed %q, %v, want exhausted", last.Hypothesis, err)
	}
}

// R-DISC-4: the result fits into 1,024 code points, or is not proposed.
func TestDiscoverLength(t *testing.T) {
	long := strings.Repeat("x", 1020) + "."
	if got, _, err := ask(t, file(long), nil, nil, yes("revenue")); !errors.Is(err, handoff.ErrExhausted) {
		t.Errorf("a description of %d code points became one of %d", utf8.RuneCountInString(long), utf8.RuneCountInString(got))
	}
}

// Joining words and taking the clause apart are each other's opposite.
func FuzzSplitClause(f *testing.F) {
	f.Add("Adds up. Use when the task involves a, b or c.")
	f.Fuzz(func(t *testing.T, description string) {
		description = strings.Join(strings.Fields(description), " ") // as a description is read
		before, words := splitClause(description)
		if words == nil {
			if before != description {
				t.Errorf("splitClause(%q) = %q without words", description, before)
			}
			return
		}
		again, same := splitClause((&discovery{before: before}).describe(words))
		if !slices.Equal(same, words) || strings.TrimRight(again, ".") != strings.TrimRight(before, ".") {
			t.Errorf("splitClause(%q) = %q %q, and back %q %q", description, before, words, again, same)
		}
	})
}
