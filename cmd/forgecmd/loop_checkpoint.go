package forgecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop"
	"forge/loop/history"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// checkpointFile is what people who drive the loop by hand keep in their
// workspace.
const checkpointFile = "checkpoint.json"

// checkpointFlags are the flags of `forge loop checkpoint-save`.
type checkpointFlags struct {
	experiment, baseline, coverage, next, onDisk, bestVersion, bestScore string
	undecided                                                            bool
	index                                                                int
}

// checkpointSaveCommand is `forge loop checkpoint-save` (loop.md R-CKPT-1).
func checkpointSaveCommand(env *Env) *cli.Command {
	var f checkpointFlags
	return &cli.Command{
		Name:      "checkpoint-save",
		Usage:     "write down where a loop driven by hand stands",
		ArgsUsage: "WORKSPACE",
		Description: about{
			Text: "Writes WORKSPACE/checkpoint.json and prints it. A run of forge needs none: its branch says where it stands.\n" +
				"WORKSPACE must exist.",
			Exits:   writerExits(),
			Example: "forge loop checkpoint-save . --experiment exp-004 --baseline 0.78 --on-disk-version pre-exp-005 --applied-but-undecided",
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "experiment", Destination: &f.experiment, Usage: "last completed experiment, `EXP`"},
			&cli.StringFlag{Name: "baseline", Destination: &f.baseline, Usage: "score `V` of the present state: a decimal, or a count like 6/9"},
			&cli.StringFlag{Name: "coverage-path", Destination: &f.coverage, Usage: "take the summary of the matrix in `FILE`"},
			&cli.StringFlag{Name: "next-category", Destination: &f.next, Usage: "`CATEGORY` of the next experiment"},
			&cli.StringFlag{Name: "on-disk-version", Destination: &f.onDisk, Usage: "`VERSION` to go back to before the next experiment"},
			&cli.BoolFlag{Name: "applied-but-undecided", Destination: &f.undecided, Usage: "a change is applied and has no verdict yet"},
			&cli.StringFlag{Name: "best-version", Destination: &f.bestVersion, Usage: "`VERSION` of the last KEEP"},
			&cli.StringFlag{Name: "best-score", Destination: &f.bestScore, Usage: "score `V` of it"},
			&cli.IntFlag{Name: "experiment-index", Destination: &f.index, Usage: "number `N` of the last completed experiment; default: the one in its name"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if err := wantFlags(c, "experiment", "baseline"); err != nil {
				return err
			}
			workspace := c.Args().First()
			if info, err := os.Stat(env.Path(workspace)); err != nil || !info.IsDir() {
				return fault.New(fault.Usage, "mkdir -p "+workspace, "the workspace %q does not exist", workspace)
			}
			point, err := env.checkpointOf(c, f)
			if err != nil {
				return err
			}
			data, err := document(point)
			if err != nil {
				return err
			}
			name := filepath.Join(workspace, checkpointFile)
			if err := env.alone(c.Context, name, func() error { return env.writeFile(name, data) }); err != nil {
				return err
			}
			return env.PrintJSON(point)
		},
	}
}

// checkpointOf is the checkpoint of the flags.
func (env *Env) checkpointOf(c *cli.Context, f checkpointFlags) (history.Checkpoint, error) {
	point := history.Checkpoint{
		AppliedButUndecided: f.undecided, Coverage: json.RawMessage("{}"), Timestamp: env.stamp(),
		SchemaVersion: history.CheckpointVersion, Resumable: true,
	}
	if strings.TrimSpace(f.experiment) == "" {
		return point, fault.New(fault.Usage, "--experiment exp-004", "the experiment has no name")
	}
	point.LastCompleted = &f.experiment
	for _, m := range []struct {
		flag, text string
		into       **string
	}{{"next-category", f.next, &point.NextCategory}, {"on-disk-version", f.onDisk, &point.OnDiskVersion}, {"best-version", f.bestVersion, &point.BestVersion}} {
		if c.IsSet(m.flag) {
			*m.into = &m.text
		}
	}
	for _, m := range []struct {
		flag, text string
		into       **json.Number
	}{{"baseline", f.baseline, &point.Baseline}, {"best-score", f.bestScore, &point.BestScore}} {
		value, err := figure(c, m.flag, m.text)
		if err != nil {
			return point, err
		}
		if value != nil {
			n := verdict.Number(value)
			*m.into = &n
		}
	}
	switch n, numbered := journal.Number(f.experiment); {
	case c.IsSet("experiment-index") && f.index < 0:
		return point, fault.New(fault.Usage, "", "--experiment-index is %d, want at least 0", f.index)
	case c.IsSet("experiment-index"):
		point.Index = &f.index
	case numbered:
		point.Index = &n
	}
	if f.coverage == "" {
		return point, nil
	}
	part, err := env.readPart(f.coverage)
	if err != nil {
		return point, err
	}
	point.Coverage, err = snapshotOf(part)
	return point, err
}

