package searchtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// ListedStore is a store that lists its documents.
type ListedStore interface {
	search.Store
	search.Lister
}

// listedDocuments is more than several pages of a store.
const listedDocuments = 400

// RunListers checks that the segments of a listing, however many there are, together list each document of an index
// once. They must list nothing else: no tombstone, and no document of another index. index and neighbour are empty
// indexes that belong to the store's sink. The store must keep the routing of documents. missing is the name of an
// index that does not belong to the sink.
func RunListers(t *testing.T, store ListedStore, index, neighbour, missing string) {
	t.Helper()
	apply := func(ms ...search.Mutation) {
		t.Helper()
		rs, err := store.Apply(t.Context(), ms)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	var ms []search.Mutation
	var want []string
	for i := range listedDocuments {
		m := document(index, fmt.Sprint("k", i), i+1, "first", false)
		switch {
		case i%3 == 0:
			m.Routing = fmt.Sprint("r", i%7)
		case i == 1:
			m.ID = "sha256:" + strings.Repeat("0", 64)
		}
		ms = append(ms, m)
		item := m.ID
		if i == 1 {
			item = ""
		}
		want = append(want, fmt.Sprint(m.ID, " of ", item, " at ", m.Routing, " ", m.Version, " true false ",
			documentText(t, m.Doc)))
	}
	for i := range 50 {
		ms = append(ms, document(index, fmt.Sprint("gone", i), 1, "first", false))
	}
	ms = append(ms, document(neighbour, "other", 1, "first", false))
	apply(ms...)
	ms = ms[:0]
	for i := range 50 {
		ms = append(ms, document(index, fmt.Sprint("gone", i), 2, "first", true))
	}
	apply(append(ms, document(index, "never", 1, "first", true))...)
	slices.Sort(want)

	list := func(l state.Listing) (got []string) {
		t.Helper()
		l.Spend = func(context.Context, float64) error {
			t.Error("it spends units")
			return nil
		}
		for d, err := range store.ListDocuments(t.Context(), index, l) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(d.ID, " of ", d.Item, " at ", d.Routing, " ", d.Version, " ", d.Exists, " ", d.Tombstone,
				" ", documentText(t, d.Doc)))
		}
		return got
	}
	for _, segments := range []int{0, 1, 2, 7, 1500} {
		var got []string
		for segment := range max(segments, 1) {
			if segments > 1000 { // list one segment in a hundred: each must have only a small number of documents
				segment *= 100
			}
			if segment >= max(segments, 1) {
				break
			}
			part := list(state.Listing{Segment: segment, Segments: segments})
			if segments > 1 && len(part) > len(want)*9/10 {
				t.Errorf("segment %d of %d has %d of %d documents", segment, segments, len(part), len(want))
			}
			if segments > 1000 {
				if !slices.ContainsFunc(part, func(d string) bool { return !slices.Contains(want, d) }) {
					got = append(got, part...)
				}
				continue
			}
			got = append(got, part...)
		}
		slices.Sort(got)
		if segments > 1000 {
			if n := len(slices.Compact(slices.Clone(got))); n != len(got) || n == 0 || n > len(want)/20 {
				t.Errorf("a hundredth of %d segments has %d documents, %d of them different", segments, len(got), n)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d segments list %d documents, want %d", segments, len(got), len(want))
		}
	}
	for _, err := range store.ListDocuments(t.Context(), index, state.Listing{}) {
		if err != nil {
			t.Error(err)
		}
		break // an early stop must not panic
	}
	for _, l := range []state.Listing{{Segment: 1}, {Segment: 2, Segments: 2}, {Segment: -1}} {
		if n, err := count(t, store, index, l); n > 0 || err == nil {
			t.Errorf("segment %d of %d lists %d documents, error %v", l.Segment, l.Segments, n, err)
		}
	}
	if n, err := count(t, store, missing, state.Listing{}); n > 0 || !errors.Is(err, search.ErrNoIndex) {
		t.Errorf("an index that is not the sink's lists %d documents, error %v, want ErrNoIndex", n, err)
	}
}

// documentText returns the canonical text of a document, because servers format JSON differently.
func documentText(t *testing.T, doc []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}

// count returns the number of documents that are listed before an error.
func count(t *testing.T, store search.Lister, index string, l state.Listing) (n int, err error) {
	t.Helper()
	for _, err := range store.ListDocuments(t.Context(), index, l) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
