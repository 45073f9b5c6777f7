package gitstore

import (
	"context"
	"strings"

	"forge/gitstore/fault"
)

const branchPrefix = "refs/heads/"

// validRefName reports whether name passes git's rules for a full ref name
// (R-REF-1).
func validRefName(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// isForgeRef reports whether a ref lies where forge keeps its own (R-REF-1).
func isForgeRef(name string) bool {
	return strings.HasPrefix(name, "refs/heads/forge/") || strings.HasPrefix(name, "refs/forge/")
}

// checkWritable refuses a ref forge does not write: anything but its own
// namespaces, whose names are lower case, and branches that no work tree has
// checked out (R-REF-1, R-LAND-3).
func (r *Repo) checkWritable(ctx context.Context, name string) error {
	if !validRefName(name) {
		return fault.New(fault.Usage, "", "%q is not a valid ref name", name)
	}
	branch := strings.HasPrefix(name, branchPrefix)
	switch {
	case isForgeRef(name) && name != lowerASCII(name):
		return fault.New(fault.Usage, "", "ref name %q is not lower case", name)
	case !isForgeRef(name) && !branch:
		return fault.New(fault.Refused, "", "forge does not write the ref %q", name)
	case !branch:
		return nil
	}
	return r.CheckNotCheckedOut(ctx, name)
}

// runOfRef returns the run a ref belongs to, or "" (R-RUN-1, R-RUN-2):
// refs/heads/forge/<target>/<run> and refs/forge/runs/<run>/....
func runOfRef(name string) string {
	if rest, ok := strings.CutPrefix(name, "refs/forge/runs/"); ok {
		run, _, _ := strings.Cut(rest, "/")
		return run
	}
	if rest, ok := strings.CutPrefix(name, "refs/heads/forge/"); ok {
		if _, run, ok := strings.Cut(rest, "/"); ok && !strings.Contains(run, "/") {
			return run
		}
	}
	return ""
}
