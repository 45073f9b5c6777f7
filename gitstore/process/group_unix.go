//go:build unix

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// defaultPath is where a bare program is looked for if the environment has no
// PATH, as execvp does.
const defaultPath = "/bin:/usr/bin"

// ownGroup makes a child the leader of a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownSession makes a child the leader of a session of its own, out of reach
// of the terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// signalGroup signals the group that leader leads or led. A group that is gone
// is no error.
func signalGroup(leader *os.Process, signal syscall.Signal) {
	syscall.Kill(-leader.Pid, signal)
	if signal != syscall.SIGKILL {
		syscall.Kill(-leader.Pid, syscall.SIGCONT) // a stopped process hears nothing else
	}
}

// groupExists reports whether a process of that group exists, be it a zombie.
func groupExists(group int) bool { return syscall.Kill(-group, 0) == nil }

// lookUp returns the file that name stands for. It differs from
// exec.LookPath, which would read forge's own PATH.
func lookUp(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // relative to dir: the child is there already when it is executed
	}
	path, ok := variable(env, "PATH")
	if !ok {
		path = defaultPath
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

// variable returns the value of a variable; the last one wins, as in os/exec.
func variable(env []string, name string) (value string, ok bool) {
	for _, line := range env {
		if v, found := strings.CutPrefix(line, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}
