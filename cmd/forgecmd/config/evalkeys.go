package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"forge/gitstore/evals"
	"forge/loop/verdict"
)

// parseGate reads gate_weights: a table, or from the environment or a flag its
// JSON (loop.md R-SCORE-8).
func parseGate(raw any) (typed, error) {
	const want = "want a table of numbers: {assertions = 0.65, judge = 0.35}"
	if text, ok := scalar(raw); ok {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var table map[string]any
		if err := decoder.Decode(&table); err != nil || decoder.More() {
			return typed{}, errors.New(want)
		}
		raw = table
	}
	table, ok := raw.(map[string]any)
	if !ok {
		return typed{}, errors.New(want)
	}
	weights := make(map[string]*big.Rat, len(table))
	var canonical bytes.Buffer
	for _, name := range sortedKeys(table) {
		text, ok := scalar(table[name])
		weight, err := verdict.ParseNumber(text)
		if !ok || err != nil {
			return typed{}, errors.New(want)
		}
		weights[name] = weight
		fmt.Fprintf(&canonical, "%q:%s,", name, verdict.Shortest(weight))
	}
	gate, err := evals.NewGate(weights)
	if err != nil {
		return typed{}, err
	}
	return typed{gate, "{" + strings.TrimSuffix(canonical.String(), ",") + "}"}, nil
}

// parseFractions reads split_ratio: train, val and test, together 1.
func parseFractions(raw any) (typed, error) {
	want := errors.New("want three fractions that make 1, of train, val and test: \"0.50/0.25/0.25\"")
	text, _ := scalar(raw)
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return typed{}, want
	}
	numbers, sum := make([]*big.Rat, len(parts)), new(big.Rat)
	for i, part := range parts {
		var err error
		if numbers[i], err = verdict.ParseNumber(part); err != nil || numbers[i].Sign() < 0 {
			return typed{}, want
		}
		sum.Add(sum, numbers[i])
	}
	if sum.Cmp(big.NewRat(1, 1)) != 0 {
		return typed{}, want
	}
	return typed{evals.Fractions{Val: numbers[1], Test: numbers[2]}, text}, nil
}

// parseSeed reads split_seed: a whole number or any text.
func parseSeed(raw any) (typed, error) {
	text, ok := scalar(raw)
	if _, isFloat := raw.(float64); isFloat || !ok || strings.ContainsRune(text, 0) {
		return typed{}, errors.New("want a whole number or a text")
	}
	if number, isNumber := raw.(json.Number); isNumber {
		if _, err := number.Int64(); err != nil {
			return typed{}, errors.New("want a whole number or a text")
		}
	}
	return typed{evals.Seed(text), text}, nil
}

// modelKeys are the keys that name a model, of which this version reads only
// whether they are there.
var modelKeys = []string{"provider", "model", "command"}

// isModelKey reports whether a key names a model.
func isModelKey(name string) bool {
	parts := strings.Split(name, ".")
	return len(parts) == 3 && parts[0] == "models" && slices.Contains(modelKeys, parts[2])
}

// NamesModel reports whether the configuration names a model for a role: its
// own table, laid over that of default, has a model or a command, and its
// provider is not builtin, which answers no role.
//
// Source: config.md, [models.NAME].
func (c *Config) NamesModel(role string) bool {
	value := func(key string) any {
		for _, table := range []string{role, "default"} {
			if raw, ok := c.models["models."+table+"."+key]; ok {
				return raw
			}
		}
		return nil
	}
	return value("provider") != "builtin" && (value("model") != nil || value("command") != nil)
}
