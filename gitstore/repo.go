package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"forge/gitstore/crash"
	"forge/gitstore/fault"

	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Repo is one repository on disk, as seen from one work tree. It is safe for
// use by several goroutines; opening it twice costs a tenth of a millisecond,
// but its first read of a packed repository decodes the pack's whole index, so
// open once per process (R-VERB-3, R-OPEN-3).
type Repo struct {
	env       Env
	gitDir    string // HEAD, index, merge state of this work tree
	commonDir string // refs, packed-refs, objects, config, forge/
	workTree  string // "" when bare
	bare      bool
	partial   bool       // a partial clone: objects may be missing until asked for
	config    configFile // commonDir/config, then config.worktree where it counts

	tool gitTool

	storeMu sync.Mutex // go-git's storage is not safe for concurrent use
	store   *filesystem.Storage

	looseMu sync.Mutex
	loose   looseWriter

	touched touches

	packedMu sync.Mutex
	packed   packedRefs

	heldMu    sync.Mutex
	heldForge bool            // this Repo holds forge's own lock (R-LOCK-1)
	heldRuns  map[string]bool // the run locks this Repo holds
	lockWait  time.Duration   // for somebody else's lock of a ref: [lockWait], less in tests
	signWait  time.Duration   // for a signature: [gitTimeout], less in tests

	warnMu   sync.Mutex
	warnings []string
}

// Open finds the repository that dir belongs to, as git would with the
// variables of env (R-DISC-1), and opens it. Relative paths in env and the
// walk upwards start at dir; "" is the working directory.
//
// It refuses with a fault what forge cannot read or must not trust: no
// repository, SHA-256 objects, a reftable, an unknown extension or format
// version (Usage), and a repository of another user (Refused). A repository
// without a commit opens; see [Repo.Head].
//
// Source: gitstore.md section 2 and R-OPEN-1.
func Open(ctx context.Context, dir string, env Env) (*Repo, error) {
	place, err := discover(dir, env)
	if err != nil {
		return nil, err
	}
	r := &Repo{env: env, gitDir: place.gitDir, commonDir: place.commonDir, heldRuns: map[string]bool{}, lockWait: lockWait, signWait: gitTimeout}
	if r.config, err = readConfig(filepath.Join(r.commonDir, "config")); err != nil {
		return nil, err
	}
	if err := checkFormat(r.config); err != nil {
		return nil, err
	}
	if err := r.readWorktreeConfig(); err != nil {
		return nil, err
	}
	r.partial = isPartial(r.config)
	if r.workTree, r.bare, err = place.findWorkTree(r.config, env); err != nil {
		return nil, err
	}
	if err := r.checkOwner(ctx); err != nil {
		return nil, err
	}
	r.store = newStorage(r.gitDir, r.commonDir)
	return r, nil
}

// readWorktreeConfig adds the values of this work tree alone, if the
// repository has such a file (extensions.worktreeConfig).
func (r *Repo) readWorktreeConfig() error {
	if value, ok := r.config.get("extensions.worktreeconfig"); !ok || !configTrue(value) {
		return nil
	}
	own, err := readConfig(filepath.Join(r.gitDir, "config.worktree"))
	if err != nil {
		return err
	}
	r.config = append(r.config, own...)
	return nil
}

// GitDir returns the git directory of this work tree: HEAD, index and merge
// state are there (R-DISC-2).
func (r *Repo) GitDir() string { return r.gitDir }

// CommonDir returns the git directory all linked work trees share: refs,
// objects, config and forge's own directory are there (R-DISC-2).
func (r *Repo) CommonDir() string { return r.commonDir }

// WorkTree returns the root of the work tree, or "" for a bare repository.
func (r *Repo) WorkTree() string { return r.workTree }

// Env returns the environment the repository was opened with.
func (r *Repo) Env() Env { return r.env }

// Crash returns the crash points of the Env, for what else the process writes:
// one process has one count. It is nil, but in tests (gitstore.md section 15).
func (r *Repo) Crash() *crash.Points { return r.env.Crash }

// ForgeDir returns forge's own directory, <common>/forge, and makes it with
// mode 0700 if it is not there. If it cannot be made, what is written into it
// next says why. It is per clone and never pushed (R-DISC-5).
func (r *Repo) ForgeDir() string {
	dir := filepath.Join(r.commonDir, "forge")
	_ = r.makeForgeDir("")
	return dir
}

// makeForgeDir makes a directory below forge's own, mode 0700.
func (r *Repo) makeForgeDir(name string) error {
	if err := os.MkdirAll(filepath.Join(r.commonDir, "forge", name), 0o700); err != nil {
		return fmt.Errorf("make forge's directory: %w", err)
	}
	return nil
}

// Warnings returns what a person should know about this repository: refs that
// replace objects, which forge ignores, a network file system, where locks may
// not hold, and a trust store that cannot be read (gitstore.md section 2,
// R-TRUST-2). It reads, so call it once, when output begins.
func (r *Repo) Warnings() []string {
	var found []string
	if refs, err := r.Refs(context.Background(), "refs/replace/"); err == nil && len(refs) > 0 {
		found = append(found, "forge ignores the replacements under refs/replace/, while git log honours them")
	}
	if onNetwork(r.commonDir) {
		found = append(found, fmt.Sprintf("%q is on a network file system, where locks may not hold", r.commonDir))
	}
	r.warnMu.Lock()
	defer r.warnMu.Unlock()
	return append(found, r.warnings...)
}

// warn keeps a warning for [Repo.Warnings], once.
func (r *Repo) warn(text string) {
	r.warnMu.Lock()
	defer r.warnMu.Unlock()
	for _, have := range r.warnings {
		if have == text {
			return
		}
	}
	r.warnings = append(r.warnings, text)
}

// checkOwner refuses a repository of another user, unless git's
// safe.directory names it (R-DISC-3).
func (r *Repo) checkOwner(ctx context.Context) error {
	if ownedByUser(r.gitDir, r.env.Vars["SUDO_UID"]) {
		return nil
	}
	shown := r.gitDir
	if r.workTree != "" {
		shown = r.workTree
	}
	// Asked from the root of the file system: the repository's own
	// configuration must have no say in this.
	result, err := r.git(ctx, gitCall{
		Args: []string{"config", "--type=path", "-z", "--get-all", "safe.directory"},
		Bare: true, Dir: filepath.VolumeName(r.gitDir) + string(filepath.Separator),
	})
	if err == nil && result.OK() && isSafe(string(result.Stdout), r.workTree, r.gitDir) {
		return nil
	}
	return fault.New(fault.Refused, "git config --global --add safe.directory "+shown,
		"the repository at %q belongs to another user", shown)
}
