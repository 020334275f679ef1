package dynamo_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// Fact 28: leaseKey (hash key), leaseOwner, leaseCounter, checkpoint, checkpointSubSequenceNumber,
// ownerSwitchesSinceCheckpoint, parentShardId, childShardIds, pendingCheckpoint, checkpointOwner, throughputKBps,
// startingHashKey, endingHashKey, entityType; multi-stream adds streamName, shardId and its own leaseKey format.
// A table of each version is read, taken over, worked with and handed back, and after each step all of its rows
// can be read by the version that they are from.
func TestFact28_TakenOverAndHandedBack(t *testing.T) {
	server := dynamotest.Open(t)
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			st := &story{T: t, world: restore(t, server, r), format: r.format, before: map[string]map[string]dynamo.Item{}}
			for table, key := range map[string]string{"orders-kcl-CoordinatorState": "key", "orders-kcl-WorkerMetricStats": "wid"} {
				if len(r.tables[table]) > 0 {
					st.before[table] = st.rowsOf(t, table, key)
				}
			}
			st.before["leases"] = st.rowsOf(t, "leases", "leaseKey")
			st.read(r)
			st.take()
			st.checkpoint()
			st.split()
			st.release()
			st.handBack()
		})
	}
}

type story struct {
	*testing.T
	world
	format dynamo.RowFormat
	before map[string]map[string]dynamo.Item // rows as they were, by table and key
}

func (st *story) leases() []leases.Lease {
	st.Helper()
	got, err := st.Read(st.Context())
	if err != nil {
		st.Fatal(err)
	}
	return got.Leases
}

// check holds all rows against KCL's rules, and what is not ours against what it was.
func (st *story) check(step string) {
	st.Helper()
	rows := st.rowsOf(st.T, "leases", "leaseKey")
	for _, row := range leaseRows(rows) {
		parseByKCL(st.T, st.format, row)
	}
	for key, was := range st.before["leases"] {
		if kind := s(was, "entityType"); kind != "" && kind != "LEASE" && !alike(was, rows[key]) {
			st.Errorf("%s: the row %s is no lease, and yet it was changed", step, key)
		}
	}
	for table, key := range map[string]string{"orders-kcl-CoordinatorState": "key", "orders-kcl-WorkerMetricStats": "wid"} {
		for id, was := range st.before[table] {
			if !alike(was, st.rowsOf(st.T, table, key)[id]) {
				st.Errorf("%s: %s was changed", step, table)
			}
		}
	}
}

func (st *story) read(r recorded) {
	st.Helper()
	all := st.leases()
	rows := leaseRows(st.before["leases"])
	if len(all) != len(rows) || st.Format() != r.format {
		st.Fatalf("%d leases of %d rows, of %s, want %s", len(all), len(rows), st.Format(), r.format)
	}
	for _, row := range rows {
		shard := s(row, "leaseKey")
		if st.format.Streams {
			shard = s(row, "shardId")
		}
		i := slices.IndexFunc(all, func(l leases.Lease) bool { return l.Shard == shard })
		if i < 0 {
			st.Fatalf("no lease of %s", shard)
		}
		l := all[i]
		owner := s(row, "leaseOwner")
		if handing := s(row, "checkpointOwner"); handing != "" {
			owner = handing
		}
		throughput, _ := strconv.ParseFloat("0"+n(row, "throughputKBps"), 64)
		if l.Owner != owner || fmt.Sprint(l.Counter) != n(row, "leaseCounter") || l.Checkpoint.String() != s(row, "checkpoint") ||
			!slices.Equal(l.Parents, ss(row, "parentShardId")) || !slices.Equal(l.Children, ss(row, "childShardIds")) ||
			fmt.Sprint(l.Switches) != n(row, "ownerSwitchesSinceCheckpoint") || l.Load != throughput*1024 {
			st.Errorf("the row\n%v is read as\n%+v", row, l)
		}
		if want := arnFromIdentifier(s(row, "streamName")); l.Stream != want {
			st.Errorf("the stream of %s is %q, want %q", l.Shard, l.Stream, want)
		}
	}
	st.check("read")
}

