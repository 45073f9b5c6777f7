package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// LandAs says in which form kept changes come to a branch (DECISIONS H9).
type LandAs string

// The forms of landing.
const (
	LandKept   LandAs = "kept"   // one single-parent commit per KEEP
	LandSquash LandAs = "squash" // all of it in one single-parent commit
	LandFull   LandAs = "full"   // the run branch itself, merged with what came meanwhile
)

// ParseLandAs reads --as.
func ParseLandAs(text string) (LandAs, error) {
	switch as := LandAs(text); as {
	case LandKept, LandSquash, LandFull:
		return as, nil
	}
	return "", fault.New(fault.Usage, "--as kept, squash or full", "--as %q is not known", text)
}

// LandRequest says what is landed, where and how.
type LandRequest struct {
	Run   RunRef
	As    LandAs
	Onto  string // branch as a person types it; "" is the one the run began on
	Mails bool   // no branch is moved: the commits are returned as mails (R-LAND-8)
}

// Landed is what a landing brought.
type Landed struct {
	Run      string         `json:"run"`
	As       LandAs         `json:"as"`
	Branch   string         `json:"branch"`
	Worktree string         `json:"worktree"` // "" where no worktree has the branch checked out
	Old      gitstore.Hash  `json:"old"`
	New      gitstore.Hash  `json:"new"`
	Touched  bool           `json:"touched"` // somebody else changed the target too: the result was not measured
	Commits  []LandedCommit `json:"commits"` // oldest first; empty when there was nothing to land
	Patches  []string       `json:"patches"` // files written instead of moving the branch

	Target string          `json:"-"` // as `forge eval` takes it; "" in generic mode
	Mails  []gitstore.Mail `json:"-"`
}

// LandedCommit is one commit of a landing: a kept change, or the notes between
// and after them, which have no experiment.
type LandedCommit struct {
	Experiment string        `json:"experiment"`
	Commit     gitstore.Hash `json:"commit"`
	Subject    string        `json:"subject"`
}

// Kept counts the kept changes that were brought.
func (l Landed) Kept() (n int) {
	for _, c := range l.Commits {
		if c.Experiment != "" {
			n++
		}
	}
	return n
}

// lockWait is how long a short action waits for another forge (R-LOCK-2).
const lockWait = 5 * time.Second

// landingRef keeps the last commit of a run's newest landing (R-LAND-1).
func landingRef(run string) string { return "refs/forge/runs/" + run + "/landing" }

// Land brings what a run kept to a branch. The commits are made first and kept
// at the run's landing ref; then the branch is moved, by git's own
// fast-forward where it is checked out, or not at all. Nothing is stashed and
// nothing reset. What the branch has already is not brought again.
//
// A change of somebody else in the same place is a fault of kind Failed that
// names the files; nothing has moved then.
//
// Source: gitstore.md R-LAND-1 to R-LAND-8.
func (e *Engine) Land(ctx context.Context, request LandRequest) (Landed, error) {
	r := request.Run
	if request.Mails && request.As == LandFull {
		return Landed{}, fault.New(fault.Usage, "--as kept or --as squash", "the commits of --as full have two parents, which a patch cannot hold")
	}
	release, err := e.Repo.Lock(ctx, "forge land", lockWait)
	if err != nil {
		return Landed{}, err
	}
	defer release()
	branch, tip, err := e.landingBranch(ctx, r, request.Onto)
	if err != nil {
		return Landed{}, err
	}
	if err := e.pointTip(ctx, r.Name, r.Tip); err != nil {
		return Landed{}, err
	}
	landed := Landed{
		Run: r.Name, As: request.As, Branch: shortBranch(branch), Old: tip, New: tip, Commits: []LandedCommit{}, Patches: []string{},
	}
	if r.Config.Mode == ModeSkill {
		landed.Target = r.Config.Target
	}
	l, err := e.newLanding(ctx, r, branch, tip)
	if err != nil || len(l.pending) == 0 {
		return landed, err
	}
	if landed.Commits, err = l.build(ctx, request.As); err != nil {
		return Landed{}, err
	}
	if l.last == tip {
		return landed, nil // somebody made the same changes by hand
	}
	landed.Touched = l.touched
	if err := e.pointLanding(ctx, r.Name, l.last); err != nil {
		return Landed{}, err
	}
	if request.Mails {
		landed.Mails, err = e.mails(ctx, landed.Commits)
		return landed, err
	}
	advanced, err := e.Repo.Advance(ctx, branch, tip, l.last)
	if err != nil {
		return Landed{}, fmt.Errorf("land run %q on %q: %w", r.Name, landed.Branch, err)
	}
	landed.New, landed.Worktree = l.last, advanced.Worktree
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

// pointLanding makes the landing ref stand at the new commits.
func (e *Engine) pointLanding(ctx context.Context, run string, commit gitstore.Hash) error {
	at, err := e.Repo.Ref(ctx, landingRef(run))
	if err != nil || at == commit {
		return err
	}
	e.Repo.Crash().Pass("before landing")
	if err := e.Repo.Point(ctx, landingRef(run), at, commit); err != nil {
		return err
	}
	e.Repo.Crash().Pass("after landing")
	return nil
}

// mails are the commits of a landing as numbered mails (R-LAND-8).
func (e *Engine) mails(ctx context.Context, commits []LandedCommit) ([]gitstore.Mail, error) {
	// A squash holds several experiments in one commit.
	commits = slices.CompactFunc(slices.Clone(commits), func(a, b LandedCommit) bool { return a.Commit == b.Commit })
	var mails []gitstore.Mail
	for i, c := range commits {
		mail, err := e.Repo.Mail(ctx, c.Commit, i+1, len(commits))
		if err != nil {
			return nil, fmt.Errorf("write %s as a mail: %w", c.Commit.Short(), err)
		}
		mails = append(mails, mail)
	}
	return mails, nil
}
