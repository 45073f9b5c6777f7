package forgecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// directionFlag is --direction of the journal's commands; it sets
// metric.direction.
func directionFlag() cli.Flag {
	return &cli.StringFlag{Name: "direction", Usage: "`D`: higher_is_better or lower_is_better; default higher_is_better"}
}

// direction resolves it.
func (env *Env) direction(c *cli.Context, named string) (verdict.Direction, error) {
	cfg, err := env.plumbingConfig(named, givenFlags(c, map[string]string{"direction": "metric.direction"}))
	if err != nil {
		return "", err
	}
	return cfg.Metric.Direction, nil
}

// stamp is the time of a record (loop.md R-OUT-5).
func (env *Env) stamp() string { return env.Now().UTC().Format("2006-01-02T15:04:05Z") }

// isFolder says whether a log's name means a folder of segments: a directory,
// or a name that ends like one (loop.md R-SEG-3).
func (env *Env) isFolder(name string) bool {
	if name == "-" || name == "" {
		return false
	}
	info, err := os.Stat(env.Path(name))
	return err == nil && info.IsDir() || os.IsPathSeparator(name[len(name)-1])
}

// readPart reads a file, or standard input for "-".
func (env *Env) readPart(name string) (journal.Part, error) {
	data, err := env.readInput(name, maxInput)
	return journal.Part{Name: filepath.ToSlash(name), Data: data}, err
}

// readOptional is readPart of a file that may be missing.
func (env *Env) readOptional(name string) (journal.Part, error) {
	part, err := env.readPart(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return part, err
}

// readLog reads one file, or the segments of a folder in numeric order
// (loop.md R-SEG-3).
func (env *Env) readLog(name string, l journal.Log) ([]journal.Part, error) {
	if !env.isFolder(name) {
		part, err := env.readPart(name)
		return []journal.Part{part}, err
	}
	numbers, err := env.segments(name, l)
	if err != nil {
		return nil, err
	}
	var parts []journal.Part
	for _, n := range numbers {
		part, err := env.readPart(filepath.Join(name, l.SegmentName(n)))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// segments are the numbers of a folder's segments.
func (env *Env) segments(folder string, l journal.Log) ([]int, error) {
	files, err := os.ReadDir(env.Path(folder))
	if err != nil {
		return nil, fault.New(fault.Usage, "", "read the folder %q: %w", folder, err)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.Name()
	}
	return l.Segments(names), nil
}

// newest reads the file that the next line of a log goes to, which need not
// exist yet: the file itself, or the newest segment of a folder, or the one
// after it once that is full.
func (env *Env) newest(name string, l journal.Log) (journal.Part, error) {
	if !env.isFolder(name) {
		return env.readOptional(name)
	}
	if err := os.MkdirAll(env.Path(name), 0o777); err != nil {
		return journal.Part{}, fmt.Errorf("make the folder %q: %w", name, err)
	}
	numbers, err := env.segments(name, l)
	if err != nil || len(numbers) == 0 {
		return journal.Part{Name: filepath.ToSlash(filepath.Join(name, l.SegmentName(0)))}, err
	}
	last := numbers[len(numbers)-1]
	part, err := env.readPart(filepath.Join(name, l.SegmentName(last)))
	if err == nil && l.Full(part.Data) {
		part = journal.Part{Name: filepath.ToSlash(filepath.Join(name, l.SegmentName(last+1)))}
	}
	return part, err
}

// appendLog adds one line to a log and returns the name of the file it went
// to.
func (env *Env) appendLog(ctx context.Context, name string, l journal.Log, line []byte) (written string, err error) {
	err = env.alone(ctx, name, func() error {
		part, err := env.newest(name, l)
		if err != nil {
			return err
		}
		data, err := l.Append(part, line)
		if err != nil {
			return err
		}
		written = part.Name
		return env.writeFile(part.Name, data)
	})
	return written, err
}

// writeWait is how long a command waits for another one that writes in the
// same folder; each is done in moments.
const writeWait = 5 * time.Second

// writerExits is what the exit codes of a command that changes a file mean.
func writerExits() exits { return exits{4: "another forge keeps writing in that folder; run it again"} }

// alone runs work while no other forge changes a file in the folder of name:
// of two that append at once neither loses its line (loop.md R-FILE-1). The
// folder must exist, unless name is itself one of segments.
func (env *Env) alone(ctx context.Context, name string, work func() error) error {
	folder := filepath.Dir(filepath.Clean(env.Path(name)))
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fault.New(fault.Usage, "mkdir -p "+filepath.ToSlash(filepath.Dir(filepath.Clean(name))), "the folder of %q does not exist", name)
	}
	for until := time.Now().Add(writeWait); ; {
		release, free, err := lockFolder(folder)
		if err != nil {
			return fmt.Errorf("lock the folder of %q: %w", name, err)
		}
		if free {
			defer release()
			return work()
		}
		if time.Now().After(until) {
			return fault.New(fault.Conflict, "run the command again", "another forge has been writing beside %q for %s", name, writeWait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
