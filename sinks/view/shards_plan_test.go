package view_test

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// All rows of an item are in its shard, and each plan shows the shard in the row's key. If the key reads no attribute,
// this is also true for a change without an old image.
func TestPlan_RowsStayInTheirShard(t *testing.T) {
	o := byStatus(t, nil)
	o.PK, o.Shards = attribute(t, "PK=STATUS#{Status}#{@shard}"), 10
	all := byStatus(t, nil)
	all.PK, all.Shards, all.When = attribute(t, "PK=ALL#{@shard}"), 10, nil
	keys := itemOf()
	paid, shipped := itemOf("Type=Order", "Status=paid"), itemOf("Type=Order", "Status=shipped")
	for _, c := range []struct {
		view   view.Options
		record sinktest.Record
		want   string
	}{
		{o, sinktest.Record{EventName: "INSERT", New: paid}, `put row PK="STATUS#paid#7" SK="u,o" (enters)`},
		{o, sinktest.Record{EventName: "MODIFY", Old: paid, New: paid}, `put row PK="STATUS#paid#7" SK="u,o" (stays)`},
		{o, sinktest.Record{EventName: "MODIFY", Old: paid, New: shipped},
			`put row PK="STATUS#shipped#7" SK="u,o" (moves here); tombstone row PK="STATUS#paid#7" SK="u,o" (moves away)`},
		{o, sinktest.Record{EventName: "REMOVE", Old: shipped},
			`tombstone row PK="STATUS#shipped#7" SK="u,o" (item removed)`},
		{all, sinktest.Record{EventName: "REMOVE", Keys: keys, ViewType: "KEYS_ONLY"},
			`tombstone row PK="ALL#7" SK="u,o" (item removed)`},
	} {
		d := pipeline.Delivery{Change: changes(t, c.record)[0]}
		if err := newSink(t, c.view).Plan(&d); err != nil {
			t.Fatal(err)
		}
		if got := planned(&d); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
