package guard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// InvariantsSchema names the document that `invariants-snapshot` writes.
const InvariantsSchema = "forge.invariants/1"

// Invariants are what must hold around an experiment: the bytes of protected
// files, the size of the scope, and how the metric is taken.
//
// Source: loop.md R-INV-1 to R-INV-4; DECISIONS G4.
type Invariants struct {
	Schema    string          `json:"schema"`
	Scope     InvariantScope  `json:"scope"`
	Protected []string        `json:"protected"` // as given
	Files     []ProtectedFile `json:"files"`     // by path
	Metric    MetricPin       `json:"metric"`
	MetricSHA string          `json:"metric_sha256"`
	Warnings  []string        `json:"warnings"`
}

// InvariantScope is the size of what may change.
type InvariantScope struct {
	Target string   `json:"target"`
	Files  []string `json:"files"` // by path
	Bytes  int64    `json:"bytes"`
}

// ProtectedFile is one file that must stay as it is. The hash of a symbolic
// link is that of its target text.
type ProtectedFile struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"` // file, executable or link
	SHA256 string `json:"sha256"`
}

// MetricPin is how the metric is taken, pinned while experiments run (R-INV-4).
type MetricPin struct {
	Command          string `json:"command"`
	Name             string `json:"name"`
	Direction        string `json:"direction"`
	TimeoutSeconds   int    `json:"timeout_seconds"`
	OutputLimit      int64  `json:"output_limit"` // bytes
	InvariantCommand string `json:"invariant_command"`
}

func (p MetricPin) hash() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %d %d %q", p.Command, p.Name, p.Direction, p.TimeoutSeconds, p.OutputLimit, p.InvariantCommand)
	return hex.EncodeToString(sum.Sum(nil))
}

// Warnings of a snapshot, as codes.
const (
	WarnNothingProtected   = "nothing_protected"
	WarnNoInvariantCommand = "no_invariant_command"
)

// TakeInvariants records the present state of a tree. A protected path or a
// scope that yields nothing, and a scope of more than maxFiles files, is a
// fault of kind Usage; an existing empty directory is a scope.
func TakeInvariants(t Tree, scope string, protected []string, metric MetricPin, maxFiles int) (Invariants, error) {
	v := Invariants{
		Schema: InvariantsSchema, Protected: append([]string{}, protected...), Metric: metric, MetricSHA: metric.hash(), Warnings: []string{},
	}
	var err error
	if v.Scope, err = t.scope(scope, maxFiles); err != nil {
		return Invariants{}, err
	}
	if v.Files, err = t.protect(protected, false); err != nil {
		return Invariants{}, err
	}
	if len(protected) == 0 {
		v.Warnings = append(v.Warnings, WarnNothingProtected)
	}
	if metric.InvariantCommand == "" {
		v.Warnings = append(v.Warnings, WarnNoInvariantCommand)
	}
	return v, nil
}

// ReadInvariants decodes what [TakeInvariants] gave. Anything else is a fault
// of kind Usage.
func ReadInvariants(data []byte) (Invariants, error) {
	var v Invariants
	if err := json.Unmarshal(data, &v); err != nil {
		return Invariants{}, fault.New(fault.Usage, "forge loop invariants-snapshot --out FILE writes one", "read the invariants: %w", err)
	}
	if v.Schema != InvariantsSchema {
		return Invariants{}, fault.New(fault.Usage, "forge loop invariants-snapshot --out FILE writes one", "read the invariants: the schema is %q, want %q", v.Schema, InvariantsSchema)
	}
	return v, nil
}

