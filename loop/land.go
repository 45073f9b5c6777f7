package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// LandAs says in which form kept changes come to a branch (DECISIONS H9).
type LandAs string

// The forms of landing.
const (
	LandKept LandAs = "kept" // one single-parent commit per KEEP
	LandFull LandAs = "full" // the run branch itself, by fast-forward
)

// ParseLandAs reads --as.
func ParseLandAs(text string) (LandAs, error) {
	switch as := LandAs(text); as {
	case LandKept, LandFull:
		return as, nil
	}
	return "", fault.New(fault.Usage, "--as kept, or --as full", "--as %q is not known", text)
}

// Landed is what a landing brought.
type Landed struct {
	Run      string         `json:"run"`
	As       LandAs         `json:"as"`
	Branch   string         `json:"branch"`
	Worktree string         `json:"worktree"` // "" where no worktree has the branch checked out
	Old      gitstore.Hash  `json:"old"`
	New      gitstore.Hash  `json:"new"`
	Commits  []LandedCommit `json:"commits"` // oldest first; empty when there was nothing to land
}

// LandedCommit is one kept change on the branch.
type LandedCommit struct {
	Experiment string        `json:"experiment"`
	Commit     gitstore.Hash `json:"commit"`
	Subject    string        `json:"subject"`
}

// lockWait is how long a short action waits for another forge (R-LOCK-2).
const lockWait = 5 * time.Second

// Land brings what a run kept to a branch: the one the run began on, or onto.
// The user's working tree is moved by git's own fast-forward or not at all;
// nothing is stashed and nothing reset (gitstore.md section 10).
func (e *Engine) Land(ctx context.Context, r RunRef, as LandAs, onto string) (Landed, error) {
	release, err := e.Repo.Lock(ctx, "forge land", lockWait)
	if err != nil {
		return Landed{}, err
	}
	defer release()
	branch, tip, err := e.landingBranch(ctx, r, onto)
	if err != nil {
		return Landed{}, err
	}
	if err := e.pointTip(ctx, r.Name, r.Tip); err != nil {
		return Landed{}, err
	}
	landed := Landed{Run: r.Name, As: as, Branch: shortBranch(branch), Old: tip, New: tip, Commits: []LandedCommit{}}
	kept, err := e.unlanded(ctx, r, tip)
	if err != nil || len(kept) == 0 {
		return landed, err
	}
	if as == LandFull {
		landed.New, landed.Commits, err = e.fullTip(ctx, r, branch, tip, kept)
	} else {
		landed.New, landed.Commits, err = e.landKept(ctx, r, branch, tip, kept)
	}
	if err != nil {
		return Landed{}, err
	}
	advanced, err := e.Repo.Advance(ctx, branch, tip, landed.New)
	if err != nil {
		return Landed{}, fmt.Errorf("land run %q on %q: %w", r.Name, landed.Branch, err)
	}
	landed.Worktree = advanced.Worktree
	return landed, nil
}

// landingBranch is the branch to move, as a full name, and its tip.
func (e *Engine) landingBranch(ctx context.Context, r RunRef, onto string) (string, gitstore.Hash, error) {
	if onto == "" {
		onto = r.Config.BaseBranch
	}
	if onto == "" {
		return "", "", fault.New(fault.Usage, "forge land "+r.Name+" --onto BRANCH", "run %q began on a detached HEAD", r.Name)
	}
	branch := "refs/heads/" + shortBranch(onto)
	tip, err := e.Repo.Ref(ctx, branch)
	if err != nil {
		return "", "", err
	}
	if tip == "" {
		return "", "", fault.New(fault.Usage, "git branch lists them", "there is no branch %q", shortBranch(branch))
	}
	return branch, tip, nil
}

