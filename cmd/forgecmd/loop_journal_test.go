package forgecmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forge/gitstore/vectors"
)

// journalVector is one vector of the journal's commands (loop.md section 14).
type journalVector struct {
	ID, Cmd string
	Args    struct {
		// tsv-append
		Experiment, Hypothesis, Before, After, Decision, Category, Duration *string
		Direction                                                           *string
		// coverage
		Categories []string
		Steps      []json.RawMessage
		// compact, agent-history, group-history, checkpoint
		Argv     []string
		Coverage json.RawMessage
		// purpose
		Rejected []json.RawMessage
		Initial  string
		// rejected
		Records []json.RawMessage
		Limit   json.Number
	}
	Stdout       string
	Exit         int
	Expect       map[string]any
	History      []json.RawMessage
	HistoryAfter []json.RawMessage `json:"history_after"`
	ArchiveIDs   []any             `json:"archive_ids"`
}

// hand is a person with a workspace.
type hand struct {
	*testing.T
	dir string
}

func (h hand) file(name string) string { return filepath.Join(h.dir, name) }

func (h hand) read(name string) string {
	h.Helper()
	data, err := os.ReadFile(h.file(name))
	if err != nil && !os.IsNotExist(err) {
		h.Fatal(err)
	}
	return string(data)
}

func (h hand) write(name, data string) {
	h.Helper()
	if err := os.WriteFile(h.file(name), []byte(data), 0o644); err != nil {
		h.Fatal(err)
	}
}

// lines writes a file of JSON Lines.
func (h hand) lines(name string, records []json.RawMessage) {
	h.Helper()
	text := ""
	for _, r := range records {
		text += string(r) + "\n"
	}
	h.write(name, text)
}

// forge runs one subcommand in the workspace.
func (h hand) forge(stdin string, args ...string) (code int, stdout, stderr string) {
	h.Helper()
	return forge(h.T, nil, stdin, slices.Concat([]string{"loop"}, args, []string{"-C", h.dir})...)
}

// ok runs one that must end well.
func (h hand) ok(stdin string, args ...string) string {
	h.Helper()
	code, stdout, stderr := h.forge(stdin, args...)
	if code != 0 {
		h.Fatalf("forge loop %q: exit %d, %s", args, code, stderr)
	}
	return stdout
}

// same compares a JSON text with what a vector expects.
func (h hand) same(what, got string, want any) {
	h.Helper()
	vectors.CheckDocument(h.T, map[string]json.RawMessage{what: json.RawMessage(got)}, map[string]any{what: want})
}

func TestJournalVectors(t *testing.T) {
	run := map[string]func(hand, journalVector){
		"tsv-append": hand.tsvAppend, "coverage": hand.coverage, "compact": hand.compact, "agent-history": hand.view, "group-history": hand.view,
		"rejected": hand.rejected, "purpose": hand.purpose, "checkpoint": hand.checkpoint,
	}
	for _, v := range vectors.Read[journalVector](t, os.Getenv("FORGE_VECTORS"), "loop.json",
		"tsv-append", "coverage", "compact", "agent-history", "group-history", "rejected", "purpose", "checkpoint") {
		t.Run(v.ID, func(t *testing.T) { run[v.Cmd](hand{t, t.TempDir()}, v) })
	}
}

func (h hand) tsvAppend(v journalVector) {
	args := []string{"tsv-append", "log.tsv"}
	for flag, value := range map[string]*string{
		"experiment": v.Args.Experiment, "hypothesis": v.Args.Hypothesis, "before": v.Args.Before, "after": v.Args.After,
		"decision": v.Args.Decision, "category": v.Args.Category, "duration": v.Args.Duration, "direction": v.Args.Direction,
	} {
		if value != nil {
			args = append(args, "--"+flag, *value)
		}
	}
	code, _, stderr := h.forge("", args...)
	if code != v.Exit {
		h.Fatalf("exit %d, want %d: %s", code, v.Exit, stderr)
	}
	if code != 0 {
		if h.read("log.tsv") != "" {
			h.Error("a failed command wrote the file")
		}
		return
	}
	const head = "timestamp\texperiment\thypothesis_summary\tmetric_before\tmetric_after\tdelta\tdecision\tcategory\tduration_s\n2026-05-08T09:00:00Z\t"
	if got, want := h.read("log.tsv"), head+vectors.Text(v.Expect["row_after_timestamp"]); got != want {
		h.Errorf("the log is %q, want %q", got, want)
	}
}

