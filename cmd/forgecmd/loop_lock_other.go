//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package forgecmd

// lockFolder locks nothing: here a directory cannot be locked. Two commands
// that change one file at the same moment are up to the person.
func lockFolder(string) (release func(), free bool, err error) {
	return func() {}, true, nil
}
