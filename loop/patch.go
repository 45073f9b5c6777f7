package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"forge/gitstore"
	"forge/gitstore/textdiff"
	"forge/loop/handoff"
	"forge/loop/journal"
)

// resolve turns a proposal into edits of the tip's tree. What cannot be
// applied is a *handoff.SkipError with reason patch_unusable (R-SUB-4); what
// should not be applied is for the guards to say.
func (s *Session) resolve(ctx context.Context, p handoff.Proposal) ([]gitstore.Edit, error) {
	if len(p.Patch) == 0 {
		return p.Edits, nil
	}
	if len(p.Patch) > handoff.MaxPatchBytes {
		return nil, unusable("the patch has %d bytes of at most %d", len(p.Patch), handoff.MaxPatchBytes)
	}
	patch, err := textdiff.Parse(p.Patch)
	if err != nil {
		return nil, unusable("%v", err)
	}
	if n := len(patch.Files); n > handoff.MaxPatchFiles {
		return nil, unusable("the patch touches %d files of at most %d", n, handoff.MaxPatchFiles)
	}
	place := s.patchRoot(patch)
	var edits []gitstore.Edit
	for _, f := range patch.Files {
		more, err := s.applyFile(ctx, f, place)
		if err != nil {
			return nil, err
		}
		edits = append(edits, more...)
	}
	return edits, nil
}

func unusable(format string, args ...any) error {
	return &handoff.SkipError{Reason: "patch_unusable", Detail: fmt.Sprintf(format, args...)}
}

// patchRoot says where a patch's paths begin: at the target's directory, or at
// the repository's root if every path names that directory (R-SUB-2). The text
// of a path is joined and never cleaned, so that a climbing one stays visible
// to the guard.
func (s *Session) patchRoot(patch textdiff.Patch) func(string) string {
	if s.target.dir == "." {
		return func(p string) string { return p }
	}
	for _, f := range patch.Files {
		for _, p := range []string{f.OldPath, f.NewPath} {
			if p != "" && !strings.HasPrefix(p, s.target.dir+"/") {
				return func(p string) string {
					if strings.HasPrefix(p, "/") {
						return p
					}
					return s.target.dir + "/" + p
				}
			}
		}
	}
	return func(p string) string { return p }
}

// applyFile is one file of a patch as edits: strict first, then once with
// white space tolerated; a rename is a delete and an add.
func (s *Session) applyFile(ctx context.Context, f textdiff.FilePatch, place func(string) string) ([]gitstore.Edit, error) {
	name := f.NewPath
	if f.Deleted {
		name = f.OldPath
	}
	file := place(name)
	if gitstore.CheckPath(file) != nil {
		return []gitstore.Edit{gitstore.Put(file, nil)}, nil // the guard "path" refuses it with its sentence
	}
	if f.Binary {
		return nil, unusable("%q is a binary change", name)
	}
	var before []byte
	if !f.New {
		old := place(f.OldPath)
		data, err := s.engine.Repo.ReadFile(ctx, s.tip, old)
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil, unusable("%q is not in the target", f.OldPath)
		}
		if err != nil {
			return nil, err
		}
		before = data
	}
	after, err := f.Apply(before, textdiff.Strict)
	if err != nil {
		if after, err = f.Apply(before, textdiff.Whitespace); err != nil {
			return nil, unusable("%q: %v", name, err)
		}
	}
	if f.Deleted {
		return []gitstore.Edit{gitstore.Remove(file)}, nil
	}
	if len(after) > handoff.MaxFileBytes {
		return nil, unusable("%q would have %d bytes of at most %d", name, len(after), handoff.MaxFileBytes)
	}
	if !f.Rename || f.OldPath == f.NewPath {
		return []gitstore.Edit{putMode(file, after, f.NewMode)}, nil
	}
	mode := f.NewMode
	if mode == "" { // a renamed file keeps its mode
		old, err := s.engine.Repo.Lookup(ctx, s.tip, place(f.OldPath))
		if err != nil {
			return nil, err
		}
		mode = old.Mode.String()
	}
	return []gitstore.Edit{putMode(file, after, mode), gitstore.Remove(place(f.OldPath))}, nil
}

func putMode(file string, data []byte, mode string) gitstore.Edit {
	switch mode {
	case "100755":
		return gitstore.PutMode(file, data, gitstore.ModeExec)
	case "120000":
		return gitstore.PutMode(file, data, gitstore.ModeLink)
	case "100644":
		return gitstore.PutMode(file, data, gitstore.ModeFile)
	}
	return gitstore.Put(file, data)
}

// linesShown is how many changed lines a history line spells out (R-HIST-1).
const linesShown = 8

// changesOf summarises a change: old and new word of each changed line where
// that is at most eight lines, else the counts of each file, eight at most.
func changesOf(files []textdiff.File) []journal.Change {
	lines := []journal.Change{}
	for _, f := range files {
		pairs, ok := changedLines(f)
		if lines = append(lines, pairs...); !ok || len(lines) > linesShown {
			return countsOf(files)
		}
	}
	return lines
}

func countsOf(files []textdiff.File) []journal.Change {
	var counts []journal.Change
	for _, f := range files[:min(len(files), linesShown)] {
		added, removed := textdiff.Stat([]textdiff.File{f})
		counts = append(counts, journal.Change{Path: f.Path, Added: added, Removed: removed})
	}
	return counts
}

// changedLines pairs the lines that differ in a file whose number of lines is
// the same; ok is false where they cannot be paired.
func changedLines(f textdiff.File) (pairs []journal.Change, ok bool) {
	if f.Before == nil || f.After == nil || f.Before.Mode != f.After.Mode {
		return nil, false
	}
	before, after := bytes.Split(f.Before.Data, []byte("\n")), bytes.Split(f.After.Data, []byte("\n"))
	if len(before) != len(after) || bytes.IndexByte(f.After.Data, 0) >= 0 {
		return nil, false
	}
	for i := range before {
		if bytes.Equal(before[i], after[i]) {
			continue
		}
		if len(pairs) == linesShown {
			return nil, false
		}
		from, to := changedWords(string(before[i]), string(after[i]))
		pairs = append(pairs, journal.Change{Path: f.Path, Line: i + 1, From: journal.Shorten(from), To: journal.Shorten(to)})
	}
	return pairs, true
}

// changedWords is the part of two lines that differs, widened to whole words
// and numbers: "10" and "13" of "speed=10" and "speed=13".
func changedWords(a, b string) (from, to string) {
	word := func(c byte) bool {
		return c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	}
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	for start > 0 && word(a[start-1]) {
		start--
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for end > 0 && word(a[len(a)-end]) {
		end--
	}
	return a[start : len(a)-end], b[start : len(b)-end]
}
