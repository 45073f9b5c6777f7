package loop_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gitstore"
	"forge/gitstore/process"
	"forge/loop"
	"forge/loop/journal"
)

// step is one commit of a history: the file has these lines, one a letter.
type step struct {
	name    string
	parents string // names, one a letter; "" for a root
	lines   string
	exp     string // experiments, with commas
	body    string // %s is the hash of the commit "k"
}

// history commits steps into a new repository and returns their hashes.
func history(t *testing.T, steps []step) (*gitstore.Repo, map[string]gitstore.Hash) {
	t.Helper()
	dir := t.TempDir()
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": dir, "GIT_CONFIG_NOSYSTEM": "1", "TMPDIR": t.TempDir(),
		"GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.com",
	}
	_, err := process.Plain(t.Context(), process.Command{Argv: []string{"git", "init", "-q"}, Dir: dir, Env: process.Environment(vars)})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := gitstore.Open(t.Context(), dir, gitstore.Env{Vars: vars, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]gitstore.Hash{}
	for i, s := range steps {
		change := gitstore.Change{
			Ref: fmt.Sprintf("refs/heads/forge/t/c%d", i), Subject: s.name, Body: strings.ReplaceAll(s.body, "%s", string(ids["k"])),
			Edits: []gitstore.Edit{gitstore.Put("f", text(s.lines)), gitstore.Put("n", []byte(s.name))}, Parents: []gitstore.Hash{},
		}
		for _, parent := range strings.Split(s.parents, "") {
			change.Parents = append(change.Parents, ids[parent])
		}
		if s.lines == "" {
			change.Edits = change.Edits[1:]
		}
		if s.exp != "" {
			change.Trailers = append(change.Trailers, gitstore.Trailer{Key: "Forge-Run", Value: "r1"})
			for name := range strings.SplitSeq(s.exp, ",") {
				change.Trailers = append(change.Trailers, gitstore.Trailer{Key: "Forge-Experiment", Value: name})
			}
		}
		if ids[s.name], err = repo.Commit(t.Context(), change); err != nil {
			t.Fatalf("commit %s: %v", s.name, err)
		}
	}
	return repo, ids
}

func text(lines string) []byte {
	return []byte(strings.Join(strings.Split(lines, ""), "\n") + "\n")
}

