package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"forge/gitstore/skill"
	"forge/loop/guard"
	"forge/loop/handoff"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// charsPerToken is how forge estimates tokens (loop.md R-BUDGET-3).
const charsPerToken = 3

// Next is the brief of the run's next experiment: a pure function of the tip
// and of the stop limits (handoff.md R-NEXT-2).
func (s *Session) Next(ctx context.Context) (handoff.Brief, error) {
	files, err := s.briefFiles(ctx)
	if err != nil {
		return handoff.Brief{}, err
	}
	n := len(s.journal.Lines) + 1
	name := handoff.ExperimentName(n)
	id := handoff.ID(string(s.tip), name)
	run := s.journal.Config
	b := handoff.Brief{
		Schema: handoff.BriefSchema, BriefID: id, Run: run.Run, Experiment: name, N: n, Mode: run.Mode,
		Tip: string(s.tip), Branch: strings.TrimPrefix(s.branch, "refs/heads/"),
		Target: handoff.Target{Path: s.target.dir, Name: s.target.slug, Tree: string(s.state), Files: files},
		Scope:  handoff.Scope{Include: []string{s.relative(s.target.text)}, Exclude: []string{".forge/**"}, MaxFiles: run.Guards.MaxScopeFiles},
		Protected: handoff.Protected{
			Regions: append([]handoff.Region{}, s.regions...), Paths: append([]string{}, run.Guards.ProtectedPaths...),
		},
		Baseline: s.briefBaseline(), Thresholds: s.briefThresholds(),
		Phase:    handoff.Phase{Name: phase(n), Trend: s.trend()},
		Guidance: handoff.Guidance{Text: guidance[phase(n)]},
		Allowed:  handoff.Allowed{Categories: []string{}, MutationTypes: []string{"config_change", "refactor"}},
		Coverage: handoff.Coverage{Untouched: []string{}, Saturated: []string{}, Categories: []any{}},
		Failures: []handoff.Failure{}, Successes: []any{}, Library: []handoff.Skill{}, Patterns: []any{}, Questions: []any{},
		Limits: handoff.Limits{MaxPatchBytes: handoff.MaxPatchBytes, MaxPatchFiles: handoff.MaxPatchFiles, MaxFileBytes: handoff.MaxFileBytes},
		Left:   s.left(),
		Submit: handoff.Submit{Command: "forge submit --brief " + id, PatchBase: "target", ProposalSchema: handoff.ProposalSchema},
	}
	b.Last, b.Rejected, b.NearMisses, b.Tried = s.past()
	if s.skill == nil {
		b.Readings = s.briefReadings()
		return b, nil
	}
	return b, s.briefSkill(ctx, &b)
}

// relative is a path or pattern of the repository as seen from the target's
// directory.
func (s *Session) relative(pattern string) string {
	switch {
	case s.target.dir == ".":
		return pattern
	case pattern == s.target.dir: // the directory with all that is in it
		return "**"
	}
	return strings.TrimPrefix(pattern, s.target.dir+"/")
}

// briefFiles lists the scope at the tip. The list changes with a KEEP only, so
// it is kept between experiments.
func (s *Session) briefFiles(ctx context.Context) ([]handoff.File, error) {
	if s.files != nil {
		return s.files, nil
	}
	files, regions := []handoff.File{}, []handoff.Region{}
	for _, name := range sortedPaths(s.scope) {
		entry, err := s.engine.Repo.Lookup(ctx, s.tip, name)
		if err != nil {
			return nil, fmt.Errorf("read %q at the run's tip: %w", name, err)
		}
		data, err := s.engine.Repo.Blob(ctx, entry.Object)
		if err != nil {
			return nil, fmt.Errorf("read %q at the run's tip: %w", name, err)
		}
		if s.skill != nil {
			regions = append(regions, regionsOf(s.relative(name), data)...)
		}
		sum := sha256.Sum256(data)
		files = append(files, handoff.File{
			Path: s.relative(name), Mode: fmt.Sprintf("%06o", uint32(entry.Mode)), Bytes: len(data),
			Tokens: utf8.RuneCount(data) / charsPerToken, SHA256: hex.EncodeToString(sum[:]),
		})
	}
	s.files, s.regions = files, regions
	return files, nil
}

func regionsOf(file string, data []byte) (list []handoff.Region) {
	for _, r := range skill.Scan(data).List {
		list = append(list, handoff.Region{
			Path: file, Name: strings.TrimPrefix(r.Name, "FORGE_"), FirstLine: r.FirstLine, LastLine: r.LastLine,
		})
	}
	return list
}

func sortedPaths(files guard.Sizes) []string {
	return slices.Sorted(maps.Keys(files))
}

func (s *Session) briefBaseline() handoff.Baseline {
	point := func(text string) handoff.Point {
		r, err := verdict.ParseExact(text)
		if err != nil {
			return handoff.Point{Exact: text, Score: "0"}
		}
		return handoff.Point{Score: verdict.Rounded(r, 6), Exact: text}
	}
	now := point(s.baseline.Median)
	return handoff.Baseline{Score: now.Score, Exact: now.Exact, Source: s.baseline.source, Start: point(s.journal.Config.Baseline.Median)}
}

func (s *Session) briefThresholds() handoff.Thresholds {
	bars := s.shownBars()
	threshold, binding := bars.Improvement, verdict.BindingImprovement
	if tie, err := verdict.Decide(verdict.Decimal(s.baseline.median), verdict.Decimal(s.baseline.median), bars); err == nil {
		threshold, binding = tie.Threshold, tie.Binding
	}
	return handoff.Thresholds{
		Improvement: verdict.Rounded(bars.Improvement, 6), Regression: verdict.Rounded(bars.Regression, 6),
		NearMissBand: verdict.Rounded(bars.NearMissBand, 6), NoiseFloor: verdict.Exact(bars.NoiseFloor),
		Resolution: verdict.Exact(bars.Resolution), Threshold: verdict.Exact(threshold), Binding: string(binding),
		Boundary: string(bars.Boundary), Direction: string(bars.Direction), Relative: bars.Relative,
	}
}

