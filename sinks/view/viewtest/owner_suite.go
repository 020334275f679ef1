package viewtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// plannedSink is a sink with a planner.
type plannedSink interface {
	pipeline.Sink
	pipeline.Planner
}

// RunOwners checks that a row belongs to the sink that first wrote it. It does so for all pairs of kinds of sinks. If
// the second sink changes the row, its change must fail with a [view.ForeignRowError], whose text is the same for every
// store, and the row must not change. RunOwners also checks that a row belongs to the birth, the id of a sink's output,
// with which it was written; see checkBirth.
func RunOwners(t *testing.T, open Open) {
	kinds := []string{"GuardsItself", "GuardsItselfInPlace", "GuardedByItem", "Group"}
	others := map[string]view.Target{"AnotherSink": {View: "two", Pipeline: "test"},
		"AnotherPipeline": {View: "one", Pipeline: "others"}}
	for name, other := range others {
		for _, first := range kinds {
			for _, second := range kinds {
				t.Run(fmt.Sprintf("%sOver%s/%s", second, first, name), func(t *testing.T) {
					s := opener(t, open)()
					checkOwner(t, s, newSink(t, s, first, "one", "test", ""),
						newSink(t, s, second, other.View, other.Pipeline, ""), other)
				})
			}
		}
	}
	for _, kind := range kinds {
		t.Run(kind+"/AnotherBirth", func(t *testing.T) { checkBirth(t, opener(t, open)(), kind) })
	}
}

// checkBirth checks that a row belongs to the birth with which it was written. If the state is lost, the sink gets
// another birth. Then each change that would write, replace or delete the row must fail fatally, and the row must not
// change.
func checkBirth(t *testing.T, s StateStore, kind string) {
	stream := itemStream(t)
	must(t, writeOne(t, newSink(t, s, kind, "one", "test", "first"), stream, 0))
	before := readRows(t, s, target.Table, view.Query{})
	for _, other := range []string{"second", ""} {
		second := newSink(t, s, kind, "one", "test", other)
		for change := range 2 {
			err := writeOne(t, second, stream, change)
			wantOtherBirth(t, fmt.Sprintf("change %d under the birth %q", change, other), err)
		}
		_ = writeOne(t, second, stream, 2) // it may succeed, because the item is unknown
		checkEqual(t, "rows behind the birth "+other, readRows(t, s, target.Table, view.Query{}), before)
	}
	must(t, writeOne(t, newSink(t, s, kind, "one", "test", "first"), stream, 2))
	if after := readRows(t, s, target.Table, view.Query{}); len(after) != 0 {
		t.Errorf("under its own birth the row stays: %v", after)
	}
}

// itemStream returns an insert, an update and a removal of one item.
func itemStream(t *testing.T) *sinktest.Stream {
	t.Helper()
	item := func(status string) sinktest.Item {
		return sinktest.Item{"PK": text("a"), "SK": text("1"), "Status": text(status)}
	}
	stream, err := sinktest.Build(
		sinktest.Record{EventName: "INSERT", New: item("paid")},
		sinktest.Record{EventName: "MODIFY", Old: item("paid"), New: item("shipped")},
		sinktest.Record{EventName: "REMOVE", Old: item("shipped")},
	)
	must(t, err)
	return stream
}

// writeOne plans and writes one change.
func writeOne(t *testing.T, sink plannedSink, stream *sinktest.Stream, change int) error {
	t.Helper()
	ds := []pipeline.Delivery{{Change: stream.Changes[change]}}
	must(t, sink.Plan(&ds[0]))
	err := sink.Write(t.Context(), ds)
	if batch, ok := errors.AsType[*pipeline.BatchError](err); ok {
		return batch.Failed[0]
	}
	return err
}

// newSink returns a sink of the given kind. The sort key of its row is the item's canonical key.
func newSink(t *testing.T, s StateStore, kind, name, pipe, birth string) plannedSink {
	t.Helper()
	sk := "{@key}"
	if !strings.HasPrefix(kind, "GuardsItself") {
		sk = "{PK},{SK}"
	}
	pkAttribute, skAttribute := attribute(t, "PK", "r", template.Options{}), attribute(t, "SK", sk, template.Options{})
	if kind == "Group" {
		sink, err := view.NewAggregate(view.AggregateOptions{
			Name: name, Pipeline: pipe, Birth: birth, Table: target.Name, Store: s, PK: pkAttribute, SK: skAttribute,
			Values: []view.Value{{Name: "n", Kind: "count"}, {Name: "status", Kind: "max", Path: "Status"}},
		})
		must(t, err)
		return sink
	}
	sink, err := view.New(view.Options{
		Name: name, Pipeline: pipe, Birth: birth, Table: target.Name, Store: s, PK: pkAttribute, SK: skAttribute,
		Attributes: []view.Attribute{attribute(t, "status", "{Status}", template.Options{})},
		InPlace:    kind == "GuardsItselfInPlace",
	})
	must(t, err)
	return sink
}

// attribute returns an attribute whose template is source.
func attribute(t *testing.T, name, source string, o template.Options) view.Attribute {
	t.Helper()
	parsed, err := template.Parse(source, o)
	must(t, err)
	return view.Attribute{Name: name, Template: parsed}
}

// checkOwner checks that the second sink cannot change the row of the first sink. other names the second sink.
func checkOwner(t *testing.T, s StateStore, first, second plannedSink, other view.Target) {
	stream := itemStream(t)
	must(t, writeOne(t, first, stream, 0))
	before := readRows(t, s, target.Table, view.Query{})
	if len(before) != 1 {
		t.Fatalf("the first sink has the rows %v", before)
	}

	for change := range 2 {
		err := writeOne(t, second, stream, change)
		foreign, ok := errors.AsType[*view.ForeignRowError](err)
		if !ok {
			t.Fatalf("the second sink's change %d: got %v, want a ForeignRowError", change, err)
		}
		want := fmt.Sprintf(
			`view %q of pipeline %q: the row PK="r" SK="a,1" of table %s belongs to the view "one" of pipeline "test": give one of the two another table or another row key`,
			other.View, other.Pipeline, foreign.Target.Name)
		checkPermanent(t, "the second sink", err, want)
	}
	checkEqual(t, "rows behind the second sink", readRows(t, s, target.Table, view.Query{}), before)
	_ = writeOne(t, second, stream, 2) // it may succeed, because the sink has no row
	checkEqual(t, "rows behind the second sink's delete", readRows(t, s, target.Table, view.Query{}), before)

	if err := writeOne(t, first, stream, 1); err != nil {
		t.Errorf("the first sink continues: %v", err)
	}
	if after := readRows(t, s, target.Table, view.Query{}); len(after) != 1 || after[0] == before[0] {
		t.Errorf("the first sink's row stays %v", after)
	}
}
