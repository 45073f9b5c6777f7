package journal

import (
	"bytes"
	"fmt"
	"path"
)

// segmentSize is how many records one segment holds (R-SEG-1).
const segmentSize = 100

// segment is the newest part of one log: records counts the log's records
// over all segments, data is the newest segment's bytes.
type segment struct {
	log     string // "log", "history" or "rejected"
	ending  string // "tsv" or "jsonl"
	header  string // first line of every segment, or ""
	records int
	data    []byte
}

func newLog() segment      { return segment{log: "log", ending: "tsv", header: tsvHeader} }
func newHistory() segment  { return segment{log: "history", ending: "jsonl"} }
func newRejected() segment { return segment{log: "rejected", ending: "jsonl"} }

// pathOf is where the i-th segment lies, from 0.
func (s segment) pathOf(run string, i int) string {
	return path.Join(Dir(run), s.log, fmt.Sprintf("%04d.%s", i, s.ending))
}

// add returns the segment with one more line, and the path and bytes to write.
// A full segment is left alone and the next one begun.
func (s segment) add(run string, line []byte) (next segment, file string, data []byte) {
	next = s
	if s.records%segmentSize == 0 {
		next.data = []byte(s.header)
	}
	next.data = append(bytes.Clone(next.data), line...)
	next.records++
	return next, s.pathOf(run, s.records/segmentSize), next.data
}

// lines splits a segment's bytes into records, without the header and without
// empty lines. Lines end at LF alone (loop.md R-FILE-0).
func (s segment) lines(data []byte) [][]byte {
	data = bytes.TrimPrefix(data, []byte(s.header))
	var records [][]byte
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) > 0 {
			records = append(records, line)
		}
	}
	return records
}
