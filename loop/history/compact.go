package history

import (
	"bytes"
	"encoding/json"
	"fmt"

	"forge/loop/journal"
)

// Compaction is what reducing a history came to. Archive is the archive's new
// content, and nil when nothing was added to it.
type Compaction struct {
	History   History `json:"-"`
	Archive   []byte  `json:"-"`
	Compacted int     `json:"compacted"` // all records before the last keep
	Full      int     `json:"full"`
	Archived  int     `json:"archived"` // added to the archive by this call
}

// Changed says whether a record was reduced.
func (c Compaction) Changed(before History) bool {
	for i, r := range c.History.Records {
		if compacted(r) != compacted(before.Records[i]) {
			return true
		}
	}
	return false
}

// Compact reduces the records before the last keep to what a proposer needs of
// them, and adds their full form to the archive, each content once. Records
// that are reduced already stay as they are, so that a second call changes
// nothing (R-HIST-3). A negative keep is a usage fault.
func (h History) Compact(keep int, archive journal.Part) (Compaction, error) {
	older, err := h.older(keep)
	if err != nil {
		return Compaction{}, err
	}
	archived, err := Read(archive)
	if err != nil {
		return Compaction{}, err
	}
	known := map[string]bool{}
	for _, r := range archived.Records {
		content, err := contentOf(r)
		if err != nil {
			return Compaction{}, err
		}
		known[content] = true
	}
	var added []byte
	c := Compaction{History: History{document: h.document}, Compacted: older, Full: len(h.Records) - older}
	for i, r := range h.Records {
		if i >= older || compacted(r) {
			c.History.Records = append(c.History.Records, r)
			continue
		}
		content, err := contentOf(r)
		if err != nil {
			return Compaction{}, err
		}
		if !known[content] {
			known[content] = true
			line, err := r.Line()
			if err != nil {
				return Compaction{}, err
			}
			added = append(added, line...)
			c.Archived++
		}
		short, err := reduce(r)
		if err != nil {
			return Compaction{}, err
		}
		c.History.Records = append(c.History.Records, short)
	}
	if added != nil {
		c.Archive, err = journal.HistoryLog().Append(archive, added)
	}
	return c, err
}

// reduce is the short form of a record.
func reduce(r journal.Object) (journal.Object, error) {
	short, err := pick(r, "id", "version", "category", "mutation_type", "composite_score", "delta", "decision")
	if err != nil {
		return short, err
	}
	if err := short.Set("near_miss", r.True("near_miss")); err != nil {
		return short, err
	}
	if err := short.Set("timestamp", r.Get("timestamp")); err != nil {
		return short, err
	}
	return short, short.Set("_compacted", true)
}

// contentOf is a record in a form that does not depend on the order of its
// members or on white space.
func contentOf(r journal.Object) (string, error) {
	line, err := r.Line()
	if err != nil {
		return "", err
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber() // 0.1 and a number near it are two contents
	if err := d.Decode(&value); err != nil {
		return "", fmt.Errorf("read a record again: %w", err)
	}
	content, err := json.Marshal(value)
	return string(content), err
}
