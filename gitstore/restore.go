package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// RestoreWord is what a step of a restore does to its path.
type RestoreWord string

// The words, as they are shown before a restore acts (loop.md R-SNAP-8).
const (
	RestoreOverwrite RestoreWord = "overwrite"
	RestoreDelete    RestoreWord = "delete"
	RestoreCreate    RestoreWord = "create"
)

// RestoreStep is one path a restore changes.
type RestoreStep struct {
	Word RestoreWord
	Path string

	// Uncommitted says that the bytes which go are in no commit that HEAD
	// reaches, at this path: nothing brings them back.
	Uncommitted bool
}

// Ignored says what a restore does with files git ignores that stand where a
// file has to be written.
type Ignored int

// The choices of loop.md R-SNAP-8: to refuse, or with --force to delete them.
const (
	KeepIgnored Ignored = iota
	DropIgnored
)

// RestorePlan is what a restore would do: nothing has been written yet, and
// everything that could be in the way has been looked at.
type RestorePlan struct {
	Tree      Hash          // of the snapshot
	Steps     []RestoreStep // sorted by path; none: there is nothing to do
	Unchanged int           // files that are as the snapshot has them

	repo     *Repo
	scope    Scope
	snapshot Hash
	want     map[string]Entry
	stamps   map[string]diskStamp // what the files to go looked like
	makeBase bool
}

// PlanRestore plans to make the files of a scope what a snapshot, a commit or
// tree, holds. The scope is the snapshot's own; nothing outside it is touched.
// It looks with lstat only.
//
// What stands in the way is a fault of kind Refused that names it, and then
// nothing must be done: a link outside the scope on the way to a file, ignored
// files below a path that has to become a file (unless drop says so), a nested
// repository there, what is neither file nor link.
//
// Source: loop.md R-SNAP-7, R-SNAP-8.
func (r *Repo) PlanRestore(ctx context.Context, s Scope, snapshot Hash, drop Ignored) (RestorePlan, error) {
	plan := RestorePlan{repo: r, scope: s, snapshot: snapshot, want: map[string]Entry{}, stamps: map[string]diskStamp{}}
	have, err := r.ReadScope(ctx, s, snapshot)
	if err != nil {
		return RestorePlan{}, err
	}
	if plan.Tree, err = r.TreeOf(ctx, snapshot); err != nil {
		return RestorePlan{}, fmt.Errorf("read the snapshot: %w", err)
	}
	if err := plan.readWanted(ctx); err != nil {
		return RestorePlan{}, err
	}
	p := &restorePlanner{plan: &plan, have: have, drop: drop, going: map[string]Hash{}, seen: map[string]bool{}}
	if err := p.compare(); err != nil {
		return RestorePlan{}, err
	}
	if err := p.mark(ctx); err != nil {
		return RestorePlan{}, err
	}
	slices.SortFunc(plan.Steps, func(a, b RestoreStep) int { return strings.Compare(a.Path, b.Path) })
	plan.makeBase = s.Kind == ScopeDirectory && len(plan.want) == 0 && !exists(r.onDisk(s.Base))
	return plan, nil
}

// readWanted lists the files of the snapshot. One that no snapshot of this
// scope can hold is refused: refs come from elsewhere too.
func (p *RestorePlan) readWanted(ctx context.Context) error {
	match, err := p.scope.matcher()
	if err != nil {
		return err
	}
	if p.Tree == Hash(emptyTree.String()) {
		return nil
	}
	return p.repo.Walk(ctx, p.Tree, "", func(e Entry) error {
		if !safePath(e.Path) || hidden(e.Path) || !match.Match(e.Path) || !e.Mode.isFile() && e.Mode != ModeLink {
			return fault.New(fault.Refused, "", "the snapshot holds %q, which is not in its scope %q", e.Path, p.scope.Target)
		}
		p.want[e.Path] = e
		return nil
	})
}

// restorePlanner compares a snapshot with the files on disk.
type restorePlanner struct {
	plan  *RestorePlan
	have  ScopeFiles
	drop  Ignored
	going map[string]Hash // paths whose bytes go, with what they are
	seen  map[string]bool // directories on the way that are in order
}

func (p *restorePlanner) compare() error {
	onDisk := map[string]Entry{}
	for _, file := range p.have.Files {
		onDisk[file.Path] = file
		want, wanted := p.plan.want[file.Path]
		switch {
		case !wanted:
			p.step(RestoreDelete, file)
		case want.Mode != file.Mode || want.Object != file.Object:
			p.step(RestoreOverwrite, file)
		default:
			p.plan.Unchanged++
		}
	}
	for _, want := range p.plan.want {
		if err := p.checkParents(want.Path, onDisk); err != nil {
			return err
		}
		if _, known := onDisk[want.Path]; known {
			continue
		}
		if err := p.missing(want, onDisk); err != nil {
			return err
		}
	}
	return nil
}

// step plans to change a file that is there.
func (p *restorePlanner) step(word RestoreWord, file Entry) {
	p.plan.Steps = append(p.plan.Steps, RestoreStep{Word: word, Path: file.Path})
	p.plan.stamps[file.Path] = p.have.stamps[file.Path]
	p.going[file.Path] = file.Object
}

