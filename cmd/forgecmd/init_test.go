package forgecmd

import (
	"testing"

	"forge/cmd/forgecmd/config"
)

// What init writes is read back as it was typed, whatever a command holds.
func TestConfigTextRoundTrip(t *testing.T) {
	for _, command := range []string{
		`./bench.sh`, `printf "a\tb" | awk '{print "METRIC x=" $1}'`, "first\nsecond\tthird\r", "\x1b[0m\a\v\x7f\u0085", "größe 😀 \u2028",
	} {
		text := configText(given{values: map[string][]string{"metric.command": {command}, "metric.protected_paths": {"größe/*.go", "b"}}})
		cfg, err := config.Load(config.Sources{Repo: config.File{Name: ConfigPath, Data: text, Present: true}})
		if err != nil {
			t.Errorf("Load(%q) = %v", text, err)
			continue
		}
		if got := cfg.Metric.Command.Line; got != command {
			t.Errorf("%q is read back as %q", command, got)
		}
		if got := cfg.Metric.ProtectedPaths; len(got) != 2 || got[0] != "größe/*.go" {
			t.Errorf("the protected paths are read back as %q", got)
		}
	}
}
