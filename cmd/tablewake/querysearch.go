package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/bleve"
)

func (o *queryOptions) search(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "search INDEX [QUERY]",
		Short: "Documents of an index that match a query, best first; all without one",
		Long: `search takes a query in Bleve's query string language: words, field:word, "a phrase",
+must, -must not, price:>10. Without a query it lists every document by its id.`,
		Example: `  tablewake query search products --local out
  tablewake query search products 'title:lamp' --local out -o json`,
		Args: exactly(1, 2, "INDEX [QUERY] --local DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.in(s, func(dir local.Dir, out *results) error {
				return withSearch(dir, func(store *bleve.Store) error {
					if len(args) == 1 {
						return allDocuments(c.Context(), store, args[0], out)
					}
					hits, err := store.Search(c.Context(), args[0], args[1], o.limit)
					if err != nil {
						return noIndex(c.Context(), store, args[0], err)
					}
					for _, d := range hits.Documents {
						if err := addDocument(out, d); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	}
}

func allDocuments(ctx context.Context, store *bleve.Store, index string, out *results) error {
	for d, err := range store.Documents(ctx, index) {
		if err != nil {
			return noIndex(ctx, store, index, err)
		}
		if err := addDocument(out, d); err != nil {
			return err
		}
	}
	return nil
}

func addDocument(out *results, d search.Document) error {
	return out.add(d, func() string { return fmt.Sprintf("%s  %s", d.ID, d.Doc) })
}

// noIndex adds to an error for a missing index those that there are.
func noIndex(ctx context.Context, store *bleve.Store, index string, err error) error {
	if !errors.Is(err, search.ErrNoIndex) {
		return err
	}
	have, _ := store.Indexes(ctx)
	return fmt.Errorf("no index %q; there are: %s", index, strings.Join(have, ", "))
}

func withSearch(dir local.Dir, do func(*bleve.Store) error) error {
	if _, err := os.Stat(dir.Search()); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder holds no search indexes: its configuration has none")
	}
	store, err := bleve.New(bleve.Options{Dir: dir.Search(), ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}

func countSearch(ctx context.Context, dir local.Dir, add adds) error {
	if _, err := os.Stat(dir.Search()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return withSearch(dir, func(store *bleve.Store) error {
		indexes, err := store.Indexes(ctx)
		if err != nil {
			return err
		}
		for _, index := range indexes {
			hits, err := store.Search(ctx, index, "*", 1)
			if err != nil {
				return err
			}
			if err := add("search", index, int64(hits.Total), "documents"); err != nil {
				return err
			}
		}
		return nil
	})
}
