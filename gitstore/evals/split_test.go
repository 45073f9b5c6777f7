package evals

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/fault"
)

// rule is the default rule of loop.md R-CONF-2, forced.
func rule() SplitRule {
	return SplitRule{Seed: "42", Fractions: Fractions{big.NewRat(1, 4), big.NewRat(1, 4)}, MinEvals: 6, MinEvalsForTest: 12, Force: true}
}

// ids is a list of n evals as a file.
func ids(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id": "eval-%03d"}`, i))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func assign(t testing.TB, s Set, r SplitRule) Assignment {
	t.Helper()
	a, err := s.Assign(r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// R-SPLIT-1: cuts are rounded half to even on the exact decimal.
func TestPercent(t *testing.T) {
	for text, want := range map[string]int{"0.125": 12, "0.375": 38, "0.575": 58, "0.005": 0, "0.015": 2, "0.25": 25, "1": 100, "0": 0} {
		r, _ := new(big.Rat).SetString(text)
		if got := percent(r); got != want {
			t.Errorf("percent(%s) = %d, want %d", text, got, want)
		}
	}
}

// R-SPLIT-3, R-SPLIT-6, R-SPLIT-7: the twelfth eval, a val drawn from train,
// what is warned.
func TestAssign(t *testing.T) {
	eleven := read(t, ids(11))
	if a := assign(t, eleven, rule()); a.WithTest || a.Counts.Test != 0 || !slices.Contains(a.Warnings, "no_test") || slices.Contains(a.Warnings, "test_empty") {
		t.Errorf("11 evals: %+v", a)
	}
	noVal := rule()
	noVal.Fractions.Val = new(big.Rat)
	set := read(t, `[{"id": "b"}, {"id": "a", "split": "train"}, {"id": "c"}]`)
	if a := assign(t, set, noVal); !slices.Equal(a.ForcedToVal, []string{"b"}) || !slices.Equal(a.KeptExisting, []string{"a"}) {
		t.Errorf("val is drawn from what the file fixes: %+v", a)
	}
	fixed := read(t, `[{"id": "a", "split": "train"}, {"id": "b", "split": "test"}]`)
	_, err := fixed.Assign(rule())
	wantUsage(t, "Assign with an empty val", err, "the val split is empty")

	few := rule()
	few.Force = false
	_, err = set.Assign(few)
	if fault.KindOf(err) != fault.Refused || fault.HintOf(err) != "add evals, or --force" {
		t.Errorf("Assign of 3 evals = %v, want a refusal", err)
	}
	empty := read(t, "[]")
	_, err = empty.Assign(rule())
	wantUsage(t, "Assign of nothing, forced", err, "no evals")
	for _, fractions := range []Fractions{{big.NewRat(-1, 10), new(big.Rat)}, {new(big.Rat), big.NewRat(-1, 10)}, {big.NewRat(2, 3), big.NewRat(1, 2)}} {
		bad := rule()
		bad.Fractions = fractions
		_, err := eleven.Assign(bad)
		wantUsage(t, "Assign with wrong fractions", err, "fraction") // R-SPLIT-8
	}
	whole := rule()
	whole.Fractions = Fractions{big.NewRat(1, 2), big.NewRat(1, 2)}
	if a := assign(t, read(t, ids(40)), whole); a.Counts.Train != 0 || !slices.Contains(a.Warnings, "train_empty") {
		t.Errorf("val + test = 1: %+v", a)
	}
}

// M1a, R-SF-TR-2: every split holds both classes.
func TestAssignTriggers(t *testing.T) {
	triggers := func(n int, should func(i int) bool) Set {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"query": "query %d", "should_trigger": %t}`, i, should(i)))
		}
		return read(t, "["+strings.Join(list, ",")+"]")
	}
	for seed := range 60 {
		r := rule()
		r.Seed = Seed(fmt.Sprint(seed))
		set := triggers(20, func(i int) bool { return i >= 3 })
		a := assign(t, set, r)
		found := map[Split]map[bool]int{Train: {}, Val: {}, Test: {}}
		for _, e := range set.Evals {
			found[a.Assignment[e.ID]][e.ShouldTrigger]++
		}
		for _, split := range []Split{Val, Test} {
			if a.Counts.Test == 0 && split == Test {
				continue
			}
			if !slices.Contains(a.Warnings, "class_missing") && (found[split][true] == 0 || found[split][false] == 0) {
				t.Errorf("seed %d: %s holds %v of the classes, warnings %v", seed, split, found[split], a.Warnings)
			}
		}
		if found[Train][false] == 0 && len(a.ForcedToVal)+len(a.ForcedToTest) > 0 && slices.Contains(a.Warnings, "class_missing") {
			for _, id := range slices.Concat(a.ForcedToVal, a.ForcedToTest) {
				if e, _ := set.Find(id); !e.ShouldTrigger {
					t.Errorf("seed %d: train's last negative query was moved", seed)
				}
			}
		}
	}
	one := assign(t, triggers(20, func(int) bool { return true }), rule())
	if !slices.Contains(one.Warnings, "one_class") || slices.Contains(one.Warnings, "class_missing") || one.ForcedToTest != nil {
		t.Errorf("one class: %+v", one)
	}
	single := assign(t, triggers(14, func(i int) bool { return i > 0 }), rule())
	if !slices.Contains(single.Warnings, "class_missing") {
		t.Errorf("one negative query: %v", single.Warnings)
	}
}

// A seed is a number in JSON where it is one.
func TestSeed(t *testing.T) {
	for seed, want := range map[Seed]string{"42": "42", "-1": "-1", "007": `"007"`, "a": `"a"`, "": `""`, "99999999999999999999": `"99999999999999999999"`} {
		if got, err := json.Marshal(seed); err != nil || string(got) != want {
			t.Errorf("Marshal(%q) = %s, %v, want %s", seed, got, err, want)
		}
	}
}

// R-SF-EV-9, loop.md section 4: members are added in the manner of their
// neighbours and nothing else changes.
func TestWithSplits(t *testing.T) {
	r := rule()
	r.Fractions = Fractions{big.NewRat(1, 1), new(big.Rat)} // everything in val
	tests := map[string]struct{ before, after string }{
		"bare list":   {`[{"id": "a", "x": {"kept": 1e2}}]`, `{"version": 1, "split_seed": 42, "evals": [{"id": "a", "x": {"kept": 1e2}, "split": "val"}]}`},
		"one member":  {`{"evals": [{"id": "a"}]}`, `{"version": 1, "split_seed": 42, "evals": [{"id": "a", "split": "val"}]}`},
		"compact":     {`{"k":0,"evals":[{"id":"a","prompt":"p"},{"id":"b"}]}`, `{"k":0,"version":1,"split_seed":42,"evals":[{"id":"a","prompt":"p","split":"val"},{"id":"b","split":"val"}]}`},
		"lines":       {"{\n  \"k\": 0,\n  \"evals\": [\n    {\n      \"id\": \"a\"\n    }\n  ]\n}\n", "{\n  \"k\": 0,\n  \"version\": 1,\n  \"split_seed\": 42,\n  \"evals\": [\n    {\n      \"id\": \"a\",\n      \"split\": \"val\"\n    }\n  ]\n}\n"},
		"CR LF, mark": {"\ufeff{\r\n\t\"version\": 7,\r\n\t\"split_seed\": \"x\",\r\n\t\"cases\": [\r\n\t\t{\"id\": \"a\", \"split\": \"test\"}\r\n\t]\r\n}", "\ufeff{\r\n\t\"version\": 7,\r\n\t\"split_seed\": 42,\r\n\t\"cases\": [\r\n\t\t{\"id\": \"a\", \"split\": \"test\"}\r\n\t]\r\n}"},
		"null split":  {`[{"id": "a", "split": null}]`, `{"version": 1, "split_seed": 42, "evals": [{"id": "a", "split": "val"}]}`},
		"queries":     {`[{"query": "q", "should_trigger": true}, {"query": "q", "should_trigger": true}]`, `{"version": 1, "split_seed": 42, "queries": [{"query": "q", "should_trigger": true, "split": "val"}, {"query": "q", "should_trigger": true, "split": "val"}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := read(t, tt.before)
			if name == "CR LF, mark" {
				r := r
				r.Fractions.Val = new(big.Rat)
				_, err := s.Assign(r)
				wantUsage(t, "Assign", err, "val split is empty")
			}
			a := Assignment{Seed: "42", Assignment: map[string]Split{}}
			for _, e := range s.Evals {
				a.Assignment[e.ID] = Val
				if e.Split != "" {
					a.Assignment[e.ID] = e.Split
				}
			}
			got, err := s.WithSplits(a)
			if err != nil || string(got) != tt.after {
				t.Errorf("WithSplits = %s, %v, want %s", got, err, tt.after)
			}
			again := read(t, string(got))
			if twice, err := again.WithSplits(a); err != nil || string(twice) != tt.after {
				t.Errorf("WithSplits twice = %s, %v", twice, err)
			}
		})
	}
}

// The hash follows what the evals say, not how the file is written; that of
// val follows val alone.
func TestHash(t *testing.T) {
	a := read(t, `{"evals": [{"id": "b", "n": 1.0}, {"id": "a"}]}`)
	b := read(t, "[{\"id\":\"a\"},\n{\"n\":1,\"id\":\"b\"}]")
	hashA, errA := a.Hash()
	hashB, errB := b.Hash()
	if errA != nil || errB != nil || hashA != hashB || len(hashA) != 64 {
		t.Errorf("hashes %s, %v and %s, %v, want the same", hashA, errA, hashB, errB)
	}
	c := read(t, `[{"id": "a"}, {"id": "b", "n": 2}]`)
	if hashC, _ := c.Hash(); hashC == hashA {
		t.Error("another eval, and the same hash")
	}
	split := Assignment{Assignment: map[string]Split{"a": Val, "b": Train}}
	x, errX := a.SplitHash(split, Val)
	y, errY := c.SplitHash(split, Val)
	if errX != nil || errY != nil || x != y {
		t.Errorf("the hashes of val are %s and %s, want the same", x, y)
	}
}

// R-STAT-11, R-STAT-13: the second look turns the order round.
func TestPairOrder(t *testing.T) {
	if got := PairOrder(3, SecondLook); !slices.Equal(got, []string{"candidate", "baseline", "candidate"}) {
		t.Errorf("PairOrder of the second look = %v", got)
	}
}

// R-STAT-12: everything about the runner is in the key.
func TestBaselineKey(t *testing.T) {
	base := Runner{"claude", "1.0", "m", "l", "s"}
	seen := map[string]bool{}
	for _, r := range []Runner{base, {"pi", "1.0", "m", "l", "s"}, {"claude", "1.1", "m", "l", "s"}, {"claude", "1.0", "n", "l", "s"}, {"claude", "1.0", "m", "k", "s"}, {"claude", "1.0", "m", "l", "t"}} {
		key, err := BaselineKey("tree", "evals", r)
		if err != nil || len(key) != 64 || seen[key] {
			t.Errorf("BaselineKey(%+v) = %s, %v", r, key, err)
		}
		seen[key] = true
	}
	if again, _ := BaselineKey("tree", "evals", base); !seen[again] {
		t.Error("the same runner has another key")
	}
	kept := CachedBaseline{KeyEqual: true, KeptSince: true, Rounds: 9, MaxAge: 3}
	if source, reason := kept.Source(); source != "fresh" || reason != "after_keep" {
		t.Errorf("after a KEEP: %s, %s", source, reason)
	}
}

// R-SF-TR-2: half of the runs is enough to count as loaded.
func TestTriggerPassed(t *testing.T) {
	for name, tt := range map[string]struct {
		should       bool
		loaded, runs int
		want         bool
	}{"half": {true, 1, 2, true}, "a third": {true, 1, 3, false}, "out, half": {false, 1, 2, false}, "out, a third": {false, 1, 3, true}, "none": {false, 0, 1, true}} {
		if got := (Eval{ShouldTrigger: tt.should}).TriggerPassed(tt.loaded, tt.runs); got != tt.want {
			t.Errorf("%s: TriggerPassed(%d, %d) = %t", name, tt.loaded, tt.runs, got)
		}
	}
}

// FuzzAssign: R-SPLIT-1. From 12 evals on, one more moves no other, unless val
// was empty.
func FuzzAssign(f *testing.F) {
	f.Add("42", uint8(12), "new")
	f.Add("seed", uint8(40), "eval-100")
	f.Fuzz(func(t *testing.T, seed string, n uint8, id string) {
		quoted, err := json.Marshal(id)
		size := 12 + int(n)%60
		text := ids(size)
		before := read(t, text)
		after, readErr := Read([]byte(text[:len(text)-1] + `, {"id": ` + string(quoted) + `}]`))
		if err != nil || readErr != nil {
			t.Skip()
		}
		r := rule()
		r.Seed = Seed(seed)
		a, b := assign(t, before, r), assign(t, after, r)
		if len(a.ForcedToVal)+len(b.ForcedToVal) > 0 {
			t.Skip()
		}
		for id, split := range a.Assignment {
			if b.Assignment[id] != split {
				t.Errorf("with %q added, %q moves from %s to %s", id, id, split, b.Assignment[id])
			}
		}
	})
}

// BenchmarkSplit500: reading, splitting and writing 500 evals; with
// BenchmarkScore500 at most 20 ms.
func BenchmarkSplit500(b *testing.B) {
	text := []byte(bigSet(500))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s, err := Read(text)
		if err != nil {
			b.Fatal(err)
		}
		a, err := s.Assign(rule())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.WithSplits(a); err != nil {
			b.Fatal(err)
		}
	}
}

// bigSet is a file of n evals with six checks each.
func bigSet(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id": "eval-%03d", "prompt": "%s", "assertions": [{"id": "a", "kind": "contains", "value": "x"},
		 {"id": "b", "kind": "regex", "pattern": "total: *[0-9]+"}, {"id": "c", "kind": "not_contains", "value": ["y", "z"]},
		 {"id": "d", "kind": "max_words", "value": 300}, {"id": "e", "kind": "file_exists", "path": "out/*.md"}, {"id": "f", "kind": "json_path", "path": "$.a[0]", "value": 3}]}`,
			i, strings.Repeat("a longer prompt ", 10)))
	}
	return `{"skill_name": "s", "evals": [` + strings.Join(list, ",\n") + "]}"
}
