package config

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gitstore"
	"forge/gitstore/evals"
	"forge/gitstore/fault"
)

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("bad number " + text)
	}
	return r
}

func repo(text string) Sources {
	return Sources{Repo: File{Name: ".forge/config.toml", Data: []byte(text), Present: true}}
}

func flat(text string) Sources {
	return Sources{Repo: File{Name: "config.json", Data: []byte(text), Present: true}, Named: true}
}

func load(t *testing.T, s Sources) *Config {
	t.Helper()
	c, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// config.md pitfall 2: the table and the typed configuration hold the same
// names, and every default parses.
func TestKeysAndFields(t *testing.T) {
	c := &Config{}
	fields := fieldsOf(c)
	for _, k := range keys {
		if k.Declined != "" {
			continue
		}
		if _, ok := fields[k.Name]; !ok {
			t.Errorf("key %s has no field", k.Name)
		}
		delete(fields, k.Name)
		if k.Reader == "" {
			t.Errorf("key %s has no reader", k.Name)
		}
		if k.Kind == kindList && k.Check == nil {
			t.Errorf("list %s has no check of its elements", k.Name)
		}
	}
	for name := range fields {
		t.Errorf("field %s has no key", name)
	}
	for _, name := range later {
		if findKey(name) != nil {
			t.Errorf("key %s is used and listed as later", name)
		}
	}
	for _, name := range personOnly {
		if !isLater(name) {
			t.Errorf("key %s of class P does not exist", name)
		}
	}
}

// The defaults of config.md section 3.
func TestDefaults(t *testing.T) {
	c := load(t, Sources{})
	want := Run{
		Mode: "auto", MaxExperiments: 10, MaxCrashes: 3, TimeBudget: 2 * time.Hour,
		ImprovementThreshold: rat("1/50"), RegressionThreshold: rat("1/20"), NearMissBand: rat("1/50"),
		SplitRatio: evals.Fractions{Val: rat("1/4"), Test: rat("1/4")}, SplitSeed: "42", MinEvals: 6, MinEvalsForTest: 12, RunsPerSide: 1, TriggerRuns: 3, Baseline: "side_by_side", BaselineMaxAge: 3, Parallel: 4,
		Boundary: "inclusive", NoiseRepeats: 5, RejectedLimit: 10, AppendixMaxNotes: 15, CharsPerToken: 3,
		MinScopeRatio: rat("9/10"), MaxScopeFiles: 200, MaxExport: 1 << 30, Sandbox: Sandbox{Auto: true},
	}
	if !reflect.DeepEqual(c.Run, want) {
		t.Errorf("Run = %+v, want %+v", c.Run, want)
	}
	if m := c.Metric; m.Direction != "higher_is_better" || m.Repeats != 1 || m.Timeout != 15*time.Minute ||
		m.OutputLimit != 16<<20 || m.InvariantTimeout != 15*time.Minute || !m.Command.IsZero() {
		t.Errorf("Metric = %+v", m)
	}
	if r := c.Runner; r.Kind != "" || !r.Command.IsZero() || r.Timeout != 10*time.Minute || r.CheckTimeout != time.Minute || len(r.PassEnv) != 0 {
		t.Errorf("Runner = %+v", r)
	}
	if c.Proposer.Timeout != 15*time.Minute {
		t.Errorf("Proposer = %+v", c.Proposer)
	}
	if got := c.Origin("run.mode"); got != "default" {
		t.Errorf("Origin = %q", got)
	}
	if bars := c.Bars(); bars.NoiseFloor.Sign() != 0 || bars.Resolution != nil {
		t.Errorf("Bars = %+v", bars)
	}
}

// R-CFG-1 and R-CFG-2: flag, environment, repository or named file, person,
// default; a scalar and a list; a flag of zero; an empty variable.
func TestLayers(t *testing.T) {
	person := File{Name: "person.toml", Present: true, Data: []byte("[run]\nmax_crashes = 9\n[metric]\nkeep_paths = ['p']\n")}
	inRepo := File{Name: ".forge/config.toml", Present: true, Data: []byte("[run]\nmax_crashes = 8\n[metric]\nkeep_paths = ['r', 's']\n")}
	tests := map[string]struct {
		sources   Sources
		crashes   int
		keep      []string
		origin    string
		uses, set bool
	}{
		"nothing":            {Sources{}, 3, nil, "default", false, false},
		"person":             {Sources{Person: person}, 9, []string{"p"}, "person.toml:2", false, true},
		"repository":         {Sources{Person: person, Repo: inRepo}, 8, []string{"r", "s"}, ".forge/config.toml:2", true, true},
		"named":              {Sources{Person: person, Repo: inRepo, Named: true}, 8, []string{"r", "s"}, ".forge/config.toml:2", false, true},
		"variable":           {Sources{Repo: inRepo, Environ: map[string]string{"FORGE_RUN_MAX_CRASHES": "7", "FORGE_METRIC_KEEP_PATHS": "a\nb"}}, 7, []string{"a", "b"}, "FORGE_RUN_MAX_CRASHES", false, true},
		"variable with JSON": {Sources{Repo: inRepo, Environ: map[string]string{"FORGE_METRIC_KEEP_PATHS": `["a"]`}}, 8, []string{"a"}, ".forge/config.toml:2", true, true},
		"empty variable":     {Sources{Repo: inRepo, Environ: map[string]string{"FORGE_RUN_MAX_CRASHES": ""}}, 8, []string{"r", "s"}, ".forge/config.toml:2", true, true},
		"flag": {Sources{
			Flags:   map[string][]string{"run.max_crashes": {"6"}, "metric.keep_paths": {"x", "y"}},
			Environ: map[string]string{"FORGE_RUN_MAX_CRASHES": "7"},
			Repo:    inRepo,
		}, 6, []string{"x", "y"}, "flag", false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := load(t, tt.sources)
			if c.Run.MaxCrashes != tt.crashes || !slices.Equal(c.Metric.KeepPaths, tt.keep) {
				t.Errorf("max_crashes = %d, keep_paths = %q, want %d, %q", c.Run.MaxCrashes, c.Metric.KeepPaths, tt.crashes, tt.keep)
			}
			const key = "run.max_crashes"
			if c.Origin(key) != tt.origin || c.Uses(key) != tt.uses || c.IsSet(key) != tt.set {
				t.Errorf("origin %q, uses %t, set %t, want %q, %t, %t", c.Origin(key), c.Uses(key), c.IsSet(key), tt.origin, tt.uses, tt.set)
			}
		})
	}
}

