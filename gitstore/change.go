package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/plumbing"
)

// ErrNoChange says that a change would make a commit with the tree of its
// only parent.
var ErrNoChange = errors.New("nothing to commit")

// Change is one commit that is to be made: a pure value. Building one writes
// nothing, and a dry run is a Change that is never handed over.
//
// Source: gitstore.md section 1.
type Change struct {
	Ref        string    // required: full name; only names R-REF-1 allows
	Base       Hash      // the tip it was built on; "" = the ref must not exist yet
	From       Hash      // commit whose tree the edits apply to; "" = Base
	Parents    []Hash    // nil = [Base]; of a kept experiment [run tip, candidate]
	Edits      []Edit    // in any order
	Subject    string    // required: cut to 72 bytes
	Body       string    // free text, wherever it comes from
	Trailers   []Trailer // Forge-*; those without a value are left out
	AuthorDate time.Time // zero = GIT_AUTHOR_DATE, else the program's clock
}

// Preview is what [Repo.Commit] would make of a change.
type Preview struct {
	Tree  Hash
	State Hash         // of Tree without .forge; see [Repo.StateOf]
	Files []FileChange // what differs from the tree of From, sorted by path
}

// FileChange is one file, link or gitlink with both its sides; nil is a side
// that does not have it.
type FileChange struct {
	Path          string
	Before, After *File
}

// File is one side of a [FileChange]. Data of a link is its target; of a
// gitlink it is nil.
type File struct {
	Mode   Mode
	Object Hash
	Data   []byte
}

// Commit writes a change as one commit and moves its ref from Base to it, or
// does not move it at all. The hash is returned only when the ref stands
// there.
//
// If the ref is elsewhere the error is a fault of kind Conflict that wraps
// [ErrMoved] and carries both hashes; objects written before stay without a
// ref, for git to remove. A change that leaves the tree of its only parent as
// it is wraps [ErrNoChange], kind Nothing. A lock that does not go away wraps
// [ErrLocked], kind Conflict. Paths R-TREE-3 refuses are of kind Refused.
//
// Source: gitstore.md R-VERB-1, R-VERB-2, R-REF-4.
func (r *Repo) Commit(ctx context.Context, c Change) (Hash, error) {
	if err := r.checkWritable(ctx, c.Ref); err != nil {
		return "", err
	}
	message, err := buildMessage(c.Subject, c.Body, c.Trailers)
	if err != nil {
		return "", err
	}
	// The swap decides; this look spares the objects of a lost race.
	tip, err := r.Ref(ctx, c.Ref)
	if err != nil {
		return "", err
	}
	if tip != c.Base {
		return "", moved(c.Ref, c.Base, tip)
	}
	made, err := r.build(ctx, c, message)
	if err != nil {
		return "", err
	}
	subject, _, _ := strings.Cut(message, "\n")
	if err := r.compareAndSwap(ctx, swap{ref: c.Ref, old: c.Base, new: made.id, who: made.committer, subject: subject}); err != nil {
		return "", err
	}
	return made.id, nil
}

// Store writes a change as a commit that no ref stands for yet, for
// [Repo.Point] to give it one; until then git may remove it, after weeks. Ref
// is not looked at; the rest is as with [Repo.Commit].
//
// Source: gitstore.md R-LAND-1.
func (r *Repo) Store(ctx context.Context, c Change) (Hash, error) {
	message, err := buildMessage(c.Subject, c.Body, c.Trailers)
	if err != nil {
		return "", err
	}
	made, err := r.build(ctx, c, message)
	return made.id, err
}

// built is a commit that was stored.
type built struct {
	id        Hash
	committer Signature
}

// build writes the objects of a change.
func (r *Repo) build(ctx context.Context, c Change, message string) (built, error) {
	tree, editor, err := r.plan(ctx, c)
	if err != nil {
		return built{}, err
	}
	if err := r.checkChanged(ctx, c, tree); err != nil {
		return built{}, err
	}
	author, committer, err := r.Identity(ctx)
	if err != nil {
		return built{}, err
	}
	if !c.AuthorDate.IsZero() {
		author.When = c.AuthorDate.Truncate(time.Second)
	}
	if err := editor.write(); err != nil {
		return built{}, err
	}
	id, err := r.writeCommit(ctx, commitObject{Hash(tree.String()), c.parents(), author, committer, message})
	return built{id, committer}, err
}

// plan returns the tree a change results in and its objects, in memory.
func (r *Repo) plan(ctx context.Context, c Change) (plumbing.Hash, *editor, error) {
	root, err := r.treeOf(ctx, c.from())
	if err != nil {
		return plumbing.ZeroHash, nil, fmt.Errorf("read the tree to change: %w", err)
	}
	return r.applyEdits(ctx, root, c.Edits)
}

// from is the commit whose tree the edits apply to; "" is the empty tree.
func (c Change) from() Hash {
	if c.From == "" {
		return c.Base
	}
	return c.From
}

