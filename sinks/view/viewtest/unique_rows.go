package viewtest

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// If the key of a row should identify the item, writes of other items are refused, whatever their versions, and the row
// does not change. After the item has left the row, another item may have the same key.
func checkRowsOfOneItem(t *testing.T, s Store, target view.Target) {
	target.RefuseOtherItem = true
	put := func(source item.Key, sequence int, text string) view.Mutation {
		m := putRow(t, "a", "1", sequence, text)
		m.Source = source
		return m
	}
	remove := func(source item.Key, sequence int) view.Mutation {
		m := tombstone(t, "a", "1", sequence)
		m.Source = source
		return m
	}
	likelyNew := put("two", 6, "two")
	likelyNew.LikelyNew = true
	voidRemoval := remove("two", 14)
	voidRemoval.Void = true
	for _, step := range []struct {
		what    string
		m       view.Mutation
		want    string // result of the mutation
		rowText string // text of the row after it; "" if there is none
	}{
		{"the first item", put("one", 5, "one"), "applied", "one"},
		{"a newer row of another item", put("two", 6, "two"), "collides with one", "one"},
		{"an older row of another item", put("two", 4, "two"), "collides with one", "one"},
		{"a row that should not be stored", likelyNew, "collides with one", "one"},
		{"a newer tombstone of another item", remove("two", 7), "superseded", "one"},
		{"its next row", put("one", 8, "once more"), "applied", "once more"},
		{"its older row", put("one", 7, "late"), "superseded", "once more"},

		{"the first item leaves", remove("one", 10), "applied", ""},
		{"a row of another item that is older than the tombstone", put("two", 9, "two"), "collides with one", ""},
		{"its own older row", put("one", 9, "late"), "superseded", ""},
		{"a newer row of another item", put("two", 11, "two"), "applied", "two"},
		{"a late row of the first item", put("one", 5, "late"), "collides with two", "two"},
		{"a late tombstone of the first item", remove("one", 10), "superseded", "two"},
		{"a newer tombstone of the first item", remove("one", 12), "superseded", "two"},
		{"the second item leaves", remove("two", 13), "applied", ""},
		{"a change of it without a row", voidRemoval, "applied", ""},
		{"a row of the same version of another item", put("three", 14, "three"), "applied", "three"},
	} {
		// Each mutation is in a call with a row of another partition, which must be written.
		beside := putRow(t, "beside", step.what, 1, step.what)
		beside.Source = "beside"
		rs, err := s.Apply(t.Context(), target, []view.Mutation{step.m, beside})
		must(t, err)
		got := "applied"
		collision, collides := errors.AsType[*view.CollisionError](rs[0].Err)
		switch {
		case collides && collision.Source == step.m.Source && collision.NotIdentified:
			checkPermanent(t, step.what, rs[0].Err)
			got = "collides with " + string(collision.Owner)
		case rs[0].Err != nil:
			got = rs[0].Err.Error()
		case rs[0].Superseded:
			got = "superseded"
		}
		if got != step.want || rs[0].Lost {
			t.Errorf("%s: got %+v, want: %s", step.what, rs[0], step.want)
		}
		wantDone(t, "a row beside "+step.what, rs[1])
		var want []string
		if step.rowText != "" {
			want = []string{`{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"` + step.rowText + `"}}`}
		}
		checkEqual(t, "rows after "+step.what, readRows(t, s, target.Table, view.Query{PKPrefix: "a"}), want)
	}
}
