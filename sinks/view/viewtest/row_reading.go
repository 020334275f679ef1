package viewtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// A store keeps the values of all types as they are, and all 38 digits of an N (fact 12 in test/FACTS.md).
func checkEveryTypeIsExact(t *testing.T, s Store, target view.Target) {
	values := []string{
		`{"S":"a\u0000\"\\\u00e9"}`, `{"S":""}`, `{"N":"12345678901234567890123456789012345678"}`,
		`{"N":"0.1000000000000000055511151231257827"}`,
		`{"B":"AAH/"}`, `{"BOOL":false}`, `{"NULL":true}`, `{"M":{"a":{"M":{}},"b":{"L":[{"N":"-0.5"}]}}}`, `{"L":[]}`,
		`{"SS":["b","a"]}`, `{"NS":["9007199254740993","1"]}`, `{"BS":["AA=="]}`,
	}
	put := putRow(t, "a", "1", 1, "")
	put.Attributes = nil
	for i, v := range values {
		name := fmt.Sprintf(`a "%02d"`, i)
		put.Attributes = append(put.Attributes, state.Column{Name: name, Value: parseValue(t, v)})
	}
	apply(t, s, target, put)
	for _, r := range all(t, s.Rows(t.Context(), target.Table, view.Query{})) {
		for _, c := range put.Attributes {
			if got, _ := r.Item.Get(c.Name); !got.Equal(c.Value) {
				t.Errorf("%s: got %s, want %s", c.Name, got, c.Value)
			}
		}
		isSame := r.Version == put.Version && r.Source == put.Source && r.View == target.View
		if r.Item.Len() != len(values)+2 || !isSame {
			t.Errorf("the row has %d attributes, version %s, source %s, view %s", r.Item.Len(), r.Version, r.Source, r.View)
		}
	}
}

// The rows of a partition come in the order of their sort keys. typedKeys is Suite.TypedKeys.
func checkRowsComeInOrder(t *testing.T, s Store, target view.Target, typedKeys bool) {
	var puts []view.Mutation
	for _, keys := range [][]string{
		{`{"S":""}`, `{"S":"A"}`, `{"S":"a"}`, `{"S":"a\u0000"}`, `{"S":"a "}`, `{"S":"b"}`, `{"S":"é"}`, `{"S":"😀"}`},
		{`{"N":"-1` + strings.Repeat("0", 125) + `"}`, `{"N":"-10"}`, `{"N":"-1.5"}`, `{"N":"-1"}`, `{"N":"-0.01"}`,
			`{"N":"0"}`, `{"N":"0.` + strings.Repeat("0", 129) + `1"}`, `{"N":"0.5"}`, `{"N":"9"}`, `{"N":"10"}`, `{"N":"12"}`},
		{`{"B":"AA=="}`, `{"B":"AAA="}`, `{"B":"AQ=="}`, `{"B":"/w=="}`},
	} {
		if typedKeys && keys[0] == `{"S":""}` { // such a store has no empty keys
			keys = keys[1:]
		}
		ofKind := target // with a table of its own, because a table may have keys of one type only
		ofKind.Name = "views of " + parseValue(t, keys[0]).Kind().String()
		puts = puts[:0]
		var want []string
		for i, k := range keys {
			put := putRow(t, "p", "", 1, "")
			put.SK, put.Attributes = parseValue(t, k), nil
			puts = slices.Insert(puts, i/2, put) // not in order, so that the store has to sort
			want = append(want, fmt.Sprintf(`{"PK":{"S":"p"},"SK":%s}`, put.SK.AppendDynamoDBJSON(nil)))
		}
		apply(t, s, ofKind, puts...)
		checkEqual(t, ofKind.Name, readRows(t, s, ofKind.Table, view.Query{}), want)
	}
}

func checkQueriesSelect(t *testing.T, s Store, target view.Target) {
	apply(t, s, target, putRow(t, "a", "x1", 1, ""), putRow(t, "a", "x2", 1, ""), putRow(t, "a", "y", 1, ""),
		putRow(t, "ab", "x", 1, ""), putRow(t, "b", "x", 1, ""))
	apply(t, s, target, tombstone(t, "a", "x3", 1))
	for _, q := range []struct {
		query view.Query
		want  string
	}{
		{view.Query{}, "a/x1 a/x2 a/y ab/x b/x "},
		{view.Query{PK: item.StringValue("a")}, "a/x1 a/x2 a/y "},
		{view.Query{PKPrefix: "a"}, "a/x1 a/x2 a/y ab/x "},
		{view.Query{PKPrefix: "c"}, ""},
		{view.Query{PK: item.StringValue("a"), SKPrefix: "x"}, "a/x1 a/x2 "},
		{view.Query{SKPrefix: "x"}, "a/x1 a/x2 ab/x b/x "},
		{view.Query{Limit: 2}, "a/x1 a/x2 "},
	} {
		got := ""
		for _, r := range all(t, s.Rows(t.Context(), target.Table, q.query)) {
			pk, _ := r.PK.Text()
			sk, _ := r.SK.Text()
			got += pk + "/" + sk + " "
		}
		if got != q.want {
			t.Errorf("%+v: got %q, want %q", q.query, got, q.want)
		}
	}
}