func (s *Session) briefReadings() *handoff.Readings {
	metric := s.journal.Config.Metric
	r := &handoff.Readings{
		Values: s.baseline.Values, Median: s.baseline.Median, NoiseFloor: s.baseline.NoiseFloor,
		Command: CommandText(metric.Command),
	}
	if metric.Name != "" {
		r.Name = &metric.Name
	}
	return r
}

// CommandText is a command as a person typed it: without the shell in front.
func CommandText(argv []string) string {
	if len(argv) == 3 && argv[0] == "/bin/sh" && argv[1] == "-c" {
		return argv[2]
	}
	return strings.Join(argv, " ")
}

// ProposerText is a proposer as --proposer names it.
func ProposerText(p journal.Proposer) string {
	if p.Kind == "command" {
		return "command:" + CommandText(p.Command)
	}
	return p.Kind
}

// left is what the stop limits still allow. Minutes follow from the committed
// durations, not from a clock (R-NEXT-2).
func (s *Session) left() handoff.Left {
	left := handoff.Left{Experiments: max(0, s.setup.Limits.MaxExperiments-len(s.journal.Lines))}
	if budget := s.setup.Limits.TimeBudget; budget > 0 {
		minutes := new(big.Rat).SetFloat64(budget.Minutes())
		for _, l := range s.journal.Lines {
			minutes.Sub(minutes, new(big.Rat).SetFloat64(l.DurationS/60))
		}
		if minutes.Sign() < 0 {
			minutes.SetInt64(0)
		}
		rounded := verdict.Rounded(minutes, 1)
		left.Minutes = &rounded
	}
	return left
}

// phase of experiment n (seed 001: 1 to 3, 4 to 7, 8 and on).
func phase(n int) string {
	switch {
	case n <= 3:
		return "exploration"
	case n <= 7:
		return "balanced"
	}
	return "exploitation"
}

// guidance is what each phase asks for, in words (roles.md section 10).
var guidance = map[string]string{
	"exploration":  "Explore: 4 of 5 choices go to what was not tried yet.",
	"balanced":     "Take turns between what was not tried yet and what has helped.",
	"exploitation": "Exploit: 4 of 5 choices go to what has helped most.",
}

// trend compares the baseline with the one of three measured experiments ago
// (R-CTX-3).
func (s *Session) trend() string {
	var before []string
	for _, l := range s.journal.Lines {
		if l.ScoreBefore != nil {
			before = append(before, l.ScoreBefore.String())
		}
	}
	if len(before) < 3 {
		return "stagnant"
	}
	then, err := verdict.ParseRatio(before[len(before)-3])
	if err != nil {
		return "stagnant"
	}
	switch s.improvement(then, s.baseline.median).Sign() {
	case 1:
		return "rising"
	case -1:
		return "falling"
	}
	return "stagnant"
}

// past is the history as the brief's lists show it.
func (s *Session) past() (last, rejected, near []handoff.Past, tried []handoff.Tried) {
	last, rejected, near, tried = []handoff.Past{}, []handoff.Past{}, []handoff.Past{}, []handoff.Tried{}
	lines := s.journal.Lines
	for i, l := range lines {
		p := handoff.Past{
			Experiment: l.ID, Category: l.Category, MutationType: l.MutationType, Decision: l.Decision,
			NearMiss: l.NearMiss, Delta: l.Delta, Hypothesis: l.Hypothesis,
		}
		if l.Confidence != nil {
			p.Confidence = *l.Confidence
		}
		if i >= len(lines)-3 {
			last = append(last, p)
		}
		if l.Decision != string(verdict.Keep) {
			refused := p
			refused.Run = l.Run
			rejected = append(rejected, refused)
		}
		if l.NearMiss && l.Delta != nil && l.Threshold != nil {
			near = append(near, nearMiss(l))
		}
		tried = append(tried, handoff.Tried{
			Experiment: l.ID, Changes: changeTexts(l.Changes), Hypothesis: l.Hypothesis, Decision: l.Decision, Delta: l.Delta,
		})
	}
	return last, rejected[max(0, len(rejected)-s.setup.RejectedLimit):], near, tried
}

func nearMiss(l journal.Line) handoff.Past {
	p := handoff.Past{Experiment: l.ID, Hypothesis: l.Hypothesis, Delta: l.Delta}
	delta, err := verdict.ParseRatio(l.Delta.String())
	bar, err2 := verdict.ParseRatio(l.Threshold.String())
	if err == nil && err2 == nil {
		distance := verdict.Rounded(new(big.Rat).Sub(bar, delta), 6)
		p.Distance = &distance
	}
	return p
}

func changeTexts(changes []journal.Change) []string {
	texts := make([]string, 0, len(changes))
	for _, c := range changes {
		if c.Line > 0 {
			texts = append(texts, fmt.Sprintf("%s:%d %s -> %s", c.Path, c.Line, c.From, c.To))
		} else {
			texts = append(texts, fmt.Sprintf("%s +%d -%d", c.Path, c.Added, c.Removed))
		}
	}
	return texts
}

// numbers are readings as JSON numbers, in the order taken.
func numbers(values []*big.Rat) []json.Number {
	out := make([]json.Number, len(values))
	for i, v := range values {
		out[i] = verdict.Number(v)
	}
	return out
}
