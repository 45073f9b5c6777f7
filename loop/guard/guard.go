// Package guard refuses candidates that cheat. [Check] reads the pure preview
// of a change, before anything of it is an object; [After] is asked once a
// program ran. What `forge loop` checks by hand in a directory is in [Tree].
//
// The order is that of handoff.md section 9; the first guard that refuses
// names the violation. A guard that asks for legitimate work to be redone is
// as wrong as one that lets a cheat through: new files inside the scope, edits
// of any text in it and, within a skill's token budget, growth are free.
//
// Source: seed 001, "The loop cannot cheat"; DECISIONS G2, G4, G7, G8;
// loop.md section 11; handoff.md R-PROP-3.
package guard

import (
	"cmp"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/scan"
	"forge/gitstore/skill"
	"forge/loop/verdict"
)

// Violation is why a candidate is not measured.
type Violation struct {
	Guard    string           // a name of handoff.md section 9
	Decision verdict.Decision // INVALID, or NO_OP
	Message  string           // one sentence, lower case, no full stop
	Paths    []string         // the offending paths, sorted; at most maxPaths
	Withhold bool             // the change holds a secret: nothing of it may become an object or be recorded (G7)
}

// maxPaths bounds what a violation lists (loop.md section 11).
const maxPaths = 20

// Sizes are the files of a scope by path from the repository's root.
type Sizes map[string]FileSize

// FileSize is how large a file is.
type FileSize struct {
	Bytes int64
	Chars int // code points; 0 if it is not UTF-8
}

// SizeOf measures a file.
func SizeOf(data []byte) FileSize {
	size, _ := skill.Measure(data)
	return FileSize{Bytes: int64(len(data)), Chars: size.Chars}
}

// Rules are what a run's candidates are held to; frozen at its start.
type Rules struct {
	Target        gitstore.Glob
	Reserved      []gitstore.Glob // files of the target that no candidate may change: evals, PURPOSE.md, knowledge
	Protected     []gitstore.Glob
	MinScopeRatio *big.Rat // 0 to 1
	Start         Sizes    // the scope when the run began

	Skill         string // directory of the skill: its regions and its budget are guarded; "" in generic mode
	TokenBudget   int    // tokens; frozen when the run began; 0 for none
	CharsPerToken int    // 1 or more
	Leaks         evals.Windows
	IndexChars    int // code points of knowledge/INDEX.md, which counts and is no candidate's

	// Off names one guard that [Check] leaves out, so that a test of the
	// mutants sees what gets through without it. Nothing a run is configured
	// with reaches it (handoff.md R-ATT-2).
	Off string
}

// Candidate is one change, previewed.
type Candidate struct {
	Preview gitstore.Preview
	TipTree gitstore.Hash // tree of the run tip it was built on
	Tip     Sizes         // the scope at that tip
	Stood   []string      // windows of Rules.Leaks that the scope holds at that tip, in byte order
	SeenIn  string        // the earlier experiment with the same outcome on the same state, or ""
}

// Path is the violation for edits that git or another system could not hold;
// refused is the sentence of the layer that said so (gitstore.md R-TREE-3).
func Path(refused error) *Violation {
	return &Violation{Guard: "path", Decision: verdict.Invalid, Message: refused.Error()}
}

// Check returns the first violation in the order of the guards, or nil.
func Check(c Candidate, r Rules) *Violation {
	for _, guard := range []func(Candidate, Rules) *Violation{
		link, reserved, scope, protected, regions, noOp, duplicate, budget, leak, secret, scopeRatio, byteRatio, keptRatio,
	} {
		if v := guard(c, r); v != nil && v.Guard != r.Off {
			v.Withhold = secret(c, r) != nil
			return v
		}
	}
	return nil
}

// After is the violation of a program that changed protected files while it
// was measured: altered are their paths, sorted (A22; loop.md R-INV-7).
func After(altered []string, r Rules) *Violation {
	if r.Off == "invariants_after" {
		return nil
	}
	return invalid("invariants_after", "%s is protected and was changed while the metric ran", altered[:min(len(altered), maxPaths)])
}

