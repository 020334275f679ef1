package fleet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// healthy returns a fleet of two consumers. Shard a is read to its end, and its child c is being read. Shard b is being
// read, and its child d waits for b.
func healthy() fleet.Observation {
	return fleet.Observation{
		Pipeline: "shop", At: now,
		Leases: leases.Snapshot{
			Leases: []leases.Lease{
				{Shard: "shard-a", Stream: arn, Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}, Children: []string{"shard-c"}, Counter: 40, Time: ago(5 * time.Hour)},
				{Shard: "shard-b", Stream: arn, Owner: "task-1-x", Counter: 7, Checkpoint: leases.After("700"), Time: ago(90 * time.Second)},
				{Shard: "shard-c", Stream: arn, Owner: "task-2-y", Counter: 9, Checkpoint: leases.After("900"), Parents: []string{"shard-a"}, Time: ago(10 * time.Minute), Pinned: "task-2"},
			},
			Members: []leases.Member{
				{ID: "task-1-x", Name: "task-1", Heartbeat: 5, LeaseCount: 1, Load: 123456, CallsPerMonth: 1.2e6, Pending: 1200, Behind: map[string]time.Time{"shard-b": ago(time.Minute)}},
				{ID: "task-2-y", Name: "task-2", Heartbeat: 9, LeaseCount: 1},
			},
		},
		Streams: []fleet.Stream{{ARN: arn, Status: shardreader.Enabled, Shards: []shardreader.Shard{
			{ID: "shard-a", First: "100", Last: "500"},
			{ID: "shard-b", First: "200", Last: "800"},
			{ID: "shard-c", Parent: "shard-a", First: "600"},
			{ID: "shard-d", Parent: "shard-b", First: "801"},
		}}},
	}
}

// ill returns the fleet of healthy, with problems.
func ill() fleet.Observation {
	l := healthy()
	l.Flags, l.Source = "-c shop.yaml --live", "--scan"
	l.Silent = map[string]time.Duration{"task-1-x": 7 * time.Second}
	l.Leases.Leases[1].Time = ago(22 * time.Hour)
	l.HeldBack = []state.HeldBack{
		{Consumer: "task-1-x", Total: 1, Worst: []state.HeldBackReason{{Shard: "shard-b", Sink: "dead", Reason: "share", Since: ago(time.Hour)}}},
		{Consumer: "task-2-y", Total: 7, Worst: []state.HeldBackReason{
			{Shard: "shard-c", Sink: "orders", Reason: "backoff", Since: ago(4 * time.Minute), Bytes: 1 << 20},
			{Shard: "shard-c", Reason: "backoff", Since: ago(5 * time.Minute), Bytes: 1 << 20},
		}},
		{Consumer: "task-0-gone", Total: 1, Worst: []state.HeldBackReason{{Shard: "shard-a", Sink: "gone", Reason: "bounds", Since: ago(2 * time.Hour)}}},
	}
	l.Births = []state.Birth{
		{Sink: "live", Target: "table views"}, {Sink: "added", Target: "table views", Stage: state.Waiting},
		{Sink: "new", Target: "table views", Stage: state.Filling, Run: "run1", Floor: ago(time.Hour)},
	}
	l.Leases.Members[1].Stopped = map[string]string{"shard-c": "records behind 900 were lost"}
	l.Streams[0].Shards = append(l.Streams[0].Shards, shardreader.Shard{ID: "shard-e", First: "850"})
	for _, g := range []record.Gap{
		{StreamARN: arn, Shard: "shard-c", After: "900", Before: "950", From: ago(30 * time.Hour), To: ago(24 * time.Hour), Found: ago(5 * time.Minute)},
		{StreamARN: arn, Shard: "shard-9", After: "90", From: ago(30 * time.Hour), Found: ago(5 * time.Minute), Whole: true},
		{StreamARN: arn, Shard: "shard-8", Found: ago(4 * time.Minute), UnknownExtent: true},
		{StreamARN: arn, Shard: "shard-7", Before: "95", Found: ago(4 * time.Minute), UnknownExtent: true},
		{StreamARN: arn + "-next", From: ago(time.Hour), To: ago(50 * time.Minute), Found: ago(3 * time.Minute), UnknownExtent: true},
	} {
		l.Gaps = append(l.Gaps, state.NewNotedGap(g, now))
	}
	l.Gaps[1].Repair.Stage = state.GapRepaired
	return l
}

