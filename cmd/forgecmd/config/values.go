package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"forge/gitstore"
	"forge/loop/verdict"
)

// typed is a checked value: what goes into the field, and its canonical text.
type typed struct {
	value any
	text  string
}

// parse checks raw, as a layer gave it, against a row. raw is a string, bool,
// int64, float64, json.Number or []any from a file, a string from the
// environment, or []string from flags. The error is the end of a sentence
// that begins with the key and the value: "want a whole number from 1 to 9".
func (k *key) parse(raw any, from Layer) (typed, error) {
	switch k.Kind {
	case kindText:
		return k.parseText(raw)
	case kindBool:
		return parseBool(raw, from)
	case kindInt, kindMinutes, kindSeconds, kindMiB:
		return k.parseInt(raw, from)
	case kindNumber, kindRatio:
		return k.parseNumber(raw)
	case kindList:
		return k.parseList(raw, from)
	case kindCommand:
		return parseCommand(raw, from)
	case kindSandbox:
		return parseSandbox(raw, from)
	case kindGate:
		return parseGate(raw)
	case kindFractions:
		return parseFractions(raw)
	case kindSeed:
		return parseSeed(raw)
	}
	panic(fmt.Sprintf("config: key %s has kind %d", k.Name, k.Kind))
}

// scalar returns the text of a single value; ok is false for a list or table.
func scalar(raw any) (text string, ok bool) {
	switch v := raw.(type) {
	case string:
		return v, true
	case []string: // a flag; the last one given holds
		if len(v) > 0 {
			return v[len(v)-1], true
		}
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64: // its shortest decimal text (loop.md R-CONF-2)
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

func (k *key) parseText(raw any) (typed, error) {
	text, ok := "", false
	switch raw.(type) {
	case string, []string:
		text, ok = scalar(raw)
	}
	if !ok {
		return typed{}, errors.New("want a text in quotes")
	}
	if len(k.OneOf) > 0 {
		for _, allowed := range k.OneOf {
			if text == allowed {
				return typed{text, text}, nil
			}
		}
		return typed{}, fmt.Errorf("want %s", oneOf(k.OneOf))
	}
	if k.Check != nil {
		if complaint := k.Check(text); complaint != "" {
			return typed{}, errors.New(complaint)
		}
	}
	return typed{text, text}, nil
}

func parseBool(raw any, from Layer) (typed, error) {
	if b, ok := raw.(bool); ok {
		return typed{b, strconv.FormatBool(b)}, nil
	}
	text, _ := scalar(raw)
	if from == FromFlag || from == FromEnvironment || from == FromDefault {
		switch text {
		case "true", "1":
			return typed{true, "true"}, nil
		case "false", "0":
			return typed{false, "false"}, nil
		}
	}
	return typed{}, errors.New("want true or false")
}

func (k *key) parseInt(raw any, from Layer) (typed, error) {
	want := "want a whole number" + k.bounds()
	text, ok := scalar(raw)
	if !ok {
		return typed{}, errors.New(want)
	}
	if k.Kind == kindMinutes && from == FromFlag {
		want += " of minutes, or a duration like 1h30m"
		if d, err := time.ParseDuration(text); err == nil && text != "0" {
			return k.minutes(d, want)
		}
	}
	r, err := verdict.ParseNumber(text)
	if err != nil || !r.IsInt() || !r.Num().IsInt64() || !k.within(r) {
		return typed{}, errors.New(want)
	}
	n := r.Num().Int64()
	canonical := strconv.FormatInt(n, 10)
	switch k.Kind {
	case kindMinutes:
		return typed{time.Duration(n) * time.Minute, canonical}, nil
	case kindSeconds:
		return typed{time.Duration(n) * time.Second, canonical}, nil
	case kindMiB:
		return typed{n << 20, canonical}, nil
	}
	return typed{int(n), canonical}, nil
}

// minutes checks a duration given as a flag.
func (k *key) minutes(d time.Duration, want string) (typed, error) {
	if !k.within(new(big.Rat).SetFrac64(int64(d), int64(time.Minute))) {
		return typed{}, errors.New(want)
	}
	if d%time.Minute == 0 {
		return typed{d, strconv.FormatInt(int64(d/time.Minute), 10)}, nil
	}
	return typed{d, d.String()}, nil
}

func (k *key) parseNumber(raw any) (typed, error) {
	want := "want a number" + k.bounds()
	text, ok := scalar(raw)
	if !ok {
		return typed{}, errors.New(want)
	}
	read := verdict.ParseNumber
	if k.Kind == kindRatio {
		read = verdict.ParseRatio
	}
	r, err := read(text)
	if err != nil || !k.within(r) {
		return typed{}, errors.New(want)
	}
	return typed{r, text}, nil
}

// within reports whether r lies in the row's bounds.
func (k *key) within(r *big.Rat) bool {
	for bound, outside := range map[string]int{k.Min: -1, k.Max: +1} {
		if bound == "" {
			continue
		}
		limit, ok := new(big.Rat).SetString(bound)
		if !ok || r.Cmp(limit) == outside {
			return false
		}
	}
	return true
}

// bounds is " from 1 to 9", " of at least 0" or "".
func (k *key) bounds() string {
	switch {
	case k.Min != "" && k.Max != "":
		return " from " + k.Min + " to " + k.Max
	case k.Min != "":
		return " of at least " + k.Min
	}
	return ""
}

// texts returns a list of texts as a layer gave it. From the environment it
// is JSON or one per line.
func texts(raw any, from Layer) ([]string, bool) {
	switch v := raw.(type) {
	case []string:
		return v, true
	case []any:
		list := make([]string, len(v))
		for i, element := range v {
			text, ok := element.(string)
			if !ok {
				return nil, false
			}
			list[i] = text
		}
		return list, true
	case string:
		if from != FromEnvironment {
			return nil, false
		}
		if list, ok := jsonList(v); ok {
			return list, true
		}
		return strings.Split(strings.TrimRight(v, "\n"), "\n"), true
	}
	return nil, false
}

// jsonList reads a JSON list of texts.
func jsonList(text string) ([]string, bool) {
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return nil, false
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, false
	}
	return list, true
}

// listText is the canonical text of a list.
func listText(list []string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(list); err != nil {
		panic(fmt.Sprintf("config: a list of texts does not encode: %v", err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (k *key) parseList(raw any, from Layer) (typed, error) {
	list, ok := texts(raw, from)
	if !ok {
		return typed{}, errors.New("want a list of texts")
	}
	for _, element := range list {
		if complaint := k.Check(element); complaint != "" {
			return typed{}, fmt.Errorf("%q: %s", element, complaint)
		}
	}
	return typed{list, listText(list)}, nil
}

func parseCommand(raw any, from Layer) (typed, error) {
	const want = "want a command: a text for the shell, or a list of program and arguments"
	if flag, ok := raw.([]string); ok {
		raw, _ = scalar(flag)
	}
	if text, ok := raw.(string); ok {
		if list, ok := jsonList(text); ok && from == FromEnvironment {
			return argv(list, want)
		}
		if strings.TrimSpace(text) == "" || strings.ContainsRune(text, 0) {
			return typed{}, errors.New(want)
		}
		return typed{Command{Line: text}, text}, nil
	}
	list, ok := texts(raw, from)
	if !ok {
		return typed{}, errors.New(want)
	}
	return argv(list, want)
}

// argv checks program and arguments.
func argv(list []string, want string) (typed, error) {
	if len(list) == 0 || list[0] == "" || strings.ContainsRune(strings.Join(list, ""), 0) {
		return typed{}, errors.New(want)
	}
	return typed{Command{Argv: list}, listText(list)}, nil
}

func parseSandbox(raw any, from Layer) (typed, error) {
	const want = `want "auto", "none", or a list of program and arguments to put before the command`
	if flag, ok := raw.([]string); ok && len(flag) == 1 {
		raw = flag[0]
	}
	switch raw {
	case "auto":
		return typed{Sandbox{Auto: true}, "auto"}, nil
	case "none":
		return typed{Sandbox{}, "none"}, nil
	}
	text, isText := raw.(string)
	list, ok := texts(raw, from)
	if isText {
		list, ok = jsonList(text)
	}
	if !ok {
		return typed{}, errors.New(want)
	}
	if _, err := argv(list, want); err != nil {
		return typed{}, err
	}
	return typed{Sandbox{Prefix: list}, listText(list)}, nil
}

// The checks of single rows. Each returns what is wanted instead, or "".

func checkProposer(text string) string {
	name, isCommand := strings.CutPrefix(text, "command:")
	switch {
	case isCommand && strings.TrimSpace(name) != "":
		return ""
	case text == "roles" || text == "builtin:tune" || text == "builtin:discover":
		return ""
	}
	return "want roles, builtin:tune, builtin:discover or command:CMD"
}

func isCommandProposer(text string) bool { return strings.HasPrefix(text, "command:") }

func isNotAuto(text string) bool { return text != "auto" }

var (
	metricName   = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func checkMetricName(text string) string {
	if metricName.MatchString(text) {
		return ""
	}
	return "want letters, digits, underscore, full stop and hyphen only"
}

// checkPath refuses what is no glob and what leaves the repository (R-CFG-5).
func checkPath(text string) string {
	for part := range strings.SplitSeq(text, "/") {
		if part == ".." {
			return "want a path inside the repository"
		}
	}
	if text == "" || strings.HasPrefix(text, "/") || strings.Contains(text, `\`) {
		return "want a path or glob from the root of the repository"
	}
	if _, err := gitstore.ParseGlob(text); err != nil {
		return "want a path or glob from the root of the repository: " + err.Error()
	}
	return ""
}

// checkPassEnv refuses variables that belong to forge or git (handoff.md
// R-SEAM-3).
func checkPassEnv(text string) string {
	name, _, _ := strings.Cut(text, "=")
	switch {
	case !variableName.MatchString(name):
		return "want NAME or NAME=VALUE"
	case strings.HasPrefix(name, "FORGE_") || strings.HasPrefix(name, "GIT_"):
		return "variables of forge and git are not handed on"
	}
	return ""
}

// oneOf is "a, b or c".
func oneOf(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// upper is a key's name as it stands in a variable.
func upper(name string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}
