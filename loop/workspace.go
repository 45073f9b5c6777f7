package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/loop/runner"
)

// This file writes what was measured in the layout of the skill-creator tools
// (skill-format.md R-SF-WS-1, R-SF-GR-3, R-SF-TI-1, R-SF-BM-1, R-SF-BM-2).

// workspaceOf names the folders of the two sides; the first is "" if there is
// one side only.
func workspaceOf(q EvalRequest) [2]string {
	switch {
	case q.Against == nil:
		return [2]string{"", "with_skill"}
	case *q.Against == "":
		return [2]string{"without_skill", "with_skill"}
	}
	return [2]string{"old_skill", "new_skill"}
}

// checkExport refuses a directory that holds something, and one where clients
// would look for skills.
func (e *Engine) checkExport(ctx context.Context, commit gitstore.Hash, dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fault.New(fault.Usage, "name an empty or a new directory", "export to %q: %w", dir, err)
	case len(entries) > 0:
		return fault.New(fault.Usage, "name an empty or a new directory", "%q is not empty", dir)
	}
	if e.Repo.WorkTree() == "" {
		return nil
	}
	found, _, err := runner.Discover(ctx, e.Repo, commit, e.Search)
	if err != nil {
		return err
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("export to %q: %w", dir, err)
	}
	at = realPath(at)
	for _, f := range found.Skills {
		root := realPath(filepath.Join(e.Repo.WorkTree(), filepath.FromSlash(path.Dir(f.Path))))
		if f.Path == "." || path.Dir(f.Path) == "." {
			root = realPath(filepath.Join(e.Repo.WorkTree(), filepath.FromSlash(f.Path)))
		}
		if below, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(below) {
			return fault.New(fault.Usage, "name a directory outside of it", "%q lies where clients look for skills", dir)
		}
	}
	return nil
}

// realPath resolves the links of a path as far as it exists.
func realPath(name string) string {
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		return real
	}
	parent := filepath.Dir(name)
	if parent == name {
		return name
	}
	return filepath.Join(realPath(parent), filepath.Base(name))
}

// expectation is one check of a grading.
type expectation struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Passed   bool   `json:"passed"`
	Evidence string `json:"evidence"`
}

// summary counts the checks of a grading.
type summary struct {
	Passed   int     `json:"passed"`
	Failed   int     `json:"failed"`
	Total    int     `json:"total"`
	PassRate float64 `json:"pass_rate"`
}

// benchRun is one run in benchmark.json.
type benchRun struct {
	EvalID        string        `json:"eval_id"`
	EvalName      string        `json:"eval_name"`
	Configuration string        `json:"configuration"`
	RunNumber     int           `json:"run_number"`
	Result        benchResult   `json:"result"`
	Expectations  []expectation `json:"expectations"`
	Notes         []string      `json:"notes"`
}

type benchResult struct {
	summary
	Seconds float64 `json:"time_seconds"`
	Tokens  *int64  `json:"tokens,omitempty"`
}

// writeWorkspace writes every measured run. Sides without a result are left out
// as they are left out of a score.
func (k *skillMode) writeWorkspace(dir string, configs [2]string, list []evals.Eval, results []runner.Result) error {
	bench := []benchRun{}
	for i, e := range list {
		folder := filepath.Join(dir, evalFolder(e))
		metadata := k.metadata(e)
		if err := k.writeJSON(filepath.Join(folder, "eval_metadata.json"), metadata); err != nil {
			return err
		}
		for side, config := range configs {
			m := results[i].Sides[side]
			if config == "" || m.Outcome != runner.OK {
				continue
			}
			runs, err := k.writeSide(filepath.Join(folder, config), e, m, metadata)
			if err != nil {
				return err
			}
			for n := range runs {
				runs[n].EvalID, runs[n].EvalName, runs[n].Configuration = e.ID, metadata.Name, config
			}
			bench = append(bench, runs...)
		}
	}
	return k.writeJSON(filepath.Join(dir, "benchmark.json"), map[string]any{
		"metadata": map[string]any{"skill_name": k.name, "runs_per_configuration": k.spec.Runs(k.set.Form)},
		"runs":     bench, "run_summary": runSummary(configs, bench),
	})
}

