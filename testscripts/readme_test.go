package testscripts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/gitstore/fault"
	"forge/gitstore/process"
)

// documents are the texts people read, from the module's root; those that are
// there are checked.
var documents = []string{"README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", ".github/DESIGN.md", ".github/SECURITY.md", "gitstore/FORMAT.md"}

// texts reads the documents that exist.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range documents {
		data, err := os.ReadFile(filepath.Join("..", name))
		if err == nil {
			found[name] = string(data)
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if len(found) == 0 {
		t.Fatal("no document at all")
	}
	return found
}

// The README's table of exit codes is the kinds of package fault
// (DECISIONS H1).
func TestReadmeExitCodes(t *testing.T) {
	text, ok := texts(t)["README.md"]
	if !ok {
		t.Fatal("README.md is missing")
	}
	want := []string{"0"}
	for _, kind := range []fault.Kind{fault.Failed, fault.Usage, fault.Refused, fault.Conflict, fault.Nothing, fault.Crash, fault.Interrupted} {
		want = append(want, strconv.Itoa(int(kind)))
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| *`?([0-9]+)`? *\\|").FindAllStringSubmatch(text, -1) {
		got = append(got, row[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the exit codes of README.md are %v, want %v", got, want)
	}
}

var (
	shown  = regexp.MustCompile(`^\$? ?forge ([a-z][a-z-]*)`) // at the start of a piece of code
	inline = regexp.MustCompile("`([^`]+)`")
)

// commandsShown are the commands in a document's code, in blocks and in
// sentences.
func commandsShown(text string) []string {
	var list []string
	block := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			block = !block
			continue
		}
		pieces := []string{strings.TrimSpace(line)}
		if !block {
			pieces = nil
			for _, match := range inline.FindAllStringSubmatch(line, -1) {
				pieces = append(pieces, match[1])
			}
		}
		for _, piece := range pieces {
			if match := shown.FindStringSubmatch(piece); match != nil {
				list = append(list, match[1])
			}
		}
	}
	return list
}

// Every command a document shows exists. DESIGN.md speaks of what is to come,
// too.
func TestDocumentedCommands(t *testing.T) {
	known := map[string]bool{}
	for name, text := range texts(t) {
		if name == ".github/DESIGN.md" {
			continue
		}
		for _, command := range commandsShown(text) {
			if _, asked := known[command]; !asked {
				known[command] = exists(t, command)
			}
			if !known[command] {
				t.Errorf("%s shows forge %s, which does not exist", name, command)
			}
		}
	}
	if len(known) < 3 {
		t.Errorf("the documents show %d commands", len(known))
	}
}

// exists asks forge for the help of a command.
func exists(t *testing.T, name string) bool {
	t.Helper()
	result, err := process.Plain(context.Background(), process.Command{
		Argv: []string{"forge", "help", name}, Dir: t.TempDir(), Env: os.Environ(), Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.OK()
}

// Every relative link of a document leads somewhere.
func TestDocumentedLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	for name, text := range texts(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			path := filepath.Join("..", filepath.Dir(name), match[1])
			if strings.HasPrefix(match[1], "/") {
				path = filepath.Join("..", match[1])
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, match[1])
			}
		}
	}
}