// Each line is that of the commit that put it there (CLI.md, forge blame);
// the answers name it for each line.
func TestBlame(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		base  string // of --run; "" for HEAD
		want  string
	}{
		"one commit":                      {[]step{{name: "a", lines: "xyz"}}, "", "aaa"},
		"a changed line":                  {[]step{{name: "a", lines: "xyz"}, {name: "b", parents: "a", lines: "xYz"}}, "", "aba"},
		"a line that came back":           {[]step{{name: "a", lines: "xyz"}, {name: "b", parents: "a", lines: "xz"}, {name: "c", parents: "b", lines: "xyz"}}, "", "aca"},
		"lines that moved down":           {[]step{{name: "a", lines: "xyz"}, {name: "b", parents: "a", lines: "12xyz"}, {name: "c", parents: "b", lines: "12xyz3"}}, "", "bbaaac"},
		"a file that was taken away":      {[]step{{name: "a", lines: "xy"}, {name: "b", parents: "a"}, {name: "c", parents: "b", lines: "xy"}}, "", "cc"},
		"a commit of something else":      {[]step{{name: "a", lines: "xy"}, {name: "b", parents: "a", lines: "xy"}}, "", "aa"},
		"a kept candidate (R-RUN-3)":      {[]step{{name: "a", lines: "xyz"}, {name: "k", parents: "a", lines: "xYz"}, {name: "v", parents: "ak", lines: "xYz", exp: "exp-001"}}, "", "ava"},
		"a person's merge":                {[]step{{name: "a", lines: "xyz"}, {name: "b", parents: "a", lines: "Xyz"}, {name: "c", parents: "a", lines: "xyZ"}, {name: "m", parents: "bc", lines: "XyZ"}}, "", "bac"},
		"a merge that takes one side":     {[]step{{name: "a", lines: "xyz"}, {name: "b", parents: "a", lines: "Xyz"}, {name: "c", parents: "a", lines: "xyZ"}, {name: "m", parents: "bc", lines: "xyZ"}}, "", "aac"},
		"a line of the merge":             {[]step{{name: "a", lines: "x"}, {name: "b", parents: "a", lines: "xy"}, {name: "c", parents: "a", lines: "xz"}, {name: "m", parents: "bc", lines: "xyzw"}}, "", "abcm"},
		"two roots":                       {[]step{{name: "a", lines: "x"}, {name: "b", lines: "y"}, {name: "m", parents: "ab", lines: "xy"}}, "", "ab"},
		"before the base of the run":      {[]step{{name: "a", lines: "x"}, {name: "b", parents: "a", lines: "xy"}, {name: "v", parents: "b", lines: "xyz", exp: "exp-001"}}, "b", "bbv"},
		"a squash, its run here (R-LAND)": {[]step{{name: "a", lines: "xyz"}, {name: "u", parents: "a", lines: "Xyz", exp: "exp-001"}, {name: "k", parents: "u", lines: "XyZ", exp: "exp-002"}, {name: "s", parents: "a", lines: "XyZ", exp: "exp-001,exp-002", body: "Brings the run up to %s"}}, "", "uak"},
		"a squash, its run not here":      {[]step{{name: "a", lines: "xyz"}, {name: "s", parents: "a", lines: "XyZ", exp: "exp-001,exp-002", body: "Brings the run up to 1111111111111111111111111111111111111111"}}, "", "sas"},
		"a squash beside a person's edit": {[]step{{name: "a", lines: "xyz"}, {name: "k", parents: "a", lines: "Xyz", exp: "exp-001"}, {name: "p", parents: "a", lines: "xyzw"}, {name: "s", parents: "p", lines: "Xyzw", exp: "exp-001", body: "Brings the run up to %s"}}, "", "kaap"},
	} {
		t.Run(name, func(t *testing.T) {
			repo, ids := history(t, c.steps)
			tip := ids[c.steps[len(c.steps)-1].name]
			request := loop.BlameRequest{Files: []string{"f"}, Commit: tip}
			if c.base != "" {
				request.Run = &loop.RunRef{Name: "r1", Config: journal.Run{Base: string(ids[c.base])}}
			}
			blame, err := (&loop.Engine{Repo: repo}).Blame(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, line := range blame.Lines {
				got.WriteString(line.Subject)
			}
			if got.String() != c.want {
				t.Errorf("the lines are those of %q, want %q", got.String(), c.want)
			}
			if blame.Shallow {
				t.Error("the history is whole and called shallow")
			}
		})
	}
}

// A line says what its commit's trailers say, and nothing where no run wrote
// it.
func TestBlameLine(t *testing.T) {
	repo, ids := history(t, []step{{name: "a", lines: "xyz"}, {name: "v", parents: "a", lines: "xY", exp: "exp-001,exp-003"}})
	blame, err := (&loop.Engine{Repo: repo}).Blame(t.Context(), loop.BlameRequest{Files: []string{"nope", "f"}, Commit: ids["v"]})
	if err != nil {
		t.Fatal(err)
	}
	first, second := blame.Lines[0], blame.Lines[1]
	if first.Run != "" || len(first.Experiments) != 0 || first.Text != "x" || first.Line != 1 || blame.File != "f" {
		t.Errorf("the first line is %+v of %q", first, blame.File)
	}
	if second.Run != "r1" || !slices.Equal(second.Experiments, []string{"exp-001", "exp-003"}) || second.Commit != string(ids["v"]) {
		t.Errorf("the second line is %+v", second)
	}
}
