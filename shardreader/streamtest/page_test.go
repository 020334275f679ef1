package streamtest_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

func wide(n, size int) []streamtest.Record {
	rs := make([]streamtest.Record, n)
	for i := range rs {
		key := fmt.Sprintf(`{"PK":{"S":"k%d"}`, i)
		rs[i] = streamtest.Record{Keys: key + "}", New: key + `,"T":{"S":"` + strings.Repeat("x", size) + `"}}`}
	}
	return rs
}

// Fact 8: GetRecords gives at most 1,000 records or 1 MB a call.
func TestFact8_PagesAreBounded(t *testing.T) {
	for _, tt := range []struct {
		o             streamtest.Options
		records, size int
		want          string // records of the pages
	}{
		{streamtest.Options{}, 2500, 10, "1000 1000 500"},
		{streamtest.Options{}, 12, 200_000, "5 5 2"},
		{streamtest.Options{}, 3, 2 << 20, "1 1 1"}, // one record at least
		{streamtest.Options{PageBytes: 1}, 3, 10, "1 1 1"},
		{streamtest.Options{PageRecords: 4, EmptyEnd: true}, 8, 10, "4 4 0"},
		{streamtest.Options{PageRecords: 4}, 8, 10, "4 4"},
		{streamtest.Options{PageRecords: 4, EmptyPages: 2}, 8, 10, "0 0 4 0 0 4"},
		{streamtest.Options{}, 0, 0, "0"},
		{streamtest.Options{}, 1500, 5000, "195 195 195 195 195 195 195 135"},
	} {
		server := streamtest.New(tt.o)
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		sequences := st.Put(shard, wide(tt.records, tt.size)...)
		st.Disable()
		it, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.TrimHorizon})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		n := 0
		for it != "" {
			a, err := server.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it, StreamARN: st.ARN(), Shard: shard})
			if err != nil || len(a.Page.Errors) > 0 {
				t.Fatal(err, a.Page.Errors)
			}
			for _, c := range a.Page.Changes {
				if c.Sequence != sequences[n] {
					t.Fatalf("record %d is %s, want %s", n, c.Sequence, sequences[n])
				}
				n++
			}
			got = append(got, fmt.Sprint(len(a.Page.Changes)))
			it = a.NextIterator
		}
		if pages := strings.Join(got, " "); n != tt.records || pages != tt.want {
			t.Errorf("%+v: %d records in pages of %s, want %s", tt.o, n, pages, tt.want)
		}
	}
}

// full is a server with a shard that gives one full page of 1 MB, and the request for it.
func full(t testing.TB, records int) (*streamtest.Server, func() *http.Request) {
	t.Helper()
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	st.Put(st.Shards()[0], wide(records, 1200)...)
	it, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: st.Shards()[0], Type: shardreader.TrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	return server, func() *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://streams", strings.NewReader(`{"ShardIterator":"`+it+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "DynamoDBStreams_20120810.GetRecords")
		return req
	}
}

// A page of the in-process way is neither built nor copied: 1 MB costs little more than nothing.
func TestServer_RoundTripAllocatesLittle(t *testing.T) {
	server, request := full(t, 1000)
	const runs = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		roundTrip(t, server, request())
	}
	runtime.ReadMemStats(&after)
	if size := (after.TotalAlloc - before.TotalAlloc) / runs; size > 16<<10 {
		t.Errorf("a page of 1 MB allocates %d bytes", size)
	}
}

func roundTrip(t testing.TB, server *streamtest.Server, req *http.Request) {
	resp, err := server.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK || resp.ContentLength < 900_000 {
		t.Fatal(resp, err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != resp.ContentLength {
		t.Fatalf("%d bytes of %d, %v", n, resp.ContentLength, err)
	}
	resp.Body.Close()
}

func BenchmarkServer_RoundTrip(b *testing.B) {
	server, request := full(b, 1000)
	b.ReportAllocs()
	b.SetBytes(1 << 20)
	for b.Loop() {
		roundTrip(b, server, request())
	}
}

// BenchmarkServer_IdleShards polls one after the other of 10,000 shards that have nothing new.
func BenchmarkServer_IdleShards(b *testing.B) {
	server := streamtest.New(streamtest.Options{Decoder: record.DecoderOptions{}})
	st := server.Enable("shop", streamtest.StreamOptions{Shards: 10_000})
	var iterators []string
	for _, id := range st.Shards() {
		it, err := server.GetShardIterator(b.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: id, Type: shardreader.Latest})
		if err != nil {
			b.Fatal(err)
		}
		iterators = append(iterators, it)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := server.GetRecords(b.Context(), shardreader.RecordsQuery{Iterator: iterators[n%len(iterators)], StreamARN: st.ARN()}); err != nil {
			b.Fatal(err)
		}
	}
}
