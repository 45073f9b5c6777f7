package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"forge/gitstore/crash"
	"forge/gitstore/fault"
)

// ErrMoved says that a ref is not where the caller last saw it. The error in
// front of it is a [MovedError].
var ErrMoved = errors.New("the ref moved")

// ErrLocked says that somebody else holds the lock file of a ref.
var ErrLocked = errors.New("the ref is locked")

// MovedError is the refusal of a swap: it carries both values, "" for a ref
// that does not exist (R-VERB-2). It wraps [ErrMoved].
type MovedError struct {
	Ref             string
	Expected, Found Hash
}

// Error says where the ref was expected and where it is.
func (e *MovedError) Error() string {
	switch {
	case e.Expected == "":
		return fmt.Sprintf("%q exists already, at %s", shortBranch(e.Ref), e.Found.Short())
	case e.Found == "":
		return fmt.Sprintf("%q is gone; it was at %s", shortBranch(e.Ref), e.Expected.Short())
	}
	return fmt.Sprintf("%q moved from %s to %s", shortBranch(e.Ref), e.Expected.Short(), e.Found.Short())
}

// Unwrap returns [ErrMoved].
func (e *MovedError) Unwrap() error { return ErrMoved }

// moved is the fault of a refused swap, exit 4.
func moved(ref string, expected, found Hash) error {
	cause := &MovedError{Ref: ref, Expected: expected, Found: found}
	return &fault.Error{Kind: fault.Conflict, Msg: cause.Error(), Hint: "run the command again", Err: cause}
}

// swap is a change of one ref: from old, where "" means that it does not
// exist, to new.
type swap struct {
	ref      string
	old, new Hash
	who      Signature // who the reflog names
	subject  string    // what the reflog says
}

// lockWait bounds the wait for somebody else's lock file (R-REF-4).
const lockWait = time.Second

// compareAndSwap moves a ref by git's own lock-file protocol. A refused swap
// leaves no file, no directory and no byte behind (R-REF-4, R-REF-5).
func (r *Repo) compareAndSwap(ctx context.Context, s swap) error {
	if err := r.checkConflict(s.ref); err != nil {
		return err
	}
	record, err := r.recordLock(s.ref)
	if err != nil {
		return err
	}
	defer record.remove()
	lock, err := r.lockRef(ctx, s.ref, record)
	if err != nil {
		return err
	}
	defer lock.release() // after a swap nothing is left to release
	value, found, err := r.readRef(s.ref)
	switch {
	case err != nil:
		return err
	case found && value.target != "":
		return fault.New(fault.Refused, "", "%q is a symbolic ref; forge never writes through one", s.ref)
	case value.hash != s.old:
		return moved(s.ref, s.old, value.hash)
	}
	takeBack, err := r.appendReflog(s)
	if err != nil {
		return err
	}
	if err := lock.commit(s.new); err != nil {
		takeBack()
		return err
	}
	return nil
}

// checkConflict refuses a ref that cannot be, because another one is a
// directory of its name or it is a directory of another one's. Packed refs
// have no file that would stand in the way by itself (R-REF-4).
func (r *Repo) checkConflict(name string) error {
	for end := strings.LastIndexByte(name, '/'); end > len("refs"); end = strings.LastIndexByte(name[:end], '/') {
		_, found, err := r.readRef(name[:end])
		if err != nil {
			return err
		}
		if found {
			return inTheWay(name[:end], name)
		}
	}
	packed, err := r.packedRefs()
	if err != nil {
		return err
	}
	if below := packed.withPrefix(name + "/"); len(below) > 0 {
		return inTheWay(below[0].Name, name)
	}
	if !isDir(r.refPath(name)) {
		return nil
	}
	loose, err := r.looseRefs(context.Background(), name+"/")
	if err != nil {
		return err
	}
	for other := range loose {
		return inTheWay(other, name)
	}
	return nil
}

