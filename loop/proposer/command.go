package proposer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/gitstore/process"
	"forge/loop/handoff"
)

// What the exit status of a proposer means (handoff.md R-SEAM-6).
const (
	exitExhausted = 10
	exitSkip      = 11
	exitTryAgain  = 75
)

// outputLimit bounds a proposer's standard output, in bytes (handoff.md
// section 4).
const outputLimit = 4 << 20

// Command asks a program (command:CMD). It works in a private copy of the
// repository at the run's tip, without .forge and without the evals of any
// skill. Close it.
type Command struct {
	Argv      []string                                                             // required
	Timeout   time.Duration                                                        // 0: none
	Run       string                                                               // required: names the export
	NewExport func(context.Context, gitstore.ExportPlan) (*gitstore.Export, error) // required
	Execute   func(context.Context, process.Command) (process.Result, error)       // required

	export *gitstore.Export
}

// Close removes the program's working copy.
func (c *Command) Close() error {
	if c.export == nil {
		return nil
	}
	export := c.export
	c.export = nil
	return export.Remove()
}

// Propose writes the brief, runs the program and reads its answer.
func (c *Command) Propose(ctx context.Context, task handoff.Task) (handoff.Proposal, error) {
	if c.export == nil {
		export, err := c.NewExport(ctx, gitstore.ExportPlan{Run: c.Run})
		if err != nil {
			return handoff.Proposal{}, err
		}
		c.export = export
	}
	if err := c.export.Set(ctx, gitstore.Hash(task.Tip)); err != nil {
		return handoff.Proposal{}, fmt.Errorf("write the proposer's working copy: %w", err)
	}
	child, err := c.prepare(task)
	if err != nil {
		return handoff.Proposal{}, err
	}
	result, err := c.Execute(ctx, child)
	if err == nil && result.ExitCode == exitTryAgain && !result.TimedOut {
		result, err = c.Execute(ctx, child) // R-SEAM-6: one more try
	}
	if ctx.Err() != nil {
		return handoff.Proposal{}, context.Cause(ctx)
	}
	if err != nil {
		return handoff.Proposal{}, skip("proposer_failed", err.Error())
	}
	if err := verdictOfExit(result, child.Timeout); err != nil {
		return handoff.Proposal{}, err
	}
	return c.answer(ctx, result.Stdout)
}

func skip(reason, detail string) error {
	return &handoff.SkipError{Reason: reason, Detail: handoff.Clean(detail)}
}

// prepare writes what the program reads and describes the child.
func (c *Command) prepare(task handoff.Task) (process.Command, error) {
	work := filepath.Join(c.export.Tree, filepath.FromSlash(task.Brief.Target.Path))
	task.Brief.Work = &work
	brief, err := task.Brief.Encode()
	if err != nil {
		return process.Command{}, err
	}
	folder := filepath.Join(c.export.Tmp, "brief")
	evidence := filepath.Join(folder, "evidence")
	if err := os.MkdirAll(evidence, 0o700); err != nil {
		return process.Command{}, fmt.Errorf("write the brief: %w", err)
	}
	file := filepath.Join(folder, "brief.json")
	if err := os.WriteFile(file, brief, 0o600); err != nil {
		return process.Command{}, fmt.Errorf("write the brief: %w", err)
	}
	return process.Command{
		Argv: c.Argv, Dir: work, Stdin: brief, OutputLimit: outputLimit, Timeout: c.Timeout,
		Env: append(slices.Clone(task.Environment),
			"HOME="+c.export.Home, "TMPDIR="+c.export.Tmp, "GIT_CEILING_DIRECTORIES="+c.export.Parent(), "FORGE_SEAM=proposer",
			"FORGE_BRIEF="+file, "FORGE_BRIEF_ID="+task.Brief.BriefID, "FORGE_EXPERIMENT="+task.Brief.Experiment,
			"FORGE_WORK="+work, "FORGE_EVIDENCE="+evidence, "FORGE_TARGET="+task.Brief.Target.Path),
	}, nil
}

// verdictOfExit is nil for a proposer that answered.
func verdictOfExit(r process.Result, limit time.Duration) error {
	switch {
	case r.TimedOut:
		return skip("proposer_failed", fmt.Sprintf("no answer within %s", limit))
	case r.OutputCut:
		return skip("proposer_output", fmt.Sprintf("more than %d MiB on standard output", outputLimit>>20))
	case r.Signal != "":
		return skip("proposer_failed", "ended by signal: "+r.Signal)
	case r.ExitCode == 0:
		return nil
	case r.ExitCode == exitExhausted:
		return handoff.ErrExhausted
	case r.ExitCode == exitSkip:
		return skip("skipped", process.FirstLine(r.Stderr))
	default:
		return skip("proposer_failed", fmt.Sprintf("exit %d: %s", r.ExitCode, process.FirstLine(r.Stderr)))
	}
}

// answer tells by the first byte what the program said: nothing and an edited
// working copy, a proposal, or a diff (handoff.md section 4.1).
func (c *Command) answer(ctx context.Context, stdout []byte) (handoff.Proposal, error) {
	edits, err := c.export.Changes(ctx, handoff.MaxFileBytes)
	if fault.KindOf(err) == fault.Refused {
		return handoff.Proposal{}, skip("patch_unusable", err.Error())
	}
	if err != nil {
		return handoff.Proposal{}, fmt.Errorf("read the proposer's working copy: %w", err)
	}
	said := bytes.TrimSpace(stdout)
	p := handoff.Proposal{Hypothesis: "change made by the proposer", Category: "unknown"}
	switch {
	case len(said) == 0:
	case said[0] == '{':
		if p, err = handoff.ParseProposal(said); err != nil {
			return handoff.Proposal{}, skip("proposer_output", err.Error())
		}
		if p.Category == "" {
			p.Category = "unknown"
		}
	case bytes.HasPrefix(said, []byte("diff --git ")), bytes.HasPrefix(said, []byte("--- ")):
		p.Patch = bytes.TrimLeft(stdout, " \t\r\n")
	default:
		return handoff.Proposal{}, skip("proposer_output", "neither a diff nor a proposal: "+process.FirstLine(said))
	}
	if len(p.Patch) > 0 && len(edits) > 0 {
		return handoff.Proposal{}, skip("proposer_ambiguous", "a diff on standard output and an edited working copy")
	}
	if len(p.Patch) == 0 {
		p.Edits = edits
	}
	return p, nil
}
