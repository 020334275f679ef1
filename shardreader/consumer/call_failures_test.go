package consumer_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// refusing is the rig's table, which refuses some calls permanently.
func (r *rig) refusing(refused func(leasestest.Call) bool) *leasestest.Table {
	return &leasestest.Table{Memory: r.table.Memory, Before: func(_ context.Context, c leasestest.Call) error {
		if refused(c) {
			return pipeline.Fatal(errors.New("not allowed"))
		}
		return nil
	}}
}

// A consumer without the right to tidy up reads on, and says once what stays.
func TestConsumer_TidyingUpIsNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		r.put("a", 1)
		if err := r.table.Memory.Heartbeat(t.Context(), leases.Member{ID: "gone", Name: "gone", Heartbeat: 1}); err != nil {
			t.Fatal(err)
		}
		s := newStore()
		k := r.task("a", s, func(o *options) {
			o.Table = r.refusing(func(c leasestest.Call) bool { return c.Op == "RemoveMember" || c.Op == "Delete" })
		})
		r.until("read", s.seenAre(1))
		time.Sleep(time.Hour)
		if h := k.c.Health(); !h.Live || !h.Ready {
			t.Errorf("%+v", h)
		}
		r.put("a", 2)
		r.until("read on", s.seenAre(2))
		if err := k.end(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(r.story.String(), "a cleanup call is denied"); n != 1 {
			t.Errorf("it was told %d times", n)
		}
	})
}

// A call that is not needed to begin is retried for minutes before it is abandoned, even if it never worked.
func TestConsumer_WhatIsWantedIsTriedForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		k := r.task("a", newStore(), func(o *options) {
			o.Table = r.refusing(func(c leasestest.Call) bool { return c.Op == "Create" })
		})
		start := time.Now()
		err := <-k.ran
		if took := time.Since(start); !pipeline.IsFatal(err) || took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("Run returned %v after %v", err, took)
		}
		if h := k.c.Health(); h.Ready || len(h.Reasons) != 1 {
			t.Errorf("%+v", h)
		}
		if err := k.close(time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// A beat that is not answered is followed by another one before contact is lost.
func TestConsumer_OneBeatThatHangsRevokesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		r.put("a", 1)
		s := newStore()
		var beats atomic.Int64
		table := &leasestest.Table{Memory: r.table.Memory, Before: func(ctx context.Context, c leasestest.Call) error {
			if c.Op == "Heartbeat" && beats.Add(1)%2 == 0 {
				<-ctx.Done()
				return pipeline.Transient(context.Cause(ctx))
			}
			return nil
		}}
		k := r.task("a", s, func(o *options) { o.Table = table })
		r.until("read", s.seenAre(1))
		for range 600 {
			time.Sleep(time.Second)
			if !k.c.Status().HeartbeatFresh {
				t.Fatalf("out of contact after %d beats", beats.Load())
			}
		}
		if err := k.end(); err != nil {
			t.Error(err)
		}
	})
}
