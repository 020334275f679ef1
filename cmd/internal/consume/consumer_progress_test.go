package consume

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// A consumer shows its rate and its lag. For each sink it shows what was written, what is pending, and what is wrong.
func TestProgress(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ledger := pipeline.Ledger{
		Source: pipeline.SourceLedger{Read: 12345, Undecodable: 2},
		Sinks: map[string]pipeline.SinkLedger{
			"orders":  {Routed: 12000, Written: 11990, Pending: 3, DeadLettered: 4, Quarantined: 3},
			"archive": {Routed: 12000, Written: 1000, Pending: 11000},
			"idle":    {},
		},
	}
	status := coordinator.Status{
		Member:     leases.Member{CallsPerMonth: 1_000_000},
		Partitions: []coordinator.PartitionStatus{{Shard: "a", Behind: true}, {Shard: "b"}, {Shard: "c", StopReason: "a gap"}},
	}
	p := progress{newProcess(status, nil), "shop", now}
	p.Ledger, p.Lag, p.ReadRate = ledger, new(75.0), new(4.26)
	failing := now.Add(-90 * time.Second)
	p.Sinks = []fleet.ProcessSink{{Sink: "orders", Blocked: 1}, {Sink: "archive", Failing: &failing, Error: "transient: it is throttled"}}
	const head = "12,345 records read, 4.3 a second, 11,000 pending, 1m15s behind; 3 shards, 1 with unread records, 1 STOPPED; 2 undecodable"
	const line = head + "; archive: 1,000 written, 11,000 pending, FAILING for 1m30s: transient: it is throttled; idle: 0 written; " +
		"orders: 11,990 written, 3 pending, 7 in dead letters, 1 key blocked; at this rate 1,000,000 GetRecords calls in 30 days, $0.20"
	if got := p.line(); got != line {
		t.Errorf("the line is\n%s\nwant\n%s", got, line)
	}
	want := strings.Join([]string{
		"shop: " + head,
		"  SINK     WRITTEN  PENDING  DEAD LETTERS",
		"  archive  1,000    11,000   0             FAILING for 1m30s: transient: it is throttled",
		"  idle     0        0        0",
		"  orders   11,990   3        7             1 key blocked",
	}, "\n")
	if got := strings.Join(p.block(), "\n"); got != want {
		t.Errorf("the block is\n%s\nwant\n%s", got, want)
	}
}

// The rate covers the last ten seconds, so that an earlier pause does not lower it.
func TestRateMeter(t *testing.T) {
	var m rateMeter
	at := time.Unix(1_800_000_000, 0)
	count := int64(0)
	add := func(seconds int, each int64) (rate float64) {
		for range seconds {
			at, count = at.Add(time.Second), count+each
			rate = m.add(at, count)
		}
		return rate
	}
	if rate := m.add(at, 0); rate != 0 {
		t.Errorf("%v at the start", rate)
	}
	for _, step := range []struct {
		seconds int
		each    int64
		want    float64
	}{{5, 100, 100}, {3600, 0, 0}, {5, 100, 50}, {5, 100, 100}, {10, 20, 20}} {
		if rate := add(step.seconds, step.each); rate != step.want {
			t.Errorf("%v after %d s at %d a second, want %v", rate, step.seconds, step.each, step.want)
		}
	}
	if len(m.samples) > 13 {
		t.Errorf("it keeps %d samples", len(m.samples))
	}
}