// snapshotOf is the summary of a matrix.
func snapshotOf(p journal.Part) (json.RawMessage, error) {
	matrix, err := history.ReadCoverage(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(matrix.Summary())
}

// checkpointInfo is the document of `forge loop checkpoint-info` for a run.
type checkpointInfo struct {
	Run string `json:"run"`
	history.Checkpoint
	Warning  string   `json:"warning,omitempty"`
	Warnings []string `json:"warnings"`
}

// freshStart is the document for a workspace without a checkpoint.
type freshStart struct {
	Status    string `json:"status"`
	Resumable bool   `json:"resumable"`
}

// checkpointInfoCommand is `forge loop checkpoint-info` (loop.md R-CKPT-1 to
// R-CKPT-3).
func checkpointInfoCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "checkpoint-info",
		Usage:     "tell where a run stands: from its branch, or from a checkpoint.json",
		ArgsUsage: "[WORKSPACE|RUN]",
		Description: about{
			Text: "Left out: the only open run, else the newest. Of a run the branch says where it stands, and a checkpoint.json\n" +
				"that says otherwise is reported as stale. A workspace without that file is a fresh start.",
			Example: "forge loop checkpoint-info r1-k3fq",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			at, err := env.runOrWorkspace(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			if at.engine == nil {
				return env.printCheckpoint(filepath.Join(at.folder, checkpointFile))
			}
			info, err := env.deriveCheckpoint(c.Context, at.engine, at.run)
			if err != nil {
				return err
			}
			if err := env.compareCheckpoint(&info, at.folder); err != nil {
				return err
			}
			if info.Warning != "" {
				env.Warn("%s", info.Warning)
			}
			return env.PrintJSON(info)
		},
	}
}

// place is what checkpoint-info was asked about.
type place struct {
	engine *loop.Engine // nil for a workspace
	run    loop.RunRef
	folder string // where a checkpoint.json may lie; "" for nowhere
}

// runOrWorkspace tells what name is: a run, the folder of one in the work tree,
// or a workspace of a person's own. A run wins over a folder of its name.
func (env *Env) runOrWorkspace(ctx context.Context, name string) (place, error) {
	named, err := os.Stat(env.Path(name))
	isFolder := name != "" && err == nil && named.IsDir()
	if isFolder && workTree(env.Path(name)) == "" {
		return place{folder: name}, nil
	}
	repo, err := env.openRepo(ctx)
	if err != nil {
		return place{}, err
	}
	at := place{engine: env.reader(repo), folder: name}
	run := name
	if isFolder {
		run = filepath.Base(filepath.Clean(name))
	}
	at.run, err = env.findRun(ctx, at.engine, run)
	unknown := fault.KindOf(err) == fault.Usage && name != ""
	switch {
	case unknown && isFolder:
		return place{folder: name}, nil
	case unknown:
		return place{}, fault.New(fault.Usage, "forge status lists the runs", "there is no run and no workspace %q", name)
	case err != nil:
		return place{}, err
	}
	own := filepath.Join(repo.WorkTree(), filepath.FromSlash(journal.Dir(at.run.Name)))
	switch info, err := os.Stat(own); {
	case !isFolder && repo.WorkTree() != "":
		at.folder = own
	case !isFolder:
		at.folder = ""
	case run != name && (err != nil || !os.SameFile(info, named)): // a workspace elsewhere that is called like a run
		return place{folder: name}, nil
	}
	return at, nil
}

