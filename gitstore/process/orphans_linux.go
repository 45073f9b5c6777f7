package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
	prSetChildSubreaper = 36

	// staleZombie is the age from which a zombie nobody asked about is
	// reaped. Children of this package are reaped within moments of their
	// exit.
	staleZombie = 3 * time.Second

	// sweepLimit bounds one sweep: a process that forks faster than it can be
	// killed needs a sandbox.
	sweepLimit = 2 * time.Second
)

// zombies are the unclaimed dead children of forge and when a sweep first saw
// each.
type zombies map[procStat]time.Time

// adoptOrphans makes forge the parent of descendants whose own parent died,
// instead of process 1. Doing it again changes nothing. On a kernel that
// refuses, orphans are simply not found.
func adoptOrphans() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// marks returns the variables of a command by which its descendants are known:
// TMPDIR, and HOME if it lies beside it. Folders everybody shares mark nobody.
func marks(env []string) []string {
	tmp, _ := variable(env, "TMPDIR")
	home, _ := variable(env, "HOME")
	parent := filepath.Dir(tmp)
	if !filepath.IsAbs(tmp) || parent == "/" || filepath.Clean(tmp) == "/var/tmp" {
		return nil
	}
	found := []string{"TMPDIR=" + tmp}
	if filepath.IsAbs(home) && filepath.Dir(home) == parent {
		found = append(found, "HOME="+home)
	}
	return found
}

// sweep ends and reaps the adopted processes that carry one of the marks, and
// reaps the dead ones of a group that is gone. It returns the number of
// processes it ended. r.mu is held.
func (r *Runner) sweep(group int, marks []string) (ended int) {
	for limit := time.Now().Add(sweepLimit); ; {
		var killed []procStat
		dead := zombies{}
		for _, s := range processes(r.adopted) {
			switch {
			case s.zombie && s.group == group:
				syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
			case s.zombie:
				r.reapStale(s, dead)
			case carries(s.pid, marks):
				syscall.Kill(s.pid, syscall.SIGKILL)
				killed = append(killed, s)
			}
		}
		r.zombies = dead
		for _, s := range killed {
			reap(s.pid, limit)
		}
		ended += len(killed)
		// Their children are adopted now: look again until there are none.
		if len(killed) == 0 || time.Now().After(limit) {
			return ended
		}
	}
}

// adopted reports whether s is a child of forge that the Runner did not start.
func (r *Runner) adopted(s procStat) bool {
	_, ours := r.running[s.pid]
	return s.parent == os.Getpid() && !ours && (r.supervisor == nil || r.supervisor.pid != s.pid)
}

// reapStale reaps a zombie that an earlier sweep has seen already, else
// remembers it in dead. One in forge's own group is a child that somebody
// started by other means than this package; it is theirs.
func (r *Runner) reapStale(s procStat, dead zombies) {
	if s.group == syscall.Getpgrp() {
		return
	}
	first, seen := r.zombies[s]
	if !seen {
		first = time.Now()
	}
	if time.Since(first) >= staleZombie {
		syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
		return
	}
	dead[s] = first
}

// carries reports whether a process was started with one of the variables.
func carries(pid int, marks []string) bool {
	if len(marks) == 0 {
		return false
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(bytes.Split(env, []byte{0}), func(line []byte) bool {
		return slices.Contains(marks, string(line))
	})
}

// reap waits for a killed child until limit.
func reap(pid int, limit time.Time) {
	for time.Now().Before(limit) {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if err == nil && got == 0 || err == syscall.EINTR {
			time.Sleep(poll)
			continue
		}
		return
	}
}
