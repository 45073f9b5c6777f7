package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func TestTrust(t *testing.T) { // R-TRUST-2 to R-TRUST-4
	ctx := context.Background()
	s := newRepository(t)
	r := s.open()
	items := []TrustItem{{"metric.command", "exec", "make test"}, {"models.default.base_url", "endpoint", "https://x"}}
	missing, err := r.Trusted(items)
	if err != nil || len(missing) != 2 || missing[0].Changed {
		t.Fatalf("Trusted() = %v, %v", missing, err)
	}
	err = CheckTrust(missing)
	if err == nil || err.Error() != `"metric.command" of this repository is not trusted yet` || fault.KindOf(err) != fault.Refused || fault.HintOf(err) != "forge trust" {
		t.Errorf("CheckTrust() = %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.CommonDir(), "forge")); err == nil {
		t.Error("Trusted() wrote something")
	}
	if err := r.Trust(ctx, items); err != nil {
		t.Fatal(err)
	}
	if missing, err := s.open().Trusted(items); err != nil || len(missing) != 0 || CheckTrust(missing) != nil {
		t.Errorf("Trusted() = %v, %v", missing, err)
	}
	store := filepath.Join(r.CommonDir(), "forge", "trust")
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("store: %v, %v", info, err)
	}
	data, _ := os.ReadFile(store)
	if want := `{"key":"metric.command","kind":"exec","sha256":"` + items[0].sum() + `","at":"2026-01-02T03:04:05Z"}` + "\n"; !strings.HasPrefix(string(data), want) || strings.Count(string(data), "\n") != 2 {
		t.Errorf("store %q", data)
	}
	changed := slices.Clone(items)
	changed[0].Value = "rm -rf /"
	missing, _ = r.Trusted(changed)
	if len(missing) != 1 || !missing[0].Changed || CheckTrust(missing).Error() != `"metric.command" of this repository has changed since you trusted it` {
		t.Errorf("Trusted() of a changed value = %v", missing)
	}
	release, err := r.Lock(ctx, "test", 0) // trusting under the lock one holds
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Trust(ctx, changed[:1]); err != nil {
		t.Error(err)
	}
	release()
	if missing, _ := r.Trusted(changed); len(missing) != 0 {
		t.Errorf("Trusted() = %v", missing)
	}
	s.vars["FORGE_TRUST"] = TrustHash(items)
	if missing, _ := s.open().Trusted(items); len(missing) != 0 {
		t.Errorf("Trusted() by FORGE_TRUST = %v", missing)
	}
	if missing, _ := s.open().Trusted(items[:1]); len(missing) != 1 {
		t.Errorf("FORGE_TRUST trusts another set: %v", missing)
	}
	delete(s.vars, "FORGE_TRUST")
	os.WriteFile(store, append(data, "{broken\n"...), 0o600)
	r = s.open()
	if missing, err := r.Trusted(items); err != nil || len(missing) != 2 {
		t.Errorf("Trusted() with a malformed store = %v, %v", missing, err)
	}
	if w := r.Warnings(); len(w) != 1 || !strings.Contains(w[0], store) {
		t.Errorf("Warnings() = %q", w)
	}
	if err := r.Trust(ctx, items); err != nil {
		t.Error(err)
	}
}

func TestTrustHash(t *testing.T) {
	a, b := TrustItem{"a", "exec", "1"}, TrustItem{"b", "exec", "2"}
	if TrustHash([]TrustItem{a, b}) != TrustHash([]TrustItem{b, a}) {
		t.Error("the order matters")
	}
	if TrustHash([]TrustItem{a}) == TrustHash([]TrustItem{{"a", "prompt", "1"}}) {
		t.Error("the kind does not matter")
	}
	// printf 'exec\0a\0001' | sha256sum; printf 'a\t%s\n' SUM | sha256sum
	if got := TrustHash([]TrustItem{a}); got != "4537e2b44dffe0e336494fc2e9d3829788141c872f287ab0beedc9533dab0830" {
		t.Errorf("TrustHash() = %s", got)
	}
}
