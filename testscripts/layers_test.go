package testscripts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors is the house (ARCHITECTURE section 3): imports point to a lower
// floor, and a package that is not here does not exist.
var floors = map[string]int{
	"gitstore/crash":      0,
	"gitstore/fault":      0,
	"gitstore/process":    0,
	"gitstore/scan":       0,
	"gitstore/schema":     0,
	"gitstore/skill":      0,
	"gitstore/text":       0,
	"gitstore/textdiff":   0,
	"gitstore/vectors":    0,
	"loop/stats":          0,
	"gitstore":            1,
	"gitstore/evals":      1,
	"loop/verdict":        1,
	"loop/sample":         2,
	"loop/guard":          3,
	"loop/handoff":        3,
	"loop/journal":        3,
	"loop/metric":         3,
	"loop/snapshot":       3,
	"loop/tune":           3,
	"loop/history":        4,
	"loop/proposer":       4,
	"loop/purpose":        4,
	"loop":                5,
	"loop/attack":         6,
	"loop/report":         6,
	"cmd/forgecmd/config": 7,
	"cmd/forgecmd":        8,
	"cmd/forge":           9,
	"testscripts":         9,
	"loop/lexical":        3,
	"loop/runner":         4,
}

// ground are the packages of floor 0 that others of floor 0 may import: an
// error's kind, the crash points and the vectors of the tests are needed
// everywhere, and there is one way to compare texts.
var ground = []string{"gitstore/crash", "gitstore/fault", "gitstore/text", "gitstore/vectors"}

// doors names the one package that may import an outside module, or one of
// the standard library's that is dangerous.
var doors = map[string]string{
	"github.com/go-git/go-git/v5":      "gitstore",
	"github.com/go-git/go-billy/v5":    "gitstore",
	"github.com/bmatcuk/doublestar/v4": "gitstore",
	"github.com/gofrs/flock":           "gitstore",
	"github.com/pmezard/go-difflib":    "gitstore/textdiff",
	"github.com/bluekeyes/go-gitdiff":  "gitstore/textdiff",
	"github.com/google/jsonschema-go":  "gitstore/schema",
	"go.yaml.in/yaml/v3":               "gitstore/skill",
	"golang.org/x/sys":                 "gitstore/process",
	"golang.org/x/text":                "gitstore/text",
	"github.com/BurntSushi/toml":       "cmd/forgecmd/config",
	"github.com/urfave/cli/v2":         "cmd/forgecmd",
	"github.com/rogpeppe/go-internal":  "testscripts",
	"os/exec":                          "gitstore/process",
}

// environment are the functions of package os that read or change the
// process's environment.
var environment = []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "UserHomeDir", "UserConfigDir", "UserCacheDir"}

// source is one Go file of the module.
type source struct {
	path string // from the module's root
	pkg  string // its directory
	test bool
	file *ast.File
}

// sources parses every Go file of the module, for every system.
func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != ".." && (name == "testdata" || name == "dist" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)[len("../"):]
		list = append(list, source{path, filepath.ToSlash(filepath.Dir(path)), strings.HasSuffix(path, "_test.go"), file})
		return nil
	})
	if err != nil || len(list) < 20 {
		t.Fatalf("%d Go files, %v", len(list), err)
	}
	return list
}

// imports are the paths a file imports.
func (s source) imports() []string {
	var list []string
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			list = append(list, path)
		}
	}
	return list
}

// ARCHITECTURE section 3: imports point to a lower floor, loop and curate
// never meet, a package that is not in the table fails, and so does a floor
// without a package. A test may look up, where the compiler lets it.
func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		floor, known := floors[s.pkg]
		if !known {
			t.Errorf("%s: package %s stands on no floor", s.path, s.pkg)
			continue
		}
		seen[s.pkg] = true
		for _, path := range s.imports() {
			target, ours := strings.CutPrefix(path, "forge/")
			if !ours || target == s.pkg {
				continue
			}
			below, known := floors[target]
			switch {
			case !known:
				t.Errorf("%s imports %s, which stands on no floor", s.path, path)
			case !s.test && below >= floor && !(floor == 0 && slices.Contains(ground, target)):
				t.Errorf("%s on floor %d imports %s on floor %d", s.path, floor, path, below)
			case !s.test && target == "gitstore/vectors":
				t.Errorf("%s imports %s, which is for tests", s.path, path)
			case wing(s.pkg) != "" && wing(target) != "" && wing(s.pkg) != wing(target):
				t.Errorf("%s imports %s: loop and curate never meet", s.path, path)
			}
		}
	}
	for pkg := range floors {
		if !seen[pkg] {
			t.Errorf("package %s is in the table and not in the tree", pkg)
		}
	}
}

// wing is loop, curate or "".
func wing(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	if first == "loop" || first == "curate" {
		return first
	}
	return ""
}

