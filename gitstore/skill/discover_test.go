package skill

import (
	"slices"
	"strings"
	"testing"
)

// listing makes nodes of paths; `@` behind a path is a link, `#` a submodule.
func listing(paths ...string) []Node {
	var nodes []Node
	for _, p := range paths {
		n := Node{Path: strings.TrimRight(p, "@#")}
		switch {
		case strings.HasSuffix(p, "@"):
			n.Kind = Link
		case strings.HasSuffix(p, "#"):
			n.Kind = Submodule
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func TestDiscover(t *testing.T) { // R-SF-D-1 to R-SF-D-5, RC-SKILL-2
	tests := map[string]struct {
		nodes    []Node
		search   Search
		skills   []string
		findings []string // rule and path
	}{
		"S01 at the top": {listing("bom-skill/SKILL.md", "README.md"), Search{}, []string{"bom-skill"}, nil},
		"S18": {listing("escape-skill/SKILL.md@", "escape-skill/ok.md", "escape-skill/references/secret.md@"), Search{}, nil,
			[]string{"SF710 error escape-skill/SKILL.md", "SF710 warning escape-skill/references/secret.md"}},
		"S20": {listing("outer/.cursor/skills/copy/SKILL.md", "outer/SKILL.md", "outer/node_modules/dep/lib/SKILL.md"), Search{}, []string{"outer"},
			[]string{"SF804 warning outer/.cursor/skills/copy/SKILL.md"}},
		"S21": {listing("skills/flat/SKILL.md", "skills/frontend/css-grid/SKILL.md"), Search{}, []string{"skills/flat", "skills/frontend/css-grid"}, nil},
		"S29": {listing("lower/skill.md", "both/SKILL.md", "both/skill.md"), Search{}, []string{"both", "lower"},
			[]string{"SF802 error both/skill.md", "SF801 warning lower/skill.md"}},
		"nested sorts first": {listing("skills/a/B/SKILL.md", "skills/a/SKILL.md", "skills/a/references/x/SKILL.md"), Search{}, []string{"skills/a"},
			[]string{"SF804 warning skills/a/B/SKILL.md", "SF804 warning skills/a/references/x/SKILL.md"}},
		"never walked": {listing("skills/.git/SKILL.md", "skills/vendor/a/SKILL.md", "skills/x/dist/SKILL.md", "skills/__pycache__/SKILL.md", "skills/.venv/SKILL.md",
			"skills/a-workspace/skill-snapshot/SKILL.md", "skills/.forge/a/SKILL.md", "skills/node_modules@", "skills/ok/SKILL.md"), Search{}, []string{"skills/ok"}, nil},
		"archives":               {listing("skills-archive/a/SKILL.md", "old/b/SKILL.md", "c/SKILL.md"), Search{Archives: []string{"old/"}}, []string{"c"}, nil},
		"archive inside a root":  {listing("skills/.archive/a/SKILL.md", "skills/b/SKILL.md"), Search{}, []string{"skills/.archive/a", "skills/b"}, nil},
		"depth 4":                {listing("skills/1/2/3/4/SKILL.md", "skills/1/2/3/x/5/SKILL.md"), Search{}, []string{"skills/1/2/3/4"}, nil},
		"depth 1":                {listing("skills/1/SKILL.md", "skills/1x/2/SKILL.md"), Search{Depth: 1}, []string{"skills/1"}, nil},
		"the repository is one":  {listing("SKILL.md", "evals/evals.json", "references/SKILL.md"), Search{}, []string{"."}, []string{"SF804 warning references/SKILL.md"}}, // R-SF-D-4
		"client roots":           {listing(".agents/skills/b/SKILL.md", ".claude/skills/a/SKILL.md", "x/SKILL.md"), Search{}, []string{".agents/skills/b", ".claude/skills/a"}, nil},
		"configured roots":       {listing("mine/a/SKILL.md", "skills/b/SKILL.md"), Search{Roots: []string{"./mine/"}}, []string{"mine/a"}, nil},
		"roots in each other":    {listing("a/b/c/SKILL.md"), Search{Roots: []string{"a", "a/b"}}, []string{"a/b/c"}, nil},
		"links":                  {listing(".claude@", "skills/b@", "skills/a/SKILL.md", "z@"), Search{}, []string{"skills/a"}, []string{"SF710 warning .claude", "SF710 warning skills/b"}},
		"a root that is a link":  {listing(".claude/skills@", "skills/a/SKILL.md"), Search{}, []string{"skills/a"}, []string{"SF710 warning .claude/skills"}},
		"submodule":              {listing("skills/b#", "skills/a/SKILL.md"), Search{}, []string{"skills/a"}, []string{"SF710 warning skills/b"}},
		"other case of the name": {listing("skills/a/Skill.md"), Search{}, nil, nil},
		"case and normal form": {listing("skills/a/SKILL.md", "skills/A/SKILL.md", "skills/caf\u00e9/SKILL.md", "skills/cafe\u0301/SKILL.md"), Search{},
			[]string{"skills/A", "skills/a", "skills/cafe\u0301", "skills/caf\u00e9"}, []string{"SF206 error skills/A", "SF206 error skills/cafe\u0301"}},
		"nothing": {nil, Search{}, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Discover(tt.nodes, tt.search)
			var skills, findings []string
			for _, f := range got.Skills {
				skills = append(skills, f.Path)
			}
			for _, f := range got.Findings {
				findings = append(findings, f.Rule+" "+f.Severity.String()+" "+f.Path)
			}
			if !slices.Equal(skills, tt.skills) {
				t.Errorf("Discover finds %q, want %q", skills, tt.skills)
			}
			if !slices.Equal(findings, tt.findings) {
				t.Errorf("Discover reports %q, want %q", findings, tt.findings)
			}
			reversed := slices.Clone(tt.nodes)
			slices.Reverse(reversed)
			if again := Discover(reversed, tt.search); !slices.Equal(again.Skills, got.Skills) || !slices.Equal(again.Findings, got.Findings) {
				t.Errorf("Discover depends on the order of the listing")
			}
		})
	}
}

func TestFound(t *testing.T) {
	got := Discover(listing(".claude/skills/a/b/skill.md"), Search{})
	want := Found{Path: ".claude/skills/a/b", File: ".claude/skills/a/b/skill.md", Root: ".claude/skills", Depth: 2}
	if len(got.Skills) != 1 || got.Skills[0] != want || !slices.Equal(got.Roots, []string{".claude/skills"}) {
		t.Errorf("Discover = %+v, want %+v", got, want)
	}
}

func TestCollisions(t *testing.T) { // S22, RC-SKILL-6, C2
	got := Collisions([]Identity{
		{"same", "skills/b"}, {"same", "skills/a"}, {"other", "skills/c"}, {"", "skills/d"}, {"", "skills/e"},
		{"PDF", "skills/f"}, {"pdf", "skills/g"}, {"caf\u00e9", "skills/h"}, {"cafe\u0301", "skills/i"},
	})
	var messages []string
	for _, c := range got {
		messages = append(messages, c.Finding().Error())
	}
	want := []string{
		"skills/a: The name `same` is used by `skills/a` and `skills/b`.",
		"skills/f: The names `PDF` and `pdf` are equal after case folding or Unicode normalisation (`skills/f` and `skills/g`).",
		"skills/h: The names `cafe\u0301` and `caf\u00e9` are equal after case folding or Unicode normalisation (`skills/h` and `skills/i`).",
	}
	if !slices.Equal(messages, want) {
		t.Errorf("Collisions = %q, want %q", messages, want)
	}
}

func TestIgnored(t *testing.T) { // section 9
	tests := map[string]struct{ ignored, always bool }{
		"evals/results/1/report.html": {true, true},
		".forge/x":                    {true, true},
		"a/.DS_Store":                 {true, false},
		"a/__pycache__/b":             {true, false},
		"x.pyc":                       {true, false},
		".SKILL.md.swp":               {true, false},
		"a-workspace/history.json":    {true, false},
		"node_modules/x/y.js":         {true, false},
		".git/config":                 {true, false},
		"evals/evals.json":            {false, false},
		"PURPOSE.md":                  {false, false},
		"notes-workspace":             {false, false}, // a file
		"references/results/x":        {false, false},
	}
	for file, tt := range tests {
		if got := Ignored(file); got != tt.ignored || IgnoredAlways(file) != tt.always {
			t.Errorf("Ignored(%q) = %t, always %t; want %t, %t", file, got, IgnoredAlways(file), tt.ignored, tt.always)
		}
	}
}
