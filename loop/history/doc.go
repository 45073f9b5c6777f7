// Package history is what a person, or an agent, can ask about the past of a
// run: views of the history, the matrix of categories, and where the run
// stands.
//
// It reads the committed segments of a run and the single files of people who
// drive the loop by hand alike, seed 001's history.json included. Everything is
// a value made of bytes: nothing here opens a file or commits. What a record
// holds beyond the fields named in the contract stays as it is.
//
// Source: loop.md section 12, R-COV, R-HIST and R-CKPT.
package history
