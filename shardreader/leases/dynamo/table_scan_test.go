package dynamo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// A large table is read whole, over several pages and, once it is known to be large, in segments.
func TestRead_Large(t *testing.T) {
	faults := &dynamotest.Faults{}
	w := open(t, dynamotest.Open(t), faults)
	const rows = 2100
	for first := 0; first < rows; first += 100 {
		in := new(dynamodb.TransactWriteItemsInput)
		for i := first; i < first+100; i++ {
			r := row(fmt.Sprintf("shard-%05d", i), "w", "1", "42")
			r["tw_pinned"] = text(strings.Repeat("x", 700)) // so that it is more than a page
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: aws.String("leases"), Item: r}})
		}
		if _, err := w.client.TransactWriteItems(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	for round, most := range []int{3, 4} { // two pages in a row, then two segments
		before := faults.Calls("Scan")
		s, err := w.Read(t.Context())
		if err != nil || len(s.Leases) != rows {
			t.Fatalf("%d leases (%v)", len(s.Leases), err)
		}
		for i, l := range s.Leases {
			if l.Shard != fmt.Sprintf("shard-%05d", i) || l.Checkpoint != leases.After("42") {
				t.Fatalf("lease %d is %+v", i, l)
			}
		}
		if calls := faults.Calls("Scan") - before; calls < 2 || calls > most {
			t.Errorf("round %d: %d calls", round, calls)
		}
	}
}

// Members of another pipeline in the same state table are not ours; quotas are everybody's.
func TestMembers_OfPipelines(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	other := w.another(t, dynamo.Options{Pipeline: "shop#2"})
	for _, err := range []error{
		w.Heartbeat(t.Context(), leases.Member{ID: "a"}),
		other.Heartbeat(t.Context(), leases.Member{ID: "b"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for table, want := range map[leases.Table]string{w.Table: "a", other: "b"} {
		if s, err := table.Read(t.Context()); err != nil || len(s.Members) != 1 || s.Members[0].ID != want {
			t.Errorf("%+v (%v), want %s", s.Members, err, want)
		}
	}
	if _, ok, err := w.ReserveCall(t.Context(), "q", 0); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if count, ok, err := other.ReserveCall(t.Context(), "q", 0); count != 1 || ok || err != nil {
		t.Errorf("another pipeline: %d %v (%v)", count, ok, err)
	}
}

// A member's row fits into an item, however much there is to tell, and goes by itself once it is not renewed.
func TestMembers_Row(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	m := leases.Member{ID: "a", Stopped: make(map[string]string)}
	for i := range 10_000 {
		m.Stopped[fmt.Sprintf("shardId-%05d", i)] = strings.Repeat("é", 500)
	}
	if err := w.Heartbeat(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	s, err := w.Read(t.Context())
	if err != nil || len(s.Members) != 1 || len(s.Members[0].Stopped) != 1000 {
		t.Fatalf("%d members (%v)", len(s.Members), err)
	}
	if why := s.Members[0].Stopped["shardId-00000"]; len(why) > 200 || strings.Trim(why, "é") != "" {
		t.Errorf("it says %q", why)
	}
	for _, row := range w.rowsOf(t, "state", "sk") {
		if _, ok := row["expires"].(*types.AttributeValueMemberN); !ok {
			t.Errorf("%v does not expire", row)
		}
	}
}