// A flag of zero beats everything (loop.md R-CONF-1).
func TestFlagOfZero(t *testing.T) {
	s := repo("[run]\nimprovement_threshold = 0.5\n")
	s.Flags = map[string][]string{"run.improvement_threshold": {"0"}}
	if c := load(t, s); c.Run.ImprovementThreshold.Sign() != 0 {
		t.Errorf("improvement_threshold = %s, want 0", c.Run.ImprovementThreshold)
	}
}

// R-CFG-5: one value in each of its forms.
func TestValues(t *testing.T) {
	tests := map[string]struct {
		toml string
		get  func(*Config) any
		want any
	}{
		"float is its shortest text": {"[run]\nregression_threshold = 0.05", func(c *Config) any { return c.Run.RegressionThreshold.RatString() }, "1/20"},
		"number as text":             {"[run]\nregression_threshold = '0.05'", func(c *Config) any { return c.Run.RegressionThreshold.RatString() }, "1/20"},
		"exact ratio":                {"[run]\nnoise_floor = '3/101'", func(c *Config) any { return c.Run.NoiseFloor.RatString() }, "3/101"},
		"whole number as text":       {"[run]\nmax_crashes = '4'", func(c *Config) any { return c.Run.MaxCrashes }, 4},
		"whole float":                {"[run]\nmax_crashes = 4.0", func(c *Config) any { return c.Run.MaxCrashes }, 4},
		"negative target":            {"[run]\ntarget_value = -1e3", func(c *Config) any { return c.Run.TargetValue.RatString() }, "-1000"},
		"minutes":                    {"[run]\ntime_budget_minutes = 0", func(c *Config) any { return c.Run.TimeBudget }, time.Duration(0)},
		"command text":               {"[metric]\ncommand = 'go test'", func(c *Config) any { return c.Metric.Command.String() }, "go test"},
		"command list":               {"[metric]\ncommand = ['a', 'b <c>']", func(c *Config) any { return c.Metric.Command.String() }, `["a","b <c>"]`},
		"sandbox none":               {"[run]\nsandbox = 'none'", func(c *Config) any { return c.Run.Sandbox.String() }, "none"},
		"sandbox prefix":             {"[run]\nsandbox = ['bwrap', '--']", func(c *Config) any { return c.Run.Sandbox.String() }, `["bwrap","--"]`},
		"empty text is the default":  {"[run]\nmode = ''", func(c *Config) any { return c.Run.Mode }, "auto"},
		"MiB":                        {"[metric]\noutput_limit_mib = 2", func(c *Config) any { return c.Metric.OutputLimit }, int64(2 << 20)},
		"CR LF and BOM":              {"\ufeff[run]\r\nmax_crashes = 4\r\n", func(c *Config) any { return c.Run.MaxCrashes }, 4},
		"dotted keys":                {"run.max_crashes = 4", func(c *Config) any { return c.Run.MaxCrashes }, 4},
		"schema_version":             {"schema_version = 1\n[run]\nmax_crashes = 4", func(c *Config) any { return c.Run.MaxCrashes }, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.get(load(t, repo(tt.toml))); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%q gives %v, want %v", tt.toml, got, tt.want)
			}
		})
	}
}

