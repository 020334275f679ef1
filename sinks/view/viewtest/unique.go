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
	unique := target
	unique.RefuseOtherItem = true
	ofItem := func(source item.Key, m view.Mutation) view.Mutation {
		m.Source = source
		return m
	}
	collides := func(what string, owner item.Key, m view.Mutation) {
		t.Helper()
		rs, err := s.Apply(t.Context(), unique, []view.Mutation{m, ofItem("beside", putRow(t, "beside", what, 1, what))})
		must(t, err)
		e, ok := errors.AsType[*view.CollisionError](rs[0].Err)
		if !ok || e.Owner != owner || e.Source != m.Source || !e.NotIdentified || rs[1].Err != nil {
			t.Fatalf("%s: got %v, and beside it %v; want a collision with %s", what, rs[0].Err, rs[1].Err, owner)
		}
		checkPermanent(t, what, rs[0].Err)
	}
	result := func(what string, superseded bool, m view.Mutation) {
		t.Helper()
		checkEqual(t, what, apply(t, s, unique, m), []bool{superseded})
	}
	want := func(what string, texts ...string) {
		t.Helper()
		var all []string
		for _, text := range texts {
			all = append(all, `{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"`+text+`"}}`)
		}
		checkEqual(t, what, readRows(t, s, unique.Table, view.Query{PKPrefix: "a"}), all)
	}

	result("the first item", false, ofItem("one", putRow(t, "a", "1", 5, "one")))
	collides("a newer row of another item", "one", ofItem("two", putRow(t, "a", "1", 6, "two")))
	collides("an older row of another item", "one", ofItem("two", putRow(t, "a", "1", 4, "two")))
	newRow := ofItem("two", putRow(t, "a", "1", 6, "two"))
	newRow.LikelyNew = true
	collides("a row that should not be stored", "one", newRow)
	result("a newer tombstone of another item", true, ofItem("two", tombstone(t, "a", "1", 7)))
	want("the row of the first item", "one")
	result("its next row", false, ofItem("one", putRow(t, "a", "1", 8, "once more")))
	result("its older row", true, ofItem("one", putRow(t, "a", "1", 7, "late")))
	want("the row of the first item", "once more")

	result("the first item leaves", false, ofItem("one", tombstone(t, "a", "1", 10)))
	collides("a row of another item that is older than the tombstone", "one", ofItem("two", putRow(t, "a", "1", 9, "two")))
	want("nothing")
	result("its own older row", true, ofItem("one", putRow(t, "a", "1", 9, "late")))
	result("a newer row of another item", false, ofItem("two", putRow(t, "a", "1", 11, "two")))
	collides("a late row of the first item", "two", ofItem("one", putRow(t, "a", "1", 5, "late")))
	result("a late tombstone of the first item", true, ofItem("one", tombstone(t, "a", "1", 10)))
	result("a newer tombstone of the first item", true, ofItem("one", tombstone(t, "a", "1", 12)))
	want("the row of the second item", "two")
	result("the second item leaves", false, ofItem("two", tombstone(t, "a", "1", 13)))
	want("nothing")
}
