package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"sharp s":        {"Straße", "strasse"},
		"final sigma":    {"ΣΟΦΟΣ", "σοφοσ"},
		"full width":     {"Ａｂｃ１", "abc1"},
		"ligature":       {"ﬁne", "fine"},
		"white space":    {"A  b\n", "a  b\n"},
		"not UTF-8":      {"A\xff", "a\ufffd"},
		"nothing at all": {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { // R-NORM-1
			if got := Fold(tt.in); got != tt.want {
				t.Errorf("Fold(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestKey(t *testing.T) { // R-SF-D-6
	tests := map[string]struct {
		a, b string
		same bool
	}{
		"case":         {"PDF", "pdf", true},
		"normal forms": {"cafe\u0301", "café", true},
		"both":         {"CAFE\u0301", "café", true},
		"sharp s":      {"straße", "STRASSE", true},
		"full width":   {"ａ", "a", false}, // NFC, not NFKC
		"different":    {"a", "b", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Key(tt.a) == Key(tt.b); got != tt.same {
				t.Errorf("Key(%q) == Key(%q) is %t, want %t", tt.a, tt.b, got, tt.same)
			}
		})
	}
}

func TestNormalise(t *testing.T) { // R-NORM-1 to R-NORM-3
	tests := map[string]struct{ in, want string }{
		"underscore joins": {"a_b", "a_b"},
		"hyphen splits":    {"e-mail", "e mail"},
		"decimal comma":    {"3,14", "3 14"},
		"dotted capital I": {"İstanbul", "i stanbul"},
		"zero width":       {"a\u200bb", "a b"},
		"separators":       {"a\u001cb\u2028c\u00a0d", "a b c d"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Normalise(tt.in); got != tt.want {
				t.Errorf("Normalise(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
	if got := Collapse("\u001f a \t\u0085b\u2029"); got != "a b" {
		t.Errorf("Collapse = %q, want %q", got, "a b")
	}
}

func TestTokens(t *testing.T) { // RC-CLUST-1
	tests := map[string]struct {
		in   string
		want []string
	}{
		"order and repeats":    {"head to head", []string{"head", "head"}},
		"stop words":           {"Use this skill when you can.", nil},
		"hyphens separate":     {"code-review", []string{"code", "review"}},
		"underscore separates": {"code_review", []string{"code", "review"}},
		"apostrophe":           {"it's", nil},
		"no stemming":          {"benchmark benchmarks", []string{"benchmark", "benchmarks"}},
		"marks belong":         {"cafe\u0301 x\u0323", []string{"café", "x\u0323"}},
		"digits":               {"2 notes v3", []string{"2", "notes", "v3"}},
		"superscript":          {"m²", []string{"m2"}},
		"pairs":                {"代码审查", []string{"代码", "码审", "审查"}},
		"a single character":   {"图", []string{"图"}},
		"two scripts":          {"python代码v2", []string{"python", "代码", "v2"}},
		"prolonged sound":      {"ルール", []string{"ルー", "ール"}},
		"half width":           {"ﾙｰﾙ", []string{"ルー", "ール"}},
		"iteration mark":       {"人々", []string{"人々"}},
		"Hangul":               {"코드리뷰", []string{"코드", "드리", "리뷰"}},
		"a loose mark":         {"あ゙い", []string{"あ\u3099い"}},
		"ideographic zero":     {"二〇二六", []string{"二〇", "〇二", "二六"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Tokens(tt.in); !slices.Equal(got, tt.want) {
				t.Errorf("Tokens(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestWindows(t *testing.T) { // K3, R-SF-TR-5
	words := strings.Fields("a b c d e f g h i")
	tests := map[string]struct {
		words          []string
		windows, query Set
	}{
		"nine":  {words, Set{"a b c d e f g h", "b c d e f g h i"}, Set{"a b c d e f g h", "b c d e f g h i"}},
		"eight": {words[:8], Set{"a b c d e f g h"}, Set{"a b c d e f g h"}},
		"seven": {words[:7], nil, Set{"a b c d e f g"}},
		"three": {words[:3], nil, Set{"a b c"}},
		"two":   {words[:2], nil, nil},
		"none":  {nil, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Windows(tt.words); !slices.Equal(got, tt.windows) {
				t.Errorf("Windows(%q) = %q, want %q", tt.words, got, tt.windows)
			}
			if got := QueryWindows(tt.words); !slices.Equal(got, tt.query) {
				t.Errorf("QueryWindows(%q) = %q, want %q", tt.words, got, tt.query)
			}
		})
	}
	if !Holds("x a b c", "a b c") || Holds("xa b c", "a b c") || Holds("a b cd", "a b c") {
		t.Error("Holds does not keep to word boundaries")
	}
}

func TestFractions(t *testing.T) {
	a, b := NewSet([]string{"a", "b", "c", "a"}), NewSet([]string{"b", "c", "d", "e"})
	if got, want := Overlap(a, b), (Fraction{2, 3}); got != want {
		t.Errorf("Overlap(%q, %q) = %v, want %v", a, b, got, want)
	}
	if got, want := Jaccard(a, b), (Fraction{2, 5}); got != want {
		t.Errorf("Jaccard(%q, %q) = %v, want %v", a, b, got, want)
	}
	if f := Overlap(nil, a); f.AtLeast(1, 10) || !f.AtLeast(0, 1) {
		t.Errorf("Overlap of an empty set = %v, want one that counts as 0", f)
	}
	if f := (Fraction{3, 5}); !f.AtLeast(6, 10) || f.AtLeast(7, 10) {
		t.Errorf("%v.AtLeast is not exact", f)
	}
	if !a.Has("b") || a.Has("d") {
		t.Errorf("Has is wrong for %q", a)
	}
}

// The worked pairs of curator.md section 6.1.
func TestWorkedPairs(t *testing.T) { // RC-CLUST-2 to RC-CLUST-4; C12
	type skill struct{ name, description string }
	tests := map[string]struct {
		a, b              skill
		name, description Fraction
		linked            bool
	}{
		"P01": {skill{"code-review-python", "Review Python code for bugs."}, skill{"python-code-review", "Checks Python changes before merging."}, Fraction{3, 3}, Fraction{1, 4}, true},
		"P02": {skill{"pdf", "Read text out of PDF files."}, skill{"pdf-forms", "Fill in PDF forms."}, Fraction{1, 1}, Fraction{1, 3}, false},
		"P03": {skill{"notes", "Keep a meeting log."}, skill{"apple-notes", "Create entries in Apple Notes."}, Fraction{1, 1}, Fraction{0, 3}, false},
		"P04": {skill{"fix-ci-github", "Repair failing GitHub Actions jobs."}, skill{"fix-ci-gitlab", "Repair failing GitLab pipelines."}, Fraction{2, 3}, Fraction{2, 4}, true},
		"P05": {skill{"regex-tools", "Build and explain regular expressions."}, skill{"pattern-matching", "Write patterns that match text."}, Fraction{0, 2}, Fraction{0, 4}, false},
		"P06": {skill{"skill-crafter", "Write and refine your own skill. Not for auditing a finished skill (use skill-auditor)."},
			skill{"skill-auditor", "Audit a finished skill for compliance. Not for writing your own skill (use skill-crafter)."}, Fraction{0, 1}, Fraction{0, 2}, false}, // S34
		"P07": {skill{"model-head-to-head-benchmarks", "Compare two language models head to head with a fair contract and pinned settings."},
			skill{"llm-head-to-head-benchmarks", "Compare two language models head to head with a fair contract and pinned settings."}, Fraction{2, 3}, Fraction{9, 9}, true},
		"P08": {skill{"llm-head-to-head-benchmarks", "Ranks chat models."}, skill{"head-to-head-model-benchmark", "Scores two systems."}, Fraction{1, 3}, Fraction{0, 3}, false},
		"P09": {skill{"voice-cloning", "Clone a voice from a short sample."}, skill{"ai-dubbing-voice-cloning", "Dub a video with a cloned voice."}, Fraction{2, 2}, Fraction{1, 4}, true},
		"P10": {skill{"cli-usage", "How to call the tool."}, skill{"client-workflow", "Onboarding steps for client work."}, Fraction{0, 2}, Fraction{0, 2}, false},
		"P11": {skill{"changelog-writer", "Write a changelog entry from the merged commits of a release."}, skill{"release-notes", "Write release notes from the merged commits of a release."}, Fraction{0, 2}, Fraction{4, 5}, true},
		"P12": {skill{"代码审查", "审查代码并给出修改建议。"}, skill{"代码审查助手", "审查代码并给出修改意见。"}, Fraction{3, 3}, Fraction{8, 10}, true},
		"P13": {skill{"use-when", "Use when needed."}, skill{"the-skill", "Use this skill when you can."}, Fraction{0, 0}, Fraction{0, 0}, false},
		"P14": {skill{"Café-Notes", "Notes about cafés."}, skill{"café-notes-2", "Keeps café notes."}, Fraction{2, 2}, Fraction{1, 2}, true},
		"P15": {skill{"deploy-aws", "Deploy a service. Use deploy-gcp instead for Google Cloud."}, skill{"deploy-gcp", "Deploy a service to Google Cloud. Don't use for AWS; see deploy-aws."}, Fraction{1, 2}, Fraction{2, 2}, true},
		"P16": {skill{"sql-tuning", "Tune slow queries."}, skill{"query-plans", "Tune slow queries in PostgreSQL and read their plans."}, Fraction{0, 2}, Fraction{3, 3}, true},
		"P17": {skill{"api-design-rest", "Design HTTP resources."}, skill{"rest-api", "Call HTTP services."}, Fraction{2, 2}, Fraction{1, 3}, true},
	}
	for id, tt := range tests {
		t.Run(id, func(t *testing.T) {
			a := NewTopic(tt.a.name, tt.a.description, []string{tt.b.name})
			b := NewTopic(tt.b.name, tt.b.description, []string{tt.a.name})
			want := Likeness{tt.name, tt.description}
			if got := Compare(a, b); got != want || got.Linked() != tt.linked {
				t.Errorf("Compare(%v, %v) = %v, linked %t; want %v, linked %t", a, b, got, got.Linked(), want, tt.linked)
			}
			if Compare(a, b) != Compare(b, a) {
				t.Errorf("Compare(%v, %v) depends on the order", a, b)
			}
		})
	}
}

func TestWithoutCrossReferences(t *testing.T) { // RC-CLUST-3
	others := []string{"pdf-forms", "notes"}
	tests := map[string]struct{ in, want string }{
		"not for":             {"Reads PDF. Not for images.", "Reads PDF."},
		"not when":            {"Reads PDF. Not when it is scanned!", "Reads PDF."},
		"not intended for":    {"Reads PDF; it is not intended for images. Fast.", "Reads PDF; Fast."},
		"do not use":          {"Do not use on images. Reads PDF.", " Reads PDF."},
		"typographic quote":   {"Don’t use it. Reads.", " Reads."},
		"never use":           {"Never use it.\nReads.", "\nReads."},
		"instead, last":       {"Use pandoc for books instead. Reads.", " Reads."},
		"instead, first":      {"Instead of pages, see books. Reads.", " Reads."},
		"a name":              {"See the `pdf-forms` skill. Reads.", " Reads."},
		"a longer name":       {"See pdf-forms-2. Reads.", "See pdf-forms-2. Reads."},
		"no name of ours":     {"Use pandoc. Reads.", "Use pandoc. Reads."},
		"full width":          {"Not for images。Reads", "Reads"},
		"a dot inside a word": {"Reads v1.2 files", "Reads v1.2 files"},
		"not a word":          {"Knot for ropes. Reads.", "Knot for ropes. Reads."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := WithoutCrossReferences(tt.in, others); got != tt.want {
				t.Errorf("WithoutCrossReferences(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// Tokens of tokens are the tokens: nothing is found in them that was not
// found before.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"Café-Notes 2", "python代码审查", "ルール あ゙い", "ǰ ΐ ẞ İ", "\xff\u0345a\u0301", "ᾳ\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Tokens(s)
		again := Tokens(strings.Join(once, " "))
		if !slices.Equal(once, again) {
			t.Errorf("Tokens(%q) = %q, and of these %q", s, once, again)
		}
		words := Words(s)
		if twice := Words(strings.Join(words, " ")); !slices.Equal(words, twice) {
			t.Errorf("Words(%q) = %q, and of these %q", s, words, twice)
		}
		if key := Key(s); Key(key) != key {
			t.Errorf("Key(%q) = %q, and of that %q", s, key, Key(key))
		}
		if f := Overlap(TokenSet(s), NewSet(again)); len(once) > 0 && f.Shared != f.Of {
			t.Errorf("a text shares %v with itself", f)
		}
	})
}

func BenchmarkTopic(b *testing.B) {
	description := strings.Repeat("Review Python code for bugs and style. Not for images; see other-skill. ", 10)
	for b.Loop() {
		if topic := NewTopic("code-review-python", description, []string{"other-skill"}); len(topic.Name) != 3 {
			b.Fatal(fmt.Sprint(topic))
		}
	}
}
