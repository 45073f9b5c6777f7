package scan

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"forge/gitstore/vectors"
)

// gateVector is one call of a gate (knowledge.md section 14).
type gateVector struct {
	ID     string
	Group  string
	Input  struct{ Text pieces }
	Expect struct{ Findings []Finding }
}

// pieces is a text, or one stored in pieces so that no scanner finds it here.
type pieces string

func (p *pieces) UnmarshalJSON(data []byte) error {
	var whole string
	if err := json.Unmarshal(data, &whole); err == nil {
		*p = pieces(whole)
		return nil
	}
	var parts struct{ Concat []string }
	err := json.Unmarshal(data, &parts)
	*p = pieces(strings.Join(parts.Concat, ""))
	return err
}

func TestVectors(t *testing.T) {
	gates := map[string]func(string) []Finding{"secret": Secrets, "injection": Injections}
	for _, v := range vectors.Read[gateVector](t, os.Getenv("FORGE_VECTORS"), "knowledge.json", "scan_secrets", "scan_injection") {
		t.Run(v.ID, func(t *testing.T) {
			text := string(v.Input.Text)
			if got := gates[v.Group](text); !slices.Equal(got, v.Expect.Findings) {
				t.Errorf("%s: findings %+v, want %+v", v.Group, got, v.Expect.Findings)
			}
			if v.Group != "secret" {
				return
			}
			scrubbed := Scrub(text)
			if len(v.Expect.Findings) == 0 && scrubbed != text {
				t.Errorf("Scrub changed a text without a secret: %q", scrubbed)
			}
			for _, value := range values(text) {
				if strings.Contains(scrubbed, value.text) {
					t.Errorf("Scrub left a value in")
				}
			}
			if again := Scrub(scrubbed); again != scrubbed {
				t.Errorf("Scrub again gives %q", again)
			}
		})
	}
}