// parents are those of the commit; a ref that begins with it may have none.
func (c Change) parents() []Hash {
	if c.Parents == nil && c.Base != "" {
		return []Hash{c.Base}
	}
	return c.Parents
}

// checkChanged refuses a commit with the tree of its only parent, and one with
// a parent that does not exist. On a ref whose commits do not follow one
// another, such as a landing built anew, Base is not the parent.
func (r *Repo) checkChanged(ctx context.Context, c Change, tree plumbing.Hash) error {
	parents := c.parents()
	for _, parent := range parents {
		if _, err := r.ReadCommit(ctx, parent); err != nil {
			return fmt.Errorf("read parent: %w", err)
		}
	}
	if c.Base == "" || len(parents) != 1 {
		return nil
	}
	before, err := r.treeOf(ctx, parents[0])
	if err != nil || before != tree {
		return err
	}
	return fault.New(fault.Nothing, "", "%w: the tree stays as it is", ErrNoChange)
}

// Preview computes what Commit would do without writing anything: the tree
// and every path that differs from the tree of From, with both sides' bytes.
// It writes no object, so that what a guard refuses never becomes one
// (R-VERB-1). Ref, Base and message are not looked at.
func (r *Repo) Preview(ctx context.Context, c Change) (Preview, error) {
	before, err := r.treeOf(ctx, c.from())
	if err != nil {
		return Preview{}, fmt.Errorf("read the tree to change: %w", err)
	}
	after, editor, err := r.applyEdits(ctx, before, c.Edits)
	if err != nil {
		return Preview{}, err
	}
	differences, err := diffTrees(ctx, editor, before, after)
	if err != nil {
		return Preview{}, err
	}
	preview := Preview{Tree: Hash(after.String())}
	if preview.State, err = stateOf(ctx, editor, after); err != nil {
		return Preview{}, err
	}
	for _, d := range differences {
		change := FileChange{Path: d.Path}
		if change.Before, err = editor.side(ctx, d.Path, d.Before); err != nil {
			return Preview{}, err
		}
		if change.After, err = editor.side(ctx, d.Path, d.After); err != nil {
			return Preview{}, err
		}
		preview.Files = append(preview.Files, change)
	}
	return preview, nil
}

// side reads one side of a changed file; nil if it does not have it.
func (e *editor) side(ctx context.Context, path string, entry Entry) (*File, error) {
	if entry.Mode == 0 {
		return nil, nil
	}
	file := &File{Mode: entry.Mode, Object: entry.Object}
	if entry.Mode == ModeGitlink {
		return file, nil
	}
	data, err := e.blob(ctx, plumbing.NewHash(string(entry.Object)), path)
	file.Data = data
	return file, err
}

// write stores the new objects, what others refer to first.
func (e *editor) write() error {
	for _, id := range e.order {
		written, err := e.repo.writeObject(e.objects[id])
		if err != nil {
			return err
		}
		if written != id {
			return fmt.Errorf("object %s was stored as %s", id, written)
		}
	}
	return nil
}

// commitObject is a commit about to be stored.
type commitObject struct {
	tree              Hash
	parents           []Hash
	author, committer Signature
	message           string
}

// encode is the content of the object, without a signature.
func (c commitObject) encode() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", c.tree)
	for _, parent := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", c.author.ident(), c.committer.ident(), c.message)
	return []byte(b.String())
}

// writeCommit stores a commit, signed if the person wants that.
func (r *Repo) writeCommit(ctx context.Context, c commitObject) (Hash, error) {
	signs, err := r.signs(ctx)
	if err != nil {
		return "", err
	}
	if signs {
		return r.signedCommit(ctx, c)
	}
	id, err := r.writeObject(object{plumbing.CommitObject, c.encode()})
	if err != nil {
		return "", err
	}
	return Hash(id.String()), nil
}

// maxTries bounds how often [Repo.Update] builds a change anew (R-ATOM-2).
const maxTries = 5

// Update makes a change that is a pure function of the ref's tip: if the ref
// moved meanwhile, build is called again with the new tip, at most 5 times in
// all. The tip is "" if the ref does not exist. Ref and Base of the change
// are set here. After the last try the error is a fault of kind Conflict that
// wraps [ErrMoved].
//
// Source: gitstore.md R-ATOM-2.
func (r *Repo) Update(ctx context.Context, ref string, build func(tip Hash) (Change, error)) (Hash, error) {
	var last error
	for range maxTries {
		tip, err := r.Ref(ctx, ref)
		if err != nil {
			return "", err
		}
		c, err := build(tip)
		if err != nil {
			return "", err
		}
		c.Ref, c.Base = ref, tip
		id, err := r.Commit(ctx, c)
		if !errors.Is(err, ErrMoved) {
			return id, err
		}
		last = err
	}
	return "", &fault.Error{Kind: fault.Conflict, Err: last, Msg: "the repository moved while forge worked; run the command again"}
}
