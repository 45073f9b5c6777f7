package purpose

import (
	"strings"
	"testing"

	"forge/loop/journal"
)

func change(experiment string) Change {
	return Change{Experiment: experiment, Category: "c", MutationType: "t", Hypothesis: "h", Date: "2026-09-19"}
}

// R-PURPOSE-4: which rejected attempts stand with an entry.
func TestPredecessors(t *testing.T) {
	refused := func(list string) []journal.Refused {
		var all []journal.Refused
		for word := range strings.FieldsSeq(list) { // EXPERIMENT:CATEGORY:RUN
			parts := strings.Split(word, ":")
			all = append(all, journal.Refused{Experiment: parts[0], Category: " " + parts[1] + "\n", Run: parts[2], Decision: "REVERT"})
		}
		return all
	}
	tests := map[string]struct {
		before   string // experiments recorded already, with that buffer
		change   Change
		buffer   string
		expected string
	}{
		"between the entries":    {"exp-002", change("exp-006"), "exp-001:c: exp-002:c: exp-005:c: exp-003:c: exp-006:c: exp-007:c:", "exp-003 exp-005"},
		"of the same category":   {"", change("exp-003"), "exp-001:d: exp-002:c:", "exp-002"},
		"by number, not text":    {"exp-999", change("exp-1002"), "exp-1001:c: exp-1000:c: exp-998:c:", "exp-1000 exp-1001"},
		"of the same run":        {"", Change{Experiment: "exp-003", Category: "c", MutationType: "t", Run: "r1", Date: "2026-09-19"}, "exp-001:c:r1 exp-001:c:r2 exp-002:c:", "exp-001 exp-002"},
		"another run's entry":    {"exp-005", Change{Experiment: "exp-003", Category: "c", MutationType: "t", Run: "r1", Date: "2026-09-19"}, "exp-002:c:r1", "exp-002"},
		"without numbers":        {"", change("final"), "b:c: a:c: final:c:", "b a"},
		"a name twice":           {"", change("exp-003"), "exp-001:c: exp-002:c: exp-001:c:", "exp-001 exp-002"},
		"recorded later":         {"exp-009", change("exp-005"), "exp-004:c:", ""},
		"a number out of bounds": {"", change("exp-99999999999999999999"), "exp-001:c:", "exp-001"},
	}
	for name, tt := range tests {
		var file []byte
		for experiment := range strings.FieldsSeq(tt.before) {
			done, err := Append(file, change(experiment))
			if err != nil {
				t.Fatal(err)
			}
			file = done.Data
		}
		tt.change.Rejected = refused(tt.buffer)
		done, err := Append(file, tt.change)
		if got := strings.Join(done.Predecessors, " "); err != nil || got != tt.expected {
			t.Errorf("%s: predecessors %q, %v, want %q", name, got, err, tt.expected)
		}
	}
}

// Each attempt is attributed once, also one without a number (R-PURPOSE-4).
func TestAttributedOnce(t *testing.T) {
	first := change("exp-002")
	first.Rejected = []journal.Refused{{Experiment: "exp-001", Category: "c"}, {Experiment: "draft a", Category: "c"}}
	one, err := Append(nil, first)
	if err != nil {
		t.Fatal(err)
	}
	second := change("exp-004")
	second.Rejected = append(first.Rejected, journal.Refused{Experiment: "draft b", Category: "c"})
	two, err := Append(one.Data, second)
	if got := strings.Join(two.Predecessors, ", "); err != nil || got != "draft b" {
		t.Errorf("the second entry lists %q, %v, want draft b", got, err)
	}
}

