package consumer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/consumer"
)

// witness is between a consumer and its pipeline, and notes breaches of the contract: pages of a partition out of
// order, pages of a revoked one, a commit of a position that is not durable, changes of a key out of order within an
// incarnation.
type witness struct {
	*consumer.Consumer
	store *store

	mu      sync.Mutex
	wrong   []string
	pages   map[string][]read // by partition
	of      map[string]string // the partition that a sequence number was last read of
	newest  map[string]string // by partition and key: the newest sequence number that was written
	written map[string]bool   // by partition and sequence number
}

type read struct {
	position  pipeline.Position
	sequences []string
}

var (
	_ pipeline.Source     = (*witness)(nil)
	_ pipeline.Committer  = (*witness)(nil)
	_ pipeline.Pauser     = (*witness)(nil)
	_ pipeline.Controlled = (*witness)(nil)
)

func newWitness(c *consumer.Consumer, s *store) *witness {
	return &witness{Consumer: c, store: s, pages: map[string][]read{}, of: map[string]string{}, newest: map[string]string{}, written: map[string]bool{}}
}

func (w *witness) errorf(format string, args ...any) {
	if len(w.wrong) < 5 {
		w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	}
}

func (w *witness) Read(ctx context.Context) (*pipeline.Page, error) {
	page, err := w.Consumer.Read(ctx)
	if page == nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := read{position: page.Position}
	last := ""
	for _, before := range w.pages[page.Partition] {
		if n := len(before.sequences); n > 0 {
			last = before.sequences[n-1]
		}
	}
	for i := range page.Changes {
		seq := page.Changes[i].Sequence
		if last != "" && record.CompareSequence(seq, last) <= 0 {
			w.errorf("%s: %s was read behind %s", page.Partition, seq, last)
		}
		last = seq
		w.of[seq] = page.Partition
		r.sequences = append(r.sequences, seq)
	}
	w.pages[page.Partition] = append(w.pages[page.Partition], r)
	return page, err
}

func (w *witness) Commit(ctx context.Context, partition string, p pipeline.Position) error {
	w.mu.Lock()
	found := false
	for _, r := range w.pages[partition] {
		for _, seq := range r.sequences {
			if !w.store.has(seq) {
				w.errorf("%s is committed at %s, and %s is not durable", partition, p, seq)
			}
		}
		if found = r.position == p; found {
			break
		}
	}
	if !found {
		w.errorf("%s is committed at %s, which was never read", partition, p)
	}
	w.mu.Unlock()
	return w.Consumer.Commit(ctx, partition, p)
}

// wrote checks the order of the changes that a sink received.
func (w *witness) wrote(c *record.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	partition := w.of[c.Sequence]
	at, id := partition+" "+string(c.Key), partition+" "+c.Sequence
	if newest := w.newest[at]; newest == "" || record.CompareSequence(c.Sequence, newest) >= 0 {
		w.newest[at] = c.Sequence
	} else if !w.written[id] {
		w.errorf("%s: %s of %s came first behind %s", partition, c.Sequence, c.Key, newest)
	}
	w.written[id] = true
}

func (w *witness) report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.wrong, "\n")
}