func (h hand) coverage(v journalVector) {
	h.ok("", "coverage-init", "c.json", "--categories", strings.Join(v.Args.Categories, ","))
	last := ""
	for i, raw := range v.Args.Steps {
		var step [3]string
		if err := json.Unmarshal(raw, &step); err != nil {
			h.Fatal(err)
		}
		last = h.ok("", "coverage-update", "c.json", "--category", step[0], "--decision", step[1], "--delta", step[2],
			"--experiment", "exp-00"+strconv.Itoa(i+1), "--direction", *v.Args.Direction, "--text")
	}
	if v.Stdout != "" && last != v.Stdout {
		h.Errorf("the text form is %q, want %q", last, v.Stdout)
	}
	vectors.CheckDocument(h.T, json.RawMessage(h.read("c.json")), v.Expect)
	if again := h.ok("", "coverage-init", "c.json"); again != h.read("c.json") {
		h.Errorf("a second coverage-init changes the matrix to %s", again)
	}
}

func (h hand) compact(v journalVector) {
	h.lines("history.jsonl", v.History)
	args := slices.Concat([]string{"compact", "history.jsonl"}, v.Args.Argv)
	before := h.read("history.jsonl")
	code, stdout, stderr := h.forge("", args...)
	if code != v.Exit {
		h.Fatalf("exit %d, want %d: %s", code, v.Exit, stderr)
	}
	if code != 0 {
		if h.read("history.jsonl") != before {
			h.Error("a failed command changed the history")
		}
		return
	}
	vectors.CheckDocument(h.T, json.RawMessage(stdout), v.Expect)
	after := strings.Split(strings.TrimSpace(h.read("history.jsonl")), "\n")
	if len(after) != len(v.HistoryAfter) {
		h.Fatalf("%d records, want %d", len(after), len(v.HistoryAfter))
	}
	for i, line := range after {
		h.same("record", line, decoded(h.T, v.HistoryAfter[i]))
	}
	ids := []any{}
	archive := h.read("history.archive.jsonl")
	for line := range strings.Lines(archive) {
		ids = append(ids, decoded(h.T, json.RawMessage(line)).(map[string]any)["id"])
	}
	if !slices.Equal(ids, v.ArchiveIDs) {
		h.Errorf("archived %v, want %v", ids, v.ArchiveIDs)
	}
	once := h.read("history.jsonl")
	h.ok("", args...)
	if h.read("history.jsonl") != once || h.read("history.archive.jsonl") != archive {
		h.Error("a second call changes something")
	}
}

func (h hand) view(v journalVector) {
	h.lines("history.jsonl", v.History)
	code, stdout, stderr := h.forge("", slices.Concat([]string{v.Cmd, "history.jsonl"}, v.Args.Argv)...)
	if code != v.Exit {
		h.Fatalf("exit %d, want %d: %s", code, v.Exit, stderr)
	}
	if code != 0 {
		return
	}
	vectors.CheckDocument(h.T, json.RawMessage(stdout), v.Expect)

	// R-HIST-2, R-SEG-3: the other forms give the same view.
	list := []string{}
	for _, r := range v.History {
		list = append(list, string(r))
	}
	h.write("history.json", `{"experiments": [`+strings.Join(list, ", ")+`]}`)
	if err := os.Mkdir(h.file("history"), 0o755); err != nil {
		h.Fatal(err)
	}
	half := len(v.History) / 2
	h.lines("history/0000.jsonl", v.History[:half])
	h.lines("history/0001.jsonl", v.History[half:])
	for _, form := range []string{"history.json", "history"} {
		if got := h.ok("", slices.Concat([]string{v.Cmd, form}, v.Args.Argv)...); got != stdout {
			h.Errorf("%s gives another view than the lines:\n%s", form, got)
		}
	}
}