// evalMetadata is eval_metadata.json.
type evalMetadata struct {
	ID         string   `json:"eval_id"`
	Name       string   `json:"eval_name"`
	Prompt     string   `json:"prompt"`
	Assertions []string `json:"assertions"`
	Ungraded   []string `json:"ungraded"`
}

func (k *skillMode) metadata(e evals.Eval) evalMetadata {
	m := evalMetadata{ID: e.ID, Name: e.Name, Prompt: e.Prompt, Assertions: []string{}, Ungraded: []string{}}
	if m.Name == "" {
		m.Name = e.ID
	}
	for _, c := range e.Checks {
		m.Assertions = append(m.Assertions, c.Describe())
	}
	for _, name := range k.gradable.Ungraded {
		if id, ok := strings.CutPrefix(name, e.ID+"/"); ok {
			m.Ungraded = append(m.Ungraded, id)
		}
	}
	return m
}

// evalFolder is eval-<id>-<slug>. An id that holds slashes is flattened.
func evalFolder(e evals.Eval) string {
	name := e.Name
	if name == "" {
		name = e.Prompt
	}
	id := strings.ReplaceAll(e.ID, "/", "-")
	slug := gitstore.Slug(strings.ReplaceAll(name, "/", " "))
	if len(slug) > 40 {
		slug = strings.Trim(slug[:40], "-")
	}
	return "eval-" + id + "-" + slug
}

// writeSide writes the runs of one side of an eval.
func (k *skillMode) writeSide(dir string, e evals.Eval, m runner.Side, metadata evalMetadata) ([]benchRun, error) {
	runs := max(1, m.Runs)
	each := len(m.Verdicts) / runs
	whole := k.set.Form == evals.Triggers && runs > 1 // the rate is one verdict on all runs
	var bench []benchRun
	for run := range runs {
		verdicts, grades := m.Verdicts, m.Grades
		if !whole {
			verdicts = m.Verdicts[run*each : (run+1)*each]
			if len(m.Grades) == len(m.Verdicts) {
				grades = m.Grades[run*each : (run+1)*each]
			}
		}
		graded := expectations(e, verdicts, grades)
		sum := summarise(graded)
		folder := filepath.Join(dir, fmt.Sprintf("run-%d", run+1))
		prefix := ""
		if runs > 1 {
			prefix = runName(run) + "/"
		}
		took, err := k.writeRun(folder, m.Evidence, prefix, took{Seconds: m.Seconds / float64(runs)})
		if err != nil {
			return nil, err
		}
		err = errors.Join(
			k.writeJSON(filepath.Join(folder, "eval_metadata.json"), metadata),
			k.writeJSON(filepath.Join(folder, "grading.json"), map[string]any{
				"expectations": graded, "assertion_results": graded, "summary": sum, "ungraded": metadata.Ungraded,
			}),
			k.writeJSON(filepath.Join(folder, "timing.json"), took.document()),
		)
		if err != nil {
			return nil, err
		}
		bench = append(bench, benchRun{
			RunNumber: run + 1, Expectations: graded, Notes: []string{},
			Result: benchResult{summary: sum, Seconds: took.Seconds, Tokens: took.Tokens},
		})
	}
	return bench, nil
}

// expectations are the checks of one run with their texts and what was seen.
func expectations(e evals.Eval, verdicts []evals.Verdict, grades []evals.Result) []expectation {
	list := make([]expectation, len(verdicts))
	for i, v := range verdicts {
		list[i] = expectation{ID: v.ID, Text: v.Text, Passed: *v.Passed}
		if i < len(e.Checks) {
			list[i].Text = e.Checks[i].Describe()
		}
		if i < len(grades) {
			list[i].Evidence = grades[i].Evidence
		}
	}
	return list
}