// printCheckpoint shows a checkpoint.json.
func (env *Env) printCheckpoint(name string) error {
	part, err := env.readPart(name)
	if errors.Is(err, fs.ErrNotExist) {
		return env.PrintJSON(freshStart{Status: "fresh start"})
	}
	if err != nil {
		return err
	}
	point, err := history.ReadCheckpoint(part)
	if err != nil {
		return err
	}
	if point.True("applied_but_undecided") {
		version := point.Text("on_disk_version")
		if version == "" {
			version = "the last version that was decided on"
		}
		warning := fmt.Sprintf("a change is applied and has no verdict: go back to %s first", visible(version))
		if err := point.Set("warning", warning); err != nil {
			return err
		}
		env.Warn("%s", warning)
	}
	return env.PrintJSON(point)
}

// deriveCheckpoint reads where a run stands from its branch and its candidate
// refs.
func (env *Env) deriveCheckpoint(ctx context.Context, e *loop.Engine, r loop.RunRef) (checkpointInfo, error) {
	info := checkpointInfo{Run: r.Name, Warnings: []string{}}
	run, err := e.Summarise(ctx, r)
	if err != nil {
		return info, err
	}
	commits, err := e.Experiments(ctx, r)
	if err != nil {
		return info, err
	}
	count := len(run.Lines)
	point := history.Checkpoint{
		Index: &count, OnDiskVersion: &r.Config.Base, Coverage: json.RawMessage("{}"), SchemaVersion: history.CheckpointVersion,
		Resumable: r.Branch != "",
	}
	tip, err := e.Repo.ReadCommit(ctx, r.Tip)
	if err != nil {
		return info, err
	}
	point.Timestamp = tip.Committer.When.UTC().Format("2006-01-02T15:04:05Z")
	median, err := verdict.ParseExact(run.Baseline.Median)
	if err != nil {
		return info, err
	}
	baseline := verdict.Number(median)
	point.Baseline = &baseline
	if count > 0 {
		point.LastCompleted = &run.Lines[count-1].ID
	}
	for i, commit := range commits {
		if candidate := commit.Trailer("Forge-Candidate"); loop.IsKept(commit) && candidate != "" && i < count {
			point.BestVersion, point.OnDiskVersion, point.BestScore = &candidate, &candidate, run.Lines[i].CompositeScore
		}
	}
	if point.Coverage, err = coverageAt(ctx, e.Repo, r); err != nil {
		return info, err
	}
	undecided, err := undecidedCandidate(ctx, e.Repo, r.Name, count)
	if err != nil {
		return info, err
	}
	if undecided != "" {
		point.AppliedButUndecided = true
		info.Warning = fmt.Sprintf("%s has a candidate and no verdict: forge run --resume --run %s goes on with it; nothing needs to be undone", undecided, r.Name)
	}
	info.Checkpoint = point
	return info, nil
}

// coverageAt is the summary of a run's matrix, {} for a run that has none.
func coverageAt(ctx context.Context, repo *gitstore.Repo, r loop.RunRef) (json.RawMessage, error) {
	name := journal.Dir(r.Name) + "/coverage-matrix.json"
	data, err := repo.ReadFile(ctx, r.Tip, name)
	if errors.Is(err, gitstore.ErrNotFound) {
		return json.RawMessage("{}"), nil
	}
	if err != nil {
		return nil, err
	}
	return snapshotOf(journal.Part{Name: name, Data: data})
}

// undecidedCandidate is the experiment whose candidate exists and whose
// verdict does not: one with a number above the last logged one.
func undecidedCandidate(ctx context.Context, repo *gitstore.Repo, run string, logged int) (string, error) {
	refs, err := repo.Refs(ctx, "refs/forge/runs/"+run+"/")
	if err != nil {
		return "", err
	}
	for _, ref := range refs {
		name := ref.Name[strings.LastIndexByte(ref.Name, '/')+1:]
		if _, _, n, err := loop.ParseExperiment(name); err == nil && n > logged {
			return name, nil
		}
	}
	return "", nil
}

// compareCheckpoint reports a checkpoint.json of the folder that says otherwise
// than the run.
func (env *Env) compareCheckpoint(info *checkpointInfo, folder string) error {
	if folder == "" {
		return nil
	}
	part, err := env.readPart(filepath.Join(folder, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	differs, err := info.Differs(part)
	if err != nil || differs == "" {
		return err
	}
	info.Warnings = append(info.Warnings, "stale_checkpoint")
	env.Warn("stale_checkpoint: %s %s; the run's branch holds", part.Name, differs)
	return nil
}
