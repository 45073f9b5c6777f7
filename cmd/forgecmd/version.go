package forgecmd

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"
)

// Set by the linker for a release: -X forge/cmd/forgecmd.version=1.2.3. They
// are empty in other builds, and nothing assigns them.
var version, commit, date string

// build says what this binary was made from.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // full hash, "-dirty" behind it if the work tree was; empty if unknown
	Date    string `json:"date"`   // of the commit, RFC 3339; empty if unknown
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// thisBuild reads the linker's values and falls back to the build information
// the Go tool writes.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if b.Commit == "" {
		b.Commit = settings["vcs.revision"]
		if settings["vcs.modified"] == "true" {
			b.Commit += "-dirty"
		}
	}
	if b.Date == "" {
		b.Date = settings["vcs.time"]
	}
	if b.Version == "" {
		b.Version = "dev" // also where Go made a version up from the commit
		if v := strings.TrimPrefix(info.Main.Version, "v"); v != "" && v != "(devel)" && !strings.HasPrefix(v, "0.0.0-") {
			b.Version = v
		}
	}
	return b
}

// String is the line people see: "forge 1.2.3 (0123abc, 2026-05-08T09:00:00Z)".
func (b build) String() string {
	text := "forge " + b.Version
	short := b.Commit
	if len(short) > 40 { // a full hash and "-dirty"
		short = short[:7] + short[40:]
	} else if len(short) == 40 {
		short = short[:7]
	}
	switch {
	case short != "" && b.Date != "":
		text += fmt.Sprintf(" (%s, %s)", short, b.Date)
	case short != "":
		text += fmt.Sprintf(" (%s)", short)
	}
	return text
}

// printVersion prints the build as a line or as a document.
func printVersion(env *Env) error {
	if env.JSON {
		return env.PrintJSON(thisBuild())
	}
	fmt.Fprintln(env.Stdout, thisBuild())
	return nil
}

// versionCommand is `forge version`.
func versionCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:     "version",
		Usage:    "print forge's version, commit and date",
		Category: groupStart,
		Description: about{
			Example: "forge version --json",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			return printVersion(env)
		},
	}
}