// R-PURPOSE-6: a heading that cannot be read ends the entry before it, and its
// lines belong to nothing.
func TestParse(t *testing.T) {
	file := "# Purpose\n\n**Hypothesis:** of nothing\n\n" +
		"## exp-001 — c — t — 2026-09-19\r\n\r\n**Hypothesis:** one\r\n**Hypothesis:** a second one\n" + listLabel + "\n\n- exp-000 t REVERT — x\nprose\n- no attempt\n" +
		"## exp-002 — c — 2026-09-19\n**Hypothesis:** three parts\n" +
		"## exp-003 — c — t — yesterday\n**Hypothesis:** no date\n" +
		"### exp-004 — c — t — 2026-09-19\n**Hypothesis:** another level\n" +
		"## exp-005 — a — b — c — 2026-09-19\n**Hypothesis:** five parts\n" +
		"##exp-006 — c — t — 2026-09-19\n" +
		"## exp-007 — c — t — 2026-09-19\n**Run:** r1\n# Ours\n**Score:** 1 → 2 (+1)\n"
	entries := Parse([]byte(file))
	if len(entries) != 2 {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}
	if e := entries[0]; e.Experiment != "exp-001" || e.Hypothesis != "one" || strings.Join(e.Rejected, "|") != "exp-000 t REVERT — x" {
		t.Errorf("the first entry is %+v", e)
	}
	if e := entries[1]; e.Experiment != "exp-007" || e.Run != "r1" || e.Score != "" || e.Hypothesis != "" {
		t.Errorf("the second entry is %+v", e)
	}
}

// R-PURPOSE-1: the preface is written once, and nothing that stands in the
// file already changes.
func TestAppendKeepsTheFile(t *testing.T) {
	for _, file := range []string{"", " \n", "# Mine", "## exp-001 — c — t — 2026-09-19\r\n", "\xff\xfe"} {
		done, err := Append([]byte(file), change("exp-002"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.HasPrefix(string(done.Data), preface), strings.TrimSpace(file) == ""; got != want {
			t.Errorf("%q begins with the preface: %t", file, got)
		}
		if strings.TrimSpace(file) != "" && !strings.HasPrefix(string(done.Data), file) {
			t.Errorf("%q became %q", file, done.Data)
		}
		if strings.Count(string(done.Data), "\n## exp-002") != 1 {
			t.Errorf("%q lacks the entry", done.Data)
		}
	}
}

// Whatever the file and the fields hold: what was appended is the last entry,
// is recorded once, and in a prompt no text of it begins a line.
func FuzzAppend(f *testing.F) {
	f.Add([]byte("# Purpose\n\n## exp-001 — c — t — 2026-09-19\n\n**Run:** r\n"), "exp-002", "a — b", "x\n## y", "r")
	f.Add([]byte("\xff## "), "e\u2028", "c", "", "")
	f.Fuzz(func(t *testing.T, file []byte, experiment, category, text, run string) {
		c := Change{
			Experiment: experiment, Category: category, MutationType: "t", Hypothesis: text, Section: text, Pattern: text, Run: run, Date: "2026-09-19",
			Rejected: []journal.Refused{{Experiment: text, Category: category, Hypothesis: text}},
		}
		before := Parse(file)
		done, err := Append(file, c)
		if err != nil || done.Data == nil {
			return
		}
		entries := Parse(done.Data)
		if len(entries) != len(before)+1 {
			t.Fatalf("%d entries became %d in\n%s", len(before), len(entries), done.Data)
		}
		last := entries[len(before)]
		if last.Experiment != done.Experiment || last.Category != done.Category || last.Run != journal.Fold(run) || last.Hypothesis != journal.Fold(text) {
			t.Errorf("the entry is read back as %+v", last)
		}
		if again, err := Append(done.Data, c); err != nil || again.Data != nil {
			t.Errorf("it is recorded twice, %v", err)
		}
		shown, err := Format(done.Data, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(shown, caveat), "\n"), "\n") {
			if line != "" && line != "Kept here:" && line != "Failed here:" && !strings.HasPrefix(line, "- ") {
				t.Errorf("a text begins the line %q", line)
			}
		}
	})
}
