package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"strings"
	"time"
	"unicode"

	"forge/gitstore/fault"
	"forge/gitstore/textdiff"

	"github.com/go-git/go-git/v5/plumbing"
)

// Mail is a commit as a mail with its patch.
type Mail struct {
	Name string // of the file: its number and its subject, such as 0001-score-faster.patch
	Data []byte
}

// Mail writes a commit with one parent as a mail that git am turns into a
// commit with the same author, message and tree on top of that parent's tree.
// It is number n of a series of that many. A line of the message that mail
// tools read as something else, such as "---", gets a space in front of it. A
// change of a submodule is a fault of kind Refused.
//
// Source: gitstore.md R-LAND-8.
func (r *Repo) Mail(ctx context.Context, commit Hash, n, of int) (Mail, error) {
	c, err := r.ReadCommit(ctx, commit)
	if err != nil {
		return Mail{}, err
	}
	if len(c.Parents) != 1 {
		return Mail{}, fmt.Errorf("commit %s has %d parents; a mail can hold one with one parent", commit.Short(), len(c.Parents))
	}
	message, err := r.messageOf(ctx, commit)
	if err != nil {
		return Mail{}, err
	}
	patch, err := r.mailable(ctx, c.Parents[0], commit)
	if err != nil {
		return Mail{}, err
	}
	subject, body, _ := strings.Cut(message, "\n")
	var out bytes.Buffer
	fmt.Fprintf(&out, "From %s Mon Sep 17 00:00:00 2001\n", commit)
	fmt.Fprintf(&out, "From: %s <%s>\nDate: %s\n", mailWord(c.Author.Name), c.Author.Email, c.Author.When.Format(time.RFC1123Z))
	fmt.Fprintf(&out, "Subject: [PATCH %d/%d] %s\n", n, of, encodedWords(subject))
	fmt.Fprintf(&out, "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n")
	out.WriteString(mailBody(body))
	out.WriteString("---\n\n")
	out.Write(patch)
	out.WriteString("-- \nforge\n\n")
	return Mail{Name: mailName(n, subject), Data: out.Bytes()}, nil
}

// messageOf is the message of a commit as it is stored.
func (r *Repo) messageOf(ctx context.Context, commit Hash) (string, error) {
	found, err := r.readObject(ctx, plumbing.CommitObject, plumbing.NewHash(string(commit)))
	if err != nil {
		return "", err
	}
	_, message, _ := strings.Cut(string(found.data), "\n\n")
	return message, nil
}

// mailable is what differs between two commits, as a patch.
func (r *Repo) mailable(ctx context.Context, from, to Hash) ([]byte, error) {
	differences, err := r.DiffTrees(ctx, from, to)
	if err != nil {
		return nil, err
	}
	var files []textdiff.File
	for _, d := range differences {
		f := textdiff.File{Path: d.Path}
		if f.Before, err = r.diffSide(ctx, d.Path, d.Before); err != nil {
			return nil, err
		}
		if f.After, err = r.diffSide(ctx, d.Path, d.After); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return textdiff.Mailable(files)
}

// diffSide reads one side of a difference; nil if it does not have the file.
func (r *Repo) diffSide(ctx context.Context, path string, e Entry) (*textdiff.Side, error) {
	switch e.Mode {
	case 0:
		return nil, nil
	case ModeGitlink:
		return nil, fault.New(fault.Refused, "", "%q is a submodule; a mail cannot hold its change", path)
	}
	data, err := r.Blob(ctx, e.Object)
	if errors.Is(err, ErrNotFound) {
		return nil, named(err, path)
	}
	return &textdiff.Side{Data: data, Mode: e.Mode.String()}, err
}

// encodedWords makes a header's text ASCII where it is not (RFC 2047), folded
// as mail wants it.
func encodedWords(text string) string {
	if encoded := mime.QEncoding.Encode("utf-8", text); encoded != text {
		return strings.ReplaceAll(encoded, "\r\n", "\n")
	}
	return strings.ReplaceAll(text, "=?", "=?utf-8?q?=3D=3F?=") // else read as a word that is encoded already
}

// mailWord is a person's name in front of an address.
func mailWord(name string) string {
	if encoded := encodedWords(name); encoded != name {
		return encoded
	}
	if strings.ContainsAny(name, `()<>[]:;@\,."`) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	}
	return name
}

// mailBody is the message below the subject, so that git am finds all of it
// and the patch after it.
func mailBody(body string) string {
	body = strings.Trim(body, "\n")
	if body == "" {
		return ""
	}
	var b strings.Builder
	for i, line := range strings.Split(body, "\n") {
		if misread(line) || i == 0 && headerLike(line) {
			b.WriteByte(' ')
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// misread reports whether git am ends the message at a line: at the beginning
// of another mail or of a patch.
func misread(line string) bool {
	for _, prefix := range []string{"From ", "---", "diff -", "Index: "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// headerLike reports whether git am would take the first line of a body for
// one of the mail's headers.
func headerLike(line string) bool {
	name, _, found := strings.Cut(line, ":")
	return strings.HasPrefix(line, ">From") || strings.HasPrefix(line, "[PATCH]") ||
		found && (strings.EqualFold(name, "From") || strings.EqualFold(name, "Date") || strings.EqualFold(name, "Subject") || strings.HasPrefix(strings.ToLower(name), "content-"))
}

// maxMailName is how much of the subject stands in a file's name.
const maxMailName = 52

// mailName is the name of a mail's file: its number, then what of the subject
// is a plain letter or digit.
func mailName(n int, subject string) string {
	plain := strings.FieldsFunc(subject, func(r rune) bool {
		return r >= unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	words := strings.Join(plain, "-")
	words = strings.TrimRight(words[:min(len(words), maxMailName)], "-")
	if words == "" {
		words = "change"
	}
	return fmt.Sprintf("%04d-%s.patch", n, words)
}
