package skill

import (
	"regexp"
	"sync"
)

// pattern compiles a regular expression when it is first needed: every command
// would pay for it at its start otherwise.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
