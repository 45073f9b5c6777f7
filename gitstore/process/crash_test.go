//go:build unix

package process

import (
	"context"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/crash"
)

// gitstore.md section 15: points lie before and after a child's start and end,
// the supervised child's gate between them.
func TestCrashPoints(t *testing.T) {
	var list strings.Builder
	points, err := crash.New(map[string]string{crash.CrashVariable: "trace"}, &list)
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Argv: []string{"/bin/true"}, Dir: t.TempDir(), Env: []string{"TMPDIR=" + t.TempDir()}, Crash: points}
	names := func() []string {
		var names []string
		for line := range strings.Lines(list.String()) {
			names = append(names, strings.Join(strings.Fields(line)[4:], " "))
		}
		list.Reset()
		return names
	}
	if _, err := Plain(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if got, want := names(), []string{"before child true", "child started true", "child ended true"}; !slices.Equal(got, want) {
		t.Errorf("Plain passes %q, want %q", got, want)
	}
	r := newRunner(t)
	r.Crash, c.Crash = points, nil
	if _, err := r.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if got, want := names(), []string{"before child true", "child at the gate true", "child started true", "child ended true"}; !slices.Equal(got, want) {
		t.Errorf("Run passes %q, want %q", got, want)
	}
}
