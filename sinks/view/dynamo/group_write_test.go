package dynamo_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

var sums = view.Target{Table: view.Table{Name: "views", PK: "PK", SK: "SK"}, View: "sums", Pipeline: "shop"}

// change returns a change that adds shares and an amount to the group at sk.
func change(t testing.TB, sk string, shares int64, amount string) state.GroupChange {
	t.Helper()
	row, err := state.MakeRow(item.StringValue("g"), item.StringValue(sk))
	if err != nil {
		t.Fatal(err)
	}
	n, err := state.ParseNumber(amount)
	if err != nil {
		t.Fatal(err)
	}
	return state.GroupChange{
		Row: row, Shares: shares, Version: version(t, 1),
		Counts: []state.Increment{{Name: "n", Amount: state.NumberOf(decimal.Of(shares))}},
		Sums:   []state.Increment{{Name: "sum", Amount: n}},
	}
}

func contribute(t testing.TB, s *dynamo.Store, w state.GroupWrite) {
	t.Helper()
	rs, err := s.Contribute(t.Context(), sums, []state.GroupWrite{w})
	if err != nil || rs[0] != (view.Result{}) {
		t.Fatalf("%+v, %v", rs, err)
	}
}

// rowsOf returns the rows with the partition key g as DynamoDB JSON.
func rowsOf(t testing.TB, s *dynamo.Store) []string {
	t.Helper()
	var all []string
	for row, err := range s.Rows(t.Context(), sums.Table, view.Query{PK: item.StringValue("g")}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(row.Item.AppendDynamoDBJSON(nil)))
	}
	return all
}

// Fact 12: A number has up to 38 digits. The sum in a row is exact for all amounts. It is a number if DynamoDB can
// store it as a number, and otherwise a text.
func TestFact12_SumsAreExact(t *testing.T) {
	s, _ := withViews(t, nil)
	digits := rapid.StringMatching(`[1-9][0-9]{0,24}`)
	amounts := rapid.Custom(func(rt *rapid.T) string {
		text := digits.Draw(rt, "whole")
		if rapid.Bool().Draw(rt, "fraction") {
			text += "." + digits.Draw(rt, "fraction")
		}
		if rapid.IntRange(0, 9).Draw(rt, "edge") == 0 {
			text = rapid.SampledFrom([]string{
				strings.Repeat("9", 19) + "." + strings.Repeat("9", 18), "1" + strings.Repeat("0", 19), "0." + strings.Repeat("0", 17) + "1",
				"0." + strings.Repeat("0", 18) + "1", "1" + strings.Repeat("0", 125), "0." + strings.Repeat("0", 129) + "1",
			}).Draw(rt, "edge")
		}
		return text
	})
	group := 0
	rapid.Check(t, func(rt *rapid.T) {
		if group++; group > 25 {
			return // enough checks, because DynamoDB Local is slow
		}
		sk := fmt.Sprint(group)
		sum, shares := new(big.Rat), int64(0)
		for _, text := range rapid.SliceOfN(amounts, 1, 8).Draw(rt, "amounts") {
			if d, err := decimal.Parse(text); err != nil || d.Sign() == 0 {
				continue // DynamoDB cannot store this number
			}
			sign := rapid.SampledFrom([]string{"", "-"}).Draw(rt, "sign")
			n, _ := new(big.Rat).SetString(sign + text)
			sum.Add(sum, n)
			shares++
			contribute(t, s, state.GroupWrite{Groups: []state.GroupChange{change(t, sk, 1, sign+text)}})
		}
		for row, err := range s.Rows(t.Context(), sums.Table, view.Query{PK: item.StringValue("g"), SKPrefix: sk}) {
			if text, _ := row.SK.Text(); text != sk {
				continue
			}
			got, _ := row.Item.Get("sum")
			text, isText := got.Text()
			if d, ok := got.Number(); ok {
				text = d.String()
			}
			_, fits := decimal.Parse(text)
			exact, ok := new(big.Rat).SetString(text)
			if err != nil || !ok || exact.Cmp(sum) != 0 || isText == (fits == nil) {
				rt.Fatalf("the sum is %s, want %s (%v)", got, sum.FloatString(140), err)
			}
			shares = 0
		}
		if shares > 0 {
			rt.Fatal("there is no row")
		}
	})
}