// functions returns a pipeline that Lambda invokes, with problems: a disabled mapping, a mapping whose batch failed,
// old records, and a table that no mapping reads.
func functions() fleet.Observation {
	newest, age, most := ago(time.Hour), 75_600.0, 0.4
	return fleet.Observation{
		Pipeline: "shop", At: now, Unconfigured: "shop.yaml", Flags: "-c shop.yaml --live", Tables: []string{"shop", "stock"},
		Functions: []fleet.Function{
			{Name: "shop-pipeline", IteratorAge: &age, Mappings: []fleet.Mapping{
				{ID: "5e1", Source: arn, State: "Enabled", Result: "PROBLEM: Function call failed", Failed: &fleet.FailureBucket{Bucket: "failed", Batches: 1204, Newest: &newest}},
				{ID: "5e2", Source: arn, State: "Disabled", Why: "User action", Failed: &fleet.FailureBucket{Bucket: "failed"}},
				{ID: "5e3", Source: arn, State: "Updating", Failed: &fleet.FailureBucket{Bucket: "gone", Unknown: "denied"}},
			}},
			{Name: "new", IteratorAge: &most},
		},
	}
}

func TestReport_Text(t *testing.T) {
	unlisted := healthy()
	unlisted.Streams[0] = fleet.Stream{ARN: arn, Err: errors.New("access denied")}
	unlisted.Leases.Members = nil
	for name, obs := range map[string]fleet.Observation{
		"healthy": healthy(), "ill": ill(), "unlisted": unlisted, "nothing": {Pipeline: "shop", At: now},
		"function":  {Pipeline: "shop", At: now, Unconfigured: "shop.yaml", Gaps: ill().Gaps},
		"functions": functions(),
		"unbegun":   {Pipeline: "shop", At: now, Flags: "-c shop.yaml --live", NoTable: "shop-leases", Gaps: ill().Gaps},
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			r := obs.Report()
			r.Write(&text, name == "healthy")
			golden(t, name+".txt", text.Bytes())
			j, err := json.MarshalIndent(r, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", append(j, '\n'))
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Each fault is reported as a problem of its kind.
func TestReport_Problems(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*fleet.Observation)
		want   string
	}{
		"nothing is wrong":     {func(*fleet.Observation) {}, ""},
		"a consumer is silent": {func(l *fleet.Observation) { l.Silent = map[string]time.Duration{"task-2-y": time.Minute} }, "silent_member task-2-y, no_owner shard-c"},
		"a consumer died long ago": {func(l *fleet.Observation) {
			l.Leases.Members = append(l.Leases.Members, leases.Member{ID: "old"})
			l.Silent = map[string]time.Duration{"old": time.Minute}
		}, ""},
		"a lease is free":                 {func(l *fleet.Observation) { l.Leases.Leases[2].Owner = "" }, "no_owner shard-c"},
		"an owner is another application": {func(l *fleet.Observation) { l.Leases.Leases[2].Owner = "kcl" }, "no_owner shard-c"},
		"a free lease is about to lose":   {func(l *fleet.Observation) { l.Leases.Leases[2].Owner, l.Leases.Leases[2].Time = "", ago(23*time.Hour) }, "loss_near shard-c, no_owner shard-c"},
		"an idle shard loses nothing":     {func(l *fleet.Observation) { l.Leases.Leases[2].Time = ago(100 * time.Hour) }, ""},
		"a shard is far behind":           {func(l *fleet.Observation) { l.Leases.Members[0].Behind["shard-b"] = ago(21 * time.Hour) }, "loss_near shard-b"},
		"a shard lost records, it seems":  {func(l *fleet.Observation) { l.Leases.Members[0].Behind["shard-b"] = ago(25 * time.Hour) }, "loss_near shard-b"},
		"what is read is not written": {func(l *fleet.Observation) {
			l.Leases.Members[1].Pending, l.Leases.Leases[2].Time = 7, ago(21*time.Hour)
		}, "loss_near shard-c"},
		"a shard is stopped": {func(l *fleet.Observation) { l.Leases.Members[0].Stopped = map[string]string{"shard-b": "a gap"} }, "stopped_shard shard-b"},
		"a shard is stopped, and its consumer is gone": {func(l *fleet.Observation) {
			l.Leases.Members = nil
			l.Leases.Leases[1].Stopped, l.Leases.Leases[1].Owner = coordinator.StoppedAtGap, ""
		}, "stopped_shard shard-b, no_consumers shop"},
		"all that is left is stopped": {func(l *fleet.Observation) {
			l.Leases.Members = nil
			l.Leases.Leases[1].Stopped, l.Leases.Leases[2].Checkpoint = coordinator.StoppedAtGap, leases.Checkpoint{Kind: leases.ShardEnd}
		}, "stopped_shard shard-b"},
		"a silent consumer had stopped a shard that another one reads": {func(l *fleet.Observation) {
			l.Leases.Members = append(l.Leases.Members, leases.Member{ID: "old", Stopped: map[string]string{"shard-b": "a gap"}})
			l.Silent = map[string]time.Duration{"old": time.Minute}
		}, ""},
		"a gap was passed": {func(l *fleet.Observation) { l.Leases.Leases[1].Stopped = coordinator.PassedGap }, ""},
		"a child starts below its parent's": {func(l *fleet.Observation) {
			l.Streams[0].Shards[3] = shardreader.Shard{ID: "shard-d", Parent: "shard-a", First: "450"}
		}, "stopped_shard shard-d"},
		"a shard has no lease":       {func(l *fleet.Observation) { l.Streams[0].Shards[3].Parent = "" }, "no_owner shard-d"},
		"no consumer is there":       {func(l *fleet.Observation) { l.Leases.Members = nil }, "no_consumers shop"},
		"the stream is not listed":   {func(l *fleet.Observation) { l.Streams[0] = fleet.Stream{ARN: arn, Err: errors.New("denied")} }, "not_listed " + arn},
		"a child was begun too soon": {func(l *fleet.Observation) { l.Leases.Leases[0].Checkpoint = leases.After("400") }, "lineage_breach shard-a, no_owner shard-a"},
		"a free lease is at the last": {func(l *fleet.Observation) {
			l.Leases.Leases[1] = leases.Lease{Shard: "shard-b", Checkpoint: leases.After("800"), Time: ago(23 * time.Hour)}
		}, "no_owner shard-b"},
		"the parent's lease is deleted": {func(l *fleet.Observation) { l.Leases.Leases = l.Leases.Leases[1:] }, ""},
		"the parent is listed no more":  {func(l *fleet.Observation) { l.Streams[0].Shards = l.Streams[0].Shards[1:] }, ""},
		"shards stand in a circle":      {func(l *fleet.Observation) { l.Streams[0].Shards[0].Parent = "shard-c" }, "lineage_breach shard-c"},
		"a lease is damaged": {func(l *fleet.Observation) {
			l.Leases.Leases = slices.Delete(l.Leases.Leases, 1, 2)
			l.Leases.DamagedLeases = []leases.DamagedLease{{Shard: "shard-b", Reason: "the row shard-b: leaseCounter is not a number"}}
		}, "broken_lease shard-b"},
		"a lease that is not listed is damaged": {func(l *fleet.Observation) {
			l.Leases.DamagedLeases = []leases.DamagedLease{{Shard: "shard-x", Reason: "the row shard-x: checkpoint is not a string"}}
		}, "broken_lease shard-x"},
		"what begins a stream is damaged": {func(l *fleet.Observation) {
			l.Leases.DamagedLeases = []leases.DamagedLease{{Shard: "begun#x", Reason: "its key"}}
		}, "broken_lease begun#x"},
		"urgent is what the caller thinks": {func(l *fleet.Observation) { l.Urgent = 24 * time.Hour }, "loss_near shard-b"},
	} {
		t.Run(name, func(t *testing.T) {
			obs := healthy()
			tt.change(&obs)
			r := obs.Report()
			var got []string
			for _, p := range r.Problems {
				got = append(got, string(p.Kind)+" "+p.Subject)
			}
			if is := strings.Join(got, ", "); is != tt.want || r.Healthy != (tt.want == "") {
				t.Errorf("problems %q, want %q; healthy %v", is, tt.want, r.Healthy)
			}
		})
	}
}

// A shard whose lease is damaged is stopped, and its children wait. It is not reported as a shard without a lease.
func TestReport_BrokenLease(t *testing.T) {
	obs := healthy()
	obs.Leases.Leases = slices.Delete(obs.Leases.Leases, 1, 2)
	obs.Leases.DamagedLeases = []leases.DamagedLease{{Shard: "shard-b", Reason: "the row shard-b: leaseCounter is not a number"}}
	states := map[string]string{}
	for _, s := range obs.Report().Shards {
		states[s.ID] = strings.TrimSpace(string(s.State) + " " + s.StopReason)
	}
	want := map[string]string{"shard-a": "done", "shard-b": "stopped its lease cannot be read", "shard-c": "reading", "shard-d": "waiting for the end of shard-b"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The hint of a sink that waits has the flags that a backfill needs. If a function reads the stream, they name the
// function.
func TestReport_WaitingSink(t *testing.T) {
	births := []state.Birth{{Sink: "added", Target: "table views", Stage: state.Waiting}}
	for want, obs := range map[string]fleet.Observation{
		"-c shop.yaml --live --sink added --scan":                            {Flags: "-c shop.yaml --live", Source: "--scan"},
		"-c shop.yaml --live --sink added --scan --function NAME --lag TIME": {Flags: "-c shop.yaml --live", Source: "--scan --function NAME --lag TIME"},
		"-c shop.yaml --local out --sink added --archive PATH":               {Flags: "-c shop.yaml --local out", Source: "--archive PATH"},
	} {
		obs.Pipeline, obs.At, obs.Births = "shop", now, births
		i := slices.IndexFunc(obs.Report().Problems, func(p fleet.Problem) bool { return p.Kind == fleet.WaitingSink })
		if got := obs.Report().Problems[i].Hint; got != "`tablewake backfill "+want+"` fills it" {
			t.Errorf("the hint is %s, want %s", got, want)
		}
	}
}

// A sink that was left out is a problem. The problem names the command that repairs the sink.
func TestReport_LeftOut(t *testing.T) {
	obs := fleet.Observation{Pipeline: "shop", Flags: "-c shop.yaml --live", At: now, LeftOut: []state.Birth{{Sink: "by_status", Target: "table views", LeftOut: now}}}
	i := slices.IndexFunc(obs.Report().Problems, func(p fleet.Problem) bool { return p.Kind == fleet.NotRepaired })
	if i < 0 {
		t.Fatalf("problems: %+v", obs.Report().Problems)
	}
	if p := obs.Report().Problems[i]; p.Subject != "by_status" || !strings.Contains(p.Hint, "`tablewake gaps -c shop.yaml --live --repair --audit`") {
		t.Errorf("the problem is %+v", p)
	}
}

// Each shard is listed after its parents, whatever the order in which they are observed.
func TestReport_ParentsFirst(t *testing.T) {
	obs := healthy()
	slices.Reverse(obs.Streams[0].Shards)
	slices.Reverse(obs.Leases.Leases)
	seen := map[string]bool{}
	shards := obs.Report().Shards
	for _, s := range shards {
		for _, p := range s.Parents {
			if !seen[p] {
				t.Errorf("%s stands before its parent %s", s.ID, p)
			}
		}
		seen[s.ID] = true
	}
	if len(shards) != 4 {
		t.Errorf("%d shards, want 4", len(shards))
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 850 * time.Millisecond: "850ms", 12 * time.Second: "12s", 250 * time.Second: "4m10s",
		3*time.Hour + 5*time.Minute: "3h5m", 52 * time.Hour: "2d4h",
	} {
		if got := fleet.FormatAge(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// The number of records that a shard is behind is reported only if it is known.
func TestReport_RecordsBehind(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*leases.Member)
		want   string
	}{
		"all is durable":             {func(*leases.Member) {}, "0"},
		"some is not written":        {func(m *leases.Member) { m.Pending = 7 }, "7"},
		"some is not, of any shard":  {func(m *leases.Member) { m.Pending, m.LeaseCount = 7, 2 }, "unknown"},
		"some is not even read":      {func(m *leases.Member) { m.Behind = map[string]time.Time{"shard-c": ago(time.Minute)} }, "unknown"},
		"all of many shards is done": {func(m *leases.Member) { m.LeaseCount = 9 }, "0"},
	} {
		obs := healthy()
		tt.change(&obs.Leases.Members[1])
		for _, s := range obs.Report().Shards {
			got := "unknown"
			if s.Records != nil {
				got = fmt.Sprint(*s.Records)
			}
			if s.ID == "shard-c" && got != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		}
	}
}
