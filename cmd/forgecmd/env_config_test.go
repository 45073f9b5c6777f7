package forgecmd

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"forge/cmd/forgecmd/config"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// H10 through a command: flag over variable over named file or repository
// over person.
func TestConfigurationOrder(t *testing.T) {
	home, repo := t.TempDir(), t.TempDir()
	write(t, home+"/.config/forge/config.toml", "[run]\nimprovement_threshold = 0.5\n")
	write(t, home+"/xdg/forge/config.toml", "[run]\nimprovement_threshold = 0.45\n")
	write(t, repo+"/.git/HEAD", "")
	write(t, repo+"/sub/x", "")
	bare := map[string]string{"HOME": home}
	xdg := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home + "/xdg"}
	variable := map[string]string{"HOME": home, "FORGE_RUN_IMPROVEMENT_THRESHOLD": "0.2"}
	tests := []struct {
		name       string
		vars       map[string]string
		repository string
		flags      []string
		want       string
	}{
		{"default", nil, "", nil, "0.02"},
		{"person", bare, "", nil, "0.5"},
		{"person by XDG", xdg, "", nil, "0.45"},
		{"repository", bare, "[run]\nimprovement_threshold = 0.4\n", nil, "0.4"},
		{"named TOML", bare, "[run]\nimprovement_threshold = 0.4\n", []string{"--config", home + "/named.toml"}, "0.3"},
		{"named JSON", bare, "broken", []string{"--config", home + "/named.json"}, "0.25"},
		{"variable", variable, "[run]\nimprovement_threshold = 0.4\n", nil, "0.2"},
		{"flag", variable, "[run]\nimprovement_threshold = 0.4\n", []string{"--improvement", "0"}, "0"},
	}
	write(t, home+"/named.toml", "[run]\nimprovement_threshold = 0.3\n")
	write(t, home+"/named.json", `{"improvement_threshold": "0.25"}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write(t, repo+"/.forge/config.toml", tt.repository)
			args := append([]string{"loop", "decide", "-C", repo + "/sub", "--candidate", "1", "--baseline", "0"}, tt.flags...)
			code, stdout, stderr := forge(t, tt.vars, "", args...)
			want := `"improvement_threshold": ` + tt.want + ","
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("exit %d, no %s in %s%s", code, want, stdout, stderr)
			}
		})
	}
	t.Run("named and missing", func(t *testing.T) { // V7
		code, stdout, stderr := forge(t, nil, "", "loop", "decide", "--candidate", "1", "--baseline", "0", "--config", "nope.toml")
		if code != 2 || stdout != "" || stderr != "forge: error: there is no configuration file \"nope.toml\"\n" {
			t.Errorf("exit %d, %q, %q", code, stdout, stderr)
		}
	})
}

// config.md pitfall 2: a key that is accepted is used. Each field of the
// typed configuration is read in this package, by name or by its key, or the
// table says that it is not yet and Load warns.
func TestEveryKeyIsRead(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(data)
	}
	top := reflect.TypeFor[config.Config]()
	for i := range top.NumField() {
		table := top.Field(i)
		if table.Tag.Get("key") == "" {
			continue
		}
		for j := range table.Type.NumField() {
			field := table.Type.Field(j)
			key := table.Tag.Get("key") + "." + field.Tag.Get("key")
			read := regexp.MustCompile(`\.` + field.Name + `\b|Value\("` + regexp.QuoteMeta(key) + `"\)`)
			if read.MatchString(source.String()) == config.Unread(key) {
				t.Errorf("%s: marked as read by nobody: %t; the code says otherwise", key, config.Unread(key))
			}
		}
	}
}