// scope measures the files of a scope: regular files, forge's own left out.
func (t Tree) scope(target string, maxFiles int) (InvariantScope, error) {
	files, exists, err := t.Expand(target)
	if err != nil {
		return InvariantScope{}, err
	}
	s := InvariantScope{Target: target, Files: []string{}}
	for _, file := range files {
		info, err := os.Lstat(t.onDisk(file))
		if err != nil {
			return InvariantScope{}, fmt.Errorf("look at %q: %w", file, err)
		}
		if info.Mode().IsRegular() && file != ".forge" && !strings.HasPrefix(file, ".forge/") {
			s.Files = append(s.Files, file)
			s.Bytes += info.Size()
		}
	}
	slices.Sort(s.Files)
	switch {
	case !exists:
		return InvariantScope{}, fault.New(fault.Usage, "", "there is no scope %q", target)
	case len(s.Files) > maxFiles:
		return InvariantScope{}, fault.New(fault.Usage, "narrow the scope, or raise [run] max_scope_files", "the scope %q has %d files of at most %d", target, len(s.Files), maxFiles)
	case len(s.Files) == 0 && !t.isDir(target):
		return InvariantScope{}, fault.New(fault.Usage, "", "the scope %q matches no file", target)
	}
	return s, nil
}

func (t Tree) isDir(name string) bool {
	info, err := os.Lstat(t.onDisk(name))
	return err == nil && info.IsDir()
}

// protect hashes every file under the protected paths. With gone, a path that
// yields nothing is no fault: the files that stood there have vanished.
func (t Tree) protect(names []string, gone bool) ([]ProtectedFile, error) {
	var all []string
	for _, name := range names {
		files, _, err := t.Expand(name)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 && !gone {
			return nil, fault.New(fault.Usage, "name a file, a directory with files in it, or a glob", "the protected path %q matches nothing", name)
		}
		all = append(all, files...)
	}
	slices.Sort(all)
	return t.hashAll(slices.Compact(all))
}

// hashAll hashes files side by side: there may be thousands (R-INV-7).
func (t Tree) hashAll(files []string) ([]ProtectedFile, error) {
	list, failed := make([]ProtectedFile, len(files)), make([]error, len(files))
	var group sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(files))
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(files); i += workers {
				list[i], failed[i] = t.hash(files[i])
			}
		})
	}
	group.Wait()
	for i, err := range failed {
		if err != nil {
			return nil, fmt.Errorf("read the protected file %q: %w", files[i], err)
		}
	}
	return list, nil
}

func (t Tree) hash(file string) (ProtectedFile, error) {
	p := ProtectedFile{Path: file, Kind: "file"}
	info, err := os.Lstat(t.onDisk(file))
	if err != nil {
		return p, err
	}
	var content []byte
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		p.Kind = "link"
		var target string
		target, err = os.Readlink(t.onDisk(file))
		content = []byte(target)
	case !mode.IsRegular():
		return p, fault.New(fault.Usage, "protect files and directories", "it is neither a file nor a link")
	default:
		if mode&0o111 != 0 {
			p.Kind = "executable"
		}
		content, err = os.ReadFile(t.onDisk(file))
	}
	sum := sha256.Sum256(content)
	p.SHA256 = hex.EncodeToString(sum[:])
	return p, err
}

// InvariantsCheck is the document of `invariants-check`. Ratios have four
// digits; they are compared exactly.
type InvariantsCheck struct {
	OK                  bool        `json:"ok"`
	Decision            *string     `json:"decision"` // null or INVALID
	ViolatedPaths       []string    `json:"violated_paths"`
	VanishedPaths       []string    `json:"vanished_paths"`
	AppearedPaths       []string    `json:"appeared_paths"`
	MetricConfigChanged bool        `json:"metric_config_changed"`
	ScopeBefore         int         `json:"scope_before"`
	ScopeAfter          int         `json:"scope_after"`
	ScopeRatio          json.Number `json:"scope_ratio"`
	ByteRatio           json.Number `json:"byte_ratio"`
	KeptRatio           json.Number `json:"kept_ratio"`
	MissingMeasured     []string    `json:"missing_measured"` // relative to the scope, at most 20
	MinScopeRatio       json.Number `json:"min_scope_ratio"`
	CommandRan          bool        `json:"invariant_command_ran"`
	ExitCode            *int        `json:"invariant_exit_code"`
	Reasons             []string    `json:"reasons"`
}

