package proposer

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/gitstore/skill"
	"forge/gitstore/text"
	"forge/loop/handoff"
	"forge/loop/lexical"
	"forge/loop/verdict"
)

// Discover makes a skill easier to find (builtin:discover): it changes the
// description alone, by one sentence of its own at the end. It keeps no state.
//
// Source: handoff.md section 6 (R-DISC-1 to R-DISC-6).
type Discover struct{}

// The sentence discover owns, and its bounds.
const (
	clauseStart = "Use when the task involves "
	clauseWords = 6 // new words of one proposal
	longest     = 1024
)

// Propose answers a brief in skill mode with trigger evals.
func (Discover) Propose(ctx context.Context, task handoff.Task) (handoff.Proposal, error) {
	if task.Train == nil {
		return handoff.Proposal{}, fault.New(fault.Usage, "--proposer command:CMD, or write trigger queries", "builtin:discover needs trigger queries in the train split")
	}
	file, err := skillFile(task)
	if err != nil {
		return handoff.Proposal{}, err
	}
	data, err := task.Read(ctx, file)
	if err != nil {
		return handoff.Proposal{}, fmt.Errorf("read %q: %w", file, err)
	}
	document, err := skill.Parse(data)
	if err != nil {
		return handoff.Proposal{}, fault.New(fault.Usage, "forge reads what YAML allows; quote the value", "%s: %w", file, err)
	}
	d := newDiscovery(task, document)
	for {
		best, found := d.choose()
		if !found {
			return handoff.Proposal{}, handoff.ErrExhausted
		}
		edited, err := document.SetDescription(best.description)
		if err != nil {
			return handoff.Proposal{}, err
		}
		edits := []gitstore.Edit{gitstore.Put(file, edited)}
		repeats, err := task.Repeats(ctx, edits)
		if err != nil {
			return handoff.Proposal{}, err
		}
		if !repeats {
			return handoff.Proposal{
				Hypothesis: best.hypothesis(), Category: "content_quality", MutationType: "instruction_edit", Edits: edits,
			}, nil
		}
		d.tried[best.hypothesis()] = true // by another run, from this state
	}
}

// skillFile is the target's SKILL.md.
func skillFile(task handoff.Task) (string, error) {
	for _, file := range task.Scope {
		if path.Dir(file) == task.Brief.Target.Path && strings.EqualFold(path.Base(file), "SKILL.md") {
			return file, nil
		}
	}
	return "", fault.New(fault.Usage, "", "%q has no SKILL.md", task.Brief.Target.Path)
}

// discovery is one brief, taken apart.
type discovery struct {
	task    handoff.Task
	name    string
	present string   // the description as it stands
	before  string   // the same without the own clause
	words   []string // of the own clause
	fresh   []string // words that may be added
	library *lexical.Library
	now     score
	tried   map[string]bool // hypotheses on this baseline
	scored  map[string]score
}

// score of a description: train queries answered rightly, then the sum of
// shortfalls, compared in this order (R-DISC-2).
type score struct {
	right     int
	shortfall float64
}

func (a score) compare(b score) int {
	return cmp.Or(cmp.Compare(a.right, b.right), cmp.Compare(a.shortfall, b.shortfall))
}

// clause is one candidate.
type clause struct {
	words       []string
	description string
	score       score
}

// hypothesis is what is recorded, and what says that it was tried.
func (c clause) hypothesis() string {
	if len(c.words) == 0 {
		return "say when: nothing"
	}
	return "say when: " + strings.Join(c.words, ", ")
}

func newDiscovery(task handoff.Task, document skill.Document) *discovery {
	d := &discovery{task: task, name: document.Name, present: document.Description, tried: map[string]bool{}, scored: map[string]score{}}
	d.before, d.words = splitClause(document.Description)
	var others []lexical.Document
	for _, l := range task.Brief.Library {
		others = append(others, lexical.Document{Path: l.Path, Name: l.Name, Description: l.Description})
	}
	d.library = lexical.NewLibrary(others)
	d.now = d.scoreOf(document.Description)
	for _, t := range task.Brief.Tried {
		if t.Decision == string(verdict.Keep) {
			clear(d.tried)
		}
		d.tried[t.Hypothesis] = true
	}
	d.fresh = d.freshWords(document.Description)
	return d
}