// ARCHITECTURE section 3: each outside dependency has one door. Tests may
// start programs, but need the same doors for everything else.
func TestDoors(t *testing.T) {
	for _, s := range sources(t) {
		for _, path := range s.imports() {
			door, guarded := doorOf(path)
			first, _, _ := strings.Cut(path, "/")
			switch {
			case s.test && path == "os/exec":
			case guarded && door != s.pkg:
				t.Errorf("%s imports %s, whose door is %s", s.path, path, door)
			case !guarded && strings.Contains(first, "."):
				t.Errorf("%s imports %s, which has no door", s.path, path)
			}
		}
	}
}

// doorOf finds the door of an import path.
func doorOf(path string) (door string, guarded bool) {
	for module, door := range doors {
		if path == module || strings.HasPrefix(path, module+"/") {
			return door, true
		}
	}
	return "", false
}

// The environment is read in cmd/forgecmd only and handed down as values;
// nothing runs before main; only main exits (STYLE section 2).
func TestEdges(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s has an init function", s.path)
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" {
					switch {
					case slices.Contains(environment, n.Sel.Name) && s.pkg != "cmd/forgecmd":
						t.Errorf("%s calls os.%s: the environment comes as a value", s.path, n.Sel.Name)
					case n.Sel.Name == "Exit" && s.pkg != "cmd/forge":
						t.Errorf("%s calls os.Exit", s.path)
					}
				}
			}
			return true
		})
	}
}

// Types of outside modules never leave the package that is their door: no
// exported function, method or field mentions one.
func TestTypesStayBehindTheirDoor(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		foreign := s.foreignNames()
		for _, declaration := range s.file.Decls {
			for _, exported := range exportedTypes(declaration) {
				ast.Inspect(exported, func(node ast.Node) bool {
					if n, ok := node.(*ast.SelectorExpr); ok {
						if x, ok := n.X.(*ast.Ident); ok && foreign[x.Name] != "" {
							t.Errorf("%s exports %s.%s of %s", s.path, x.Name, n.Sel.Name, foreign[x.Name])
						}
					}
					return true
				})
			}
		}
	}
}

// foreignNames are the names under which a file imports outside modules.
func (s source) foreignNames() map[string]string {
	names := map[string]string{}
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if _, guarded := doorOf(path); err != nil || !guarded || path == "os/exec" {
			continue
		}
		name := regexp.MustCompile(`/v\d+$`).ReplaceAllString(path, "")
		name = name[strings.LastIndexByte(name, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	return names
}

// exportedTypes are the type expressions other packages can see.
func exportedTypes(declaration ast.Decl) []ast.Node {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d.Recv) {
			return []ast.Node{d.Type}
		}
	case *ast.GenDecl:
		var list []ast.Node
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if structure, ok := s.Type.(*ast.StructType); ok && s.Name.IsExported() {
					for _, field := range structure.Fields.List {
						if len(field.Names) == 0 || field.Names[0].IsExported() {
							list = append(list, field.Type)
						}
					}
				} else if s.Name.IsExported() {
					list = append(list, s.Type)
				}
			case *ast.ValueSpec:
				if s.Type != nil && s.Names[0].IsExported() {
					list = append(list, s.Type)
				}
			}
		}
		return list
	}
	return nil
}

// exportedReceiver reports whether a function's receiver, if any, is exported.
func exportedReceiver(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	expression := receiver.List[0].Type
	if star, ok := expression.(*ast.StarExpr); ok {
		expression = star.X
	}
	name, ok := expression.(*ast.Ident)
	return ok && name.IsExported()
}

// STYLE section 2: every package says what it is for, every exported name has
// a doc comment.
func TestDocComments(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			documented[s.pkg] = documented[s.pkg] || s.pkg == "testscripts" && s.file.Doc != nil
			continue
		}
		documented[s.pkg] = documented[s.pkg] || s.file.Doc != nil
		for _, declaration := range s.file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d.Recv) && d.Doc == nil {
					t.Errorf("%s: %s has no comment", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s2, ok := spec.(*ast.TypeSpec); ok && s2.Name.IsExported() && d.Doc == nil && s2.Doc == nil {
						t.Errorf("%s: type %s has no comment", s.path, s2.Name.Name)
					}
				}
			}
		}
	}
	for pkg := range floors {
		if !documented[pkg] {
			t.Errorf("package %s has no comment", pkg)
		}
	}
}

// ARCHITECTURE section 3: the top level holds exactly this.
func TestTopLevel(t *testing.T) {
	allowed := []string{
		"cmd", "gitstore", "loop", "curate", "testscripts", "go.mod", "go.sum", "Makefile", ".goreleaser.yaml", "README.md", "LICENSE", "CHANGELOG.md",
		"forge", "dist", "bench.old", "bench.new", "cover.out", // what make leaves, ignored by git
	}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && !slices.Contains(allowed, name) {
			t.Errorf("%s does not belong on the top level", name)
		}
	}
}

// No key-shaped string is in the tree.
func TestNoKeys(t *testing.T) {
	shape := regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]{20}|sk-[A-Za-z0-9]{32}|gh[pousr]_[A-Za-z0-9]{30}|AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == ".git" || name == "dist" {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || filepath.Base(path) == "layers_test.go" {
			return nil
		}
		data, err := os.ReadFile(path)
		if found := shape.Find(data); found != nil {
			t.Errorf("%s holds something like a key: %.10s...", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