// swap changes all leases.
func (st *story) swap(step string, change func(l *leases.Lease)) {
	st.Helper()
	want := make(map[string]leases.Lease)
	for _, old := range st.leases() {
		next := old.Clone()
		change(&next)
		next.Counter++
		if err := st.Swap(st.Context(), old, next); err != nil {
			st.Fatalf("%s: %v", step, err)
		}
		want[next.Shard] = next
	}
	for _, got := range st.leases() {
		next := want[got.Shard]
		next.Switches = got.Switches
		if !got.Equal(next) {
			st.Errorf("%s: the lease is\n%+v, want\n%+v", step, got, next)
		}
	}
	st.check(step)
}

func (st *story) take() {
	st.Helper()
	st.swap("taken", func(l *leases.Lease) { l.Owner = "tablewake-1" })
	for key, row := range st.rowsOf(st.T, "leases", "leaseKey") {
		if kind := s(row, "entityType"); kind != "" && kind != "LEASE" {
			continue
		}
		was := st.before["leases"][key]
		if s(row, "leaseOwner") != "tablewake-1" || s(row, "checkpointOwner") != "" {
			st.Errorf("%s is owned by %s, handed over by %s", key, s(row, "leaseOwner"), s(row, "checkpointOwner"))
		}
		if s(row, "pendingCheckpoint") != s(was, "pendingCheckpoint") || s(row, "checkpoint") != s(was, "checkpoint") {
			st.Errorf("taking %s changed its checkpoint", key)
		}
	}
}

func (st *story) checkpoint() {
	st.Helper()
	st.swap("checkpointed", func(l *leases.Lease) {
		if !l.Ended() {
			l.Checkpoint, l.Load, l.Time = leases.After("4900000000000000000001"), 2048.5, time.Unix(1795287000, 0).UTC()
		}
	})
	for key, row := range st.rowsOf(st.T, "leases", "leaseKey") {
		if s(row, "checkpoint") != "4900000000000000000001" {
			continue
		}
		if s(row, "pendingCheckpoint") != "" || row["pendingCheckpointState"] != nil || n(row, "ownerSwitchesSinceCheckpoint") != "0" {
			st.Errorf("%s keeps a pending checkpoint, or counts on: %v", key, row)
		}
	}
}

// split ends the first open shard: its children first, then its end.
func (st *story) split() {
	st.Helper()
	open := slices.IndexFunc(st.leases(), func(l leases.Lease) bool { return !l.Ended() })
	if open < 0 {
		return
	}
	parent := st.leases()[open]
	children := []string{"shardId-00000001795299999999-00000001", "shardId-00000001795299999999-00000002"}
	for _, id := range children {
		child := leases.Lease{Shard: id, Stream: parent.Stream, Parents: []string{parent.Shard}, First: "4950000000000000000000"}
		if err := st.Create(st.Context(), child); err != nil {
			st.Fatal(err)
		}
	}
	end := parent.Clone()
	end.Checkpoint, end.Children, end.Counter = leases.Checkpoint{Kind: leases.ShardEnd}, children, parent.Counter+1
	if err := st.Swap(st.Context(), parent, end); err != nil {
		st.Fatal(err)
	}
	st.check("split")
	if st.Format() != st.format {
		st.Errorf("after new leases the table is of %s, and it was of %s", st.Format(), st.format)
	}
	created := 0
	for _, row := range leaseRows(st.rowsOf(st.T, "leases", "leaseKey")) {
		if !slices.Equal(ss(row, "parentShardId"), []string{parent.Shard}) || !strings.Contains(s(row, "leaseKey"), "-0000000") {
			continue
		}
		created++
		if s(row, "checkpoint") != "TRIM_HORIZON" || s(row, "leaseOwner") != "" || (s(row, "entityType") == "LEASE") != (st.format.Version == dynamo.KCL35) {
			st.Errorf("the lease of a child is %v", row)
		}
	}
	if created != len(children) {
		st.Errorf("%d leases of children", created)
	}
}

func (st *story) release() {
	st.Helper()
	st.swap("released", func(l *leases.Lease) { l.Owner = "" })
	for key, row := range st.rowsOf(st.T, "leases", "leaseKey") {
		if row["leaseOwner"] != nil {
			st.Errorf("%s has the owner %s", key, s(row, "leaseOwner"))
		}
	}
}

