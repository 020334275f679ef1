package consumer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

func TestConsumer_ReadsAndLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		st := r.server.AddStream("shop")
		for i := range 20 {
			r.put(fmt.Sprint("k", i), 1)
		}
		s := newStore()
		start := time.Now()
		k := r.task("a", s, func(o *options) { o.API = overTheSDK(r.server) })
		for seen, _ := s.count(); seen < 20; seen, _ = s.count() {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("the first records came after %v", took)
		}
		kids := st.Split(st.Shards()[0], 2)
		for i := range 20 {
			r.put(fmt.Sprint("k", i), 2)
		}
		time.Sleep(5 * time.Second)
		if h := k.c.Health(); !h.Live || !h.Ready {
			t.Errorf("%+v", h)
		}
		start = time.Now()
		if err := k.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("a soft stop took %v", took)
		}
		if seen, writes := s.count(); seen != 40 || writes != 40 {
			t.Errorf("%d records came, in %d writes", seen, writes)
		}
		for _, kid := range kids {
			if l := r.leases()[kid]; l.Owner != "" || l.Checkpoint.Sequence == "" {
				t.Errorf("the lease is left as %+v", l)
			}
		}
		k.balanced()
	})
}
