// Package purpose keeps a skill's PURPOSE.md: why it looks like this.
//
// The file lies beside SKILL.md and travels with the skill. It has one entry
// per kept change, with the attempts in the same category that were rejected
// before it, and a later run reads it back as evidence that is weaker than its
// own. Every text in it is foreign: on write each field is folded to one line,
// on read nothing of it can begin a line of a prompt.
//
// [Append] and [Format] turn bytes into bytes; nothing here opens a file.
//
// Source: seed 001, "Why the skill looks like this"; loop.md R-PURPOSE.
package purpose
