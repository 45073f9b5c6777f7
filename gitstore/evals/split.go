package evals

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"forge/gitstore/fault"
)

// Seed goes into the hash that splits evals: a whole number or any text.
type Seed string

// MarshalJSON writes a whole number as a number and anything else as a text.
func (s Seed) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseInt(string(s), 10, 64); err == nil && strconv.FormatInt(n, 10) == string(s) {
		return []byte(s), nil
	}
	return json.Marshal(string(s))
}

// Fractions are the parts of a set that go to val and test, each at least 0
// and together at most 1.
type Fractions struct {
	Val, Test *big.Rat
}

// Check refuses fractions that are none (loop.md R-SPLIT-8). The error is a
// usage fault.
func (f Fractions) Check() error {
	for _, part := range []struct {
		name  string
		value *big.Rat
	}{{"val", f.Val}, {"test", f.Test}} {
		if part.value == nil || part.value.Sign() < 0 {
			return bad("the fraction of %s is below 0", part.name)
		}
	}
	if sum := new(big.Rat).Add(f.Val, f.Test); sum.Cmp(big.NewRat(1, 1)) > 0 {
		return bad("the fractions of val and test are %s together, at most 1", sum.RatString())
	}
	return nil
}

// SplitRule is how evals are divided.
type SplitRule struct {
	Seed            Seed
	Fractions       Fractions // required
	MinEvals        int       // fewer are refused without Force
	MinEvalsForTest int       // fewer have no test split
	Force           bool      // a person insists on a small set; it is recorded as few_evals
}

// Counts are the sizes of the splits.
type Counts struct {
	Train int `json:"train"`
	Val   int `json:"val"`
	Test  int `json:"test"`
}

// Assignment is the document of `forge loop split-assign` (loop.md section 4).
type Assignment struct {
	Counts       Counts           `json:"counts"`
	Seed         Seed             `json:"seed"`
	WithTest     bool             `json:"with_test"` // there is a test split and it is not empty
	ForcedToVal  []string         `json:"forced_to_val"`
	ForcedToTest []string         `json:"forced_to_test,omitempty"` // trigger evals only
	KeptExisting []string         `json:"kept_existing"`
	Warnings     []string         `json:"warnings"`
	Total        int              `json:"total"`
	Written      bool             `json:"written"` // set by whoever wrote the file
	Assignment   map[string]Split `json:"assignment"`
}

// Assign divides the evals. The split of an eval follows from seed and id
// alone, so adding or deleting one moves no other, but for small sets
// (R-SPLIT-3, R-SPLIT-6) and for classes of trigger evals (DECISIONS M1a). A
// split the file states wins.
//
// Too few evals are a refused fault; everything else that is wrong is a usage
// fault.
//
// Source: loop.md section 4; DECISIONS M1, M1a.
func (s *Set) Assign(rule SplitRule) (Assignment, error) {
	if err := rule.Fractions.Check(); err != nil {
		return Assignment{}, err
	}
	n := len(s.Evals)
	switch {
	case n < rule.MinEvals && !rule.Force:
		return Assignment{}, fault.New(fault.Refused, "add evals, or --force", "%d %s of at least %d: too few to split", n, plural(n, "eval"), rule.MinEvals)
	case n == 0:
		return Assignment{}, bad("there are no evals to split")
	}
	d := division{rule: rule, set: s, split: make(map[string]Split, n), hash: make(map[string][32]byte, n)}
	d.hashed()
	if err := d.forceVal(); err != nil {
		return Assignment{}, err
	}
	d.forceClasses()
	return d.assignment(), nil
}

// division is a set on its way to an assignment.
type division struct {
	rule  SplitRule
	set   *Set
	split map[string]Split
	hash  map[string][32]byte

	toVal, toTest, kept []string
	classMissing        bool
}

// testWanted reports whether a test split is asked for and allowed.
func (d *division) testWanted() bool {
	return d.rule.Fractions.Test.Sign() > 0 && len(d.set.Evals) >= d.rule.MinEvalsForTest
}

// hashed puts every eval where the file or its hash says (R-SPLIT-1, 3, 5).
func (d *division) hashed() {
	val := percent(d.rule.Fractions.Val)
	test := val
	if d.testWanted() {
		test += percent(d.rule.Fractions.Test)
	}
	for _, e := range d.set.Evals {
		sum := sha256.Sum256([]byte(string(d.rule.Seed) + ":" + e.ID))
		d.hash[e.ID] = sum
		bucket := bucketOf(sum)
		switch {
		case e.Split != "":
			d.split[e.ID] = e.Split
			d.kept = append(d.kept, e.ID)
		case bucket < val:
			d.split[e.ID] = Val
		case bucket < test:
			d.split[e.ID] = Test
		default:
			d.split[e.ID] = Train
		}
	}
}

