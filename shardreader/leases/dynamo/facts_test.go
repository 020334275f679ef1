package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

func text(v string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: v} }
func digits(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

// row is a lease as KCL writes one.
func row(key, owner, counter, checkpoint string) dynamo.Item {
	r := dynamo.Item{
		"leaseKey": text(key), "leaseCounter": digits(counter), "checkpoint": text(checkpoint),
		"checkpointSubSequenceNumber": digits("0"), "ownerSwitchesSinceCheckpoint": digits("0"),
	}
	if owner != "" {
		r["leaseOwner"] = text(owner)
	}
	return r
}

func only(t *testing.T, w world) leases.Lease {
	t.Helper()
	s, err := w.Read(t.Context())
	if err != nil || len(s.Leases) != 1 {
		t.Fatalf("%+v (%v), want one lease", s.Leases, err)
	}
	return s.Leases[0]
}

// Fact 29: from KCL 3.5 one table also holds rows of other entity types; a row without entityType
// is a lease. Skip what isn't a lease, keep attributes that you don't know, put own rows elsewhere.
func TestFact29_OtherRowsAndAttributesStay(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	others := map[string]dynamo.Item{}
	for _, kind := range []string{"STREAM", "LEADER", "CLIENT_VERSION_MIGRATION", "TABLE_MIGRATION", "WORKER_METRIC_STATS", "SOMETHING_NEW"} {
		others[kind] = row(kind, "worker-1", "7", "TRIM_HORIZON") // even a row that looks like a lease
		others[kind]["entityType"] = text(kind)
		w.put(t, "leases", others[kind])
	}
	others["Leader"] = dynamo.Item{"leaseKey": text("Leader"), "ownerName": text("worker-1")} // without a type, and nothing of a lease
	w.put(t, "leases", others["Leader"])
	lease := row("shardId-1", "worker-1", "7", "42")
	lease["futureList"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{text("x"), digits("1")}}
	lease["futureText"] = text("stays")
	w.put(t, "leases", lease)

	old := only(t, w)
	if old.Shard != "shardId-1" || w.Format().Version != dynamo.KCL35 {
		t.Fatalf("%+v of %s", old, w.Format())
	}
	next := old.Clone()
	next.Owner, next.Counter, next.Checkpoint = "tablewake-1", 8, leases.After("43")
	if err := w.Swap(t.Context(), old, next); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		w.Heartbeat(t.Context(), leases.Member{ID: "tablewake-1"}),
		w.Create(t.Context(), leases.Lease{Shard: "shardId-2"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := w.rowsOf(t, "leases", "leaseKey")
	if len(rows) != len(others)+2 {
		t.Errorf("%d rows: something else was written there", len(rows))
	}
	for key, was := range others {
		if !alike(rows[s(was, "leaseKey")], was) {
			t.Errorf("%s was changed to %v", key, rows[key])
		}
	}
	got := rows["shardId-1"]
	if !alike(dynamo.Item{"l": got["futureList"], "t": got["futureText"]}, dynamo.Item{"l": lease["futureList"], "t": lease["futureText"]}) {
		t.Errorf("what is not known of a row did not stay: %v", got)
	}
	if s(got, "entityType") != "" || s(rows["shardId-2"], "entityType") != "LEASE" {
		t.Errorf("the old lease is of type %q, the new one of %q", s(got, "entityType"), s(rows["shardId-2"], "entityType"))
	}
}

// Fact 30: during a handoff the real owner is checkpointOwner. KCL's condition is on leaseCounter; here
// it is on the real owner too.
func TestFact30_HandoffOfKCL(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	lease := row("s", "next", "7", "42")
	lease["checkpointOwner"] = text("real")
	w.put(t, "leases", lease)
	old := only(t, w)
	if old.Owner != "real" {
		t.Fatalf("the owner is %s", old.Owner)
	}
	wrong := old
	wrong.Owner = "next"
	mine := old
	mine.Owner, mine.Counter = "tablewake-1", 8
	for _, from := range []leases.Lease{wrong, {Shard: "s", Counter: 7}} {
		if c, ok := leases.AsConflict(w.Swap(t.Context(), from, mine)); !ok || c.Current.Owner != "real" {
			t.Errorf("taken from %q: %+v", from.Owner, c)
		}
	}
	// A change that is not of the owner leaves the handoff alone.
	wanted := old
	wanted.RequestedBy = "tablewake-1"
	if err := w.Swap(t.Context(), old, wanted); err != nil {
		t.Fatal(err)
	}
	if got := w.rowsOf(t, "leases", "leaseKey")["s"]; s(got, "checkpointOwner") != "real" || s(got, "leaseOwner") != "next" || n(got, "leaseCounter") != "7" {
		t.Errorf("the row is %v", got)
	}
	if err := w.Swap(t.Context(), wanted, mine); err != nil {
		t.Fatal(err)
	}
	if got := w.rowsOf(t, "leases", "leaseKey")["s"]; got["checkpointOwner"] != nil || s(got, "leaseOwner") != "tablewake-1" || n(got, "ownerSwitchesSinceCheckpoint") != "1" {
		t.Errorf("the row is %v", got)
	}

	// Without a next owner, and a row that an old version released with an empty owner.
	for _, test := range []struct{ owner, handing, want string }{{"", "real", "real"}, {"-", "", ""}} {
		lease := row("s", "", "3", "42")
		if test.owner != "" {
			lease["leaseOwner"] = text("")
		}
		if test.handing != "" {
			lease["checkpointOwner"] = text(test.handing)
		}
		w.put(t, "leases", lease)
		old := only(t, w)
		next := old
		next.Owner, next.Counter = "tablewake-1", 4
		if old.Owner != test.want {
			t.Errorf("the owner of %v is %s", lease, old.Owner)
		}
		if err := w.Swap(t.Context(), old, next); err != nil {
			t.Errorf("from %v: %v", lease, err)
		}
	}
}

// Fact 30: take-over is stop-the-world: refuse while any leaseCounter moves. Owners that are not members are reported,
// and which of them renewed a lease.
func TestFact30_WhoIsAtWork(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	for _, r := range []dynamo.Item{row("s1", "kcl-1", "7", "42"), row("s2", "kcl-2", "7", "42"), row("s3", "ours", "7", "42"), row("s4", "", "7", "42")} {
		w.put(t, "leases", r)
	}
	if err := w.Heartbeat(t.Context(), leases.Member{ID: "ours"}); err != nil {
		t.Fatal(err)
	}
	before, err := w.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(before.Foreign(), " "); got != "kcl-1 kcl-2" {
		t.Errorf("foreign: %s", got)
	}
	w.kcl(t, "s2", 7, map[string]types.AttributeValueUpdate{})
	w.kcl(t, "s3", 7, map[string]types.AttributeValueUpdate{})
	after, err := w.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(leases.ActiveForeign(before, after), " "); got != "kcl-2" {
		t.Errorf("moving: %s", got)
	}
	if got := leases.ActiveForeign(after, after); len(got) > 0 {
		t.Errorf("at rest: %v", got)
	}
}

// A row that cannot be read is reported by its key and attribute. It is not skipped: its shard would be begun again
// from the start. The other rows are still read.
func TestDamagedRow(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	w.put(t, "leases", row("other", "worker-1", "7", "42"))
	if err := w.Heartbeat(t.Context(), leases.Member{ID: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	told := func(want string) {
		t.Helper()
		s, err := w.Read(t.Context())
		if err != nil || len(s.Leases) != 1 || s.Leases[0].Shard != "other" || len(s.Members) != 1 {
			t.Fatalf("%s: %+v (%v)", want, s, err)
		}
		if len(s.DamagedLeases) != 1 || s.DamagedLeases[0].Shard != "s" || !strings.Contains(s.DamagedLeases[0].Reason, want) {
			t.Errorf("broken: %+v, want %q", s.DamagedLeases, want)
		}
	}
	for name, v := range map[string]types.AttributeValue{
		"leaseCounter": text("7"), "checkpoint": text("somewhere"), "parentShardId": text("p"), "leaseOwner": digits("1"),
		"throughputKBps": text("fast"), "tw_from": text("yesterday"),
	} {
		r := row("s", "worker-1", "7", "42")
		r[name] = v
		w.put(t, "leases", r)
		told("the row s: " + name)
		if err := w.Create(t.Context(), leases.Lease{Shard: "s"}); err == nil || pipeline.IsFatal(err) {
			t.Errorf("a new lease in place of a damaged one: %v", err)
		}
	}
	r := row("s", "worker-1", "7", "42")
	delete(r, "checkpoint")
	w.put(t, "leases", r)
	told("the row s: checkpoint")
	if err := w.Check(t.Context()); err != nil {
		t.Errorf("nobody starts where one row is damaged: %v", err)
	}
}

// Where the leases are of several streams, a damaged row still tells its shard.
func TestDamagedRow_OfStreams(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	const id = "123456789012:eu-central-1$123456789012$shop$2026-01-02T03_04_05.678:1"
	r := row(id+":shardId-1", "worker-1", "7", "somewhere")
	r["streamName"] = text(id)
	w.put(t, "leases", r)
	if s, err := w.Read(t.Context()); err != nil || len(s.DamagedLeases) != 1 || s.DamagedLeases[0].Shard != "shardId-1" {
		t.Errorf("%+v (%v)", s, err)
	}
}

// A damaged key of a note that a stream was begun is reported, too.
func TestDamagedRow_OfBegunStream(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	if err := w.MarkBegun(t.Context(), "stream-1"); err != nil {
		t.Fatal(err)
	}
	r := w.rowsOf(t, "state", "sk")["begun#stream-1"]
	r["sk"] = text("begun#%zz")
	w.put(t, "state", r)
	s, err := w.Read(t.Context())
	if err != nil || len(s.BegunStreams) != 1 || len(s.DamagedLeases) != 1 || s.DamagedLeases[0].Shard != "begun#%zz" {
		t.Errorf("%+v (%v)", s, err)
	}
}

// KCL leaves the last owner in a lease that has ended. No consumer of that id is at work.
func TestForeign_EndedLeases(t *testing.T) {
	ended := leases.Lease{Shard: "a", Owner: "kcl-1", Counter: 1, Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}}
	s := leases.Snapshot{Leases: []leases.Lease{ended}}
	moved := ended.Clone()
	moved.Counter = 2
	if got := s.Foreign(); len(got) > 0 {
		t.Errorf("foreign: %v", got)
	}
	live := leases.Lease{Shard: "b", Owner: "kcl-1", Counter: 1}
	before, after := leases.Snapshot{Leases: []leases.Lease{ended, live}}, leases.Snapshot{Leases: []leases.Lease{moved, live}}
	if got := leases.ActiveForeign(before, after); len(got) > 0 {
		t.Errorf("moving: %v", got)
	}
}
