// Package lexical is the stand-in for a client's choice of a skill: a BM25
// search of a query over the names and descriptions of a library, without a
// model. It is deterministic on every machine and free.
//
// Source: handoff.md section 7 (R-LEX-1 to R-LEX-6).
package lexical

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"forge/gitstore/text"
)

// The parameters of BM25 and how much a word of a name counts (R-LEX-2,
// R-LEX-3).
const (
	k1         = 1.2
	b          = 0.75
	nameWeight = 2
)

// Document is one skill that a client could list, identified by its path.
type Document struct {
	Path, Name, Description string
}

// Library is an index of documents. It is not changed once it is made.
type Library struct {
	documents []Document
	positions map[string]int       // of a document by path
	postings  map[string][]posting // by token, documents in order
	lengths   []float64
	total     float64 // of lengths
	guest     *guest
}

// guest is one more document that a library was given for a moment.
type guest struct {
	Document
	frequencies map[string]float64
	length      float64
}

// With is the library with one more document, whose path it must not hold yet.
// It costs what that document costs, so that many descriptions can be tried.
func (l *Library) With(d Document) *Library {
	with := *l
	g := &guest{Document: d, frequencies: frequenciesOf(d)}
	for _, frequency := range g.frequencies {
		g.length += frequency
	}
	with.guest = g
	return &with
}

// size is how many documents there are, and average their mean length.
func (l *Library) size() int {
	if l.guest != nil {
		return len(l.documents) + 1
	}
	return len(l.documents)
}

func (l *Library) average() float64 {
	total := l.total
	if l.guest != nil {
		total += l.guest.length
	}
	return total / float64(max(1, l.size()))
}

// pathOf is the path of the i-th document; the guest is the last.
func (l *Library) pathOf(i int) string {
	if i == len(l.documents) {
		return l.guest.Path
	}
	return l.documents[i].Path
}

// position is where a document stands.
func (l *Library) position(path string) (int, bool) {
	if l.guest != nil && l.guest.Path == path {
		return len(l.documents), true
	}
	i, known := l.positions[path]
	return i, known
}

// found are the postings of a token, the guest's last.
func (l *Library) found(token string) []posting {
	postings := l.postings[token]
	if l.guest == nil || l.guest.frequencies[token] == 0 {
		return postings
	}
	return append(slices.Clip(postings), posting{len(l.documents), l.guest.frequencies[token]})
}

func (l *Library) lengthOf(i int) float64 {
	if i == len(l.documents) {
		return l.guest.length
	}
	return l.lengths[i]
}

// posting is how often a document holds a token, weighted.
type posting struct {
	document  int
	frequency float64
}

// NewLibrary indexes documents. Of two with one path the first counts.
func NewLibrary(documents []Document) *Library {
	l := &Library{positions: map[string]int{}, postings: map[string][]posting{}}
	for _, d := range documents {
		if _, known := l.positions[d.Path]; known {
			continue
		}
		i := len(l.documents)
		l.positions[d.Path] = i
		l.documents = append(l.documents, d)
		length := l.index(i, d)
		l.lengths = append(l.lengths, length)
		l.total += length
	}
	return l
}

// index enters one document and returns its length.
func (l *Library) index(i int, d Document) (length float64) {
	for token, frequency := range frequenciesOf(d) {
		l.postings[token] = append(l.postings[token], posting{i, frequency})
		length += frequency
	}
	return length
}

// frequenciesOf counts a document's tokens, those of its name twice.
func frequenciesOf(d Document) map[string]float64 {
	frequencies := map[string]float64{}
	for _, token := range text.Tokens(d.Description) {
		frequencies[token]++
	}
	for _, token := range text.Tokens(d.Name) {
		frequencies[token] += nameWeight
	}
	return frequencies
}

// Len is how many documents there are.
func (l *Library) Len() int { return l.size() }

// idf of a token that df documents hold.
func (l *Library) idf(df int) float64 {
	n := float64(l.size())
	return math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))
}

