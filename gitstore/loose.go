package gitstore

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// looseWriter compresses objects for loose files. Both parts are used again:
// making a compressor takes longer than compressing most objects.
type looseWriter struct {
	content bytes.Buffer
	zip     *zlib.Writer
}

// encode returns the content of an object's file, valid until the next call:
// compressed as fast as possible, which is git's default too, since a later
// pack compresses it anew.
func (w *looseWriter) encode(o object) ([]byte, error) {
	w.content.Reset()
	if w.zip == nil {
		zip, err := zlib.NewWriterLevel(&w.content, zlib.BestSpeed)
		if err != nil {
			return nil, err
		}
		w.zip = zip
	}
	w.zip.Reset(&w.content)
	header := append(o.kind.Bytes(), ' ')
	header = strconv.AppendInt(header, int64(len(o.data)), 10)
	for _, part := range [][]byte{append(header, 0), o.data} {
		if _, err := w.zip.Write(part); err != nil {
			return nil, err
		}
	}
	if err := w.zip.Close(); err != nil {
		return nil, err
	}
	return w.content.Bytes(), nil
}

// writeTries is how often an object is written again because its folder is
// not there: a git that packs removes it when it is empty, also just after it
// was made.
const writeTries = 10

// writeObject stores an object, loose: a temporary file in its folder, renamed
// when it is whole (R-OPEN-4). On an error nothing is left. The file has the
// mode git gives it; go-git's own writer makes one nobody else can read.
func (r *Repo) writeObject(o object) (plumbing.Hash, error) {
	id := plumbing.ComputeHash(o.kind, o.data)
	name := id.String()
	path := filepath.Join(r.commonDir, "objects", name[:2], name[2:])
	if freshen(path) {
		return id, nil
	}
	r.looseMu.Lock()
	defer r.looseMu.Unlock()
	content, err := r.loose.encode(o)
	r.env.Crash.Pass("before object")
	if err == nil {
		err = r.writeLoose(path, content)
	}
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < writeTries; tries++ {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = r.writeLoose(path, content)
		}
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("write %s: %w", o.kind, err)
	}
	return id, nil
}

// freshen reports whether an object has a file already, which it makes as
// young as a new one: git removes old objects without a ref.
func freshen(path string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // of another user's file it may be impossible
	return true
}

// writeLoose writes the file of an object into a folder that exists.
func (r *Repo) writeLoose(path string, content []byte) error {
	// The name is one that git gc removes if this process is killed.
	temporary := filepath.Join(filepath.Dir(path), "tmp_obj_"+strings.ToLower(rand.Text()[:12]))
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = r.env.Crash.Writer(file).Write(content)
	err = errors.Join(err, file.Close())
	if err == nil {
		r.env.Crash.Pass("object written")
		err = renameOver(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
		return err
	}
	r.env.Crash.Pass("after object")
	return nil
}
