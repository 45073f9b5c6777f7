package gitstore

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// processStart returns what tells a process from a later one with the same
// pid, its start time in clock ticks, and whether the process is running. A
// zombie is not.
func processStart(pid int) (start string, running bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// "PID (NAME) STATE ...", where NAME may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return fields[19], true
}

// isRunning reports whether the process with that pid and start still runs.
func isRunning(pid int, start string) bool {
	now, running := processStart(pid)
	return running && now == start
}
