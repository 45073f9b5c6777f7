package gitstore

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"forge/gitstore/crash"
	"forge/gitstore/fault"
)

// staleAfter is the age at which a lock file on one of forge's own refs may
// go although nothing says who made it (R-REF-9).
const staleAfter = 60 * time.Second

// lockRecord is forge's own note about a ref lock it is about to make: a file
// of two JSON lines, the owner, and after the lock was made its inode. A
// process that dies between leaves a record without the second line.
//
// Source: gitstore.md R-REF-9.
type lockRecord struct {
	path  string
	file  *os.File // of one that is being written; nil else
	crash *crash.Points
}

// lockOwner is the first line of a record.
type lockOwner struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // of the process; with the pid, its identity
	Host  string `json:"host"`
	Ref   string `json:"ref"`
}

// lockInode is the second line of a record.
type lockInode struct {
	Inode uint64 `json:"inode"`
}

// recordLock writes the record of a lock this process is about to make. A
// record of that name may be there, of a dead process with the same pid or of
// another handle in this process: then a number is added to the name.
func (r *Repo) recordLock(ref string) (*lockRecord, error) {
	if err := r.makeForgeDir("ref-locks"); err != nil {
		return nil, err
	}
	pid := os.Getpid()
	start, _ := processStart(pid)
	line, err := json.Marshal(lockOwner{PID: pid, Start: start, Host: hostName(), Ref: ref})
	if err != nil {
		return nil, fmt.Errorf("record lock of %q: %w", ref, err)
	}
	name := filepath.Join(r.lockRecords(), strconv.Itoa(pid)+"-"+refDigest(ref))
	record := &lockRecord{path: name, crash: r.env.Crash}
	record.crash.Pass("before lock record")
	file, err := os.OpenFile(record.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	for n := 2; errors.Is(err, fs.ErrExist); n++ {
		record.path = name + "-" + strconv.Itoa(n)
		file, err = os.OpenFile(record.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("record lock of %q: %w", ref, err)
	}
	record.file = file
	if _, err = record.crash.Writer(file).Write(append(line, '\n')); err != nil {
		record.remove()
		return nil, fmt.Errorf("record lock of %q: %w", ref, err)
	}
	record.crash.Pass("after lock record")
	return record, nil
}

func (r *Repo) lockRecords() string { return filepath.Join(r.commonDir, "forge", "ref-locks") }

// refDigest is the part of a record's name that stands for the ref.
func refDigest(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return hex.EncodeToString(sum[:])[:16]
}

// hostName tells the machines apart that may share a file system; "" if it is
// not known.
func hostName() string {
	name, _ := os.Hostname()
	return name
}

// addInode notes which file the lock is.
func (l *lockRecord) addInode(lock *os.File) error {
	info, err := lock.Stat()
	if err != nil {
		return fmt.Errorf("record lock: %w", err)
	}
	line, err := json.Marshal(lockInode{inodeOf(info)})
	if err != nil {
		return fmt.Errorf("record lock: %w", err)
	}
	if _, err = l.crash.Writer(l.file).Write(append(line, '\n')); err != nil {
		return fmt.Errorf("record lock: %w", err)
	}
	return nil
}

// remove removes the record, after its lock is gone.
func (l *lockRecord) remove() {
	if l.file != nil {
		_ = l.file.Close() // what counts in it was written and checked
	}
	_ = os.Remove(l.path) // a left one is harmless
}

// clearStale removes the lock file of a ref if R-REF-9 lets this process, and
// reports whether it did.
func (r *Repo) clearStale(ref string, own *lockRecord) bool {
	path := r.refPath(ref) + ".lock"
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	r.heldMu.Lock()
	ofRun, forge := r.heldRuns[runOfRef(ref)], r.heldForge
	r.heldMu.Unlock()
	// A landing writes a ref of the run under forge's own lock alone: the run
	// may go on meanwhile.
	forge = forge && isForgeRef(ref)
	record, dead := r.deadRecord(ref, info)
	if aged := own.since(info) > staleAfter; !(dead && (ofRun || forge)) && !(aged && forge) {
		return false
	}
	// The owner may have finished, and another process begun, since the look.
	again, err := os.Lstat(path)
	if err != nil || !os.SameFile(info, again) {
		return false
	}
	if os.Remove(path) != nil {
		return false
	}
	if dead {
		record.remove()
	}
	return true
}

// since returns the age of a file by the file system's own clock: how much
// older it is than this record, which was written just now.
func (l *lockRecord) since(info fs.FileInfo) time.Duration {
	now, err := os.Stat(l.path)
	if err != nil {
		return 0
	}
	return now.ModTime().Sub(info.ModTime())
}

// deadRecord looks for the record of a dead process of this host that names
// the ref and this very lock file.
func (r *Repo) deadRecord(ref string, lock fs.FileInfo) (*lockRecord, bool) {
	for _, record := range r.sweepLockRecords() {
		owner, inode, _ := record.read()
		if owner.Ref == ref && (inode != 0 && inode == inodeOf(lock) || inode == 0 && lock.Size() == 0) {
			return record, true
		}
	}
	return nil, false
}

// sweepLockRecords removes the records of dead processes of this host whose
// lock is no longer there, and returns those of dead processes that are left.
func (r *Repo) sweepLockRecords() (left []*lockRecord) {
	entries, _ := os.ReadDir(r.lockRecords())
	for _, entry := range entries {
		record := &lockRecord{path: filepath.Join(r.lockRecords(), entry.Name())}
		owner, inode, ok := record.read()
		if !ok {
			// Its process died before it wrote; or it is about to write.
			if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
				record.remove()
			}
			continue
		}
		if owner.Host != hostName() || isRunning(owner.PID, owner.Start) {
			continue
		}
		there, err := os.Lstat(r.refPath(owner.Ref) + ".lock")
		if isAbsent(err) || err == nil && inode != 0 && inodeOf(there) != inode {
			record.remove()
			continue
		}
		left = append(left, record)
	}
	return left
}

// read returns what a record says; inode is 0 if it does not say yet.
func (l *lockRecord) read() (owner lockOwner, inode uint64, ok bool) {
	file, err := os.Open(l.path)
	if err != nil {
		return lockOwner{}, 0, false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &owner) != nil {
		return lockOwner{}, 0, false
	}
	var second lockInode
	if lines.Scan() && json.Unmarshal(lines.Bytes(), &second) == nil {
		inode = second.Inode
	}
	return owner, inode, owner.PID > 0 && validRefName(owner.Ref)
}

// locked is the fault for a lock file that does not go away; it says where
// the file is and how old.
func (r *Repo) locked(ref string, own *lockRecord) error {
	path := r.refPath(ref) + ".lock"
	age := ""
	if info, err := os.Lstat(path); err == nil {
		age = fmt.Sprintf(", %d s old", max(0, int(own.since(info).Seconds())))
	}
	return &fault.Error{
		Kind: fault.Conflict, Err: ErrLocked,
		Msg:  fmt.Sprintf("%q is locked by %q%s", shortBranch(ref), path, age),
		Hint: "if no git and no forge is running: rm " + shellQuote(path),
	}
}
