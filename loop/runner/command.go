package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// What the exit status of a runner means beside 0 and failed (handoff.md
// R-SEAM-6).
const (
	exitTryAgain = 75
	exitRefused  = 77
)

// outputLimit bounds a runner's standard output, in bytes (handoff.md
// section 4).
const outputLimit = 16 << 20

// seat is where one pair at a time is run: a private export of the skill for
// each side, with a home and a temporary directory that live as long as the
// Local, so that caches warm up (handoff.md R-SEAM-3). Nothing in a path or a
// variable says which side it is (R-SEAM-4).
type seat struct {
	local  *Local
	run    string
	skill  string
	places [2]*gitstore.Export
}

// take finds a free seat for a pair, or makes one. There are never more than
// pairs that run at once: those of another run or skill are given up.
func (l *Local) take(ctx context.Context, p Pair) (*seat, error) {
	found, others := l.pick(p)
	for _, other := range others {
		if err := other.close(); err != nil {
			return nil, err
		}
	}
	if found != nil {
		return found, nil
	}
	s := &seat{local: l, run: p.Run, skill: p.Skill}
	for side := range s.places {
		place, err := l.Repo.NewExport(ctx, gitstore.ExportPlan{Run: p.Run, SkillLayout: true, Below: p.Skill})
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.places[side] = place
	}
	return s, nil
}

// pick takes a free seat of a pair's run and skill from the pool, nil if there
// is none, and all those of others.
func (l *Local) pick(p Pair) (found *seat, others []*seat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seats = slices.DeleteFunc(l.seats, func(s *seat) bool {
		mine := s.run == p.Run && s.skill == p.Skill
		switch {
		case !mine:
			others = append(others, s)
		case found == nil:
			found = s
		default:
			return false
		}
		return true
	})
	return found, others
}

func (l *Local) give(s *seat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seats = append(l.seats, s)
}

// Close removes the places where commands ran.
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed []error
	for _, s := range l.seats {
		failed = append(failed, s.close())
	}
	l.seats = nil
	return errors.Join(failed...)
}

func (s *seat) close() error {
	var failed []error
	for _, place := range s.places {
		if place != nil {
			failed = append(failed, place.Remove())
		}
	}
	return errors.Join(failed...)
}

// desk is what one run of the program works on, made anew for each.
type desk struct {
	side    int
	project string // the working directory: the eval's own files
	output  string
	prompt  string // file
	result  string // file, optional to write
}

// measure runs the program on one side of a pair and grades what it made. An
// exit that asks to try again later gets one more try, on a new desk.
func (s *seat) measure(ctx context.Context, p Pair, side int) (Side, error) {
	place := s.places[side]
	if err := place.Set(ctx, p.Commits[side]); err != nil {
		return Side{}, fmt.Errorf("write the skill for the runner: %w", err)
	}
	var d desk
	var result process.Result
	left := 0
	for range 2 {
		var err error
		if d, err = s.lay(ctx, p, side); err != nil {
			return Side{}, err
		}
		result, err = s.local.Execute(ctx, s.command(p, d))
		if ctx.Err() != nil {
			return Side{}, context.Cause(ctx)
		}
		if err != nil {
			return Side{}, fmt.Errorf("start the runner: %w", err)
		}
		if left += result.LeftBehind; result.ExitCode != exitTryAgain || result.TimedOut {
			break
		}
	}
	m, err := s.read(ctx, p, d, result)
	m.Left = left
	return m, err
}

// lay makes the desk of one run.
func (s *seat) lay(ctx context.Context, p Pair, side int) (desk, error) {
	work, err := s.places[side].Fresh("work")
	if err != nil {
		return desk{}, err
	}
	d := desk{
		side: side, project: filepath.Join(work, "project"), output: filepath.Join(work, "output"),
		prompt: filepath.Join(work, "prompt.txt"), result: filepath.Join(work, "result.json"),
	}
	if err := errors.Join(os.Mkdir(d.project, 0o700), os.Mkdir(d.output, 0o700)); err != nil {
		return desk{}, fmt.Errorf("make the runner's directories: %w", err)
	}
	points := s.local.Repo.Crash()
	if err := points.WriteFile("prompt", d.prompt, []byte(p.Eval.Prompt), 0o600); err != nil {
		return desk{}, fmt.Errorf("write the prompt: %w", err)
	}
	files, err := Inputs(ctx, s.local.Repo, p.Source, p.Skill, p.Eval)
	if err != nil {
		return desk{}, err
	}
	return d, s.writeInputs(d.project, files)
}

// writeInputs writes the eval's own files.
func (s *seat) writeInputs(dir string, files []Input) error {
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write an eval's file: %w", err)
		}
		if err := s.local.Repo.Crash().WriteFile("eval file", name, f.Data, f.Perm); err != nil {
			return fmt.Errorf("write an eval's file: %w", err)
		}
	}
	return nil
}

