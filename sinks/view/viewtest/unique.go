package viewtest

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// A row whose key should identify its item refuses other items, whatever their versions are, and stays as it is. The key is
// free again when the item has left it.
func rowsOfOneItem(t *testing.T, s Store, target view.Target) {
	unique := target
	unique.RefuseOtherItem = true
	of := func(source item.Key, m view.Mutation) view.Mutation {
		m.Source = source
		return m
	}
	collides := func(what string, owner item.Key, m view.Mutation) {
		t.Helper()
		rs, err := s.Apply(t.Context(), unique, []view.Mutation{m, of("beside", row(t, "beside", what, 1, what))})
		must(t, err)
		e, ok := errors.AsType[*view.CollisionError](rs[0].Err)
		if !ok || e.Owner != owner || e.Source != m.Source || !e.NotIdentified || rs[1].Err != nil {
			t.Fatalf("%s: got %v, and beside it %v; want a collision with %s", what, rs[0].Err, rs[1].Err, owner)
		}
		permanent(t, what, rs[0].Err)
	}
	result := func(what string, superseded bool, m view.Mutation) {
		t.Helper()
		same(t, what, apply(t, s, unique, m), []bool{superseded})
	}
	want := func(what string, texts ...string) {
		t.Helper()
		var all []string
		for _, text := range texts {
			all = append(all, `{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":"`+text+`"}}`)
		}
		same(t, what, rows(t, s, unique.Table, view.Query{PKPrefix: "a"}), all)
	}

	result("the first item", false, of("one", row(t, "a", "1", 5, "one")))
	collides("a newer row of another item", "one", of("two", row(t, "a", "1", 6, "two")))
	collides("an older row of another item", "one", of("two", row(t, "a", "1", 4, "two")))
	fresh := of("two", row(t, "a", "1", 6, "two"))
	fresh.Fresh = true
	collides("a row that should not be stored", "one", fresh)
	result("a newer tombstone of another item", true, of("two", tombstone(t, "a", "1", 7)))
	want("the row of the first item", "one")
	result("its next row", false, of("one", row(t, "a", "1", 8, "once more")))
	result("its older row", true, of("one", row(t, "a", "1", 7, "late")))
	want("the row of the first item", "once more")

	result("the first item leaves", false, of("one", tombstone(t, "a", "1", 10)))
	collides("a row of another item that is older than the tombstone", "one", of("two", row(t, "a", "1", 9, "two")))
	want("nothing")
	result("its own older row", true, of("one", row(t, "a", "1", 9, "late")))
	result("a newer row of another item", false, of("two", row(t, "a", "1", 11, "two")))
	collides("a late row of the first item", "two", of("one", row(t, "a", "1", 5, "late")))
	result("a late tombstone of the first item", true, of("one", tombstone(t, "a", "1", 10)))
	result("a newer tombstone of the first item", true, of("one", tombstone(t, "a", "1", 12)))
	want("the row of the second item", "two")
	result("the second item leaves", false, of("two", tombstone(t, "a", "1", 13)))
	want("nothing")
}
