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

// listedDocuments is a number of documents that needs several pages of any store.
const listedDocuments = 400

// RunListers checks that the segments of a listing, however many there are, together list each document of an index
// once. They must list nothing else: no tombstone, and no document of another index. index and neighbour are empty
// indexes that belong to the store's sink. The store must keep the routing of documents. missing is the name of an
// index that does not belong to the sink.
func RunListers(t *testing.T, store ListedStore, index, neighbour, missing string) {
	t.Helper()
	c := listerCheck{t: t, store: store, index: index}
	c.writeDocuments(neighbour)
	for _, segments := range []int{0, 1, 2, 7} {
		c.checkAllSegments(segments)
	}
	c.checkHundredthSegments(1500)
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

// listerCheck is a store with the texts of the documents that it must list.
type listerCheck struct {
	t     *testing.T
	store ListedStore
	index string
	want  []string // sorted
}

// writeDocuments writes the documents that a listing must have. It also writes tombstones, and a document of the index
// neighbour, which a listing must not have.
func (c *listerCheck) writeDocuments(neighbour string) {
	c.t.Helper()
	var first, second []search.Mutation
	for i := range listedDocuments {
		m := document(c.index, fmt.Sprint("k", i), i+1, "first", live)
		itemKey := m.ID
		switch {
		case i%3 == 0:
			m.Routing = fmt.Sprint("r", i%7)
		case i == 1:
			m.ID, itemKey = "sha256:"+strings.Repeat("0", 64), ""
		}
		first = append(first, m)
		c.want = append(c.want, fmt.Sprint(m.ID, " of ", itemKey, " at ", m.Routing, " ", m.Version, " true false ",
			documentText(c.t, m.Doc)))
	}
	slices.Sort(c.want)
	for i := range 50 {
		id := fmt.Sprint("gone", i)
		first = append(first, document(c.index, id, 1, "first", live))
		second = append(second, document(c.index, id, 2, "first", deleted))
	}
	c.apply(append(first, document(neighbour, "other", 1, "first", live)))
	c.apply(append(second, document(c.index, "never", 1, "first", deleted)))
}

func (c *listerCheck) apply(mutations []search.Mutation) {
	c.t.Helper()
	if err := applyAll(c.t, c.store, mutations...); err != nil {
		c.t.Fatal(err)
	}
}

// checkAllSegments checks that the segments have each document once.
func (c *listerCheck) checkAllSegments(segments int) {
	c.t.Helper()
	var got []string
	for segment := range max(segments, 1) {
		got = append(got, c.listSegment(segment, segments)...)
	}
	slices.Sort(got)
	if !slices.Equal(got, c.want) {
		c.t.Errorf("%d segments list %d documents, want %d", segments, len(got), len(c.want))
	}
}

// checkHundredthSegments lists every hundredth segment. Together these segments must have some documents, none of them
// twice, and at most a twentieth of all documents.
func (c *listerCheck) checkHundredthSegments(segments int) {
	c.t.Helper()
	var got []string
	for segment := 0; segment < segments; segment += 100 {
		got = append(got, c.listSegment(segment, segments)...)
	}
	if i := slices.IndexFunc(got, func(d string) bool { return !slices.Contains(c.want, d) }); i >= 0 {
		c.t.Errorf("a segment of %d lists %s", segments, got[i])
	}
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); n != len(got) || n == 0 || n > len(c.want)/20 {
		c.t.Errorf("a hundredth of %d segments has %d documents, %d of them different", segments, len(got), n)
	}
}

// listSegment returns the texts of the documents of a segment.
func (c *listerCheck) listSegment(segment, segments int) (texts []string) {
	c.t.Helper()
	l := state.Listing{Segment: segment, Segments: segments}
	l.Spend = func(context.Context, float64) error {
		c.t.Error("it spends units")
		return nil
	}
	for d, err := range c.store.ListDocuments(c.t.Context(), c.index, l) {
		if err != nil {
			c.t.Fatal(err)
		}
		texts = append(texts, fmt.Sprint(d.ID, " of ", d.Item, " at ", d.Routing, " ", d.Version, " ", d.Exists, " ",
			d.Tombstone, " ", documentText(c.t, d.Doc)))
	}
	if segments > 1 && len(texts) > len(c.want)*9/10 {
		c.t.Errorf("segment %d of %d has %d of %d documents", segment, segments, len(texts), len(c.want))
	}
	return texts
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
