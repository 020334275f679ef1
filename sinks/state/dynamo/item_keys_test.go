package dynamo_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// Different entries of the state have different keys, whatever their names and lengths are. No key is longer than
// DynamoDB allows.
func TestKeys_Injective(t *testing.T) {
	db := offline(t, &dynamotest.Faults{})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "a", "b", "a#b", "#", "a%23b", "é"})
		key := rapid.Custom(func(t *rapid.T) string {
			v := item.StringValue(rapid.StringMatching(`[a-b#,]{1,3}`).Draw(t, "value"))
			b, err := item.AppendKeyValue(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Repeat("x", rapid.SampledFrom([]int{0, 0, 950, 2030, 4000}).Draw(t, "length")) + string(b)
		})
		type thing struct {
			kind   string
			target state.Target
			row    string
			item   string
		}
		drawn := rapid.Custom(func(t *rapid.T) thing {
			th := thing{
				rapid.SampledFrom([]string{"guard", "contribution", "seat", "claim", "member", "tombstone"}).Draw(t, "kind"),
				state.Target{Pipeline: name.Draw(t, "pipeline"), View: name.Draw(t, "view"), Table: name.Draw(t, "table")},
				key.Draw(t, "row"), "",
			}
			if th.kind == "claim" || th.kind == "member" {
				th.item = key.Draw(t, "item")
			}
			return th
		})
		where := func(th thing) (pk, sk string) {
			var ref dynamo.Ref
			switch th.kind {
			case "guard":
				ref = db.GuardRef(th.target, item.Key(th.row))
			case "tombstone":
				ref = db.TombstoneRef(th.target, state.Row(th.row))
			case "contribution":
				ref = db.ContributionRef(th.target, item.Key(th.row))
			case "seat":
				ref = db.OwnerRef(th.target, state.Row(th.row))
			case "claim":
				ref = db.ClaimRef(th.target, state.Row(th.row), item.Key(th.item))
			default:
				return db.MemberPartition(th.target, state.Row(th.row), th.item[max(0, len(th.item)-250):]), "-"
			}
			return dynamo.Text(ref.Key, "pk"), dynamo.Text(ref.Key, "sk")
		}
		a, b := drawn.Draw(t, "a"), drawn.Draw(t, "b")
		pa, sa := where(a)
		pb, sb := where(b)
		if prefix := string(item.AppendEscaped(nil, a.target.Pipeline)) + "#"; !strings.HasPrefix(pa, prefix) {
			t.Fatalf("%s does not begin with %s", pa, prefix)
		}
		if len(pa) > 2048 || len(sa) > 1024 {
			t.Fatalf("%d and %d bytes", len(pa), len(sa))
		}
		same := a == b
		if a.kind == "member" && b.kind == "member" { // this test uses only the end of long names
			same = a.target == b.target && a.row == b.row && a.item[max(0, len(a.item)-250):] == b.item[max(0, len(b.item)-250):]
		}
		if got := pa == pb && sa == sb; got != same {
			t.Fatalf("%+v is at %s %s, and %+v at %s %s", a, pa, sa, b, pb, sb)
		}
	})
}

// A seat is in the same partition as the claims on its row and sorts before them.
func TestKeys_SeatFirst(t *testing.T) {
	db := offline(t, &dynamotest.Faults{})
	target := state.Target{Pipeline: "p", View: "v", Table: "t"}
	seat, claim := db.OwnerRef(target, "row"), db.ClaimRef(target, "row", "-")
	if dynamo.Text(seat.Key, "pk") != dynamo.Text(claim.Key, "pk") || dynamo.Text(seat.Key, "sk") >= dynamo.Text(claim.Key, "sk") {
		t.Errorf("%v, %v", seat, claim)
	}
}
