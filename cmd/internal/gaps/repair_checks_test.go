package gaps_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/gaps"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// A repair waits only for records that are not read yet.
func TestCheckStopped(t *testing.T) {
	const stream = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-02-03T04:05:06.789"
	const before, after = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000", "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-03-01T00:00:00.000"
	lease := func(stream, stopped string) leases.Lease {
		return leases.Lease{Shard: "shardId-1", Stream: stream, Stopped: stopped}
	}
	inShard, between := record.Gap{StreamARN: stream, Shard: "shardId-1", After: "1"}, record.Gap{StreamARN: stream}
	for name, c := range map[string]struct {
		gap  record.Gap
		seen leases.Snapshot
		says string
	}{
		"the shard is read":                  {inShard, leases.Snapshot{Leases: []leases.Lease{lease(stream, "")}}, ""},
		"its reader passed the gap":          {inShard, leases.Snapshot{Leases: []leases.Lease{lease(stream, coordinator.PassedGap)}}, ""},
		"it stopped at the gap":              {inShard, leases.Snapshot{Leases: []leases.Lease{lease(stream, coordinator.StoppedAtGap)}}, "reset -c shop.yaml shardId-1"},
		"a consumer stopped it":              {inShard, leases.Snapshot{Leases: []leases.Lease{lease(stream, "")}, Members: []leases.Member{{Stopped: map[string]string{"shardId-1": "why"}}}}, "why"},
		"the next stream is read":            {between, leases.Snapshot{Leases: []leases.Lease{lease(before, ""), lease(stream, "")}}, ""},
		"the next stream is not read":        {between, leases.Snapshot{Leases: []leases.Lease{lease(before, "")}}, coordinator.StoppedBetweenStreams},
		"the next stream ended, and is gone": {between, leases.Snapshot{Leases: []leases.Lease{lease(after, "")}}, ""},
		"nothing is read":                    {between, leases.Snapshot{}, ""},
	} {
		err := gaps.CheckStopped([]state.NotedGap{{Gap: c.gap}}, c.seen, "-c shop.yaml")
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
