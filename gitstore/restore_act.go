package gitstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// Restored is what a restore did.
type Restored struct {
	Written   []string // sorted
	Removed   []string // sorted
	Unchanged int
	Tree      Hash // of the scope afterwards, which is that of the snapshot
}

// restoreMark begins the name of a file that is being restored, until it is
// renamed.
const restoreMark = ".forge-restore-"

// Restore carries out a plan. Each file is old or new at any moment: new bytes
// go into a file beside it that is renamed over it. Interrupted, it is
// finished by planning and restoring again. A file that changed since the plan
// was made is a fault of kind Conflict, and is left.
//
// Files get mode 0666 or 0777 without the umask, as git gives them; links are
// made as links and never written through.
//
// Source: loop.md R-SNAP-7 to R-SNAP-9.
func (p RestorePlan) Restore(ctx context.Context) (Restored, error) {
	done := Restored{Written: []string{}, Removed: []string{}, Unchanged: p.Unchanged, Tree: p.Tree}
	if len(p.Steps) == 0 && !p.makeBase {
		return done, nil
	}
	root, err := os.OpenRoot(p.repo.workTree)
	if err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	defer root.Close()
	a := &restoreAct{plan: p, root: root, done: &done}
	if err := a.run(ctx); err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	after, err := p.repo.ReadScope(ctx, p.scope, p.snapshot)
	if err != nil {
		return Restored{}, err
	}
	if after.Tree != p.Tree && !p.hasIgnored(after) {
		return Restored{}, fault.New(fault.Conflict, "run the command again", "the files of %q changed while they were restored", p.scope.Target)
	}
	return done, nil
}

// hasIgnored reports whether git ignores a file of the snapshot by now: the
// scope does not show it then.
func (p RestorePlan) hasIgnored(now ScopeFiles) bool {
	for file := range p.want {
		for dir := file; dir != "."; dir = path.Dir(dir) {
			if now.ignored[dir] {
				return true
			}
		}
	}
	return false
}

// restoreAct is a restore under way.
type restoreAct struct {
	plan RestorePlan
	root *os.Root
	done *Restored
}

func (a *restoreAct) run(ctx context.Context) error {
	for _, step := range a.plan.Steps {
		if step.Word != RestoreDelete {
			continue
		}
		if err := a.remove(step.Path); err != nil {
			return err
		}
	}
	for _, step := range a.plan.Steps {
		if step.Word == RestoreDelete {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := a.write(ctx, a.plan.want[step.Path]); err != nil {
			return err
		}
	}
	a.removeEmpty()
	if a.plan.makeBase {
		return a.root.MkdirAll(filepath.FromSlash(a.plan.scope.Base), 0o777)
	}
	return nil
}

// check refuses to touch a file that is not what the plan saw.
func (a *restoreAct) check(file string) error {
	planned, known := a.plan.stamps[file]
	info, err := a.root.Lstat(filepath.FromSlash(file))
	switch {
	case isAbsent(err):
		return nil // gone: there is nothing to lose
	case err != nil:
		return err
	case info.IsDir() && !known:
		return nil // a directory that makes room, if it is empty
	case !known || diskStampOf(info) != planned:
		return fault.New(fault.Conflict, "run the command again", "%q changed while it was to be restored", file)
	}
	return nil
}

func (a *restoreAct) remove(file string) error {
	if err := a.check(file); err != nil {
		return err
	}
	a.plan.repo.env.Crash.Pass("before restore removes a file")
	if err := a.root.Remove(filepath.FromSlash(file)); err != nil && !isAbsent(err) {
		return fmt.Errorf("remove %q: %w", file, err)
	}
	a.plan.repo.env.Crash.Pass("after restore removed a file")
	a.done.Removed = append(a.done.Removed, file)
	return nil
}

// write writes one file or link of the snapshot.
func (a *restoreAct) write(ctx context.Context, want Entry) error {
	blob, err := a.plan.repo.readWithin(ctx, plumbing.BlobObject, plumbing.NewHash(string(want.Object)), maxExported)
	if err != nil {
		return named(err, want.Path)
	}
	dir := path.Dir(want.Path)
	if err := a.checkWay(dir); err != nil {
		return err
	}
	if err := a.root.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil {
		return fmt.Errorf("make directory %q: %w", dir, err)
	}
	if err := a.check(want.Path); err != nil {
		return err
	}
	temporary := filepath.FromSlash(path.Join(dir, restoreMark+strings.ToLower(rand.Text()[:12])))
	err = a.writeNew(temporary, want.Mode, blob.data)
	if err == nil {
		a.clearDir(want.Path)
		a.plan.repo.env.Crash.Pass("before restore renames a file")
		err = a.root.Rename(temporary, filepath.FromSlash(want.Path))
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", want.Path, errors.Join(err, ignoreAbsent(a.root.Remove(temporary))))
	}
	a.plan.repo.env.Crash.Pass("after restore wrote a file")
	a.done.Written = append(a.done.Written, want.Path)
	return nil
}

// checkWay refuses to write through a link, whatever became of a directory
// since the plan.
func (a *restoreAct) checkWay(dir string) error {
	for ; dir != "."; dir = path.Dir(dir) {
		info, err := a.root.Lstat(filepath.FromSlash(dir))
		if ignoreAbsent(err) != nil {
			return err
		}
		if err == nil && !info.IsDir() {
			return fault.New(fault.Conflict, "run the command again", "%q is no directory any more", dir)
		}
	}
	return nil
}

// writeNew writes a file or link where nothing is.
func (a *restoreAct) writeNew(name string, mode Mode, data []byte) error {
	points := a.plan.repo.env.Crash
	points.Pass("before restore writes a file")
	if mode == ModeLink {
		return a.root.Symlink(filepath.FromSlash(string(data)), name)
	}
	perm := fs.FileMode(0o666)
	if mode == ModeExec {
		perm = 0o777
	}
	file, err := a.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = points.Writer(file).Write(data)
	return errors.Join(err, file.Close())
}

// clearDir removes a directory that holds nothing but empty ones, where a file
// comes. If something is in it, the rename fails.
func (a *restoreAct) clearDir(dir string) {
	info, err := a.root.Lstat(filepath.FromSlash(dir))
	if err != nil || !info.IsDir() {
		return
	}
	entries, err := fs.ReadDir(a.root.FS(), dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() {
			a.clearDir(joinPath(dir, entry.Name()))
		}
	}
	_ = a.root.Remove(filepath.FromSlash(dir))
}

// removeEmpty removes the directories that the removals left empty, up to the
// base, which stays.
func (a *restoreAct) removeEmpty() {
	for _, file := range slices.Backward(a.done.Removed) {
		for dir := path.Dir(file); dir != "." && dir != a.plan.scope.Base; dir = path.Dir(dir) {
			if base := a.plan.scope.Base; base != "." && !strings.HasPrefix(dir, base+"/") {
				break
			}
			info, err := a.root.Lstat(filepath.FromSlash(dir))
			if err == nil && (!info.IsDir() || a.root.Remove(filepath.FromSlash(dir)) != nil) {
				break // a file that was restored, or something is in it
			}
		}
	}
}
