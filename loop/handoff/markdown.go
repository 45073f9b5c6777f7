package handoff

import (
	"fmt"
	"strings"
)

// Markdown is the brief for a person or an agent: the same facts in the order
// of roles.md section 10; an empty section is left out.
func (b Brief) Markdown() []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# Brief %s: %s of run %s\n\n", b.BriefID, b.Experiment, b.Run)
	fmt.Fprintf(&out, "## Current state\n\nTarget: `%s`. Baseline %s (at the start %s), %s. Phase: %s, trend: %s. Left: %d experiments.\n",
		b.Target.Path, b.Baseline.Exact, b.Baseline.Start.Exact, direction(b.Thresholds.Direction), b.Phase.Name, b.Phase.Trend, b.Left.Experiments)
	fmt.Fprintf(&out, "A gain of %s is kept (%s).\n\n", b.Thresholds.Threshold, b.Thresholds.Binding)
	section(&out, "Last experiments", b.Last, pastLine)
	section(&out, "Near misses", b.NearMisses, pastLine)
	fmt.Fprintf(&out, "## Guidance\n\n%s\n\n", b.Guidance.Text)
	if b.Limits.OverBudget {
		fmt.Fprintf(&out, "Over the token budget (%d of %d): only a change that makes the skill smaller is measured.\n\n", *b.Limits.TokensNow, *b.Limits.TokenBudget)
	}
	section(&out, "Rejected: do not repeat these", b.Rejected, pastLine)
	section(&out, "What the target competes with", b.Library, func(k Skill) string { return k.Name + ": " + k.Description })
	section(&out, "Evidence: what fails on train", b.Failures, func(f Failure) string { return f.Eval + ": " + f.Prompt })
	b.writeRules(&out)
	return []byte(strings.TrimRight(out.String(), "\n") + "\n")
}

// writeRules says what may be changed and how to answer.
func (b Brief) writeRules(out *strings.Builder) {
	fmt.Fprintf(out, "## What you may change\n\nOne thing, in: %s. Never: %s.\n", list(b.Scope.Include), list(b.Scope.Exclude))
	if len(b.Protected.Paths) > 0 {
		fmt.Fprintf(out, "Protected: %s.\n", list(b.Protected.Paths))
	}
	for _, r := range b.Protected.Regions {
		fmt.Fprintf(out, "Protected: `%s`, lines %d to %d (%s).\n", r.Path, r.FirstLine, r.LastLine, r.Name)
	}
	fmt.Fprintf(out, "\nFiles:\n\n")
	for _, f := range b.Target.Files {
		fmt.Fprintf(out, "* `%s`, %d bytes\n", f.Path, f.Bytes)
	}
	if b.Work != nil {
		fmt.Fprintf(out, "\nEdit `%s`, then `%s --hypothesis TEXT`; or hand in a unified diff.\n", *b.Work, b.Submit.Command)
	}
}

func section[T any](out *strings.Builder, title string, items []T, line func(T) string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(out, "## %s\n\n", title)
	for _, item := range items {
		fmt.Fprintf(out, "* %s\n", plain(line(item)))
	}
	out.WriteByte('\n')
}

func pastLine(p Past) string {
	figure := ""
	if p.Delta != nil {
		figure = " " + p.Delta.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s%s: %s", p.Experiment, p.Decision, figure, p.Hypothesis))
}

// plain keeps foreign text from becoming a heading, a fence or a list.
func plain(text string) string {
	return strings.NewReplacer("#", "\u2317", "`", "'").Replace(Clean(text))
}

func list(items []string) string { return "`" + strings.Join(items, "`, `") + "`" }

func direction(d string) string { return strings.ReplaceAll(d, "_", " ") }