// splitClause takes the own sentence off a description (R-DISC-1).
func splitClause(description string) (before string, words []string) {
	i := strings.LastIndex(description, clauseStart)
	if i < 0 || !strings.HasSuffix(description, ".") || i > 0 && description[i-1] != ' ' {
		return description, nil
	}
	inside := strings.TrimSuffix(description[i+len(clauseStart):], ".")
	list, last, several := strings.Cut(inside, " or ")
	words = strings.Split(list, ", ")
	if several {
		words = append(words, last)
	}
	for _, w := range words {
		if tokens := text.Tokens(w); len(tokens) != 1 || tokens[0] != w {
			return description, nil // a person's sentence of that form
		}
	}
	if join(words) != inside {
		return description, nil
	}
	return strings.TrimSuffix(description[:i], " "), words
}

// join is "a", "a or b", "a, b or c".
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// describe is the description with a clause of these words. The text before
// it keeps its bytes, but for a full stop where none ended it.
func (d *discovery) describe(words []string) string {
	if len(words) == 0 {
		return d.before
	}
	before := d.before
	if before != "" && !strings.ContainsAny(before[len(before)-1:], ".!?") {
		before += "."
	}
	return strings.TrimSpace(before + " " + clauseStart + join(words) + ".")
}

// scoreOf searches every train query in the library with that description.
func (d *discovery) scoreOf(description string) score {
	if s, known := d.scored[description]; known {
		return s
	}
	target := d.task.Brief.Target.Path
	library := d.library.With(lexical.Document{Path: target, Name: d.name, Description: description})
	var s score
	for _, q := range d.task.Train {
		answer := library.Search(q.Text, target, 1)
		if answer.Triggered == q.ShouldTrigger {
			s.right++
		}
		s.shortfall += answer.Shortfall(q.ShouldTrigger)
	}
	d.scored[description] = s
	return s
}

// freshWords are the tokens of failing should-trigger queries, in file order,
// that name and description do not have yet (R-DISC-3).
func (d *discovery) freshWords(description string) []string {
	have := text.NewSet(append(text.Tokens(d.name), text.Tokens(description)...))
	target := d.task.Brief.Target.Path
	library := d.library.With(lexical.Document{Path: target, Name: d.name, Description: description})
	var fresh []string
	for _, q := range d.task.Train {
		if !q.ShouldTrigger || library.Search(q.Text, target, 1).Triggered {
			continue
		}
		for _, token := range text.Tokens(q.Text) {
			if utf8.RuneCountInString(token) >= 2 && strings.Trim(token, "0123456789") != "" && !have.Has(token) && !slices.Contains(fresh, token) {
				fresh = append(fresh, token)
			}
		}
	}
	return fresh
}

// choose is the best candidate that beats the present description on train
// and was not tried on it (R-DISC-4, R-DISC-5).
func (d *discovery) choose() (best clause, found bool) {
	for _, words := range d.candidates() {
		c := clause{words: words, description: d.describe(words)}
		if d.task.Brief.Limits.OverBudget && utf8.RuneCountInString(c.description) >= utf8.RuneCountInString(d.present) {
			continue // only what makes the skill smaller is measured
		}
		if !usable(c.description) || d.tried[c.hypothesis()] {
			continue
		}
		c.score = d.scoreOf(c.description)
		if c.score.compare(d.now) <= 0 {
			continue
		}
		if !found || better(c, best) {
			best, found = c, true
		}
	}
	return best, found
}

func better(a, b clause) bool {
	return cmp.Or(b.score.compare(a.score), cmp.Compare(len(a.description), len(b.description)), cmp.Compare(a.description, b.description)) < 0
}

// usable says whether a description may be written (R-DISC-4).
func usable(description string) bool {
	return utf8.RuneCountInString(description) <= longest && strings.HasSuffix(description, ".") && !strings.ContainsAny(description, "<>\n\r")
}

// candidates are the word lists of R-DISC-4: every prefix of the greedy
// choice, each single word, and the clause without one of its words.
func (d *discovery) candidates() [][]string {
	lists := d.greedy()
	for _, word := range d.fresh {
		lists = append(lists, append(slices.Clone(d.words), word))
	}
	for i := range d.words {
		lists = append(lists, slices.Delete(slices.Clone(d.words), i, i+1))
	}
	return lists
}

// greedy adds the word that scores best, again and again while the score
// rises; of equals the first in order.
func (d *discovery) greedy() (prefixes [][]string) {
	words, now := slices.Clone(d.words), d.now
	left := slices.Clone(d.fresh)
	for range clauseWords {
		at := -1
		for i, word := range left {
			if s := d.scoreOf(d.describe(append(slices.Clone(words), word))); s.compare(now) > 0 {
				at, now = i, s
			}
		}
		if at < 0 {
			return prefixes
		}
		words = append(words, left[at])
		left = slices.Delete(left, at, at+1)
		prefixes = append(prefixes, slices.Clone(words))
	}
	return prefixes
}
