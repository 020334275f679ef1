package bleve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"
	blevesearch "github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/blevesearch/bleve/v2/search/searcher"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// liveQuery is the query that finds what text asks for and no tombstones.
func liveQuery(text string) (query.Query, error) {
	live := bleve.NewBooleanQuery()
	if text == "" || text == "*" {
		live.AddMust(bleve.NewMatchAllQuery())
	} else {
		asked, err := bleve.NewQueryStringQuery(text).Parse()
		if err != nil {
			return nil, fmt.Errorf("bleve: the query %q: %w", text, err)
		}
		live.AddMust(inAnyField(asked))
	}
	deleted := bleve.NewBoolFieldQuery(true)
	deleted.SetField(deletedField)
	live.AddMustNot(deleted)
	return live, nil
}

// inAnyField has every part of q that names no field look into all of them. A
// field of all words, which Bleve can keep for that, would double the index.
func inAnyField(q query.Query) query.Query {
	switch q := q.(type) {
	case *query.BooleanQuery:
		q.Must, q.Should, q.MustNot = inAnyField(q.Must), inAnyField(q.Should), inAnyField(q.MustNot)
	case *query.ConjunctionQuery:
		for i := range q.Conjuncts {
			q.Conjuncts[i] = inAnyField(q.Conjuncts[i])
		}
	case *query.DisjunctionQuery:
		for i := range q.Disjuncts {
			q.Disjuncts[i] = inAnyField(q.Disjuncts[i])
		}
	case query.FieldableQuery:
		if q.Field() == "" {
			return anyField{q}
		}
	}
	return q
}

// anyField is a query of one search that finds what it finds in any field.
type anyField struct {
	of query.FieldableQuery
}

// Searcher searches the fields of the index one by one.
func (q anyField) Searcher(ctx context.Context, r bleveindex.IndexReader, m mapping.IndexMapping, o blevesearch.SearcherOptions) (blevesearch.Searcher, error) {
	fields, err := r.Fields()
	if err != nil {
		return nil, err
	}
	var found []blevesearch.Searcher
	for _, field := range fields {
		if field == "_id" || strings.HasPrefix(field, own) {
			continue
		}
		q.of.SetField(field)
		s, err := q.of.Searcher(ctx, r, m, o)
		if err != nil {
			for _, s := range found {
				err = errors.Join(err, s.Close())
			}
			return nil, err
		}
		found = append(found, s)
	}
	return searcher.NewDisjunctionSearcher(ctx, r, found, 1, o)
}
