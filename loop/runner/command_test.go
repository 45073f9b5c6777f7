package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// fake is a runner that only notes what it was started with.
type fake struct {
	t        *testing.T
	commands []process.Command
	do       func(env map[string]string) process.Result
}

func (f *fake) run(_ context.Context, c process.Command) (process.Result, error) {
	f.commands = append(f.commands, c)
	return f.do(variables(f.t, c.Env)), nil
}

func variables(t *testing.T, env []string) map[string]string {
	t.Helper()
	vars := map[string]string{}
	for _, line := range env {
		name, value, _ := strings.Cut(line, "=")
		if _, twice := vars[name]; twice {
			t.Errorf("%s is given twice", name)
		}
		vars[name] = value
	}
	return vars
}

func answered(text string) process.Result { return process.Result{Stdout: []byte(text)} }

// tasks is a repository with one skill and its evals, and a pair of its first
// eval, with the skill and without.
func tasks(t *testing.T, f *fake, list string) (*Local, Pair) {
	t.Helper()
	r, commit := repo(t, map[string]string{
		"skills/sums/SKILL.md": skillFile("sums", "Adds."), "skills/sums/PURPOSE.md": "why", "skills/sums/evals/evals.json": list,
		"skills/sums/evals/files/in.txt": "input", "skills/other/SKILL.md": skillFile("other", "Other."),
	})
	set, err := evals.Read([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	f.t = t
	local := &Local{Shelf: &Shelf{Repo: r}, Now: time.Now, Repo: r, Execute: f.run, Child: []string{"PATH=/bin", "TZ=UTC"}}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return local, Pair{
		Run: "r1", Commits: [2]gitstore.Hash{"", commit}, Skill: "skills/sums", Name: "sums", Source: commit, Eval: set.Evals[0], Seed: 7,
		Runner: Spec{Kind: KindCommand, Command: []string{"answer"}, Model: "m", TimeoutSeconds: 5, CheckTimeoutSeconds: 3},
		Passed: []string{"GIVEN=x"},
	}
}

const oneTask = `{"evals": [{"id": "secret-id", "prompt": "p", "files": ["evals/files/in.txt"],
 "assertions": [{"id": "c", "kind": "contains", "value": "4"}, {"id": "f", "kind": "file_exists", "path": "out.txt"}]}]}`

// R-SEAM-3, R-SEAM-4: exactly these variables reach the child, the same on both
// sides but for directories and the skill; nothing names side, eval or split.
func TestCommandEnvironment(t *testing.T) {
	f := &fake{do: func(env map[string]string) process.Result { return answered("4") }}
	local, pair := tasks(t, f, oneTask)
	if _, err := local.Run(t.Context(), pair); err != nil {
		t.Fatal(err)
	}
	if len(f.commands) != 2 {
		t.Fatalf("%d children, want 2", len(f.commands))
	}
	want := []string{
		"FORGE_ACTIVE", "FORGE_MODEL", "FORGE_OUTPUT", "FORGE_PROMPT", "FORGE_RESULT", "FORGE_RUN", "FORGE_SEAM", "FORGE_SEED", "FORGE_SKILL_DIR", "FORGE_SKILL_NAME",
		"GIT_CEILING_DIRECTORIES", "GIVEN", "HOME", "LANG", "PATH", "TMPDIR", "TZ",
	}
	places := []string{"FORGE_OUTPUT", "FORGE_PROMPT", "FORGE_RESULT", "FORGE_SKILL_DIR", "HOME", "TMPDIR"}
	without, with := variables(t, f.commands[0].Env), variables(t, f.commands[1].Env)
	for name, env := range map[string]map[string]string{"without": without, "with": with} {
		var got []string
		for variable, value := range env {
			got = append(got, variable)
			for _, word := range []string{"secret-id", "baseline", "candidate", "with_mutation", "train", "exp-"} {
				if strings.Contains(value, word) {
					t.Errorf("%s: %s=%s tells %q", name, variable, value, word)
				}
			}
		}
		slices.Sort(got)
		expected := slices.Clone(want)
		if name == "without" {
			expected = slices.DeleteFunc(expected, func(v string) bool { return v == "FORGE_SKILL_DIR" })
		}
		if !slices.Equal(got, expected) {
			t.Errorf("%s the skill the variables are %v, want %v", name, got, expected)
		}
	}
	for name, value := range without {
		if !slices.Contains(places, name) && with[name] != value {
			t.Errorf("%s is %q on one side and %q on the other", name, value, with[name])
		}
	}
	for _, c := range f.commands {
		if c.Stdin != nil || c.Timeout != 5*time.Second || c.OutputLimit != 16<<20 || filepath.Base(c.Dir) != "project" {
			t.Errorf("the child is %+v", c)
		}
	}
}

// R-SF-ANSWER, R-SF-EV-11: the skill without evals and PURPOSE.md, the eval's
// own files in the working directory, nothing of other skills; both new for
// every run, HOME kept.
func TestCommandPlace(t *testing.T) {
	runs := 0
	f := &fake{}
	f.do = func(env map[string]string) process.Result {
		runs++
		project := f.commands[len(f.commands)-1].Dir
		var seen []string
		for _, root := range []string{project, env["FORGE_SKILL_DIR"]} {
			err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					below, _ := filepath.Rel(root, name)
					seen = append(seen, filepath.ToSlash(below))
				}
				return err
			})
			if err != nil {
				f.t.Error(err)
			}
		}
		if !slices.Equal(seen, []string{"evals/files/in.txt", "SKILL.md"}) {
			f.t.Errorf("run %d sees %v", runs, seen)
		}
		if _, err := os.Stat(filepath.Join(env["FORGE_SKILL_DIR"], "..", "other")); err == nil {
			f.t.Error("another skill is in the export")
		}
		if prompt, err := os.ReadFile(env["FORGE_PROMPT"]); err != nil || string(prompt) != "p" {
			f.t.Errorf("the prompt is %q, %v", prompt, err)
		}
		if entries, err := os.ReadDir(env["FORGE_OUTPUT"]); err != nil || len(entries) != 0 {
			f.t.Errorf("the directory for outputs holds %v, %v", entries, err)
		}
		_, err := os.Stat(filepath.Join(env["HOME"], "cache"))
		if kept := err == nil; kept != (runs > 2) { // one home per side
			f.t.Errorf("run %d finds a cache: %v", runs, kept)
		}
		for _, name := range []string{filepath.Join(env["HOME"], "cache"), filepath.Join(env["FORGE_OUTPUT"], "out.txt"), filepath.Join(project, "x"), filepath.Join(env["FORGE_SKILL_DIR"], "y")} {
			if err := os.WriteFile(name, []byte("made"), 0o600); err != nil {
				f.t.Error(err)
			}
		}
		return answered("4")
	}
	local, pair := tasks(t, f, oneTask)
	pair.Commits[0] = pair.Commits[1]
	for range 2 {
		r, err := local.Run(t.Context(), pair)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range r.Sides {
			if side.Outcome != OK || len(side.Verdicts) != 2 || !*side.Verdicts[0].Passed || !*side.Verdicts[1].Passed {
				t.Errorf("the side is %+v", side)
			}
		}
	}
}

