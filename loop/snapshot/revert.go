package snapshot

import (
	"context"

	"forge/gitstore"
)

// Reverted is what bringing a snapshot back did, or would do.
//
// Source: loop.md R-SNAP-9.
type Reverted struct {
	Version   string        `json:"version"`
	Target    string        `json:"target"`
	Restored  []string      `json:"restored"` // paths written
	Removed   []string      `json:"removed"`
	Unchanged int           `json:"unchanged"`
	Tree      gitstore.Hash `json:"tree"`
	Planned   bool          `json:"planned,omitempty"` // nothing was done
}

// Plan is what bringing a snapshot back would do. Nothing is done yet.
type Plan struct {
	gitstore.RestorePlan

	stored Stored
}

// PlanRevert plans to make the files of the snapshot's scope what they were;
// see [gitstore.Repo.PlanRestore] for what stands in the way.
//
// Source: loop.md R-SNAP-7, R-SNAP-8.
func (s Stored) PlanRevert(ctx context.Context, drop gitstore.Ignored) (Plan, error) {
	plan, err := s.repo.PlanRestore(ctx, s.scope, s.commit, drop)
	return Plan{plan, s}, err
}

// Document is the plan as `--dry-run` prints it.
func (p Plan) Document() Reverted {
	d := p.document(gitstore.Restored{Written: []string{}, Removed: []string{}, Unchanged: p.Unchanged, Tree: p.Tree})
	for _, step := range p.Steps {
		if step.Word == gitstore.RestoreDelete {
			d.Removed = append(d.Removed, step.Path)
		} else {
			d.Restored = append(d.Restored, step.Path)
		}
	}
	d.Planned = true
	return d
}

// Act carries the plan out. Interrupted, it is finished by planning and
// acting again.
func (p Plan) Act(ctx context.Context) (Reverted, error) {
	done, err := p.Restore(ctx)
	if err != nil {
		return Reverted{}, err
	}
	return p.document(done), nil
}

func (p Plan) document(done gitstore.Restored) Reverted {
	return Reverted{
		Version: p.stored.version, Target: p.stored.scope.Target,
		Restored: done.Written, Removed: done.Removed, Unchanged: done.Unchanged, Tree: done.Tree,
	}
}
