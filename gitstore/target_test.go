package gitstore

import (
	"regexp"
	"testing"

	"forge/gitstore/fault"
)

func TestCleanTargetAndSlug(t *testing.T) { // R-REF-2; gitstore.md section 16, pitfall 35
	tests := map[string]struct{ target, clean, slug string }{
		"glob":                  {"src/**/*.go", "src/**/*.go", "src"},
		"dot slash":             {"./p.cfg", "p.cfg", "p"},
		"file":                  {"p.cfg", "p.cfg", "p"},
		"root":                  {".", ".", "root"},
		"everything":            {"**", "**", "root"},
		"every go file":         {"**/*.go", "**/*.go", "root"},
		"spaces and case":       {"Docs/My File.MD", "Docs/My File.MD", "my-file"},
		"curate":                {"curate", "curate", "curate_"},
		"curate with extension": {"x/curate.py", "x/curate.py", "curate_"},
		"learn":                 {"skills/learn", "skills/learn", "learn_"},
		"activity":              {"activity/", "activity", "activity_"},
		"double slash":          {"a//b/./c/", "a/b/c", "c"},
		"dot-file":              {".github", ".github", "github"},
		"dot-file, extension":   {".env.local", ".env.local", "env"},
		"class":                 {"pkg/*.[ch]", "pkg/*.[ch]", "pkg"},
		"group":                 {"web/{app,lib}.ts", "web/{app,lib}.ts", "app-lib"},
		"suffix glob":           {"**/*_test.go", "**/*_test.go", "test"},
		"hyphens stay":          {"a--b", "a--b", "a--b"},
		"run of others":         {"a _+ b", "a _+ b", "a-b"},
		"ends of hyphens":       {"-_x_-", "-_x_-", "x"},
		"no ASCII letter":       {"docs/\u65e5\u672c.md", "docs/\u65e5\u672c.md", "docs"},
		"skill":                 {"skills/pdf-processing", "skills/pdf-processing", "pdf-processing"},
		"parent that stays":     {"a/../b.txt", "b.txt", "b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			clean, err := CleanTarget(tt.target)
			if err != nil || clean != tt.clean {
				t.Fatalf("CleanTarget(%q) = %q, %v, want %q", tt.target, clean, err, tt.clean)
			}
			if got := Slug(clean); got != tt.slug {
				t.Errorf("Slug(%q) = %q, want %q", clean, got, tt.slug)
			}
		})
	}
}

func TestCleanTargetRefuses(t *testing.T) { // R-REF-2; loop.md R-SNAP-5
	for name, target := range map[string]string{
		"empty": "", "parent": "..", "leaves": "a/../../b", "absolute": "/a", "newline": "a\nb", "NUL": "a\x00b", "not UTF-8": "\xff",
	} {
		t.Run(name, func(t *testing.T) {
			if clean, err := CleanTarget(target); fault.KindOf(err) != fault.Usage {
				t.Errorf("CleanTarget(%q) = %q, %v, want a usage fault", target, clean, err)
			}
		})
	}
}

func FuzzSlug(f *testing.F) {
	for _, seed := range []string{"src/**/*.go", "curate", ".", "", "///", "..", "\u212a", "a.b.c", "\xff\xfe", "[-]"} {
		f.Add(seed)
	}
	form := regexp.MustCompile(`^[a-z0-9-]+_?$`)
	f.Fuzz(func(t *testing.T, target string) {
		slug := Slug(target)
		if !form.MatchString(slug) || slug[0] == '-' {
			t.Errorf("Slug(%q) = %q, want [a-z0-9-]+_?", target, slug)
		}
		if reservedTargets[slug] {
			t.Errorf("Slug(%q) = %q, which is a branch of its own", target, slug)
		}
	})
}
