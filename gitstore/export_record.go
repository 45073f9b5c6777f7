package gitstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// exportMark is the file that makes a directory an export of forge: it holds
// the directory's own name.
const exportMark = ".forge-export"

// exportRecord is what <common>/forge/exports/<name>.json says: which process
// works in an export. The process is named by its start too, because ids are
// used again.
type exportRecord struct {
	Path  string `json:"path"`
	PID   int    `json:"pid"`
	Start string `json:"start"`
	Host  string `json:"host"`
	Run   string `json:"run"`
}

// exportsDir is the directory of the records.
func (r *Repo) exportsDir() string { return filepath.Join(r.commonDir, "forge", "exports") }

// writeExportRecord records an export of this process and returns the path of
// the record. It appears whole or not at all.
func (r *Repo) writeExportRecord(name, dir, run string) (string, error) {
	if err := r.makeForgeDir("exports"); err != nil {
		return "", err
	}
	pid := os.Getpid()
	start, _ := processStart(pid)
	text, err := json.Marshal(exportRecord{Path: dir, PID: pid, Start: start, Host: hostName(), Run: run})
	if err != nil {
		return "", fmt.Errorf("record an export: %w", err)
	}
	record := filepath.Join(r.exportsDir(), name+".json")
	if err := r.env.Crash.WriteFile("export record", record+".new", append(text, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("record an export: %w", err)
	}
	if err := os.Rename(record+".new", record); err != nil {
		return "", fmt.Errorf("record an export: %w", errors.Join(err, os.Remove(record+".new")))
	}
	r.env.Crash.Pass("export record named")
	return record, nil
}

// SweepExports removes the exports whose process is dead on this host, and
// their records. It touches only directories that carry forge's mark, and
// follows no link. Exports of living processes and of other hosts stay.
//
// Source: gitstore.md R-EXP-4, R-EXP-5.
func (r *Repo) SweepExports(ctx context.Context) error {
	records := r.exportsDir()
	entries, err := os.ReadDir(records)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the records of exports: %w", err)
	}
	var failed []error
	for _, entry := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		record := filepath.Join(records, entry.Name())
		switch filepath.Ext(entry.Name()) {
		case ".json":
			if err := r.sweepExport(ctx, record); err != nil {
				failed = append(failed, fmt.Errorf("sweep export %q: %w", entry.Name(), err))
			}
		case ".new": // a process was killed before the record had its name, and the export was made
			if info, err := entry.Info(); err == nil && (time.Since(info.ModTime()) > time.Hour || isOfTheDead(record)) {
				failed = append(failed, ignoreAbsent(os.Remove(record)))
			}
		}
	}
	return errors.Join(failed...)
}

// isOfTheDead says whether a record is whole and of a process of this host
// that is dead.
func isOfTheDead(record string) bool {
	text, err := os.ReadFile(record)
	var x exportRecord
	return err == nil && json.Unmarshal(text, &x) == nil && x.Host == hostName() && !isRunning(x.PID, x.Start)
}

// sweepExport removes one export and its record, if its process is dead.
func (r *Repo) sweepExport(ctx context.Context, record string) error {
	text, err := os.ReadFile(record)
	if err != nil {
		return ignoreAbsent(err) // another forge was faster
	}
	name := strings.TrimSuffix(filepath.Base(record), ".json")
	var x exportRecord
	valid := json.Unmarshal(text, &x) == nil && filepath.IsAbs(x.Path) &&
		filepath.Base(x.Path) == name && strings.HasPrefix(name, exportPrefix)
	if valid {
		if x.Host != hostName() || isRunning(x.PID, x.Start) {
			return nil
		}
		if err := r.dropWorktrees(ctx, x.Path); err != nil {
			return err
		}
		if err := sweepDir(x.Path, name); err != nil {
			return err
		}
	}
	return ignoreAbsent(os.Remove(record))
}

// sweepDir removes the directory of an export if it is one: a real directory
// with forge's mark. A process that was killed while it set the mark left one
// with nothing in it, or with nothing but a mark that says nothing.
func sweepDir(dir, name string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return ignoreAbsent(err)
	}
	mark := filepath.Join(dir, exportMark)
	if info, err := os.Lstat(mark); err == nil && info.Mode().IsRegular() {
		text, err := os.ReadFile(mark)
		switch {
		case err != nil:
			return err
		case strings.TrimSpace(string(text)) == name:
			return removeExport(dir)
		case len(text) == 0:
			_ = os.Remove(mark) // the directory stays below if more is in it
		}
	}
	_ = os.Remove(dir) // fails, and rightly, if anything is in it
	return nil
}

// ignoreAbsent returns err unless it says that a file does not exist.
func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
