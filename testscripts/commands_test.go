package testscripts

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"forge/gitstore/schema"
)

// scriptsDir is where the scripts lie: the directory the tests start in.
var scriptsDir, _ = os.Getwd()

// commands are what scripts may say beside testscript's own words.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"exits":     exits,
		"fits":      fits,
		"gone":      gone,
		"intact":    intact,
		"jsonlines": jsonLines,
	}
}

// exits N PROGRAM ARGS... runs a program and wants exactly the exit code N;
// "! exec" knows only zero and not zero. What it printed is compared with
// stdout, stderr and cmp as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := 0, ts.Exec(args[1], args[2:]...)
	if coded, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		got, err = coded.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("%s exits %d, want %d", args[1], got, want)
	}
}

// intactKey is where the first intact of a script leaves what it saw.
type intactKey struct{}

// intact looks at what is the user's in the repository of the working
// directory: HEAD, index, work tree, stash and every ref that is not forge's.
// The first call remembers it; each later one fails if anything of it changed,
// or if the repository is damaged. "intact -f" remembers anew, after a step of
// the script that was meant to change something.
func intact(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 && !slices.Equal(args, []string{"-f"}) {
		ts.Fatalf("usage: intact [-f]")
	}
	before, _ := ts.Value(intactKey{}).(*string)
	if before == nil {
		ts.Fatalf("intact needs a place to remember; see prepare")
	}
	var seen strings.Builder
	for _, query := range [][]string{
		{"for-each-ref", "--format=%(refname) %(objectname)"},
		{"status", "--porcelain=v2", "--branch", "--untracked-files=all"}, // HEAD, and what in index and work tree is not HEAD's
		{"diff"},
	} {
		ts.Check(ts.Exec("git", query...))
		lines := slices.DeleteFunc(strings.Split(ts.ReadFile("stdout"), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "refs/heads/forge/") || strings.HasPrefix(line, "refs/forge/")
		})
		seen.WriteString("$ git " + strings.Join(query, " ") + "\n" + strings.Join(lines, "\n"))
	}
	now := seen.String()
	if *before == "" || len(args) == 1 {
		*before = now
		return
	}
	if *before != now {
		ts.Fatalf("something of the user's changed; before:\n%s\nnow:\n%s", *before, now)
	}
	ts.Check(ts.Exec("git", "fsck", "--no-dangling", "--no-progress"))
}

// jsonLines FILE wants every line of FILE (or of stdout or stderr) to be one
// JSON object, and at least one line.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines FILE")
	}
	text := ts.ReadFile(args[0])
	if !strings.HasSuffix(text, "\n") {
		ts.Fatalf("%s does not end in a line feed", args[0])
	}
	for line := range strings.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%v in line %q", err, line)
		}
	}
}

// fits SCHEMA FILE... wants every FILE (or stdout) to be a document of a
// shipped schema: brief, proposal or result.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fits SCHEMA FILE...")
	}
	text, err := os.ReadFile(filepath.Join(scriptsDir, "..", "loop", "handoff", "schemas", "forge."+args[0]+".1.json"))
	ts.Check(err)
	shipped, err := schema.Parse(text, schema.Limits{})
	ts.Check(err)
	compiled, err := schema.Compile(shipped.Root)
	ts.Check(err)
	for _, file := range args[1:] {
		document, err := schema.Parse([]byte(ts.ReadFile(file)), schema.Limits{})
		ts.Check(err)
		if err := compiled.Validate(document.Root); err != nil {
			ts.Fatalf("%s is no %s: %v", file, args[0], err)
		}
	}
}

// gone FILE waits until the process whose id stands in FILE has ended, and
// fails if that takes more than 10 seconds.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	for end := time.Now().Add(10 * time.Second); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("process %d is still there", pid)
		}
	}
}

// running says whether a process exists and is more than an exit status that
// nobody has fetched.
func running(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil || process.Signal(syscall.Signal(0)) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
