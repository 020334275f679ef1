package shardreader_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

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
					got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop"})
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
		st.Put(child, itemRecord(10))
		// While page 1 is written, records 3 to 6 and the whole child are dropped.
		var once bool
		got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Progress: func(p shardreader.RecordProgress) {
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
		gaps := []record.Gap{{StreamARN: r.Stream.ARN, Shard: root, After: put[1]}, {StreamARN: r.Stream.ARN, Shard: child, Whole: true}}
		if diff := cmp.Diff(gaps, r.Gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
}

// Fact 37: a position that was taken while a shard was empty may be refused as trimmed when its first
// record comes. Nothing of a young shard is lost, and a recording without Idle ends before what was
// written after it began, however much more is written.
func TestFact37_RecordsOfAYoungShard(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			server := streamtest.New(streamtest.Options{RefuseBelow: true, PageRecords: 2})
			st := server.AddStream("shop")
			kids := st.Split(st.Shards()[0], 2)
			var put []string
			written := make(chan struct{})
			go func() {
				defer close(written)
				for i := range 50 {
					time.Sleep(200 * time.Millisecond)
					put = append(put, st.Put(kids[i%2], itemRecord(i))...)
				}
			}()
			got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Idle: idle})
			<-written
			if err != nil || len(r.Gaps) > 0 {
				t.Fatalf("gaps %v, %v", r.Gaps, err)
			}
			if want := map[bool]int{true: 0, false: len(put)}[idle == 0]; len(got) != want {
				t.Errorf("idle %v: %d records, want %d", idle, len(got), want)
			}
		})
	}
}

// The record that a recording ends before may be dropped before it is reached: then
// nothing comes that says where to stop, and empty pages do.
func TestRecord_EndsWhereItsEndWasDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{PageRecords: 2})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		put := st.Put(root, items(0, 4)...)
		seen := map[int64]bool{}
		got, r, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Progress: func(p shardreader.RecordProgress) {
			if seen[p.Records] {
				return
			}
			switch seen[p.Records] = true; p.Records {
			case 2:
				st.Put(root, itemRecord(9)) // the first after the start
			case 4:
				st.Trim(root, 5)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(put, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]record.Gap{{StreamARN: r.Stream.ARN, Shard: root, After: put[3]}}, r.Gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
}

// A record that the decoder refuses is recorded as it came: the reader of the recording interprets it.
func TestRecord_UndecodableRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		st.Put(st.Shards()[0], itemRecord(0), streamtest.Record{Raw: "{\n \"eventName\": \"INSERT\" }"}, itemRecord(1))
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
		got, _, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop"})
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

// A call that fails permanently, even if for a transient reason, ends the recording.
func TestRecord_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		server.AddStream("shop")
		server.Fail("DescribeStream", slices.Repeat([]streamtest.Fault{{Code: "ThrottlingException"}}, 100)...)
		_, _, err := recordAll(t.Context(), t, shardreader.RecordOptions{API: server, Source: "shop", Attempts: 5})
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
		_, _, err := recordAll(ctx, t, shardreader.RecordOptions{API: server, Source: "shop", Idle: time.Hour})
		if !errors.Is(err, stop) {
			t.Errorf("error %v, want the cause of the cancellation", err)
		}
	})
}

// putBeforeRead writes a record after a recording has looked for the first record of after its start, and before it reads on.
type putBeforeRead struct {
	*streamtest.Server
	calls int
	put   func()
}

func (p *putBeforeRead) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	if p.calls++; p.calls == 2 {
		p.put()
	}
	return p.Server.GetRecords(ctx, q)
}

// A recording that has read past the first record of after its start ends, though nothing more is written.
func TestRecord_EndsPastItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		put := st.Put(root, items(0, 4)...)
		api := &putBeforeRead{Server: server, put: func() { put = append(put, st.Put(root, itemRecord(9))...) }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got, _, err := recordAll(ctx, t, shardreader.RecordOptions{API: api, Source: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(put, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}