// checkQueriesFromAndTo checks queries with From and To, in both directions.
func checkQueriesFromAndTo(t *testing.T, s Store, target view.Target) {
	for _, sk := range []string{"a", "b1", "b2", "b3", "c"} {
		apply(t, s, target, putRow(t, "p", sk, 1, ""), putRow(t, "q", sk, 1, ""))
	}
	apply(t, s, target, tombstone(t, "p", "b0", 1))
	for _, q := range []struct {
		query view.Query
		want  string
	}{
		{view.Query{Reverse: true}, "c b3 b2 b1 a"},
		{view.Query{Reverse: true, Limit: 2}, "c b3"},
		{view.Query{Reverse: true, SKPrefix: "b"}, "b3 b2 b1"},
		{view.Query{From: item.StringValue("b2")}, "b2 b3 c"},
		{view.Query{From: item.StringValue("b2"), After: true}, "b3 c"},
		{view.Query{From: item.StringValue("b2"), After: true, Limit: 1}, "b3"},
		{view.Query{From: item.StringValue("b2"), Reverse: true}, "b2 b1 a"},
		{view.Query{From: item.StringValue("b2"), Reverse: true, After: true}, "b1 a"},
		{view.Query{From: item.StringValue("b15")}, "b2 b3 c"},
		{view.Query{From: item.StringValue("d")}, ""},
		{view.Query{From: item.StringValue("b2"), SKPrefix: "b"}, "b2 b3"},
		{view.Query{From: item.StringValue("b2"), SKPrefix: "b", Reverse: true, After: true}, "b1"},
		{view.Query{From: item.StringValue("a"), SKPrefix: "b"}, "b1 b2 b3"},
		{view.Query{From: item.StringValue("a"), SKPrefix: "b", Reverse: true}, ""},
		{view.Query{From: item.StringValue("c"), SKPrefix: "b"}, ""},
		{view.Query{From: item.StringValue("c"), SKPrefix: "b", Reverse: true}, "b3 b2 b1"},
		{view.Query{To: item.StringValue("b2")}, "a b1 b2"},
		{view.Query{To: item.StringValue("b2"), Reverse: true}, "c b3 b2"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b2")}, "b1 b2"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b25"), After: true, Limit: 1}, "b2"},
		{view.Query{From: item.StringValue("b2"), To: item.StringValue("b0"), Reverse: true}, "b2 b1"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("a")}, ""},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b1")}, "b1"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b1"), Reverse: true}, "b1"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b1"), After: true}, ""},
		{view.Query{From: item.StringValue("b15"), To: item.StringValue("b15")}, ""},
		{view.Query{To: item.StringValue("b2"), SKPrefix: "b"}, "b1 b2"},
	} {
		q.query.PK = item.StringValue("p")
		got := sortKeys(t, s.Rows(t.Context(), target.Table, q.query))
		checkEqual(t, fmt.Sprintf("%+v", q.query), got, strings.Fields(q.want))
	}
	rows := all(t, s.Rows(t.Context(), target.Table, view.Query{Reverse: true, SKPrefix: "c"}))
	if len(rows) != 2 || !rows[0].PK.Equal(item.StringValue("q")) {
		t.Errorf("a read of all partitions in reverse begins with %v", rows)
	}
	for _, bound := range []view.Query{{From: item.StringValue("b")}, {To: item.StringValue("b")}} {
		for _, err := range s.Rows(t.Context(), target.Table, bound) {
			if err == nil {
				t.Error("a sort key without a partition key bounds a read")
			}
		}
	}
}

// Rows with different sort keys are different rows, but 1 and 1.0 are the same key. typedKeys is Suite.TypedKeys.
func checkKeysAreDistinct(t *testing.T, s Store, target view.Target, typedKeys bool) {
	keys := []string{`{"N":"1"}`, `{"B":"MQ=="}`, `{"S":"1"}`}
	if typedKeys { // all keys have one type
		keys = []string{`{"N":"1"}`, `{"N":"-1"}`, `{"N":"10"}`}
	}
	for i, k := range keys {
		put := putRow(t, "p", "", 1, fmt.Sprint(i))
		put.SK = parseValue(t, k)
		apply(t, s, target, put)
	}
	again := putRow(t, "p", "", 2, "3")
	again.SK = parseValue(t, `{"N":"1.0"}`)
	apply(t, s, target, again)
	got := readRows(t, s, target.Table, view.Query{})
	if len(got) != len(keys) {
		t.Errorf("three keys, one of them written as 1 and as 1.0, are %d rows: %v", len(got), got)
	}
}

func checkReadingStopsEarly(t *testing.T, s Store, target view.Target) {
	apply(t, s, target, putRow(t, "a", "1", 1, ""), putRow(t, "a", "2", 1, ""))
	for range 20 { // more often than a store has connections
		for _, err := range s.Rows(t.Context(), target.Table, view.Query{}) {
			must(t, err)
			break
		}
	}
	wantApplied(t, "writing after it", s, target, putRow(t, "a", "1", 2, ""))
}
