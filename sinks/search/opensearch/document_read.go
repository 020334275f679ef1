package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/search"
)

// Indexes lists the indexes that the sink created, by the names that applications use.
func (s *Store) Indexes(ctx context.Context) ([]string, error) {
	if s.indexes == nil {
		return nil, errs.New("opensearch: Indexes is nil: a store without it does not know which indexes are a sink's")
	}
	return s.listNames(ctx)
}

// Search finds documents by the server's query string language. A query may have words in any field, title:shoe, +must
// -mustnot, Price:>10 and CreatedAt:[2026-01-01 TO *]. Search refreshes the index first, so it finds all documents that
// were written before the call.
func (s *Store) Search(ctx context.Context, index, query string, limit int) (search.Hits, error) {
	find := map[string]any{"match_all": map[string]any{}}
	if query != "" && query != "*" {
		find = map[string]any{"query_string": map[string]any{"query": query, "lenient": true}}
	}
	if err := s.refresh(ctx, index); err != nil {
		return search.Hits{}, err
	}
	found, err := s.search(ctx, index, map[string]any{"query": find, "size": cmp.Or(limit, 10), "track_total_hits": true})
	if err != nil {
		return search.Hits{}, err
	}
	hits := search.Hits{Total: found.Total.Value}
	for _, h := range found.Hits {
		hits.Documents = append(hits.Documents, h.document(index))
	}
	return hits, nil
}

// readPage is the number of documents in one read. 50 documents of 400 KB, in base64, fit into the largest answer that
// the client accepts.
const readPage = 50

// Documents yields every document of an index in the order of the ids. A document that is written during the read may
// be missing, or have its former or its new content.
func (s *Store) Documents(ctx context.Context, index string) iter.Seq2[search.Document, error] {
	return seq.Map(s.readHitsByID(ctx, index), func(h *hit) (search.Document, bool, error) {
		return h.document(index), true, nil
	})
}

// readHitsByID yields the documents of an index in the order of the ids. It reads them in pages, and keeps nothing open
// on the server between two pages.
func (s *Store) readHitsByID(ctx context.Context, index string) iter.Seq2[*hit, error] {
	return func(yield func(*hit, error) bool) {
		if err := s.refresh(ctx, index); err != nil {
			yield(nil, err)
			return
		}
		page := map[string]any{"size": readPage, "sort": []any{map[string]string{"_id": "asc"}}, "track_total_hits": false}
		for {
			found, err := s.search(ctx, index, page)
			if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusBadRequest {
				e.Hint = "documents are read in the order of _id: allow that by the cluster setting indices.id_field_data.enabled"
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !found.yield(yield) || len(found.Hits) < readPage {
				return
			}
			page["search_after"] = []string{found.Hits[len(found.Hits)-1].ID}
		}
	}
}

// search queries an index through its alias, whose filter hides tombstones.
func (s *Store) search(ctx context.Context, index string, query map[string]any) (*hits, error) {
	a, found, err := s.find(ctx, "search", index, "/"+url.PathEscape(index), query)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusBadRequest {
		return nil, &Error{Op: e.Op, Index: index, Status: e.Status, Type: e.Type,
			Hint: "look at the query; in the language of query strings \\ escapes + - = & | > < ! ( ) { } [ ] ^ \" ~ * ? : \\ /"}
	}
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: %s", search.ErrNoIndex, index)
	}
	return a.Hits, nil
}

// searchAnswer is the answer to a search.
type searchAnswer struct {
	Scroll   string `json:"_scroll_id"`
	TimedOut bool   `json:"timed_out"`
	Shards   struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits         *hits `json:"hits"`
	Aggregations struct {
		Births struct {
			Buckets []struct {
				Key string
				N   int `json:"doc_count"`
			}
		}
		Gone struct {
			N int `json:"doc_count"`
		}
	}
}

type hits struct {
	Total struct {
		Value uint64 `json:"value"`
	} `json:"total"`
	Hits []hit `json:"hits"`
}

// yield yields the hits. It returns false if the caller stopped the sequence.
func (h *hits) yield(yield func(*hit, error) bool) bool {
	for i := range h.Hits {
		if !yield(&h.Hits[i], nil) {
			return false
		}
	}
	return true
}

type hit struct {
	ID      string          `json:"_id"`
	Routing string          `json:"_routing"`
	Score   float64         `json:"_score"`
	Seq     int64           `json:"_seq_no"`
	Term    int64           `json:"_primary_term"`
	Source  json.RawMessage `json:"_source"`
}

