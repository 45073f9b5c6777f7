package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"forge/gitstore"
	"forge/loop/verdict"
)

// files is the part of [gitstore.Repo] that reading a run needs.
type files interface {
	ReadFile(ctx context.Context, commit gitstore.Hash, path string) ([]byte, error)
}

var _ files = (*gitstore.Repo)(nil)

// Journal is a run's committed state at one tip: the frozen configuration,
// the history line of every experiment, oldest first, and the newest segment
// of each log. [Journal.Add] returns the next one and leaves this one as it is;
// only one successor may be built on, since the two share the history's memory.
type Journal struct {
	Config   Run
	Lines    []Line
	log      segment
	history  segment
	rejected segment
}

// New is the journal of a run without an experiment.
func New(config Run) Journal {
	return Journal{Config: config, log: segment{Log: ExperimentLog()}, history: segment{Log: HistoryLog()}, rejected: segment{Log: RejectedLog()}}
}

// Load reads the journal of run at tip. What has no config.json is
// [gitstore.ErrNotFound].
func Load(ctx context.Context, repo files, tip gitstore.Hash, run string) (Journal, error) {
	data, err := repo.ReadFile(ctx, tip, ConfigPath(run))
	if err != nil {
		return Journal{}, fmt.Errorf("read the configuration of run %q: %w", run, err)
	}
	config, err := DecodeRun(data)
	if err != nil {
		return Journal{}, fmt.Errorf("run %q: %w", run, err)
	}
	j := New(config)
	for _, s := range []*segment{&j.log, &j.history, &j.rejected} {
		var visit func(line []byte) error
		if s == &j.history {
			visit = j.take
		}
		if err := s.load(ctx, repo, tip, run, visit); err != nil {
			return Journal{}, err
		}
	}
	return j, nil
}

func (j *Journal) take(line []byte) error {
	var l Line
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	j.Lines = append(j.Lines, l)
	return nil
}

// load reads every segment of one log in order; visit, if not nil, sees each
// record.
func (s *segment) load(ctx context.Context, repo files, tip gitstore.Hash, run string, visit func([]byte) error) error {
	for i := 0; ; i++ {
		data, err := repo.ReadFile(ctx, tip, s.pathOf(run, i))
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the %s of run %q: %w", s.name, run, err)
		}
		records := s.lines(data)
		s.records, s.data = i*segmentSize+len(records), data
		if visit == nil {
			continue
		}
		for n, line := range records {
			if err := visit(line); err != nil {
				return fmt.Errorf("read record %d of %s: %w", n+1, s.pathOf(run, i), err)
			}
		}
	}
}

// Add returns the journal with one more experiment and the edits that record
// it: the record, one line of log and history each, and of the rejected buffer
// for everything but a KEEP. parent is the run tip the experiment began on.
func (j Journal) Add(r Record, parent gitstore.Hash) (Journal, []gitstore.Edit, error) {
	encoded, err := r.Encode()
	if err != nil {
		return Journal{}, nil, err
	}
	line := lineOf(r, string(parent))
	row, err := rowOf(r, j.Config.Metric.Direction)
	if err != nil {
		return Journal{}, nil, err
	}
	history, err := jsonLine(line)
	if err != nil {
		return Journal{}, nil, err
	}
	run := j.Config.Run
	edits := []gitstore.Edit{gitstore.Put(RecordPath(run, len(j.Lines)+1, r.Experiment), encoded)}
	add := func(s *segment, line []byte) {
		next, file, data := s.add(run, line)
		*s = next
		edits = append(edits, gitstore.Put(file, data))
	}
	next := j
	next.Lines = append(j.Lines, line)
	add(&next.log, row.Line())
	add(&next.history, history)
	if line.Decision != string(verdict.Keep) {
		refused, err := jsonLine(rejectedOf(r, line))
		if err != nil {
			return Journal{}, nil, err
		}
		add(&next.rejected, refused)
	}
	return next, edits, nil
}

// TSV is the experiment log of a run as one table, one header (R-SEG-4).
func TSV(ctx context.Context, repo files, tip gitstore.Hash, run string) ([]byte, error) {
	s := segment{Log: ExperimentLog()}
	out := []byte(s.header)
	err := s.load(ctx, repo, tip, run, func(line []byte) error {
		out = append(append(out, line...), '\n')
		return nil
	})
	return out, err
}

// ReadRecord reads the record of experiment n, from 1.
func ReadRecord(ctx context.Context, repo files, tip gitstore.Hash, run string, n int, experiment string) (Record, error) {
	data, err := repo.ReadFile(ctx, tip, RecordPath(run, n, experiment))
	if err != nil {
		return Record{}, fmt.Errorf("read the record of %s/%s: %w", run, experiment, err)
	}
	return DecodeRecord(data)
}
