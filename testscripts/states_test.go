//go:build unix

package testscripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oneSkill is a repository with the skill of the cases.
func oneSkill() map[string]string {
	return map[string]string{
		skillFile:               "---\nname: alpha\ndescription: Use when testing alpha.\n---\n# Alpha\n\nStep one.\n",
		"skills/beta/SKILL.md":  "---\nname: beta\ndescription: Use when testing beta.\n---\n# Beta\n",
		"deep/er/and/deeper.md": "text\n",
	}
}

// elsewhere is a repository beside the one the ground is for, which a state
// is made from.
func elsewhere(t *testing.T) *site {
	t.Helper()
	return newSite(t, oneSkill())
}

// Every repository state in which forge works as in a plain one: a whole run
// and its landing, with git and without it, and nothing but forge's own is
// another afterwards (gitstore.md section 2, the states that say "yes").
// TestCases has further ones.
func TestStates(t *testing.T) {
	plain := func(s *site) {
		s.write(oneSkill())
		s.git("init", "-q", "-b", "main")
		s.git("add", "-A")
		s.git("commit", "-q", "-m", "base")
	}
	after := func(args ...string) func(s *site) {
		return func(s *site) { plain(s); s.git(args...) }
	}
	tests := map[string]struct {
		prepare func(s *site)
		says    string // on standard error
		onto    string // the branch to land on; "" is the one checked out
		stuck   bool   // something is under way: nothing can land
	}{
		"plain": {prepare: plain},
		"clone --shared": {prepare: func(s *site) {
			s.git("clone", "-q", "--shared", elsewhere(s.t).dir, ".")
		}},
		"clone --reference": {prepare: func(s *site) {
			s.git("clone", "-q", "--reference", elsewhere(s.t).dir, elsewhere(s.t).dir, ".")
		}},
		"worktreeConfig": {prepare: after("config", "extensions.worktreeConfig", "true")},
		"submodule's own repository": {prepare: func(s *site) {
			if err := os.Remove(s.dir); err != nil {
				s.t.Fatal(err)
			}
			super := filepath.Join(filepath.Dir(s.dir), "super")
			if err := os.Mkdir(super, 0o755); err != nil {
				s.t.Fatal(err)
			}
			s.dir = super
			plain(s)
			s.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "-b", "main", elsewhere(s.t).dir, "sub")
			s.dir = filepath.Join(super, "sub")
		}},
		"sparse checkout": {prepare: after("sparse-checkout", "set", "skills/alpha")},
		"index version 4": {prepare: after("update-index", "--index-version=4")},
		"untracked cache": {prepare: after("update-index", "--untracked-cache")},
		"packed":          {prepare: after("gc", "-q")},
		"replaced objects": {prepare: func(s *site) {
			plain(s)
			s.git("commit", "-q", "--allow-empty", "-m", "more")
			s.git("replace", "HEAD", "HEAD~1")
		}, says: "forge ignores the replacements under refs/replace/"},
		"detached HEAD":    {prepare: after("checkout", "-q", "--detach"), onto: "main"},
		"merge under way":  {prepare: func(s *site) { plain(s); conflict(s, "merge") }, stuck: true},
		"rebase under way": {prepare: func(s *site) { plain(s); conflict(s, "rebase") }, stuck: true, onto: "main"},
		"cherry-pick":      {prepare: func(s *site) { plain(s); conflict(s, "cherry-pick") }, stuck: true},
		"bisect under way": {prepare: func(s *site) { plain(s); s.git("bisect", "start") }, stuck: true},
		"filter elsewhere": {prepare: func(s *site) { s.write(map[string]string{".gitattributes": "*.bin filter=lfs\n"}); plain(s) }},
		"hooks of a person": {prepare: func(s *site) {
			plain(s)
			s.write(map[string]string{".git/hooks/reference-transaction": "#!/bin/sh\nexit 1\n"})
		}},
	}
	for name, tt := range tests {
		for _, way := range []string{"with git", "without git"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				s := &caseSite{site: newGround(t), withoutGit: way == "without git"}
				tt.prepare(s.site)
				if s.withoutGit {
					s.forgeEnv = append(s.forgeEnv, "PATH="+pathWithoutGit(t))
				}
				s.improves()
				if p := s.forge(0, "status"); !strings.Contains(p.stderr.String(), tt.says) {
					t.Errorf("forge status says\n%swant %s", p.stderr.String(), tt.says)
				}
				switch {
				case tt.stuck:
					before := s.everything()
					args := []string{"land", "r1"}
					if tt.onto != "" {
						args = append(args, "--onto", tt.onto)
					}
					p := s.forge(3, args...)
					if says := p.stderr.String(); !strings.Contains(says, "is under way in") || !strings.Contains(says, "forge: hint: finish or abort it, then forge land r1") {
						t.Errorf("forge land says\n%s", says)
					}
					s.checkOnlyForge(before)
				case tt.onto != "":
					s.forge(2, "land", "r1")
					s.forge(0, "land", "r1", "--onto", tt.onto)
				default:
					s.lands()
				}
			})
		}
	}
}

