package loop

import (
	"errors"
	"testing"
)

// bisect names the change after which the eval fails, whatever the number of
// states, and asks no more often than was said beforehand (CLI.md, forge
// bisect).
func TestBisect(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for breaks := 0; breaks <= n; breaks++ { // the first state that fails; n: none
			asked := map[int]bool{}
			broke, answer, err := bisect(n, func(i int) (bool, error) {
				asked[i] = true
				return i < breaks, nil
			})
			want := EvalBroken
			switch breaks {
			case 0:
				want = EvalFailsAtBase
			case n:
				want = EvalPasses
			}
			if err != nil || answer != want || answer == EvalBroken && broke != breaks {
				t.Errorf("bisect of %d states, broken from %d on: %d, %s, %v, want %s", n, breaks, broke, answer, err, want)
			}
			if most := mostMeasured(n); len(asked) > most {
				t.Errorf("bisect of %d states, broken from %d on, asks about %d of at most %d", n, breaks, len(asked), most)
			}
		}
	}
}

// Where it breaks more than once, what is named passes before it and fails
// after it.
func TestBisectTwice(t *testing.T) {
	passes := []bool{true, true, false, true, true, false, false}
	broke, answer, err := bisect(len(passes), func(i int) (bool, error) { return passes[i], nil })
	if err != nil || answer != EvalBroken || passes[broke] || !passes[broke-1] {
		t.Errorf("bisect(%v) = %d, %s, %v", passes, broke, answer, err)
	}
}

// A state without a result ends the search: it is neither good nor bad.
func TestBisectError(t *testing.T) {
	gone := errors.New("gone")
	for at := range 5 {
		_, answer, err := bisect(5, func(i int) (bool, error) {
			if i == at {
				return false, gone
			}
			return i < 3, nil
		})
		if asked := at != 1; asked != errors.Is(err, gone) {
			t.Errorf("bisect with no result at %d: %s, %v", at, answer, err)
		}
	}
}
