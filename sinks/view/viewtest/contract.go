package viewtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

var target = view.Target{Table: view.Table{Name: "My views", PK: "PK", SK: "SK"}, View: "one", Pipeline: "test"}

// contract checks a store. It checks each write separately.
func contract(t *testing.T, suite Suite) {
	for name, check := range map[string]func(*testing.T, Store, view.Target){
		"HigherVersionWins": higherVersionWins,
		"Tombstones":        tombstones,
		"Voids":             voidTombstones,
		"Moves":             movedRows,
		"RowsHaveOneOwner":  rowsHaveOneOwner,
		"RowsOfOneItem":     rowsOfOneItem,
		"EveryTypeIsExact":  everyTypeIsExact,
		"RowsComeInOrder": func(t *testing.T, s Store, target view.Target) {
			rowsComeInOrder(t, s, target, suite.TypedKeys)
		},
		"QueriesSelect":     queriesSelect,
		"QueriesGoOn":       queriesFromAndTo,
		"PartitionsMerge":   partitionsMerge,
		"PartitionsReadFew": partitionsReadFew,
		"PartitionsBetween": partitionsBetween,
		"OneKeyAttribute":   oneKeyAttribute,
		"KeysAreDistinct": func(t *testing.T, s Store, target view.Target) {
			keysAreDistinct(t, s, target, suite.TypedKeys)
		},
		"ManyRowsInOneCall": func(t *testing.T, s Store, target view.Target) {
			manyRows(t, s, target, cmp.Or(suite.Many, 3000))
		},
		"NothingInOneCall":  emptyCall,
		"ReadingStopsEarly": readingStopsEarly,
		"TablesAreDistinct": tablesAreDistinct,
		"StoredRows":        storedRows,
		"Races":             func(t *testing.T, s Store, target view.Target) { checkRaces(t, s, target, suite) },
	} {
		for kind, inPlace := range tombstoneKinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				target := target
				target.InPlace = inPlace
				check(t, opener(t, suite.Open)(), target)
			})
		}
	}
}

func version(t *testing.T, sequence int) record.Version {
	t.Helper()
	v, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", sequence))
	must(t, err)
	return v
}

func parseValue(t *testing.T, json string) item.Value {
	t.Helper()
	v, err := item.ParseValue([]byte(json))
	must(t, err)
	return v
}

// putRow returns the put of a row at (pk, sk), with an attribute text.
func putRow(t *testing.T, pk, sk string, sequence int, text string) view.Mutation {
	return view.Mutation{
		PK: item.StringValue(pk), SK: item.StringValue(sk), Version: version(t, sequence), Source: "source",
		Attributes: []state.Column{{Name: "text", Value: item.StringValue(text)}},
	}
}

func tombstone(t *testing.T, pk, sk string, sequence int) view.Mutation {
	m := putRow(t, pk, sk, sequence, "")
	m.Tombstone, m.Attributes = true, nil
	return m
}

// apply writes mutations. The result has true for each mutation that was superseded.
func apply(t *testing.T, s Store, target view.Target, ms ...view.Mutation) []bool {
	t.Helper()
	rs, err := s.Apply(t.Context(), target, ms)
	must(t, err)
	if len(rs) != len(ms) {
		t.Fatalf("%d results for %d mutations", len(rs), len(ms))
	}
	var superseded []bool
	for _, r := range rs {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		superseded = append(superseded, r.Superseded)
	}
	return superseded
}

// readRows returns the rows that a query selects as DynamoDB JSON, in the order of reading.
func readRows(t *testing.T, s Store, table view.Table, q view.Query) []string {
	t.Helper()
	var texts []string
	for _, r := range all(t, s.Rows(t.Context(), table, q)) {
		texts = append(texts, string(r.Item.AppendDynamoDBJSON(nil)))
	}
	return texts
}

