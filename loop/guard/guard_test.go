package guard

import (
	"math/big"
	"strings"
	"testing"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/loop/verdict"
)

func glob(t *testing.T, pattern string) gitstore.Glob {
	t.Helper()
	g, err := gitstore.ParseGlob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func file(mode gitstore.Mode, data string) *gitstore.File {
	return &gitstore.File{Mode: mode, Object: gitstore.Hash("of " + data), Data: []byte(data)}
}

// ten files of ten bytes each
func ten() Sizes {
	s := Sizes{}
	for _, name := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		s["src/"+name] = FileSize{Bytes: 10, Chars: 10}
	}
	return s
}

func changed(path string, before, after *gitstore.File) gitstore.FileChange {
	return gitstore.FileChange{Path: path, Before: before, After: after}
}

// Each mutant of handoff.md section 9 is stopped by the guard of its row, and
// its legitimate twin passes.
func TestCheck(t *testing.T) {
	text := file(gitstore.ModeFile, "0123456789")
	edited := file(gitstore.ModeFile, "012345678X")
	deleted := func(n int) (files []gitstore.FileChange) {
		for i := range n {
			files = append(files, changed("src/"+string(rune('0'+i)), text, nil))
		}
		return files
	}
	tests := map[string]struct {
		files []gitstore.FileChange
		same  bool
		seen  string
		want  string
	}{
		"an edit in the scope":               {files: []gitstore.FileChange{changed("src/0", text, edited)}},
		"a new file in the scope":            {files: []gitstore.FileChange{changed("src/new", nil, text)}},
		"a link inside the scope":            {files: []gitstore.FileChange{changed("src/l", nil, file(gitstore.ModeLink, "0"))}},
		"A02 a file becomes a link out":      {files: []gitstore.FileChange{changed("src/0", text, file(gitstore.ModeLink, "../../etc/passwd"))}, want: "link"},
		"A02 an absolute link":               {files: []gitstore.FileChange{changed("src/l", nil, file(gitstore.ModeLink, "/etc/passwd"))}, want: "link"},
		"A02 a link with backslashes":        {files: []gitstore.FileChange{changed("src/l", nil, file(gitstore.ModeLink, `..\x`))}, want: "link"},
		"A02 writing over a link":            {files: []gitstore.FileChange{changed("src/l", file(gitstore.ModeLink, "0"), text)}, want: "link"},
		"A02 a gitlink":                      {files: []gitstore.FileChange{changed("src/m", nil, file(gitstore.ModeGitlink, ""))}, want: "link"},
		"A03 forge's configuration":          {files: []gitstore.FileChange{changed(".forge/config.toml", text, edited)}, want: "reserved"},
		"A03 in other letters":               {files: []gitstore.FileChange{changed(".Forge/x", nil, text)}, want: "reserved"},
		"A05 outside the scope":              {files: []gitstore.FileChange{changed("lib/x", text, edited)}, want: "scope"},
		"A06 a protected file in the scope":  {files: []gitstore.FileChange{changed("src/test/a", text, edited)}, want: "protected"},
		"A07 a new file under a protected":   {files: []gitstore.FileChange{changed("src/test/new", nil, text)}, want: "protected"},
		"A08 the mode of a protected file":   {files: []gitstore.FileChange{changed("src/test/a", text, file(gitstore.ModeExec, "0123456789"))}, want: "protected"},
		"A12 the same tree":                  {same: true, want: "no_op"},
		"A13 tried before":                   {files: []gitstore.FileChange{changed("src/0", text, edited)}, seen: "r1-aaaa/exp-002", want: "duplicate"},
		"A17 two of ten files deleted":       {files: deleted(2), want: "scope_ratio"},
		"one of ten at 0.9 is enough":        {files: deleted(1)},
		"A18 hollow files, count unchanged":  {files: []gitstore.FileChange{changed("src/0", text, file(gitstore.ModeFile, "")), changed("src/1", text, file(gitstore.ModeFile, ""))}, want: "byte_ratio"},
		"A19 as many bytes under new names":  {files: append(deleted(2), changed("src/a", nil, text), changed("src/b", nil, text)), want: "kept_ratio"},
		"growth never fails":                 {files: []gitstore.FileChange{changed("src/0", text, file(gitstore.ModeFile, "0123456789 and more"))}},
		"the first guard of the order names": {files: []gitstore.FileChange{changed(".forge/x", nil, file(gitstore.ModeLink, "/x"))}, want: "link"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Candidate{Preview: gitstore.Preview{Tree: "new", Files: tt.files}, TipTree: "tip", Tip: ten(), SeenIn: tt.seen}
			if tt.same {
				c.TipTree = "new"
			}
			rules := Rules{Target: glob(t, "src"), Protected: []gitstore.Glob{glob(t, "src/test")}, MinScopeRatio: big.NewRat(9, 10), Start: ten()}
			v := Check(c, rules)
			got := ""
			if v != nil {
				got = v.Guard
			}
			if got != tt.want {
				t.Fatalf("Check = %+v, want guard %q", v, tt.want)
			}
			if v != nil && (v.Message == "" || (v.Decision != verdict.Invalid) != (tt.want == "no_op")) {
				t.Errorf("Check = %+v: no sentence, or the wrong decision", v)
			}
		})
	}
}

