package evals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path"
	"slices"
	"strings"

	"forge/gitstore/schema"
)

// Side is one of the two sides of an experiment, as a folder is called; "" is
// both.
type Side string

// The sides (loop.md R-SCORE-1).
const (
	WithMutation Side = "with_mutation"
	Baseline     Side = "baseline"
)

// ParseSide reads the name of a side. The error is a usage fault.
func ParseSide(text string) (Side, error) {
	switch s := Side(text); s {
	case WithMutation, Baseline:
		return s, nil
	}
	return "", bad("the side is %q, want %s or %s", text, WithMutation, Baseline)
}

// Grading is one grading.json.
type Grading struct {
	Path string // below the directory it was found in
	Eval string
	Side Side

	// Passed of Total assertions, as its summary says. NoCounts is why it says
	// nothing of use, and then both are 0.
	Passed, Total int64
	NoCounts      string

	document *schema.Document
	node     *schema.Node
}

// Verdict is what a grading says about one assertion.
type Verdict struct {
	ID     string // "" if it names the assertion by its text alone
	Text   string
	Passed *bool // nil: ungraded
}

// Timing is one timing.json; a part that it does not have is nil.
type Timing struct {
	Path    string
	Tokens  *big.Rat
	Seconds *big.Rat
}

// maxCount bounds a count of assertions to what can be meant.
const maxCount = 1_000_000

// ReadGradings reads every grading.json of a side below a directory, in the
// byte order of their paths. Files below no side are passed over; a link in
// place of one is refused. dir should not follow links out of itself
// (os.Root). A missing directory and a malformed file are usage faults.
//
// Source: loop.md R-SCORE-1, R-SCORE-2.
func ReadGradings(dir fs.FS, side Side) ([]Grading, error) {
	found, err := walk(dir, side)
	if err != nil {
		return nil, err
	}
	return found.readGradings(dir)
}

// readGradings reads the gradings that were found.
func (f found) readGradings(dir fs.FS) ([]Grading, error) {
	list := make([]Grading, 0, len(f.gradings))
	for _, p := range f.gradings {
		document, err := p.read(dir)
		if err != nil {
			return nil, err
		}
		g, err := gradingOf(document, document.Root, p.name)
		if err != nil {
			return nil, err
		}
		g.Path, g.Side, g.Eval = p.name, p.side, evalOf(p.name, p.side)
		list = append(list, g)
	}
	return list, nil
}

// ReadResults reads DIR/grading_results.json, a list of gradings without
// sides or evals. found is false if there is no such file.
//
// Source: loop.md R-SCORE-2.
func ReadResults(dir fs.FS) (list []Grading, found bool, err error) {
	const name = "grading_results.json"
	if _, err := fs.Stat(dir, name); errors.Is(err, fs.ErrNotExist) {
		return nil, false, checkDir(dir)
	}
	document, err := readJSON(dir, name)
	if err != nil {
		return nil, true, err
	}
	if document.Root.Kind != schema.Array {
		return nil, true, bad("%q holds %s, want a list of gradings", name, document.Root.Kind)
	}
	for i, node := range document.Root.Items {
		place := fmt.Sprintf("%s[%d]", name, i)
		g, err := gradingOf(document, node, place)
		if err != nil {
			return nil, true, err
		}
		g.Path = place
		list = append(list, g)
	}
	return list, true, nil
}

// ReadTimings reads every timing.json of a side below a directory.
//
// Source: loop.md R-SCORE-6.
func ReadTimings(dir fs.FS, side Side) ([]Timing, error) {
	found, err := walk(dir, side)
	if err != nil {
		return nil, err
	}
	return found.readTimings(dir)
}

