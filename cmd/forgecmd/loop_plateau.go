package forgecmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/loop/verdict"
)

// plateauCommand is `forge loop plateau` (loop.md R-PLATEAU-1 to 3).
func plateauCommand(env *Env) *cli.Command {
	var window int
	return &cli.Command{
		Name:      "plateau",
		Usage:     "tell whether the last experiments of a history kept nothing",
		ArgsUsage: "HISTORY|-",
		Description: about{
			Text: "HISTORY is a file of one JSON record per line, a folder of such segments, or a history.json\n" +
				`of the form {"experiments": [...]}. DEFERRED records do not count.`,
			Example: "forge loop plateau .forge/runs/r1-k3fq/history",
		}.String(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "window", Value: 3, Destination: &window, Usage: "experiments in a row, `N`; default 3"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			data, err := env.readHistory(c.Args().First())
			if err != nil {
				return err
			}
			decisions, err := decisionsOf(data)
			if err != nil {
				return fault.New(fault.Usage, "", "read history %q: %w", c.Args().First(), err)
			}
			plateau, err := verdict.FindPlateau(decisions, window)
			if err != nil {
				return err
			}
			return env.PrintJSON(plateau)
		},
	}
}

// readHistory reads one file, or the segments of a folder in numeric order as
// one (loop.md R-SEG-3).
func (env *Env) readHistory(name string) ([]byte, error) {
	info, err := os.Stat(env.Path(name))
	if name == "-" || err != nil || !info.IsDir() {
		return env.readInput(name, maxInput)
	}
	files, err := os.ReadDir(env.Path(name))
	if err != nil {
		return nil, fault.New(fault.Usage, "", "read history %q: %w", name, err)
	}
	var segments []int
	for _, file := range files {
		if n, err := strconv.Atoi(strings.TrimSuffix(file.Name(), ".jsonl")); err == nil && n >= 0 {
			segments = append(segments, n)
		}
	}
	slices.Sort(segments)
	var all bytes.Buffer
	for _, n := range segments {
		data, err := env.readInput(filepath.Join(name, fmt.Sprintf("%04d.jsonl", n)), maxInput)
		if err != nil {
			return nil, err
		}
		all.Write(data)
	}
	return all.Bytes(), nil
}

// decisionsOf returns the decision of every record of a history, "" where the
// member is missing. It reads JSON Lines and seed 001's history.json.
func decisionsOf(data []byte) ([]string, error) {
	type record struct {
		Decision *string `json:"decision"`
	}
	var records []record
	var whole struct {
		Experiments *[]record `json:"experiments"`
	}
	if err := json.Unmarshal(data, &whole); err == nil && whole.Experiments != nil {
		records = *whole.Experiments
	} else if records, err = jsonLines[record](data); err != nil {
		return nil, err
	}
	decisions := make([]string, len(records))
	for i, r := range records {
		if r.Decision != nil {
			decisions[i] = *r.Decision
		}
	}
	return decisions, nil
}

// jsonLines decodes one value per line. Lines end at LF alone and blank ones
// are skipped (loop.md R-FILE-0).
func jsonLines[T any](data []byte) ([]T, error) {
	var list []T
	number := 0
	for text := range bytes.SplitSeq(data, []byte("\n")) {
		number++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if text[0] != '{' {
			return nil, fmt.Errorf("line %d is no JSON object", number)
		}
		var value T
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		list = append(list, value)
	}
	return list, nil
}
