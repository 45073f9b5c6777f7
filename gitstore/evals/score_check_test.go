package evals

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
)

// What was added up is found right, and every figure that is changed by hand
// is found wrong.
func TestCheckScore(t *testing.T) {
	for name, file := range map[string]string{
		"plain":    `{"evals": [{"id": "a", "prompt": "p", "assertions": [{"id": "x", "text": "t", "type": "contains", "value": "v"}, {"id": "y", "text": "u", "type": "contains", "value": "w"}]}]}`,
		"weighted": `{"evals": [{"id": "a", "prompt": "p", "assertions": [{"id": "x", "text": "t", "type": "contains", "value": "v", "weight": 0.5}, {"id": "y", "text": "u", "type": "contains", "value": "w", "weight": 2}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Read([]byte(file))
			if err != nil {
				t.Fatal(err)
			}
			gradings := fstest.MapFS{"a/baseline/grading.json": {Data: []byte(`{"expectations": [{"id": "x", "text": "t", "passed": true}, {"id": "y", "text": "u", "passed": false}], "summary": {"passed": 1, "total": 2}}`)}}
			score, err := Request{Dir: gradings, Side: Baseline, Evals: &set}.Score()
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(score)
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckScore(data); err != nil {
				t.Fatalf("CheckScore of what Score gave: %v", err)
			}
			for _, change := range [][2]string{
				{`"passed":true`, `"passed":false`}, {`"passed":1`, `"passed":2`}, {`"total":2`, `"total":3`},
				{`"composite_exact":"`, `"composite_exact":"1`}, {`"resolution_exact":"`, `"resolution_exact":"2`}, {`"assertion_pass_rate":0`, `"assertion_pass_rate":1`},
				{`"weight":`, `"weight":3`}, {`"weight":`, `"weight":-`},
			} {
				broken := strings.Replace(string(data), change[0], change[1], 1)
				if broken == string(data) {
					t.Fatalf("%s does not stand in %s", change[0], data)
				}
				if err := CheckScore([]byte(broken)); err == nil {
					t.Errorf("%s for %s was not noticed", change[1], change[0])
				}
			}
		})
	}
}
