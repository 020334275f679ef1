package consumer_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A lease table that is out of reach, while heartbeats succeed in the state table, is not ready, measured, and told
// each minute with its age: where checkpoints cannot be written, and where nothing can be read.
func TestConsumer_LeaseTableOutOfReach(t *testing.T) {
	for name, tt := range map[string]struct {
		fails func(op string) bool
		says  string
	}{
		"checkpoints are refused": {func(op string) bool { return op == "Swap" }, "checkpoints could not be written for"},
		"it cannot be read":       {func(op string) bool { return op == "Read" }, "the lease table could not be read for"},
		"both":                    {func(op string) bool { return op == "Swap" || op == "Read" }, "checkpoints could not be written for"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, streamtest.Options{})
				r.server.AddStream("shop")
				m := newMeter(t)
				s := newStore()
				var away atomic.Bool
				r.table.Before = func(_ context.Context, c leasestest.Call) error {
					if away.Load() && tt.fails(c.Op) {
						return leasestest.Throttled()
					}
					return nil
				}
				k := r.task("a", s, func(o *options) { o.Meter = m.provider })
				r.put("a", 1)
				r.until("written", s.seenAre(1))
				time.Sleep(10 * time.Second)
				if h := k.c.Health(); !h.Ready || m.gauge("tablewake.reader.unwritten", "") != 0 {
					t.Fatalf("all is well, and it is %+v", h)
				}
				away.Store(true)
				r.put("a", 2)
				r.until("written", s.seenAre(2))
				time.Sleep(20 * time.Second)
				h, age := k.c.Health(), m.gauge("tablewake.reader.unwritten", "")
				if h.Ready || !strings.Contains(strings.Join(h.Reasons, "; "), tt.says) || age < 15 || age > 30 {
					t.Errorf("out of reach for 20 s, and it is %+v, the metric %v", h, age)
				}
				time.Sleep(3 * time.Minute)
				r.mu.Lock()
				told := strings.Count(r.story.String(), "the lease table is out of reach")
				r.mu.Unlock()
				if told < 3 || told > 5 {
					t.Errorf("in three minutes it is told %d times", told)
				}
				away.Store(false)
				time.Sleep(time.Minute)
				if h := k.c.Health(); !h.Ready || m.gauge("tablewake.reader.unwritten", "") != 0 || !strings.Contains(r.story.String(), "read and written again") {
					t.Errorf("it is in reach again, and it is %+v", h)
				}
				if err := k.end(); err != nil {
					t.Error(err)
				}
				if t.Failed() {
					r.tell()
				}
			})
		})
	}
}
