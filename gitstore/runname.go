package gitstore

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"forge/gitstore/fault"
)

// runNameForm is the form of a run's name (gitstore.md R-RUN-1).
var runNameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
})

// CheckRunName refuses, as a fault of kind Usage, what cannot name a run: the
// form is [a-z0-9][a-z0-9._-]{0,63}, "manual" is the plumbing's own, a name
// that ends in "-land" is the branch of a pull request, and git's rules for
// refs hold. Whether the name is in use is [Repo.RunNames]'s answer.
//
// Source: gitstore.md R-RUN-1, R-REF-1.
func CheckRunName(name string) error {
	refuse := func(why string) error {
		return fault.New(fault.Usage, "a lower-case letter or digit, then at most 63 of a-z 0-9 . _ -", "run name %q %s", name, why)
	}
	switch {
	case !runNameForm().MatchString(name):
		return refuse("is malformed")
	case name == "manual":
		return refuse("is reserved for commands that work without a run")
	case strings.HasSuffix(name, "-land"):
		return refuse(`ends in "-land", which names the branch of a pull request`)
	case strings.Contains(name, ".."), strings.HasSuffix(name, "."), strings.HasSuffix(name, ".lock"):
		return refuse("is none git allows in a ref")
	}
	return nil
}

// RunNames returns the names of all runs this repository knows, its own and
// fetched ones, whatever their target.
func (r *Repo) RunNames(ctx context.Context) (map[string]bool, error) {
	names := map[string]bool{}
	for _, place := range []struct {
		prefix string
		run    func(rest string) (string, bool)
	}{
		{"refs/heads/forge/", func(rest string) (string, bool) { // TARGET/RUN
			_, run, ok := strings.Cut(rest, "/")
			return run, ok
		}},
		{"refs/forge/runs/", func(rest string) (string, bool) { return rest, true }}, // RUN/...
		{"refs/forge-remote/", func(rest string) (string, bool) { // REMOTE/runs/RUN/...
			_, run, ok := strings.Cut(rest, "/runs/")
			return run, ok
		}},
	} {
		refs, err := r.Refs(ctx, place.prefix)
		if err != nil {
			return nil, fmt.Errorf("list the names of runs: %w", err)
		}
		for _, ref := range refs {
			if run, ok := place.run(strings.TrimPrefix(ref.Name, place.prefix)); ok {
				run, _, _ = strings.Cut(run, "/")
				names[run] = true
			}
		}
	}
	return names, nil
}

// NewRunName returns the default name of a run that starts on the base commit
// now: r<n>-<xxxx>, where n is the smallest number from 1 that no known run
// has and xxxx comes from base and clock, so that two clones that start their
// first run do not give it one name. The name is not reserved: creating the
// run branch is what decides.
//
// Source: gitstore.md R-RUN-1.
func (r *Repo) NewRunName(ctx context.Context, base Hash) (string, error) {
	now := r.env.Now
	if now == nil {
		return "", errors.New("name a run: no clock")
	}
	names, err := r.RunNames(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("r%d-%s", freeRunNumber(names), runSuffix(base, now().UnixNano())), nil
}

// freeRunNumber returns the smallest n from 1 for which there is no run r<n>
// or r<n>-...
func freeRunNumber(names map[string]bool) int {
	taken := map[string]bool{}
	for name := range names {
		number, _, _ := strings.Cut(name, "-")
		taken[number] = true
	}
	n := 1
	for taken["r"+strconv.Itoa(n)] {
		n++
	}
	return n
}

// runSuffix returns the four characters after the number.
func runSuffix(base Hash, nanoseconds int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n", base, nanoseconds))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:4])
}