// CheckInvariants compares a tree and how its metric is taken now with what
// was recorded. run runs the invariant command and gives its exit code, -1 for
// one that was killed; it is nil for none, and is called only if everything
// but the ratios is clean (R-INV-6).
//
// Source: loop.md R-INV-5, R-INV-6.
func CheckInvariants(before Invariants, t Tree, metric MetricPin, least *big.Rat, run func() (int, error)) (InvariantsCheck, error) {
	c := InvariantsCheck{
		ViolatedPaths: []string{}, VanishedPaths: []string{}, AppearedPaths: []string{}, MissingMeasured: []string{}, Reasons: []string{},
		MetricConfigChanged: metric.hash() != before.MetricSHA, MinScopeRatio: verdict.Number(least),
	}
	now, err := t.protect(before.Protected, true)
	if err != nil {
		return c, err
	}
	c.compare(before.Files, now)
	ratiosHold, err := c.measure(before.Scope, t, least)
	if err != nil {
		return c, err
	}
	clean := len(c.Reasons) == 0
	if clean && run != nil {
		code, err := run()
		if err != nil {
			return c, err
		}
		c.CommandRan, c.ExitCode = true, &code
		if code != 0 {
			c.Reasons = append(c.Reasons, fmt.Sprintf("the invariant command exited %d", code))
		}
	}
	c.Reasons = append(c.Reasons, ratiosHold...)
	if c.OK = len(c.Reasons) == 0; !c.OK {
		invalid := string(verdict.Invalid)
		c.Decision = &invalid
	}
	return c, nil
}

// compare sorts the protected files into changed, gone and new ones.
func (c *InvariantsCheck) compare(before, now []ProtectedFile) {
	byPath := func(f ProtectedFile, path string) int { return cmp.Compare(f.Path, path) }
	for _, f := range before {
		i, there := slices.BinarySearchFunc(now, f.Path, byPath)
		switch {
		case !there:
			c.VanishedPaths = append(c.VanishedPaths, f.Path)
		case now[i] != f:
			c.ViolatedPaths = append(c.ViolatedPaths, f.Path)
		}
	}
	for _, f := range now {
		if _, known := slices.BinarySearchFunc(before, f.Path, byPath); !known {
			c.AppearedPaths = append(c.AppearedPaths, f.Path)
		}
	}
	for _, bad := range []struct {
		paths []string
		what  string
	}{{c.ViolatedPaths, "changed"}, {c.VanishedPaths, "gone"}, {c.AppearedPaths, "new"}} {
		if len(bad.paths) > 0 {
			c.Reasons = append(c.Reasons, "protected and "+bad.what+": "+first(bad.paths))
		}
	}
	if c.MetricConfigChanged {
		c.Reasons = append(c.Reasons, "the metric's configuration changed")
	}
}

// measure sets the scope's three ratios and says which of them are too small.
func (c *InvariantsCheck) measure(before InvariantScope, t Tree, least *big.Rat) (reasons []string, err error) {
	var now InvariantScope
	files, _, err := t.Expand(before.Target)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		if now, err = t.scope(before.Target, len(files)); err != nil {
			return nil, err
		}
	}
	kept := 0
	for _, file := range before.Files {
		if _, there := slices.BinarySearch(now.Files, file); there {
			kept++
		} else if len(c.MissingMeasured) < maxPaths {
			c.MissingMeasured = append(c.MissingMeasured, strings.TrimPrefix(file, before.Target+"/"))
		}
	}
	c.ScopeBefore, c.ScopeAfter = len(before.Files), len(now.Files)
	for _, r := range []struct {
		into        *json.Number
		name, what  string
		now, before int64
	}{
		{&c.ScopeRatio, "scope_ratio", "files", int64(len(now.Files)), int64(len(before.Files))},
		{&c.ByteRatio, "byte_ratio", "bytes", now.Bytes, before.Bytes},
		{&c.KeptRatio, "kept_ratio", "of the files of the start", int64(kept), int64(len(before.Files))},
	} {
		*r.into = "1"
		if r.before > 0 {
			*r.into = verdict.Rounded(big.NewRat(r.now, r.before), 4)
		}
		if v := ratio(r.name, r.what, r.now, r.before, least); v != nil {
			reasons = append(reasons, v.Guard+": "+v.Message)
		}
	}
	return reasons, nil
}
