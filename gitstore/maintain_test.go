package gitstore

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// looseYard is a repository with more loose objects than its gc.auto allows.
func looseYard(t *testing.T) *yard {
	t.Helper()
	y := newYard(t)
	y.git("config", "gc.auto", "100")
	for i := range 1000 {
		y.write(fmt.Sprintf("f%d", i), fmt.Sprint(i))
	}
	y.commit("many")
	return y
}

func (y *yard) packs() int {
	found, err := filepath.Glob(filepath.Join(y.dir, ".git/objects/pack/*.pack"))
	if err != nil {
		y.t.Fatal(err)
	}
	return len(found)
}

func TestMaintain(t *testing.T) { // R-RUN-8; pitfall 25
	y := looseYard(t)
	y.git("update-ref", "refs/forge/runs/r1-abcd/exp-001", string(y.at("HEAD")))
	if err := y.open().Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); y.packs() == 0 || exists(filepath.Join(y.dir, ".git/gc.pid")); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was packed within a minute")
		}
	}
	y.at("refs/forge/runs/r1-abcd/exp-001")
}

func TestMaintainStartsNothing(t *testing.T) { // R-RUN-8
	tests := map[string]struct {
		config [][]string
		vars   map[string]string
		can    bool
	}{
		"as it is":        {nil, nil, true},
		"gc.auto 0":       {[][]string{{"gc.auto", "0"}}, nil, false},
		"gc.auto -1":      {[][]string{{"gc.auto", "-1"}}, nil, false},
		"gc.auto 10":      {[][]string{{"gc.auto", "10"}}, nil, true},
		"maintenance off": {[][]string{{"maintenance.auto", "false"}}, nil, false},
		"no git":          {nil, map[string]string{"PATH": "/nonexistent"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			for _, c := range tt.config {
				y.git("config", c[0], c[1])
			}
			r := y.openWith(y.dir, tt.vars)
			can, err := r.canMaintain(t.Context())
			if err != nil || can != tt.can {
				t.Errorf("canMaintain = %t, %v, want %t", can, err, tt.can)
			}
			if err := r.Maintain(t.Context()); err != nil {
				t.Errorf("Maintain = %v", err)
			}
			hint, err := r.MaintenanceHint(t.Context())
			if err != nil || hint != "" {
				t.Errorf("MaintenanceHint = %q, %v, want none for a small repository", hint, err)
			}
			for i := range 27 {
				putFile(t, filepath.Join(y.dir, ".git/objects/17", fmt.Sprintf("%038x", i)), "")
			}
			if hint, err = r.MaintenanceHint(t.Context()); err != nil || strings.HasPrefix(hint, "git gc") == tt.can {
				t.Errorf("MaintenanceHint = %q, %v, want one: %t", hint, err, !tt.can)
			}
		})
	}
}
