// Package gitstore is the only door to a skill repository on disk.
//
// Everything forge remembers is a commit: an experiment, an archived skill, a
// pin, a line of the experiment log. Callers describe a [Change];
// [Repo.Commit] writes it as one commit on top of the tip it was built on, or
// fails with [ErrMoved] and changes nothing. Nothing here deletes history:
// undoing is another commit.
//
// Paths are slash-separated and relative to the root of the repository. The
// user's work tree and index are never touched, but by [Repo.Advance], which
// asks git to fast-forward a branch that is checked out, and by
// [RestorePlan.Restore], which writes files of the work tree, never the index.
//
// go-git reads objects; writing them, refs, trees, commits, merging and
// discovery are own code, because go-git's lose updates, leave files nobody
// else can read, or work on another repository than git would (gitstore.md
// section 14). No type of go-git leaves the package. The process environment
// is not read here: it comes in as an [Env].
//
// Every write passes the crash points of [Env], which tests use to kill the
// process or fill the disk there.
//
// Source: gitstore.md; DECISIONS H2 to H5.
package gitstore
