package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"forge/gitstore/process"
)

// manyLooseObjects is the number of loose objects from which git itself packs.
const manyLooseObjects = 6700

// Maintain starts `git maintenance run --auto --quiet` in the background and
// does not wait for it; its output is discarded. It starts nothing, and that
// is no error, where the person has turned automatic maintenance off (gc.auto
// is 0, or maintenance.auto false) and where git is missing or older than
// 2.29; see [Repo.MaintenanceHint].
//
// Source: gitstore.md R-RUN-8; DECISIONS T6.
func (r *Repo) Maintain(ctx context.Context) error {
	can, err := r.canMaintain(ctx)
	if err != nil || !can {
		return err
	}
	binary, err := r.gitBinary()
	if err != nil {
		return err
	}
	argv := []string{binary, "--git-dir=" + r.gitDir, "maintenance", "run", "--auto", "--quiet"}
	r.env.Crash.Pass("before maintenance")
	if err := process.Detach(argv, r.commonDir, r.gitEnv()); err != nil {
		return fmt.Errorf("start git maintenance: %w", err)
	}
	return nil
}

// MaintenanceHint returns a command that packs the repository if nothing does
// so by itself and it has grown to about 6,700 loose objects, else "".
//
// Source: gitstore.md R-RUN-8.
func (r *Repo) MaintenanceHint(ctx context.Context) (string, error) {
	can, err := r.canMaintain(ctx)
	if err != nil || can {
		return "", err
	}
	loose, err := r.looseObjects()
	if err != nil || loose <= manyLooseObjects {
		return "", err
	}
	return fmt.Sprintf("git gc (this repository holds about %d loose objects)", loose), nil
}

// canMaintain reports whether [Repo.Maintain] starts something.
func (r *Repo) canMaintain(ctx context.Context) (bool, error) {
	major, minor, err := r.gitVersion(ctx)
	if errors.Is(err, errNoGit) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	config, err := r.askConfig(ctx)
	if err != nil {
		return false, err
	}
	if auto, set := config["maintenance.auto"]; set && !configTrue(auto) {
		return false, nil
	}
	if limit, err := strconv.Atoi(config["gc.auto"]); err == nil && limit <= 0 {
		return false, nil
	}
	return major > 2 || major == 2 && minor >= 29, nil
}

// looseObjects estimates the number of loose objects the way git gc does:
// from one of 256 directories.
func (r *Repo) looseObjects() (int, error) {
	entries, err := os.ReadDir(filepath.Join(r.commonDir, "objects", "17"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return len(entries) * 256, err
}
