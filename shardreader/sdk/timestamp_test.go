package sdk

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// Fact 36: the InternalFailure of a server that does not know AT_TIMESTAMP is not transient. Other failures are, and
// each is sent once: the caller has another way.
func TestFact36_AtTimestamp(t *testing.T) {
	for _, tt := range []struct {
		kind  shardreader.IteratorType
		code  string
		again bool
		tries int
	}{
		{shardreader.AtTimestamp, "InternalFailure", false, 1},
		{shardreader.AtTimestamp, "InternalServerError", true, 1},
		{shardreader.TrimHorizon, "InternalFailure", true, 3},
	} {
		rt := &answers{give: []answer{failing(500, tt.code), failing(500, tt.code), failing(500, tt.code)}}
		at := shardreader.ShardPosition{StreamARN: streamARN, Shard: "s", Type: tt.kind}
		if tt.kind == shardreader.AtTimestamp {
			at.Time = time.UnixMilli(1791316726480)
		}
		_, err := streams(rt).GetShardIterator(t.Context(), at)
		if _, again := pipeline.Retryable(err); err == nil || again != tt.again || len(rt.requests) != tt.tries {
			t.Errorf("%s, %s: %v, transient %v after %d tries; want %v after %d", tt.kind, tt.code, err, again, len(rt.requests), tt.again, tt.tries)
		}
		if want := `"Timestamp":1791316726.48`; strings.Contains(rt.requests[0], want) != (tt.kind == shardreader.AtTimestamp) {
			t.Errorf("%s: the request is %s", tt.kind, rt.requests[0])
		}
	}
}
