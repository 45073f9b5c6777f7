//go:build unix && !linux

package process

// zombies has no use where orphans go to process 1.
type zombies struct{}

// adoptOrphans has no counterpart: descendants that leave their group are not
// found (gitstore.md R-PROC-2).
func adoptOrphans() {}

// marks is empty: nothing is looked for.
func marks([]string) []string { return nil }

// sweep finds nothing.
func (r *Runner) sweep(int, []string) int { return 0 }
