package gitstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"forge/gitstore/fault"
)

// exportPrefix begins the name of every export's directory.
const exportPrefix = "forge-x-"

// ExportPlan says what an export is for.
type ExportPlan struct {
	// Run goes into the record only; no path of the export names it.
	Run string

	// Keep matches untracked paths, relative to the tree, that stay between
	// two calls of Set: build caches.
	Keep []Glob

	// SkillLayout says that skill directories are what is used of the
	// export, each on its own: a link that leads out of the skill it is in is
	// left out, wherever it leads.
	SkillLayout bool

	// Below is the directory that is exported with what is in it; "" and "."
	// are the whole tree.
	Below string
}

// covers reports whether a path is one of those the plan exports.
func (p ExportPlan) covers(path string) bool {
	return p.Below == "" || p.Below == "." || strings.HasPrefix(path, p.Below+"/")
}

// Export is a private copy of a commit's files, outside the repository, for
// children to work in, with a home and a temporary directory beside it. The
// three live until [Export.Remove]; nothing in their names tells one side of
// a measurement from the other. It is for one goroutine at a time, and Set is
// for a moment when no child works in it.
//
// Source: gitstore.md section 9; handoff.md R-SEAM-3, R-SEAM-4.
type Export struct {
	Tree string // the files of the commit
	Home string // HOME of the children
	Tmp  string // TMPDIR of the children

	repo   *Repo
	plan   ExportPlan
	dir    string      // holds the three and the mark
	info   fs.FileInfo // of dir, as it was made
	record string      // path of the record

	tree    Hash                  // what all describes; "" is the empty tree
	all     map[string]Entry      // every entry of the commit's tree
	links   map[Hash]string       // targets of its symbolic links
	skills  map[string]bool       // its directories with a SKILL.md
	skipped map[string]bool       // what Skipped returns
	want    map[string]Entry      // the entries that are exported
	onDisk  map[string]*diskFile  // what Set wrote of them
	dirs    map[string]*exportDir // their directories, "." too
	levels  [][]string            // the same by depth; nil when they changed
	former  []string              // files to go: the former tree had them
	stale   bool                  // want does not describe tree: the last load failed

	horizon int64  // the file system's time when the last Set ended
	pass    uint64 // number of the Set under way
}

// NewExport makes an export with an empty tree, in a new directory of mode
// 0700 below TMPDIR of the Env, or below the system's temporary directory. The
// record of it, by which a later forge finds what a killed one left, is
// written first. A temporary directory inside the repository is refused with a
// fault of kind Usage: a git that runs there would find the repository.
//
// Source: gitstore.md R-EXP-1, R-EXP-4, R-EXP-7.
func (r *Repo) NewExport(ctx context.Context, plan ExportPlan) (*Export, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	parent, err := r.exportParent()
	if err != nil {
		return nil, err
	}
	name := exportPrefix + strings.ToLower(rand.Text()[:16])
	dir := filepath.Join(parent, name)
	e := newBook(r, plan)
	e.dir, e.Tree, e.Home, e.Tmp = dir, filepath.Join(dir, "tree"), filepath.Join(dir, "home"), filepath.Join(dir, "tmp")
	if e.record, err = r.writeExportRecord(name, dir, plan.Run); err != nil {
		return nil, err
	}
	if err := e.makeDirs(name); err != nil {
		return nil, errors.Join(fmt.Errorf("make an export: %w", err), e.Remove())
	}
	return e, nil
}

// newBook is an export's bookkeeping without a place on disk: enough to say
// what a commit's export holds.
func newBook(r *Repo, plan ExportPlan) *Export {
	return &Export{
		repo: r, plan: plan,
		all: map[string]Entry{}, links: map[Hash]string{}, skills: map[string]bool{}, skipped: map[string]bool{},
		want: map[string]Entry{}, onDisk: map[string]*diskFile{}, dirs: map[string]*exportDir{".": newExportDir()},
	}
}

