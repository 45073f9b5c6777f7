package config

import (
	"testing"

	"forge/gitstore/fault"
)

// loop.md R-CONF-2: gate_weights, split_ratio and split_seed in each form.
func TestEvalKeys(t *testing.T) {
	tests := map[string]struct {
		sources Sources
		key     string
		want    string // the value as text, or the error
	}{
		"gate, inline":       {repo("[run]\ngate_weights = {assertions = 0.65, judge = 0.35}\n"), "run.gate_weights", `{"assertions":0.65,"judge":0.35}`},
		"gate, table":        {repo("[run.gate_weights]\nassertions = 1\nefficiency = 0\n"), "run.gate_weights", `{"assertions":1,"efficiency":0}`},
		"gate, flat":         {flat(`{"gate_weights": {"assertions": "0.5", "judge": 0.5}}`), "run.gate_weights", `{"assertions":0.5,"judge":0.5}`},
		"gate, empty":        {flat(`{"gate_weights": {}}`), "run.gate_weights", `{}`},
		"gate, variable":     {Sources{Environ: map[string]string{"FORGE_RUN_GATE_WEIGHTS": `{"judge": 1}`}}, "run.gate_weights", `{"judge":1}`},
		"gate, sum":          {flat(`{"gate_weights": {"assertions": 0.8, "judge": 0.3}}`), "", `run.gate_weights is a table in config.json:1, the weights of assertions and judge must make 1, not 1.1`},
		"gate, efficiency":   {flat(`{"gate_weights": {"assertions": 1, "efficiency": 0.2}}`), "", `run.gate_weights is a table in config.json:1, efficiency is reported, never gated; its weight is 1/5`},
		"gate, text":         {repo("[run]\ngate_weights = 'x'\n"), "", `run.gate_weights is "x" in .forge/config.toml:2, want a table of numbers: {assertions = 0.65, judge = 0.35}`},
		"gate, no number":    {repo("[run]\ngate_weights = {judge = true}\n"), "", `run.gate_weights is a table in .forge/config.toml:2, want a table of numbers: {assertions = 0.65, judge = 0.35}`},
		"ratio":              {repo("[run]\nsplit_ratio = '0.6/0.2/0.2'\n"), "run.split_ratio", "0.6/0.2/0.2"},
		"ratio, sum":         {repo("[run]\nsplit_ratio = '0.6/0.2/0.1'\n"), "", `run.split_ratio is "0.6/0.2/0.1" in .forge/config.toml:2, want three fractions that make 1, of train, val and test: "0.50/0.25/0.25"`},
		"ratio, two":         {repo("[run]\nsplit_ratio = '0.5/0.5'\n"), "", `run.split_ratio is "0.5/0.5" in .forge/config.toml:2, want three fractions that make 1, of train, val and test: "0.50/0.25/0.25"`},
		"seed, text":         {repo("[run]\nsplit_seed = 'spring'\n"), "run.split_seed", "spring"},
		"seed, number":       {flat(`{"split_seed": 7}`), "run.split_seed", "7"},
		"seed, fraction":     {flat(`{"split_seed": 7.5}`), "", `run.split_seed is 7.5 in config.json:1, want a whole number or a text`},
		"seed, TOML float":   {repo("[run]\nsplit_seed = 7.0\n"), "", `run.split_seed is 7 in .forge/config.toml:2, want a whole number or a text`},
		"runs, too many":     {repo("[run]\nruns_per_side = 21\n"), "", `run.runs_per_side is 21 in .forge/config.toml:2, want a whole number from 1 to 20`},
		"min_evals, too few": {repo("[run]\nmin_evals = 1\n"), "", `run.min_evals is 1 in .forge/config.toml:2, want a whole number from 2 to 1000`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Load(tt.sources)
			switch {
			case tt.key == "":
				if fault.KindOf(err) != fault.Usage || err.Error() != tt.want {
					t.Errorf("Load = %v, want %s", err, tt.want)
				}
			case err != nil || c.Value(tt.key) != tt.want:
				t.Errorf("Load = %v, want %s %q", err, tt.key, tt.want)
			}
		})
	}
	c := load(t, repo("[run]\nsplit_ratio = '0.5/0.3/0.2'\ngate_weights = {judge = 1}\n"))
	if c.Run.SplitRatio.Val.RatString() != "3/10" || c.Run.SplitRatio.Test.RatString() != "1/5" || c.Run.GateWeights.Judge.RatString() != "1" {
		t.Errorf("Run = %+v", c.Run)
	}
}

// config.md, [models.NAME]: a role's table is laid over default, and builtin
// answers no role.
func TestNamesModel(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                 false,
		"[models.default]\nmodel = 'm'\n":  true,
		"[models.scorer]\ncommand = 'm'\n": true,
		"[models.mutator]\nmodel = 'm'\n":  false,
		"[models.scorer]\nretries = 1\n":   false,
		"[models.default]\nprovider = 'builtin'\nmodel = 'm'\n":                                       false,
		"[models.default]\nprovider = 'openai'\nmodel = 'm'\n[models.scorer]\nprovider = 'builtin'\n": false,
	} {
		if got := load(t, repo(text)).NamesModel("scorer"); got != want {
			t.Errorf("%q: NamesModel = %t", text, got)
		}
	}
}
