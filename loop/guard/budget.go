package guard

import (
	"maps"
	"slices"
	"strings"

	"forge/gitstore/fault"
	"forge/gitstore/skill"
)

// Stats is the document of `artifact-stats`: how large the files are that an
// agent may load, in code points and in estimated tokens.
type Stats struct {
	Files           []FileStats `json:"files"` // by path
	FileCount       int         `json:"file_count"`
	SkippedBinary   []string    `json:"skipped_binary"` // not UTF-8: counted nowhere
	Missing         []string    `json:"missing"`
	Chars           int         `json:"chars"`
	Lines           int         `json:"lines"`
	Tokens          int         `json:"tokens"`
	ProtectedTokens int         `json:"protected_tokens"`
	CharsPerToken   int         `json:"chars_per_token"`
	Budget          *int        `json:"budget"` // tokens; null for none
	BudgetOK        bool        `json:"budget_ok"`
	Estimate        bool        `json:"estimate"`

	OverBy             int    `json:"over_by,omitempty"`
	ForcedCategory     string `json:"forced_category,omitempty"`
	ForcedMutationType string `json:"forced_mutation_type,omitempty"`
	SuggestedBudget    int    `json:"suggested_budget,omitempty"`
}

// FileStats is one file; its tokens are for display, the sum is not theirs.
type FileStats struct {
	Path   string `json:"path"`
	Chars  int    `json:"chars"`
	Tokens int    `json:"tokens"`
}

// What an experiment must do once the budget is exceeded (R-BUDGET-4).
const (
	ForcedCategory     = "efficiency"
	ForcedMutationType = "prune"
)

// MeasureFiles adds up files by path. budget is nil for none; exactly on
// budget is fine. charsPerToken below 1 is a fault of kind Usage.
//
// Source: loop.md R-BUDGET-3, R-BUDGET-4; DECISIONS G5.
func MeasureFiles(files map[string][]byte, charsPerToken int, budget *int) (Stats, error) {
	if charsPerToken < 1 {
		return Stats{}, fault.New(fault.Usage, "3 is the default", "chars-per-token is %d, want 1 or more", charsPerToken)
	}
	s := Stats{
		Files: []FileStats{}, SkippedBinary: []string{}, Missing: []string{}, CharsPerToken: charsPerToken,
		Budget: budget, BudgetOK: true, Estimate: true,
	}
	var sum skill.Size
	for _, name := range slices.Sorted(maps.Keys(files)) {
		size, ok := skill.Measure(files[name])
		if !ok {
			s.SkippedBinary = append(s.SkippedBinary, name)
			continue
		}
		s.Files = append(s.Files, FileStats{Path: name, Chars: size.Chars, Tokens: size.Tokens(charsPerToken)})
		sum = sum.Add(size)
	}
	s.FileCount, s.Chars, s.Lines = len(s.Files), sum.Chars, sum.Lines
	s.Tokens, s.ProtectedTokens = sum.Tokens(charsPerToken), sum.ProtectedTokens(charsPerToken)
	if budget != nil && s.Tokens > *budget {
		s.BudgetOK, s.OverBy = false, s.Tokens-*budget
		s.ForcedCategory, s.ForcedMutationType = ForcedCategory, ForcedMutationType
	}
	return s, nil
}

// Budgeted says whether a file of a skill, by its path in it, counts against
// the token budget wherever the scope names it. What measures or explains the
// skill is in no budget (R-BUDGET-1).
func Budgeted(file string) bool {
	top, rest, _ := strings.Cut(file, "/")
	switch top {
	case "PURPOSE.md", "evals", ".forge":
		return false
	case "knowledge":
		return rest == "INDEX.md"
	}
	return true
}

// alwaysBudgeted says whether a file counts also where the scope does not name
// it (R-BUDGET-1).
func alwaysBudgeted(file string) bool {
	top, _, inside := strings.Cut(file, "/")
	return file == "SKILL.md" || file == "knowledge/INDEX.md" || inside && (top == "references" || top == "scripts")
}

// Suggest adds a budget with room for what there is (R-BUDGET-4).
func (s *Stats) Suggest() { s.SuggestedBudget = skill.SuggestedBudget(s.Tokens) }