// command is the child of one side.
func (s *seat) command(p Pair, d desk) process.Command {
	env := append(s.environment(p, d.side, "runner", p.Passed), "FORGE_PROMPT="+d.prompt, "FORGE_OUTPUT="+d.output, "FORGE_RESULT="+d.result,
		"FORGE_SEED="+strconv.FormatInt(p.Seed, 10), "FORGE_SKILL_NAME="+p.Name)
	if p.Runner.Model != "" {
		env = append(env, "FORGE_MODEL="+p.Runner.Model)
	}
	if p.Commits[d.side] != "" {
		env = append(env, "FORGE_SKILL_DIR="+filepath.Join(s.places[d.side].Tree, filepath.FromSlash(p.Skill)))
	}
	return process.Command{
		Argv: fromRoot(p.Runner.Command, s.local.Repo.WorkTree()), Dir: d.project, Env: env, OutputLimit: outputLimit, Timeout: seconds(p.Runner.TimeoutSeconds),
	}
}

// fromRoot takes a program that begins with ./ from the root of the repository:
// a runner works elsewhere, and would not find it. Only what runs is changed,
// never what is frozen, which names no machine.
func fromRoot(argv []string, root string) []string {
	if root == "" || len(argv) == 0 {
		return argv
	}
	at, word := 0, argv[0]
	shell := process.Shell("")
	if len(argv) == len(shell) && slices.Equal(argv[:2], shell[:2]) {
		at, word = 2, argv[2]
	}
	rest, relative := strings.CutPrefix(strings.TrimLeft(word, " \t"), "./")
	if !relative {
		return argv
	}
	argv = slices.Clone(argv)
	if argv[at] = filepath.Join(root, filepath.FromSlash(rest)); at == 2 {
		argv[at] = "'" + strings.ReplaceAll(root, "'", `'\''`) + "'/" + rest
	}
	return argv
}

