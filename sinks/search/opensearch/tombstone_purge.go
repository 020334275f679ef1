package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// The field _tw.gone of a tombstone is the time when the tombstone was written. It is read from the store's clock and
// is not the time of the change. A replay writes tombstones of old changes, and they must be kept from the time of the
// replay on.

// goneAt is the format of _tw.gone.
const goneAt = "2006-01-02T15:04:05.000Z"

// documentToSend returns the document of a mutation. It adds _tw.gone to a tombstone.
func (s *Store) documentToSend(m *search.Mutation) []byte {
	inner, isComplete := bytes.CutSuffix(m.Doc, []byte("}}"))
	if !m.Tombstone || !isComplete {
		return m.Doc
	}
	doc := append(slices.Clone(inner), `,"gone":"`...)
	doc = s.clock().UTC().AppendFormat(doc, goneAt)
	return append(doc, `"}}`...)
}

// purgePage is the number of tombstones of one purge request.
const purgePage = 1000

// Purge deletes the tombstones that were written before a time, and returns how many it deleted. Without its tombstone,
// a deleted document can be written again by an older change. So purge only tombstones that are older than
// state.guard_retention, because the sink refuses changes of that age.
//
// Purge deletes a tombstone only if it still has the sequence number that was read, in both modes. A sequence number
// identifies one write. In mode fast a version does not: all writes of one second have the same version, even a put
// after the tombstone.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	names, err := s.Indexes(ctx)
	if err != nil {
		return 0, err
	}
	purged := 0
	for _, name := range names {
		n, err := s.purge(ctx, name, before)
		purged += n
		if err != nil {
			return purged, err
		}
	}
	return purged, nil
}

// purge deletes the old tombstones of one index.
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
		a, found, err := s.find(ctx, "look for tombstones", name, s.physicalPath([]string{name}), query)
		if err != nil || !found || len(a.Hits.Hits) == 0 {
			return purged, err
		}
		n, err := s.deleteUnchanged(ctx, name, a.Hits.Hits)
		purged += n
		if err != nil || n == 0 {
			return purged, err // the tombstones that are left have changed since they were read
		}
	}
}

// deleteUnchanged deletes the tombstones that have not changed since they were read.
func (s *Store) deleteUnchanged(ctx context.Context, name string, hits []hit) (purged int, err error) {
	var body []byte
	for _, h := range hits {
		body = appendTarget(append(body, `{"delete":{`...), "", &search.Mutation{ID: h.ID, Routing: h.Routing})
		body = fmt.Appendf(body, ",\"if_seq_no\":%d,\"if_primary_term\":%d}}\n", h.Seq, h.Term)
	}
	var itemErr error // the first one
	q := call{op: "purge tombstones", index: name, path: pathIn(physicalName(name), "/_bulk")}
	err = s.client.sendBulkItems(ctx, q, body, len(hits), func(_ int, it *bulkItem) {
		switch {
		case it.status == http.StatusOK:
			purged++
		case it.status == http.StatusConflict, it.status == http.StatusNotFound: // another write came first
		case itemErr == nil:
			itemErr = it.err("purge a tombstone", name)
		}
	})
	return purged, cmp.Or(err, itemErr)
}

var _ state.Purger = (*Store)(nil)
