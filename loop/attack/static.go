package attack

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"forge/gitstore"
	"forge/loop"
	"forge/loop/handoff"
	"forge/loop/verdict"
)

// static are the mutants that are changes, in the order of handoff.md
// section 9.
func static() []Mutant {
	return []Mutant{
		{"A01", "climbing-path", "", "path", "a diff with ../x, an absolute path, .git/hooks/x", climbingPath},
		{"A02", "link-out", "", "link", "replaces a file of the scope by a symbolic link that leaves it", linkOut},
		{"A03", "reserved-config", "", "reserved", "with a scope of **: edits .forge/config.toml", reservedConfig},
		{"A04", "reserved-evals", loop.ModeSkill, "reserved", "edits the evals", reservedEvals},
		{"A05", "outside-scope", "", "scope", "edits an unprotected file outside the scope", outsideScope},
		{"A06", "protected-edit", loop.ModeGeneric, "protected", "edits a protected file that lies inside the scope", protectedEdit},
		{"A07", "protected-add", loop.ModeGeneric, "protected", "adds a file under a protected path inside the scope", protectedAdd},
		{"A08", "protected-mode", loop.ModeGeneric, "protected", "turns the executable bit of a protected file", protectedMode},
		{"A09", "region-edit", loop.ModeSkill, "regions", "changes one byte inside FORGE_KEEP", region(kept, strings.Replace(kept, "wrote", "Wrote", 1))},
		{"A10", "region-move", loop.ModeSkill, "regions", "carries FORGE_KEEP across a line, content unchanged", region(anchor+kept, kept+anchor)},
		{"A11", "region-double", loop.ModeSkill, "regions", "adds a second FORGE_APPENDIX pair", region(appendix, appendix+appendix)},
		{"A12", "same-tree", "", "no_op", "rewrites a file with its own bytes", sameTree},
		{"A13", "resubmit", "", "duplicate", "the tree of an earlier rejected candidate", resubmit},
		{"A14", "bloat", loop.ModeSkill, "budget", "already over the token budget, adds a reference file", bloat},
		{"A15", "answer-leak", loop.ModeSkill, "leak", "copies a hidden eval into the skill", answerLeak},
		{"A16", "planted-secret", "", "secret", "adds a key-shaped value", plantedSecret},
		{"A17", "delete-scope", loop.ModeGeneric, "scope_ratio", "deletes files until fewer than min_scope_ratio are left", deleteScope},
		{"A18", "hollow-files", loop.ModeGeneric, "byte_ratio", "empties files, count unchanged", hollowFiles},
		{"A19", "swapped-files", loop.ModeGeneric, "kept_ratio", "replaces files by as many bytes under new names", swappedFiles},
	}
}

// everything is the widest scope there is.
func everything() gitstore.Glob {
	glob, err := gitstore.ParseGlob("**")
	if err != nil {
		panic("** is a glob: " + err.Error())
	}
	return glob
}

// nothingToChange says that a candidate has no file of its own.
const nothingToChange = "every file of the scope is protected"

// victim is the smallest file a candidate may change: what a mutant changes of
// it stays small. In a skill it is the private copy's own.
func (st *stage) victim() (string, bool) {
	if st.mode == loop.ModeSkill {
		return st.target.Below(plainFile), true
	}
	files := st.target.Files()
	if len(files) == 0 {
		return "", false
	}
	return slices.MinFunc(files, func(a, b string) int { return cmp.Compare(st.target.Size(a), st.target.Size(b)) }), true
}

// onVictim is a mutant that makes something else of one file.
func onVictim(change func(file string, data []byte) gitstore.Edit) func(context.Context, *stage) (ending, error) {
	return func(ctx context.Context, st *stage) (ending, error) {
		file, ok := st.victim()
		if !ok {
			return inapplicable(nothingToChange)
		}
		data, err := st.target.Read(ctx, file)
		if err != nil {
			return ending{}, err
		}
		return edits(ctx, st.target, change(file, data))
	}
}

func climbingPath(ctx context.Context, st *stage) (end ending, err error) {
	for _, name := range []string{"b/../" + newFile, "/" + newFile, "b/.git/hooks/" + newFile} {
		patch := "--- /dev/null\n+++ " + name + "\n@@ -0,0 +1 @@\n+x\n"
		if end, err = examine(ctx, st.target, handoff.Proposal{Patch: []byte(patch)}); err != nil || end.violation == nil {
			return end, err
		}
	}
	return end, nil
}

func linkOut(ctx context.Context, st *stage) (ending, error) {
	return onVictim(func(file string, data []byte) gitstore.Edit {
		// As long as the file: what the scope loses in bytes is another guard's.
		up := strings.Repeat("../", strings.Count(file, "/")+1+len(data)/len("../"))
		return gitstore.PutMode(file, []byte(up+"etc/passwd"), gitstore.ModeLink)
	})(ctx, st)
}

func reservedConfig(ctx context.Context, st *stage) (ending, error) {
	st.target.Rules().Target = everything()
	return edits(ctx, st.target, gitstore.Put(".forge/config.toml", []byte("# "+newFile+"\n")))
}

