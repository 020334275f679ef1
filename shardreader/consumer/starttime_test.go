package consumer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 36: a fleet over the SDK starts at a time, whether the server knows AT_TIMESTAMP or not.
func TestFact36_StartsAtATimeOverTheSDK(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, streamtest.Options{NoTimestamps: unknown})
			defer r.tell()
			st := r.server.AddStream("shop")
			for i := range 20 {
				r.put(fmt.Sprint("old", i), 1)
			}
			time.Sleep(time.Hour)
			from := time.Now()
			st.Split(st.Shards()[0], 2)
			for i := range 10 {
				r.put(fmt.Sprint("new", i), 1)
			}
			s := newStore()
			k := r.task("a", s, func(o *options) {
				o.API = overTheSDK(r.server)
				o.Coordinator.Start.Time = from
			})
			time.Sleep(20 * time.Second)
			if err := k.end(); err != nil {
				t.Error(err)
			}
			if seen, _ := s.count(); seen != 10 || len(r.gaps) > 0 {
				t.Errorf("%d records came, want 10; gaps %+v", seen, r.gaps)
			}
			if read := k.p.Ledger().Source.Read; !unknown && read != 10 {
				t.Errorf("%d records were read", read)
			}
			k.balanced()
		})
	}
}
