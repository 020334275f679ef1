package dynamo_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// at returns a state table for a process whose clock always shows now.
func at(t *testing.T, client dynamo.Client, now time.Time) *dynamo.DB {
	t.Helper()
	db, err := dynamo.New(dynamo.Options{Client: client, Table: table, Pipeline: "p", Retention: 48 * time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// The age of a state table begins when the table is created. A later CreateState does not change it.
func TestMemory(t *testing.T) {
	client := dynamotest.Open(t).Client("", nil)
	born := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	if err := at(t, client, born).CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := at(t, client, born.Add(time.Hour))
	if err := later.CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, err := later.StoreAge(t.Context()); err != nil || !m.Born.Equal(born) || !m.Forgets {
		t.Errorf("it remembers %+v, %v", m, err)
	}
}

// A state table in another format is refused, and the error says what to do. This does not affect other pipelines in
// the same table.
func TestMemory_Format(t *testing.T) {
	client := dynamotest.Open(t).Client("", nil)
	db := at(t, client, time.Now())
	if err := db.CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{"1": "tablewake replay", "2": "tablewake replay", "3": "tablewake replay", "5": "newer tablewake"} {
		item := key("p#memory")
		item["born"], item["format"] = dynamo.N("1"), dynamo.N(format)
		if err := db.Write(t.Context(), dynamo.Action{Put: &types.Put{TableName: aws.String(table), Item: item}}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.StoreAge(t.Context()); err == nil || !pipeline.IsFatal(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("the format %s: %v, want %q in it", format, err, want)
		}
	}
	other, err := dynamo.New(dynamo.Options{Client: client, Table: table, Pipeline: "pq"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.StoreAge(t.Context()); err != nil {
		t.Error("another pipeline of the table:", err)
	}
}

// stamped puts an item. The item can be purged only if goes is true.
func stamped(t *testing.T, db *dynamo.DB, name string, goes bool) {
	t.Helper()
	item := key(name)
	if goes {
		tombstone := db.SetTombstone(state.Target{}, "row", &state.Tombstone{}).Put.Item
		item["written"], item["expires"] = tombstone["written"], tombstone["expires"]
	}
	if err := db.Write(t.Context(), dynamo.Action{Put: &types.Put{TableName: aws.String(table), Item: item}}); err != nil {
		t.Fatal(err)
	}
}

// Items that can be purged contain the time at which they were written. A purge removes the items of its pipeline that
// were written before a given time.
func TestPurge(t *testing.T) {
	client := dynamotest.Open(t).Client("", nil)
	start := time.Now()
	early, late := at(t, client, start), at(t, client, start.Add(time.Hour))
	if err := early.CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	const n = 120 // more than one round of deletions
	for i := range n {
		stamped(t, early, fmt.Sprint("p#early", i), true)
	}
	stamped(t, early, "p#kept", false)
	stamped(t, late, "p#late", true)
	stamped(t, early, "p", true)
	stamped(t, early, "pq#guard", true) // an item of another pipeline
	if got := dynamo.Digits(items(t, early, "p#late")[0], "expires"); got != strconv.FormatInt(start.Add(49*time.Hour).Unix(), 10) {
		t.Errorf("what is written now expires at %s", got)
	}
	if purged, err := late.Purge(t.Context(), start.Add(time.Minute)); err != nil || purged != n {
		t.Errorf("%d are purged, of %d (%v)", purged, n, err)
	}
	if got := items(t, late, "p#early0", "p#kept", "p#late", "p", "pq#guard"); got[0] != nil || slices.ContainsFunc(got[1:], func(i dynamo.Item) bool { return i == nil }) {
		t.Errorf("there are %v", got)
	}
}

// If an item changes between the read and the deletion of a purge, the purge does not remove the item.
func TestPurge_Unchanged(t *testing.T) {
	var faults dynamotest.Faults
	client := dynamotest.Open(t).Client("", &faults)
	start := time.Now()
	early, late := at(t, client, start), at(t, client, start.Add(time.Hour))
	if err := early.CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	stamped(t, early, "p#back", true)
	stamped(t, early, "p#again", true)
	slow, err := dynamo.New(dynamo.Options{Client: client, Table: table, Pipeline: "p", Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	faults.Next("DeleteItem", dynamotest.Meanwhile(func() {
		stamped(t, early, "p#back", false)
		stamped(t, late, "p#again", true)
	}))
	if purged, err := slow.Purge(t.Context(), start.Add(time.Minute)); err != nil || purged != 0 {
		t.Errorf("%d are purged, %v", purged, err)
	}
	if got := items(t, slow, "p#back", "p#again"); got[0] == nil || got[1] == nil {
		t.Errorf("there are %v", got)
	}
}

// DynamoDB deletes items that have expired, and no other items.
func TestTTL(t *testing.T) {
	client := dynamotest.Open(t).Client("", nil)
	longAgo := at(t, client, time.Now().Add(-72*time.Hour))
	if err := longAgo.CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	stamped(t, longAgo, "kept", false)
	stamped(t, longAgo, "gone", true)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for items(t, longAgo, "gone")[0] != nil {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("what has expired is still there")
		}
	}
	if items(t, longAgo, "kept")[0] == nil {
		t.Error("what does not expire is gone")
	}
}