// unlanded are the kept verdict commits, oldest first, that no commit between
// the run's base and the branch tip names: landing twice brings nothing, and
// what somebody reverted does not come back (R-LAND-7, step 1).
func (e *Engine) unlanded(ctx context.Context, r RunRef, tip gitstore.Hash) ([]gitstore.CommitInfo, error) {
	all, err := e.Experiments(ctx, r)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	err = e.Repo.FirstParents(ctx, tip, func(c gitstore.CommitInfo) (bool, error) {
		if string(c.Hash) == r.Config.Base {
			return false, nil
		}
		if c.Trailer("Forge-Run") == r.Name {
			for _, t := range c.Trailers {
				if t.Key == "Forge-Experiment" {
					there[t.Value] = true
				}
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(c gitstore.CommitInfo) bool { return !IsKept(c) || there[c.Trailer("Forge-Experiment")] }), nil
}

// fullTip is the run branch as it stands; the branch must not have moved away
// from it.
func (e *Engine) fullTip(ctx context.Context, r RunRef, branch string, tip gitstore.Hash, kept []gitstore.CommitInfo) (gitstore.Hash, []LandedCommit, error) {
	contained, err := e.Repo.IsAncestor(ctx, tip, r.Tip)
	if err != nil {
		return "", nil, err
	}
	if !contained {
		return "", nil, fault.New(fault.Conflict, "forge land "+r.Name+" --as kept, or git merge "+r.revision(),
			"%q moved since run %s began", shortBranch(branch), r.Name)
	}
	var commits []LandedCommit
	for _, k := range kept {
		commits = append(commits, LandedCommit{Experiment: k.Trailer("Forge-Experiment"), Commit: k.Hash, Subject: k.Subject})
	}
	return r.Tip, commits, nil
}

// landKept builds one single-parent commit per kept change on top of the
// branch, kept at the run's landing ref, and returns the last.
func (e *Engine) landKept(ctx context.Context, r RunRef, branch string, tip gitstore.Hash, kept []gitstore.CommitInfo) (gitstore.Hash, []LandedCommit, error) {
	t, err := e.targetOf(ctx, gitstore.Hash(r.Config.Base), &r.Config)
	if err != nil {
		return "", nil, err
	}
	if err := e.checkUntouched(ctx, r, branch, tip, t); err != nil {
		return "", nil, err
	}
	ref := "refs/forge/runs/" + r.Name + "/landing"
	at, err := e.Repo.Ref(ctx, ref)
	if err != nil {
		return "", nil, err
	}
	parent := tip
	var commits []LandedCommit
	for _, k := range kept {
		edits, err := e.targetEdits(ctx, parent, k.Hash, t)
		if err != nil {
			return "", nil, err
		}
		change, err := e.landing(ctx, r, k, tip)
		if err != nil {
			return "", nil, err
		}
		change.Ref, change.Base, change.From, change.Parents, change.Edits = ref, at, parent, []gitstore.Hash{parent}, edits
		change.AuthorDate = k.Author.When
		commit, err := e.Repo.Commit(ctx, change)
		if errors.Is(err, gitstore.ErrNoChange) {
			continue // the branch holds that change already
		}
		if err != nil {
			return "", nil, fmt.Errorf("build the commit of %s: %w", k.Trailer("Forge-Experiment"), err)
		}
		at, parent = commit, commit
		commits = append(commits, LandedCommit{Experiment: k.Trailer("Forge-Experiment"), Commit: commit, Subject: change.Subject})
	}
	return parent, commits, nil
}

// targetEdits lead from one commit's target to another's, and touch nothing
// else.
func (e *Engine) targetEdits(ctx context.Context, from, to gitstore.Hash, t target) ([]gitstore.Edit, error) {
	differences, err := e.Repo.DiffTrees(ctx, from, to)
	if err != nil {
		return nil, err
	}
	differences = slices.DeleteFunc(differences, func(d gitstore.Difference) bool {
		return !t.holds(d.Path) || strings.HasPrefix(d.Path, ".forge/")
	})
	return editsOf(differences), nil
}

// checkUntouched refuses a branch on which somebody changed the target: its
// files must be those of the run's base or of one of the run's own commits
// (R-LAND-7, step 7). What changed elsewhere does not matter.
func (e *Engine) checkUntouched(ctx context.Context, r RunRef, branch string, tip gitstore.Hash, t target) error {
	all, err := e.Experiments(ctx, r)
	if err != nil {
		return err
	}
	states := []gitstore.Hash{gitstore.Hash(r.Config.Base)}
	for _, c := range all {
		if IsKept(c) {
			states = append(states, c.Hash)
		}
	}
	var touched []gitstore.Edit
	for _, state := range slices.Backward(states) {
		if touched, err = e.targetEdits(ctx, state, tip, t); err != nil || len(touched) == 0 {
			return err
		}
	}
	return fault.New(fault.Conflict, "git merge "+r.revision()+", and look at the result; it was not measured",
		"%q was changed on %q since run %s measured it", touched[0].Path, shortBranch(branch), r.Name)
}

// landing is the message of one landed commit (R-LAND-7, step 6).
func (e *Engine) landing(ctx context.Context, r RunRef, k gitstore.CommitInfo, tip gitstore.Hash) (gitstore.Change, error) {
	name := k.Trailer("Forge-Experiment")
	_, _, n, err := ParseExperiment(name)
	if err != nil {
		return gitstore.Change{}, err
	}
	record, err := journal.ReadRecord(ctx, e.Repo, r.Tip, r.Name, n, name)
	if err != nil {
		return gitstore.Change{}, err
	}
	facts, ok := record.Decision.Facts()
	measured := measuredText(record, r.Config.Mode)
	if !ok || measured == "" {
		return gitstore.Change{}, fmt.Errorf("the record of %s/%s holds no measurement", r.Name, name)
	}
	delta, err := verdict.ParseExact(facts.DeltaExact)
	if err != nil {
		return gitstore.Change{}, err
	}
	figure := verdict.Fixed(delta, 4, true)
	var body strings.Builder
	fmt.Fprintf(&body, "%s\n\n%s", record.Hypothesis.Text, measured)
	if string(tip) != r.Config.Base {
		fmt.Fprintf(&body, "Measured on %s; %s was at %s when this landed\n", gitstore.Hash(r.Config.Base).Short(), r.Config.BaseBranch, tip.Short())
	}
	fmt.Fprintf(&body, "Show: forge show %s/%s\nUndo: git revert <this commit>", r.Name, name)
	tail := " (" + figure + ")"
	return gitstore.Change{
		Subject:  fold(r.Config.Slug+": "+record.Hypothesis.Text, subjectBytes-len(tail)) + tail,
		Body:     body.String(),
		Trailers: slices.DeleteFunc(slices.Clone(k.Trailers), func(t gitstore.Trailer) bool { return t.Key == "Forge-Event" }),
	}, nil
}
