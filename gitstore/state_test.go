package gitstore

import "testing"

// Two commits have one state iff they differ below .forge only; a preview says
// the state of the commit it would become.
func TestStateOf(t *testing.T) {
	y := newYard(t)
	y.write("a", "1", ".forge/runs/r/log", "x")
	first := y.commit("first")
	y.write(".forge/runs/r/log", "y")
	logged := y.commit("logged")
	y.write("a", "2")
	changed := y.commit("changed")
	r := y.open()
	state := func(commit Hash) Hash {
		t.Helper()
		id, err := r.StateOf(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if state(first) != state(logged) || state(logged) == state(changed) {
		t.Errorf("states %s %s %s, want the first two equal and the third another", state(first), state(logged), state(changed))
	}
	preview, err := r.Preview(t.Context(), Change{From: logged, Edits: []Edit{Put("a", []byte("2"))}})
	if err != nil || preview.State != state(changed) {
		t.Errorf("Preview's state is %s, %v, want %s", preview.State, err, state(changed))
	}
	y.git("rm", "-rq", ".forge")
	if bare := y.commit("without"); state(bare) != state(changed) {
		t.Errorf("the state is the tree's id without .forge: %s, want %s", state(bare), state(changed))
	}
}