// CLI.md: --time-budget takes minutes or a duration.
func TestTimeBudgetFlag(t *testing.T) {
	for text, want := range map[string]time.Duration{"90": 90 * time.Minute, "1h30m": 90 * time.Minute, "0": 0, "90s": 90 * time.Second} {
		c := load(t, Sources{Flags: map[string][]string{"run.time_budget_minutes": {text}}})
		if c.Run.TimeBudget != want {
			t.Errorf("--time-budget %s is %s, want %s", text, c.Run.TimeBudget, want)
		}
	}
}

// R-CFG-3, R-CFG-4, R-CFG-8: what is refused, with file, line and a guess.
func TestRefusals(t *testing.T) {
	person := func(text string) Sources {
		return Sources{Person: File{Name: "p.toml", Data: []byte(text), Present: true}}
	}
	variable := func(name, value string) Sources { return Sources{Environ: map[string]string{name: value}} }
	flag := func(key, value string) Sources {
		return Sources{Flags: map[string][]string{key: {value}}, Spelled: map[string]string{key: "--it"}}
	}
	tests := map[string]struct {
		sources Sources
		want    string
	}{
		"misspelt key":          {repo("[run]\nmode = 'auto'\nmax_experimnts = 3\n"), `unknown key "run.max_experimnts" in .forge/config.toml:3; did you mean "run.max_experiments"?`},
		"key of another table":  {repo("[run]\ncommand = 'x'\n"), `unknown key "run.command" in .forge/config.toml:2; did you mean "metric.command"?`},
		"unknown table":         {repo("[metrik]\ncommand = 'x'\n"), `unknown table "metrik" in .forge/config.toml:1; did you mean "metric"?`},
		"table in a table":      {repo("[run.more]\nx = 1\n"), `unknown key "run.more" in .forge/config.toml:1`},
		"top-level key":         {repo("max_crashes = 1\n"), `unknown key "max_crashes" in .forge/config.toml:1; did you mean "run.max_crashes"?`},
		"after a long text":     {repo("[metric]\ncommand = '''\nmod = 1\n'''\n[run]\nmod = 1\n"), `unknown key "run.mod" in .forge/config.toml:6; did you mean "run.mode"?`},
		"inline table":          {repo("run = { mod = 1 }\n"), `unknown key "run.mod" in .forge/config.toml:1; did you mean "run.mode"?`},
		"wrong type":            {repo("[run]\nmax_crashes = true\n"), `run.max_crashes is true in .forge/config.toml:2, want a whole number from 1 to 100`},
		"fraction":              {repo("[run]\nmax_crashes = 1.5\n"), `run.max_crashes is 1.5 in .forge/config.toml:2, want a whole number from 1 to 100`},
		"out of range":          {repo("[run]\nmax_crashes = 101\n"), `run.max_crashes is 101 in .forge/config.toml:2, want a whole number from 1 to 100`},
		"negative threshold":    {repo("[run]\nregression_threshold = -0.01\n"), `run.regression_threshold is -0.01 in .forge/config.toml:2, want a number of at least 0`},
		"not a number":          {repo("[run]\nregression_threshold = '5%'\n"), `run.regression_threshold is "5%" in .forge/config.toml:2, want a number of at least 0`},
		"not finite":            {repo("[run]\nregression_threshold = inf\n"), `run.regression_threshold is +Inf in .forge/config.toml:2, want a number of at least 0`},
		"too large":             {repo("[run]\nregression_threshold = '1e400'\n"), `run.regression_threshold is "1e400" in .forge/config.toml:2, want a number of at least 0`},
		"not one of":            {repo("[run]\nboundary = 'loose'\n"), `run.boundary is "loose" in .forge/config.toml:2, want inclusive or strict`},
		"date for a text":       {repo("[run]\nmode = 2026-05-08\n"), `run.mode is a date in .forge/config.toml:2, want a text in quotes`},
		"number for a text":     {repo("[metric]\nname = 5\n"), `metric.name is 5 in .forge/config.toml:2, want a text in quotes`},
		"text for a bool":       {repo("[run]\nrelative = 'true'\n"), `run.relative is "true" in .forge/config.toml:2, want true or false`},
		"metric name":           {repo("[metric]\nname = 'a b'\n"), `metric.name is "a b" in .forge/config.toml:2, want letters, digits, underscore, full stop and hyphen only`},
		"text for a list":       {repo("[metric]\nkeep_paths = 'x'\n"), `metric.keep_paths is "x" in .forge/config.toml:2, want a list of texts`},
		"path outside":          {repo("[metric]\nprotected_paths = ['../x']\n"), `metric.protected_paths is a list in .forge/config.toml:2, "../x": want a path inside the repository`},
		"variable of git":       {repo("[metric]\npass_env = ['GIT_DIR']\n"), `metric.pass_env is a list in .forge/config.toml:2, "GIT_DIR": variables of forge and git are not handed on`},
		"empty command":         {repo("[metric]\ncommand = []\n"), `metric.command is a list in .forge/config.toml:2, want a command: a text for the shell, or a list of program and arguments`},
		"sandbox word":          {repo("[run]\nsandbox = 'docker'\n"), `run.sandbox is "docker" in .forge/config.toml:2, want "auto", "none", or a list of program and arguments to put before the command`},
		"proposer":              {repo("[run]\nproposer = 'tune'\n"), `run.proposer is "tune" in .forge/config.toml:2, want roles, builtin:tune, builtin:discover or command:CMD`},
		"declined":              {repo("[run]\nworkspace_path = 'x'\n"), `"run.workspace_path" in .forge/config.toml:2 is not used by forge`},
		"newer form":            {repo("schema_version = 2\n"), `.forge/config.toml has schema_version 2, this forge reads up to 1`},
		"odd form":              {repo("schema_version = 'x'\n"), `schema_version is "x" in .forge/config.toml, want 1`},
		"duplicate key":         {repo("[run]\nmode = 'auto'\nmode = 'auto'\n"), `.forge/config.toml:3: `},
		"duplicate table":       {repo("[run]\n[run]\n"), `.forge/config.toml:2: `},
		"no TOML":               {repo("[run\n"), `.forge/config.toml:2: expected`},
		"person's key":          {repo("[runner]\nsubscription = true\n"), `"runner.subscription" in .forge/config.toml:2: a repository cannot set it`},
		"hidden value is read":  {Sources{Repo: person("").Person, Person: File{Name: "p.toml", Present: true, Data: []byte("[run]\nmax_crashes = 0")}, Flags: map[string][]string{"run.max_crashes": {"4"}}}, `run.max_crashes is 0 in p.toml:2, want a whole number from 1 to 100`},
		"person's file":         {person("[run]\nx = 1\n"), `unknown key "run.x" in p.toml:2`},
		"variable":              {variable("FORGE_RUN_MAX_EXPERIMNTS", "3"), `unknown variable FORGE_RUN_MAX_EXPERIMNTS; did you mean FORGE_RUN_MAX_EXPERIMENTS?`},
		"variable value":        {variable("FORGE_RUN_MAX_EXPERIMENTS", "x"), `run.max_experiments is "x" (FORGE_RUN_MAX_EXPERIMENTS), want a whole number from 1 to 100000`},
		"variable duration":     {variable("FORGE_RUN_TIME_BUDGET_MINUTES", "1h"), `run.time_budget_minutes is "1h" (FORGE_RUN_TIME_BUDGET_MINUTES), want a whole number from 0 to 100000`},
		"declined variable":     {variable("FORGE_RUN_WORKSPACE_PATH", "x"), `"run.workspace_path" (FORGE_RUN_WORKSPACE_PATH) is not used by forge`},
		"flag":                  {flag("run.max_crashes", "x"), `run.max_crashes is "x" (--it), want a whole number from 1 to 100`},
		"empty flag":            {flag("metric.command", ""), `metric.command is "" (--it), want a command: a text for the shell, or a list of program and arguments`},
		"flag duration":         {flag("run.time_budget_minutes", "-1h"), `run.time_budget_minutes is "-1h" (--it), want a whole number from 0 to 100000 of minutes, or a duration like 1h30m`},
		"flat: misspelt":        {flat("{\n\"mode\": \"auto\",\n\"max_crashs\": 1}"), `config.json:3: unknown key "max_crashs"; did you mean "max_crashes"?`},
		"flat: twice":           {flat(`{"mode":"auto","mode":"auto"}`), `config.json:1: "mode" is there twice`},
		"flat: no object":       {flat(`[]`), `config.json:1: want a JSON object`},
		"flat: rest":            {flat(`{} {}`), `config.json:1: there is something after the JSON object`},
		"flat: cut":             {flat(`{"mode":`), `config.json:1: invalid JSON`},
		"flat: wrong type":      {flat(`{"max_crashes": [1]}`), `run.max_crashes is a list in config.json:1, want a whole number from 1 to 100`},
		"flat: number is huge":  {flat(`{"target_value": 1e1000000}`), `run.target_value is 1e1000000 in config.json:1, want a number`},
		"flat: object":          {flat(`{"mode": {}}`), `run.mode is a table in config.json:1, want a text in quotes`},
		"flat: declined":        {flat(`{"workspace_path": "x"}`), `"run.workspace_path" in config.json:1 is not used by forge`},
		"flat only if named":    {Sources{Repo: File{Name: "config.json", Data: []byte(`{"mode":"auto"}`), Present: true}}, `config.json:1: `},
		"larger than the bound": {repo(strings.Repeat("#", maxFile+1)), `.forge/config.toml has 1048577 bytes, want at most 1048576`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Load(tt.sources)
			if err == nil {
				t.Fatal("Load accepts it")
			}
			if !strings.HasPrefix(err.Error(), tt.want) || fault.KindOf(err) != fault.Usage {
				t.Errorf("error %q of kind %s,\nwant     %q of kind usage", err, fault.KindOf(err), tt.want)
			}
		})
	}
}