// checkParents refuses a file that would be written through something that is
// no directory and does not go.
func (p *restorePlanner) checkParents(file string, onDisk map[string]Entry) error {
	for dir := path.Dir(file); dir != "." && !p.seen[dir]; dir = path.Dir(dir) {
		info, err := os.Lstat(p.plan.repo.onDisk(dir))
		switch {
		case isAbsent(err):
		case err != nil:
			return fmt.Errorf("look at %q: %w", dir, err)
		case info.IsDir() && exists(p.plan.repo.onDisk(dir)+"/.git"):
			return fault.New(fault.Refused, "", "%q is a repository of its own, and %q would be written into it", dir, file)
		case info.IsDir():
		case onDisk[dir].Path != "":
			// a file or link of the scope; it goes
		case p.have.ignored[dir]:
			if err := p.dropOne(dir); err != nil {
				return err
			}
		case info.Mode()&fs.ModeSymlink != 0:
			return fault.New(fault.Refused, "", "%q is a symbolic link outside the scope, and %q would be written through it", dir, file)
		default:
			return fault.New(fault.Refused, "", "%q is a file outside the scope, and %q would be written below it", dir, file)
		}
		p.seen[dir] = true
	}
	return nil
}

// missing plans a file that the scope does not have on disk. Something may
// stand there all the same: a directory, or what git ignores by now.
func (p *restorePlanner) missing(want Entry, onDisk map[string]Entry) error {
	info, err := os.Lstat(p.plan.repo.onDisk(want.Path))
	switch {
	case isAbsent(err):
		p.plan.Steps = append(p.plan.Steps, RestoreStep{Word: RestoreCreate, Path: want.Path})
		return nil
	case err != nil:
		return fmt.Errorf("look at %q: %w", want.Path, err)
	case info.IsDir():
		p.plan.Steps = append(p.plan.Steps, RestoreStep{Word: RestoreCreate, Path: want.Path})
		return p.clearDir(want.Path, onDisk)
	}
	mode, err := modeOf(want.Path, info)
	if err != nil {
		return fault.New(fault.Refused, "move it away", "%w", err)
	}
	data, err := readFileOrLink(p.plan.repo.onDisk(want.Path), mode)
	if err != nil {
		return fmt.Errorf("read %q: %w", want.Path, err)
	}
	id := Hash(plumbing.ComputeHash(plumbing.BlobObject, data).String())
	if id == want.Object && mode == want.Mode {
		p.plan.Unchanged++
		return nil
	}
	p.have.stamps[want.Path] = diskStampOf(info)
	p.step(RestoreOverwrite, Entry{Path: want.Path, Object: id})
	return nil
}

// clearDir looks at what is in a directory that has to become a file. The
// files of the scope in it go anyway.
func (p *restorePlanner) clearDir(dir string, onDisk map[string]Entry) error {
	if exists(p.plan.repo.onDisk(dir) + "/.git") {
		return fault.New(fault.Refused, "move it away", "%q is a repository of its own, where a file has to be restored", dir)
	}
	entries, err := os.ReadDir(p.plan.repo.onDisk(dir))
	if err != nil {
		return fmt.Errorf("look at %q: %w", dir, err)
	}
	for _, entry := range entries {
		below := joinPath(dir, entry.Name())
		switch {
		case entry.IsDir():
			err = p.clearDir(below, onDisk)
		case onDisk[below].Path != "":
		default:
			err = p.dropOne(below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropOne plans to delete a file that git ignores, if that is allowed; any
// other one that is not in the scope stays.
func (p *restorePlanner) dropOne(file string) error {
	ignored := false
	for dir := file; dir != "." && !ignored; dir = path.Dir(dir) {
		ignored = p.have.ignored[dir]
	}
	if !ignored {
		return fault.New(fault.Refused, "move it away", "%q is not in the scope %q and stands in the way", file, p.plan.scope.Target)
	}
	if p.drop != DropIgnored {
		return fault.New(fault.Refused, "--force deletes ignored files", "the ignored file %q stands in the way", file)
	}
	info, err := os.Lstat(p.plan.repo.onDisk(file))
	if err != nil {
		return fmt.Errorf("look at %q: %w", file, err)
	}
	mode, err := modeOf(file, info)
	if err != nil {
		return fault.New(fault.Refused, "move it away", "%w", err)
	}
	data, err := readFileOrLink(p.plan.repo.onDisk(file), mode)
	if err != nil {
		return fmt.Errorf("read %q: %w", file, err)
	}
	p.have.stamps[file] = diskStampOf(info)
	p.step(RestoreDelete, Entry{Path: file, Object: Hash(plumbing.ComputeHash(plumbing.BlobObject, data).String())})
	return nil
}

// mark notes which bytes that go are in no commit.
func (p *restorePlanner) mark(ctx context.Context) error {
	head, err := p.plan.repo.Head(ctx)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	kept, err := p.plan.repo.committedAt(ctx, head.Commit, p.going)
	if err != nil {
		return fmt.Errorf("look for the bytes that would go: %w", err)
	}
	for i := range p.plan.Steps {
		step := &p.plan.Steps[i]
		_, goes := p.going[step.Path]
		step.Uncommitted = goes && !kept[step.Path]
	}
	return nil
}