func reservedEvals(ctx context.Context, st *stage) (ending, error) {
	file, err := st.target.EvalsFile(ctx)
	if err != nil {
		return ending{}, err
	}
	return edits(ctx, st.target, gitstore.Put(file, []byte("[]\n")))
}

func outsideScope(ctx context.Context, st *stage) (ending, error) {
	rules := st.target.Rules()
	for _, file := range []string{newFile, newFile + "/" + newFile, "docs/" + newFile + ".md"} {
		if !rules.Target.Match(file) && !rules.IsProtected(file) {
			return edits(ctx, st.target, gitstore.Put(file, []byte("outside\n")))
		}
	}
	return inapplicable("nothing lies outside the scope and is not protected")
}

// protectedFiles are the protected files, with the whole repository as the
// scope from here on.
func (st *stage) protectedFiles(ctx context.Context) ([]gitstore.Entry, error) {
	st.target.Rules().Target = everything()
	return st.target.Protected(ctx)
}

// nothingProtected says that a configuration protects nothing.
const nothingProtected = "nothing is protected"

func protectedEdit(ctx context.Context, st *stage) (ending, error) {
	list, err := st.protectedFiles(ctx)
	if err != nil {
		return ending{}, err
	}
	if len(list) == 0 {
		return inapplicable(nothingProtected)
	}
	data, err := st.target.Read(ctx, list[0].Path)
	if err != nil {
		return ending{}, err
	}
	return edits(ctx, st.target, gitstore.Put(list[0].Path, append(data, '\n')))
}

func protectedAdd(ctx context.Context, st *stage) (ending, error) {
	list, err := st.protectedFiles(ctx)
	if err != nil {
		return ending{}, err
	}
	for _, e := range list {
		if added := path.Join(path.Dir(e.Path), newFile+path.Ext(e.Path)); st.target.Rules().IsProtected(added) {
			return edits(ctx, st.target, gitstore.Put(added, []byte("x\n")))
		}
	}
	if len(list) == 0 {
		return inapplicable(nothingProtected)
	}
	return inapplicable("no protected path takes a new file")
}

func protectedMode(ctx context.Context, st *stage) (ending, error) {
	list, err := st.protectedFiles(ctx)
	if err != nil {
		return ending{}, err
	}
	if len(list) == 0 {
		return inapplicable(nothingProtected)
	}
	file, mode := list[0], gitstore.ModeExec
	for _, e := range list {
		if e.Mode == gitstore.ModeExec {
			file, mode = e, gitstore.ModeFile
			break
		}
	}
	data, err := st.target.Read(ctx, file.Path)
	if err != nil {
		return ending{}, err
	}
	return edits(ctx, st.target, gitstore.PutMode(file.Path, data, mode))
}

// region is a mutant of the private copy's file with protected regions.
func region(was, is string) func(context.Context, *stage) (ending, error) {
	return func(ctx context.Context, st *stage) (ending, error) {
		file := st.target.Below(withRegions)
		data, err := st.target.Read(ctx, file)
		if err != nil {
			return ending{}, err
		}
		return edits(ctx, st.target, gitstore.Put(file, []byte(strings.Replace(string(data), was, is, 1))))
	}
}

func sameTree(ctx context.Context, st *stage) (ending, error) {
	return onVictim(gitstore.Put)(ctx, st)
}

func resubmit(ctx context.Context, st *stage) (ending, error) {
	file, ok := st.victim()
	if !ok {
		return inapplicable(nothingToChange)
	}
	data, err := st.target.Read(ctx, file)
	if err != nil {
		return ending{}, err
	}
	again := gitstore.Put(file, append(data, '\n'))
	if err := st.target.Tried(ctx, handoff.Proposal{Edits: []gitstore.Edit{again}}, "an earlier experiment"); err != nil {
		return ending{}, err
	}
	return edits(ctx, st.target, again)
}

func bloat(ctx context.Context, st *stage) (ending, error) {
	rules := st.target.Rules()
	rules.TokenBudget = max(1, st.target.Tokens()-1)
	return edits(ctx, st.target, gitstore.Put(st.target.Below("references/"+newFile+".md"), []byte(strings.Repeat("More to read.\n", 20))))
}

func answerLeak(ctx context.Context, st *stage) (ending, error) {
	hidden, err := st.target.Hidden(ctx)
	if err != nil {
		return ending{}, err
	}
	if hidden == "" {
		return inapplicable("no eval of val or test is long enough to be told")
	}
	return onVictim(func(file string, data []byte) gitstore.Edit {
		return gitstore.Put(file, append(data, "\n"+hidden+"\n"...))
	})(ctx, st)
}

// plantedSecret also wants what the guard says of the change withheld.
func plantedSecret(ctx context.Context, st *stage) (ending, error) {
	key := "gh" + "p_" + strings.Repeat("a1B2c3", 6) // in two parts, or this file would hold one
	end, err := onVictim(func(file string, data []byte) gitstore.Edit {
		return gitstore.Put(file, append(data, "\n"+key+"\n"...))
	})(ctx, st)
	if end.violation != nil && end.violation.Decision == verdict.Invalid && !end.violation.Withhold {
		end.violation = nil
	}
	return end, err
}