// ARCHITECTURE section 5: what is no measurement has a name and no verdicts.
func TestCommandOutcomes(t *testing.T) {
	tests := map[string]struct {
		result process.Result
		reply  string
		want   Outcome
	}{
		"fine":            {answered("4"), "", OK},
		"exit":            {process.Result{ExitCode: 1, Stdout: []byte("4")}, "", Failed},
		"signal":          {process.Result{ExitCode: -1, Signal: "killed", Stdout: []byte("4")}, "", Failed},
		"deadline":        {process.Result{ExitCode: -1, TimedOut: true, Stdout: []byte("4")}, "", TimedOut},
		"flood":           {process.Result{ExitCode: -1, OutputCut: true, Stdout: []byte("4")}, "", TooMuch},
		"no permission":   {process.Result{ExitCode: 77}, "", Refused},
		"later":           {process.Result{ExitCode: 75}, "", Later},
		"nothing":         {answered(" \n"), "", Empty},
		"says so":         {answered("4"), `{"schema": "forge.runner/1", "outcome": "api_error"}`, "api_error"},
		"bad reply":       {answered("4"), `{`, BadReply},
		"other schema":    {answered("4"), `{"schema": "forge.runner/2"}`, BadReply},
		"unknown outcome": {answered("4"), `{"schema": "forge.runner/1", "outcome": "great"}`, BadReply},
		"no transcript":   {answered("4"), `{"schema": "forge.runner/1", "transcript": "t.jsonl"}`, BadReply},
		"climbs":          {answered("4"), `{"schema": "forge.runner/1", "transcript": "../result.json"}`, BadReply},
		"good reply":      {answered("4"), `{"schema": "forge.runner/1", "outcome": "ok", "tokens": {"input": 3, "output": 4}, "new": 1}`, OK},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fake{do: func(env map[string]string) process.Result {
				if tt.reply != "" {
					if err := os.WriteFile(env["FORGE_RESULT"], []byte(tt.reply), 0o600); err != nil {
						t.Error(err)
					}
				}
				return tt.result
			}}
			local, pair := tasks(t, f, oneTask)
			pair.Skip[Baseline] = true
			r, err := local.Run(t.Context(), pair)
			if err != nil {
				t.Fatal(err)
			}
			got := r.Sides[Candidate]
			if got.Outcome != tt.want || (got.Verdicts != nil) != (tt.want == OK) || (got.Reason != "") != (tt.want != OK) {
				t.Errorf("the side is %+v, want %s", got, tt.want)
			}
			if name == "good reply" && (got.Tokens == nil || *got.Tokens != 7) {
				t.Errorf("tokens are %v, want 7", got.Tokens)
			}
			if r.Sides[Baseline].Outcome != NotRun {
				t.Errorf("the skipped side is %+v", r.Sides[Baseline])
			}
			if want := map[bool]int{true: 2, false: 1}[tt.want == Later]; len(f.commands) != want {
				t.Errorf("%d tries, want %d", len(f.commands), want)
			}
		})
	}
}

