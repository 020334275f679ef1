package viewtest

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// If the key of a row should identify the item, the row refuses other items, whatever their versions, and does not
// change. Another item may have the key after the first item has left it.
func rowsOfOneItem(t *testing.T, s Store, target view.Target) {
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
	// Each collision is in a call with a row of another partition, which must be written.
	wantCollision := func(what string, owner item.Key, m view.Mutation) {
		t.Helper()
		beside := putRow(t, "beside", what, 1, what)
		beside.Source = "beside"
		rs, err := s.Apply(t.Context(), target, []view.Mutation{m, beside})
		must(t, err)
		e, ok := errors.AsType[*view.CollisionError](rs[0].Err)
		if !ok || e.Owner != owner || e.Source != m.Source || !e.NotIdentified || rs[1].Err != nil {
			t.Fatalf("%s: got %v, and beside it %v; want a collision with %s", what, rs[0].Err, rs[1].Err, owner)
		}
		checkPermanent(t, what, rs[0].Err)
	}
	wantRow := func(what string, texts ...string) {
		t.Helper()
		var want []string
		for _, text := range texts {
			want = append(want, `{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"`+text+`"}}`)
		}
		checkEqual(t, what, readRows(t, s, target.Table, view.Query{PKPrefix: "a"}), want)
	}

	wantApplied(t, "the first item", s, target, put("one", 5, "one"))
	wantCollision("a newer row of another item", "one", put("two", 6, "two"))
	wantCollision("an older row of another item", "one", put("two", 4, "two"))
	newRow := put("two", 6, "two")
	newRow.LikelyNew = true
	wantCollision("a row that should not be stored", "one", newRow)
	wantSuperseded(t, "a newer tombstone of another item", s, target, remove("two", 7))
	wantRow("the row of the first item", "one")
	wantApplied(t, "its next row", s, target, put("one", 8, "once more"))
	wantSuperseded(t, "its older row", s, target, put("one", 7, "late"))
	wantRow("the row of the first item", "once more")

	wantApplied(t, "the first item leaves", s, target, remove("one", 10))
	wantCollision("a row of another item that is older than the tombstone", "one", put("two", 9, "two"))
	wantRow("nothing")
	wantSuperseded(t, "its own older row", s, target, put("one", 9, "late"))
	wantApplied(t, "a newer row of another item", s, target, put("two", 11, "two"))
	wantCollision("a late row of the first item", "two", put("one", 5, "late"))
	wantSuperseded(t, "a late tombstone of the first item", s, target, remove("one", 10))
	wantSuperseded(t, "a newer tombstone of the first item", s, target, remove("one", 12))
	wantRow("the row of the second item", "two")
	wantApplied(t, "the second item leaves", s, target, remove("two", 13))
	wantRow("nothing")
}