func (h hand) rejected(v journalVector) {
	entries, _ := v.Expect["entries"].([]any)
	for i, record := range v.Args.Records {
		code, stdout, stderr := h.forge(string(record), "rejected-append", "deep/r.jsonl", "--from-json", "-")
		if code != v.Exit {
			h.Fatalf("exit %d, want %d: %s", code, v.Exit, stderr)
		}
		if code != 0 {
			return
		}
		stored := decoded(h.T, json.RawMessage(stdout)).(map[string]any)
		if stored["timestamp"] != "2026-05-08T09:00:00Z" {
			h.Errorf("the timestamp is %v", stored["timestamp"])
		}
		delete(stored, "timestamp")
		vectors.CheckDocument(h.T, map[string]any{"entry": stored}, map[string]any{"entry": entries[i]})
	}
	text := h.ok("", "rejected-format", "deep/r.jsonl", "--limit", v.Args.Limit.String())
	_, after, _ := strings.Cut(text, "\n\n")
	if want := vectors.Text(v.Expect["format_after_header"]); after != want {
		h.Errorf("rejected-format prints\n%s\nwant after the header\n%s", text, want)
	}
}

func (h hand) purpose(v journalVector) {
	h.lines("rejected.jsonl", v.Args.Rejected)
	if v.Args.Initial != "" {
		h.write("PURPOSE.md", v.Args.Initial)
	}
	appends, _ := v.Expect["appends"].([]any)
	for i, raw := range v.Args.Steps {
		args := []string{"purpose-append", "PURPOSE.md", "--rejected", "rejected.jsonl"}
		for flag, value := range decoded(h.T, raw).(map[string]any) {
			list, isList := value.([]any)
			if !isList {
				list = []any{value}
			}
			for _, one := range list {
				args = append(args, "--"+flag, vectors.Text(one))
			}
		}
		want := appends[i].(map[string]any)
		code, stdout, stderr := h.forge("", args...)
		if exit := vectors.Text(want["exit"]); strconv.Itoa(code) != exit {
			h.Fatalf("exit %d, want %s: %s", code, exit, stderr)
		}
		if code == 0 {
			got := decoded(h.T, json.RawMessage(stdout)).(map[string]any)
			delete(got, "path")
			vectors.CheckDocument(h.T, map[string]any{"out": got}, map[string]any{"out": want["out"]})
		}
	}
	text := h.read("PURPOSE.md")
	if i := strings.Index(text, "\n## "); i >= 0 {
		text = text[i:]
	}
	if v.Args.Initial == "" {
		text = regexp.MustCompile(`2026-05-08`).ReplaceAllString(text, "<DATE>")
	}
	if want := vectors.Text(v.Expect["entries"]); text != want {
		h.Errorf("the file is\n%s\nwant\n%s", text, want)
	}
	lists := h.ok("", "purpose-format", "PURPOSE.md")
	if i := strings.Index(lists, "Kept here:"); i >= 0 {
		lists = lists[i:]
	}
	if want := vectors.Text(v.Expect["format_lists"]); lists != want {
		h.Errorf("purpose-format prints\n%s\nwant\n%s", lists, want)
	}
}

func (h hand) checkpoint(v journalVector) {
	args := slices.Concat([]string{"checkpoint-save", "."}, v.Args.Argv)
	if args[len(args)-1] == "--coverage-path" {
		h.write("c.json", string(v.Args.Coverage))
		args = append(args, "c.json")
	}
	code, stdout, stderr := h.forge("", args...)
	if code != v.Exit {
		h.Fatalf("exit %d, want %d: %s", code, v.Exit, stderr)
	}
	if code != 0 {
		if h.read("checkpoint.json") != "" {
			h.Error("a failed command wrote the file")
		}
		return
	}
	if stdout != h.read("checkpoint.json") {
		h.Error("what is printed is not what is stored")
	}
	vectors.CheckDocument(h.T, json.RawMessage(stdout), v.Expect["checkpoint"].(map[string]any))
	code, stdout, _ = h.forge("", "checkpoint-info", ".")
	_, warns := decoded(h.T, json.RawMessage(stdout)).(map[string]any)["warning"]
	if want := vectors.Text(v.Expect["info_exit"]); strconv.Itoa(code) != want || warns != v.Expect["info_has_warning"] {
		h.Errorf("checkpoint-info: exit %d, warns %t; want %v", code, warns, v.Expect)
	}
}

// decoded is a JSON text with numbers as text.
func decoded(t *testing.T, text json.RawMessage) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return value
}
