package attack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"forge/gitstore"
	"forge/gitstore/skill"
	"forge/loop"
)

// What the private copy has beside the user's files. A repository with files
// of these names has them replaced, in the copy.
const (
	addedDir    = "forge-attack"         // a directory that can be a target
	addedFiles  = 10                     // in it
	withRegions = "forge-attack.md"      // in a skill: a line, and both protected regions
	plainFile   = "forge-attack-more.md" // in a skill: text without a region
	newFile     = "forge-attack-new"     // the name of what a mutant adds
	anchor      = "The line above what a person wrote.\n"
	kept        = "<!-- " + skill.Keep + "_START -->\nwhat a person wrote\n<!-- " + skill.Keep + "_END -->\n"
	appendix    = "<!-- " + skill.Appendix + "_START -->\n<!-- " + skill.Appendix + "_END -->\n"
)

// stage is where mutants are played: a scratch repository that reads the
// user's objects, with the private copy as a commit.
type stage struct {
	suite  Suite
	mode   string
	target *loop.Rehearsal // the user's configuration on the private copy

	place   *gitstore.Export // outer directory: whatever is made lies in it
	engine  *loop.Engine
	base    gitstore.Hash // the private copy
	closers []func() error
}

// open makes the private copy. The caller closes the stage.
func (s Suite) open(ctx context.Context) (_ *stage, err error) {
	st := &stage{suite: s}
	// An export, because the record of one tells the next forge what a killed
	// one left.
	if st.place, err = s.Repo.NewExport(ctx, gitstore.ExportPlan{Run: "attack"}); err != nil {
		return nil, err
	}
	st.closers = append(st.closers, st.place.Remove)
	if err := st.fill(ctx); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

// fill makes the scratch repository and rehearses the configuration in it.
func (st *stage) fill(ctx context.Context) error {
	repo, err := st.scratch(ctx)
	if err != nil {
		return fmt.Errorf("make a scratch repository: %w", err)
	}
	engine, closer := st.suite.Engine(repo)
	st.engine = engine
	st.closers = append(st.closers, closer)
	asIs, err := engine.Rehearse(ctx, st.suite.Setup, st.suite.Commit)
	if err != nil {
		return err
	}
	st.mode = asIs.Config().Mode
	st.base, err = repo.Store(ctx, gitstore.Change{
		From: st.suite.Commit, Parents: []gitstore.Hash{st.suite.Commit}, Edits: st.additions(asIs), Subject: "what the mutants need",
	})
	if err != nil {
		return fmt.Errorf("make the private copy: %w", err)
	}
	st.target, err = st.rehearse(ctx, st.suite.Setup)
	return err
}

// additions are what mutants need and a target may lack.
func (st *stage) additions(r *loop.Rehearsal) (list []gitstore.Edit) {
	if st.mode == loop.ModeSkill {
		return []gitstore.Edit{
			gitstore.Put(r.Below(withRegions), []byte(anchor+kept+"\n"+appendix)),
			gitstore.Put(r.Below(plainFile), []byte("Text that may be changed.\n")),
		}
	}
	for i := range addedFiles {
		list = append(list, gitstore.Put(addedDir+"/"+strconv.Itoa(i), fmt.Appendf(nil, "value %d\n", i)))
	}
	return list
}

// rehearse prepares a configuration on the private copy, until the stage is
// closed.
func (st *stage) rehearse(ctx context.Context, setup loop.Setup) (*loop.Rehearsal, error) {
	setup.Frozen.Guards.MaxScopeFiles += addedFiles
	r, err := st.engine.Rehearse(ctx, setup, st.base)
	if err != nil {
		return nil, err
	}
	r.Rules().Off = st.suite.off
	st.closers = append(st.closers, r.Close)
	return r, nil
}

// scratch makes a bare repository that borrows the user's objects. Nobody's
// name stands in its commits, and its exports lie in the stage's own place.
func (st *stage) scratch(ctx context.Context) (*gitstore.Repo, error) {
	dir := filepath.Join(st.place.Tmp, "scratch.git")
	objects := filepath.Join(st.suite.Repo.CommonDir(), "objects")
	borrowed, err := alternates(objects)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"objects/info", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o700); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{
		"HEAD":                    "ref: refs/heads/main\n",
		"config":                  "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[commit]\n\tgpgsign = false\n",
		"objects/info/alternates": borrowed,
	} {
		if err := st.suite.Repo.Crash().WriteFile("scratch", filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	env := st.suite.Repo.Env()
	env.Vars = maps.Clone(env.Vars)
	maps.DeleteFunc(env.Vars, func(name, _ string) bool { return strings.HasPrefix(name, "GIT_") })
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		env.Vars["GIT_"+role+"_NAME"], env.Vars["GIT_"+role+"_EMAIL"] = "forge attack", "attack@example.com"
	}
	env.Vars["TMPDIR"] = st.place.Tmp
	return gitstore.Open(ctx, dir, env)
}

// alternates is the list of object directories a borrower of one reads: it and
// those it borrows from itself.
func alternates(objects string) (string, error) {
	list := objects + "\n"
	data, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, filepath.FromSlash(line))
		}
		list += line + "\n"
	}
	return list, err
}

// close removes what the stage made, the last first.
func (st *stage) close() error {
	var failed []error
	for i := len(st.closers) - 1; i >= 0; i-- {
		failed = append(failed, st.closers[i]())
	}
	st.closers = nil
	return errors.Join(failed...)
}