func (h *hit) document(index string) search.Document {
	return search.Document{Index: index, ID: h.ID, Score: h.Score, Doc: h.Source}
}

// find sends a search to the indexes at a path. found is false if an index is missing.
func (s *Store) find(ctx context.Context, op, index, path string, query any) (a searchAnswer, found bool, err error) {
	return s.sendSearch(ctx, call{op: op, index: index, path: path + "/_search", body: query})
}

// sendSearch sends a search, and returns an error unless every shard answered. found is false if the server has no
// such index or scroll.
func (s *Store) sendSearch(ctx context.Context, q call) (a searchAnswer, found bool, err error) {
	q.method = http.MethodPost
	body, found, err := s.client.ask(ctx, q)
	if err != nil || !found {
		return a, false, err
	}
	if json.Unmarshal(body, &a) != nil || a.Hits == nil {
		return a, false, pipeline.Transient(errs.New(
			"opensearch: the server's answer is none to a search: is a proxy in between?"))
	}
	if a.TimedOut || a.Shards.Failed > 0 {
		return a, false, pipeline.Transient(errs.New("opensearch: a part of the index did not answer"))
	}
	return a, true, nil
}

// physical returns the physical name of the index of an alias, or the name itself if the store creates no indexes.
func (s *Store) physical(name string) string {
	if s.indexes == nil {
		return name
	}
	return physicalName(name)
}

// physicalPath returns the path that names the physical indexes of several aliases.
func (s *Store) physicalPath(names []string) string {
	physicals := make([]string, len(names))
	for i, name := range names {
		physicals[i] = s.physical(name)
	}
	return "/" + inPath(physicals)
}

// refresh makes earlier writes visible to searches. It does nothing for OpenSearch Serverless, which refreshes by
// itself.
func (s *Store) refresh(ctx context.Context, names ...string) error {
	if s.serverless {
		return nil
	}
	_, _, err := s.client.ask(ctx, call{op: "refresh an index", index: names[0], method: http.MethodPost,
		path: s.physicalPath(names) + "/_refresh"})
	return err
}

// ReadStored returns the document or tombstone that is stored at an id now. It returns the zero StoredDocument if
// nothing is stored.
func (s *Store) ReadStored(ctx context.Context, index, id, routing string) (stored search.StoredDocument, err error) {
	path := pathIn(s.physical(index), "/_doc/"+url.PathEscape(id))
	if routing != "" {
		path += "?routing=" + url.QueryEscape(routing)
	}
	answer, found, err := s.client.ask(ctx, call{op: "read a document", index: index, method: http.MethodGet, path: path})
	if err != nil || !found {
		return stored, err
	}
	var doc struct {
		Found  bool            `json:"found"`
		Source json.RawMessage `json:"_source"`
	}
	if json.Unmarshal(answer, &doc) != nil || !doc.Found {
		return stored, pipeline.Transient(errs.Errorf(
			"opensearch: the answer holds no document of %s: is a proxy in between?", index))
	}
	stored, _, err = storedDocument(index, doc.Source)
	return stored, err
}

// ownMark is the field _tw of a document. A document without _tw.version was not written by a sink.
type ownMark struct {
	Version string `json:"version"`
	Birth   string `json:"birth"`
	Deleted bool   `json:"deleted"`
}

// storedDocument parses the source of a document or tombstone. If only the version cannot be parsed, it returns an
// error, and all other fields of the results are set.
func storedDocument(index string, source json.RawMessage) (stored search.StoredDocument, own ownMark, err error) {
	var body struct {
		Own ownMark `json:"_tw"`
	}
	if json.Unmarshal(source, &body) != nil {
		return stored, own, errs.Errorf("opensearch: the document in %s cannot be read", index)
	}
	stored = search.StoredDocument{Exists: true, Tombstone: body.Own.Deleted, Doc: source}
	if body.Own.Version == "" {
		return stored, body.Own, nil
	}
	if stored.Version, err = record.ParseVersion(body.Own.Version); err != nil {
		return stored, body.Own, errs.Errorf("opensearch: the version of the document in %s cannot be read", index)
	}
	return stored, body.Own, nil
}

var (
	_ search.Reader    = (*Store)(nil)
	_ search.Inspector = (*Store)(nil)
)
