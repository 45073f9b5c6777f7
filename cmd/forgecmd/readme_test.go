package forgecmd

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forge/cmd/forgecmd/config"
	"forge/loop"
	"forge/loop/snapshot"
)

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fieldsOf lists the JSON names of a struct, and of a list of structs below
// it, in order.
func fieldsOf(document any) []string {
	var names []string
	typ := reflect.TypeOf(document)
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue // for the program alone
		}
		names = append(names, name)
		if field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct {
			names = append(names, fieldsOf(reflect.Zero(field.Type.Elem()).Interface())...)
		}
	}
	return names
}

// The README's table of JSON fields is what the commands print.
func TestReadmeJSONFields(t *testing.T) {
	documents := map[string]any{
		"forge status":                        statusDocument{},
		"forge log":                           logDocument{},
		"forge report":                        reportDocument{},
		"forge land":                          loop.Landed{},
		"forge trust":                         trusted{},
		"forge runs list":                     runsDocument{},
		"forge runs drop`, `forge runs prune": tidied{},
		"forge init":                          written{},
		"forge version":                       build{},
		"forge loop snapshot":                 snapshot.Document{},
		"forge loop diff":                     snapshot.Difference{},
		"forge loop revert":                   snapshot.Reverted{},
		"forge eval SKILL":                    loop.Evaluation{},
		"forge audit":                         loop.Audit{},
		"forge blame":                         loop.Blame{},
		"forge bisect":                        loop.Bisection{},
		"forge replay":                        loop.Replay{},

		"forge replay`, its `recorded` and `again": loop.ReplayFigure{},
		"forge attack": attacked{},
	}
	word := regexp.MustCompile("`([^`]+)`")
	seen := 0
	_, section, _ := strings.Cut(readme(t), "\n## JSON\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		name := strings.Trim(cells[1], " `")
		document, known := documents[name]
		if !known || !strings.Contains(cells[2], "`") || !strings.Contains(cells[2], ", ") {
			continue
		}
		var got []string
		for _, m := range word.FindAllStringSubmatch(cells[2], -1) {
			got = append(got, m[1])
		}
		want := fieldsOf(document)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("README lists %v for %s, the code prints %v", got, name, want)
		}
		seen++
	}
	if seen != len(documents) {
		t.Errorf("README describes %d of %d documents", seen, len(documents))
	}
	finished := strings.Join(fieldsOf(loop.RunFinished{}), "`, `")
	if !strings.Contains(readme(t), "`run_finished` with `"+finished+"`") {
		t.Errorf("README does not list the fields of run_finished: %s", finished)
	}
}

// The README's table of keys is the configuration's, with its defaults.
func TestReadmeConfiguration(t *testing.T) {
	cfg, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z]+\\.[a-z_]+)` \\| ([^|]*) \\|")
	var got, want [][2]string
	for _, m := range row.FindAllStringSubmatch(readme(t), -1) {
		got = append(got, [2]string{m[1], strings.Trim(m[2], " `")})
	}
	for _, s := range cfg.List() {
		want = append(want, [2]string{s.Key, s.Value})
	}
	if !slices.Equal(got, want) {
		t.Errorf("README's keys and defaults are\n%v\nwant\n%v", got, want)
	}
}
