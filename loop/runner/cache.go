package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"forge/gitstore/crash"
	"forge/gitstore/evals"
)

// Cache keeps what sides gave, in one folder of a run, so that a state of the
// skill that was measured is not paid for again: where the person asked for a
// cached baseline, and for the failures a brief shows, which must be the same
// however often they are asked for. Only sides with the outcome OK are kept.
//
// Source: statistics.md R-STAT-12; handoff.md R-NEXT-2.
type Cache struct {
	Dir   string
	Crash *crash.Points
}

// State is what a kept side depends on beside its eval.
type State struct {
	Tree  string // of the skill
	Evals string // hash of the whole set
	Spec  Spec
}

// Key names the sides of an eval in a state.
func (s State) Key(eval string, runs int) (string, error) {
	limits, err := json.Marshal(s.Spec)
	if err != nil {
		return "", fmt.Errorf("write the key of a baseline: %w", err)
	}
	key, err := evals.BaselineKey(s.Tree, s.Evals, evals.Runner{
		Kind: s.Spec.Kind, Version: s.Spec.Fingerprint, Model: s.Spec.Model, Limits: string(limits), Sandbox: "none",
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", key, eval, runs))
	return hex.EncodeToString(sum[:]), nil
}

func (c Cache) file(key string) string { return filepath.Join(c.Dir, key+".json") }

// Get returns the side of that key. One that is not there, or is not as it was
// written, is none.
func (c Cache) Get(key string) (Side, bool) {
	data, err := os.ReadFile(c.file(key))
	if err != nil {
		return Side{}, false
	}
	sum, body, _ := bytes.Cut(data, []byte("\n"))
	var s Side
	if got := sha256.Sum256(body); string(sum) != hex.EncodeToString(got[:]) || json.Unmarshal(body, &s) != nil || s.Outcome != OK {
		return Side{}, false
	}
	return s, true
}

// Put keeps a side, in place of one with the same key. It appears whole or not
// at all.
func (c Cache) Put(key string, s Side) error {
	if s.Outcome != OK {
		return nil
	}
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("keep a measurement: %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("keep a measurement: %w", err)
	}
	sum := sha256.Sum256(body)
	data := append([]byte(hex.EncodeToString(sum[:])+"\n"), body...)
	temporary := c.file(key) + ".new"
	err = c.Crash.WriteFile("cache", temporary, data, 0o600)
	if err == nil {
		err = os.Rename(temporary, c.file(key))
	}
	if err != nil {
		if gone := os.Remove(temporary); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return fmt.Errorf("keep a measurement: %w", err)
	}
	return nil
}
