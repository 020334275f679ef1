package dynamo_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
)

// Changes by hand do not stop a listing. A changed row is still listed, without the values that cannot be read.
func TestListers_ChangedByHand(t *testing.T) {
	s, client := withViews(t, nil)
	own := func(target view.Target, more statedynamo.Item) types.AttributeValue {
		m := statedynamo.Item{"view": statedynamo.S(target.View), "by": statedynamo.S(target.Pipeline)}
		for name, v := range more {
			m[name] = v
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	byHand := func(table string, item statedynamo.Item) {
		t.Helper()
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, s, orders, put("whole", 1))
	byHand("views", statedynamo.Item{"PK": statedynamo.S("a"), "SK": statedynamo.S("nobody's")})
	byHand("views", statedynamo.Item{"PK": statedynamo.S("a"), "SK": statedynamo.S("unversioned"), "_tw": own(orders, nil)})
	var rows []string
	for r, err := range s.ListRows(t.Context(), orders, state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		sk, _ := r.SK.Text()
		rows = append(rows, fmt.Sprint(sk, " ", r.Version.IsZero()))
	}
	slices.Sort(rows)
	if got := strings.Join(rows, ", "); got != "unversioned true, whole false" {
		t.Errorf("rows: %s", got)
	}

	c := change(t, "whole", 2, "3")
	contribute(t, s, state.GroupWrite{Groups: []state.GroupChange{c}})
	byHand("views", statedynamo.Item{"PK": statedynamo.S("g"), "SK": statedynamo.S("broken"), "_tw": own(sums, nil), "n": statedynamo.S("many"), "_tw_shares": statedynamo.S("2")})
	values := []view.Value{{Name: "n", Kind: "count"}, {Name: "sum", Kind: "sum"}}
	var groups []string
	for g, err := range s.ListGroups(t.Context(), sums, values, state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, fmt.Sprint(g.Row, " ", g.Shares, g.Version.IsZero(), g.Revision == "", len(g.Counts), len(g.Sums)))
	}
	slices.Sort(groups)
	if got := strings.Join(groups, ", "); got != "g,broken 0 true true 0 0, g,whole 2 false false 1 1" {
		t.Errorf("groups: %s", got)
	}

	guard := func(key string) statedynamo.Item {
		return s.GuardRef(orders.State(), item.Key(key)).Key
	}
	long := guard(strings.Repeat("x", 5000)) // written by a release that did not store a long key
	long["version"], long["row"] = statedynamo.S(version(t, 1).String()), statedynamo.S("a,1")
	byHand("state", long)
	broken := guard("broken")
	broken["version"] = statedynamo.S("none")
	byHand("state", broken)
	broken = s.ContributionRef(orders.State(), "broken").Key
	broken["version"], broken["shares"] = statedynamo.S(version(t, 1).String()), &types.AttributeValueMemberB{Value: []byte{99}}
	byHand("state", broken)
	var remembered []string
	for g, err := range s.ListGuards(t.Context(), orders.State(), state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		remembered = append(remembered, fmt.Sprint("guard ", g.Item, " ", g.Version.IsZero(), " ", g.Row))
	}
	for c, err := range s.ListContributions(t.Context(), orders.State(), state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		remembered = append(remembered, fmt.Sprint("contribution ", c.Item, " ", c.Version.IsZero()))
	}
	slices.Sort(remembered)
	if got := strings.Join(remembered, ", "); got != "contribution broken true, guard  false a,1, guard broken true " {
		t.Errorf("guards and contributions: %s", got)
	}
}

// If a group changes between the reads of its row and of its members, the group is read again. So the row and the
// members belong to one revision.
func TestReadGroups_Unsteady(t *testing.T) {
	var faults dynamotest.Faults
	s, client := withViews(t, &faults)
	member := func(id, value string) state.Member {
		return state.Member{Name: "least", Kind: state.Min, Value: value, ID: id}
	}
	with := func(ms ...state.Member) state.GroupWrite {
		c := change(t, "1", 1, "1")
		c.Members = ms
		return state.GroupWrite{Groups: []state.GroupChange{c}}
	}
	contribute(t, s, with(member("a", "a5")))
	other, err := open(t.Context(), statedynamo.Options{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	meanwhile := func(w state.GroupWrite) dynamotest.Fault {
		return dynamotest.Meanwhile(func() {
			if rs, err := other.Contribute(context.Background(), sums, []state.GroupWrite{w}); err != nil || rs[0] != (view.Result{}) {
				t.Error(rs, err)
			}
		})
	}
	values := []view.Value{{Name: "least", Kind: "min"}, {Name: "n", Kind: "count"}}
	faults.Next("Query", meanwhile(with(member("b", "a4"))))
	groups, err := s.ReadGroups(t.Context(), sums, values, []state.Row{change(t, "1", 0, "0").Row})
	if err != nil {
		t.Fatal(err)
	}
	if g := groups[0]; g.Shares != 2 || len(g.Members) != 2 || g.Members[0].ID != "b" {
		t.Errorf("while b came the group is %+v", g)
	}
}

func (a *anyTable) ListRows(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.Row, error] {
	t.Table = named(t.Table)
	return a.Store.ListRows(ctx, t, l)
}

func (a *anyTable) ListGroups(ctx context.Context, t view.Target, vs []view.Value, l state.Listing) iter.Seq2[view.Group, error] {
	t.Table = named(t.Table)
	return a.Store.ListGroups(ctx, t, vs, l)
}

func (a *anyTable) ReadGroups(ctx context.Context, t view.Target, vs []view.Value, rows []state.Row) ([]view.Group, error) {
	t.Table = named(t.Table)
	return a.Store.ReadGroups(ctx, t, vs, rows)
}