// loop.md R-CONF-1: a flat file has seed 001's names; null is absent.
func TestFlatFile(t *testing.T) {
	c := load(t, flat(`{"improvement_threshold": "0.5", "regression_threshold": null, "metric_direction": "lower_is_better",
		"metric_repeats": 3, "metric_command": ["m"], "protected_paths": ["a"], "worse_command": "w", "relative": true, "gap_limit": 3}`))
	if c.Run.ImprovementThreshold.RatString() != "1/2" || c.Run.RegressionThreshold.RatString() != "1/20" ||
		c.Metric.Direction != "lower_is_better" || c.Metric.Repeats != 3 || !c.Run.Relative ||
		c.Metric.Command.String() != `["m"]` || c.Metric.WorseCommand.Line != "w" || len(c.Metric.ProtectedPaths) != 1 {
		t.Errorf("Run = %+v, Metric = %+v", c.Run, c.Metric)
	}
	if len(c.TrustItems()) != 0 {
		t.Errorf("a named file is trusted as typed, got %v", c.TrustItems())
	}
	want := []string{
		`"run.gap_limit" in config.json:2 has no effect in this version`,
	}
	slices.Sort(want)
	slices.Sort(c.Warnings)
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("Warnings = %q, want %q", c.Warnings, want)
	}
}

