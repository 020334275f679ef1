package streamtest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 36: AT_TIMESTAMP is at the first record created at the time or later. Creation times are whole seconds. A time
// before the oldest record is silently the oldest record, and a time in the future is refused.
func TestFact36_IteratorsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		shard := st.Shards()[0]
		begin := time.Now()
		time.Sleep(10 * time.Second)
		st.Put(shard, put("a"))
		time.Sleep(1700 * time.Millisecond)
		st.Put(shard, put("b")) // at 11.7 s, and created at 11 s
		time.Sleep(time.Minute)
		st.Put(shard, put("c"))
		read := func(at time.Time) string {
			t.Helper()
			for name, api := range map[string]shardreader.API{"itself": server, "the SDK": through(server, "")} {
				it, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.AtTimestamp, Time: at})
				if err != nil {
					t.Fatal(name, err)
				}
				a, err := api.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it, StreamARN: st.ARN(), Shard: shard})
				if err != nil {
					t.Fatal(name, err)
				}
				if name == "itself" {
					return keys(a)
				}
			}
			return ""
		}
		for after, want := range map[time.Duration]string{
			0: "a b c", 10 * time.Second: "a b c", 10*time.Second + time.Millisecond: "b c", 11 * time.Second: "b c",
			11*time.Second + 500*time.Millisecond: "c", 71 * time.Second: "c", 71*time.Second + 600*time.Millisecond: "", -time.Hour: "a b c",
		} {
			if got := read(begin.Add(after)); got != want {
				t.Errorf("from %v after the start: %q, want %q", after, got, want)
			}
		}
		st.Trim(shard, 1)
		if got := read(begin); got != "b c" {
			t.Errorf("from a time that is gone: %q, want the oldest record left", got)
		}
		if _, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.AtTimestamp}); err == nil {
			t.Error("no time is taken for one")
		}
		for name, at := range map[string]shardreader.ShardPosition{
			"a time in the future": {Time: time.Now().Add(time.Second)},
			"a sequence number":    {Time: begin, Sequence: "1"},
		} {
			at.StreamARN, at.Shard, at.Type = st.ARN(), shard, shardreader.AtTimestamp
			for _, api := range []shardreader.API{server, through(server, "")} {
				_, err := api.GetShardIterator(t.Context(), at)
				if _, again := pipeline.Retryable(err); err == nil || again || !strings.Contains(err.Error(), "ValidationException") {
					t.Errorf("%s: %v, want a ValidationException", name, err)
				}
			}
		}
	})
}

// Fact 36: DynamoDB Local does not know AT_TIMESTAMP, and answers with an error of the server. It is not taken for an
// outage, and not sent again.
func TestFact36_ServerWithoutTimestamps(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		putAll(t, s, 0, 1)
		arn, shard := newest(t, s)
		at := shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.AtTimestamp, Time: time.Now().Add(-time.Minute)}
		_, err := s.client().GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: &shard, ShardIteratorType: "AT_TIMESTAMP", Timestamp: &at.Time,
		})
		if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != "InternalFailure" {
			t.Errorf("the server says %v, want InternalFailure", err)
		}
		_, err = api(s).GetShardIterator(t.Context(), at)
		if _, again := pipeline.Retryable(err); err == nil || again || !strings.Contains(err.Error(), "TRIM_HORIZON") {
			t.Errorf("it is %v, want an error that is not transient and says the way on", err)
		}
	})
	server := streamtest.New(streamtest.Options{NoTimestamps: true})
	st := server.AddStream("shop")
	_, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: st.Shards()[0], Type: shardreader.AtTimestamp, Time: time.Now()})
	if _, again := pipeline.Retryable(err); err == nil || again {
		t.Errorf("without the SDK: %v", err)
	}
}
