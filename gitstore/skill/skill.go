// Package skill reads, edits and writes SKILL.md, finds skills in a listing of
// files, and guards the regions of a file that nobody but a person may touch.
//
// Reading is lenient and loses nothing: [Parse] always returns a [Document]
// whose parts are the very bytes of the file, with everything odd about them
// as typed findings. A file whose front matter is broken can still get another
// body. Editing replaces byte ranges and reads the result again; nothing is
// ever parsed and serialised anew. Writing ([Draft.Bytes]) is strict: what
// forge makes itself, every known reader accepts.
//
// Bytes go in and values come out. The package opens no file and knows no git:
// discovery works on a list of [Node], which a commit and a work tree can both
// offer. Symbolic links are reported and never followed.
//
// Source: skill-format.md sections 1, 2, 4, 5, 9 and 10; loop.md sections 9
// and 10; curator.md RC-SKILL-1 to RC-SKILL-8; DECISIONS C2, C3, G1, G3, G5.
package skill

// Limits of skill-format.md sections 1 and 10. Characters are Unicode code
// points.
const (
	MaxFile          = 1 << 20  // bytes of a SKILL.md; a larger one is listed and not parsed
	MaxFrontMatter   = 64 << 10 // bytes of front matter
	MaxName          = 64       // characters
	MaxDescription   = 1024     // characters, trimmed and folded
	MaxCompatibility = 500      // characters

	maxNodes   = 1000 // of YAML, aliases counted as what they stand for
	maxDepth   = 20
	maxAliases = 100 // resolved
)

// File names of a skill (skill-format.md R-SF-D-1, section 4).
const (
	FileName      = "SKILL.md"
	LowerFileName = "skill.md" // read with a warning, written never
)