// R-CFG-9: every T key of the repository's file, also one that a flag hides.
func TestTrustItems(t *testing.T) {
	s := repo(`
[run]
proposer = "command:./p"
sandbox = "none"
[metric]
command = ["./bench.sh", "-x"]
invariant_command = "go test ./..."
pass_env = ["TOKEN", "A=b"]
[models.default]
base_url = "https://example.org"
`)
	s.Flags = map[string][]string{"metric.command": {"mine"}}
	c := load(t, s)
	want := []gitstore.TrustItem{
		{Key: "run.proposer", Kind: "exec", Value: "command:./p"},
		{Key: "run.sandbox", Kind: "exec", Value: "none"},
		{Key: "metric.command", Kind: "exec", Value: `["./bench.sh","-x"]`},
		{Key: "metric.invariant_command", Kind: "exec", Value: "go test ./..."},
		{Key: "metric.pass_env", Kind: "key", Value: `["TOKEN","A=b"]`},
	}
	if got := c.TrustItems(); !slices.Equal(got, want) {
		t.Errorf("TrustItems() = %v, want %v", got, want)
	}
	if c.Uses("metric.command") || !c.Uses("metric.invariant_command") {
		t.Error("a flag hides metric.command, nothing hides metric.invariant_command")
	}
	harmless := load(t, repo("[run]\nproposer = 'builtin:tune'\nsandbox = 'auto'\n"))
	if got := harmless.TrustItems(); len(got) != 0 {
		t.Errorf("TrustItems() = %v, want none", got)
	}
	other := Sources{Person: s.Repo, Environ: map[string]string{"FORGE_METRIC_COMMAND": "x"}}
	if got := load(t, other).TrustItems(); len(got) != 0 {
		t.Errorf("the person's own values want trust: %v", got)
	}
}

