package shardreader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is the n-th insert of an item.
func item(n int) streamtest.Record {
	key := fmt.Sprintf(`{"PK":{"S":"item-%d"}}`, n)
	return streamtest.Record{Keys: key, New: key}
}

func items(from, n int) []streamtest.Record {
	var rs []streamtest.Record
	for i := range n {
		rs = append(rs, item(from+i))
	}
	return rs
}

// record records into memory and returns the sequence numbers, having checked that each
// line names the stream.
func record(ctx context.Context, t *testing.T, o shardreader.RecordOptions) ([]string, shardreader.Recording, error) {
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
		old.Put(old.Shards()[0], item(99))
		root := st.Shards()[0]
		inParent := st.Put(root, items(0, 10)...)
		below := st.Split(root, 2)
		inChild0, inChild1 := st.Put(below[0], items(10, 4)...), st.Put(below[1], items(20, 4)...)
		grandchild := st.Split(below[0], 1)[0]
		inGrandchild := st.Put(grandchild, items(30, 2)...)

		var seen []int64
		got, r, err := record(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Progress: func(p shardreader.RecordProgress) { seen = append(seen, p.Records) }})
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
				st.Put(shard, item(n))
			}
		})
		got, _, err := record(t.Context(), t, shardreader.RecordOptions{API: slow{server, 100 * time.Millisecond}, Source: st.ARN()})
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
		want := st.Put(root, item(0))
		var writer sync.WaitGroup
		writer.Go(func() {
			time.Sleep(9 * time.Second)
			want = append(want, st.Put(root, item(1))...)
			child := st.Split(root, 1)[0]
			time.Sleep(9 * time.Second)
			want = append(want, st.Put(child, item(2))...)
			time.Sleep(11 * time.Second)
			st.Put(child, item(3)) // too late
		})
		start := time.Now()
		got, r, err := record(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Idle: 10 * time.Second})
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
			want = append(want, st.Put(shard, item(n))...)
			shard = st.Split(shard, 1)[0]
		}
		got, r, err := record(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop"})
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

// Fact 9: throttling and 5xx are retried; ExpiredIterator re-acquires AFTER the last
// sequence number. A transient error never completes a shard.
func TestFact9_RecordSurvivesErrors(t *testing.T) {
	faults := map[string]streamtest.Fault{
		"throttled":       {Code: "ThrottlingException"},
		"internal error":  {Code: "InternalServerError"},
		"reset":           {Err: streamtest.ErrReset},
		"cut":             {Body: func(b []byte) []byte { return b[:len(b)/2] }},
		"empty body":      {Body: func([]byte) []byte { return nil }},
		"empty object":    {Body: func([]byte) []byte { return []byte("{}") }},
		"garbage behind":  {Body: func(b []byte) []byte { return append(b, 'x') }},
		"expired":         {Code: "ExpiredIteratorException"},
		"reset in a body": {Cut: streamtest.ErrReset},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			for after := range 6 {
				synctest.Test(t, func(t *testing.T) {
					server := streamtest.New(streamtest.Options{PageRecords: 3})
					st := server.AddStream("shop")
					root := st.Shards()[0]
					want := st.Put(root, items(0, 8)...)
					want = append(want, st.Put(st.Split(root, 1)[0], items(10, 2)...)...)
					none := make([]streamtest.Fault, after)
					server.Fail("GetRecords", append(none, fault, fault)...)
					if fault.Code != "ExpiredIteratorException" {
						for _, op := range []string{"ListStreams", "DescribeStream", "GetShardIterator"} {
							server.Fail(op, streamtest.Fault{Code: fault.Code, Err: fault.Err})
						}
					}
					got, r, err := record(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop"})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" || len(r.Gaps) > 0 {
						t.Errorf("gaps %v, records (-want +got):\n%s", r.Gaps, diff)
					}
				})
			}
		})
	}
}

