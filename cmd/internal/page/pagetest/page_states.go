// Package pagetest has states of a pipeline for tests and previews of the page.
package pagetest

import (
	"fmt"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// Now is the time at which the states are observed.
var Now = time.Date(2026, 3, 4, 3, 12, 9, 0, time.UTC)

// Flags are the flags of the pipeline's commands.
const Flags = "-c shop.yaml --live"

const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

func ago(d time.Duration) time.Time { return Now.Add(-d) }

func timeAgo(d time.Duration) *time.Time { return new(ago(d)) }

// States returns the states by name.
func States() map[string]page.Status {
	return map[string]page.Status{"well": Well(), "failing": Failing(), "filling": Filling(), "fleet": Fleet(),
		"functions": Functions()}
}

// Options returns the options of a page that shows s.
func Options(s page.Status) page.Options {
	return page.Options{Pipeline: "shop", Flags: Flags, Source: func() page.Status { return s },
		Now: func() time.Time { return Now }}
}

// shardID returns an id in the form of DynamoDB's, which is different for each n.
func shardID(n int) string {
	return fmt.Sprintf("shardId-%020d-%08x", 1767322000000+n*7919, n*2654435761%(1<<32))
}

// observation is a fleet of two consumers that read six shards, as `status` observes it. Two other shards are read to
// their end, and two wait for their parents.
func observation() fleet.Observation {
	obs := fleet.Observation{
		Pipeline: "shop", Flags: Flags, Source: "--scan", At: ago(2 * time.Second),
		Letters: &fleet.Letters{Sinks: map[string]int{}, Keys: map[string]int{}},
		Leases: leases.Snapshot{Members: []leases.Member{
			{ID: "shop-1-7f3a", Name: "shop-1", Heartbeat: 5, LeaseCount: 3, Load: 184211, CallsPerMonth: 1.21e6,
				Behind: map[string]time.Time{}},
			{ID: "shop-2-c09d", Name: "shop-2", Heartbeat: 9, LeaseCount: 3, Load: 171902, CallsPerMonth: 1.18e6,
				Behind: map[string]time.Time{}},
		}},
		Streams: []fleet.Stream{{ARN: arn, Status: shardreader.Enabled}},
	}
	for n := range 10 {
		sh := shardreader.Shard{ID: shardID(n), First: fmt.Sprint(1000 + n*100)}
		l := leases.Lease{Shard: sh.ID, Stream: arn, Counter: int64(40 + n), Time: ago(time.Duration(3+n) * time.Second),
			Checkpoint: leases.After(fmt.Sprint(514_359 * (n + 1)))}
		// The shards 0 and 1 are read to their end, and 2 and 3 are their children. The shards 8 and 9 are children of
		// 4 and 5, and wait for them.
		isEnded, isChildOfEnded, waits := n < 2, n == 2 || n == 3, n >= 8
		if isEnded {
			sh.Last, l.Checkpoint = fmt.Sprint(1050+n*100), leases.Checkpoint{Kind: leases.ShardEnd}
			l.Time = ago(4 * time.Hour)
		} else {
			l.Owner = obs.Leases.Members[n%2].ID
		}
		if isChildOfEnded {
			sh.Parent = shardID(n - 2)
			l.Parents = []string{sh.Parent}
		}
		if waits {
			sh.Parent = shardID(n - 4)
		} else {
			obs.Leases.Leases = append(obs.Leases.Leases, l)
		}
		obs.Streams[0].Shards = append(obs.Streams[0].Shards, sh)
	}
	return obs
}

// consumerReport returns the report that a consumer makes of the observation. Unlike `status`, a consumer does not list
// the stream and does not count dead letters.
func consumerReport(obs fleet.Observation) *fleet.Report {
	obs.Streams, obs.Letters = nil, nil
	r := obs.Report()
	return &r
}

// process is the first consumer, which writes to three sinks.
func process() *fleet.Process {
	p := &fleet.Process{
		Worker: "shop-1-7f3a", Name: "shop-1", Lists: true, Consumers: 2, CallsAMonth: 1.21e6, ReadRate: new(412.4),
		Lag: new(3.2),
		Ledger: pipeline.Ledger{
			Source: pipeline.SourceLedger{Read: 48_211_904, Duplicate: 12,
				Filtered: map[string]int64{"replication": 1204, "func": 31}, Unrouted: 880, Routed: 48_209_777},
			Sinks: map[string]pipeline.SinkLedger{
				"orders": {Routed: 48_209_777, Written: 48_201_033, Superseded: 211, NoEffect: map[string]int64{"same row": 8491},
					Pending: 42},
				"search":  {Routed: 31_004_120, Written: 31_004_001, Coalesced: 101, Pending: 18},
				"history": {Routed: 48_209_777, Written: 48_209_777},
			},
		},
		Sinks: []fleet.ProcessSink{{Sink: "orders", Rate: new(411.8), Pending: 42},
			{Sink: "search", Rate: new(266.0), Pending: 18}, {Sink: "history", Rate: new(412.4)}},
	}
	for _, n := range []int{2, 4, 6} {
		p.Shards = append(p.Shards, fleet.ProcessShard{Shard: shardID(n), Stream: arn, Checkpoint: fmt.Sprint(3000000 + n),
			Pending: int64(n * 5), LastRead: timeAgo(time.Second), LastDone: timeAgo(time.Duration(n) * time.Second)})
	}
	return p
}

func verdict() *health.Verdict {
	return &health.Verdict{Live: true, Ready: true, State: health.Working, Reasons: []string{}, Since: 0.4, Shards: 3,
		Pending: 42, Read: 48_211_904}
}

// Well is a pipeline without problems.
func Well() page.Status {
	return page.Status{Verdict: verdict(), Consumer: process(), Fleet: consumerReport(observation())}
}

// Fleet is the state of `status --serve` for a failing pipeline.
func Fleet() page.Status {
	r := failing().Report()
	return page.Status{Fleet: &r}
}

// failing is a fleet with all kinds of trouble: a failing sink, a stopped shard, an unread shard, a silent consumer,
// dead letters and a gap.
func failing() fleet.Observation {
	obs := observation()
	obs.RepairsGaps = true
	obs.Silent = map[string]time.Duration{"shop-2-c09d": 14 * time.Minute}
	obs.Leases.Members[0].Stopped = map[string]string{shardID(4): "records behind 1400 were lost"}
	obs.Leases.Members[0].Behind = map[string]time.Time{shardID(6): ago(21*time.Hour + 40*time.Minute)}
	obs.Leases.Members[0].Pending = 10_000
	obs.Leases.Leases[6].Time = ago(21*time.Hour + 40*time.Minute)
	obs.HeldBack = []state.HeldBack{{Consumer: "shop-1-7f3a", Total: 24, Worst: []state.HeldBackReason{
		{Shard: shardID(6), Sink: "search", Reason: "backoff", Since: ago(26 * time.Minute), Bytes: 8_388_608},
		{Shard: shardID(2), Sink: "search", Reason: "share", Since: ago(11 * time.Minute), Bytes: 4_194_304},
	}, Sinks: []state.FailingSink{{Sink: "search", Pending: 10_000, Oldest: timeAgo(27 * time.Minute),
		Failing: ago(26 * time.Minute), Error: searchError}}}}
	obs.Letters = &fleet.Letters{Sinks: map[string]int{"orders": 1204, "search": 38}, Keys: map[string]int{"orders": 17},
		Reasons: map[string]int{"write": 1001, "quarantined": 240, "plan": 1}, Oldest: timeAgo(50 * time.Hour)}
	obs.Gaps = []state.NotedGap{{
		Gap: record.Gap{StreamARN: arn, Shard: shardID(4), After: "1400", Before: "1490", From: ago(29 * time.Hour),
			To: ago(26 * time.Hour), Found: ago(2 * time.Hour)},
		Repair: state.GapRepair{Stage: state.GapRepairing, Run: "9f3c", Owner: "shop-1-7f3a", Expires: Now.Add(time.Minute),
			At: ago(20 * time.Second), How: "audit", Done: 1_204_330, Total: 2_400_000,
			Since: ago(20*time.Second + 40*time.Minute), Items: 1_204_330, Differences: 812, Repaired: 640},
	}}
	return obs
}

const searchError = "OpenSearch answers 429 Too Many Requests: the queue of writes is full"

// Failing is the state of a consumer in a failing fleet.
func Failing() page.Status {
	p, v := process(), verdict()
	p.Lag, p.ReadRate = new((27 * time.Minute).Seconds()), new(0.0)
	p.Sinks[1] = fleet.ProcessSink{Sink: "search", Rate: new(0.0), Pending: 10_000, Oldest: timeAgo(27 * time.Minute),
		Failing: timeAgo(26 * time.Minute), Error: searchError}
	p.Shards[1].Stopped, p.Shards[2].Full = "records behind 1400 were lost", true
	search, orders := p.Ledger.Sinks["search"], p.Ledger.Sinks["orders"]
	search.Pending, search.Written = 10_000, search.Written-9_982
	orders.DeadLettered, orders.Quarantined, orders.Written = 1201, 240, orders.Written-1441
	p.Ledger.Sinks["search"], p.Ledger.Sinks["orders"] = search, orders
	p.LastLetter = timeAgo(4 * time.Minute)
	v.Ready, v.State, v.Pending = false, health.Stuck, 10_000
	v.Reasons = []string{"10,000 records are pending, and none was finished for 26m0s: look at what the sink search answers"}
	return page.Status{Verdict: v, Consumer: p, Fleet: consumerReport(failing())}
}

// Filling is a pipeline without problems. A backfill fills one of its sinks. Another sink is filled and is in the next
// stage, settling.
func Filling() page.Status {
	obs := observation()
	obs.Births = []state.Birth{
		{Sink: "orders", Target: "table shop-views"},
		{Sink: "by-customer", Target: "table shop-views", Stage: state.Filling, Run: "b7e1", Floor: ago(42 * time.Minute)},
		{Sink: "search-v2", Target: "index products-2", Stage: state.Settling, Run: "0c44", Floor: ago(3 * time.Hour)},
	}
	obs.Fills = map[string]fleet.BackfillProgress{
		"b7e1": {Backfill: state.Backfill{Run: "b7e1", Start: ago(41 * time.Minute), Parts: 64}, Done: 23, Items: 17_900_412},
		"0c44": {Backfill: state.Backfill{Run: "0c44", Start: ago(3 * time.Hour), Parts: 16}, Done: 16, Items: 50_000_001},
	}
	return page.Status{Verdict: verdict(), Consumer: process(), Fleet: consumerReport(obs)}
}

// Functions is a pipeline in a Lambda function with two event source mappings. One is disabled, and the last batch of
// the other one failed.
func Functions() page.Status {
	failed := &fleet.FailureBucket{Bucket: "shop-failed", Batches: 3, Newest: timeAgo(26 * time.Hour)}
	obs := fleet.Observation{
		Pipeline: "shop", Flags: Flags, Source: "--scan", At: ago(2 * time.Second), Unconfigured: "shop.yaml",
		Tables:  []string{"shop"},
		Letters: &fleet.Letters{Sinks: map[string]int{}, Keys: map[string]int{}},
		Functions: []fleet.Function{{Name: "shop-pipeline", IteratorAge: new(1830.0), Mappings: []fleet.Mapping{
			{ID: "5e1c2a90-71fd-4a5e-9d5e-0a4f2e3a8a10", Source: arn, State: "Enabled", Result: "PROBLEM: Function call failed",
				Failed: failed},
			{ID: "9b02d3c4-0c5f-4a7b-8f0e-6b1de2f3a4b5", Source: arn, State: "Disabled", Why: "User action"},
		}}},
	}
	r := obs.Report()
	return page.Status{Fleet: &r}
}

// Many is a fleet with n shards. Every fiftieth shard has no consumer.
func Many(n int) page.Status {
	obs := observation()
	for i := 10; i < n; i++ {
		owner := obs.Leases.Members[i%2].ID
		if i%50 == 0 {
			owner = ""
		}
		obs.Streams[0].Shards = append(obs.Streams[0].Shards, shardreader.Shard{ID: shardID(i), First: "1"})
		obs.Leases.Leases = append(obs.Leases.Leases,
			leases.Lease{Shard: shardID(i), Stream: arn, Owner: owner, Checkpoint: leases.After(fmt.Sprint(i)),
				Time: ago(time.Duration(i) * time.Second)})
	}
	r := obs.Report()
	p := process()
	for i := 10; i < n; i += 2 {
		p.Shards = append(p.Shards, fleet.ProcessShard{Shard: shardID(i), Stream: arn, Checkpoint: fmt.Sprint(i),
			LastRead: timeAgo(time.Second)})
	}
	return page.Status{Verdict: verdict(), Consumer: p, Fleet: &r}
}
