package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"forge/gitstore/crash"

	"github.com/go-git/go-git/v5/plumbing"
)

// exportWorkers is the number of files written, or directories looked at, at
// once.
const exportWorkers = 4

// lfsPointer is how a pointer of git LFS begins.
var lfsPointer = []byte("version https://git-lfs")

// IsPointer says whether a file's stored bytes only stand for its content: a
// pointer of git LFS.
func IsPointer(data []byte) bool { return bytes.HasPrefix(data, lfsPointer) }

// Set makes the tree of the export that of a commit. The first call writes
// every file; a later one writes what differs between the two trees and what
// changed on disk, and removes everything else that is not in the tree, but
// for untracked paths that Keep matches. Files have mode 0644 or 0755,
// directories 0755, and content is the stored bytes: no line endings are
// converted and no filter runs. Set does not read the user's work tree.
//
// What changed on disk is found by size, times, inode and mode of files and
// directories, not by reading files. After an error, which names the path,
// the tree is of no use until a later Set succeeds.
//
// Source: gitstore.md R-EXP-1 to R-EXP-3.
func (e *Export) Set(ctx context.Context, commit Hash) error {
	e.pass++
	if err := e.load(ctx, commit); err != nil {
		return fmt.Errorf("export %s: %w", commit.Short(), err)
	}
	if err := e.clean(ctx); err != nil {
		return fmt.Errorf("clean the export: %w", err)
	}
	if err := e.write(ctx); err != nil {
		return fmt.Errorf("export %s: %w", commit.Short(), err)
	}
	if err := e.stampDirs(); err != nil {
		return fmt.Errorf("look at the export: %w", err)
	}
	return e.noteTime()
}

// write writes every file of the tree that clean did not find in order.
func (e *Export) write(ctx context.Context) error {
	var missing []string
	for p := range e.want {
		if file := e.onDisk[p]; file == nil || file.pass != e.pass {
			missing = append(missing, p)
			e.onDisk[p] = &diskFile{}
		}
	}
	slices.Sort(missing)
	if err := e.makeParents(missing); err != nil {
		return err
	}
	return inParallel(ctx, e.workers(), missing, func(ctx context.Context, p string) error {
		return e.writeFile(ctx, e.want[p], e.onDisk[p])
	})
}

// workers is the number of files or directories worked on at once: one where
// crash points are counted, so that a number always means the same file.
func (e *Export) workers() int {
	if e.repo.env.Crash.On() {
		return 1
	}
	return exportWorkers
}

// inParallel calls do for every name from a few goroutines and returns the
// first error, after which no further call begins.
func inParallel(ctx context.Context, workers int, names []string, do func(context.Context, string) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo := make(chan string, len(names))
	for _, name := range names {
		todo <- name
	}
	close(todo)
	var running sync.WaitGroup
	for range min(workers, len(names)) {
		running.Go(func() {
			for name := range todo {
				if ctx.Err() != nil {
					return
				}
				if err := do(ctx, name); err != nil {
					stop(err)
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// makeParents makes the directories of the files.
func (e *Export) makeParents(files []string) error {
	for _, file := range files {
		var need []string
		for dir := path.Dir(file); !e.dirs[dir].present; dir = path.Dir(dir) {
			need = append(need, dir)
		}
		for _, dir := range slices.Backward(need) {
			err := os.Mkdir(e.onPath(dir), 0o755)
			if err == nil {
				err = os.Chmod(e.onPath(dir), 0o755) // whatever the umask is
			}
			if err != nil {
				return fmt.Errorf("make directory %q: %w", dir, err)
			}
			e.dirs[dir].present, e.dirs[dir].touched = true, true
			e.dirs[path.Dir(dir)].touched = true
		}
		e.dirs[path.Dir(file)].touched = true
	}
	return nil
}

// writeFile writes one file or link, where nothing is, and notes it.
func (e *Export) writeFile(ctx context.Context, want Entry, file *diskFile) error {
	name := e.onPath(want.Path)
	if want.Mode == ModeLink {
		e.repo.env.Crash.Pass("before export link")
		if err := e.repo.env.Crash.Symlink(filepath.FromSlash(e.links[want.Object]), name); err != nil {
			return fmt.Errorf("write link %q: %w", want.Path, err)
		}
		info, err := os.Lstat(name)
		if err != nil {
			return fmt.Errorf("write link %q: %w", want.Path, err)
		}
		*file = diskFile{entry: want, stamp: diskStampOf(info), pass: e.pass}
		return nil
	}
	blob, err := e.repo.readWithin(ctx, plumbing.BlobObject, plumbing.NewHash(string(want.Object)), maxExported)
	if err != nil {
		return named(err, want.Path)
	}
	data := blob.data
	info, err := writeNew(e.repo.env.Crash, name, data, permOf(want.Mode))
	if err != nil {
		return fmt.Errorf("write %q: %w", want.Path, err)
	}
	*file = diskFile{entry: want, stamp: diskStampOf(info), pass: e.pass, pointer: IsPointer(data)}
	return nil
}

// permOf returns the permission bits of an exported file.
func permOf(mode Mode) fs.FileMode {
	if mode&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

// writeNew writes a file that does not exist, with exactly these permission
// bits, and returns what it looks like then.
func writeNew(points *crash.Points, name string, data []byte, perm fs.FileMode) (fs.FileInfo, error) {
	points.Pass("before export file")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	_, err = points.Writer(f).Write(data)
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil && info.Mode().Perm() != perm { // the umask took some
		if err = f.Chmod(perm); err == nil {
			info, err = f.Stat()
		}
	}
	err = errors.Join(err, f.Close())
	points.Pass("after export file")
	return info, err
}

// stampDirs notes how the directories look that this Set looked into or
// changed.
func (e *Export) stampDirs() error {
	for p, d := range e.dirs {
		if !d.touched {
			continue
		}
		info, err := os.Lstat(e.onPath(p))
		if err != nil {
			return err
		}
		d.stamp, d.touched = diskStampOf(info), false
	}
	return nil
}

// noteTime asks the file system for its time. What was written in this same
// tick could be changed in it too without looking different, so the next Set
// reads that.
func (e *Export) noteTime() error {
	file, err := os.CreateTemp(e.dir, exportMark+"-clock-*")
	if err != nil {
		return fmt.Errorf("ask the file system of the export for its time: %w", err)
	}
	info, err := file.Stat()
	if err == nil {
		e.horizon = diskStampOf(info).changed
	}
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return fmt.Errorf("ask the file system of the export for its time: %w", err)
	}
	return nil
}

// onPath returns the name in the file system of a path of the tree.
func (e *Export) onPath(p string) string { return filepath.Join(e.Tree, filepath.FromSlash(p)) }