// CheckFree refuses a ref that could not be made because of another one's
// name, as the swap itself does, before anything is paid for (R-REF-4).
func (r *Repo) CheckFree(name string) error { return r.checkConflict(name) }

// inTheWay is the fault of two names that cannot both be refs.
func inTheWay(there, wanted string) error {
	if short, ok := strings.CutPrefix(there, branchPrefix); ok {
		aside := strings.ReplaceAll(short, "/", "-") + "-old"
		return fault.New(fault.Usage, "git branch -m "+short+" "+aside,
			"branch %q stands in the way of %q", short, shortBranch(wanted))
	}
	return fault.New(fault.Usage, "", "ref %q stands in the way of %q", there, wanted)
}

// refLock is a lock file that this call made.
type refLock struct {
	ref   string   // path of the ref
	file  *os.File // <ref>.lock
	crash *crash.Points
	made  []string // directories made for it, deepest last
	done  bool
}

// lockRef makes the lock file of a ref. Somebody else's is waited for, at
// most a second ([lockWait]), unless it is stale (R-REF-9).
func (r *Repo) lockRef(ctx context.Context, name string, record *lockRecord) (*refLock, error) {
	lock := &refLock{ref: r.refPath(name), crash: r.env.Crash}
	lock.crash.Pass("before lock file")
	deadline := time.NewTimer(r.lockWait)
	defer deadline.Stop()
	for {
		made, err := makeDirs(filepath.Dir(lock.ref))
		lock.made = append(lock.made, made...)
		if err == nil {
			lock.file, err = os.OpenFile(lock.ref+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		}
		switch {
		case err == nil:
			lock.crash.Pass("lock file made")
			if err := record.addInode(lock.file); err != nil {
				lock.release()
				return nil, err
			}
			lock.crash.Pass("lock file recorded")
			return lock, nil
		case errors.Is(err, fs.ErrNotExist): // somebody removed the empty parent
		case errors.Is(err, syscall.ENOTDIR):
			if err := r.checkConflict(name); err != nil {
				lock.removeDirs()
				return nil, err
			}
		case errors.Is(err, fs.ErrExist):
			if r.clearStale(name, record) {
				continue
			}
		default:
			lock.removeDirs()
			return nil, fmt.Errorf("lock ref %q: %w", name, err)
		}
		pause := time.NewTimer(time.Millisecond + rand.N(49*time.Millisecond))
		select {
		case <-ctx.Done():
			lock.removeDirs()
			return nil, fmt.Errorf("lock ref %q: %w", name, context.Cause(ctx))
		case <-deadline.C:
			lock.removeDirs()
			return nil, r.locked(name, record)
		case <-pause.C:
		}
	}
}

// makeDirs makes a directory with its parents and returns those it made.
func makeDirs(dir string) ([]string, error) {
	err := os.Mkdir(dir, 0o777)
	switch {
	case err == nil:
		return []string{dir}, nil
	case errors.Is(err, fs.ErrExist):
		return nil, nil // or a file, which opening the lock finds out
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	made, err := makeDirs(filepath.Dir(dir))
	if err != nil {
		return made, err
	}
	if err := os.Mkdir(dir, 0o777); err == nil {
		made = append(made, dir)
	} else if !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	return made, nil
}

// commit writes the new value and renames the lock over the ref.
func (l *refLock) commit(value Hash) error {
	l.crash.Pass("before ref")
	_, err := io.WriteString(l.crash.Writer(l.file), string(value)+"\n")
	err = errors.Join(err, l.file.Close())
	if err == nil {
		l.crash.Pass("before rename of ref")
		err = renameOver(l.file.Name(), l.ref)
	}
	if err != nil && isDir(l.ref) {
		// Left by a deleted deeper ref; what is not empty stays.
		removeEmptyDirs(l.ref)
		err = renameOver(l.file.Name(), l.ref)
	}
	if err != nil {
		return fmt.Errorf("write ref: %w", err)
	}
	l.done = true
	l.crash.Pass("after ref")
	return nil
}

// release removes the lock and the directories made for it, unless the swap
// was done.
func (l *refLock) release() {
	if l.done {
		return
	}
	_ = l.file.Close() // nothing in it is wanted
	_ = os.Remove(l.file.Name())
	l.removeDirs()
}

// removeDirs removes the directories made for the lock, as far as they are
// empty.
func (l *refLock) removeDirs() { removeMade(l.made) }

// removeMade removes directories, deepest last in the list, as far as they are
// empty.
func removeMade(made []string) {
	for _, dir := range slices.Backward(made) {
		_ = os.Remove(dir) // not empty: somebody else uses it
	}
}

// removeEmptyDirs removes a directory that holds nothing but empty ones.
func removeEmptyDirs(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.IsDir() {
			removeEmptyDirs(filepath.Join(dir, entry.Name()))
		}
	}
	_ = os.Remove(dir) // fails, as it must, if something is in it
}

// Point moves a ref to a commit that exists, by the same swap, names and
// errors as [Repo.Commit]; old "" means that the ref must not exist yet
// (R-VERB-1).
func (r *Repo) Point(ctx context.Context, ref string, old, new Hash) error {
	if err := r.checkWritable(ctx, ref); err != nil {
		return err
	}
	target, err := r.ReadCommit(ctx, new)
	if err != nil {
		return fmt.Errorf("point %q: %w", ref, err)
	}
	s := swap{ref: ref, old: old, new: new, subject: target.Subject}
	if r.keepsReflog(ref) {
		if _, s.who, err = r.Identity(ctx); err != nil {
			return err
		}
	}
	return r.compareAndSwap(ctx, s)
}

// DeleteRef deletes one of forge's own refs, if it still stands at old
// (R-REF-7). git does it, since packed-refs may have to be rewritten; without
// git only a ref that is not packed can go.
func (r *Repo) DeleteRef(ctx context.Context, ref string, old Hash) error {
	if !isForgeRef(ref) {
		return fault.New(fault.Refused, "", "forge does not delete the ref %q", ref)
	}
	if err := r.checkWritable(ctx, ref); err != nil {
		return err
	}
	found, err := r.Ref(ctx, ref)
	if err != nil {
		return err
	}
	if found != old || old == "" {
		return moved(ref, old, found)
	}
	result, err := r.git(ctx, gitCall{Args: []string{"update-ref", "--no-deref", "-d", ref, string(old)}})
	if errors.Is(err, errNoGit) {
		return r.deleteLoose(ctx, ref, old)
	}
	if err != nil || result.OK() {
		return err
	}
	if found, err := r.Ref(ctx, ref); err == nil && found != old {
		return moved(ref, old, found)
	}
	return fmt.Errorf("delete ref %q: %w", ref, gitFailure("update-ref", result))
}

// deleteLoose deletes a ref that has a file and is not packed.
func (r *Repo) deleteLoose(ctx context.Context, ref string, old Hash) error {
	record, err := r.recordLock(ref)
	if err != nil {
		return err
	}
	defer record.remove()
	lock, err := r.lockRef(ctx, ref, record)
	if err != nil {
		return err
	}
	defer lock.release()
	packed, err := r.packedRefs()
	if err != nil {
		return err
	}
	if _, found := packed.find(ref); found {
		return fault.New(fault.Refused, "git update-ref -d "+ref, "deleting the packed ref %q needs git: %w", ref, errNoGit)
	}
	value, _, err := r.readLoose(ref)
	if err != nil {
		return err
	}
	if value.hash != old {
		return moved(ref, old, value.hash)
	}
	_ = os.Remove(filepath.Join(r.commonDir, "logs", filepath.FromSlash(ref))) // there may be none
	if err := os.Remove(r.refPath(ref)); err != nil {
		return fmt.Errorf("delete ref %q: %w", ref, err)
	}
	return nil
}
