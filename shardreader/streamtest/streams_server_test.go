package streamtest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func put(key string) streamtest.Record {
	return streamtest.Record{Keys: `{"PK":{"S":"` + key + `"}}`, New: `{"PK":{"S":"` + key + `"}}`}
}

// through is the server behind the SDK, in process or over a socket.
func through(rt http.RoundTripper, endpoint string) shardreader.API {
	o := dynamodbstreams.Options{
		Region:           "eu-central-1",
		Credentials:      credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:       &http.Client{Transport: rt},
		RetryMaxAttempts: 1,
	}
	if endpoint != "" {
		o.BaseEndpoint = aws.String(endpoint)
	}
	return sdk.New(dynamodbstreams.New(o), record.DecoderOptions{})
}

// walk reads a stream whole: its shards, and of each the sequence numbers, page by page.
func walk(ctx context.Context, t *testing.T, api shardreader.API) (shardreader.StreamDescription, map[string][][]string) {
	t.Helper()
	ref, err := shardreader.FindStream(ctx, api, "shop")
	if err != nil {
		t.Fatal(err)
	}
	desc, err := shardreader.ListShards(ctx, api, ref.ARN)
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string][][]string)
	for _, sh := range desc.Shards {
		it, err := api.GetShardIterator(ctx, shardreader.ShardPosition{StreamARN: ref.ARN, Shard: sh.ID, Type: shardreader.TrimHorizon})
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; it != "" && n < 10; n++ {
			a, err := api.GetRecords(ctx, shardreader.RecordsQuery{Iterator: it, StreamARN: ref.ARN, Shard: sh.ID})
			if err != nil {
				t.Fatal(err)
			}
			page := []string{}
			for _, c := range a.Page.Changes {
				page = append(page, c.Sequence)
			}
			pages[sh.ID] = append(pages[sh.ID], page)
			it = a.NextIterator
		}
	}
	return desc, pages
}

// A server is the same whichever way it is called.
func TestServer_ThreeWays(t *testing.T) {
	server := streamtest.New(streamtest.Options{PageRecords: 2, PageShards: 1, EmptyPages: 1})
	st := server.AddStream("shop")
	root := st.Shards()[0]
	st.Put(root, put("a"), put("b"), put("c"))
	st.Put(st.Split(root, 2)[1], put("d"))
	st.Disable()
	wantDesc, want := walk(t.Context(), t, server)
	if len(want[root]) != 4 || len(wantDesc.Shards) != 3 || wantDesc.Status != shardreader.Disabled {
		t.Fatalf("pages %v of %+v", want, wantDesc)
	}
	listening := httptest.NewServer(server)
	defer listening.Close()
	for name, api := range map[string]shardreader.API{
		"http.RoundTripper": through(server, ""),
		"http.Handler":      through(listening.Client().Transport, listening.URL),
	} {
		desc, got := walk(t.Context(), t, api)
		if diff := cmp.Diff(wantDesc, desc); diff != "" {
			t.Errorf("%s: description (-API +it):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: pages (-API +it):\n%s", name, diff)
		}
	}
}

// A fault looks the same whichever way the server is called, and hits one call.
func TestServer_FaultsThreeWays(t *testing.T) {
	faults := []streamtest.Fault{
		{Code: "ExpiredIteratorException"},
		{Code: "TrimmedDataAccessException"},
		{Code: "ResourceNotFoundException"},
		{Code: "AccessDeniedException"},
		{Code: "ThrottlingException"},
		{Code: "InternalServerError"},
		{Code: "ValidationException"},
		{Err: streamtest.ErrReset},
		{Cut: streamtest.ErrReset},
		{Body: func(b []byte) []byte { return b[:len(b)/2] }},
		{Body: func([]byte) []byte { return nil }},
	}
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	st.Put(st.Shards()[0], put("a"))
	listening := httptest.NewServer(server)
	defer listening.Close()
	for name, api := range map[string]shardreader.API{
		"API":               server,
		"http.RoundTripper": through(server, ""),
		"http.Handler":      through(listening.Client().Transport, listening.URL),
	} {
		it, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: st.Shards()[0], Type: shardreader.TrimHorizon})
		if err != nil {
			t.Fatal(err)
		}
		q := shardreader.RecordsQuery{Iterator: it, StreamARN: st.ARN(), Shard: st.Shards()[0]}
		for i, f := range faults {
			server.Fail("GetRecords", f)
			a, err := api.GetRecords(t.Context(), q)
			if e, ok := errors.AsType[*shardreader.Error](err); !ok || a.Ended || a.NextIterator != "" {
				t.Fatalf("%s: fault %d gives %+v, %v", name, i, a, err)
			} else if _, again := pipeline.Retryable(err); again != (i == 4 || i == 5 || i >= 7) {
				t.Errorf("%s: fault %d is transient: %v (%v)", name, i, again, e)
			}
			for k, kind := range []error{shardreader.ErrExpiredIterator, shardreader.ErrTrimmed, shardreader.ErrNotFound, shardreader.ErrDenied} {
				if errors.Is(err, kind) != (k == i) {
					t.Errorf("%s: fault %d is %v", name, i, err)
				}
			}
			if a, err := api.GetRecords(t.Context(), q); err != nil || len(a.Page.Changes) != 1 {
				t.Errorf("%s: behind fault %d: %+v, %v", name, i, a, err)
			}
		}
	}
}

// Fact 8: iterators live 15 minutes.
func TestFact8_IteratorsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		it, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.Latest})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			wait    time.Duration
			expired bool
		}{{0, false}, {15 * time.Minute, false}, {time.Second, true}} {
			time.Sleep(step.wait)
			if _, err := server.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it}); errors.Is(err, shardreader.ErrExpiredIterator) != step.expired {
				t.Errorf("%s later: %v", step.wait, err)
			}
		}
	})
}

// Answers share the memory of a decoder: one for each would stay until the second collection after it.
func TestServer_AllocsOfAPage(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	q := shardreader.RecordsQuery{StreamARN: st.ARN(), Shard: st.Shards()[0]}
	it, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: q.StreamARN, Shard: q.Shard, Type: shardreader.TrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	q.Iterator = it
	if n := testing.AllocsPerRun(200, func() {
		if _, err := server.GetRecords(t.Context(), q); err != nil {
			t.Error(err)
		}
	}); n > 14 {
		t.Errorf("an empty page takes %v allocations", n)
	}
}
