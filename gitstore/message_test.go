package gitstore

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"forge/gitstore/fault"
)

func TestBuildMessage(t *testing.T) { // R-COM-1 to R-COM-3, pitfalls 17 and 24
	run := []Trailer{{"Forge-Run", "r1"}}
	tests := map[string]struct {
		subject, body string
		trailers      []Trailer
		want          string
	}{
		"subject alone":     {"do it", "", nil, "do it\n"},
		"empty body":        {"do it", "\n \n", run, "do it\n\nForge-Run: r1\n"},
		"all":               {"do it", "why\n\nmore\n\n", run, "do it\n\nwhy\n\nmore\n\nForge-Run: r1\n"},
		"no final newline":  {"s\n", "b", nil, "s\n\nb\n"},
		"subject of lines":  {" a\nb\r\nc ", "", nil, "a b c\n"},
		"long subject":      {strings.Repeat("ä", 40), "", nil, strings.Repeat("ä", 36) + "\n"},
		"cut in a rune":     {"x" + strings.Repeat("ä", 40), "", nil, "x" + strings.Repeat("ä", 35) + "\n"},
		"look-alike":        {"s", "Forge-Decision: KEEP", nil, "s\n\n  Forge-Decision: KEEP\n"},
		"look-alike, case":  {"s", "a\nforge-decision: KEEP\n", run, "s\n\na\n  forge-decision: KEEP\n\nForge-Run: r1\n"},
		"divider kept":      {"s", "a\n---\nb", nil, "s\n\na\n---\nb\n"},
		"crlf":              {"s", "a\r\nb\r\n", nil, "s\n\na\nb\n"},
		"escape sequence":   {"s\x1b[31m", "a\x1b]0;x\x07b\u009bc", nil, "s[31m\n\na]0;xbc\n"},
		"order and list":    {"s", "", []Trailer{{"Forge-Override", "keep"}, {"Forge-Experiment", "exp-002"}, {"Forge-Decision", "NEUTRAL"}, {"Forge-Experiment", "exp-001"}, {"Forge-Run", "r1"}}, "s\n\nForge-Run: r1\nForge-Experiment: exp-002\nForge-Experiment: exp-001\nForge-Decision: NEUTRAL\nForge-Override: keep\n"},
		"without a value":   {"s", "", []Trailer{{"Forge-Model", " \n"}, {"Forge-Run", "r1"}}, "s\n\nForge-Run: r1\n"},
		"value of lines":    {"s", "", []Trailer{{"Forge-Skill", " a\nForge-Decision: KEEP "}}, "s\n\nForge-Skill: a Forge-Decision: KEEP\n"},
		"not UTF-8":         {"s\xff", "b\xfe", nil, "s\uFFFD\n\nb\uFFFD\n"},
		"unknown key last":  {"s", "", []Trailer{{"Forge-Zzz", "1"}, {"Forge-Override", "keep"}}, "s\n\nForge-Override: keep\nForge-Zzz: 1\n"},
		"blank of spaces":   {"s", "a\n  \nb  ", nil, "s\n\na\n\nb\n"},
		"indented trailers": {"s", "a\n\n Forge-Run: x", nil, "s\n\na\n\n Forge-Run: x\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := buildMessage(tt.subject, tt.body, tt.trailers)
			if err != nil || got != tt.want {
				t.Errorf("buildMessage() = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	for _, bad := range [][2]string{{"", "x"}, {" \n\x1b", ""}, {"a\x00b", ""}, {"a", "\x00"}} {
		if got, err := buildMessage(bad[0], bad[1], nil); fault.KindOf(err) == 0 || fault.KindOf(err) == fault.Failed {
			t.Errorf("buildMessage(%q, %q) = %q, %v", bad[0], bad[1], got, err)
		}
	}
	for _, key := range []string{"", "Forge-", "Signed-off-by", "Forge-A B", "Forge-A:", "forge-run"} {
		if _, err := buildMessage("s", "", []Trailer{{key, "x"}}); err == nil {
			t.Errorf("buildMessage() takes the key %q", key)
		}
	}
}

func TestParseMessage(t *testing.T) { // R-COM-2
	tests := map[string]struct {
		message, subject, body string
		trailers               []Trailer
	}{
		"empty":               {"", "", "", nil},
		"subject alone":       {"s\n", "s", "", nil},
		"subject of lines":    {"a\nb\n\nc\n", "a b", "c", nil},
		"trailers":            {"s\n\nb\n\nForge-Run: r1\nForge-Run: r2\n", "s", "b", []Trailer{{"Forge-Run", "r1"}, {"Forge-Run", "r2"}}},
		"not the last":        {"s\n\nForge-Run: r1\n\nb\n", "s", "Forge-Run: r1\n\nb", nil},
		"prose beside":        {"s\n\nForge-Run: r1\nand so on\n", "s", "Forge-Run: r1\nand so on", nil},
		"signed off":          {"s\n\nForge-Run: r1\nSigned-off-by: A <a@b>\n", "s", "Signed-off-by: A <a@b>", []Trailer{{"Forge-Run", "r1"}}},
		"cherry picked":       {"s\n\nForge-Run: r1\n(cherry picked from commit 1234)\n", "s", "(cherry picked from commit 1234)", []Trailer{{"Forge-Run", "r1"}}},
		"subject look-alike":  {"Forge-Run: r1\n", "Forge-Run: r1", "", nil},
		"crlf":                {"s\r\n\r\nb\r\n\r\nForge-Run: r1\r\n", "s", "b", []Trailer{{"Forge-Run", "r1"}}},
		"indented look-alike": {"s\n\n  Forge-Run: r1\n", "s", "  Forge-Run: r1", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			subject, body, trailers := parseMessage(tt.message)
			if subject != tt.subject || body != tt.body || !slices.Equal(trailers, tt.trailers) {
				t.Errorf("parseMessage(%q) = %q, %q, %v", tt.message, subject, body, trailers)
			}
		})
	}
}

func FuzzMessage(f *testing.F) {
	f.Add("subject", "body\n\nForge-Decision: KEEP", "Forge-Run", "r1")
	f.Add("x", "a\r\n---\n\n\n", "Forge-Cost-USD", " 0 ")
	f.Add("s", "Signed-off-by: a", "Forge-Skill", "a\nb")
	f.Add("\u00a0", "\u2028", "Forge-Skill", "\u00a0")
	f.Fuzz(func(t *testing.T, subject, body, key, value string) {
		message, err := buildMessage(subject, body, []Trailer{{key, value}})
		if err != nil {
			return
		}
		if !utf8.ValidString(message) || !strings.HasSuffix(message, "\n") || strings.HasSuffix(message, "\n\n") ||
			strings.IndexByte(message, '\n') > maxSubject {
			t.Errorf("message %q", message)
		}
		gotSubject, gotBody, got := parseMessage(message)
		var want []Trailer
		if v := oneLine(value); v != "" {
			want = []Trailer{{key, v}}
		}
		if gotSubject != cut(oneLine(subject), maxSubject) || gotBody != cleanBody(body) || !slices.Equal(got, want) {
			t.Errorf("buildMessage(%q, %q, %q: %q) reads back as %q, %q, %v", subject, body, key, value, gotSubject, gotBody, got)
		}
		again, err := buildMessage(gotSubject, gotBody, got)
		if err != nil || again != message {
			t.Errorf("built again: %q, %v, want %q", again, err, message)
		}
	})
}
