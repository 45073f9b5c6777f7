package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	ownPrefix    = "refs/forge/"
	remotePrefix = "refs/forge-remote/"
)

// SharedRef is one of forge's refs, own or fetched.
type SharedRef struct {
	Remote string // "" for an own one
	Name   string // below refs/forge/, such as "runs/r1-k3fq/tip"
	Hash   Hash
}

// SharedRefs returns forge's refs whose name below refs/forge/ starts with
// prefix: the own ones, sorted, and after them what was fetched from each
// remote. Of two with one name the first is meant; activity and decisions are
// a union of all (R-RUN-7; DECISIONS T5).
func (r *Repo) SharedRefs(ctx context.Context, prefix string) ([]SharedRef, error) {
	own, err := r.Refs(ctx, ownPrefix+prefix)
	if err != nil {
		return nil, err
	}
	fetched, err := r.Refs(ctx, remotePrefix)
	if err != nil {
		return nil, err
	}
	var shared []SharedRef
	for _, ref := range own {
		shared = append(shared, SharedRef{"", strings.TrimPrefix(ref.Name, ownPrefix), ref.Hash})
	}
	remotes := r.remotes()
	for _, ref := range fetched {
		remote, name := splitRemote(strings.TrimPrefix(ref.Name, remotePrefix), remotes)
		if name != "" && strings.HasPrefix(name, prefix) {
			shared = append(shared, SharedRef{remote, name, ref.Hash})
		}
	}
	return shared, nil
}

// remotes returns the names of the remotes this repository knows, longest
// first.
func (r *Repo) remotes() []string {
	names := map[string]bool{}
	for _, value := range r.config {
		if rest, ok := strings.CutPrefix(value.name, "remote."); ok {
			if end := strings.LastIndexByte(rest, '.'); end > 0 {
				names[rest[:end]] = true
			}
		}
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// sharedKinds are the first components of forge's refs (gitstore.md R-REF-1).
var sharedKinds = []string{"runs", "curate", "decisions", "activity", "learn", "evidence"}

// splitRemote separates the remote from the name of a fetched ref. A remote's
// name may hold slashes, and the remote may be gone.
func splitRemote(text string, remotes []string) (remote, name string) {
	for _, remote := range remotes {
		if name, ok := strings.CutPrefix(text, remote+"/"); ok {
			return remote, name
		}
	}
	parts := strings.Split(text, "/")
	for i := 1; i < len(parts); i++ {
		if slices.Contains(sharedKinds, parts[i]) {
			return strings.Join(parts[:i], "/"), strings.Join(parts[i:], "/")
		}
	}
	return text, ""
}

// BadRefspec is a fetch refspec that writes into refs/forge/ itself: with
// --prune git then deletes every ref of forge's that the remote lacks.
type BadRefspec struct {
	Remote  string
	Refspec string
	Hint    string // the command that sets it right
}

// Warning is the sentence for a person (gitstore.md section 2).
func (BadRefspec) Warning() string { return "git fetch --prune would delete forge's local refs" }

// BadRefspecs returns the fetch refspecs of all remotes that would put foreign
// refs in the place of forge's own, sorted by remote.
//
// Source: gitstore.md R-RUN-7 and section 2; DECISIONS T5.
func (r *Repo) BadRefspecs(ctx context.Context) ([]BadRefspec, error) {
	values, err := r.fetchRefspecs(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the fetch refspecs: %w", err)
	}
	var bad []BadRefspec
	for _, value := range values {
		remote := strings.TrimSuffix(strings.TrimPrefix(value.name, "remote."), ".fetch")
		source, target, mapped := strings.Cut(strings.TrimPrefix(value.value, "+"), ":")
		if !mapped || strings.HasPrefix(source, "^") || !coversOwn(target) {
			continue
		}
		hint := "git config --get-all " + shellQuote(value.name) + " shows it"
		if strings.HasPrefix(source, ownPrefix) {
			good := "+" + ownPrefix + "*:" + remotePrefix + remote + "/*"
			hint = fmt.Sprintf("git config --replace-all %s '%s' '^\\+?refs/forge/'", shellQuote(value.name), good)
		}
		bad = append(bad, BadRefspec{remote, value.value, hint})
	}
	slices.SortStableFunc(bad, func(a, b BadRefspec) int { return strings.Compare(a.Remote, b.Remote) })
	return bad, nil
}

// coversOwn reports whether the target of a refspec lies in refs/forge/, or is
// a pattern that reaches into it.
func coversOwn(target string) bool {
	before, _, pattern := strings.Cut(target, "*")
	return strings.HasPrefix(before, ownPrefix) || pattern && strings.HasPrefix(ownPrefix, before)
}

// fetchRefspecs returns every remote.*.fetch as git reads it, includes and
// all; without git, of the repository's own file.
func (r *Repo) fetchRefspecs(ctx context.Context) ([]configValue, error) {
	result, err := r.git(ctx, gitCall{Args: []string{"config", "-z", "--includes", "--get-regexp", `^remote\..*\.fetch$`}})
	if errors.Is(err, errNoGit) {
		return slices.DeleteFunc(slices.Clone(r.config), func(v configValue) bool {
			return !strings.HasPrefix(v.name, "remote.") || !strings.HasSuffix(v.name, ".fetch")
		}), nil
	}
	if err != nil {
		return nil, err
	}
	if !result.OK() && result.ExitCode != 1 { // 1: there is none
		return nil, gitFailure("config", result)
	}
	var values []configValue
	for record := range bytes.SplitSeq(result.Stdout, []byte{0}) {
		if name, value, ok := strings.Cut(string(record), "\n"); ok {
			values = append(values, configValue{name: name, value: value})
		}
	}
	return values, nil
}