// handoff.md A31: what a runner writes about itself is an output under another
// name; links are no outputs.
func TestCommandOutputs(t *testing.T) {
	f := &fake{do: func(env map[string]string) process.Result {
		for _, name := range []string{"grading.json", "grading.json.out", "a/timing.json", "a/b.txt"} {
			file := filepath.Join(env["FORGE_OUTPUT"], name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
		}
		if err := os.Symlink("/etc/passwd", filepath.Join(env["FORGE_OUTPUT"], "link")); err != nil {
			t.Error(err)
		}
		return answered("4")
	}}
	local, pair := tasks(t, f, oneTask)
	r, err := local.Run(t.Context(), pair)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range r.Sides[1].Evidence {
		names = append(names, e.Name)
	}
	want := []string{"output.txt", "outputs/a/b.txt", "outputs/a/timing.json.out", "outputs/grading.json.out", "outputs/grading.json.out.out", "timing.json"}
	if !slices.Equal(names, want) {
		t.Errorf("the evidence is %v, want %v", names, want)
	}
}

// skill-format.md R-SF-EV-5: a command check runs where the outputs are, beside
// the eval's files as they were, with nothing of what the runner is handed.
func TestCommandCheck(t *testing.T) {
	list := `{"evals": [{"id": "e", "prompt": "p", "files": ["evals/files/in.txt"],
	 "assertions": [{"id": "k", "cmd": ["check", "{case_dir}", "{output_dir}"], "expect_exit": 3, "expect_substring": "yes"}]}]}`
	for name, tt := range map[string]struct {
		result process.Result
		want   bool
	}{
		"as expected":    {process.Result{ExitCode: 3, Stdout: []byte("yes")}, true},
		"another exit":   {process.Result{Stdout: []byte("yes")}, false},
		"another output": {process.Result{ExitCode: 3}, false},
		"too long":       {process.Result{ExitCode: 3, TimedOut: true, Stdout: []byte("yes")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			f.do = func(env map[string]string) process.Result {
				c := f.commands[len(f.commands)-1]
				if env["FORGE_SEAM"] == "runner" {
					if err := os.WriteFile(filepath.Join(c.Dir, "evals/files/in.txt"), []byte("forged"), 0o600); err != nil {
						t.Error(err)
					}
					return answered("done")
				}
				input, err := os.ReadFile(filepath.Join(c.Argv[1], "evals/files/in.txt"))
				if err != nil || string(input) != "input" || c.Argv[2] != c.Dir || c.Timeout != 3*time.Second || c.OutputLimit != 1<<20 {
					t.Errorf("the check is %+v with %q, %v", c, input, err)
				}
				if _, handed := env["GIVEN"]; handed || env["FORGE_SEAM"] != "check" {
					t.Errorf("the check is given %v", env)
				}
				return tt.result
			}
			local, pair := tasks(t, f, list)
			pair.Skip[Baseline] = true
			r, err := local.Run(t.Context(), pair)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Sides[Candidate]; got.Outcome != OK || *got.Verdicts[0].Passed != tt.want {
				t.Errorf("the side is %+v, want passed %v", got, tt.want)
			}
		})
	}
}

// handoff.md section 4.2: queries need skills_loaded.
func TestCommandTriggers(t *testing.T) {
	for reply, want := range map[string]int{
		`{"schema": "forge.runner/1", "skills_loaded": ["other", "sums"]}`: 1,
		`{"schema": "forge.runner/1", "skills_loaded": []}`:                0,
		`{"schema": "forge.runner/1"}`:                                     -1,
	} {
		f := &fake{do: func(env map[string]string) process.Result {
			if err := os.WriteFile(env["FORGE_RESULT"], []byte(reply), 0o600); err != nil {
				t.Error(err)
			}
			return answered("")
		}}
		local, pair := tasks(t, f, `[{"query": "add up", "should_trigger": true}]`)
		r, err := local.Run(t.Context(), pair)
		if want < 0 {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%s: %v, want a usage fault", reply, err)
			}
			continue
		}
		if got := r.Sides[1]; err != nil || got.Outcome != OK || got.Triggered != want || *got.Verdicts[0].Passed != (want == 1) {
			t.Errorf("%s: %+v, %v", reply, got, err)
		}
	}
}