// Bar is the score a target must reach: threshold times the idf of a word that
// one document holds, 6 digits (R-LEX-4).
func (l *Library) Bar(threshold float64) float64 {
	n := float64(l.size())
	return round(threshold * math.Log(1+(n-0.5)/1.5))
}

// Answer is what the search says about one query and one target (R-LEX-5).
// Rank is 1 for the best, 0 where the target scores nothing; scores have 6
// digits. RunnerUp is the best other document, nil where none scores.
type Answer struct {
	Triggered bool      `json:"triggered"`
	Rank      int       `json:"rank"`
	Score     Figure    `json:"score"`
	Bar       Figure    `json:"bar"`
	RunnerUp  *RunnerUp `json:"runner_up"`
	Matched   []string  `json:"matched"`
}

// RunnerUp is the best document beside the target.
type RunnerUp struct {
	Path  string `json:"path"`
	Score Figure `json:"score"`
}

// Figure is a score that prints with at most 6 digits.
type Figure float64

// MarshalJSON prints the shortest text of a score that is rounded already.
func (f Figure) MarshalJSON() ([]byte, error) {
	return json.Marshal(json.Number(strconv.FormatFloat(float64(f), 'f', -1, 64)))
}

// Search answers whether a query would trigger the target: iff its score is
// the only highest one and reaches the bar. A tie for the first place triggers
// nothing, because a client could choose either.
func (l *Library) Search(query, target string, threshold float64) Answer {
	scores, matched := l.scores(query, target)
	a := Answer{Bar: Figure(l.Bar(threshold)), Matched: matched}
	at, known := l.position(target)
	own := 0.0
	if known {
		own = scores[at]
	}
	best := -1
	better := 0
	for i, score := range scores {
		if i == at && known || score == 0 {
			continue
		}
		if best < 0 || score > scores[best] {
			best = i
		}
		if score >= own {
			better++
		}
	}
	a.Score = Figure(own)
	if own > 0 {
		a.Rank = better + 1
	}
	if best >= 0 {
		a.RunnerUp = &RunnerUp{l.pathOf(best), Figure(scores[best])}
	}
	a.Triggered = own > 0 && better == 0 && own >= float64(a.Bar)
	return a
}

// scores of all documents for a query, 6 digits, and the query's tokens that
// the target holds, in byte order.
func (l *Library) scores(query, target string) (scores []float64, matched []string) {
	scores = make([]float64, l.size())
	at, known := l.position(target)
	matched = []string{}
	average := l.average()
	for _, token := range slices.Compact(slices.Sorted(slices.Values(text.Tokens(query)))) {
		postings := l.found(token)
		idf := l.idf(len(postings))
		for _, p := range postings {
			// The conversions keep every product and sum rounded by itself: a
			// fused multiply-add would give other digits on other machines.
			relative := float64(b * float64(l.lengthOf(p.document)/average))
			weight := float64(p.frequency + float64(k1*float64(float64(1-b)+relative)))
			part := float64(idf * float64(float64(p.frequency*(k1+1))/weight))
			scores[p.document] = float64(scores[p.document] + part)
			if known && p.document == at {
				matched = append(matched, token)
			}
		}
	}
	for i, score := range scores {
		if score != 0 {
			scores[i] = round(score)
		}
	}
	return scores, matched
}

// Shortfall is how far an answer is from what was expected, 0 for a right one
// and negative otherwise: the gap to the bar or to the better document, or how
// far a false trigger stands above them (R-DISC-2).
func (a Answer) Shortfall(expected bool) float64 {
	if a.Triggered == expected {
		return 0
	}
	other := float64(a.Bar)
	if a.RunnerUp != nil {
		other = max(other, float64(a.RunnerUp.Score))
	}
	return -math.Abs(round(float64(a.Score) - other))
}

// round to 6 digits, half to even on the double's own decimal value.
func round(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 6, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// Compare orders documents by path.
func Compare(a, b Document) int { return cmp.Compare(a.Path, b.Path) }
