package streamtest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 7: DescribeStream, 10 calls a second.
func TestFact7_DescribeStreamQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{DescribePerSecond: 10})
		st := server.AddStream("shop")
		describe := func() error {
			_, err := server.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: st.ARN()})
			return err
		}
		for range 30 { // ten a second is the maximum
			if err := describe(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if server.Calls("DescribeStream") != 30 || server.Peak("DescribeStream") != 10 {
			t.Errorf("%d calls, %d a second", server.Calls("DescribeStream"), server.Peak("DescribeStream"))
		}
		time.Sleep(time.Second)
		refused := 0
		for range 12 {
			if err := describe(); err != nil {
				if _, again := pipeline.Retryable(err); !again || !strings.Contains(err.Error(), "LimitExceededException") {
					t.Error(err)
				}
				refused++
			}
		}
		if refused != 2 || server.Peak("DescribeStream") != 12 || server.Peak("ListStreams") != 0 {
			t.Errorf("%d refused, %d a second", refused, server.Peak("DescribeStream"))
		}
	})
}

// Fact 8: at most 2 readers a shard.
func TestFact8_ReadersOfAShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{ShardReaders: 2})
		st := server.Enable("shop", streamtest.StreamOptions{Shards: 2})
		read := func(name string, shard int) error {
			api := server.As(name)
			id := st.Shards()[shard]
			it, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: id, Type: shardreader.Latest})
			if err != nil {
				t.Fatal(err)
			}
			_, err = api.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it})
			return err
		}
		for _, step := range []struct {
			name    string
			shard   int
			wait    time.Duration
			refused bool
		}{
			{"a", 0, 0, false},
			{"b", 0, 0, false},
			{"a", 0, 0, false},
			{"c", 1, 0, false},
			{"", 0, 0, false}, // who does not say is not counted
			{"c", 0, 0, true},
			{"c", 0, time.Second, false},
		} {
			time.Sleep(step.wait)
			if err := read(step.name, step.shard); (err != nil) != step.refused {
				t.Errorf("%+v: %v", step, err)
			}
		}
		if n, shard := server.MostReaders(); n != 3 || shard != st.Shards()[0] {
			t.Errorf("%d readers of shard %s", n, shard)
		}
	})
}

// Over a socket the access key tells readers apart.
func TestServer_ReadersByAccessKey(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	listening := httptest.NewServer(server)
	defer listening.Close()
	read := func(key string, rt http.RoundTripper) {
		api := sdk.New(dynamodbstreams.New(dynamodbstreams.Options{
			Region:       "eu-central-1",
			Credentials:  credentials.NewStaticCredentialsProvider(key, "secret", ""),
			HTTPClient:   &http.Client{Transport: rt},
			BaseEndpoint: aws.String(listening.URL),
		}), record.DecoderOptions{})
		if _, err := readShard(t.Context(), api, st.ARN(), st.Shards()[0], true); err != nil {
			t.Error(err)
		}
	}
	read("one", listening.Client().Transport)
	read("two", listening.Client().Transport)
	read("one", server.As("three")) // in process, the name
	if n, _ := server.MostReaders(); n != 3 {
		t.Errorf("%d readers, want 3", n)
	}
}