// R-SF-EV-11: what cannot be given to a run is refused before anything runs.
func TestInputs(t *testing.T) {
	r, commit := repo(t, map[string]string{
		"s/SKILL.md": skillFile("s", "x"), "s/evals/evals.json": "[]", "s/data/a.txt": "a", "s/data/b/c.txt": "c", "s/PURPOSE.md": "p", "s/big/a": strings.Repeat("x", maxInputs/2), "s/big/b": strings.Repeat("y", maxInputs/2+1),
	})
	for name, want := range map[string]string{
		"data": "data/a.txt data/b/c.txt", "data/a.txt": "data/a.txt", "evals": "", "evals/evals.json": "", "PURPOSE.md": "", "none": "", "big": "", ".": "",
	} {
		files, err := Inputs(t.Context(), r, commit, "s", evals.Eval{ID: "e", Files: []string{name}})
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
		}
		if want == "" && fault.KindOf(err) != fault.Usage || want != "" && (err != nil || strings.Join(got, " ") != want) {
			t.Errorf("Inputs(%q) = %v, %v, want %q", name, got, err, want)
		}
	}
}

// statistics.md R-STAT-12: the key of a kept side is state, eval and runner, and
// nothing that was not written whole is found.
func TestCache(t *testing.T) {
	c := Cache{Dir: filepath.Join(t.TempDir(), "cache")}
	state := State{Tree: "t", Evals: "e", Spec: Spec{Kind: KindCommand, Command: []string{"a"}, Fingerprint: "f"}}
	key := func(s State, eval string, runs int) string {
		t.Helper()
		k, err := s.Key(eval, runs)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	base := key(state, "q1", 1)
	passed := true
	side := Side{Outcome: OK, Verdicts: []evals.Verdict{{ID: "c", Passed: &passed}}, Evidence: []Evidence{{Name: "output.txt", Data: []byte("\x00x")}}}
	if _, found := c.Get(base); found {
		t.Error("an empty cache has a side")
	}
	if err := c.Put(base, side); err != nil {
		t.Fatal(err)
	}
	got, found := c.Get(base)
	if !found || !*got.Verdicts[0].Passed || string(got.Evidence[0].Data) != "\x00x" {
		t.Errorf("Get = %+v, %v", got, found)
	}
	for name, other := range map[string]string{
		"another tree":    key(State{"u", "e", state.Spec}, "q1", 1),
		"other evals":     key(State{"t", "f", state.Spec}, "q1", 1),
		"another eval":    key(state, "q2", 1),
		"more runs":       key(state, "q1", 2),
		"another version": key(State{"t", "e", Spec{Kind: KindCommand, Command: []string{"a"}, Fingerprint: "g"}}, "q1", 1),
		"another limit":   key(State{"t", "e", Spec{Kind: KindCommand, Command: []string{"a"}, Fingerprint: "f", TimeoutSeconds: 9}}, "q1", 1),
	} {
		if _, found := c.Get(other); found || other == base {
			t.Errorf("%s is the same key", name)
		}
	}
	if err := c.Put("failed", Side{Outcome: TimedOut}); err != nil {
		t.Fatal(err)
	}
	if _, found := c.Get("failed"); found {
		t.Error("a side without a result is kept")
	}
	file := c.file(base)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"cut": data[:len(data)/2], "changed": append(slices.Clone(data), ' '), "empty": nil} {
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, found := c.Get(base); found {
			t.Errorf("a file that is %s counts", name)
		}
	}
}