// R-CFG-6: every key with its value and its layer.
func TestList(t *testing.T) {
	c := load(t, repo("[run]\nmax_experiments = 20\n"))
	list := c.List()
	at := slices.IndexFunc(list, func(s Setting) bool { return s.Key == "run.max_experiments" })
	want := Setting{"run.max_experiments", "20", FromRepository, ".forge/config.toml:2"}
	if at < 0 || list[at] != want {
		t.Errorf("List() has %v, want %v", list[max(at, 0)], want)
	}
	if list[0] != (Setting{"run.mode", "auto", FromDefault, "default"}) {
		t.Errorf("List()[0] = %v", list[0])
	}
}

func TestNearest(t *testing.T) {
	candidates := []string{"version", "completion", "run", "runs", "log"}
	for name, want := range map[string]string{
		"verison": "version", "versio": "version", "rnu": "run", "comp": "completion", "lgo": "log",
		"x": "", "xyz": "", "co": "", "": "", "ver": "version", "run": "runs",
	} {
		if got := Nearest(name, candidates); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// Whatever the bytes, Load returns a configuration or a usage error.
func FuzzLoad(f *testing.F) {
	for _, k := range keys {
		table, last, _ := strings.Cut(k.Name, ".")
		f.Add(fmt.Sprintf("[%s]\n%s = 1\n", table, last), "1")
		f.Add(fmt.Sprintf("[%s]\n%s = ['a']\n", table, last), `["a"]`)
	}
	f.Add(`{"mode":"auto","max_crashes":1e5}`, "1h")
	f.Add("[models.'a.b']\nmodel = 1\n[prices.'m-1.5']\ninput = '1'\n", "")
	f.Fuzz(func(t *testing.T, file, value string) {
		environ := map[string]string{}
		for _, k := range keys {
			environ[Variable(k.Name)] = value
		}
		for name, s := range map[string]Sources{
			"toml": repo(file), "json": flat(file), "environment": {Environ: environ},
		} {
			c, err := Load(s)
			if err != nil {
				if fault.KindOf(err) != fault.Usage {
					t.Errorf("%s: %q is of kind %s, want usage", name, err, fault.KindOf(err))
				}
				continue
			}
			for _, setting := range c.List() {
				if setting.Origin == "" {
					t.Errorf("%s: %s has no origin", name, setting.Key)
				}
			}
		}
	})
}