// readTimings reads the timings that were found.
func (f found) readTimings(dir fs.FS) ([]Timing, error) {
	var list []Timing
	for _, p := range f.timings {
		document, err := p.read(dir)
		if err != nil {
			return nil, err
		}
		t := Timing{Path: p.name}
		for member, into := range map[string]**big.Rat{"total_tokens": &t.Tokens, "total_duration_seconds": &t.Seconds} {
			node := document.Root.Get(member)
			if node == nil {
				continue
			}
			value, ok := node.AsNumber()
			if !ok || value.Sign() < 0 {
				return nil, bad("%q line %d: %s is %s, want a number of at least 0", p.name, document.Line(node.Start), member, document.Excerpt(node))
			}
			*into = value
		}
		list = append(list, t)
	}
	return list, nil
}

// checkDir refuses a directory that is not there.
func checkDir(dir fs.FS) error {
	info, err := fs.Stat(dir, ".")
	if err != nil {
		return bad("read the directory: %w", err)
	}
	if !info.IsDir() {
		return bad("it is no directory")
	}
	return nil
}

// found is what a walk comes across, in the byte order of the paths.
type found struct {
	gradings, timings []place
}

// place is a file below a side.
type place struct {
	name    string
	side    Side
	regular bool
}

// walk finds the gradings and timings of a side.
func walk(dir fs.FS, side Side) (f found, err error) {
	if err := checkDir(dir); err != nil {
		return f, err
	}
	err = fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return bad("read %q: %w", name, err)
		}
		list := &f.gradings
		switch base := path.Base(name); {
		case entry.IsDir() || base != "grading.json" && base != "timing.json":
			return nil
		case base == "timing.json":
			list = &f.timings
		}
		if at := sideOf(name); at != "" && (side == "" || side == at) {
			*list = append(*list, place{name, at, entry.Type().IsRegular()})
		}
		return nil
	})
	for _, list := range [][]place{f.gradings, f.timings} {
		slices.SortFunc(list, func(a, b place) int { return strings.Compare(a.name, b.name) })
	}
	return f, err
}

// read reads the file strictly.
func (p place) read(dir fs.FS) (*schema.Document, error) {
	if !p.regular {
		return nil, bad("%q is a link or no regular file; forge does not follow it", p.name)
	}
	data, err := readBounded(dir, p.name, MaxFile)
	if err != nil {
		return nil, bad("read %q: %w", p.name, err)
	}
	return parseJSON(data, p.name)
}

// sideOf is the deepest folder of a path that is named like a side.
func sideOf(name string) Side {
	parts := strings.Split(path.Dir(name), "/")
	for _, part := range slices.Backward(parts) {
		if s := Side(part); s == WithMutation || s == Baseline {
			return s
		}
	}
	return ""
}

// evalOf is the id of the eval a file belongs to: what stands between a
// leading runs/ and the side.
func evalOf(name string, side Side) string {
	parts := strings.Split(path.Dir(name), "/")
	for i, part := range slices.Backward(parts) {
		if Side(part) == side {
			parts = parts[:i]
			break
		}
	}
	if len(parts) > 0 && parts[0] == "runs" {
		parts = parts[1:]
	}
	if len(parts) == 0 {
		return "eval"
	}
	return strings.Join(parts, "/")
}

// readJSON reads the file of a name strictly.
func readJSON(dir fs.FS, name string) (*schema.Document, error) {
	data, err := readLimited(dir, name, MaxFile)
	if err != nil {
		return nil, bad("read %q: %w", name, err)
	}
	return parseJSON(data, name)
}

// parseJSON parses the content of a file.
func parseJSON(data []byte, name string) (*schema.Document, error) {
	document, err := schema.Parse(data, schema.Limits{Size: MaxFile})
	if err != nil {
		return nil, bad("%q is malformed: %w", name, err)
	}
	return document, nil
}

