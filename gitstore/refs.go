package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// Ref is a name and the object it stands for.
type Ref struct {
	Name string // full, such as refs/heads/main
	Hash Hash
}

// Head is where the work tree stands.
type Head struct {
	Commit Hash   // "" when the branch has no commit yet
	Branch string // full ref name; "" when detached
}

// maxSymbolic bounds a chain of symbolic refs, as git does.
const maxSymbolic = 5

// refValue is what a ref file says: an object, or the name of another ref.
type refValue struct {
	hash   Hash
	target string // of a symbolic ref
}

// Head returns the commit and the branch of this work tree. In a repository
// without a commit, Commit is "" and the branch is the one the first commit
// will make.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	value, found, err := r.readLoose("HEAD")
	if err != nil {
		return Head{}, err
	}
	if !found {
		return Head{}, fmt.Errorf("read HEAD: %w", ErrNotFound)
	}
	if value.target == "" {
		return Head{Commit: value.hash}, nil
	}
	commit, err := r.Ref(ctx, value.target)
	return Head{Commit: commit, Branch: value.target}, err
}

// Ref returns what a full ref name stands for, or "" if there is no such ref.
// Symbolic refs are followed. A ref file that is empty or malformed is an
// error, never the older packed value (R-REF-3).
func (r *Repo) Ref(_ context.Context, name string) (Hash, error) {
	for range maxSymbolic {
		value, found, err := r.readRef(name)
		if err != nil || !found {
			return "", err
		}
		if value.target == "" {
			return value.hash, nil
		}
		name = value.target
	}
	return "", fmt.Errorf("ref %q: more than %d symbolic refs in a row", name, maxSymbolic)
}

// readRef reads a ref: its loose file, else packed-refs, else the loose file
// once more, since a pack-refs may have run between (R-REF-3).
func (r *Repo) readRef(name string) (refValue, bool, error) {
	if value, found, err := r.readLoose(name); err != nil || found {
		return value, found, err
	}
	packed, err := r.packedRefs()
	if err != nil {
		return refValue{}, false, err
	}
	if hash, found := packed.find(name); found {
		return refValue{hash: hash}, true, nil
	}
	return r.readLoose(name)
}