func summarise(list []expectation) summary {
	s := summary{Total: len(list)}
	for _, e := range list {
		if e.Passed {
			s.Passed++
		}
	}
	s.Failed = s.Total - s.Passed
	if s.Total > 0 {
		s.PassRate = float64(s.Passed) / float64(s.Total)
	}
	return s
}

// took is what one run cost.
type took struct {
	Tokens  *int64  `json:"total_tokens"`
	Seconds float64 `json:"total_duration_seconds"`
}

// document is timing.json; what is not known stays missing (R-SF-TI-1).
func (t took) document() map[string]any {
	document := map[string]any{"duration_ms": int64(math.Round(1000 * t.Seconds)), "total_duration_seconds": t.Seconds}
	if t.Tokens != nil {
		document["total_tokens"] = *t.Tokens
	}
	return document
}

// writeRun writes the outputs of one run: its files, and what it printed as
// final_message.txt beside them unless a file has that name. It returns what
// the run took, where that is known of it alone.
func (k *skillMode) writeRun(folder string, evidence []runner.Evidence, prefix string, t took) (took, error) {
	outputs := filepath.Join(folder, "outputs")
	if err := os.MkdirAll(outputs, 0o755); err != nil {
		return t, fmt.Errorf("export a run: %w", err)
	}
	for _, part := range evidence {
		name, mine := strings.CutPrefix(part.Name, prefix)
		file, isOutput := strings.CutPrefix(name, "outputs/")
		switch {
		case !mine:
			continue
		case name == "timing.json":
			if err := json.Unmarshal(part.Data, &t); err != nil {
				return t, fmt.Errorf("export a run: %w", err)
			}
			continue
		case isOutput:
		case name == "output.txt", name == "answer.json":
			file = "final_message.txt"
			if name == "answer.json" {
				file = name
			}
		default:
			continue
		}
		if err := k.writeFile(filepath.Join(outputs, filepath.FromSlash(file)), part.Data); err != nil {
			return t, err
		}
	}
	return t, nil
}

// runSummary is the statistics of each configuration, and their difference:
// candidate minus baseline (R-SF-BM-2).
func runSummary(configs [2]string, bench []benchRun) map[string]any {
	document := map[string]any{}
	var means [2]float64
	for side, config := range configs {
		var rates, times, tokens []float64
		for _, r := range bench {
			if r.Configuration != config {
				continue
			}
			rates, times = append(rates, r.Result.PassRate), append(times, r.Result.Seconds)
			if r.Result.Tokens != nil {
				tokens = append(tokens, float64(*r.Result.Tokens))
			}
		}
		if config == "" || len(rates) == 0 {
			continue
		}
		figures := map[string]any{"pass_rate": spreadOf(rates), "time_seconds": spreadOf(times)}
		if len(tokens) > 0 {
			figures["tokens"] = spreadOf(tokens)
		}
		document[config], means[side] = figures, spreadOf(rates).Mean
	}
	if len(document) == 2 {
		document["delta"] = map[string]string{"pass_rate": fmt.Sprintf("%+.4f", means[runner.Candidate]-means[runner.Baseline])}
	}
	return document
}

// spread is a mean with its sample deviation and its ends.
type spread struct {
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) spread {
	s := spread{Min: values[0], Max: values[0]}
	for _, v := range values {
		s.Mean += v / float64(len(values))
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	}
	for _, v := range values {
		if len(values) > 1 {
			s.Stddev += (v - s.Mean) * (v - s.Mean) / float64(len(values)-1)
		}
	}
	s.Stddev = math.Sqrt(s.Stddev)
	return s
}

// writeJSON and writeFile write one file of the layout.
func (k *skillMode) writeJSON(name string, document any) error {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return fmt.Errorf("export %q: %w", filepath.Base(name), err)
	}
	return k.writeFile(name, append(data, '\n'))
}

func (k *skillMode) writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("export %q: %w", filepath.Base(name), err)
	}
	if err := k.repo.Crash().WriteFile("eval export", name, data, 0o644); err != nil {
		return fmt.Errorf("export %q: %w", filepath.Base(name), err)
	}
	return nil
}