// A program that begins with ./ is that of the repository; everything else stays
// as it was typed.
func TestFromRoot(t *testing.T) {
	for name, tt := range map[string]struct {
		root       string
		argv, want []string
	}{
		"list":         {"/r", []string{"./a.sh", "./x"}, []string{"/r/a.sh", "./x"}},
		"text":         {"/it's", process.Shell("./a.sh -v ./x"), process.Shell(`'/it'\''s'/a.sh -v ./x`)},
		"on the path":  {"/r", process.Shell("a.sh ./x"), process.Shell("a.sh ./x")},
		"absolute":     {"/r", []string{"/b/a.sh"}, []string{"/b/a.sh"}},
		"bare":         {"", process.Shell("./a.sh"), process.Shell("./a.sh")},
		"program only": {"/r", []string{"a"}, []string{"a"}},
	} {
		was := slices.Clone(tt.argv)
		if got := fromRoot(tt.argv, tt.root); !slices.Equal(got, tt.want) || !slices.Equal(tt.argv, was) {
			t.Errorf("%s: fromRoot(%q, %q) = %q, want %q", name, was, tt.root, got, tt.want)
		}
	}
}

// handoff.md section 4.2: the seed depends on seed, eval and repetition alone.
func TestSeedOf(t *testing.T) {
	seen := map[int64]bool{}
	for _, seed := range []string{"1", "2"} {
		for _, eval := range []string{"a", "b"} {
			for repetition := range 3 {
				n := SeedOf(seed, eval, repetition)
				if n < 0 || seen[n] || n != SeedOf(seed, eval, repetition) {
					t.Errorf("SeedOf(%s, %s, %d) = %d", seed, eval, repetition, n)
				}
				seen[n] = true
			}
		}
	}
}
