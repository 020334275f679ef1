package archive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// allRows returns all different rows of the Parquet objects of a store, sorted.
func allRows(t interface{ Fatal(...any) }, m *memory) []string {
	var all []string
	for _, name := range m.names() {
		for _, row := range rows(t, m.objects[name]) {
			all = append(all, fmt.Sprint(row))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Compact loses no row and no part of a row, however the changes are cut into objects, whatever columns the objects
// have, and also after a crash. Objects with different columns stay separate.
func TestCompactKeepsEveryRow(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{Snapshots: true, Records: 12})
	columns := [][]archive.Column{nil, {{Name: "status", Value: parse(t, "{Status?}")}}, {{Name: "rank", Value: parse(t, "{Rank}")}, {Name: "status", Value: parse(t, "{Status?}")}}}
	crash := errors.New("crash")
	rapid.Check(t, func(rt *rapid.T) {
		store := &memory{}
		stream := streams.Draw(rt, "stream")
		forms := make(map[string]bool)
		for i := 0; i < len(stream.Changes); {
			n := min(len(stream.Changes), i+rapid.IntRange(1, 8).Draw(rt, "batch"))
			form := rapid.IntRange(0, len(columns)-1).Draw(rt, "columns")
			o := archive.Options{Store: store, Format: archive.Parquet, Columns: columns[form], Images: archive.DynamoDBJSON}
			if rapid.IntRange(0, 4).Draw(rt, "plain") == 0 {
				o.Images = archive.PlainJSON
			}
			forms[fmt.Sprint(form, o.Images)] = true
			mustWrite(t, newSink(t, o), stream.Changes[max(0, i-rapid.IntRange(0, 3).Draw(rt, "again")):n]...)
			i = n
		}
		want, wantEntries := allRows(rt, store), told(entries(t, store))
		check := func(when string) {
			if got := allRows(rt, store); !slices.Equal(got, want) {
				rt.Fatalf("%s the rows are\n%q, want\n%q", when, got, want)
			}
			if got := told(entries(t, store)); got != wantEntries {
				rt.Fatalf("%s it is read back as\n%s, want\n%s", when, got, wantEntries)
			}
		}
		objects := len(store.objects)
		if _, err := archive.Compact(t.Context(), archive.CompactOptions{Store: tagging{store, crash}}); objects > len(forms) && !errors.Is(err, crash) {
			rt.Fatalf("error %v", err)
		}
		check("after a crash")
		if _, err := archive.Compact(t.Context(), archive.CompactOptions{Store: tagging{memory: store}}); err != nil {
			rt.Fatal(err)
		}
		check("in the end")
		if len(store.objects) != len(forms) {
			rt.Fatalf("%d objects are left, want one for each of %q", len(store.objects), slices.Collect(maps.Keys(forms)))
		}
	})
}

// If a store damages or exchanges the large object, Compact returns an error and removes no small object.
func TestCompactVerifiesRows(t *testing.T) {
	store := &memory{}
	for i := range 4 {
		mustWrite(t, newSink(t, archive.Options{Store: store, Format: archive.Parquet}), changes(t, line("INSERT", fmt.Sprintf("k%d", i), i+1, ""))...)
	}
	objects := store.names()
	foreign := archive.Options{Store: &memory{}, Format: archive.Parquet}
	mustWrite(t, newSink(t, foreign), changes(t, line("INSERT", "other", 1, ""))...)
	for _, other := range foreign.Store.(*memory).objects {
		if _, err := archive.Compact(t.Context(), archive.CompactOptions{Store: swapping{tagging{memory: store}, other}}); err == nil {
			t.Error("no error")
		}
	}
	if _, err := archive.Compact(t.Context(), archive.CompactOptions{Store: forgetful{tagging{memory: store}}}); err == nil {
		t.Error("no error")
	}
	for _, name := range objects {
		if _, ok := store.objects[name]; !ok {
			t.Errorf("%s is removed", name)
		}
	}
}

// swapping is a store that puts body instead of the body of the object.
type swapping struct {
	tagging
	body []byte
}

func (s swapping) Put(ctx context.Context, o archive.Object) error {
	o.Body = s.body
	return s.tagging.Put(ctx, o)
}
