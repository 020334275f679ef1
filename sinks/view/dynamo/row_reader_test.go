package dynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

func version(t testing.TB, sequence int) record.Version {
	t.Helper()
	v, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", sequence))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func put(sk string, sequence int, columns ...state.Column) view.Mutation {
	v, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", sequence))
	if err != nil {
		panic(err) // the number of digits is always right
	}
	return view.Mutation{PK: item.StringValue("p"), SK: item.StringValue(sk), Version: v, Source: "source", Attributes: columns}
}

func column(t testing.TB, name, json string) state.Column {
	t.Helper()
	v, err := item.ParseValue([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return state.Column{Name: name, Value: v}
}

// apply writes mutations, which must all be written.
func apply(t testing.TB, s *dynamo.Store, target view.Target, ms ...view.Mutation) {
	t.Helper()
	rs, err := s.Apply(t.Context(), target, ms)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if r != (view.Result{}) {
			t.Fatalf("mutation %d: %+v", i, r)
		}
	}
}

// If a table is restored to an earlier time, its rows may be older than their tombstones in the state. A replay of the
// removing changes removes these rows again, for a removed item and for a moved item.
func TestApply_RemovesRowsOfARestoredTable(t *testing.T) {
	client := dynamotest.Open(t).Client("", nil)
	target := view.Target{Table: view.Table{Name: "views", PK: "PK", SK: "SK"}, View: "orders", Pipeline: "shop", Birth: "b"}
	s := withTable(t, statedynamo.Options{Client: client}, target.Table)
	gone := func(sk string, sequence int) view.Mutation {
		m := put(sk, sequence)
		m.Tombstone = true
		return m
	}
	apply(t, s, target, put("gone", 1), put("from", 2), put("stays", 3))
	backup, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("views")})
	if err != nil {
		t.Fatal(err)
	}
	late := []view.Mutation{gone("gone", 5), gone("from", 6), put("to", 6)}
	apply(t, s, target, late...)
	apply(t, s, target, put("stays", 7))
	for _, item := range backup.Items {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("views"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, s, target, put("stays", 7))
	apply(t, s, target, late[0])
	apply(t, s, target, late[1:]...)
	var rows []string
	for r, err := range s.Rows(t.Context(), target.Table, view.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		sk, _ := r.SK.Text()
		rows = append(rows, sk+" "+strings.TrimLeft(strings.TrimPrefix(r.Version.String(), "1767323045"), "0"))
	}
	slices.Sort(rows)
	if got := strings.Join(rows, ", "); got != "stays 7, to 6" {
		t.Errorf("rows: %s", got)
	}
}
