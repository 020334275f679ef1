package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

var _ search.Lister = (*Store)(nil)

const (
	// maxSlices is the maximum number of slices of a scroll that the server accepts by default
	// (index.max_slices_per_scroll).
	maxSlices = 1024

	// scrollFor is how long the server keeps a scroll between two pages. It is longer than a listing should ever wait.
	// It is bounded because a scroll keeps old files of its index on the disk.
	scrollFor = "30m"
)

// ListDocuments scrolls through the index. The server divides the index into slices, and each segment of the listing
// reads one slice. OpenSearch Serverless has no scrolls, and no server accepts more than 1,024 slices. In these two
// cases each segment reads all documents in the order of their ids, and yields only its own documents. If somebody
// changed the version of a document by hand and it cannot be parsed, Version is zero. ListDocuments leaves out
// documents that no sink wrote.
func (s *Store) ListDocuments(
	ctx context.Context, index string, l state.Listing,
) iter.Seq2[search.ListedDocument, error] {
	return seq.Lazy(func() (iter.Seq2[search.ListedDocument, error], error) {
		if err := s.checkListing(ctx, index, l); err != nil {
			return nil, err
		}
		slicedByServer := !s.serverless && l.Segments <= maxSlices
		hits := s.readHitsByID(ctx, index)
		if slicedByServer {
			hits = s.scrollHits(ctx, index, l)
		}
		documents := seq.Map(hits, func(h *hit) (d search.ListedDocument, keep bool, err error) {
			d, keep = listedDocument(index, h)
			inSegment := slicedByServer || l.Has(d.ID)
			return d, keep && inSegment, nil
		})
		return documents, nil
	})
}

// checkListing returns an error if the listing's segment is not valid, or if the sink has no such index.
func (s *Store) checkListing(ctx context.Context, index string, l state.Listing) error {
	if err := l.Check(); err != nil || s.indexes == nil {
		return err
	}
	names, err := s.listNames(ctx)
	if err == nil && !slices.Contains(names, index) {
		err = fmt.Errorf("%w: %s", search.ErrNoIndex, index)
	}
	return err
}

// listedDocument returns the document of a hit. It returns false if the hit is a tombstone, or if no sink wrote it.
func listedDocument(index string, h *hit) (search.ListedDocument, bool) {
	d := search.ListedDocument{ID: h.ID, Routing: h.Routing, Item: search.ItemOf(h.ID)}
	var own ownMark
	d.StoredDocument, own, _ = storedDocument(index, h.Source)
	return d, own.Version != "" && !own.Deleted
}

// scrollHits yields the documents of one slice of an index. It reads them in pages.
func (s *Store) scrollHits(ctx context.Context, index string, l state.Listing) iter.Seq2[*hit, error] {
	return func(yield func(*hit, error) bool) {
		if err := s.refresh(ctx, index); err != nil {
			yield(nil, err)
			return
		}
		page, err := s.openScroll(ctx, index, l)
		if page.Scroll != "" {
			defer func() { s.endScroll(ctx, page.Scroll) }() // each page may have another id: the last one counts
		}
		for err == nil && len(page.Hits.Hits) > 0 {
			if !page.Hits.yield(yield) {
				return
			}
			page, err = s.readScrollPage(ctx, index, page.Scroll)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

const opList = "list documents"

// openScroll returns the first page of a scroll. Even if it returns an error, the page may have the id of a scroll. The
// caller must end that scroll.
func (s *Store) openScroll(ctx context.Context, index string, l state.Listing) (searchAnswer, error) {
	query := map[string]any{
		"size": readPage, "sort": []string{"_doc"},
		"query": map[string]any{"bool": map[string]any{"must_not": map[string]any{"term": map[string]any{"_tw.deleted": true}}}},
	}
	if l.Segments > 1 {
		query["slice"] = map[string]int{"id": l.Segment, "max": l.Segments}
	}
	page, found, err := s.sendSearch(ctx, call{op: opList, index: index,
		path: "/" + url.PathEscape(index) + "/_search?scroll=" + scrollFor, body: query})
	if err == nil && !found {
		err = fmt.Errorf("%w: %s", search.ErrNoIndex, index)
	}
	return page, err
}

// readScrollPage returns the next page of a scroll. Even if it returns an error, the page has the id of the scroll.
func (s *Store) readScrollPage(ctx context.Context, index, scroll string) (searchAnswer, error) {
	page, found, err := s.sendSearch(ctx, call{op: opList, index: index, path: "/_search/scroll",
		body: map[string]string{"scroll": scrollFor, "scroll_id": scroll}})
	page.Scroll = cmp.Or(page.Scroll, scroll)
	if err == nil && !found {
		err = pipeline.Transient(
			errs.New("opensearch: the server gave up a scroll: it was restarted, or the listing stood still for " + scrollFor +
				": list the segment again"))
	}
	return page, err
}

// endScroll ends a scroll. The server ends it by itself later, so an error does no harm.
func (s *Store) endScroll(ctx context.Context, scroll string) {
	_, _, _ = s.client.ask(context.WithoutCancel(ctx), call{op: "end a scroll", method: http.MethodDelete,
		path: "/_search/scroll", body: map[string]string{"scroll_id": scroll}})
}