// A09 to A11: protected regions stay as they are, byte for byte and in their
// place; the text around them is free, and generic mode has none.
func TestCheckRegions(t *testing.T) {
	const keep = "<!-- FORGE_KEEP_START -->\nmine\n<!-- FORGE_KEEP_END -->\n"
	before := "# Title\n" + keep + "tail\n"
	tests := map[string]struct {
		after string
		free  bool
	}{
		"text around it":         {after: "# Another\n\nmore\n" + keep + "tail and more\n", free: true},
		"A09 a byte inside":      {after: strings.Replace(before, "mine", "Mine", 1)},
		"A09 its line ending":    {after: strings.Replace(before, "mine\n", "mine\r\n", 1)},
		"A09 gone":               {after: "# Title\ntail\n"},
		"A10 across a line":      {after: "# Title\ntail\n" + keep},
		"A11 a second one":       {after: before + keep},
		"A11 an appendix is new": {after: before + "<!-- FORGE_APPENDIX_START -->\n<!-- FORGE_APPENDIX_END -->\n"},
		"half open":              {after: before + "<!-- FORGE_KEEP_START -->\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Candidate{
				Preview: gitstore.Preview{Tree: "new", Files: []gitstore.FileChange{changed("src/a.md", file(gitstore.ModeFile, before), file(gitstore.ModeFile, tt.after))}},
				TipTree: "tip", Tip: ten(),
			}
			rules := Rules{Target: glob(t, "src"), MinScopeRatio: new(big.Rat), Start: ten(), Skill: "src", TokenBudget: 1000, CharsPerToken: 3}
			if v := Check(c, rules); (v == nil) != tt.free || v != nil && v.Guard != "regions" {
				t.Errorf("Check = %+v, want free: %t", v, tt.free)
			}
			rules.Skill = ""
			if v := Check(c, rules); v != nil {
				t.Errorf("generic mode: Check = %+v", v)
			}
		})
	}
	c := Candidate{
		Preview: gitstore.Preview{Tree: "new", Files: []gitstore.FileChange{changed("src/a.md", file(gitstore.ModeFile, before), nil)}},
		TipTree: "tip", Tip: ten(),
	}
	if v := Check(c, Rules{Target: glob(t, "src"), MinScopeRatio: new(big.Rat), Start: ten(), Skill: "src", TokenBudget: 1000, CharsPerToken: 3}); v == nil || v.Guard != "regions" {
		t.Errorf("the file deleted: Check = %+v, want regions", v)
	}
}

// A14, roles.md R-MUT-3: the change that crosses the budget is measured; over
// it only one that shrinks is.
func TestCheckBudget(t *testing.T) {
	text := func(n int) *gitstore.File { return file(gitstore.ModeFile, strings.Repeat("x", n)) }
	tests := map[string]struct {
		budget int
		file   gitstore.FileChange
		want   string
	}{
		"crosses the line":              {budget: 34, file: changed("s/references/new.md", nil, text(900))},
		"exactly on budget, then grows": {budget: 33, file: changed("s/references/new.md", nil, text(900))},
		"over, adds a reference":        {budget: 32, file: changed("s/references/new.md", nil, text(1)), want: "budget"},
		"over, as large as before":      {budget: 32, file: changed("s/SKILL.md", text(100), text(100)), want: "budget"},
		"over, one character less":      {budget: 32, file: changed("s/SKILL.md", text(100), text(99))},
		"over, moved into a new dir":    {budget: 32, file: changed("s/other/x", nil, text(1)), want: "budget"},
		"no budget":                     {file: changed("s/references/new.md", nil, text(9000))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Candidate{
				Preview: gitstore.Preview{Tree: "new", Files: []gitstore.FileChange{tt.file}}, TipTree: "tip",
				Tip: Sizes{"s/SKILL.md": SizeOf(text(100).Data), "s/evals/evals.json": SizeOf(text(5000).Data)},
			}
			rules := Rules{Target: glob(t, "s"), MinScopeRatio: new(big.Rat), Skill: "s", TokenBudget: tt.budget, CharsPerToken: 3}
			got := ""
			if v := Check(c, rules); v != nil {
				got = v.Guard
			}
			if got != tt.want {
				t.Errorf("guard %q, want %q", got, tt.want)
			}
		})
	}
}

