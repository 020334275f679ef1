package shardreader_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// tail follows a stream in the background. stop ends it, and returns the sequence numbers and the error.
func tail(t *testing.T, server *streamtest.Server, o shardreader.TailOptions) (stop func() ([]string, error)) {
	t.Helper()
	o.API = server
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var got []string
	var err error
	go func() {
		defer close(done)
		got, err = sequencesOf(shardreader.Tail(ctx, o))
	}()
	synctest.Wait()
	return func() ([]string, error) {
		time.Sleep(10 * time.Minute)
		cancel()
		<-done
		return got, err
	}
}

// sequencesOf returns the sequence numbers of the changes, and the error at the end.
func sequencesOf(pages iter.Seq2[*record.Page, error]) (got []string, err error) {
	for page, pageErr := range pages {
		for i := range page.Changes {
			got = append(got, page.Changes[i].Sequence)
		}
		err = pageErr
	}
	return got, err
}

// Fact 8: at most two readers a shard. A tail calls GetRecords of a shard at most once a second, also where shards
// split and calls fail. It begins at the newest record, reads children from their first one, and a disabled stream to
// its end.
func TestFact8_TailReadsAShardOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{PageRecords: 2, EmptyPages: 1, ListDelay: 5 * time.Second})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, items(0, 5)...)
		old := st.Rollover(root)
		st.Put(old, items(5, 3)...)
		time.Sleep(time.Minute)
		last := make(map[string]time.Time)
		server.FailWhen(func(c streamtest.Call) streamtest.Fault {
			if c.Op == "GetRecords" {
				if since := c.Time.Sub(last[c.Shard]); since < time.Second {
					t.Errorf("shard %s is read again after %s", c.Shard, since)
				}
				last[c.Shard] = c.Time
			}
			return streamtest.Sometimes(1, 0.2, streamtest.Faults()["internal"], streamtest.Faults()["cut"])(c)
		})

		started := 0
		stop := tail(t, server, shardreader.TailOptions{
			Stream: st.ARN(), Attempts: 50, Started: func(shards int) { started = shards },
		})
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if started != 1 {
			t.Errorf("it started with %d shards, want 1", started)
		}
		inParent := st.Put(old, items(10, 5)...)
		below := st.Split(old, 2)
		inChild, inOther := st.Put(below[0], items(20, 3)...), st.Put(below[1], items(30, 3)...)
		grandchild := st.Rollover(below[0])
		inGrandchild := st.Put(grandchild, items(40, 3)...)
		time.Sleep(5 * time.Minute)
		inLast := st.Put(grandchild, items(50, 1)...)
		st.Disable()
		got, err := stop()
		if err != nil {
			t.Error(err)
		}
		if len(got) != 15 {
			t.Fatalf("%d records, want 15", len(got))
		}
		if diff := cmp.Diff(inParent, got[:5]); diff != "" {
			t.Errorf("the parent does not come first (-want +got):\n%s", diff)
		}
		inOrder(t, got, append(append(inChild, inGrandchild...), inLast...))
		inOrder(t, got, inOther)
		if len(last) != 4 {
			t.Errorf("%d shards were read, want 4", len(last))
		}
	})
}

// An error that is not retryable ends a tail with it at the first time, as a throttle can.
func TestTail_EndsAtAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		never := func(error) (time.Duration, bool) { return 0, false }
		stop := tail(t, server, shardreader.TailOptions{Stream: st.ARN(), Retryable: never})
		want := st.Put(st.Shards()[0], itemRecord(1))
		time.Sleep(10 * time.Second)
		server.Fail("GetRecords", streamtest.Faults()["throttled"])
		time.Sleep(10 * time.Second)
		calls := server.Calls("GetRecords")
		got, err := stop()
		if _, transient := pipeline.Retryable(err); !transient {
			t.Errorf("it ends with %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records before the error (-want +got):\n%s", diff)
		}
		if after := server.Calls("GetRecords"); after != calls {
			t.Errorf("%d calls after the error", after-calls)
		}
	})
}

// A tail whose process was suspended reads on where it was, whether its shard had records before or not.
func TestTail_ExpiredIterators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{IteratorLife: 500 * time.Millisecond})
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		st.Put(shard, items(0, 3)...)
		time.Sleep(time.Minute + time.Second/2)
		stop := tail(t, server, shardreader.TailOptions{Stream: st.ARN()})
		time.Sleep(time.Minute)
		want := st.Put(shard, items(3, 2)...)
		time.Sleep(time.Minute)
		want = append(want, st.Put(shard, items(5, 2)...)...)
		got, err := stop()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}

// DynamoDB Local refuses a position that was taken while the shard was empty, although nothing was trimmed. Records
// that were dropped after the tail had read others of the shard end it.
func TestTail_Trimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{RefuseBelow: true, StrictTrim: true})
		server.AddStream("other")
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		stop := tail(t, server, shardreader.TailOptions{Stream: st.ARN()})
		want := st.Put(shard, items(0, 2)...)
		time.Sleep(10 * time.Second)
		server.Fail("GetRecords", streamtest.Faults()["trimmed"])
		got, err := stop()
		if !errors.Is(err, shardreader.ErrTrimmed) {
			t.Errorf("it ends with %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}

// A tail that could read no record of a shard for the whole retention of the stream ends. It does not continue at the
// oldest record.
func TestTail_NothingReadForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		stop := tail(t, server, shardreader.TailOptions{Stream: st.ARN(), Attempts: 1 << 30})
		time.Sleep(10 * time.Second)
		server.FailWhen(func(c streamtest.Call) (f streamtest.Fault) {
			if c.Op == "GetRecords" {
				f = streamtest.Faults()["internal"]
			}
			return f
		})
		st.Put(st.Shards()[0], items(0, 2)...)
		time.Sleep(25 * time.Hour)
		server.FailWhen(nil)
		st.Put(st.Shards()[0], items(2, 2)...)
		got, err := stop()
		if !errors.Is(err, shardreader.ErrTrimmed) || len(got) > 0 {
			t.Errorf("it ends with %v after the records %v", err, got)
		}
	})
}

// A caller that breaks off ends the goroutines and the calls of the tail.
func TestTail_BrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		started := func(int) {
			for _, shard := range st.Shards() {
				st.Put(shard, items(0, 2)...)
			}
		}
		o := shardreader.TailOptions{API: server, Stream: st.ARN(), Started: started}
		for range shardreader.Tail(t.Context(), o) {
			break
		}
		calls := server.Calls("GetRecords")
		time.Sleep(time.Minute)
		if after := server.Calls("GetRecords"); after != calls {
			t.Errorf("%d calls after the end", after-calls)
		}
	})
}