// handBack has KCL take all leases and move their checkpoints, by its own requests; what tablewake knew
// is fenced off then, and what is read is KCL's.
func (st *story) handBack() {
	st.Helper()
	known := st.leases()
	for _, l := range known {
		key := l.Shard
		if l.Opaque != "" {
			key = l.Opaque
		}
		kclTakes(st.T, st.world, key, l.Counter, "worker-9")
		if !l.Ended() {
			kclCheckpoints(st.T, st.world, key, l.Counter+1, "4990000000000000000009")
		}
	}
	for _, old := range known {
		next := old.Clone()
		next.Owner, next.Counter = "tablewake-1", old.Counter+1
		c, ok := leases.AsConflict(st.Swap(st.Context(), old, next))
		if !ok || c.AlreadyWritten(next) || c.Current.Owner != "worker-9" {
			st.Errorf("a lease that KCL has: %+v", c)
		}
	}
	for _, l := range st.leases() {
		want := map[bool]string{true: "SHARD_END", false: "4990000000000000000009"}[l.Ended()]
		if l.Owner != "worker-9" || l.Checkpoint.String() != want || !l.Ended() && !l.Time.IsZero() {
			st.Errorf("the lease is %+v: its time is that of another checkpoint", l)
		}
	}
	st.check("handed back")
}

// kclTakes is KCL's request to take a lease: conditional on the counter, in the API's old form.
func kclTakes(t *testing.T, w world, key string, counter int64, worker string) {
	t.Helper()
	w.kcl(t, key, counter, map[string]types.AttributeValueUpdate{
		"leaseOwner":                   {Action: types.AttributeActionPut, Value: &types.AttributeValueMemberS{Value: worker}},
		"checkpointOwner":              {Action: types.AttributeActionDelete},
		"ownerSwitchesSinceCheckpoint": {Action: types.AttributeActionAdd, Value: &types.AttributeValueMemberN{Value: "1"}},
	})
}

// kclCheckpoints is its request to move a checkpoint.
func kclCheckpoints(t *testing.T, w world, key string, counter int64, sequence string) {
	t.Helper()
	w.kcl(t, key, counter, map[string]types.AttributeValueUpdate{
		"checkpoint":                         {Action: types.AttributeActionPut, Value: &types.AttributeValueMemberS{Value: sequence}},
		"checkpointSubSequenceNumber":        {Action: types.AttributeActionPut, Value: &types.AttributeValueMemberN{Value: "0"}},
		"ownerSwitchesSinceCheckpoint":       {Action: types.AttributeActionPut, Value: &types.AttributeValueMemberN{Value: "0"}},
		"pendingCheckpoint":                  {Action: types.AttributeActionDelete},
		"pendingCheckpointSubSequenceNumber": {Action: types.AttributeActionDelete},
		"pendingCheckpointState":             {Action: types.AttributeActionDelete},
	})
}

// kcl updates a row on condition of its counter, and raises that.
func (w world) kcl(t *testing.T, key string, counter int64, u map[string]types.AttributeValueUpdate) {
	t.Helper()
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	u["leaseCounter"] = types.AttributeValueUpdate{Action: types.AttributeActionPut, Value: number(counter + 1)}
	_, err := w.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String("leases"), Key: dynamo.Item{"leaseKey": &types.AttributeValueMemberS{Value: key}},
		Expected:         map[string]types.ExpectedAttributeValue{"leaseCounter": {Value: number(counter)}},
		AttributeUpdates: u,
	})
	if err != nil {
		t.Fatalf("KCL cannot take the lease %s: %v", key, err)
	}
}

// arnFromIdentifier is the stream that a streamName stands for, ACCOUNT:REGION$ACCOUNT$TABLE$LABEL:1; "" for none.
func arnFromIdentifier(name string) string {
	parts := strings.Split(strings.TrimSuffix(name, ":1"), "$")
	if len(parts) != 4 {
		return ""
	}
	_, region, _ := strings.Cut(parts[0], ":")
	return "arn:aws:dynamodb:" + region + ":" + parts[1] + ":table/" + parts[2] + "/stream/" + strings.ReplaceAll(parts[3], "_", ":")
}
