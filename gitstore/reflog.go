package gitstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// keepsReflog reports whether git would keep a reflog of this ref: a branch,
// unless core.logAllRefUpdates says no, which is also its value in a bare
// repository that does not set it (R-REF-6).
func (r *Repo) keepsReflog(ref string) bool {
	if !strings.HasPrefix(ref, branchPrefix) {
		return false
	}
	value, set := r.config.get("core.logallrefupdates")
	if !set {
		return !r.bare
	}
	return configTrue(value) || lowerASCII(value) == "always"
}

// appendReflog adds the line of a swap to the ref's reflog. takeBack undoes
// that while the ref is still locked: a swap that fails leaves no byte behind.
func (r *Repo) appendReflog(s swap) (takeBack func(), err error) {
	if !r.keepsReflog(s.ref) {
		return func() {}, nil
	}
	path := filepath.Join(r.commonDir, "logs", filepath.FromSlash(s.ref))
	made, err := makeDirs(filepath.Dir(path))
	if err != nil {
		removeMade(made)
		return nil, fmt.Errorf("write reflog of %q: %w", s.ref, err)
	}
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		removeEmptyDirs(path)
	}
	isNew := err != nil || info.IsDir()
	takeBack = func() {
		if isNew {
			_ = os.Remove(path)
			removeMade(made)
			return
		}
		_ = os.Truncate(path, info.Size())
	}
	r.env.Crash.Pass("before reflog line")
	if err := r.appendLine(path, reflogLine(s)); err != nil {
		takeBack()
		return nil, fmt.Errorf("write reflog of %q: %w", s.ref, err)
	}
	r.env.Crash.Pass("after reflog line")
	return takeBack, nil
}

// appendLine adds a line to a file of git's, which is made if it is not there.
func (r *Repo) appendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = io.WriteString(r.env.Crash.Writer(file), line)
	return errors.Join(err, file.Close())
}

func reflogLine(s swap) string {
	old := s.old
	if old == "" {
		old = zeroHash
	}
	return fmt.Sprintf("%s %s %s\tforge: %s\n", old, s.new, s.who.ident(), oneLine(s.subject))
}