// conflict stops one of git's operations half way, in a file that is not the
// skill's.
func conflict(s *site, operation string) {
	s.t.Helper()
	s.git("checkout", "-q", "-b", "other")
	s.write(map[string]string{"deep/er/and/deeper.md": "theirs\n"})
	s.git("commit", "-q", "-a", "-m", "theirs")
	s.git("checkout", "-q", "main")
	s.write(map[string]string{"deep/er/and/deeper.md": "ours\n"})
	s.git("commit", "-q", "-a", "-m", "ours")
	if out, err := s.tryGit(operation, "other"); err == nil {
		s.t.Fatalf("git %s has no conflict\n%s", operation, out)
	}
}

// States that a sentence answers, in each with nothing done. run_*.txtar,
// land_*.txtar and gitstore's TestOpenStates have the others.
func TestStatesRefused(t *testing.T) {
	tests := map[string]struct {
		prepare  func(s *site)
		code     int
		sentence string
		hint     string
		args     []string
	}{
		"no author": {
			prepare: func(s *site) {
				for i, pair := range s.env {
					if name, _, _ := strings.Cut(pair, "="); strings.HasSuffix(name, "_NAME") || strings.HasSuffix(name, "_EMAIL") {
						s.env[i] = name + "="
					}
				}
			},
			code: 2, sentence: "no author is configured", hint: "set user.name and user.email in git, or GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL",
			args: improving("--run", "r1"),
		},
		"a skill that is a link": {
			prepare: func(s *site) {
				if err := os.Remove(filepath.Join(s.dir, skillFile)); err != nil {
					s.t.Fatal(err)
				}
				if err := os.Symlink("../beta/SKILL.md", filepath.Join(s.dir, skillFile)); err != nil {
					s.t.Fatal(err)
				}
				s.git("commit", "-q", "-a", "-m", "a link")
			},
			code: 3, sentence: `"skills/alpha/SKILL.md" is a symbolic link; forge never writes through links`,
			args: []string{"run", "skills/alpha"},
		},
		"a skill that is a submodule": {
			prepare: func(s *site) {
				s.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", elsewhere(s.t).dir, "skills/sub")
				s.git("commit", "-q", "-m", "a submodule")
			},
			code: 3, sentence: `"skills/sub" is a submodule; run forge inside it`,
			args: []string{"run", "skills/sub"},
		},
		"reftable": {
			prepare: func(s *site) {
				s.git("config", "core.repositoryformatversion", "1")
				s.git("config", "extensions.refStorage", "reftable")
			},
			code: 2, sentence: "this repository keeps its refs in a reftable, which forge cannot read", hint: "git refs migrate --ref-format=files",
			args: []string{"log"},
		},
		"SHA-256": {
			prepare: func(s *site) {
				s.git("config", "core.repositoryformatversion", "1")
				s.git("config", "extensions.objectFormat", "sha256")
			},
			code: 2, sentence: "this repository uses SHA-256 objects, which forge cannot read",
			args: []string{"log"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &caseSite{site: newSite(t, oneSkill())}
			tt.prepare(s.site)
			s.refused(tt.code, tt.sentence, tt.hint, tt.args...)
		})
	}
}