// A15, R-SF-TR-5: words of a hidden eval may not come in; those that stood in
// the skill may stay, and move.
func TestCheckLeak(t *testing.T) {
	set, err := evals.Read([]byte(`[{"query": "sum the revenue", "should_trigger": true}, {"query": "plot the costs", "should_trigger": true}]`))
	if err != nil {
		t.Fatal(err)
	}
	leaks := set.Windows(func(id string) bool { return id == set.Evals[0].ID })
	text := func(text string) *gitstore.File { return file(gitstore.ModeFile, text) }
	tests := map[string]struct {
		file  gitstore.FileChange
		stood []string
		want  string
	}{
		"other words":              {file: changed("s/a.md", text("a"), text("sum revenue, the"))},
		"copied":                   {file: changed("s/a.md", text("a"), text("When asked: Sum the revenue!")), want: "leak"},
		"in a new file":            {file: changed("s/b.md", nil, text("sum\nthe\nrevenue")), want: "leak"},
		"of a train eval":          {file: changed("s/a.md", text("a"), text("plot the costs"))},
		"it stood in another file": {file: changed("s/a.md", text("a"), text("sum the revenue")), stood: []string{"sum the revenue"}},
		"as the target of a link":  {file: changed("s/l", nil, file(gitstore.ModeLink, "sum the revenue"))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Candidate{Preview: gitstore.Preview{Tree: "new", Files: []gitstore.FileChange{tt.file}}, TipTree: "tip", Tip: Sizes{}, Stood: tt.stood}
			v := Check(c, Rules{Target: glob(t, "s"), MinScopeRatio: new(big.Rat), Skill: "s", CharsPerToken: 3, Leaks: leaks})
			if got := v; (got == nil) != (tt.want == "") || got != nil && got.Guard != tt.want {
				t.Errorf("Check = %+v, want %q", got, tt.want)
			}
			if v != nil && strings.Contains(v.Message, "revenue") {
				t.Errorf("the message gives the eval away: %q", v.Message)
			}
		})
	}
}

// A16, G7: a value shaped like a key that was not there before, in a file or in
// its name; and whatever refuses a change that holds one, nothing of it is kept.
func TestCheckSecret(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("a1B2c3", 6)
	text := func(text string) *gitstore.File { return file(gitstore.ModeFile, text) }
	tests := map[string]struct {
		files    []gitstore.FileChange
		want     string
		withhold bool
	}{
		"about passwords":          {files: []gitstore.FileChange{changed("src/a", text("a"), text("never print the password"))}},
		"planted":                  {files: []gitstore.FileChange{changed("src/a", text("a"), text("use "+key))}, want: "secret", withhold: true},
		"in a name":                {files: []gitstore.FileChange{changed("src/"+key, nil, text("a"))}, want: "secret", withhold: true},
		"in a link":                {files: []gitstore.FileChange{changed("src/l", nil, file(gitstore.ModeLink, key))}, want: "secret", withhold: true},
		"it stood there":           {files: []gitstore.FileChange{changed("src/a", text("a "+key), text("b "+key))}},
		"it moved":                 {files: []gitstore.FileChange{changed("src/a", text("a "+key), text("b")), changed("src/b", nil, text("use "+key))}},
		"another beside it":        {files: []gitstore.FileChange{changed("src/a", text("a "+key), text(key+" "+key[:10]+strings.ToUpper(key[10:])))}, want: "secret", withhold: true},
		"it is taken out":          {files: []gitstore.FileChange{changed("src/a", text("a "+key), text("a"))}},
		"an earlier guard refuses": {files: []gitstore.FileChange{changed("lib/a", nil, text("use "+key))}, want: "scope", withhold: true},
		"an earlier guard alone":   {files: []gitstore.FileChange{changed("lib/a", nil, text("a"))}, want: "scope"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Candidate{Preview: gitstore.Preview{Tree: "new", Files: tt.files}, TipTree: "tip", Tip: Sizes{}}
			v := Check(c, Rules{Target: glob(t, "src"), MinScopeRatio: new(big.Rat), CharsPerToken: 3})
			if v == nil {
				v = &Violation{}
			}
			if v.Guard != tt.want || v.Withhold != tt.withhold {
				t.Errorf("Check = %+v, want %q, withhold %t", v, tt.want, tt.withhold)
			}
		})
	}
}

// An empty scope has every ratio at 1 (R-INV-5).
func TestCheckEmptyScope(t *testing.T) {
	rules := Rules{Target: glob(t, "src"), MinScopeRatio: big.NewRat(1, 1), Start: Sizes{}}
	c := Candidate{Preview: gitstore.Preview{Tree: "new", Files: []gitstore.FileChange{changed("src/a", nil, file(gitstore.ModeFile, "x"))}}, TipTree: "tip", Tip: Sizes{}}
	if v := Check(c, rules); v != nil {
		t.Errorf("Check = %+v, want none", v)
	}
}
