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
	"github.com/tablewake/tablewake/sinks/search"
)

// Indexes lists the indexes that the sink made, by the names that applications read.
func (s *Store) Indexes(ctx context.Context) ([]string, error) {
	if s.indexes == nil {
		return nil, errs.New("opensearch: Indexes is nil: a store without it does not know which indexes are a sink's")
	}
	return s.names(ctx)
}

// Search finds documents by the server's query string language: words in any field,
// title:shoe, +must -mustnot, Price:>10, CreatedAt:[2026-01-01 TO *]. What was written
// before is found.
func (s *Store) Search(ctx context.Context, index, query string, limit int) (search.Hits, error) {
	find := map[string]any{"match_all": map[string]any{}}
	if query != "" && query != "*" {
		find = map[string]any{"query_string": map[string]any{"query": query, "lenient": true}}
	}
	found, err := s.search(ctx, index, map[string]any{"query": find, "size": cmp.Or(limit, 10), "track_total_hits": true}, true)
	if err != nil {
		return search.Hits{}, err
	}
	hits := search.Hits{Total: found.Total.Value}
	for _, h := range found.Hits {
		hits.Documents = append(hits.Documents, h.document(index))
	}
	return hits, nil
}

// readPage is how many documents are read at once: as many of 400 KB, in base64, as an answer holds.
const readPage = 50

// Documents yields every document of an index in the order of the ids. A document that
// is written meanwhile may or may not be seen, as it was or as it is.
func (s *Store) Documents(ctx context.Context, index string) iter.Seq2[search.Document, error] {
	return func(yield func(search.Document, error) bool) {
		page := map[string]any{"size": readPage, "sort": []any{map[string]string{"_id": "asc"}}, "track_total_hits": false}
		for first := true; ; first = false {
			found, err := s.search(ctx, index, page, first)
			if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusBadRequest {
				e.Hint = "documents are read in the order of _id: allow that by the cluster setting indices.id_field_data.enabled"
			}
			if err != nil {
				yield(search.Document{}, err)
				return
			}
			for _, h := range found.Hits {
				if !yield(h.document(index), nil) {
					return
				}
			}
			if len(found.Hits) < readPage {
				return
			}
			page["search_after"] = []string{found.Hits[len(found.Hits)-1].ID}
		}
	}
}

// search asks an index through its alias, whose filter leaves tombstones out.
func (s *Store) search(ctx context.Context, index string, ask map[string]any, fresh bool) (hits, error) {
	if fresh {
		if err := s.refresh(ctx, index); err != nil {
			return hits{}, err
		}
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return hits{}, fmt.Errorf("opensearch: %w", err)
	}
	a, err := s.client.do(ctx, http.MethodPost, "/"+url.PathEscape(index)+"/_search", body)
	switch {
	case err != nil:
		return hits{}, err
	case a.status == http.StatusNotFound:
		return hits{}, fmt.Errorf("%w: %s", search.ErrNoIndex, index)
	case a.status == http.StatusBadRequest:
		return hits{}, &Error{Op: "search", Index: index, Status: a.status, Type: string(parseFailure(a.body).kind),
			Hint: "look at the query; in the language of query strings \\ escapes + - = & | > < ! ( ) { } [ ] ^ \" ~ * ? : \\ /"}
	case !a.ok():
		return hits{}, a.failure("search", index)
	}
	return readHits(a.body)
}

// hits is the answer to a search.
type hits struct {
	Total struct {
		Value uint64 `json:"value"`
	} `json:"total"`
	Hits []hit `json:"hits"`
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

// readHits reads the answer to a search, which must be of every shard.
func readHits(body []byte) (hits, error) {
	var answer struct {
		TimedOut bool `json:"timed_out"`
		Shards   struct {
			Failed int `json:"failed"`
		} `json:"_shards"`
		Hits *hits `json:"hits"`
	}
	switch err := json.Unmarshal(body, &answer); {
	case err != nil || answer.Hits == nil:
		return hits{}, pipeline.Transient(errs.New("opensearch: the server's answer is none to a search: is a proxy in between?"))
	case answer.TimedOut || answer.Shards.Failed > 0:
		return hits{}, pipeline.Transient(errs.New("opensearch: a part of the index did not answer"))
	}
	return *answer.Hits, nil
}

// Stands reads what stands at the id, as of now: tombstones too.
func (s *Store) Stands(ctx context.Context, index, id, routing string) (search.Standing, error) {
	path := "/" + url.PathEscape(physical(index)) + "/_doc/" + url.PathEscape(id)
	if s.indexes == nil {
		path = "/" + url.PathEscape(index) + "/_doc/" + url.PathEscape(id)
	}
	if routing != "" {
		path += "?routing=" + url.QueryEscape(routing)
	}
	a, err := s.client.do(ctx, http.MethodGet, path, nil)
	switch {
	case err != nil:
		return search.Standing{}, err
	case a.status == http.StatusNotFound:
		return search.Standing{}, nil
	case !a.ok():
		return search.Standing{}, a.failure("read a document", index)
	}
	var doc struct {
		Source json.RawMessage `json:"_source"`
	}
	var body struct {
		Own struct {
			Version string `json:"version"`
			Deleted bool   `json:"deleted"`
		} `json:"_tw"`
	}
	if err := json.Unmarshal(a.body, &doc); err != nil || json.Unmarshal(doc.Source, &body) != nil {
		return search.Standing{}, errs.Errorf("opensearch: the document in %s cannot be read", index)
	}
	there := search.Standing{There: true, Tombstone: body.Own.Deleted, Doc: doc.Source}
	if body.Own.Version == "" {
		return there, nil // somebody else's
	}
	if there.Version, err = pipeline.ParseVersion(body.Own.Version); err != nil {
		return search.Standing{}, errs.Errorf("opensearch: the version of the document in %s cannot be read", index)
	}
	return there, nil
}

var (
	_ search.Reader    = (*Store)(nil)
	_ search.Inspector = (*Store)(nil)
)
