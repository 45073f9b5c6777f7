package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procStat is what /proc/PID/stat says about a process.
type procStat struct {
	pid    int
	zombie bool
	parent int
	group  int
	birth  string // start time in clock ticks; with pid, the process's identity
}

// readStat reads the state of a process; false if it is gone.
func readStat(pid int) (procStat, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return procStat{}, false
	}
	// "PID (NAME) STATE PARENT GROUP ...", where NAME may hold anything.
	_, rest, _ := strings.Cut(string(data[bytes.LastIndexByte(data, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return procStat{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	dead := fields[0] == "Z" || fields[0] == "X"
	return procStat{pid: pid, zombie: dead, parent: parent, group: group, birth: fields[19]}, true
}

// processes returns the processes that want accepts.
func processes(want func(procStat) bool) []procStat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var found []procStat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok && want(s) {
			found = append(found, s)
		}
	}
	return found
}

// members counts the processes of a group. Zombies are none: whoever has to
// reap them, they do nothing any more.
func members(group int) int {
	if !groupExists(group) {
		return 0
	}
	return len(processes(func(s procStat) bool { return s.group == group && !s.zombie }))
}
