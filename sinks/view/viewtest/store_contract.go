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

// contract checks a store. It checks each kind of write separately.
func contract(t *testing.T, suite Suite) {
	for name, check := range map[string]func(*testing.T, Store, view.Target){
		"HigherVersionWins": checkHigherVersionWins,
		"Tombstones":        checkTombstones,
		"Voids":             checkVoidTombstones,
		"Moves":             checkMovedRows,
		"RowsHaveOneOwner":  checkRowsHaveOneOwner,
		"RowsOfOneItem":     checkRowsOfOneItem,
		"EveryTypeIsExact":  checkEveryTypeIsExact,
		"RowsComeInOrder": func(t *testing.T, s Store, target view.Target) {
			checkRowsComeInOrder(t, s, target, suite.TypedKeys)
		},
		"QueriesSelect":     checkQueriesSelect,
		"QueriesGoOn":       checkQueriesFromAndTo,
		"PartitionsMerge":   checkPartitionsMerge,
		"PartitionsReadFew": checkPartitionsReadFew,
		"PartitionsBetween": checkPartitionsBetween,
		"OneKeyAttribute":   checkOneKeyAttribute,
		"KeysAreDistinct": func(t *testing.T, s Store, target view.Target) {
			checkKeysAreDistinct(t, s, target, suite.TypedKeys)
		},
		"ManyRowsInOneCall": func(t *testing.T, s Store, target view.Target) {
			checkManyRows(t, s, target, cmp.Or(suite.LargestCall, 3000))
		},
		"NothingInOneCall":  checkEmptyCall,
		"ReadingStopsEarly": checkReadingStopsEarly,
		"TablesAreDistinct": checkTablesAreDistinct,
		"StoredRows":        checkStoredRows,
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

// putRow returns the put of a row at (pk, sk). sequence is the sequence number of its version, and text is the value of
// its only attribute, "text".
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

// wantApplied writes mutations, none of which may be superseded.
func wantApplied(t *testing.T, what string, s Store, target view.Target, ms ...view.Mutation) {
	t.Helper()
	checkEqual(t, what, apply(t, s, target, ms...), make([]bool, len(ms)))
}

// wantSuperseded writes a mutation that must be superseded.
func wantSuperseded(t *testing.T, what string, s Store, target view.Target, m view.Mutation) {
	t.Helper()
	checkEqual(t, what, apply(t, s, target, m), []bool{true})
}

// readRows returns the rows that a query selects, as DynamoDB JSON, in the order in which the store yields them.
func readRows(t *testing.T, s Store, table view.Table, q view.Query) []string {
	t.Helper()
	var texts []string
	for _, r := range all(t, s.Rows(t.Context(), table, q)) {
		texts = append(texts, string(r.Item.AppendDynamoDBJSON(nil)))
	}
	return texts
}

// wantTextRows checks the rows of a table. All rows have the partition key a. want has the sort key and the text of
// each row, such as "1 five, 2 seven".
func wantTextRows(t *testing.T, what string, s Store, target view.Target, want string) {
	t.Helper()
	var rows []string
	for _, row := range strings.FieldsFunc(want, func(r rune) bool { return r == ',' }) {
		sk, text, _ := strings.Cut(strings.TrimSpace(row), " ")
		rows = append(rows, fmt.Sprintf(`{"PK":{"S":"a"},"SK":{"S":"%s"},"text":{"S":"%s"}}`, sk, text))
	}
	checkEqual(t, "rows after "+what, readRows(t, s, target.Table, view.Query{}), rows)
}

// step is the write of one mutation, with the result that it must have. rows are the rows after the write, in the form
// of wantTextRows.
type step struct {
	what     string
	mutation view.Mutation
	result   stepResult
	rows     string
}

// stepResult says whether a mutation is superseded.
type stepResult bool

const (
	applied    stepResult = false
	superseded stepResult = true
)

// runSteps makes the steps one after the other.
func runSteps(t *testing.T, s Store, target view.Target, steps ...step) {
	t.Helper()
	for _, st := range steps {
		checkEqual(t, st.what, apply(t, s, target, st.mutation), []bool{bool(st.result)})
		wantTextRows(t, st.what, s, target, st.rows)
	}
}

// checkEqual fails the test if got and want differ.
func checkEqual[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func checkHigherVersionWins(t *testing.T, s Store, target view.Target) {
	runSteps(t, s, target,
		step{"a new row", putRow(t, "a", "1", 5, "five"), applied, "1 five"},
		step{"the same again", putRow(t, "a", "1", 5, "five"), applied, "1 five"},
		step{"an older one", putRow(t, "a", "1", 4, "four"), superseded, "1 five"},
		step{"a newer one", putRow(t, "a", "1", 10, "ten"), applied, "1 ten"})
}

func checkTombstones(t *testing.T, s Store, target view.Target) {
	runSteps(t, s, target,
		step{"a tombstone of no row", tombstone(t, "a", "1", 5), applied, ""},
		step{"a row older than it", putRow(t, "a", "1", 4, "four"), superseded, ""},
		step{"a row newer than it", putRow(t, "a", "1", 6, "six"), applied, "1 six"},
		step{"the tombstone again", tombstone(t, "a", "1", 5), superseded, "1 six"},
		step{"a newer tombstone", tombstone(t, "a", "1", 7), applied, ""})
}

// Fact 44: a repeated write of a stored version changes nothing, unless the stored version is void. A row or a
// tombstone that is not void replaces a void tombstone of the same version. Otherwise a void tombstone is like any
// tombstone.
func checkVoidTombstones(t *testing.T, s Store, target view.Target) {
	void := func(sk string, sequence int) view.Mutation { return asVoid(tombstone(t, "a", sk, sequence)) }
	likelyNew := putRow(t, "a", "3", 5, "five")
	likelyNew.LikelyNew = true
	runSteps(t, s, target,
		step{"a row", putRow(t, "a", "1", 4, "four"), applied, "1 four"},
		step{"a void", void("1", 5), applied, ""},
		step{"the void again", void("1", 5), applied, ""},
		step{"an older row", putRow(t, "a", "1", 4, "four"), superseded, ""},
		step{"the row of its version", putRow(t, "a", "1", 5, "five"), applied, "1 five"},
		step{"the void once more", void("1", 5), applied, "1 five"},

		step{"another void", void("2", 5), applied, "1 five"},
		step{"its tombstone", tombstone(t, "a", "2", 5), applied, "1 five"},
		step{"a row of the tombstone's version", putRow(t, "a", "2", 5, "x"), applied, "1 five"},
		step{"a newer void", void("2", 6), applied, "1 five"},
		step{"a newer row", putRow(t, "a", "2", 7, "seven"), applied, "1 five, 2 seven"},
		step{"the row of the void's version", putRow(t, "a", "2", 6, "six"), superseded, "1 five, 2 seven"},

		step{"a third void", void("3", 5), applied, "1 five, 2 seven"},
		step{"a row that is likely new", likelyNew, applied, "1 five, 2 seven, 3 five"},
		step{"the third void again", void("3", 5), applied, "1 five, 2 seven, 3 five"})
}

// The new row of a move and the tombstone of its old row are written together. Whether each of the two is applied
// depends only on the version that is stored at its own key.
func checkMovedRows(t *testing.T, s Store, target view.Target) {
	move := func(what, from, to string, sequence int, newRowResult, oldRowResult stepResult, rows string) {
		t.Helper()
		oldRow := tombstone(t, "a", from, sequence)
		oldRow.EndsMove = true
		newRow := putRow(t, "a", to, sequence, fmt.Sprint(sequence))
		newRow.LikelyNew = true
		want := []bool{bool(newRowResult), bool(oldRowResult)}
		checkEqual(t, what, apply(t, s, target, newRow, oldRow), want)
		wantTextRows(t, what, s, target, rows)
	}
	apply(t, s, target, putRow(t, "a", "1", 1, "1"))
	move("a move", "1", "2", 2, applied, applied, "2 2")
	move("the move again", "1", "2", 2, applied, applied, "2 2")
	apply(t, s, target, putRow(t, "a", "3", 9, "9"))
	move("a move to a newer row", "2", "3", 4, superseded, applied, "3 9")
	move("a move from a newer row", "3", "4", 5, applied, superseded, "3 9, 4 5")
	wantApplied(t, "a tombstone", s, target, tombstone(t, "a", "5", 8))
	move("a move to a newer tombstone", "4", "5", 6, superseded, applied, "3 9")
	move("a move between newer ones", "3", "5", 7, superseded, superseded, "3 9")
}

// A row belongs to the view and the pipeline that first wrote it, and no other sink can write it. A tombstone in place
// also reserves the key for its sink. A tombstone that is apart does not.
func checkRowsHaveOneOwner(t *testing.T, s Store, target view.Target) {
	apply(t, s, target, putRow(t, "a", "1", 5, "mine"), tombstone(t, "a", "0", 5))
	theirs := []view.Mutation{putRow(t, "a", "1", 6, "theirs"), putRow(t, "a", "1", 4, "theirs"), tombstone(t, "a", "1", 6)}
	if target.InPlace {
		theirs = append(theirs, putRow(t, "a", "0", 6, "theirs"))
	}
	for _, other := range []view.Target{
		{Table: target.Table, View: "two", Pipeline: target.Pipeline, InPlace: target.InPlace},
		{Table: target.Table, View: target.View, Pipeline: "others", InPlace: target.InPlace},
	} {
		otherRow := putRow(t, "b", other.View+other.Pipeline, 6, "theirs")
		for _, m := range theirs {
			rs, err := s.Apply(t.Context(), other, []view.Mutation{m, otherRow})
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
	wantApplied(t, "the view's own next row", s, target, putRow(t, "a", "0", 6, "mine"))
}

func checkOneKeyAttribute(t *testing.T, s Store, target view.Target) {
	single := view.Target{Table: view.Table{Name: "single", PK: "an id"}, View: "one", Pipeline: "test",
		InPlace: target.InPlace}
	m := putRow(t, "a", "", 1, "x")
	m.SK = item.Value{}
	apply(t, s, single, m)
	checkEqual(t, "rows", readRows(t, s, single.Table, view.Query{}), []string{`{"an id":{"S":"a"},"text":{"S":"x"}}`})
}

func checkManyRows(t *testing.T, s Store, target view.Target, n int) {
	var ms []view.Mutation
	for i := range n {
		ms = append(ms, putRow(t, "p", fmt.Sprintf("%06d", i), 1, "x"))
	}
	wantApplied(t, "the first call", s, target, ms...)
	if got := len(readRows(t, s, target.Table, view.Query{})); got != len(ms) {
		t.Errorf("%d rows of %d", got, len(ms))
	}
}

func checkEmptyCall(t *testing.T, s Store, target view.Target) {
	checkEqual(t, "a call of no mutations", apply(t, s, target), nil)
}

func checkTablesAreDistinct(t *testing.T, s Store, target view.Target) {
	other := target
	other.Name = `an "other" one; --'`
	apply(t, s, target, putRow(t, "a", "1", 5, "here"))
	wantApplied(t, "an older row in another table", s, other, putRow(t, "a", "1", 1, "there"))
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
