package shardreader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// item is the n-th insert of an item.
func itemRecord(n int) streamtest.Record {
	key := fmt.Sprintf(`{"PK":{"S":"item-%d"}}`, n)
	return streamtest.Record{Keys: key, New: key}
}

func items(from, n int) []streamtest.Record {
	var rs []streamtest.Record
	for i := range n {
		rs = append(rs, itemRecord(from+i))
	}
	return rs
}

// record records into memory and returns the sequence numbers, having checked that each
// line names the stream.
func recordAll(ctx context.Context, t *testing.T, o shardreader.RecordOptions) ([]string, shardreader.Recording, error) {
	t.Helper()
	var out bytes.Buffer
	r, err := shardreader.Record(ctx, &out, o)
	var got []string
	for line := range strings.Lines(out.String()) {
		var rec struct {
			EventSourceARN string `json:"eventSourceARN"`
			Dynamodb       struct{ SequenceNumber string }
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if rec.EventSourceARN != r.Stream.ARN {
			t.Errorf("line %q names the stream %q, want %q", line, rec.EventSourceARN, r.Stream.ARN)
		}
		got = append(got, rec.Dynamodb.SequenceNumber)
	}
	if err == nil && (r.Records != int64(len(got)) || r.Bytes != int64(out.Len())) {
		t.Errorf("recording counts %d records in %d bytes, not %d in %d", r.Records, r.Bytes, len(got), out.Len())
	}
	return got, r, err
}

func TestRecord_WholeStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{PageRecords: 3, EmptyPages: 5})
		old, st := server.AddStream("shop"), server.AddStream("shop")
		old.Put(old.Shards()[0], itemRecord(99))
		root := st.Shards()[0]
		inParent := st.Put(root, items(0, 10)...)
		below := st.Split(root, 2)
		inChild0, inChild1 := st.Put(below[0], items(10, 4)...), st.Put(below[1], items(20, 4)...)
		grandchild := st.Split(below[0], 1)[0]
		inGrandchild := st.Put(grandchild, items(30, 2)...)

		var seen []int64
		got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Progress: func(p shardreader.RecordProgress) { seen = append(seen, p.Records) }})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stream.ARN != st.ARN() || r.ShardsDone != 4 || r.Shards != 4 || len(r.Gaps) != 0 || r.Undecodable != 0 {
			t.Errorf("recording %+v", r)
		}
		if !slices.IsSorted(seen) || seen[len(seen)-1] != 20 {
			t.Errorf("progress %v", seen)
		}
		if diff := cmp.Diff(inParent, got[:10]); diff != "" {
			t.Errorf("the parent does not come first (-want +got):\n%s", diff)
		}
		inOrder(t, got, inChild0)
		inOrder(t, got, inChild1)
		inOrder(t, got, append(inChild0, inGrandchild...))
		if len(got) != 20 {
			t.Errorf("%d records, want 20", len(got))
		}
	})
}

// inOrder checks that want is in got, in its order.
func inOrder(t *testing.T, got, want []string) {
	t.Helper()
	last := -1
	for _, w := range want {
		i := slices.Index(got, w)
		if i <= last {
			t.Errorf("record %s is at %d, want it behind %d", w, i, last)
		}
		last = i
	}
}

// A recording ends at the newest records that were there when it started, also
// when the table never comes to rest.
func TestRecord_EndsOnABusyStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{PageRecords: 2})
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		want := st.Put(shard, items(0, 9)...)
		ctx, stop := context.WithCancel(t.Context())
		var writer sync.WaitGroup
		defer writer.Wait()
		defer stop()
		writer.Go(func() {
			for n := 100; ctx.Err() == nil; n++ {
				time.Sleep(10 * time.Millisecond)
				st.Put(shard, itemRecord(n))
			}
		})
		got, _, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: slow{server, 100 * time.Millisecond}, Source: st.ARN()})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < len(want) {
			t.Fatalf("%d records, want the %d that were there", len(got), len(want))
		}
		if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		// The calls before the position of the newest record is known take 300 ms.
		if len(got) > len(want)+30 {
			t.Errorf("%d records, want about the %d that were there", len(got), len(want))
		}
	})
}

// slow is a service that takes its time.
type slow struct {
	*streamtest.Server
	d time.Duration
}

func (s slow) DescribeStream(ctx context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	time.Sleep(s.d)
	return s.Server.DescribeStream(ctx, q)
}

func (s slow) GetShardIterator(ctx context.Context, at shardreader.ShardPosition) (string, error) {
	time.Sleep(s.d)
	return s.Server.GetShardIterator(ctx, at)
}

func TestRecord_IdleFollowsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		want := st.Put(root, itemRecord(0))
		var writer sync.WaitGroup
		writer.Go(func() {
			time.Sleep(9 * time.Second)
			want = append(want, st.Put(root, itemRecord(1))...)
			child := st.Split(root, 1)[0]
			time.Sleep(9 * time.Second)
			want = append(want, st.Put(child, itemRecord(2))...)
			time.Sleep(11 * time.Second)
			st.Put(child, itemRecord(3)) // too late
		})
		start := time.Now()
		got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Idle: 10 * time.Second})
		took := time.Since(start)
		writer.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		if took < 28*time.Second || took > 29*time.Second || r.Shards != 2 {
			t.Errorf("it took %s over %d shards, want 10s behind the last record", took, r.Shards)
		}
	})
}

// Fact 7: DescribeStream gives 100 shards a page. Unpaginated or full re-listing
// has killed consumers at 684 shards.
func TestFact7_ManyShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		var want []string
		for n := range 683 {
			want = append(want, st.Put(shard, itemRecord(n))...)
			shard = st.Split(shard, 1)[0]
		}
		got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		if n := server.Calls("DescribeStream"); n != 7 || r.Shards != 684 {
			t.Errorf("%d calls of DescribeStream for %d shards, want 7 for 684", n, r.Shards)
		}
	})
}

func TestRecord_Options(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	for want, o := range map[string]shardreader.RecordOptions{
		"API":      {Source: "shop"},
		"Source":   {API: server},
		"Idle":     {API: server, Source: "shop", Idle: -1},
		"neither":  {API: server, Source: "arn:aws:s3:::bucket"},
		"a stream": {API: server, Source: "arn:aws:dynamodb:eu-central-1:1:table/shop/index/x"},
	} {
		if _, err := shardreader.Record(t.Context(), &bytes.Buffer{}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