// refPath returns the file of a ref. A few belong to one work tree.
func (r *Repo) refPath(name string) string {
	dir := r.commonDir
	own := !strings.HasPrefix(name, "refs/") || strings.HasPrefix(name, "refs/bisect/") ||
		strings.HasPrefix(name, "refs/worktree/") || strings.HasPrefix(name, "refs/rewritten/")
	if own {
		dir = r.gitDir
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// readLoose reads the file of a ref; false if there is none.
func (r *Repo) readLoose(name string) (refValue, bool, error) {
	data, err := os.ReadFile(r.refPath(name))
	switch {
	case err == nil:
		value, err := parseRefFile(name, string(data))
		return value, err == nil, err
	case isAbsent(err) || errors.Is(err, syscall.EISDIR):
		return refValue{}, false, nil
	}
	if isDir(r.refPath(name)) { // not every system says EISDIR
		return refValue{}, false, nil
	}
	return refValue{}, false, fmt.Errorf("read ref %q: %w", name, err)
}

// isAbsent reports whether a path does not exist: no such file, or a file
// where one of its directories should be.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// parseRefFile reads the content of a ref file: a hash or "ref: NAME", with
// white space at the end. All else is an error that names the ref.
func parseRefFile(name, text string) (refValue, error) {
	text = strings.TrimRight(text, " \t\r\n")
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		target = strings.TrimLeft(target, " \t")
		if target != "" {
			return refValue{target: target}, nil
		}
	}
	if hash, ok := parseHash(text); ok {
		return refValue{hash: hash}, nil
	}
	what := "malformed"
	if text == "" {
		what = "empty"
	}
	return refValue{}, fault.New(fault.Failed, "find its commit in git reflog, then git update-ref "+name+" COMMIT",
		"the file of ref %q is %s", name, what)
}

// Refs returns the refs whose full name starts with prefix, loose over
// packed, sorted by name. Symbolic refs are followed; one that leads nowhere
// is left out.
func (r *Repo) Refs(ctx context.Context, prefix string) ([]Ref, error) {
	// Loose first: a ref packed meanwhile is then found in packed-refs.
	loose, err := r.looseRefs(ctx, prefix)
	if err != nil {
		return nil, err
	}
	packed, err := r.packedRefs()
	if err != nil {
		return nil, err
	}
	for _, ref := range packed.withPrefix(prefix) {
		if _, found := loose[ref.Name]; !found {
			loose[ref.Name] = ref.Hash
		}
	}
	refs := make([]Ref, 0, len(loose))
	for name, hash := range loose {
		if hash != "" {
			refs = append(refs, Ref{name, hash})
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs, nil
}

// looseRefs reads the ref files below a prefix. Files that cannot be refs by
// their name, such as locks, are passed over, as git does.
func (r *Repo) looseRefs(ctx context.Context, prefix string) (map[string]Hash, error) {
	found := map[string]Hash{}
	dir := prefix[:strings.LastIndexByte(prefix, '/')+1]
	root := r.refPath(strings.TrimSuffix(dir, "/"))
	if dir == "" {
		dir, root = "refs/", filepath.Join(r.commonDir, "refs")
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if isAbsent(err) {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || entry.IsDir() {
			return err
		}
		name := dir + filepath.ToSlash(rel)
		if !strings.HasPrefix(name, prefix) || !validRefName(name) {
			return nil
		}
		value, present, err := r.readLoose(name)
		if err != nil || !present {
			return err
		}
		if value.target != "" {
			value.hash, err = r.Ref(ctx, value.target)
		}
		found[name] = value.hash
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list refs under %q: %w", prefix, err)
	}
	return found, nil
}

// Resolve returns the commit that rev names: HEAD, a full ref name, a branch,
// tag or remote branch, a full or abbreviated hash. An annotated tag stands
// for its commit. Other forms git knows, such as HEAD~2, are asked of the git
// binary where there is one. What names no commit is a fault of kind Usage
// that wraps [ErrNotFound].
func (r *Repo) Resolve(ctx context.Context, rev string) (Hash, error) {
	if id, ok := parseHash(rev); ok {
		return r.peel(ctx, rev, id)
	}
	for _, form := range []string{"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"} {
		name := fmt.Sprintf(form, rev)
		if name != "HEAD" && !validRefName(name) {
			continue
		}
		id, err := r.Ref(ctx, name)
		if err != nil {
			return "", err
		}
		if id != "" {
			return r.peel(ctx, rev, id)
		}
	}
	if id, err := r.abbreviated(ctx, rev); err != nil || id != "" {
		return id, err
	}
	return r.askRevision(ctx, rev)
}

// peel follows annotated tags to a commit.
func (r *Repo) peel(ctx context.Context, rev string, id Hash) (Hash, error) {
	for range maxSymbolic {
		found, err := r.readObject(ctx, plumbing.AnyObject, plumbing.NewHash(string(id)))
		if errors.Is(err, ErrNotFound) {
			return "", noCommit(rev)
		}
		if err != nil {
			return "", err
		}
		if found.kind == plumbing.CommitObject {
			return id, nil
		}
		line, _, _ := strings.Cut(string(found.data), "\n")
		next, ok := strings.CutPrefix(line, "object ")
		if found.kind != plumbing.TagObject || !ok {
			break
		}
		id = Hash(next)
	}
	return "", noCommit(rev)
}

func noCommit(rev string) error {
	return &fault.Error{
		Kind: fault.Usage, Err: ErrNotFound,
		Msg:  fmt.Sprintf("%q names no commit", rev),
		Hint: "git log --oneline shows the commits there are",
	}
}

// abbreviated returns the one commit whose hash starts with rev, or "".
func (r *Repo) abbreviated(ctx context.Context, rev string) (Hash, error) {
	if len(rev) < 4 || !isHex(rev) {
		return "", nil
	}
	rev = lowerASCII(rev)
	whole := plumbing.NewHash(rev[:len(rev)&^1]) // an odd digit is compared below
	r.storeMu.Lock()
	candidates, err := r.store.HashesWithPrefix(whole[:len(rev)/2])
	r.storeMu.Unlock()
	if err != nil {
		return "", fmt.Errorf("look for commit %q: %w", rev, err)
	}
	var commit Hash
	for _, id := range candidates {
		if !strings.HasPrefix(id.String(), rev) {
			continue
		}
		found, err := r.readObject(ctx, plumbing.AnyObject, id)
		if err != nil {
			return "", err
		}
		if found.kind != plumbing.CommitObject {
			continue
		}
		if commit != "" && commit != Hash(id.String()) {
			return "", fault.New(fault.Usage, "type more digits", "%q is the beginning of several commits", rev)
		}
		commit = Hash(id.String())
	}
	return commit, nil
}

// askRevision asks git what a revision in one of its other forms names, and
// for abbreviated hashes of objects in alternates.
func (r *Repo) askRevision(ctx context.Context, rev string) (Hash, error) {
	if strings.ContainsAny(rev, "\x00\n") || rev == "" {
		return "", noCommit(rev)
	}
	result, err := r.git(ctx, gitCall{Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}})
	if err != nil && !errors.Is(err, errNoGit) {
		return "", err
	}
	if err == nil && result.OK() {
		if id, ok := parseHash(strings.TrimSpace(string(result.Stdout))); ok {
			return id, nil
		}
	}
	return "", noCommit(rev)
}