// checkEqual fails the test if got and want differ.
func checkEqual[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func higherVersionWins(t *testing.T, s Store, target view.Target) {
	checkEqual(t, "a new row", apply(t, s, target, putRow(t, "a", "1", 5, "five")), []bool{false})
	checkEqual(t, "the same again", apply(t, s, target, putRow(t, "a", "1", 5, "five")), []bool{false})
	checkEqual(t, "an older one", apply(t, s, target, putRow(t, "a", "1", 4, "four")), []bool{true})
	checkEqual(t, "a newer one", apply(t, s, target, putRow(t, "a", "1", 10, "ten")), []bool{false})
	checkEqual(t, "rows", readRows(t, s, target.Table, view.Query{}),
		[]string{`{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"ten"}}`})
}

func tombstones(t *testing.T, s Store, target view.Target) {
	checkEqual(t, "a tombstone of no row", apply(t, s, target, tombstone(t, "a", "1", 5)), []bool{false})
	checkEqual(t, "a row older than it", apply(t, s, target, putRow(t, "a", "1", 4, "four")), []bool{true})
	checkEqual(t, "rows", readRows(t, s, target.Table, view.Query{}), nil)
	checkEqual(t, "a row newer than it", apply(t, s, target, putRow(t, "a", "1", 6, "six")), []bool{false})
	checkEqual(t, "the tombstone again", apply(t, s, target, tombstone(t, "a", "1", 5)), []bool{true})
	checkEqual(t, "rows", readRows(t, s, target.Table, view.Query{}),
		[]string{`{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"six"}}`})
	checkEqual(t, "a newer tombstone", apply(t, s, target, tombstone(t, "a", "1", 7)), []bool{false})
	checkEqual(t, "rows", readRows(t, s, target.Table, view.Query{}), nil)
}

// Fact 44: a repeated write of a stored version changes nothing, unless the stored version is void. A void tombstone is
// replaced by a row or a tombstone of its own version that is not void. For all other mutations it is like any
// tombstone.
func voidTombstones(t *testing.T, s Store, target view.Target) {
	void := func(sk string, sequence int) view.Mutation {
		m := tombstone(t, "a", sk, sequence)
		m.Void = true
		return m
	}
	wantRows := func(what string, want ...string) {
		t.Helper()
		checkEqual(t, "rows behind "+what, readRows(t, s, target.Table, view.Query{}), want)
	}
	apply(t, s, target, putRow(t, "a", "1", 4, "four"))
	checkEqual(t, "a void", apply(t, s, target, void("1", 5)), []bool{false})
	wantRows("a void")
	checkEqual(t, "the void again", apply(t, s, target, void("1", 5)), []bool{false})
	checkEqual(t, "an older row", apply(t, s, target, putRow(t, "a", "1", 4, "four")), []bool{true})
	wantRows("an older row")
	checkEqual(t, "the row of its version", apply(t, s, target, putRow(t, "a", "1", 5, "five")), []bool{false})
	five := `{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"five"}}`
	wantRows("the row of its version", five)
	checkEqual(t, "the void once more", apply(t, s, target, void("1", 5)), []bool{false})
	wantRows("the void once more", five)
	checkEqual(t, "a void, and its tombstone", slices.Concat(apply(t, s, target, void("2", 5)),
		apply(t, s, target, tombstone(t, "a", "2", 5))), []bool{false, false})
	checkEqual(t, "a row of the whole tombstone's version", apply(t, s, target, putRow(t, "a", "2", 5, "x")),
		[]bool{false})
	wantRows("a row of the whole tombstone's version", five)
	checkEqual(t, "a void, and a newer row", slices.Concat(apply(t, s, target, void("2", 6)),
		apply(t, s, target, putRow(t, "a", "2", 7, "seven"))), []bool{false, false})
	checkEqual(t, "the void's version behind it", apply(t, s, target, putRow(t, "a", "2", 6, "six")), []bool{true})
	wantRows("a newer row", five, `{"PK":{"S":"a"},"SK":{"S":"2"},"text":{"S":"seven"}}`)
	newRow := putRow(t, "a", "3", 5, "five")
	newRow.LikelyNew = true
	checkEqual(t, "a void, and a row that is new",
		slices.Concat(apply(t, s, target, void("3", 5)), apply(t, s, target, newRow)), []bool{false, false})
	checkEqual(t, "the void behind it", apply(t, s, target, void("3", 5)), []bool{false})
	wantRows("the row that was new", five, `{"PK":{"S":"a"},"SK":{"S":"2"},"text":{"S":"seven"}}`,
		`{"PK":{"S":"a"},"SK":{"S":"3"},"text":{"S":"five"}}`)
}

// The new row of a move and the tombstone of its old row are written together. Each of them depends only on the version
// that is stored at its key.
func movedRows(t *testing.T, s Store, target view.Target) {
	move := func(from, to string, sequence int) []view.Mutation {
		old := tombstone(t, "a", from, sequence)
		old.WithPrevious = true
		new := putRow(t, "a", to, sequence, fmt.Sprint(sequence))
		new.LikelyNew = true
		return []view.Mutation{new, old}
	}
	wantRows := func(what string, want ...string) {
		t.Helper()
		var all []string
		for _, w := range want {
			sk, text, _ := strings.Cut(w, " ")
			all = append(all, fmt.Sprintf(`{"PK":{"S":"a"},"SK":{"S":"%s"},"text":{"S":"%s"}}`, sk, text))
		}
		checkEqual(t, what, readRows(t, s, target.Table, view.Query{}), all)
	}
	apply(t, s, target, putRow(t, "a", "1", 1, "1"))
	checkEqual(t, "a move", apply(t, s, target, move("1", "2", 2)...), []bool{false, false})
	checkEqual(t, "the move again", apply(t, s, target, move("1", "2", 2)...), []bool{false, false})
	wantRows("rows", "2 2")
	apply(t, s, target, putRow(t, "a", "3", 9, "9"))
	checkEqual(t, "to a newer row", apply(t, s, target, move("2", "3", 4)...), []bool{true, false})
	wantRows("rows", "3 9")
	checkEqual(t, "from a newer row", apply(t, s, target, move("3", "4", 5)...), []bool{false, true})
	wantRows("rows", "3 9", "4 5")
	checkEqual(t, "a tombstone", apply(t, s, target, tombstone(t, "a", "5", 8)), []bool{false})
	checkEqual(t, "to a newer tombstone", apply(t, s, target, move("4", "5", 6)...), []bool{true, false})
	wantRows("rows", "3 9")
	checkEqual(t, "both newer", apply(t, s, target, move("3", "5", 7)...), []bool{true, true})
	wantRows("rows", "3 9")
}

// A row belongs to the view and the pipeline that first wrote it, and no other sink can write it. A tombstone in place
// also reserves the key. A tombstone that is apart does not.
func rowsHaveOneOwner(t *testing.T, s Store, target view.Target) {
	apply(t, s, target, putRow(t, "a", "1", 5, "mine"), tombstone(t, "a", "0", 5))
	for _, other := range []view.Target{
		{Table: target.Table, View: "two", Pipeline: target.Pipeline, InPlace: target.InPlace},
		{Table: target.Table, View: target.View, Pipeline: "others", InPlace: target.InPlace},
	} {
		key := other.View + other.Pipeline
		ms := []view.Mutation{putRow(t, "a", "1", 6, "theirs"), putRow(t, "a", "1", 4, "theirs"), tombstone(t, "a", "1", 6)}
		if target.InPlace {
			ms = append(ms, putRow(t, "a", "0", 6, "theirs"))
		}
		for _, m := range ms {
			rs, err := s.Apply(t.Context(), other, []view.Mutation{m, putRow(t, "b", key, 6, "theirs")})
			must(t, err)
			wantForeign(t, "the row of another view", rs[0].Err, target, rowOf(t, m))
			wantDone(t, "beside it", rs[1])
			if foreign, _ := errors.AsType[*view.ForeignRowError](rs[0].Err); foreign == nil ||
				foreign.Target.View != other.View || foreign.Target.Pipeline != other.Pipeline {
				t.Errorf("the error is of %+v", foreign)
			}
		}
	}
	checkEqual(t, "rows", readRows(t, s, target.Table, view.Query{}), []string{
		`{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"mine"}}`,
		`{"PK":{"S":"b"},"SK":{"S":"oneothers"},"text":{"S":"theirs"}}`,
		`{"PK":{"S":"b"},"SK":{"S":"twotest"},"text":{"S":"theirs"}}`,
	})
	checkEqual(t, "the view's own next row", apply(t, s, target, putRow(t, "a", "0", 6, "mine")), []bool{false})
}

// Fact 12: an N has up to 38 digits. A store must keep all of them.
func everyTypeIsExact(t *testing.T, s Store, target view.Target) {
	values := []string{
		`{"S":"a\u0000\"\\\u00e9"}`, `{"S":""}`, `{"N":"12345678901234567890123456789012345678"}`,
		`{"N":"0.1000000000000000055511151231257827"}`,
		`{"B":"AAH/"}`, `{"BOOL":false}`, `{"NULL":true}`, `{"M":{"a":{"M":{}},"b":{"L":[{"N":"-0.5"}]}}}`, `{"L":[]}`,
		`{"SS":["b","a"]}`, `{"NS":["9007199254740993","1"]}`, `{"BS":["AA=="]}`,
	}
	m := putRow(t, "a", "1", 1, "")
	m.Attributes = nil
	for i, v := range values {
		m.Attributes = append(m.Attributes, state.Column{Name: fmt.Sprintf(`a "%02d"`, i), Value: parseValue(t, v)})
	}
	apply(t, s, target, m)
	for _, r := range all(t, s.Rows(t.Context(), target.Table, view.Query{})) {
		for _, c := range m.Attributes {
			if got, _ := r.Item.Get(c.Name); !got.Equal(c.Value) {
				t.Errorf("%s: got %s, want %s", c.Name, got, c.Value)
			}
		}
		if r.Item.Len() != len(values)+2 || r.Version != m.Version || r.Source != m.Source || r.View != target.View {
			t.Errorf("the row has %d attributes, version %s, source %s, view %s", r.Item.Len(), r.Version, r.Source, r.View)
		}
	}
}

func rowsComeInOrder(t *testing.T, s Store, target view.Target, typed bool) {
	var ms []view.Mutation
	for _, keys := range [][]string{
		{`{"S":""}`, `{"S":"A"}`, `{"S":"a"}`, `{"S":"a\u0000"}`, `{"S":"a "}`, `{"S":"b"}`, `{"S":"é"}`, `{"S":"😀"}`},
		{`{"N":"-1` + strings.Repeat("0", 125) + `"}`, `{"N":"-10"}`, `{"N":"-1.5"}`, `{"N":"-1"}`, `{"N":"-0.01"}`,
			`{"N":"0"}`, `{"N":"0.` + strings.Repeat("0", 129) + `1"}`, `{"N":"0.5"}`, `{"N":"9"}`, `{"N":"10"}`, `{"N":"12"}`},
		{`{"B":"AA=="}`, `{"B":"AAA="}`, `{"B":"AQ=="}`, `{"B":"/w=="}`},
	} {
		if typed && keys[0] == `{"S":""}` {
			keys = keys[1:]
		}
		table := target
		table.Name = "views of " + parseValue(t, keys[0]).Kind().String()
		ms = ms[:0]
		var want []string
		for i, k := range keys {
			m := putRow(t, "p", "", 1, "")
			m.SK, m.Attributes = parseValue(t, k), nil
			ms = slices.Insert(ms, i/2, m) // not in order, so that the store has to sort
			want = append(want, fmt.Sprintf(`{"PK":{"S":"p"},"SK":%s}`, m.SK.AppendDynamoDBJSON(nil)))
		}
		apply(t, s, table, ms...)
		checkEqual(t, table.Name, readRows(t, s, table.Table, view.Query{}), want)
	}
}

func queriesSelect(t *testing.T, s Store, target view.Target) {
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

func oneKeyAttribute(t *testing.T, s Store, target view.Target) {
	single := view.Target{Table: view.Table{Name: "single", PK: "an id"}, View: "one", Pipeline: "test",
		InPlace: target.InPlace}
	m := putRow(t, "a", "", 1, "x")
	m.SK = item.Value{}
	apply(t, s, single, m)
	checkEqual(t, "rows", readRows(t, s, single.Table, view.Query{}), []string{`{"an id":{"S":"a"},"text":{"S":"x"}}`})
}

func keysAreDistinct(t *testing.T, s Store, target view.Target, typed bool) {
	keys := []string{`{"N":"1"}`, `{"B":"MQ=="}`, `{"S":"1"}`}
	if typed {
		keys = []string{`{"N":"1"}`, `{"N":"-1"}`, `{"N":"10"}`}
	}
	var want []string
	for i, k := range keys {
		m := putRow(t, "p", "", 1, fmt.Sprint(i))
		m.SK = parseValue(t, k)
		apply(t, s, target, m)
		want = append(want, fmt.Sprintf(`{"PK":{"S":"p"},"SK":%s,"text":{"S":"%d"}}`, k, i))
	}
	again := putRow(t, "p", "", 2, "3")
	again.SK = parseValue(t, `{"N":"1.0"}`)
	apply(t, s, target, again)
	got := readRows(t, s, target.Table, view.Query{})
	if len(got) != len(want) {
		t.Errorf("three keys, one of them written as 1 and as 1.0, are %d rows: %v", len(got), got)
	}
}

func manyRows(t *testing.T, s Store, target view.Target, n int) {
	var ms []view.Mutation
	for i := range n {
		ms = append(ms, putRow(t, "p", fmt.Sprintf("%06d", i), 1, "x"))
	}
	checkEqual(t, "the first call", apply(t, s, target, ms...), make([]bool, len(ms)))
	if got := len(readRows(t, s, target.Table, view.Query{})); got != len(ms) {
		t.Errorf("%d rows of %d", got, len(ms))
	}
}

func emptyCall(t *testing.T, s Store, target view.Target) {
	checkEqual(t, "a call of no mutations", apply(t, s, target), nil)
}

func readingStopsEarly(t *testing.T, s Store, target view.Target) {
	apply(t, s, target, putRow(t, "a", "1", 1, ""), putRow(t, "a", "2", 1, ""))
	for range 20 { // more often than a store has connections
		for _, err := range s.Rows(t.Context(), target.Table, view.Query{}) {
			must(t, err)
			break
		}
	}
	checkEqual(t, "writing after it", apply(t, s, target, putRow(t, "a", "1", 2, "")), []bool{false})
}

func tablesAreDistinct(t *testing.T, s Store, target view.Target) {
	other := target
	other.Name = `an "other" one; --'`
	apply(t, s, target, putRow(t, "a", "1", 5, "here"))
	checkEqual(t, "an older row in another table", apply(t, s, other, putRow(t, "a", "1", 1, "there")), []bool{false})
	checkEqual(t, "rows", readRows(t, s, other.Table, view.Query{}),
		[]string{`{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"there"}}`})
}

// checkPermanent fails the test if err is not a permanent error whose text contains words.
func checkPermanent(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	if _, retryable := pipeline.Retryable(err); retryable || pipeline.IsFatal(err) {
		t.Errorf("%s: %v, want a permanent error", what, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v, want one that says %q", what, err, w)
		}
	}
}
