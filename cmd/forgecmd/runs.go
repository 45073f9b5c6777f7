package forgecmd

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop"
)

// runsCommand is `forge runs` (gitstore.md R-TIDY-1, R-TIDY-2).
func runsCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:        "runs",
		Usage:       "list what the repository keeps of its runs, and tidy up",
		Category:    groupHistory,
		Description: about{Example: "forge runs list"}.String(),
		Subcommands: []*cli.Command{runsListCommand(env), runsDropCommand(env), runsPruneCommand(env)},
	}
}

// runsDocument is what `forge runs list --json` prints.
type runsDocument struct {
	Runs []listedRun `json:"runs"` // newest first
}

// listedRun is one run of it.
type listedRun struct {
	Run           string   `json:"run"`
	Target        string   `json:"target"`
	State         string   `json:"state"` // running, stopped, finished, landed or superseded
	Kept          int      `json:"kept"`
	Last          string   `json:"last"` // time of the newest commit
	Tip           string   `json:"tip"`
	Refs          []string `json:"refs"`
	EvidenceBytes int64    `json:"evidence_bytes"`
}

// runsListCommand is `forge runs list`.
func runsListCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "every run with its state, its refs and the size of its raw outputs",
		Description: about{
			Text: "running: a process works on it. stopped: open, forge run --resume goes on. landed: a branch has all it kept.\n" +
				"Raw outputs lie outside the history, in forge/evidence of the git directory.",
			Example: "forge runs list",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			runs, err := env.reader(repo).KeptRuns(c.Context)
			if err != nil {
				return err
			}
			listed := make([]listedRun, 0, len(runs))
			for i := len(runs) - 1; i >= 0; i-- {
				listed = append(listed, listedRunOf(runs[i]))
			}
			if env.JSON {
				return env.PrintJSON(runsDocument{listed})
			}
			env.printRuns(listed)
			return nil
		},
	}
}

func listedRunOf(k loop.KeptRun) listedRun {
	l := listedRun{
		Run: k.Name, Target: k.Config.Target, State: string(k.State), Kept: k.Kept, Last: k.Last.Format(time.RFC3339),
		Tip: string(k.Tip), Refs: []string{}, EvidenceBytes: k.Evidence,
	}
	for _, ref := range k.Refs {
		l.Refs = append(l.Refs, ref.Name)
	}
	return l
}

func (env *Env) printRuns(listed []listedRun) {
	if len(listed) == 0 {
		fmt.Fprintf(env.Stdout, "no run yet\n")
		return
	}
	table := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, l := range listed {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d kept\t%s\t%s\t%s of evidence\n",
			l.Run, visible(l.Target), l.State, l.Kept, l.Last, count(len(l.Refs), "ref"), bytesText(l.EvidenceBytes))
	}
	table.Flush()
}

// bytesText is a size for reading.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// runsDropCommand is `forge runs drop`.
func runsDropCommand(env *Env) *cli.Command {
	var yes bool
	return &cli.Command{
		Name:      "drop",
		Usage:     "remove a run: its branch, candidates, snapshots and raw outputs",
		ArgsUsage: "RUN",
		Description: about{
			Text: "Shows first what would go, and asks. What has landed stays landed, and of such a run the tip stays too:\n" +
				"forge log and forge show go on reading it. Until git drops the objects, the printed command brings a run back.",
			Exits: exits{
				1: "you said no; nothing was removed",
				3: "the run's branch is checked out; nothing was removed",
				4: "a process works on the run, or a ref moved meanwhile and was left",
			},
			Example: "forge runs drop r1-k3fq",
		}.String(),
		Flags: []cli.Flag{yesFlag(&yes)},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			e, r, err := env.openRun(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			removal, err := e.PlanDrop(c.Context, r)
			if err != nil {
				return err
			}
			var removals []loop.Removal
			if !removal.Empty() {
				removals = append(removals, removal)
			}
			return env.tidy(c.Context, e, removals, nil, yes)
		},
	}
}

// runsPruneCommand is `forge runs prune`.
func runsPruneCommand(env *Env) *cli.Command {
	var (
		older         string
		evidence, yes bool
	)
	return &cli.Command{
		Name:  "prune",
		Usage: "remove what old runs no longer need",
		Description: about{
			Text: "Of a run that has landed its branch and its candidates go, the tip stays, and with it everything it kept.\n" +
				"Of a run that kept nothing all of it goes. A run with kept changes that have not landed is left and named.\n" +
				"Shows first what would go, and asks.",
			Exits: exits{
				1: "you said no; nothing was removed",
				3: "a run was left because its branch is checked out; the others are removed",
				4: "another forge works on a run, or a ref moved meanwhile and was left",
			},
			Example: "forge runs prune --older-than 30d",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "older-than", Destination: &older, Usage: "`AGE` of a run's newest commit, such as 30d or 12h"},
			&cli.BoolFlag{Name: "evidence", Destination: &evidence, Usage: "remove the raw outputs of those runs too"},
			yesFlag(&yes),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			age, err := parseAge(older)
			if err != nil {
				return err
			}
			repo, err := env.openRepo(c.Context)
			if err != nil {
				return err
			}
			e := env.reader(repo)
			removals, left, err := e.PlanPrune(c.Context, age, evidence)
			if err != nil {
				return err
			}
			return env.tidy(c.Context, e, removals, left, yes)
		},
	}
}

func yesFlag(yes *bool) cli.Flag {
	return &cli.BoolFlag{Name: "yes", Destination: yes, Usage: "do not ask"}
}

