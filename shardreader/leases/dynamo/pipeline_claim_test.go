package dynamo_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// A lease table belongs to one pipeline. Another pipeline that gets it by mistake receives an error, and takes no
// shard.
func TestClaim(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	for range 2 { // every consumer of it does
		if err := w.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	other := w.another(t, dynamo.Options{Pipeline: "stock"})
	err := other.Claim(t.Context())
	if err == nil || !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "leases of the pipeline shop, and this one is stock") {
		t.Errorf("another pipeline: %v", err)
	}
	if s, err := other.Read(t.Context()); err != nil || len(s.Leases)+len(s.Members) != 0 {
		t.Errorf("a claim is read as %+v (%v)", s, err)
	}
	if err := w.Create(t.Context(), leases.Lease{Shard: "s"}); err != nil {
		t.Error(err)
	}
}