// offending collects the changed paths that bad names.
func offending(c Candidate, bad func(gitstore.FileChange) bool) []string {
	var paths []string
	for _, f := range c.Preview.Files {
		if bad(f) && len(paths) < maxPaths {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func invalid(name, format string, paths []string) *Violation {
	if len(paths) == 0 {
		return nil
	}
	return &Violation{Guard: name, Decision: verdict.Invalid, Message: fmt.Sprintf(format, first(paths)), Paths: paths}
}

// first names the first of some paths and says how many more there are.
func first(paths []string) string {
	if len(paths) == 1 {
		return fmt.Sprintf("%q", paths[0])
	}
	return fmt.Sprintf("%q and %d more", paths[0], len(paths)-1)
}

// link refuses writing through, replacing or retargeting a link, and any new
// link that leaves the repository or is absolute (A02).
func link(c Candidate, _ Rules) *Violation {
	return invalid("link", "%s is a symbolic link or becomes one that leaves the scope; forge never writes through links", offending(c, func(f gitstore.FileChange) bool {
		if f.Before != nil && special(f.Before.Mode) && f.After != nil {
			return true
		}
		return f.After != nil && special(f.After.Mode) && (f.After.Mode == gitstore.ModeGitlink || leaves(f.Path, string(f.After.Data)))
	}))
}

func special(m gitstore.Mode) bool { return m == gitstore.ModeLink || m == gitstore.ModeGitlink }

// leaves says whether a link at file with that target text points outside the
// directory that holds it, or out of it through a parent.
func leaves(file, target string) bool {
	if path.IsAbs(target) || strings.Contains(target, "\\") {
		return true
	}
	clean := path.Clean(target)
	return clean == ".." || strings.HasPrefix(clean, "../") || path.Dir(file) == "." && clean == ".git"
}

// reserved refuses forge's own files, whatever the scope says (A03), and what
// measures a skill (A04).
func reserved(c Candidate, r Rules) *Violation {
	return invalid("reserved", "%s belongs to forge; no candidate may change it", offending(c, func(f gitstore.FileChange) bool {
		top, _, _ := strings.Cut(f.Path, "/")
		return strings.EqualFold(top, ".forge") || matchesAny(r.Reserved, f.Path)
	}))
}

// scope refuses what lies outside the target (A05).
func scope(c Candidate, r Rules) *Violation {
	return invalid("scope", "%s lies outside the target", offending(c, func(f gitstore.FileChange) bool { return !r.Target.Match(f.Path) }))
}

// protected refuses a change, an addition and a change of mode under a
// protected path, also where it lies inside the scope (A06 to A08).
func protected(c Candidate, r Rules) *Violation {
	return invalid("protected", "%s is protected", offending(c, func(f gitstore.FileChange) bool { return r.IsProtected(f.Path) }))
}

// IsProtected says whether a path is protected.
func (r Rules) IsProtected(file string) bool { return matchesAny(r.Protected, file) }

func matchesAny(globs []gitstore.Glob, file string) bool {
	return slices.ContainsFunc(globs, func(g gitstore.Glob) bool { return g.Match(file) })
}

// regions refuses a change to a protected region of any file: its bytes, its
// number, its order and its place in the text around it (G1; A09 to A11).
func regions(c Candidate, r Rules) *Violation {
	if r.Skill == "" {
		return nil
	}
	return invalid("regions", "%s has protected regions that must stay as they are", offending(c, func(f gitstore.FileChange) bool {
		return !skill.VerifyRegions(text(f.Before), text(f.After)).OK
	}))
}

// text is the content of a regular file; a missing one and a link have none.
func text(f *gitstore.File) []byte {
	if f == nil || special(f.Mode) {
		return nil
	}
	return f.Data
}

// noOp finds the same tree (G2, A12): every byte, mode and line ending counts.
func noOp(c Candidate, _ Rules) *Violation {
	if c.Preview.Tree != c.TipTree {
		return nil
	}
	return &Violation{Guard: "no_op", Decision: verdict.NoOp, Message: "the change leaves the tree as it is"}
}

// duplicate refuses what was tried on this very state before (A13).
func duplicate(c Candidate, _ Rules) *Violation {
	if c.SeenIn == "" {
		return nil
	}
	return &Violation{Guard: "duplicate", Decision: verdict.Invalid, Message: "the same result on the same state was tried in " + c.SeenIn}
}

// budget refuses a change that does not make a skill smaller while it is over
// its token budget (A14). The change that crosses the line is measured: what
// follows must shrink (roles.md R-MUT-3).
func budget(c Candidate, r Rules) *Violation {
	if r.Skill == "" || r.TokenBudget == 0 || r.Tokens(c.Tip) <= r.TokenBudget {
		return nil
	}
	was, is := r.chars(c.Tip), r.chars(after(c, r))
	if is < was {
		return nil
	}
	return &Violation{
		Guard: "budget", Decision: verdict.Invalid,
		Message: fmt.Sprintf("%d tokens are over the budget of %d, and the change does not make the skill smaller", is/r.CharsPerToken, r.TokenBudget),
	}
}

// leak refuses a change that copies words of an eval of val or test into the
// skill (A15). Words that stood there before are no leak. The message names no
// word and no eval: the proposer reads it.
func leak(c Candidate, r Rules) *Violation {
	var paths []string
	for _, f := range c.Preview.Files {
		copied := slices.ContainsFunc(r.Leaks.In(text(f.After)), func(window string) bool {
			_, stood := slices.BinarySearch(c.Stood, window)
			return !stood
		})
		if copied && len(paths) < maxPaths {
			paths = append(paths, f.Path)
		}
	}
	return invalid("leak", "%s holds words of an eval that decides and is not shown", paths)
}

// secret refuses a change that brings in a value shaped like a secret, in a
// file or in its name (A16). A value that stood in one of the changed files may
// stay and move.
func secret(c Candidate, _ Rules) *Violation {
	var before strings.Builder
	for _, f := range c.Preview.Files {
		if f.Before != nil {
			fmt.Fprintf(&before, "%s\n%s\n", f.Path, f.Before.Data)
		}
	}
	named := ""
	paths := offending(c, func(f gitstore.FileChange) bool {
		if f.After == nil {
			return false
		}
		kind := scan.Planted(f.Path+"\n"+string(f.After.Data), before.String())
		named = cmp.Or(named, kind)
		return kind != ""
	})
	return invalid("secret", "%s holds a value shaped like a secret ("+named+"); nothing of the change is kept", paths)
}

// Tokens estimates the tokens of a skill's files that an agent may load
// (loop.md R-BUDGET-1, R-BUDGET-3).
func (r Rules) Tokens(files Sizes) int { return r.chars(files) / r.CharsPerToken }

func (r Rules) chars(files Sizes) int {
	sum := r.IndexChars
	for file, size := range files {
		if Budgeted(strings.TrimPrefix(file, r.Skill+"/")) {
			sum += size.Chars
		}
	}
	return sum
}

// after is the scope as the candidate leaves it.
func after(c Candidate, r Rules) Sizes {
	now := make(Sizes, len(c.Tip))
	for file, size := range c.Tip {
		now[file] = size
	}
	for _, f := range c.Preview.Files {
		if !r.Target.Match(f.Path) {
			continue
		}
		if f.After == nil {
			delete(now, f.Path)
		} else {
			now[f.Path] = SizeOf(f.After.Data)
		}
	}
	return now
}

// scopeRatio refuses a scope that shrank by files (A17; R-INV-5).
func scopeRatio(c Candidate, r Rules) *Violation {
	return ratio("scope_ratio", "files", int64(len(after(c, r))), int64(len(r.Start)), r.MinScopeRatio)
}

// byteRatio refuses a scope that was hollowed out (A18).
func byteRatio(c Candidate, r Rules) *Violation {
	return ratio("byte_ratio", "bytes", after(c, r).total(), r.Start.total(), r.MinScopeRatio)
}

// keptRatio refuses a scope whose files were swapped for others (A19).
func keptRatio(c Candidate, r Rules) *Violation {
	now, kept := after(c, r), int64(0)
	for file := range r.Start {
		if _, there := now[file]; there {
			kept++
		}
	}
	return ratio("kept_ratio", "of the files of the start", kept, int64(len(r.Start)), r.MinScopeRatio)
}

func (s Sizes) total() (sum int64) {
	for _, size := range s {
		sum += size.Bytes
	}
	return sum
}

// ratio compares exactly: 9 of 10 at 0.9 is enough (R-INV-5).
func ratio(name, what string, now, before int64, least *big.Rat) *Violation {
	if before == 0 || big.NewRat(now, before).Cmp(least) >= 0 {
		return nil
	}
	return &Violation{
		Guard: name, Decision: verdict.Invalid,
		Message: fmt.Sprintf("%d %s are left of %d; at least %s of them must stay", now, what, before, verdict.Shortest(least)),
	}
}