// parseAge reads 30d, or a duration as Go writes it, such as 12h.
func parseAge(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		n, daysErr := strconv.ParseUint(days, 10, 16)
		age, err = time.Duration(n)*24*time.Hour, daysErr
	}
	if err != nil || age < 0 {
		return 0, fault.New(fault.Usage, "forge runs prune --older-than 30d", "--older-than wants an age, got %q", text)
	}
	return age, nil
}

// tidied is the document of `forge runs drop --json` and `prune --json`.
type tidied struct {
	Removed []removedRun `json:"removed"`
	Left    []leftRun    `json:"left"`
}

type removedRun struct {
	Run           string       `json:"run"`
	Refs          []removedRef `json:"refs"`
	Commits       int          `json:"commits"` // that only these refs reached
	EvidenceBytes int64        `json:"evidence_bytes"`
	Restore       string       `json:"restore"` // while git has the objects
}

type removedRef struct {
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

type leftRun struct {
	Run    string `json:"run"`
	Reason string `json:"reason"`
}

// tidy shows what would go, asks, and removes it.
func (env *Env) tidy(ctx context.Context, e *loop.Engine, removals []loop.Removal, left []loop.Left, yes bool) error {
	if !env.JSON && !(env.Quiet && yes) {
		env.printPlan(removals, left)
	}
	if len(removals) > 0 && !yes {
		if err := env.confirm("Remove this?", "nothing was removed"); err != nil {
			return err
		}
	}
	document := tidied{Removed: []removedRun{}, Left: []leftRun{}}
	var failed error
	for _, l := range left {
		document.Left = append(document.Left, leftRun{l.Run, l.Reason})
		if l.Kind != 0 {
			failed = fault.New(l.Kind, "", "run %s was left: %s", l.Run, l.Reason)
		}
	}
	for _, r := range removals {
		err := e.Remove(ctx, r)
		if fault.KindOf(err) == fault.Conflict { // the others can still go
			failed = err
			document.Left = append(document.Left, leftRun{r.Run.Name, err.Error()})
			continue
		}
		if err != nil {
			return err
		}
		document.Removed = append(document.Removed, removedOf(r))
	}
	if env.JSON {
		err := env.PrintJSON(document)
		if err == nil && failed != nil {
			err = negative{fault.KindOf(failed)} // the document says what stayed
		}
		return err
	}
	env.printRemoved(document.Removed)
	return failed
}

// removedOf is what went of a run, with the way back.
func removedOf(r loop.Removal) removedRun {
	removed := removedRun{Run: r.Run.Name, Refs: []removedRef{}, Commits: r.Commits}
	if r.Evidence {
		removed.EvidenceBytes = r.Run.Evidence
	}
	for _, ref := range r.Refs {
		removed.Refs = append(removed.Refs, removedRef{ref.Name, string(ref.Hash)})
	}
	if len(r.Refs) > 0 {
		removed.Restore = fmt.Sprintf("git branch forge/%s/%s %s", r.Run.Config.Slug, r.Run.Name, r.Run.Tip)
	}
	return removed
}

// confirm asks on a terminal. Elsewhere, and with --json, it wants --yes.
func (env *Env) confirm(question, no string) error {
	if !env.Terminal || env.JSON {
		return fault.New(fault.Usage, "--yes", "%s: there is nobody to ask", no)
	}
	if !env.askYes(question) {
		return fault.New(fault.Failed, "", "%s", no)
	}
	return nil
}

// askYes asks a person and reads the answer; anything but a yes is a no.
func (env *Env) askYes(question string) bool {
	fmt.Fprintf(env.Stdout, "%s [y/N] ", question)
	env.flush()
	answer, _ := bufio.NewReader(env.Stdin).ReadString('\n') // end of input is a no
	yes := strings.ToLower(strings.TrimSpace(answer))
	return yes == "y" || yes == "yes"
}

// printPlan shows on stderr what would go and what stays.
func (env *Env) printPlan(removals []loop.Removal, left []loop.Left) {
	out := env.Stderr
	if len(removals) == 0 {
		fmt.Fprintf(env.Stdout, "nothing to remove\n")
	}
	for _, r := range removals {
		fmt.Fprintf(out, "run %s on %s, %s, %d kept:\n", r.Run.Name, visible(r.Run.Config.Target), r.Run.State, r.Run.Kept)
		for _, ref := range r.Refs {
			fmt.Fprintf(out, "  %s at %s\n", ref.Name, ref.Hash.Short())
		}
		if r.Evidence {
			fmt.Fprintf(out, "  %s of raw outputs\n", bytesText(r.Run.Evidence))
		}
		fmt.Fprintf(out, "  %s would be reached by nothing else\n", count(r.Commits, "commit"))
		if r.Lost {
			env.Warn("what run %s kept has not landed and goes with it", r.Run.Name)
		}
	}
	for _, l := range left {
		fmt.Fprintf(out, "run %s stays: %s\n", l.Run, l.Reason)
	}
}

func (env *Env) printRemoved(removed []removedRun) {
	for _, r := range removed {
		what := count(len(r.Refs), "ref")
		if r.EvidenceBytes > 0 {
			what += " and " + bytesText(r.EvidenceBytes) + " of raw outputs"
		}
		fmt.Fprintf(env.Stdout, "run %s: removed %s\n", r.Run, what)
		if r.Restore != "" {
			fmt.Fprintf(env.Stdout, "undo, while git has the objects: %s\n", r.Restore)
		}
	}
}
