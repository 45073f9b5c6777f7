package journal

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"forge/gitstore/fault"
)

// segmentSize is how many records one segment holds (R-SEG-1).
const segmentSize = 100

// Log is one of a run's three logs: in a run a folder of segments, by hand a
// single file or such a folder (R-SEG-3).
type Log struct {
	name   string // of its folder in a run
	ending string // "tsv" or "jsonl"
	header string // first line of every file of it, or ""
}

// ExperimentLog is the flat table of R-TSV.
func ExperimentLog() Log { return Log{name: "log", ending: "tsv", header: tsvHeader} }

// HistoryLog holds one record per experiment (R-HIST).
func HistoryLog() Log { return Log{name: "history", ending: "jsonl"} }

// RejectedLog holds what was not kept (R-REJ).
func RejectedLog() Log { return Log{name: "rejected", ending: "jsonl"} }

// Part is one file of a log as it was read: the single file, or a segment.
type Part struct {
	Name string // as a person is told of it
	Data []byte
}

// Lines are the lines of a part that are not blank, with their numbers from 1.
// They end at LF alone (R-FILE-0).
func (p Part) Lines() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		number := 0
		for line := range bytes.SplitSeq(p.Data, []byte("\n")) {
			number++
			if len(bytes.TrimSpace(line)) > 0 && !yield(number, line) {
				return
			}
		}
	}
}

// SegmentName is what the i-th segment is called, from 0.
func (l Log) SegmentName(i int) string { return fmt.Sprintf("%04d.%s", i, l.ending) }

// Segments picks the segments among the names of a folder's files and returns
// their numbers in order.
func (l Log) Segments(names []string) []int {
	var numbers []int
	for _, name := range names {
		n, err := strconv.Atoi(strings.TrimSuffix(name, "."+l.ending))
		if err == nil && n >= 0 && l.SegmentName(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Full says whether a segment takes no further record.
func (l Log) Full(data []byte) bool { return len(l.lines(data)) >= segmentSize }

// Append is a file of the log with one more line, or several, each ending in
// LF: an empty file gets the header first, and a last line without its LF gets
// that. What has another header is a usage fault and no log of ours (R-TSV-1).
func (l Log) Append(file Part, lines []byte) ([]byte, error) {
	if err := l.Check(file); err != nil {
		return nil, err
	}
	return l.grow(file.Data, lines), nil
}

// Check says whether a file is empty or begins with the log's header; one that
// ends in CR LF, as other tools write it, is the same.
func (l Log) Check(file Part) error {
	first, _, _ := bytes.Cut(file.Data, []byte("\n"))
	if len(file.Data) == 0 || l.header == "" || l.isHeader(first) {
		return nil
	}
	return fault.New(fault.Usage, "name another file", "%s:1: this is not the header of an experiment log", file.Name)
}

func (l Log) isHeader(line []byte) bool {
	return l.header != "" && string(bytes.TrimSuffix(line, []byte("\r"))) == strings.TrimSuffix(l.header, "\n")
}

func (l Log) grow(data, line []byte) []byte {
	grown := bytes.Clone(data)
	switch {
	case len(grown) == 0:
		grown = []byte(l.header)
	case grown[len(grown)-1] != '\n':
		grown = append(grown, '\n')
	}
	return append(grown, line...)
}

// lines are a file's records: what is neither blank nor the header.
func (l Log) lines(data []byte) [][]byte {
	var records [][]byte
	for number, line := range (Part{Data: data}).Lines() {
		if number > 1 || !l.isHeader(line) {
			records = append(records, line)
		}
	}
	return records
}

// segment is the newest part of one log of a run: records counts the log's
// records over all segments, data is the newest segment's bytes.
type segment struct {
	Log
	records int
	data    []byte
}

// pathOf is where the i-th segment lies, from 0.
func (s segment) pathOf(run string, i int) string {
	return Dir(run) + "/" + s.name + "/" + s.SegmentName(i)
}

// add returns the segment with one more line, and the path and bytes to write.
// A full segment is left alone and the next one begun.
func (s segment) add(run string, line []byte) (next segment, file string, data []byte) {
	next = s
	if s.records%segmentSize == 0 {
		next.data = nil
	}
	next.data = s.grow(next.data, line)
	next.records++
	return next, s.pathOf(run, s.records/segmentSize), next.data
}
