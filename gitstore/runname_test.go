package gitstore

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
)

func TestCheckRunName(t *testing.T) { // R-RUN-1, R-REF-1
	for name, ok := range map[string]bool{
		"r1-k3fq": true, "a": true, "0": true, "nightly.2": true, "a_b-c": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "R1": false, "-a": false, ".a": false, "_a": false, "a b": false, "a/b": false, "é": false, "a\n": false,
		"manual": false, "manual2": true, "x-land": false, "land": true, "x-landed": true,
		"a..b": false, "a.": false, "a.lock": false, "a.lock.b": true,
	} {
		err := CheckRunName(name)
		if (err == nil) != ok || err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("CheckRunName(%q) = %v, want ok %t", name, err, ok)
		}
	}
}

func TestRunSuffix(t *testing.T) { // R-RUN-1: the vectors are base32 of sha256sum, lower case
	// printf '%s\n%s\n' 0123456789012345678901234567890123456789 1700000000000000042 | sha256sum | xxd -r -p | base32 | cut -c1-4
	got := runSuffix("0123456789012345678901234567890123456789", 1700000000000000042)
	if want := "2du3"; got != want {
		t.Errorf("runSuffix = %q, want %q", got, want)
	}
}

func TestNewRunName(t *testing.T) { // R-RUN-1; pitfall 38
	y := newYard(t)
	base := y.commit("one")
	r := y.open()
	form := regexp.MustCompile(`^r(\d+)-[a-z2-7]{4}$`)
	steps := []struct{ ref, want string }{
		{"", "1"},
		{"refs/heads/forge/pdf/r1-aaaa", "2"},
		{"refs/heads/forge/other/r2", "3"},              // of another target, without a suffix
		{"refs/forge/runs/r4-bbbb/tip", "3"},            // the smallest number, not the next
		{"refs/forge-remote/origin/runs/r3-x/tip", "5"}, // fetched
		{"refs/forge-remote/a/b/runs/r5-x/exp-001", "6"},
		{"refs/heads/forge/r6-x", "6"},           // no run: there is no target
		{"refs/heads/forge/pdf/r66-x", "6"},      // another number
		{"refs/heads/forge/pdf/r6x", "6"},        // neither r6 nor r6-...
		{"refs/heads/r6-x", "6"},                 // the person's
		{"refs/forge/activity", "6"},             //
		{"refs/heads/forge/pdf/r6-a-b", "7"},     //
		{"refs/heads/forge/pdf/nightly", "7"},    //
		{"refs/forge/runs/r7-cccc/exp-001", "8"}, // a candidate whose branch is gone
	}
	for _, step := range steps {
		if step.ref != "" {
			y.git("update-ref", step.ref, string(base))
		}
		name, err := r.NewRunName(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		if m := form.FindStringSubmatch(name); m == nil || m[1] != step.want {
			t.Errorf("after %q: NewRunName = %q, want r%s-xxxx", step.ref, name, step.want)
		}
		if err := CheckRunName(name); err != nil {
			t.Error(err)
		}
	}
	names, err := r.RunNames(t.Context())
	if err != nil || !names["nightly"] || !names["r7-cccc"] || names["r8"] {
		t.Errorf("RunNames() = %v, %v", names, err)
	}
}

func TestTwoClonesStartTwoNames(t *testing.T) { // pitfall 38
	y := newYard(t)
	base := y.commit("one")
	r := y.open()
	first, err := r.NewRunName(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	r.env.Now = func() time.Time { return time.Unix(1700000000, 43) }
	second, err := r.NewRunName(t.Context(), base)
	if err != nil || first == second {
		t.Errorf("names %q and %q, %v, want two", first, second, err)
	}
}