// Fact 9: TrimmedDataAccess is a gap, recorded and reported as data loss, then
// TRIM_HORIZON; ResourceNotFound for a shard is a gap.
func TestFact9_GapsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{PageRecords: 2})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		put := st.Put(root, items(0, 8)...)
		child := st.Split(root, 1)[0]
		st.Put(child, item(10))
		// While page 1 is written, records 3 to 6 and the whole child are dropped.
		var once bool
		got, r, err := record(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Progress: func(p shardreader.RecordProgress) {
			if p.Records == 2 && !once {
				once = true
				st.Trim(root, 6)
				st.Drop(child)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(put[:2], put[6:])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		gaps := []shardreader.Gap{{Shard: root, After: put[1]}, {Shard: child, Whole: true}}
		if diff := cmp.Diff(gaps, r.Gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
}

// A record that the decoder refuses is recorded as it came: what it means is for
// whoever reads the recording.
func TestRecord_UndecodableRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		st.Put(st.Shards()[0], item(0), streamtest.Record{Raw: "{\n \"eventName\": \"INSERT\" }"}, item(1))
		var out bytes.Buffer
		r, err := shardreader.Record(t.Context(), &out, shardreader.RecordOptions{API: server, Source: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if want := `{"eventSourceARN":"` + st.ARN() + `","eventName":"INSERT"}`; r.Undecodable != 1 || r.Records != 3 || lines[1] != want {
			t.Errorf("recording %+v, line 2 is %s, want %s", r, lines[1], want)
		}
	})
}

// A stream ARN that a record names itself stays, wherever it stands.
func TestRecord_KeepsTheRecordsOwnStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		named := `{"dynamodb":{"Keys":{"PK":{"S":"\"eventSourceARN\""}},"SequenceNumber":"1"},"eventSourceARN":"` + st.ARN() + `"}`
		st.Put(st.Shards()[0], streamtest.Record{Raw: named}, streamtest.Record{Keys: `{"eventSourceARN":{"S":"x"}}`})
		got, _, err := record(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop"})
		if err != nil || len(got) != 2 {
			t.Errorf("records %v, %v", got, err)
		}
	})
}

func TestRecord_Fails(t *testing.T) {
	denied := streamtest.Fault{Code: "AccessDeniedException"}
	tests := []struct {
		name, source, op string
		is               error
	}{
		{"a table without a stream", "nothing", "", shardreader.ErrNotFound},
		{"a stream that is not there", "arn:aws:dynamodb:eu-central-1:1:table/shop/stream/2020-01-01T00:00:00.000", "", shardreader.ErrNotFound},
		{"listing is denied", "shop", "ListStreams", shardreader.ErrDenied},
		{"describing is denied", "shop", "DescribeStream", shardreader.ErrDenied},
		{"iterators are denied", "shop", "GetShardIterator", shardreader.ErrDenied},
		{"reading is denied", "shop", "GetRecords", shardreader.ErrDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := streamtest.New(streamtest.Options{})
				st := server.AddStream("shop")
				st.Put(st.Split(st.Shards()[0], 3)[0], items(0, 3)...)
				server.Fail(tt.op, denied)
				dir := t.TempDir()
				path := filepath.Join(dir, "stream.jsonl")
				if err := os.WriteFile(path, []byte("an earlier recording"), 0o644); err != nil {
					t.Fatal(err)
				}
				_, err := shardreader.RecordFile(t.Context(), path, shardreader.RecordOptions{API: server, Source: tt.source})
				if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.source) {
					t.Errorf("error %v, want one that names %s and is %v", err, tt.source, tt.is)
				}
				left, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				kept, err := os.ReadFile(path)
				if err != nil || len(left) != 1 || string(kept) != "an earlier recording" {
					t.Errorf("a failed recording left %v, and %q: %v", left, kept, err)
				}
			})
		})
	}
}

// A call that fails for good, if for a transient reason, ends the recording.
func TestRecord_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		server.AddStream("shop")
		server.Fail("DescribeStream", slices.Repeat([]streamtest.Fault{{Code: "ThrottlingException"}}, 100)...)
		_, _, err := record(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Attempts: 5})
		if err == nil || server.Calls("DescribeStream") != 5 {
			t.Errorf("%d tries and %v, want an error after 5", server.Calls("DescribeStream"), err)
		}
	})
}

func TestRecord_Cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		st.Split(st.Shards()[0], 5)
		stop := errors.New("the user stopped it")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Minute)
			cancel(stop)
		}()
		_, _, err := record(ctx, t, shardreader.RecordOptions{API: server, Source: "shop", Idle: time.Hour})
		if !errors.Is(err, stop) {
			t.Errorf("error %v, want the cause of the cancellation", err)
		}
	})
}

func TestRecordFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		st.Put(st.Shards()[0], items(0, 3)...)
		st.Disable()
		path := filepath.Join(t.TempDir(), "stream.jsonl")
		r, err := shardreader.RecordFile(t.Context(), path, shardreader.RecordOptions{API: server, Source: "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"})
		if err != nil || r.Records != 3 {
			t.Fatal(r, err)
		}
		b, err := os.ReadFile(path)
		if err != nil || int64(len(b)) != r.Bytes || bytes.Count(b, []byte("\n")) != 3 {
			t.Errorf("the file holds %q, %v", b, err)
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
