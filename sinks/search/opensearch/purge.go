package opensearch

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// A tombstone says in _tw.gone when it was written: by the clock of the store and not
// by the change's time, since a replay writes tombstones of long ago that guard from
// now on.

// goneAt is the form of _tw.gone.
const goneAt = "2006-01-02T15:04:05.000Z"

// document is what is written of a mutation: of a tombstone with when that was.
func (s *Store) document(m *search.Mutation) []byte {
	inner, whole := bytes.CutSuffix(m.Doc, []byte("}}"))
	if !m.Tombstone || !whole {
		return m.Doc
	}
	doc := append(slices.Clone(inner), `,"gone":"`...)
	doc = s.clock().UTC().AppendFormat(doc, goneAt)
	return append(doc, `"}}`...)
}

// purgePage is how many tombstones are purged at once.
const purgePage = 1000

// Purge removes the tombstones that were written before a time, each on condition that
// it is unchanged, and tells how many. After that the server lets in what is older than
// they were: purge what is older than state.guard_retention alone, before which changes
// are refused.
//
// The condition is on the sequence number that the server gave the tombstone, in either
// mode. It names one write exactly; the version of mode fast would be that of all the
// writes of its second, also of a document that came back in it.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	names, err := s.Indexes(ctx)
	purged := 0
	for _, name := range names {
		if err != nil {
			break
		}
		var n int
		n, err = s.purge(ctx, name, before)
		purged += n
	}
	return purged, err
}

func (s *Store) purge(ctx context.Context, name string, before time.Time) (purged int, err error) {
	query := map[string]any{
		"size": purgePage, "_source": false, "seq_no_primary_term": true, "sort": []string{"_doc"},
		"query": map[string]any{"bool": map[string]any{"filter": []any{
			map[string]any{"term": map[string]any{"_tw.deleted": true}},
			map[string]any{"range": map[string]any{"_tw.gone": map[string]any{"lt": before.UTC().Format(goneAt)}}},
		}}},
	}
	for {
		if err := s.refresh(ctx, name); err != nil {
			return purged, err
		}
		a, found, err := s.find(ctx, "look for tombstones", name, behind([]string{name}), query)
		if err != nil || !found || len(a.Hits.Hits) == 0 {
			return purged, err
		}
		n, err := s.forget(ctx, name, a.Hits.Hits)
		purged += n
		if err != nil || n == 0 {
			return purged, err // what is left has changed
		}
	}
}

// forget deletes tombstones that are still as they were read.
func (s *Store) forget(ctx context.Context, name string, hits []hit) (purged int, err error) {
	var body []byte
	for _, h := range hits {
		body = appendAddress(append(body, `{"delete":{`...), "", &search.Mutation{ID: h.ID, Routing: h.Routing})
		body = fmt.Appendf(body, ",\"if_seq_no\":%d,\"if_primary_term\":%d}}\n", h.Seq, h.Term)
	}
	a, err := s.client.bulk(ctx, within(physical(name), "/_bulk"), body)
	if err != nil {
		return 0, err
	}
	if !a.ok() {
		return 0, a.failure("purge tombstones", name)
	}
	ok := parseItems(a.body, len(hits), func(_ int, it *bulkItem) {
		switch {
		case it.status == http.StatusOK:
			purged++
		case it.status == http.StatusConflict, it.status == http.StatusNotFound: // another write was faster
		case err == nil:
			err = it.err("purge a tombstone", name)
		}
	})
	if !ok {
		return purged, errShort
	}
	return purged, err
}

var _ state.Purger = (*Store)(nil)
