//go:build unix

package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	// goodbye is the line after which the supervisor leaves every group alone.
	goodbye = "bye"

	// ready is what the supervisor prints once it can be relied upon: from
	// then on it hears no signal and reads its list.
	ready = "ready\n"

	// readyLimit is how long forge waits for that.
	readyLimit = 10 * time.Second

	// goodbyeLimit is how long forge waits for the supervisor to go.
	goodbyeLimit = 2 * time.Second
)

// supervisor is forge's end of the supervisor process.
type supervisor struct {
	lines *os.File      // its standard input; closed on exec, so that no child holds it
	pid   int           // so that it is never taken for an orphan
	gone  chan struct{} // closed when it has exited
}

// startSupervisor starts the supervisor in its own session, with nothing of
// forge but two pipes, and returns when it is ready.
func startSupervisor(self string) (*supervisor, error) {
	theirs, lines, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	answer, stdout, err := os.Pipe()
	if err != nil {
		lines.Close()
		return nil, err
	}
	defer answer.Close()
	cmd := &exec.Cmd{
		Path: self, Args: []string{self, SuperviseCommand}, Dir: "/", Env: []string{},
		Stdin: theirs, Stdout: stdout, SysProcAttr: ownSession(),
	}
	err = cmd.Start()
	stdout.Close()
	if err != nil {
		lines.Close()
		return nil, err
	}
	s := &supervisor{lines: lines, pid: cmd.Process.Pid, gone: make(chan struct{})}
	go func() {
		cmd.Wait() // its status says nothing
		close(s.gone)
	}()
	answer.SetReadDeadline(time.Now().Add(readyLimit))
	said := make([]byte, len(ready))
	if n, err := io.ReadFull(answer, said); err != nil || string(said) != ready {
		cmd.Process.Kill()
		lines.Close()
		<-s.gone
		return nil, fmt.Errorf("no supervisor: it said %q before it was ready", said[:n])
	}
	return s, nil
}

// send tells the supervisor of a group: '+' it is there, '-' it is gone. One
// line is one write, below the size a pipe takes whole.
func (s *supervisor) send(what byte, group int) error {
	if isClosed(s.gone) {
		return errors.New("the supervisor is gone")
	}
	_, err := fmt.Fprintf(s.lines, "%c%d\n", what, group)
	return err
}

// close lets the supervisor go and waits until it has. Without a goodbye it
// ends the groups it knows first.
func (s *supervisor) close(bye bool) error {
	limit := goodbyeLimit
	if bye {
		io.WriteString(s.lines, goodbye+"\n") // if it is gone, that was the aim
	} else {
		limit += DefaultGrace
	}
	s.lines.Close()
	select {
	case <-s.gone:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("supervisor %d did not exit within %s", s.pid, limit)
	}
}

// Supervise is the body of the hidden command [SuperviseCommand]: it keeps a
// list of process groups and ends them when stdin closes without a goodbye,
// which is what happens when forge is killed. It returns the exit status, 0.
//
// The lines of stdin are "+GROUP", "-GROUP" and "bye"; others are ignored. One
// line on standard output says that it is ready. SIGINT, SIGTERM and SIGHUP
// are ignored for good, so it must be the only thing its process does.
//
// Source: gitstore.md R-PROC-2.
func Supervise(stdin io.Reader) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	io.WriteString(os.Stdout, ready) // nobody there is the same as a closed stdin
	groups := map[int]bool{}
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		line := lines.Text()
		if line == goodbye {
			return 0
		}
		// Groups 0 and 1 would be our own and everybody's.
		if group, err := strconv.Atoi(line[min(1, len(line)):]); err == nil && group > 1 {
			switch line[0] {
			case '+':
				groups[group] = true
			case '-':
				delete(groups, group)
			}
		}
	}
	endGroups(groups)
	return 0
}

// endGroups sends SIGTERM to the groups and, when the grace has passed,
// SIGKILL to those that are left.
func endGroups(groups map[int]bool) {
	for g := range groups {
		syscall.Kill(-g, syscall.SIGTERM)
		syscall.Kill(-g, syscall.SIGCONT) // a stopped process hears nothing else
	}
	for end := time.Now().Add(DefaultGrace); len(groups) > 0 && time.Now().Before(end); {
		for g := range groups {
			if members(g) == 0 {
				delete(groups, g)
			}
		}
		time.Sleep(poll)
	}
	for g := range groups {
		syscall.Kill(-g, syscall.SIGKILL)
	}
}