// makeDirs makes the export's directories and marks the outer one as forge's.
func (e *Export) makeDirs(name string) error {
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(e.dir)
	if err != nil {
		return err
	}
	e.info = info
	if err := e.repo.env.Crash.WriteFile("export mark", filepath.Join(e.dir, exportMark), []byte(name+"\n"), 0o600); err != nil {
		return err
	}
	for _, dir := range []string{e.Tree, e.Home, e.Tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// exportParent returns the temporary directory, symbolic links resolved.
func (r *Repo) exportParent() (string, error) {
	named := r.env.Vars["TMPDIR"]
	if named == "" {
		named = "/tmp" // os.TempDir reads TMPDIR of the process, which may not be Env's
		if runtime.GOOS == "windows" {
			named = os.TempDir()
		}
	}
	hint := "set TMPDIR to a directory outside the repository"
	if !filepath.IsAbs(named) {
		return "", fault.New(fault.Usage, hint, "the temporary directory %q is not an absolute path", named)
	}
	parent, err := filepath.EvalSymlinks(named)
	if err != nil {
		return "", fault.New(fault.Usage, hint, "the temporary directory cannot be used: %w", err)
	}
	for _, own := range []string{r.workTree, r.gitDir, r.commonDir} {
		if own == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(own)
		if err != nil {
			return "", fmt.Errorf("find the repository on disk: %w", err)
		}
		if rel, err := filepath.Rel(real, parent); err == nil && filepath.IsLocal(rel) {
			return "", fault.New(fault.Usage, hint, "the temporary directory %q lies inside the repository", named)
		}
	}
	return parent, nil
}

// Parent returns the directory the export's own directory lies in, links
// resolved: the value children get in GIT_CEILING_DIRECTORIES
// (gitstore.md R-EXP-4).
func (e *Export) Parent() string { return filepath.Dir(e.dir) }

// Skipped returns, sorted, the paths the last Set left out: links that lead
// out of the export or to something that is never exported, gitlinks, and
// names that are unsafe in a file system. What R-EXP-1 leaves out by rule is
// not among them.
func (e *Export) Skipped() []string { return slices.Sorted(maps.Keys(e.skipped)) }

// Warnings returns one sentence for each exported file that is not what it
// stands for: a pointer of git LFS, whose content git's filters would have
// fetched, or a file with a filter attribute (gitstore.md section 2).
func (e *Export) Warnings() []string {
	var warnings []string
	filters, err := e.filters(context.Background())
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("which files are behind a git filter is not known: %v", err))
	}
	for p, file := range e.onDisk {
		switch {
		case file.pointer:
			warnings = append(warnings, fmt.Sprintf("%q is behind a git filter; the stored bytes, a pointer of git LFS, are exported", p))
		case file.entry.Mode.isFile() && err == nil && filters.filter(p) != "":
			warnings = append(warnings, fmt.Sprintf("%q is behind a git filter; the stored bytes are exported", p))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// filters reads the attributes of the commit's tree.
func (e *Export) filters(ctx context.Context) (*attributes, error) {
	filters, err := e.repo.newAttributes(ctx)
	if err != nil {
		return nil, err
	}
	files := []string{attributesFile} // the root's first: it may define macros
	for p := range e.all {
		if path.Base(p) == attributesFile && p != attributesFile {
			files = append(files, p)
		}
	}
	for _, p := range files {
		entry := e.all[p]
		if !entry.Mode.isFile() {
			continue
		}
		data, err := e.repo.Blob(ctx, entry.Object)
		if err != nil {
			return nil, err
		}
		filters.add(strings.TrimSuffix(strings.TrimSuffix(p, attributesFile), "/"), data)
	}
	return filters, nil
}

// Remove removes the export and its record. It does nothing a second time. A
// directory of that name which is not the one that was made stays, and is an
// error (gitstore.md R-EXP-5).
func (e *Export) Remove() error {
	info, err := os.Lstat(e.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("remove an export: %w", err)
	case e.info == nil:
		// Removed before, or the name was taken when it was to be made.
	case !info.IsDir() || !os.SameFile(info, e.info):
		return fmt.Errorf("remove an export: %q is not the directory forge made", e.dir)
	default:
		e.repo.env.Crash.Pass("before removal of export")
		if err := removeExport(e.dir); err != nil {
			return fmt.Errorf("remove an export: %w", err)
		}
		e.info = nil
		e.repo.env.Crash.Pass("after removal of export")
	}
	if err := os.Remove(e.record); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of an export: %w", err)
	}
	return nil
}

// Fresh makes an empty directory of that name beside the tree, in place of what
// was there, and returns its path: a place for one child that starts anew. name
// is none of tree, home and tmp.
func (e *Export) Fresh(name string) (string, error) {
	dir := filepath.Join(e.dir, name)
	if err := removeTree(dir); ignoreAbsent(err) != nil {
		return "", fmt.Errorf("clear the directory %q of an export: %w", name, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory %q of an export: %w", name, err)
	}
	return dir, nil
}

// removeExport removes the directory of an export, its mark after all else: by
// that the next sweep knows it when this removal is cut short.
func removeExport(dir string) error {
	entries, _ := os.ReadDir(dir) // what cannot be read is for removeTree
	for _, entry := range entries {
		if entry.Name() == exportMark {
			continue
		}
		if os.RemoveAll(filepath.Join(dir, entry.Name())) != nil {
			break // and this too
		}
	}
	return removeTree(dir)
}

// removeTree removes a directory and everything in it, whatever its modes
// are. Links are removed, never followed.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// A directory without write or search permission keeps its entries.
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return root.Chmod(filepath.FromSlash(path), 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}
