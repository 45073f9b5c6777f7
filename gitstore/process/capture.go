package process

import (
	"fmt"
	"slices"
	"sync"
)

// evidence is how much of each end of standard error is kept (R-SEAM-5).
const evidence = 32 << 10

// bounded keeps the first limit bytes written to it, throws the rest away and
// closes over when there is a rest. Throwing away, where refusing to read
// would do, lets a child that floods its output get as far as its SIGTERM.
type bounded struct {
	limit int64
	over  chan struct{}

	mu   sync.Mutex
	data []byte
	cut  bool
}

func newBounded(limit int64) *bounded {
	return &bounded{limit: limit, over: make(chan struct{})}
}

// Write never fails.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := p[:min(int64(len(p)), b.limit-int64(len(b.data)))]
	b.data = append(b.data, kept...)
	if len(kept) < len(p) && !b.cut {
		b.cut = true
		close(b.over)
	}
	return len(p), nil
}

// bytes returns a copy of what was kept so far and whether more was written.
func (b *bounded) bytes() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.data), b.cut
}

// ends keeps the first and the last evidence bytes written to it.
type ends struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // the last bytes after head; may hold up to twice evidence
	total int64
}

// Write never fails.
func (e *ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total += int64(len(p))
	rest := p
	if room := evidence - len(e.head); room > 0 {
		n := min(room, len(rest))
		e.head, rest = append(e.head, rest[:n]...), rest[n:]
	}
	e.tail = append(e.tail, rest...)
	if len(e.tail) > 2*evidence {
		e.tail = slices.Clone(e.tail[len(e.tail)-evidence:])
	}
	return len(p), nil
}

// bytes returns both ends, joined by a line that counts the bytes between
// them if there are any.
func (e *ends) bytes() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail := e.tail[max(0, len(e.tail)-evidence):]
	kept := slices.Clone(e.head)
	if missing := e.total - int64(len(e.head)+len(tail)); missing > 0 {
		kept = fmt.Appendf(kept, "\n[%d bytes left out]\n", missing)
	}
	return append(kept, tail...)
}
