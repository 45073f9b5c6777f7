package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"forge/gitstore"
	"forge/gitstore/fault"
)

// File is a configuration file as the caller read it.
type File struct {
	Name    string // as messages name it: ".forge/config.toml"
	Data    []byte
	Present bool
}

// Sources are the layers, unread. A key of Flags is dotted ("run.mode"); a
// list flag has one element for each time it was given.
type Sources struct {
	Flags   map[string][]string
	Spelled map[string]string // how messages name a flag: "--improvement" for "run.improvement_threshold"
	Environ map[string]string // the whole environment; only FORGE_ variables are looked at
	Repo    File              // the repository's file, or with Named the one of --config
	Person  File
	Named   bool // Repo was named by the person: trusted, and JSON if its name ends so
}

// entry is one value of one layer.
type entry struct {
	key   string
	raw   any
	from  Layer
	place string // file:line, variable or "flag"
}

// where is how a message names the place of an entry.
func (e entry) where() string {
	switch e.from {
	case FromFlag, FromEnvironment:
		return " (" + e.place + ")"
	case FromDefault:
		return ""
	}
	return " in " + e.place
}

// Load checks every layer and returns the effective configuration. All its
// errors are faults of kind Usage.
func Load(sources Sources) (*Config, error) {
	entries, warnings, err := sources.entries()
	if err != nil {
		return nil, err
	}
	c := &Config{Warnings: warnings, settings: make(map[string]Setting, len(keys)), models: map[string]any{}}
	for name, given := range entries {
		if isModelKey(name) {
			c.models[name] = given[0].raw
		}
	}
	fields := fieldsOf(c)
	for i := range keys {
		k := &keys[i]
		if k.Declined != "" {
			continue
		}
		if err := c.settle(k, entries[k.Name], fields[k.Name]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// settle checks every layer's value of k and puts the strongest into field.
// given is ordered from the strongest layer to the weakest.
func (c *Config) settle(k *key, given []entry, field reflect.Value) error {
	if k.Default != "" {
		given = append(slices.Clip(given), entry{key: k.Name, raw: k.Default, from: FromDefault, place: string(FromDefault)})
	}
	c.settings[k.Name] = Setting{Key: k.Name, Layer: FromDefault, Origin: string(FromDefault)}
	for i, e := range given {
		t, err := k.parse(e.raw, e.from)
		if err != nil {
			return fault.New(fault.Usage, "", "%s is %s%s, %w", k.Name, show(e.raw), e.where(), err)
		}
		if i == 0 {
			c.settings[k.Name] = Setting{Key: k.Name, Value: t.text, Layer: e.from, Origin: e.place}
			field.Set(reflect.ValueOf(t.value).Convert(field.Type()))
		}
		if e.from == FromRepository && (k.Trust == trustExec || k.Trust == trustKey) && (k.Inert == nil || k.Inert(t.text)) {
			c.trust = append(c.trust, gitstore.TrustItem{Key: k.Name, Kind: k.Trust.word(), Value: t.text})
		}
	}
	return nil
}

// show is a value as a message prints it.
func show(raw any) string {
	switch v := raw.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		if len(v) == 1 {
			return fmt.Sprintf("%q", v[0])
		}
		return listText(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case time.Time:
		return "a date"
	}
	return fmt.Sprint(raw)
}

// entries collects the values of all layers by key, strongest first, and one
// warning per value that has no effect in this version.
func (s Sources) entries() (byKey map[string][]entry, warnings []string, err error) {
	repo := FromRepository
	if s.Named {
		repo = FromNamed
	}
	all := s.flagEntries()
	variables, err := s.variableEntries()
	if err != nil {
		return nil, nil, err
	}
	all = append(all, variables...)
	for _, layer := range []struct {
		file File
		from Layer
	}{{s.Repo, repo}, {s.Person, FromPerson}} {
		found, err := fileEntries(layer.file, layer.from)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, found...)
	}
	byKey = map[string][]entry{}
	for _, e := range all {
		k := findKey(e.key)
		if k != nil && k.Declined != "" {
			return nil, nil, k.declined(e.where())
		}
		if k == nil && !isModelKey(e.key) || k != nil && k.NotYet {
			warnings = append(warnings, fmt.Sprintf("%q%s has no effect in this version", e.key, e.where()))
		}
		byKey[e.key] = append(byKey[e.key], e)
	}
	return byKey, warnings, nil
}

// flagEntries are the flags that were given, in the order of the table.
func (s Sources) flagEntries() []entry {
	var list []entry
	for _, k := range keys {
		values, given := s.Flags[k.Name]
		if !given {
			continue
		}
		place := string(FromFlag)
		if spelled := s.Spelled[k.Name]; spelled != "" {
			place = spelled
		}
		list = append(list, entry{key: k.Name, raw: values, from: FromFlag, place: place})
	}
	return list
}

// variableEntries are the FORGE_ variables that name a key. One that begins
// with the name of a table and fits no key is an error; an empty one is not
// set (config.md section 4).
func (s Sources) variableEntries() ([]entry, error) {
	byVariable := map[string]string{}
	var names []string
	for _, name := range allNames() {
		if !strings.Contains(name, "*") {
			byVariable[Variable(name)] = name
			names = append(names, Variable(name))
		}
	}
	var list []entry
	for _, variable := range sortedKeys(s.Environ) {
		value := s.Environ[variable]
		if value == "" || !namesTable(variable) {
			continue
		}
		name, known := byVariable[variable]
		if !known {
			name, known = modelVariable(variable)
		}
		if !known {
			guess := ""
			if near := Nearest(variable, names); near != "" {
				guess = "; did you mean " + near + "?"
			}
			return nil, fault.New(fault.Usage, "", "unknown variable %s%s", variable, guess)
		}
		list = append(list, entry{key: name, raw: value, from: FromEnvironment, place: variable})
	}
	return list, nil
}

// namesTable reports whether a variable begins with FORGE_ and a table.
func namesTable(variable string) bool {
	rest, ok := strings.CutPrefix(variable, "FORGE_")
	return ok && slices.ContainsFunc(tables(), func(table string) bool {
		return table != "prices" && strings.HasPrefix(rest, upper(table)+"_")
	})
}

// modelVariable finds the key of FORGE_MODELS_<NAME>_<KEY>.
func modelVariable(variable string) (string, bool) {
	rest, ok := strings.CutPrefix(variable, "FORGE_MODELS_")
	if !ok {
		return "", false
	}
	for _, name := range later {
		last, isModel := strings.CutPrefix(name, "models.*.")
		if !isModel {
			continue
		}
		if model, fits := strings.CutSuffix(rest, "_"+upper(last)); fits && model != "" {
			return "models." + strings.ToLower(model) + "." + last, true
		}
	}
	return "", false
}

// fieldsOf returns the fields of c by key, from their tags.
func fieldsOf(c *Config) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	top := reflect.ValueOf(c).Elem()
	for i := range top.NumField() {
		table := top.Type().Field(i).Tag.Get("key")
		if table == "" {
			continue
		}
		for j := range top.Field(i).NumField() {
			name := top.Field(i).Type().Field(j).Tag.Get("key")
			fields[table+"."+name] = top.Field(i).Field(j)
		}
	}
	return fields
}
