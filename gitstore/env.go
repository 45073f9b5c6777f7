package gitstore

import (
	"time"

	"forge/gitstore/crash"
)

// Env is what the package knows of the world around it, read once at the
// program's edge and handed in as a value. An empty Env reads no variable of
// the process and knows no git binary; a nil Now refuses to commit.
//
// Source: gitstore.md section 1.
type Env struct {
	Vars     map[string]string // GIT_*, FORGE_*, HOME, XDG_CONFIG_HOME, PATH as the process got them
	Now      func() time.Time  // the program's clock, FORGE_NOW applied
	Terminal bool              // a person can answer git's prompts
	Crash    *crash.Points     // nil, but in tests: see [Repo.Crash]
}

// Hash is the name of a git object: 40 lower-case hexadecimal digits, or ""
// for none.
type Hash string

// Short returns the first seven digits, the form people are shown.
func (h Hash) Short() string {
	if len(h) < 7 {
		return string(h)
	}
	return string(h[:7])
}

// zeroHash stands for "none" in a reflog line.
const zeroHash Hash = "0000000000000000000000000000000000000000"

// parseHash returns text as a Hash, folded to lower case, and whether it is
// one: 40 hexadecimal digits.
func parseHash(text string) (Hash, bool) {
	if len(text) != len(zeroHash) || !isHex(text) {
		return "", false
	}
	return Hash(lowerASCII(text)), true
}

func isHex(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return text != ""
}

// lowerASCII folds A-Z only, so that no other letter changes its meaning.
func lowerASCII(text string) string {
	folded := []byte(text)
	for i, c := range folded {
		if c >= 'A' && c <= 'Z' {
			folded[i] = c + 'a' - 'A'
		}
	}
	return string(folded)
}
