//go:build unix && !linux

package process

// members returns 1 if anything of the group is left and 0 otherwise: counting
// needs /proc.
func members(group int) int {
	if groupExists(group) {
		return 1
	}
	return 0
}
