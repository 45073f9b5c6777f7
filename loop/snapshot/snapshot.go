// Package snapshot keeps states of the working tree for people who drive the
// loop by hand: takes them, compares them with what is there now, and brings
// them back.
//
// A snapshot is a commit with no parent whose tree holds the files of its
// scope and nothing else, so "the same state" is "the same tree id"; the scope
// stands in its message. HEAD, index and stash are never touched. Inside `forge
// run` none of this happens to a person's files.
//
// Source: loop.md section 8.
package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// ManualRun is the run of snapshots that are not of any run.
const ManualRun = "manual"

// Document is what taking a snapshot says.
type Document struct {
	Version    string             `json:"version"`
	Run        string             `json:"run"`
	Ref        string             `json:"ref"`
	Commit     gitstore.Hash      `json:"commit"`
	Tree       gitstore.Hash      `json:"tree"`
	Target     string             `json:"target"`
	Kind       gitstore.ScopeKind `json:"kind"`
	Base       string             `json:"base"`
	Files      []string           `json:"files"`
	FileCount  int                `json:"file_count"`
	TotalBytes int64              `json:"total_bytes"`
	Skipped    []string           `json:"skipped"`
	Created    bool               `json:"created"` // false: the version was there, with this tree
}

// Take stores the files of a scope under a version. A version that is there
// with the same tree is left; with another one it is a fault of kind Usage,
// and the old one stays.
//
// Source: loop.md R-SNAP-1, R-SNAP-2, R-SNAP-6.
func Take(ctx context.Context, repo *gitstore.Repo, run, version string, scope gitstore.Scope) (Document, error) {
	ref, err := refOf(run, version)
	if err != nil {
		return Document{}, err
	}
	there, err := repo.Ref(ctx, ref)
	if err != nil {
		return Document{}, err
	}
	look := repo.StoreScope
	if there != "" {
		look = repo.ReadScope
	}
	found, err := look(ctx, scope, there)
	if err != nil {
		return Document{}, err
	}
	d := Document{
		Version: version, Run: run, Ref: ref, Commit: there, Tree: found.Tree, Target: scope.Target, Kind: scope.Kind, Base: scope.Base,
		Files: []string{}, FileCount: len(found.Files), TotalBytes: found.Bytes, Skipped: append([]string{}, found.Skipped...), Created: there == "",
	}
	for _, file := range found.Files {
		d.Files = append(d.Files, file.Path)
	}
	if there != "" {
		return d, checkSame(ctx, repo, there, found.Tree, version)
	}
	d.Commit, err = repo.Commit(ctx, commitOf(d, scope, found))
	if errors.Is(err, gitstore.ErrMoved) {
		return Document{}, fault.New(fault.Conflict, "run the command again", "version %q of run %q was just taken by another process", version, run)
	}
	return d, err
}

// commitOf is the commit of a snapshot.
func commitOf(d Document, scope gitstore.Scope, found gitstore.ScopeFiles) gitstore.Change {
	line, err := json.Marshal(scope)
	if err != nil {
		panic("a scope is texts and always has a JSON form: " + err.Error())
	}
	return gitstore.Change{
		Ref: d.Ref, Parents: []gitstore.Hash{}, Edits: found.Edits(), Subject: "snapshot " + d.Version, Body: string(line),
		Trailers: []gitstore.Trailer{{Key: "Forge-Run", Value: d.Run}, {Key: "Forge-Action", Value: "snapshot"}},
	}
}

func checkSame(ctx context.Context, repo *gitstore.Repo, there, tree gitstore.Hash, version string) error {
	old, err := repo.TreeOf(ctx, there)
	if err == nil && old != tree {
		err = fault.New(fault.Usage, "give this state a version of its own", "version %q holds another state, and a snapshot is never overwritten", version)
	}
	return err
}

var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`) })

var reservedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(exp-[0-9]+|tip|landing)$`) })

// refOf is the ref of a version. Capitals are refused, as in every ref of
// forge: on some systems two names that differ by case are one file
// (gitstore.md R-REF-1).
func refOf(run, version string) (string, error) {
	if run != ManualRun {
		if err := gitstore.CheckRunName(run); err != nil {
			return "", err
		}
	}
	refuse := func(why string) (string, error) {
		return "", fault.New(fault.Usage, "a lower-case letter or digit, then at most 99 of a-z 0-9 . _ -; pre-exp-001 is the custom", "version %q %s", version, why)
	}
	switch {
	case !versionForm().MatchString(version):
		return refuse("is malformed")
	case strings.Contains(version, ".."), strings.HasSuffix(version, "."), strings.HasSuffix(version, ".lock"):
		return refuse("is none git allows in a ref")
	case reservedForm().MatchString(version):
		return refuse("is reserved for what a run writes itself")
	}
	return "refs/forge/runs/" + run + "/" + version, nil
}

// Stored is a snapshot that was taken.
type Stored struct {
	repo    *gitstore.Repo
	version string
	commit  gitstore.Hash
	scope   gitstore.Scope
}

// Find finds a snapshot and reads its scope. An unknown version is a fault of
// kind Usage.
func Find(ctx context.Context, repo *gitstore.Repo, run, version string) (Stored, error) {
	ref, err := refOf(run, version)
	if err != nil {
		return Stored{}, err
	}
	id, err := repo.Ref(ctx, ref)
	if err != nil {
		return Stored{}, err
	}
	if id == "" {
		return Stored{}, fault.New(fault.Usage, "git for-each-ref refs/forge/runs/"+run+" lists them", "run %q has no version %q", run, version)
	}
	info, err := repo.ReadCommit(ctx, id)
	if err != nil {
		return Stored{}, fmt.Errorf("read version %q: %w", version, err)
	}
	s := Stored{repo: repo, version: version, commit: id}
	if err := json.Unmarshal([]byte(info.Body), &s.scope); err != nil || info.Trailer("Forge-Action") != "snapshot" {
		return Stored{}, fault.New(fault.Usage, "git show "+ref, "%q is no snapshot of forge", ref)
	}
	return s, nil
}
