package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forge/gitstore/fault"
)

// signs reports whether commits must be signed: commit.gpgsign as git reads
// it (R-COM-5).
func (r *Repo) signs(ctx context.Context) (bool, error) {
	config, err := r.askConfig(ctx)
	if err != nil {
		return false, err
	}
	return config.bool("commit.gpgsign"), nil
}

// CheckSigning makes one trial signature if commits must be signed, so that a
// missing key or a passphrase that cannot be asked for fails at the start of
// a run and not in the middle. The trial leaves no object. A signature that
// cannot be made is a fault of kind Refused with the program's own message.
//
// Source: gitstore.md R-COM-5.
func (r *Repo) CheckSigning(ctx context.Context) error {
	signs, err := r.signs(ctx)
	if err != nil || !signs {
		return err
	}
	if err := r.makeForgeDir(""); err != nil {
		return err
	}
	objects, err := os.MkdirTemp(filepath.Join(r.commonDir, "forge"), "trial-")
	if err != nil {
		return fmt.Errorf("try a signature: %w", err)
	}
	defer os.RemoveAll(objects)
	author, committer, err := r.Identity(ctx)
	if err != nil {
		return err
	}
	_, err = r.signedCommit(ctx, commitObject{
		tree: Hash(emptyTree.String()), author: author, committer: committer, message: "forge: trial signature\n",
	}, "GIT_OBJECT_DIRECTORY="+objects)
	return err
}

// signedCommit lets git make, sign and store a commit: git knows every
// gpg.format there is. Never an unsigned commit instead (R-COM-5).
func (r *Repo) signedCommit(ctx context.Context, c commitObject, env ...string) (Hash, error) {
	args := []string{"commit-tree", "-S", "-F", "-"}
	for _, parent := range c.parents {
		args = append(args, "-p", string(parent))
	}
	result, err := r.git(ctx, gitCall{
		Args:  append(args, string(c.tree)),
		Env:   append(append(c.author.vars("GIT_AUTHOR"), c.committer.vars("GIT_COMMITTER")...), env...),
		Stdin: []byte(c.message), Timeout: r.signWait,
	})
	if errors.Is(err, errNoGit) {
		return "", needGit(err, "signing a commit (commit.gpgsign is true)")
	}
	if err != nil {
		return "", err
	}
	if result.TimedOut {
		return "", fault.New(fault.Refused, "let an agent hold the key's passphrase, and try git commit -S",
			"the commit could not be signed: no signature came within %s", r.signWait)
	}
	id, ok := parseHash(strings.TrimSpace(string(result.Stdout)))
	if !result.OK() || !ok {
		return "", fault.New(fault.Refused, "git config gpg.format and user.signingkey say what signs; try git commit -S",
			"the commit could not be signed: %s", signingMessage(result.Stderr, result.ExitCode))
	}
	return id, nil
}

// signingMessage is what the signing program said, on one line.
func signingMessage(stderr []byte, exitCode int) string {
	var said []string
	for line := range strings.Lines(string(stderr)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[GNUPG:]") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return firstLine(nil, exitCode)
	}
	return cut(oneLine(strings.Join(said, "; ")), 500)
}

// vars is the signature as the variables git takes it from.
func (s Signature) vars(prefix string) []string {
	return []string{
		prefix + "_NAME=" + s.Name, prefix + "_EMAIL=" + s.Email,
		fmt.Sprintf("%s_DATE=@%d %s", prefix, s.When.Unix(), s.When.Format("-0700")),
	}
}
