package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"

	"forge/gitstore/schema"
)

// replySchema names what a runner may write to FORGE_RESULT.
const replySchema = "forge.runner/1"

const (
	maxReply       = 4 << 20  // bytes of the result file
	maxOutputs     = 64 << 20 // bytes of all output files
	maxOutputFiles = 1000
)

// reply is the result file of a runner; without one everything is as if it had
// said nothing (handoff.md section 4.2).
type reply struct {
	Outcome    Outcome
	Loaded     []string // skills; nil: not said
	Tokens     *int64   // all of them; nil: not said
	Transcript string   // path below the outputs; "" for none
}

// outcomes are those a runner may say its run had (clients.md R-CL-RES-2).
var outcomes = []Outcome{OK, "api_error", "cut", "max_turns", "budget", "denied", "aborted", TimedOut, "not_started", Empty, Failed}

// readReply reads the result file; data is nil if there is none.
func readReply(name string) (r reply, data []byte, err error) {
	r.Outcome = OK
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil, nil
	case err != nil:
		return r, nil, err
	case !info.Mode().IsRegular():
		return r, nil, errors.New("it is no regular file")
	}
	file, err := os.Open(name)
	if err != nil {
		return r, nil, err
	}
	defer file.Close()
	if data, err = io.ReadAll(io.LimitReader(file, maxReply+1)); err != nil {
		return r, nil, err
	}
	if len(data) > maxReply {
		return r, data[:maxReply], fmt.Errorf("it has more than %d MiB", maxReply>>20)
	}
	document, err := schema.Parse(data, schema.Limits{Size: maxReply})
	if err != nil {
		return r, data, err
	}
	r, err = parseReply(document.Root)
	return r, data, err
}

// parseReply reads the document. Members it does not know are passed over.
func parseReply(root *schema.Node) (reply, error) {
	r := reply{Outcome: OK}
	if root.Kind != schema.Object {
		return r, fmt.Errorf("it is %s, want an object", root.Kind)
	}
	if named, _ := root.Get("schema").AsText(); named != replySchema {
		return r, fmt.Errorf("its schema is %q, want %q", named, replySchema)
	}
	if n := root.Get("outcome"); n != nil {
		text, _ := n.AsText()
		if r.Outcome = Outcome(text); !slices.Contains(outcomes, r.Outcome) {
			return r, fmt.Errorf("its outcome %q is not known", text)
		}
	}
	if n := root.Get("skills_loaded"); n != nil && n.Kind != schema.Null {
		if n.Kind != schema.Array {
			return r, fmt.Errorf("its skills_loaded is %s, want a list", n.Kind)
		}
		r.Loaded = []string{}
		for _, item := range n.Items {
			name, ok := item.AsText()
			if !ok {
				return r, fmt.Errorf("its skills_loaded holds %s, want names", item.Kind)
			}
			r.Loaded = append(r.Loaded, name)
		}
	}
	if n := root.Get("transcript"); n != nil && n.Kind != schema.Null {
		name, ok := n.AsText()
		if r.Transcript = path.Clean(name); !ok || !fs.ValidPath(r.Transcript) || r.Transcript == "." {
			return r, errors.New("its transcript is no path below FORGE_OUTPUT")
		}
	}
	return r, r.readTokens(root.Get("tokens"))
}

// readTokens adds up the counts that are there.
func (r *reply) readTokens(n *schema.Node) error {
	if n == nil || n.Kind == schema.Null {
		return nil
	}
	sum := int64(0)
	for _, name := range []string{"input", "output", "cache_read", "cache_write"} {
		part := n.Get(name)
		if part == nil {
			continue
		}
		count, ok := part.AsInt()
		if !ok || count < 0 || count > 1e15 {
			return fmt.Errorf("its tokens.%s is no count", name)
		}
		sum, r.Tokens = sum+count, &sum
	}
	return nil
}

// transcript is the file the reply names among the outputs, nil without one.
func (r reply) transcript(made []Input) ([]byte, error) {
	if r.Transcript == "" {
		return nil, nil
	}
	i := slices.IndexFunc(made, func(f Input) bool { return f.Path == r.Transcript })
	if i < 0 {
		return nil, fmt.Errorf("the result file: there is no transcript %q below FORGE_OUTPUT", r.Transcript)
	}
	return made[i].Data, nil
}

// errTooMuch is a runner that made more than is read.
var errTooMuch = errors.New("more than is read")

// collect reads the regular files a runner left in its directory for outputs,
// sorted by path; links and what is no file are no outputs. An error is the
// runner's: its reason is one line and names no path outside the directory.
func collect(dir string) ([]Input, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.New("the directory for outputs is gone or cannot be read")
	}
	defer root.Close()
	var made []Input
	total := int64(0)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("the output %q cannot be read", name)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		if len(made) == maxOutputFiles {
			return fmt.Errorf("%w: over %d output files", errTooMuch, maxOutputFiles)
		}
		data, err := readOutput(root, name, maxOutputs-total)
		if total += int64(len(data)); err == nil && total > maxOutputs {
			err = fmt.Errorf("%w: over %d MiB of output files", errTooMuch, maxOutputs>>20)
		}
		made = append(made, Input{Path: name, Data: data})
		return err
	})
	return made, err
}

// readOutput reads a file that was regular a moment ago, one byte beyond most.
func readOutput(root *os.Root, name string, most int64) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the output %q cannot be read", name)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, fmt.Errorf("the output %q cannot be read", name)
	}
	return data, nil
}

// measuring are the names of files that a score is read from. An output of that
// name is kept under another one, or a runner could write its own grades
// (handoff.md A31).
var measuring = regexp.MustCompile(`^(grading|timing|grading_results|comparison)\.json(\.out)*$`)

// harmless is the name an output is kept under.
func harmless(name string) string {
	if measuring.MatchString(path.Base(name)) {
		return name + ".out"
	}
	return name
}