// gradingOf reads the counts of a grading. More passed than there were, or a
// negative number, is an error; counts that are missing or of no use are not.
func gradingOf(document *schema.Document, node *schema.Node, place string) (Grading, error) {
	g := Grading{document: document, node: node}
	summary := node.Get("summary")
	passed, okPassed := summary.Get("passed").AsInt()
	total, okTotal := summary.Get("total").AsInt()
	switch {
	case summary == nil:
		g.NoCounts = "has no summary"
	case !okPassed || !okTotal:
		g.NoCounts = "has no whole numbers summary.passed and summary.total"
	case passed < 0 || total < 0:
		return g, bad("%q: summary.passed is %d and summary.total %d, want numbers of at least 0", place, passed, total)
	case passed > total:
		return g, bad("%q: %d passed of %d", place, passed, total)
	case total > maxCount:
		return g, bad("%q: %d assertions of at most %d", place, total, maxCount)
	case total == 0:
		g.NoCounts = "has a summary.total of 0"
	default:
		g.Passed, g.Total = passed, total
	}
	return g, nil
}

// verdicts reads the list of a grading (skill-format.md R-SF-GR-1). found is
// false if there is none.
func (g Grading) verdicts() (list []Verdict, found bool, err error) {
	for _, name := range []string{"assertions", "expectations", "assertion_results"} {
		node := g.node.Get(name)
		if node == nil {
			continue
		}
		if node.Kind != schema.Array {
			return nil, true, g.bad(node, "%s is %s, want a list", name, node.Kind)
		}
		for _, item := range node.Items {
			v, err := g.verdict(item)
			if err != nil {
				return nil, true, err
			}
			list = append(list, v)
		}
		return list, true, nil
	}
	return nil, false, nil
}

// bad is a usage fault about a place of the grading.
func (g Grading) bad(node *schema.Node, format string, args ...any) error {
	return bad("%q line %d: %w", g.Path, g.document.Line(node.Start), bad(format, args...))
}

// verdict reads one entry of the list.
func (g Grading) verdict(node *schema.Node) (Verdict, error) {
	var v Verdict
	if node.Kind != schema.Object {
		return v, g.bad(node, "an assertion is %s, want an object", node.Kind)
	}
	if id := node.Get("id"); id != nil {
		text, _, ok := idOf(id)
		if !ok {
			return v, g.bad(id, "the id of an assertion is %s", g.document.Excerpt(id))
		}
		v.ID = text
	}
	v.Text, _ = first(node, "text", "assertion").AsText()
	member := node.Member("passed")
	if member == nil {
		member = node.Member("result")
	}
	switch {
	case v.ID == "" && v.Text == "":
		return v, g.bad(node, "an assertion has neither id nor text")
	case member == nil:
		return v, g.bad(node, "assertion %q says neither passed nor result", v.name())
	case member.Value.Kind == schema.Null:
		return v, nil
	}
	passed, ok := member.Value.AsBool()
	if text, isText := member.Value.AsText(); isText && member.Name == "result" {
		passed, ok = resultWords[strings.ToLower(text)]
	}
	if !ok {
		return v, g.bad(member.Value, "assertion %q: %s is %s", v.name(), member.Name, g.document.Excerpt(member.Value))
	}
	v.Passed = &passed
	return v, nil
}

// name is what a message calls an assertion.
func (v Verdict) name() string {
	if v.ID != "" {
		return v.ID
	}
	return cut(v.Text)
}

// resultWords are the texts of result.
var resultWords = map[string]bool{
	"pass": true, "passed": true, "true": true, "fail": false, "failed": false, "false": false,
}

// EncodeGrading writes the engine's own grading.json: counts, and every
// assertion with its outcome, null where it is ungraded.
//
// Source: skill-format.md R-SF-WS-0, R-SF-GR-3.
func EncodeGrading(verdicts []Verdict) ([]byte, error) {
	type assertion struct {
		ID     string `json:"id"`
		Passed *bool  `json:"passed"`
	}
	var document struct {
		Summary struct {
			Passed int `json:"passed"`
			Total  int `json:"total"`
		} `json:"summary"`
		Assertions []assertion `json:"assertions"`
	}
	document.Assertions = []assertion{}
	for _, v := range verdicts {
		document.Assertions = append(document.Assertions, assertion{v.ID, v.Passed})
		if v.Passed != nil {
			document.Summary.Total++
			if *v.Passed {
				document.Summary.Passed++
			}
		}
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write a grading: %w", err)
	}
	return append(text, '\n'), nil
}
