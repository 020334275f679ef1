package shardreader_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// readers is a service that counts how many read a shard at once.
type readers struct {
	*streamtest.Server
	mu   sync.Mutex
	now  map[string]int
	most int
}

func (r *readers) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	r.mu.Lock()
	r.now[q.Shard]++
	r.most = max(r.most, r.now[q.Shard])
	r.mu.Unlock()
	time.Sleep(time.Millisecond)
	a, err := r.Server.GetRecords(ctx, q)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now[q.Shard]--
	return a, err
}

// Fact 8: GetRecords gives at most 1,000 records or 1 MB a call. At most 2 readers a
// shard, 1 for a global table.
func TestFact8_FullPagesAndOneReaderAShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &readers{Server: streamtest.New(streamtest.Options{}), now: map[string]int{}}
		st := api.AddStream("shop")
		wide := items(0, 2500)
		for i := range wide { // a full page is more than 1 MB of JSON
			wide[i].New = `{"PK":` + wide[i].Keys[len(`{"PK":`):len(wide[i].Keys)-1] + `,"Text":{"S":"` + strings.Repeat("x", 1200) + `"}}`
		}
		want := st.Put(st.Shards()[0], wide...)
		for _, child := range st.Split(st.Shards()[0], 3) {
			st.Put(child, items(9000, 5)...)
		}
		got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: api, Source: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got[:len(want)]); diff != "" || len(got) != 2515 || r.Undecodable != 0 {
			t.Errorf("%d records, %d undecodable, the parent's (-want +got):\n%s", len(got), r.Undecodable, diff)
		}
		if api.most != 1 {
			t.Errorf("%d readers of a shard at once, want 1", api.most)
		}
	})
}

// Fact 8: iterators live 15 minutes. A recording that stood still for longer continues after its last record.
func TestFact8_IteratorsExpireMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{PageRecords: 3})
		st := server.AddStream("shop")
		want := st.Put(st.Shards()[0], items(0, 8)...)
		got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Progress: func(p shardreader.RecordProgress) {
			if p.Records > 0 {
				time.Sleep(16 * time.Minute)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(r.Gaps) != 0 {
			t.Errorf("gaps %v, records (-want +got):\n%s", r.Gaps, diff)
		}
	})
}

// Fact 10: a stream that is DISABLED stays readable for 24 hours: drain it. Re-enabling
// makes a new stream ARN.
func TestFact10_DisabledStreams(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			server := streamtest.New(streamtest.Options{PageRecords: 2, EmptyPages: 3})
			old := server.AddStream("shop")
			root := old.Shards()[0]
			want := old.Put(root, items(0, 5)...)
			want = append(want, old.Put(old.Split(root, 1)[0], items(10, 3)...)...)
			old.Disable()

			start := time.Now()
			for _, name := range []string{"shop", old.ARN()} {
				got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: name, Idle: idle})
				if err != nil || r.Stream.ARN != old.ARN() {
					t.Fatal(r.Stream, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("a stream that gets no more records was waited for, %s", took)
			}

			again := server.AddStream("shop")
			fresh := again.Put(again.Shards()[0], items(20, 2)...)
			for name, want := range map[string][]string{"shop": fresh, old.ARN(): want} {
				got, _, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: name})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, enabled again (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}