// environment is what every child of a side is given, whatever it is for, and
// what is passed on to this one. A private HOME stays private (handoff.md
// R-SEAM-3).
func (s *seat) environment(p Pair, side int, seam string, passed []string) []string {
	place := s.places[side]
	return slices.Concat(s.local.Child, []string{"LANG=C.UTF-8", "FORGE_ACTIVE=1", "FORGE_RUN=" + p.Run}, passed, []string{
		"FORGE_SEAM=" + seam, "HOME=" + place.Home, "TMPDIR=" + place.Tmp, "GIT_CEILING_DIRECTORIES=" + place.Parent(),
	})
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// read turns what the program did into a side: a typed failure, or graded
// checks. It errs where nobody's measurement is at fault.
func (s *seat) read(ctx context.Context, p Pair, d desk, result process.Result) (Side, error) {
	m := Side{Evidence: []Evidence{{Name: "output.txt", Data: result.Stdout}}}
	if len(result.Stderr) > 0 {
		m.Evidence = append(m.Evidence, Evidence{Name: "stderr.txt", Data: result.Stderr})
	}
	if m.Outcome, m.Reason = outcomeOf(result, seconds(p.Runner.TimeoutSeconds)); m.Outcome != OK {
		return m, nil
	}
	said, data, err := readReply(d.result)
	if data != nil {
		m.Evidence = append(m.Evidence, Evidence{Name: "result.json", Data: data})
	}
	if err != nil {
		m.Outcome, m.Reason = BadReply, "the result file: "+err.Error()
		return m, nil
	}
	if said.Outcome != OK {
		m.Outcome, m.Reason = said.Outcome, "the runner says so"
		return m, nil
	}
	m.Tokens = said.Tokens
	made, err := collect(d.output)
	if err != nil {
		m.Outcome, m.Reason = BadReply, err.Error()
		if errors.Is(err, errTooMuch) {
			m.Outcome = TooMuch
		}
		return m, nil
	}
	for _, f := range made {
		m.Evidence = append(m.Evidence, Evidence{Name: "outputs/" + harmless(f.Path), Data: f.Data})
	}
	return s.grade(ctx, p, d, m, said, made)
}

// grade holds the eval's checks against what was made.
func (s *seat) grade(ctx context.Context, p Pair, d desk, m Side, said reply, made []Input) (Side, error) {
	if slices.ContainsFunc(p.Eval.Checks, func(c evals.Check) bool { return c.Kind == evals.Triggered }) {
		return triggered(p, m, said)
	}
	last := m.Evidence[0].Data
	if len(bytes.TrimSpace(last)) == 0 && len(made) == 0 {
		m.Outcome, m.Reason = Empty, "it printed nothing and made no file"
		return m, nil
	}
	transcript, err := said.transcript(made)
	if err != nil {
		m.Outcome, m.Reason = BadReply, err.Error()
		return m, nil
	}
	root, err := os.OpenRoot(d.output)
	if err != nil {
		return Side{}, fmt.Errorf("read the outputs: %w", err)
	}
	defer root.Close()
	out := evals.Output{Last: last, Transcript: transcript, Files: root.FS()}
	for i, check := range p.Eval.Checks {
		var grade evals.Result
		if check.Kind == evals.CommandCheck {
			var kept []Evidence
			grade, kept, err = s.runCheck(ctx, p, d, check, i+1)
			m.Evidence = append(m.Evidence, kept...)
		} else {
			grade, err = check.Grade(out)
		}
		if err != nil {
			return Side{}, err
		}
		m.Grades, m.Verdicts = append(m.Grades, grade), append(m.Verdicts, verdictOf(check, grade.Passed))
	}
	return m, nil
}

// triggered is the one check of a query: whether the skill was loaded, which
// only the runner can say. One that does not is no runner for queries
// (handoff.md section 4.2).
func triggered(p Pair, m Side, said reply) (Side, error) {
	if said.Loaded == nil {
		return Side{}, fault.New(fault.Usage, "write skills_loaded to the file FORGE_RESULT names", "the runner does not say which skills it loaded; trigger queries need that")
	}
	seen := "another skill was loaded, or none"
	if slices.Contains(said.Loaded, p.Name) {
		m.Triggered, seen = 1, "the skill was loaded"
	}
	passed := p.Eval.TriggerPassed(m.Triggered, 1)
	for _, check := range p.Eval.Checks {
		m.Verdicts = append(m.Verdicts, verdictOf(check, passed))
		m.Grades = append(m.Grades, evals.Result{ID: check.ID, Passed: passed, Evidence: seen})
	}
	return m, nil
}

// checkOutputLimit bounds the standard output of a command check, in bytes.
const checkOutputLimit = 1 << 20

// runCheck runs a command check in the directory of the outputs. The eval's own
// files are written anew beside it, because the runner may have changed those
// it worked on. It is given nothing of what the person hands to the runner.
func (s *seat) runCheck(ctx context.Context, p Pair, d desk, check evals.Check, n int) (evals.Result, []Evidence, error) {
	cases, err := s.places[d.side].Fresh("case")
	if err != nil {
		return evals.Result{}, nil, err
	}
	files, err := Inputs(ctx, s.local.Repo, p.Source, p.Skill, p.Eval)
	if err == nil {
		err = s.writeInputs(cases, files)
	}
	if err != nil {
		return evals.Result{}, nil, err
	}
	limit := seconds(p.Runner.CheckTimeoutSeconds)
	result, err := s.local.Execute(ctx, process.Command{
		Argv: check.Command.Expand(cases, d.output), Dir: d.output, Env: s.environment(p, d.side, "check", nil),
		OutputLimit: checkOutputLimit, Timeout: limit,
	})
	if ctx.Err() != nil {
		return evals.Result{}, nil, context.Cause(ctx)
	}
	if err != nil {
		return evals.Result{}, nil, fmt.Errorf("run check %q: %w", check.ID, err)
	}
	name := fmt.Sprintf("checks/%d", n)
	kept := []Evidence{{Name: name + ".txt", Data: result.Stdout}}
	if len(result.Stderr) > 0 {
		kept = append(kept, Evidence{Name: name + ".err.txt", Data: result.Stderr})
	}
	grade := evals.Result{ID: check.ID, Evidence: fmt.Sprintf("it exits %d", result.ExitCode)}
	switch {
	case result.TimedOut:
		grade.Evidence = fmt.Sprintf("it did not end within %s", limit)
	case result.OutputCut:
		grade.Evidence = fmt.Sprintf("it printed more than %d MiB", checkOutputLimit>>20)
	case result.Signal != "":
		grade.Evidence = "it was ended by a signal: " + result.Signal
	default:
		grade.Passed = check.Command.Passed(result.ExitCode, result.Stdout)
	}
	return grade, kept, nil
}

// outcomeOf is OK for a program that ran to its end (handoff.md R-SEAM-6).
func outcomeOf(r process.Result, limit time.Duration) (Outcome, string) {
	switch {
	case r.TimedOut:
		return TimedOut, fmt.Sprintf("no answer within %s", limit)
	case r.OutputCut:
		return TooMuch, fmt.Sprintf("more than %d MiB on standard output", outputLimit>>20)
	case r.Signal != "":
		return Failed, "ended by a signal: " + r.Signal
	case r.ExitCode == 0:
		return OK, ""
	}
	reason := fmt.Sprintf("exit %d: %s", r.ExitCode, process.FirstLine(r.Stderr))
	switch r.ExitCode {
	case exitTryAgain:
		return Later, reason
	case exitRefused:
		return Refused, reason
	}
	return Failed, reason
}