// The transaction that removes the last share of a row also deletes the row and its members. No part of a wide sum is
// left.
func TestLastShareTakesTheRow(t *testing.T) {
	s, c := withViews(t, nil)
	member := state.Member{Name: "d", Kind: state.Distinct, Value: "ax", ID: "one"}
	long := state.Member{Name: "d", Kind: state.Distinct, Value: "a" + strings.Repeat("\x00é", 2000), ID: strings.Repeat("i", 3000)}
	come := change(t, "1", 2, "1"+strings.Repeat("0", 60)+".5")
	come.Members = []state.Member{member, long, long}
	contribute(t, s, state.GroupWrite{Groups: []state.GroupChange{come}})
	if got, want := rowsOf(t, s), `{"PK":{"S":"g"},"SK":{"S":"1"},"d":{"N":"2"},"n":{"N":"2"},"sum":{"S":"1`+strings.Repeat("0", 60)+`.5"}}`; len(got) != 1 || got[0] != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	go1 := change(t, "1", -2, "-1"+strings.Repeat("0", 60)+".5")
	member.Remove, long.Remove = true, true
	go1.Members = []state.Member{member, long}
	contribute(t, s, state.GroupWrite{Groups: []state.GroupChange{go1}})
	for _, table := range []string{"views", "state"} {
		out, err := c.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range out.Items {
			if pk := statedynamo.Text(item, "pk"); !strings.HasSuffix(pk, "#targets") && !strings.HasSuffix(pk, "#memory") {
				t.Errorf("there is still %v in %s", item, table)
			}
		}
	}
	contribute(t, s, state.GroupWrite{Groups: []state.GroupChange{change(t, "1", 1, "0.5")}})
	if got, want := rowsOf(t, s), `{"PK":{"S":"g"},"SK":{"S":"1"},"n":{"N":"1"},"sum":{"N":"0.5"}}`; len(got) != 1 || got[0] != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	least := change(t, "1", 0, "0")
	least.Members = []state.Member{{Name: "lo", Kind: state.Min, Value: long.Value, ID: "x"}}
	rs, err := s.Contribute(t.Context(), sums, []state.GroupWrite{{Groups: []state.GroupChange{least}}})
	if _, again := pipeline.Retryable(rs[0].Err); err != nil || rs[0].Err == nil || again || !strings.Contains(rs[0].Err.Error(), "sorts by") {
		t.Errorf("a min of a value that is longer than a sort key: %+v, %v", rs, err)
	}
}

// DynamoDB adds to a sum while the addition is exact. The store adds larger sums itself. The results of both ways are
// one sum.
func TestAddingIsDoneWhereItIsExact(t *testing.T) {
	faults := new(dynamotest.Faults)
	s, _ := withViews(t, faults)
	add := func(amount string, reads int) {
		t.Helper()
		before := faults.Calls("BatchGetItem")
		contribute(t, s, state.GroupWrite{Groups: []state.GroupChange{change(t, "1", 1, amount)}})
		if n := faults.Calls("BatchGetItem") - before; n != reads {
			t.Errorf("%s: the row was read %d times, want %d", amount, n, reads)
		}
	}
	add("9999999999999999999.999999999999999999", 0)
	transactions := faults.Calls("TransactWriteItems")
	add("0.1", 0) // the sum becomes too large for DynamoDB's addition; the refusal returns the row
	if n := faults.Calls("TransactWriteItems") - transactions; n != 2 {
		t.Errorf("it took %d transactions, want 2", n)
	}
	add("-100000000000000000000", 1)
	add("95000000000000000000", 1) // the sum is about 5e18, with less than 19 decimals
	add("1", 0)
	if got, want := rowsOf(t, s), `{"PK":{"S":"g"},"SK":{"S":"1"},"n":{"N":"5"},"sum":{"N":"5000000000000000001.099999999999999999"}}`; len(got) != 1 || got[0] != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// If DynamoDB refuses an addition, the row is read. The error of this read is the result of the write.
func TestRefusedAddition_ReadFails(t *testing.T) {
	faults := new(dynamotest.Faults)
	s, _ := withViews(t, faults)
	contribute(t, s, state.GroupWrite{Groups: []state.GroupChange{change(t, "1", 1, "1")}})
	faults.Next("TransactWriteItems", dynamotest.Refuse(400, "ValidationException", "an operand has the wrong type"))
	faults.Next("BatchGetItem", dynamotest.Refuse(400, "AccessDeniedException", "not authorized"))
	rs, err := s.Contribute(t.Context(), sums, []state.GroupWrite{{Groups: []state.GroupChange{change(t, "1", 1, "1")}}})
	if err == nil && len(rs) == 1 {
		err = rs[0].Err
	}
	if !errors.Is(err, statedynamo.ErrDenied) {
		t.Errorf("got %+v, %v, want the error of the read", rs, err)
	}
}
