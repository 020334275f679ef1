package backfill

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// newest is a table that remembers the sequence number of its newest change.
type newest struct {
	*streamtest.Table
	mu       sync.Mutex
	sequence string
}

func (n *newest) note(w streamtest.Written, err error) (streamtest.Written, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.Sequence != "" {
		n.sequence = w.Sequence
	}
	return w, err
}

func (n *newest) Put(item string) (streamtest.Written, error)   { return n.note(n.Table.Put(item)) }
func (n *newest) Delete(key string) (streamtest.Written, error) { return n.note(n.Table.Delete(key)) }
func (n *newest) Expire(key string) (streamtest.Written, error) { return n.note(n.Table.Expire(key)) }

func (n *newest) last() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sequence
}

// version returns a version as text.
func version(epoch uint64, sequence string) string {
	return fmt.Sprintf("%010d%s%s", epoch, strings.Repeat("0", 40-len(sequence)), sequence)
}
