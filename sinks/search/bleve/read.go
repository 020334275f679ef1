package bleve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/blevesearch/bleve/v2"

	"github.com/tablewake/tablewake/sinks/search"
)

// Search finds documents by Bleve's query string syntax: words and "a phrase" in
// any field, title:shoe, +must -mustnot, Price:>10, CreatedAt:>="2026-01-01".
func (s *Store) Search(ctx context.Context, index, text string, limit int) (search.Hits, error) {
	ix, err := s.index(index, false)
	if err != nil {
		return search.Hits{}, err
	}
	live, err := liveQuery(text)
	if err != nil {
		return search.Hits{}, err
	}
	request := bleve.NewSearchRequestOptions(live, cmp.Or(limit, 10), 0, false)
	request.Fields = []string{sourceField}
	request.SortBy([]string{"-_score", "_id"})
	var hits search.Hits
	err = ix.use(func(b bleve.Index) error {
		result, err := b.SearchInContext(ctx, request)
		if err != nil {
			return fmt.Errorf("bleve: search %s: %w", index, err)
		}
		hits.Total = result.Total
		for _, hit := range result.Hits {
			source, ok := hit.Fields[sourceField].(string)
			if !ok {
				return fmt.Errorf("bleve: document %s of %s has lost its source", hit.ID, index)
			}
			hits.Documents = append(hits.Documents, search.Document{Index: index, ID: hit.ID, Score: hit.Score, Doc: json.RawMessage(source)})
		}
		return nil
	})
	return hits, err
}

// Documents yields every document of an index in the order of the ids, as they
// stood when it began. The store stays open while it goes on: closing it waits.
func (s *Store) Documents(ctx context.Context, index string) iter.Seq2[search.Document, error] {
	return func(yield func(search.Document, error) bool) {
		ix, err := s.index(index, false)
		if err == nil {
			err = ix.use(func(b bleve.Index) error { return documents(ctx, b, index, yield) })
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(search.Document{}, err)
		}
	}
}

// errStopped means that the one who reads wants no more.
var errStopped = errors.New("stopped")

func documents(ctx context.Context, b bleve.Index, index string, yield func(search.Document, error) bool) (err error) {
	reader, err := openReader(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	ids, err := reader.FieldDict("_id") // in order; of deleted documents too
	if err != nil {
		return fmt.Errorf("bleve: %w", err)
	}
	defer func() { err = errors.Join(err, ids.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry, err := ids.Next()
		if err != nil {
			return fmt.Errorf("bleve: %w", err)
		}
		if entry == nil {
			return nil
		}
		source, ok, err := storedField(reader, entry.Term, sourceField)
		if err != nil {
			return err
		}
		if ok && !yield(search.Document{Index: index, ID: entry.Term, Doc: source}, nil) {
			return errStopped
		}
	}
}
