package gitstore

import (
	"strings"
	"testing"

	"forge/gitstore/fault"
)

func TestGlobMatch(t *testing.T) { // R-GLOB-1
	tests := map[string]struct {
		pattern   string
		yes, nope []string
	}{
		"anchored":             {"*_test.go", []string{"a_test.go"}, []string{"x/a_test.go"}},
		"any directory":        {"**/*_test.go", []string{"a_test.go", "x/a_test.go", "x/y/a_test.go"}, []string{"a_test.go/x", "a.go"}},
		"star in a component":  {"src/*.go", []string{"src/a.go"}, []string{"src/x/a.go", "a.go"}},
		"star alone":           {"src/*", []string{"src/a", "src/.hid"}, []string{"src/a/b", "src"}},
		"question mark":        {"a?c", []string{"abc", "aéc"}, []string{"a/c", "ac"}},
		"class":                {"[a-c].md", []string{"b.md"}, []string{"d.md", "ab.md"}},
		"negated class":        {"[!a].md", []string{"b.md"}, []string{"a.md"}},
		"dot-files":            {"*", []string{".env", "a"}, []string{"a/b"}},
		"plain file":           {"p.cfg", []string{"p.cfg", "p.cfg/below"}, []string{"p.cfg2", "x/p.cfg"}},
		"plain directory":      {"./src//", []string{"src", "src/a", "src/.b/c"}, []string{"srcs/a", "x/src/a"}},
		"plain last component": {"**/node_modules", []string{"node_modules", "node_modules/a/b", "x/node_modules/c"}, []string{"x/node_modules2"}},
		"doublestar at end":    {"cache/**", []string{"cache/a", "cache/a/b"}, []string{"caches/a"}},
		"doublestar inside":    {"src/**/*.go", []string{"src/a.go", "src/x/y/b.go"}, []string{"src/a.c", "b.go"}},
		"root":                 {".", []string{"a", "a/b", "."}, nil},
		"everything":           {"**", []string{"a", "a/b", ".x/y"}, nil},
		"alternatives":         {"*.{c,h}", []string{"a.c", "a.h"}, []string{"a.o", "x/a.c"}},
		"plain after a group":  {"{a,b}/out", []string{"a/out", "b/out/x"}, []string{"c/out"}},
		"escaped":              {`app/\[slug\]`, []string{"app/[slug]", "app/[slug]/page.tsx"}, []string{"app/s"}},
		"dots inside":          {"a/../b", []string{"b"}, []string{"a/b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, err := ParseGlob(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range tt.yes {
				if !g.Match(path) {
					t.Errorf("ParseGlob(%q).Match(%q) = false, want true", tt.pattern, path)
				}
			}
			for _, path := range tt.nope {
				if g.Match(path) {
					t.Errorf("ParseGlob(%q).Match(%q) = true, want false", tt.pattern, path)
				}
			}
		})
	}
}

func TestLiteralGlob(t *testing.T) { // loop.md R-SNAP-3
	g := LiteralGlob("app/[slug]")
	for path, want := range map[string]bool{"app/[slug]": true, "app/[slug]/p.tsx": true, "app/s": false, "app/[slug]2": false} {
		if got := g.Match(path); got != want {
			t.Errorf("LiteralGlob(%q).Match(%q) = %t, want %t", g, path, got, want)
		}
	}
}

func TestZeroGlobMatchesNothing(t *testing.T) {
	for _, path := range []string{"", ".", "a", "a/b"} {
		if (Glob{}).Match(path) {
			t.Errorf("Glob{}.Match(%q) = true, want false", path)
		}
	}
}

func TestParseGlobRefuses(t *testing.T) {
	tests := map[string]string{
		"empty":              "",
		"leaves":             "../x",
		"leaves by wildcard": "*/../../x",
		"absolute":           "/etc/passwd",
		"open class":         "a[b",
		"empty class":        "a[]",
		"open group":         "{a,b",
		"trailing backslash": `a\`,
		"control character":  "a\nb",
		"not UTF-8":          "a\xff",
		"too long":           strings.Repeat("a", maxGlobLength+1),
		"too many groups":    strings.Repeat("{a,b}", maxGlobGroups+1),
		"too many choices":   "{" + strings.Repeat("a,", maxGlobAlternatives+1) + "b}",
	}
	for name, pattern := range tests {
		t.Run(name, func(t *testing.T) {
			if g, err := ParseGlob(pattern); err == nil || fault.KindOf(err) != fault.Usage {
				t.Errorf("ParseGlob(%q) = %v, %v, want a usage fault", pattern, g, err)
			}
		})
	}
}

func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"src/**/*.go", "src/a.go"}, {"[a-", "a"}, {"{a,b}{c,d}*", "acx"}, {`\[x`, "[x"}, {"**/**/x", "a/x"}, {"[^]]", "b"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := ParseGlob(pattern)
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("ParseGlob(%q): kind %v, want usage", pattern, fault.KindOf(err))
			}
			return
		}
		g.Match(path)
		again, err := ParseGlob(g.String())
		if err != nil || again != g {
			t.Errorf("ParseGlob(%q) = %+v, then %+v, %v", pattern, g, again, err)
		}
		if g.coversBelow(path) && path != "." && !g.Match(path+"/x") {
			t.Errorf("%q covers what is below %q, but does not match %q", g, path, path+"/x")
		}
	})
}
