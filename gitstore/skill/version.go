package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// versionDigits is how many hex digits of the hash a version has.
const versionDigits = 16

// Version is the skill_version of a body: the first 16 hex digits of SHA-256
// over it, with LF line endings and without leading newlines. Front matter,
// scripts and references do not change it; nor do a byte order mark, CR LF, or
// blank lines behind the closing `---`.
//
// Source: curator.md RC-SKILL-7; DECISIONS C3.
func Version(body []byte) string {
	sum := sha256.Sum256([]byte(strings.TrimLeft(ToEnding(string(body), LF), LF)))
	return hex.EncodeToString(sum[:])[:versionDigits]
}

// Version is the skill_version of the document's body.
func (d Document) Version() string { return Version(d.Body) }
