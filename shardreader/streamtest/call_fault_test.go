package streamtest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 9: each of the usual faults is what the reader's contract calls it, for
// every operation, whichever way the server is called. None ends a shard.
func TestFact9_Faults(t *testing.T) {
	kinds := map[string]error{"expired": shardreader.ErrExpiredIterator, "trimmed": shardreader.ErrTrimmed, "lost": shardreader.ErrNotFound, "denied": shardreader.ErrDenied}
	fine := map[string]bool{"trailing": true} // the SDK takes it, but for GetRecords, for an answer
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	shard := st.Shards()[0]
	st.Put(shard, put("a"))
	listening := httptest.NewServer(server)
	defer listening.Close()
	it, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.TrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	faults := streamtest.Faults()
	delete(faults, "slow")
	for way, api := range map[string]shardreader.API{
		"API":               server,
		"http.RoundTripper": through(server, ""),
		"http.Handler":      through(listening.Client().Transport, listening.URL),
	} {
		calls := map[string]func() (record.GetRecordsPage, error){
			"ListStreams": func() (record.GetRecordsPage, error) {
				_, err := api.ListStreams(t.Context(), "shop", "")
				return record.GetRecordsPage{}, err
			},
			"DescribeStream": func() (record.GetRecordsPage, error) {
				_, err := api.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: st.ARN()})
				return record.GetRecordsPage{}, err
			},
			"GetShardIterator": func() (record.GetRecordsPage, error) {
				_, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.Latest})
				return record.GetRecordsPage{}, err
			},
			"GetRecords": func() (record.GetRecordsPage, error) {
				return api.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it, StreamARN: st.ARN(), Shard: shard})
			},
		}
		for op, call := range calls {
			for name, f := range faults {
				server.Fail(op, f)
				a, err := call()
				subject := fmt.Sprintf("%s, %s, %s", way, op, name)
				if fine[name] && op != "GetRecords" && way != "API" {
					continue
				}
				if e, ok := errors.AsType[*shardreader.Error](err); !ok || e.Op != op || a.Ended || a.NextIterator != "" {
					t.Errorf("%s: %+v, %v", subject, a, err)
					continue
				}
				if _, again := pipeline.Retryable(err); again != (kinds[name] == nil) {
					t.Errorf("%s: transient is %v (%v)", subject, again, err)
				}
				for k, kind := range kinds {
					if errors.Is(err, kind) != (k == name) {
						t.Errorf("%s: %v", subject, err)
					}
				}
				if _, err := call(); err != nil {
					t.Errorf("%s: the next call: %v", subject, err)
				}
			}
		}
	}
}

func TestServer_SlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		for way, api := range map[string]shardreader.API{"API": server, "http.RoundTripper": through(server, "")} {
			it, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.Latest})
			if err != nil {
				t.Fatal(err)
			}
			q := shardreader.RecordsQuery{Iterator: it, StreamARN: st.ARN(), Shard: shard}
			server.Fail("GetRecords", streamtest.Fault{Delay: time.Minute}, streamtest.Fault{Delay: time.Minute, Code: "ThrottlingException"})
			// Its answer is true at the time of the call.
			start := time.Now()
			go func() {
				time.Sleep(time.Second)
				st.Put(shard, put("late"))
			}()
			a, err := api.GetRecords(t.Context(), q)
			if took := time.Since(start); err != nil || took != time.Minute || len(a.Page.Changes) != 0 {
				t.Errorf("%s: %s later: %+v, %v", way, took, a, err)
			}
			if _, err = api.GetRecords(t.Context(), q); err == nil || time.Since(start) != 2*time.Minute {
				t.Errorf("%s: %s later: %v", way, time.Since(start), err)
			}
			// Nobody waits longer than they want to.
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			server.Fail("GetRecords", streamtest.Fault{Delay: time.Minute})
			if _, err = api.GetRecords(ctx, q); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Minute+time.Second {
				t.Errorf("%s: %s later: %v", way, time.Since(start), err)
			}
			calls := server.Calls("GetRecords")
			if _, err = api.GetRecords(ctx, q); !errors.Is(err, context.DeadlineExceeded) || server.Calls("GetRecords") != calls {
				t.Errorf("%s: a call that is given up before it starts: %v", way, err)
			}
			cancel()
		}
	})
}

func TestServer_FailWhen(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	shard := st.Shards()[0]
	it, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.Latest})
	if err != nil {
		t.Fatal(err)
	}
	var seen []streamtest.Call
	server.FailWhen(func(c streamtest.Call) streamtest.Fault {
		c.Time = time.Time{}
		seen = append(seen, c)
		if c.N%2 == 0 {
			return streamtest.Fault{Code: "InternalServerError"}
		}
		return streamtest.Fault{}
	})
	for n := range 4 {
		if _, err := server.As("one").GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it}); (err != nil) != (n%2 == 1) {
			t.Errorf("call %d: %v", n+1, err)
		}
	}
	if _, err := through(server, "").DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: st.ARN()}); err != nil {
		t.Error(err)
	}
	server.FailWhen(nil)
	if _, err := server.ListStreams(t.Context(), "", ""); err != nil {
		t.Error(err)
	}
	var want []streamtest.Call
	for n := range 4 {
		want = append(want, streamtest.Call{Op: "GetRecords", N: n + 1, Reader: "one", Stream: st.ARN(), Shard: shard})
	}
	want = append(want, streamtest.Call{Op: "DescribeStream", N: 1, Stream: st.ARN()})
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// The same seed hits the same calls, in any order of operations.
func TestSometimes(t *testing.T) {
	faults := []streamtest.Fault{{Code: "A"}, {Code: "B"}}
	hit := func(seed uint64, probability float64, ops ...string) map[string]string {
		choose, n, got := streamtest.Sometimes(seed, probability, faults...), map[string]int{}, map[string]string{}
		for _, op := range ops {
			n[op]++
			if f := choose(streamtest.Call{Op: op, N: n[op]}); f.Code != "" {
				got[fmt.Sprint(op, n[op])] = f.Code
			}
		}
		return got
	}
	describes, gets := slices.Repeat([]string{"DescribeStream"}, 500), slices.Repeat([]string{"GetRecords"}, 500)
	a := hit(1, 0.3, slices.Concat(describes, gets)...)
	if b := hit(1, 0.3, slices.Concat(gets, describes)...); !maps.Equal(a, b) {
		t.Error("the order of operations changes which calls go wrong")
	}
	if b := hit(2, 0.3, slices.Concat(gets, describes)...); maps.Equal(a, b) {
		t.Error("another seed hits the same calls")
	}
	codes := map[string]int{}
	for _, code := range a {
		codes[code]++
	}
	if codes["A"] < 100 || codes["B"] < 100 || len(a) > 400 {
		t.Errorf("of 1000 calls go wrong %v", codes)
	}
	if len(hit(1, 0, gets...)) != 0 || len(hit(1, 1, gets...)) != 500 {
		t.Error("never is not never, or always not always")
	}
	if f := streamtest.Sometimes(1, 1)(streamtest.Call{Op: "GetRecords", N: 1}); f.Code != "" {
		t.Errorf("without faults there is %+v", f)
	}
}
