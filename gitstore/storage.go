package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"forge/gitstore/fault"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// maxObject is the bound in bytes on one object that is read (R-OPEN-4).
const maxObject = 16 << 20

// maxExported is the bound on one file that is only copied into an export: a
// repository with a large file beside its skills can be measured all the same.
const maxExported = 1 << 30

// ErrNotFound says that a path, an object or a commit does not exist.
var ErrNotFound = errors.New("not found")

// newStorage opens go-git's object storage of a repository (R-OPEN-1). Never
// PlainOpen: it fails on worktreeConfig and cannot reach alternates.
func newStorage(gitDir, commonDir string) *filesystem.Storage {
	return filesystem.NewStorageWithOptions(
		dotgit.NewRepositoryFilesystem(osfs.New(gitDir), osfs.New(commonDir)),
		cache.NewObjectLRUDefault(),
		filesystem.Options{AlternatesFS: osfs.New("/"), KeepDescriptors: true, LargeObjectThreshold: maxObject},
	)
}

// object is one git object, read.
type object struct {
	kind plumbing.ObjectType
	data []byte
}

// readObject reads an object of that kind; [plumbing.AnyObject] takes any. An
// object that is not there wraps [ErrNotFound].
//
// A miss reopens the storage once: another process may have repacked under
// the handle (R-OPEN-2). What a partial clone left with its remote is then
// asked of git.
func (r *Repo) readObject(ctx context.Context, kind plumbing.ObjectType, id plumbing.Hash) (object, error) {
	return r.readWithin(ctx, kind, id, maxObject)
}

// readWithin is readObject with another bound, in bytes.
func (r *Repo) readWithin(ctx context.Context, kind plumbing.ObjectType, id plumbing.Hash, bound int64) (object, error) {
	r.storeMu.Lock()
	defer r.storeMu.Unlock()
	found, err := loadObject(r.store, id, bound)
	if isMiss(err) {
		r.reopen()
		found, err = loadObject(r.store, id, bound)
	}
	if isMiss(err) && r.partial {
		found, err = r.fetchObject(ctx, kind, id, bound)
	}
	switch {
	case isMiss(err):
		return object{}, fmt.Errorf("read object %s: %w", id, ErrNotFound)
	case err != nil:
		return object{}, fmt.Errorf("read object %s: %w", id, err)
	case kind != plumbing.AnyObject && found.kind != kind:
		return object{}, fmt.Errorf("object %s is a %s, not a %s: %w", id, found.kind, kind, ErrNotFound)
	}
	return found, nil
}

// reopen drops what the storage remembers of packs. The caller holds storeMu.
func (r *Repo) reopen() {
	_ = r.store.Close() // only reads: nothing can be lost
	r.store = newStorage(r.gitDir, r.commonDir)
}

// isMiss reports whether a read failed because a file or an object was not
// where the storage looked for it.
func isMiss(err error) bool {
	return errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, dotgit.ErrPackfileNotFound) ||
		errors.Is(err, fs.ErrNotExist)
}

func loadObject(store *filesystem.Storage, id plumbing.Hash, bound int64) (object, error) {
	encoded, err := store.EncodedObject(plumbing.AnyObject, id)
	if err != nil {
		return object{}, err
	}
	if encoded.Size() > bound {
		return object{}, fault.New(fault.Usage, "", "it has %d bytes, at most %d are read", encoded.Size(), bound)
	}
	reader, err := encoded.Reader()
	if err != nil {
		return object{}, err
	}
	defer reader.Close()
	data := make([]byte, encoded.Size())
	if _, err := io.ReadFull(reader, data); err != nil {
		return object{}, err
	}
	return object{encoded.Type(), data}, nil
}

// fetchObject asks git for an object a partial clone does not hold; git
// fetches it from the remote that promised it. Without git, or without an
// answer, the object is missing, which is never the same as deleted
// (gitstore.md section 2).
func (r *Repo) fetchObject(ctx context.Context, kind plumbing.ObjectType, id plumbing.Hash, bound int64) (object, error) {
	name := id.String()
	if kind == plumbing.AnyObject {
		result, err := r.git(ctx, gitCall{Args: []string{"cat-file", "-t", name}})
		if err == nil && !result.OK() {
			err = gitFailure("cat-file", result)
		}
		if err == nil {
			kind, err = plumbing.ParseObjectType(firstLine(result.Stdout, 0))
		}
		if err != nil {
			return object{}, &notFetchedError{object: name, err: err}
		}
	}
	result, err := r.git(ctx, gitCall{Args: []string{"cat-file", kind.String(), name}, Limit: bound})
	if err == nil && !result.OK() {
		err = gitFailure("cat-file", result)
	}
	if err != nil {
		return object{}, &notFetchedError{object: name, err: err}
	}
	return object{kind, result.Stdout}, nil
}

// notFetchedError is an object that a partial clone does not hold and that
// could not be fetched.
type notFetchedError struct {
	object string
	err    error
}

func (e *notFetchedError) Error() string {
	return fmt.Sprintf("object %s is not in this partial clone: %v", e.object, e.err)
}

func (e *notFetchedError) Unwrap() error { return e.err }

// named puts the path of a file into the error of reading its content, which
// for a partial clone is the sentence of gitstore.md section 2.
func named(err error, path string) error {
	if missing, ok := errors.AsType[*notFetchedError](err); ok {
		return &fault.Error{
			Kind: fault.Usage, Err: missing,
			Msg:  fmt.Sprintf("the content of %q is not in this partial clone", path),
			Hint: "git fetch --refetch, or run with git installed",
		}
	}
	return fmt.Errorf("read %q: %w", path, err)
}

// Blob returns the content of a blob, at most 16 MiB (R-OPEN-4).
func (r *Repo) Blob(ctx context.Context, id Hash) ([]byte, error) {
	content, err := r.readObject(ctx, plumbing.BlobObject, plumbing.NewHash(string(id)))
	if _, ok := errors.AsType[*notFetchedError](err); ok {
		return nil, named(err, string(id))
	}
	return content.data, err
}