// percent is a fraction in hundredths, half to even on the exact value.
func percent(fraction *big.Rat) int {
	hundredths := new(big.Rat).Mul(fraction, big.NewRat(100, 1))
	return int(halfEven(hundredths.Num(), hundredths.Denom()).Int64())
}

// bucketOf is a hash, read as one number, modulo 100.
func bucketOf(sum [32]byte) int {
	bucket := 0
	for _, b := range sum {
		bucket = (bucket*256 + int(b)) % 100
	}
	return bucket
}

// in lists the evals of a split.
func (d *division) in(split Split) []Eval {
	var list []Eval
	for _, e := range d.set.Evals {
		if d.split[e.ID] == split {
			list = append(list, e)
		}
	}
	return list
}

// movable lists the evals of train that no file holds there.
func (d *division) movable() []Eval {
	return slices.DeleteFunc(d.in(Train), func(e Eval) bool { return e.Split != "" })
}

// forceVal fills an empty val (R-SPLIT-6).
func (d *division) forceVal() error {
	if len(d.in(Val)) > 0 {
		return nil
	}
	movable := d.movable()
	if len(movable) == 0 {
		return bad("the val split is empty, and train has no eval that could move there")
	}
	first := slices.MinFunc(movable, func(a, b Eval) int { return strings.Compare(a.ID, b.ID) })
	d.split[first.ID] = Val
	d.toVal = append(d.toVal, first.ID)
	return nil
}

// classes counts the queries of a list that should trigger and those that
// should not.
func classes(list []Eval) map[bool]int {
	count := map[bool]int{}
	for _, e := range list {
		count[e.ShouldTrigger]++
	}
	return count
}

// forceClasses sees to it that val and test hold both classes of trigger
// evals (skill-format.md R-SF-TR-2).
func (d *division) forceClasses() {
	if d.set.Form != Triggers || len(classes(d.set.Evals)) < 2 {
		return
	}
	for _, split := range []Split{Val, Test} {
		if split == Test && len(d.in(Test)) == 0 {
			continue
		}
		for _, class := range []bool{true, false} {
			if classes(d.in(split))[class] == 0 {
				d.moveClass(split, class)
			}
		}
	}
}

// moveClass moves the eval of a class with the lowest hash out of train,
// unless it is train's last.
func (d *division) moveClass(split Split, class bool) {
	movable := slices.DeleteFunc(d.movable(), func(e Eval) bool { return e.ShouldTrigger != class })
	if len(movable) == 0 || classes(d.in(Train))[class] < 2 {
		d.classMissing = true
		return
	}
	lowest := slices.MinFunc(movable, func(a, b Eval) int {
		x, y := d.hash[a.ID], d.hash[b.ID]
		return bytes.Compare(x[:], y[:])
	})
	d.split[lowest.ID] = split
	if split == Val {
		d.toVal = append(d.toVal, lowest.ID)
	} else {
		d.toTest = append(d.toTest, lowest.ID)
	}
}

// assignment is the document.
func (d *division) assignment() Assignment {
	a := Assignment{
		Counts:       Counts{Train: len(d.in(Train)), Val: len(d.in(Val)), Test: len(d.in(Test))},
		Seed:         d.rule.Seed,
		ForcedToVal:  sorted(d.toVal),
		KeptExisting: sorted(d.kept),
		Total:        len(d.set.Evals),
		Assignment:   d.split,
	}
	if len(d.toTest) > 0 {
		a.ForcedToTest = sorted(d.toTest)
	}
	a.WithTest = a.Counts.Test > 0
	a.Warnings = d.warnings(a.Counts)
	return a
}

// sorted is a list in byte order, never nil.
func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}

// warnings are the codes of R-SPLIT-7 and R-SF-TR-2, in their order.
func (d *division) warnings(c Counts) []string {
	oneClass := d.set.Form == Triggers && len(classes(d.set.Evals)) == 1
	list := []string{}
	for _, w := range []struct {
		code string
		on   bool
	}{
		{"test_empty", d.testWanted() && c.Test == 0},
		{"small_test", c.Test == 1 || c.Test == 2},
		{"small_val", c.Val < 3},
		{"few_evals", len(d.set.Evals) < d.rule.MinEvals},
		{"no_test", c.Test == 0},
		{"train_empty", c.Train == 0},
		{"class_missing", d.classMissing},
		{"one_class", oneClass},
	} {
		if w.on {
			list = append(list, w.code)
		}
	}
	return list
}
