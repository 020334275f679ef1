package consumer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// between is a consumer whose calls to its pipeline are noted.
type between struct {
	*consumer.Consumer
	asked *asked
}

func (b between) Control(c pipeline.Control) {
	if c != nil {
		b.asked.Control = c
		c = b.asked
	}
	b.Consumer.Control(c)
}

// asked is what a consumer asked of its pipeline.
type asked struct {
	pipeline.Control
	mu        sync.Mutex
	revokes   [][]string // of each call
	forgotten []string
}

func (a *asked) Revoke(cause error, partitions ...string) {
	a.mu.Lock()
	a.revokes = append(a.revokes, slices.Clone(partitions))
	a.mu.Unlock()
	a.Control.Revoke(cause, partitions...)
}

func (a *asked) Forget(partitions ...string) {
	a.mu.Lock()
	a.forgotten = append(a.forgotten, partitions...)
	a.mu.Unlock()
	a.Control.Forget(partitions...)
}

// Partitions that are revoked at once are revoked with one call, which looks at the queue once. Released partitions are
// forgotten, in whichever way they were released.
func TestConsumer_RevokesTogetherAndForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		const shards = 6
		r.server.Enable("shop", streamtest.StreamOptions{Shards: shards})
		for n := range 30 {
			r.put(fmt.Sprint("k", n), 1)
		}
		s := newStore()
		var deaf atomic.Bool
		table := &leasestest.Table{Memory: r.table.Memory}
		table.Before = func(ctx context.Context, _ leasestest.Call) error {
			if deaf.Load() {
				<-ctx.Done()
				return pipeline.Transient(context.Cause(ctx))
			}
			return nil
		}
		a := &asked{}
		k := r.task("a", s, func(o *options) {
			o.Table = table
			o.source = func(t *task) pipeline.Source { return between{t.c, a} }
		})
		r.until("read", s.seenAre(30))
		deaf.Store(true)
		time.Sleep(10 * time.Second)
		deaf.Store(false)
		a.mu.Lock()
		if len(a.revokes) != 1 || len(a.revokes[0]) != shards {
			t.Errorf("out of contact it revoked %v", a.revokes)
		}
		if len(a.forgotten) != shards {
			t.Errorf("out of contact it forgot %v", a.forgotten)
		}
		a.mu.Unlock()
		time.Sleep(10 * time.Second)
		b := r.task("b", s)
		r.until("half of it handed over", func() bool { return len(b.c.Status().Partitions) == shards/2 })
		r.put("k0", 2)
		r.until("read", s.seenAre(31))
		a.mu.Lock()
		if len(a.revokes) != 1 || len(a.forgotten) != shards+shards/2 {
			t.Errorf("after a handover it revoked %v and forgot %v", a.revokes, a.forgotten)
		}
		a.mu.Unlock()
		if err := k.end(); err != nil {
			t.Error(err)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}
