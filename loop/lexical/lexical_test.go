package lexical

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func library() *Library {
	return NewLibrary([]Document{
		{"skills/csv-totals", "csv-totals", "Adds up the columns of a CSV file."},
		{"skills/csv-clean", "csv-clean", "Removes broken rows from CSV files."},
		{"skills/pdf-forms", "pdf-forms", "Fills in PDF forms."},
	})
}

func TestSearch(t *testing.T) {
	twins := NewLibrary([]Document{{"a", "sum", "Adds numbers."}, {"b", "sum", "Adds numbers."}})
	alone := NewLibrary([]Document{{"a", "sum-up", "Adds numbers."}})
	tests := map[string]struct {
		library       *Library
		query, target string
		want          bool
		rank          int
	}{
		"the only one":             {library(), "fill in the pdf forms", "skills/pdf-forms", true, 1},
		"another one is better":    {library(), "remove broken rows of this csv", "skills/csv-totals", false, 2},
		"first, and under the bar": {library(), "csv", "skills/csv-totals", false, 1},
		"no word in common":        {library(), "weather tomorrow", "skills/pdf-forms", false, 0},
		"stop words only":          {library(), "the of a", "skills/pdf-forms", false, 0},
		"an empty query":           {library(), "", "skills/pdf-forms", false, 0},
		"a tie triggers nothing":   {twins, "sum of numbers", "a", false, 2},
		"one skill in the library": {alone, "sum up numbers", "a", true, 1},
		"a target that is absent":  {library(), "pdf forms", "skills/none", false, 0},
	}
	for name, tt := range tests {
		a := tt.library.Search(tt.query, tt.target, 1)
		if a.Triggered != tt.want || a.Rank != tt.rank {
			t.Errorf("%s: Search(%q) = %+v, want triggered %v at rank %d", name, tt.query, a, tt.want, tt.rank)
		}
	}
}

// R-LEX-3: the same documents in another order and another spelling of the
// query's order give the same digits.
func TestSearchIsDeterministic(t *testing.T) {
	forward := make([]Document, 1000)
	for i := range forward {
		forward[i] = Document{fmt.Sprintf("skills/%04d", i), fmt.Sprintf("skill-%d", i), fmt.Sprintf("Handles topic%d and topic%d for teams of %d people.", i%37, i%91, i)}
	}
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	a := NewLibrary(forward).Search("topic5 topic17 teams handles", "skills/0005", 1)
	b := NewLibrary(backward).Search("handles teams topic17 topic5", "skills/0005", 1)
	if a.Score != b.Score || a.Rank != b.Rank || a.Triggered != b.Triggered || !slices.Equal(a.Matched, b.Matched) {
		t.Errorf("another order gives another answer: %+v and %+v", a, b)
	}
}

// A library with one more document answers as one that was made with it.
func TestWith(t *testing.T) {
	extra := Document{"skills/xls", "xls-read", "Reads spreadsheets and CSV exports."}
	made := NewLibrary(append(slices.Clone(library().documents), extra))
	with := library().With(extra)
	for _, query := range []string{"read spreadsheets", "csv", "pdf forms", "exports of csv files"} {
		for _, target := range []string{"skills/xls", "skills/pdf-forms"} {
			a, b := made.Search(query, target, 1), with.Search(query, target, 1)
			if a.Score != b.Score || a.Triggered != b.Triggered || a.Rank != b.Rank || a.Bar != b.Bar || (a.RunnerUp == nil) != (b.RunnerUp == nil) {
				t.Errorf("%q for %s: %+v with, %+v made", query, target, b, a)
			}
		}
	}
}

// A wrong answer's shortfall is negative, a right one's 0 (R-DISC-2).
func TestShortfall(t *testing.T) {
	l := library()
	if got := l.Search("pdf forms", "skills/pdf-forms", 1).Shortfall(true); got != 0 {
		t.Errorf("a right answer falls short by %v", got)
	}
	if got := l.Search("csv", "skills/csv-totals", 1).Shortfall(true); got >= 0 {
		t.Errorf("a wrong answer falls short by %v, want less than 0", got)
	}
	if got := l.Search("pdf forms", "skills/pdf-forms", 1).Shortfall(false); got >= 0 {
		t.Errorf("a false trigger falls short by %v, want less than 0", got)
	}
}

// 200 queries over 2,000 skills: at most 300 ms, the index included.
func BenchmarkSearch200Of2000(b *testing.B) {
	documents := make([]Document, 2000)
	for i := range documents {
		documents[i] = Document{fmt.Sprintf("skills/%04d", i), fmt.Sprintf("skill-%d", i), strings.Repeat(fmt.Sprintf("word%d topic%d ", i%113, i%41), 12)}
	}
	for b.Loop() {
		l := NewLibrary(documents)
		for q := range 200 {
			l.Search(fmt.Sprintf("please use word%d with topic%d for my work", q%113, q%41), "skills/0007", 1)
		}
	}
}

// A search never panics, and what triggers is first.
func FuzzSearch(f *testing.F) {
	f.Add("pdf forms", "skills/pdf-forms")
	l := library()
	f.Fuzz(func(t *testing.T, query, target string) {
		if a := l.Search(query, target, 1); a.Triggered && (a.Rank != 1 || a.Score < a.Bar) {
			t.Errorf("Search(%q, %q) = %+v", query, target, a)
		}
	})
}
