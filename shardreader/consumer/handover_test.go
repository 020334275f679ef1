package consumer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A lease is handed over in the middle of a backlog. Pages that wait for the pipeline are taken back. The pages that
// it has already taken are written, also by a sink whose batches fill for hours. Nothing is read twice.
func TestHandover_InABacklogRepeatsNothing(t *testing.T) {
	for name, batch := range map[string]pipeline.Batch{"at once": {Count: 5}, "batches that fill": {Count: 1000, Linger: 6 * time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, streamtest.Options{PageRecords: 5})
				defer r.tell()
				r.server.Enable("shop", streamtest.StreamOptions{Shards: 4})
				all := 0
				for i := range 30 {
					for n := range 16 {
						all++
						r.put(fmt.Sprint("k", n), i+1)
					}
				}
				s := newStore()
				slow := pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
					time.Sleep(100 * time.Millisecond)
					return s.Write(ctx, ds)
				})
				bounded := func(o *options) {
					o.pipeline.Routes[0].Batch = batch
					o.pipeline.Routes[0].Concurrency = 1
					o.pipeline.MaxChanges = 10
					if batch.Linger > 0 {
						o.pipeline.MaxChanges = 100_000
					}
				}
				a := r.task("a", slow, bounded)
				time.Sleep(time.Second)
				b := r.task("b", slow, bounded)
				r.until("shared", func() bool {
					mine := 0
					for _, l := range r.leases() {
						if l.Owner == "b" {
							mine++
						}
					}
					return mine == 2
				})
				if batch.Linger > 0 { // the other half waits for its batches
					if err := a.end(); err != nil {
						t.Error(err)
					}
					if err := b.end(); err != nil {
						t.Error(err)
					}
				} else {
					r.until("everything read", s.seenAre(all))
					for _, k := range []*task{a, b} {
						if err := k.end(); err != nil {
							t.Error(err)
						}
						k.balanced()
					}
				}
				if seen, writes := s.count(); seen != all || writes != all {
					t.Errorf("%d of %d records came, in %d writes", seen, all, writes)
				}
				if n := a.p.Ledger().Sinks["s"].Revoked; n != 0 {
					t.Errorf("%d deliveries were taken away from a pipeline that could drain them", n)
				}
			})
		})
	}
}
