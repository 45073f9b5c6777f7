package gitstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/gitstore/fault"
)

// TrustItem is a committed value that does nothing until a person trusts it:
// it executes, names an endpoint or a key variable, or replaces a prompt
// (R-TRUST-1).
type TrustItem struct {
	Key   string // where it stands, such as "metric.command"
	Kind  string // exec, endpoint, key or prompt
	Value string // canonical text
}

// UntrustedItem is an item that is not trusted.
type UntrustedItem struct {
	TrustItem
	Changed bool // another value of this key was trusted
}

// sum is what the store keeps of an item: SHA-256 over kind, NUL, key, NUL,
// value, in hexadecimal digits (R-TRUST-2).
func (i TrustItem) sum() string {
	sum := sha256.Sum256([]byte(i.Kind + "\x00" + i.Key + "\x00" + i.Value))
	return hex.EncodeToString(sum[:])
}

// trustRecord is one line of the store.
type trustRecord struct {
	Key    string `json:"key"`
	Kind   string `json:"kind"`
	SHA256 string `json:"sha256"`
	At     string `json:"at"` // RFC 3339, UTC
}

// trustWait bounds the wait for forge's lock, as for all short actions.
const trustWait = 5 * time.Second

// Trusted returns the items that are not trusted, in their order; none if the
// variable FORGE_TRUST is [TrustHash] of exactly these items. It only reads.
// If the store cannot be read nothing is trusted and [Repo.Warnings] says so.
//
// Source: gitstore.md R-TRUST-2, R-TRUST-4.
func (r *Repo) Trusted(items []TrustItem) (missing []UntrustedItem, err error) {
	if given := r.env.Vars["FORGE_TRUST"]; given != "" && given == TrustHash(items) {
		return nil, nil
	}
	records, err := r.readTrust()
	if err != nil {
		r.warn(fmt.Sprintf("nothing is trusted: %v", err))
		records = nil
	}
	for _, item := range items {
		i := slices.IndexFunc(records, func(t trustRecord) bool { return t.Key == item.Key })
		if i < 0 || records[i].SHA256 != item.sum() || records[i].Kind != item.Kind {
			missing = append(missing, UntrustedItem{item, i >= 0})
		}
	}
	return missing, nil
}

// Trust remembers these exact values, one per key, under forge's lock unless
// this Repo holds it already. A store that cannot be read is replaced.
//
// Source: gitstore.md R-TRUST-2.
func (r *Repo) Trust(ctx context.Context, items []TrustItem) error {
	r.heldMu.Lock()
	held := r.heldForge
	r.heldMu.Unlock()
	if !held {
		release, err := r.Lock(ctx, "forge trust", trustWait)
		if err != nil {
			return err
		}
		defer release()
	}
	if r.env.Now == nil {
		return errors.New("remember trust: the program's clock is not set")
	}
	at := r.env.Now().UTC().Format(time.RFC3339)
	records, err := r.readTrust()
	if err != nil {
		records = nil
	}
	for _, item := range items {
		records = slices.DeleteFunc(records, func(t trustRecord) bool { return t.Key == item.Key })
		records = append(records, trustRecord{item.Key, item.Kind, item.sum(), at})
	}
	slices.SortStableFunc(records, func(a, b trustRecord) int { return strings.Compare(a.Key, b.Key) })
	return r.writeTrust(records)
}

func (r *Repo) trustPath() string { return filepath.Join(r.commonDir, "forge", "trust") }

// readTrust reads the store; a missing one is empty.
func (r *Repo) readTrust() ([]trustRecord, error) {
	data, err := os.ReadFile(r.trustPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the trust store: %w", err)
	}
	var records []trustRecord
	for line := range bytes.Lines(data) {
		var record trustRecord
		if err := json.Unmarshal(line, &record); err != nil || record.Key == "" || len(record.SHA256) != 2*sha256.Size {
			return nil, fmt.Errorf("the trust store %q is malformed", r.trustPath())
		}
		records = append(records, record)
	}
	return records, nil
}

// writeTrust replaces the store by renaming a whole new file over it.
func (r *Repo) writeTrust(records []trustRecord) error {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, record := range records {
		if err := lines.Encode(record); err != nil {
			return fmt.Errorf("write the trust store: %w", err)
		}
	}
	if err := r.makeForgeDir(""); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(r.trustPath()), "trust-") // mode 0600
	if err != nil {
		return fmt.Errorf("write the trust store: %w", err)
	}
	r.env.Crash.Pass("before trust store")
	_, err = r.env.Crash.Writer(file).Write(b.Bytes())
	if err := errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("write the trust store: %w", err)
	}
	r.env.Crash.Pass("before rename of trust store")
	if err := renameOver(file.Name(), r.trustPath()); err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("write the trust store: %w", err)
	}
	r.env.Crash.Pass("after trust store")
	return nil
}

// TrustHash returns the one value for FORGE_TRUST that trusts exactly these
// items: SHA-256 over the lines "key TAB sha256 LF", sorted by key.
//
// Source: gitstore.md R-TRUST-4.
func TrustHash(items []TrustItem) string {
	lines := make([]string, 0, len(items))
	for _, item := range items {
		lines = append(lines, item.Key+"\t"+item.sum()+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// CheckTrust returns nil if nothing is missing, else the refusal every command
// uses, for the first item that is.
//
// Source: gitstore.md R-TRUST-3.
func CheckTrust(missing []UntrustedItem) error {
	if len(missing) == 0 {
		return nil
	}
	first := missing[0]
	if first.Changed {
		return fault.New(fault.Refused, "forge trust", "%q of this repository has changed since you trusted it", first.Key)
	}
	return fault.New(fault.Refused, "forge trust", "%q of this repository is not trusted yet", first.Key)
}
