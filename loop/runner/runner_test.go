package runner

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/process"
)

func repo(t testing.TB, files map[string]string) (*gitstore.Repo, gitstore.Hash) {
	t.Helper()
	dir := t.TempDir()
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.com",
	}
	result, err := process.Plain(t.Context(), process.Command{Argv: []string{"git", "init", "-q", "-b", "main"}, Dir: dir, Env: process.Environment(vars)})
	if err != nil || !result.OK() {
		t.Fatalf("git init: %v %s", err, result.Stderr)
	}
	r, err := gitstore.Open(t.Context(), dir, gitstore.Env{Vars: vars, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	var edits []gitstore.Edit
	for name, text := range files {
		edits = append(edits, gitstore.Put(name, []byte(text)))
	}
	commit, err := r.Commit(t.Context(), gitstore.Change{Ref: "refs/forge/test", Edits: edits, Subject: "skills"})
	if err != nil {
		t.Fatal(err)
	}
	return r, commit
}

func skillFile(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n"
}

func library() map[string]string {
	return map[string]string{
		"skills/csv-totals/SKILL.md":    skillFile("csv-totals", "Adds up the columns of a CSV file."),
		"skills/pdf-forms/SKILL.md":     skillFile("pdf-forms", "Fills in PDF forms."),
		".claude/skills/pdf/SKILL.md":   skillFile("pdf-forms", "Fills in PDF forms."),
		"skills/hidden/SKILL.md":        "---\nname: hidden\ndescription: Fills in PDF forms, too.\ndisable-model-invocation: true\n---\n",
		"skills/nameless/SKILL.md":      "---\nname: nameless\n---\n",
		"skills/pdf-forms/sub/SKILL.md": skillFile("nested", "A resource, no skill."),
	}
}

// R-LEX-1: which skills are documents.
func TestLibrary(t *testing.T) {
	r, commit := repo(t, library())
	shelf := &Shelf{Repo: r}
	listed, err := shelf.List(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	once := Once(listed, "skills/pdf-forms")
	var paths []string
	for _, d := range once {
		paths = append(paths, d.Path)
	}
	if len(once) != 2 {
		t.Errorf("documents %q, want csv-totals and the target's pdf-forms once", paths)
	}
	if twice := Once(listed, ".claude/skills/pdf"); len(twice) != 2 {
		t.Errorf("documents %+v, want two", twice)
	}
}

// R-LEX-5, R-LEX-6, R-STAT-11: both sides of a pair, with and without the
// skill, and twice the same.
func TestLocalRun(t *testing.T) {
	r, commit := repo(t, library())
	local := &Local{Shelf: &Shelf{Repo: r}, Now: time.Now}
	set, err := evals.Read([]byte(`[{"query": "add up the csv columns", "should_trigger": true}, {"query": "fill in pdf forms", "should_trigger": false}]`))
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Kind: KindLexical, LexicalThreshold: "1.0"}
	for i, want := range [][2]bool{{true, false}, {true, true}} {
		pair := Pair{Run: "r1", Commits: [2]gitstore.Hash{commit, ""}, Skill: "skills/csv-totals", Eval: set.Evals[i], Runner: spec}
		first, err := local.Run(t.Context(), pair)
		if err != nil {
			t.Fatal(err)
		}
		for side := range want {
			if v := first.Sides[side]; v.Outcome != OK || len(v.Verdicts) != 1 || *v.Verdicts[0].Passed != want[side] {
				t.Errorf("eval %d, side %d: %+v, want passed %v", i, side, v, want[side])
			}
		}
		again, err := local.Run(t.Context(), pair)
		if err != nil || string(again.Sides[0].Evidence[0].Data) != string(first.Sides[0].Evidence[0].Data) || again.Pair != first.Pair {
			t.Errorf("the same pair gave another answer: %v", err)
		}
		pair.Seed = 7
		if other, _ := pair.ID(); other == first.Pair {
			t.Error("two pairs have one id")
		}
	}
}

// The lexical runner answers trigger queries only; another runner is refused.
func TestRefused(t *testing.T) {
	r, commit := repo(t, library())
	local := &Local{Shelf: &Shelf{Repo: r}, Now: time.Now}
	set, err := evals.Read([]byte(`{"evals": [{"id": "e1", "prompt": "p", "assertions": [{"type": "contains", "value": "x"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]Spec{"no query": {Kind: KindLexical, LexicalThreshold: "1"}, "another runner": {Kind: "claude"}} {
		_, err := local.Run(context.Background(), Pair{Commits: [2]gitstore.Hash{commit, commit}, Skill: "skills/csv-totals", Eval: set.Evals[0], Runner: spec})
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage fault", name, err)
		}
	}
}

// 200 queries on both sides of a library of 2,000 skills, the reading of the
// skills included: at most 300 ms on 2 idle cores.
func BenchmarkLexical200Of2000(b *testing.B) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("skills/s%04d/SKILL.md", i)] = skillFile(fmt.Sprintf("s%04d", i), strings.Repeat(fmt.Sprintf("word%d topic%d ", i%113, i%41), 6))
	}
	r, commit := repo(b, files)
	pairs := make([]Pair, 200)
	for i := range pairs {
		pairs[i] = Pair{
			Commits: [2]gitstore.Hash{commit, commit}, Skill: "skills/s0007", Runner: Spec{Kind: KindLexical, LexicalThreshold: "1.0"},
			Eval: evals.Eval{Prompt: fmt.Sprintf("please use word%d with topic%d for my work", i%113, i%41), Checks: []evals.Check{{Kind: evals.Triggered}}},
		}
	}
	for b.Loop() {
		local := &Local{Shelf: &Shelf{Repo: r}, Now: time.Now}
		for _, p := range pairs {
			if _, err := local.Run(b.Context(), p); err != nil {
				b.Fatal(err)
			}
		}
	}
}
